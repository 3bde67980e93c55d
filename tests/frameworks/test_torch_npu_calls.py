# SPDX-License-Identifier: Apache-2.0
"""Calls of torch (tests/frameworks/calls) on tensors of torch_npu, unmodified, against the same calls on the CPU, with each mode of
torch_npu's task queue."""

import pytest

from framework_runs import ROOT


@pytest.mark.parametrize("queue", [0, 1, 2])
def test_calls_equal_pytorch(softnpu, torch_npu, queue):
    done = softnpu.run("/bin/sh", "-c", 'cd "$0" && exec "$1" -m calls', ROOT / "tests/frameworks", torch_npu, timeout=400,
                       TASK_QUEUE_ENABLE=queue, PYTHONDONTWRITEBYTECODE=1)
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert done.stdout.splitlines()[-1].endswith(" 0 different")
