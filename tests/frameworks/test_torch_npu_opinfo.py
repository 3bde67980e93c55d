# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own operator database on npu tensors, compared with the CPU."""

import os
import pathlib
import subprocess

import pytest

from framework_runs import ROOT, framework

BUILD = pathlib.Path(os.environ["NPUSCOPE_BUILD"])


@pytest.mark.parametrize("dtype, least", [("float32", 500), ("float16", 400), ("bfloat16", 400), ("int64", 300), ("bool", 250)])
def test_operator_database(torch_npu, dtype, least):
    (packages,) = pathlib.Path(framework("test-packages")).parent.parent.glob("lib/python*/site-packages")
    # An operator that fails in torch_npu's queue would spoil those after it.
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", PYTHONPATH=str(packages), ASCEND_LAUNCH_BLOCKING="1")
    done = subprocess.run([BUILD / "home/bin/softnpu", "run", "--machine", f"opinfo-{dtype}", "--", torch_npu, "-m", "opinfo", dtype],
                          cwd=ROOT / "tests/frameworks", env=environment, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    failures = [line for line in lines if line.startswith("FAILED")]
    assert done.returncode == 0 and not failures, "\n".join(failures) + done.stderr[-2000:]
    assert sum(line.startswith("ok ") for line in lines) >= least, done.stdout[-2000:]
