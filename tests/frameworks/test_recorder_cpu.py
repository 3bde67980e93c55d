# SPDX-License-Identifier: Apache-2.0
"""PyPI's PyTorch on the CPU: what is recorded, and what recording changes."""

import collections

import pytest
from framework_runs import framework
from torch_runs import EXAMPLES, program

VERSIONS = ["torch-2.7.1", "torch-newest"]


@pytest.fixture(params=VERSIONS)
def python(request):
    return framework(request.param)


@pytest.mark.parametrize("options", [[], ["--events=alloc,free,launch,access", "--analysis=decompose"]])
def test_processes_without_an_npu_leave_nothing(recording, options):
    """With the default --device=npu; child processes of an NPU program compute on the CPU, too."""
    script = program(recording.output.parent, """
        import subprocess, sys, torch
        if len(sys.argv) == 1:
            subprocess.run([sys.executable, __file__, "child"], check=True)
        print((torch.ones(300) + 1).sum())
    """)
    done = recording.run(*options, "--", framework("torch-2.7.1"), script)
    assert done.returncode == 0 and done.stdout.count("tensor(600.)") == 2, done.stderr
    assert not recording.output.exists() or not list(recording.output.rglob("*.csv"))


def blocks(recording, python, folder, *events):
    recording.options[0], recording.output = f"--output={folder}", folder
    done = recording.run("--device=cpu", "--events=" + ",".join(events), "--call-stack=python:5", "--",
                         python, EXAMPLES / "train.py", "--steps=3", "--layers=2", "--threads=1")
    assert done.returncode == 0, done.stderr
    return collections.Counter((row.number("size"), row.python_stack) for row in recording.rows()
                               if row.event == "MALLOC" and row.type == "HOST")


def test_accesses_add_no_blocks(recording, python, tmp_path):
    """Except gradients of tensors that are used twice: in any dispatch mode PyTorch adds them into a new tensor, not in place."""
    plain = blocks(recording, python, tmp_path / "plain", "alloc", "free")
    seen = blocks(recording, python, tmp_path / "seen", "alloc", "free", "access")
    assert not plain - seen
    further = seen - plain
    assert all("_engine_run_backward" in stack and size == 4 * 4 * 64 * 128 for size, stack in further), further
    assert sum(further.values()) == 3 * 2 * 2  # two for each layer and step


def test_planted_defect_is_found(recording, python):
    recording.options.remove("--analysis=none")
    done = recording.run("--device=cpu", "--call-stack=python:20", "--analysis=leaks", "--", python, EXAMPLES / "train.py",
                         "--steps=6", "--layers=2", "--defect=activations")
    assert done.returncode == 0, done.stderr
    assert "ERROR: Detected memory leaks on device cpu" in done.stdout
    assert "defects.py" in done.stdout.partition("Leaks by call site")[2]
    assert "__main__.trained[0].seen[...] (list)" in done.stdout
