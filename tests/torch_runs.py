# SPDX-License-Identifier: Apache-2.0
"""PyTorch in tests: the Python that has it, and sums over recordings."""

import collections
import json
import os
import pathlib
import re
import textwrap

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples" / "torch"
# The distribution's own interpreter, for which its PyTorch package is built.
PYTHON = os.environ.get("NPUSCOPE_TORCH_PYTHON", "/usr/bin/python3")


def program(folder, text):
    """Writes a script to a file, so that its lines have names."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "program.py"
    path.write_text(textwrap.dedent(text))
    return path


def number(done):
    """The number that a program printed on a line; the recorder may print lines around it, or append to it."""
    (value,) = re.findall(r"^([0-9]+)(?:\[msmemscope\].*)?$", done.stdout, re.M)
    return int(value)


def live_sums(rows):
    """For each row of a CPU tensor: the row, and the live bytes by owner after it."""
    sums, owners = collections.Counter(), {}
    for row in rows:
        if row.type != "HOST":
            continue
        block = row.attr["allocation_id"]
        if row.event == "MALLOC":
            owners[block] = row.attr.get("owner", "")
            sums[owners[block]] += row.number("size")
        else:
            sums[owners.pop(block)] -= row.number("size")
        yield row, sums


# Operators called in all possible ways; counted by a dispatch mode, or not.
OPERATORS = """
    import collections, contextlib, json, sys
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    seen = collections.Counter()

    class Count(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen[f"torch._ops.{func}"] += 1
            return func(*args, **(kwargs or {}))

    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Conv1d(4, 4, 3, padding=1), torch.nn.LayerNorm(8))
    batch = torch.ones(2, 4, 8)
    torch.erfinv(batch)  # from here on
    with Count() if sys.argv[1] == "count" else contextlib.nullcontext():
        model(batch).sum().backward()
        with torch.no_grad():
            model(batch)
            torch.bmm(batch, batch.transpose(1, 2))
        with torch.inference_mode():
            model(torch.zeros(2, 4, 8))
        guard = torch._C._AutoDispatchBelowAutograd()
        torch.sigmoid(batch)
        del guard
    print(json.dumps(seen))
"""


def compare_operators(counted, rows):
    """Operators that a dispatch mode counted but rows do not show, and names of those that only rows show."""
    seen = collections.Counter(json.loads(counted))
    names = [row.name for row in rows if row.type == "ATEN_START"]
    recorded = collections.Counter(names[names.index("torch._ops.aten.erfinv.default") + 1:])
    del seen["torch._ops.aten.detach.default"], recorded["torch._ops.aten.detach.default"]  # autograd's internal detach is not counted
    return seen - recorded, {name.split(".")[3] for name in recorded - seen}
