# SPDX-License-Identifier: Apache-2.0
"""Programs with torch_npu, unmodified (tests/frameworks/programs): training, the runtime around it, two ranks."""

import pytest

from framework_runs import ROOT

PROGRAMS = ROOT / "tests/frameworks/programs"


@pytest.fixture
def program(softnpu, torch_npu):
    def run(name, *arguments, **env):
        done = softnpu.run(softnpu.command, "run", "--devices", "2", "--", torch_npu, PROGRAMS / name, *arguments, timeout=400,
                           PYTHONDONTWRITEBYTECODE=1, **env)
        assert done.returncode == 0, done.stdout + done.stderr[-4000:]
        return done
    return run


def test_training_equals_the_cpu(program):
    program("training.py")


@pytest.mark.parametrize("queue", [0, 2])
def test_training_with_each_task_queue(program, queue):
    program("training.py", "mlp_with_sgd", "autocast_float16_with_scaler", "encoder_with_dropout", "small_resnet", TASK_QUEUE_ENABLE=queue)


def test_runtime(program):
    program("runtime.py")


def test_expandable_segments(program):
    program("runtime.py", "segments_grow", "memory_statistics", "memory_snapshot", "out_of_memory_and_recovery", "streams",
            PYTORCH_NPU_ALLOC_CONF="expandable_segments:True")


def test_two_ranks(program, tmp_path):
    assert "both ranks: ok" in program("distributed.py", tmp_path / "rendezvous").stdout
