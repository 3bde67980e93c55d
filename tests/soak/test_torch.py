"""Newer PyTorches than the tests have: tensors, operators and owners are recorded there too."""

import textwrap

import pytest

from conftest import BUILD, ROOT
from debian_torch import folder_of

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


@pytest.mark.parametrize("suite", ["trixie", "sid"])
def test_newer_torch(suite, recording):
    """The recorder outside, the program in the folder, with /proc, /dev and the recorder's libraries of this machine."""
    root = folder_of(suite)
    (root / "tmp/recorded.py").write_text(PROGRAM)
    mounts = []
    for folder in ("/proc", "/dev", BUILD, ROOT / "python"):
        (root / str(folder).lstrip("/")).mkdir(parents=True, exist_ok=True)
        mounts.append(f"mount --bind {folder} {root}{folder}")
    recording.options.remove("--analysis=none")
    done = recording.run("--device=cpu", "--events=alloc,free,launch,access", "--analysis=decompose", "--call-stack=python:8", "--",
                         "unshare", "-m", "sh", "-c", " && ".join([*mounts, f"exec chroot {root} /usr/bin/python3 /tmp/recorded.py"]),
                         timeout=300)
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
