"""PyTorch in tests: which Python has it, and sums over what was recorded of it."""

import collections
import os
import pathlib
import re
import textwrap

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "torch"
# The distribution's own interpreter, which its package of PyTorch is for.
PYTHON = os.environ.get("NPUSCOPE_TORCH_PYTHON", "/usr/bin/python3")


def program(folder, text):
    """A script in a file: its lines have names."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "program.py"
    path.write_text(textwrap.dedent(text))
    return path


def number(done):
    """What a program has printed as a line of its own; the recorder's lines may stand around it, and before its end."""
    (value,) = re.findall(r"^([0-9]+)(?:\[msmemscope\].*)?$", done.stdout, re.M)
    return int(value)


def live_sums(rows):
    """After each row of a CPU tensor: the row, and bytes by owner of what is live."""
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
