# SPDX-License-Identifier: Apache-2.0
"""Newer versions of PyTorch than in the regular tests: tensors, operators and owners are recorded."""

import subprocess
import textwrap

import pytest

from debian_torch import folder_of, inside
from torch_runs import OPERATORS, compare_operators

PROGRAM = textwrap.dedent("""
    import torch
    kept = torch.empty(1000003, dtype=torch.uint8)
    model = torch.nn.Linear(301, 301, bias=False)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):
        model(torch.ones(1, 301)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.add(kept, 1)
    print("torch", torch.__version__)
""")


SUITES = ["trixie", "sid"]


@pytest.mark.parametrize("suite", SUITES)
def test_newer_torch_is_recorded(suite, recording):
    """The recorder runs outside, the program inside the folder."""
    root = folder_of(suite)
    (root / "tmp/recorded.py").write_text(PROGRAM)
    recording.options.remove("--analysis=none")
    done = recording.run("--device=cpu", "--events=alloc,free,launch,access", "--analysis=decompose", "--call-stack=python:8", "--",
                         *inside(root, "/tmp/recorded.py"), timeout=300)
    assert done.returncode == 0 and "torch 2." in done.stdout, done.stdout + done.stderr
    rows = recording.rows()
    tensors = [row for row in rows if row.event == "MALLOC" and row.type == "HOST"]
    kept, _ = [row for row in tensors if row.number("size") == 1000003]  # and the sum
    assert "/tmp/recorded.py(3): <module>" in kept.python_stack
    owners = {row.attr["owner"].partition("@model@")[2] for row in tensors if row.number("size") == 4 * 301 * 301}
    assert {"weight", "gradient", "optimizer_state"} <= owners
    names = {row.name for row in rows if row.type == "ATEN_START"}
    assert {"torch._ops.aten.add.Tensor", "torch._ops.aten.linear.default"} <= names
    assert [row for row in rows if row.event == "ACCESS" and row.name == "torch._ops.aten.add.Tensor"]


@pytest.mark.parametrize("suite", SUITES)
def test_operators_match_dispatch_mode(suite, recording):
    """Plus composite operators, without the operators that kernels call."""
    root = folder_of(suite)
    (root / "tmp/operators.py").write_text(textwrap.dedent(OPERATORS))
    counted = subprocess.run(inside(root, "/tmp/operators.py", "count"), capture_output=True, text=True, check=True).stdout
    done = recording.run("--device=cpu", "--events=launch", "--", *inside(root, "/tmp/operators.py", "plain"), timeout=300)
    assert done.returncode == 0, done.stderr
    missing, further = compare_operators(counted, recording.rows())
    assert not missing
    assert further <= {"linear", "conv1d", "layer_norm", "reshape"}
