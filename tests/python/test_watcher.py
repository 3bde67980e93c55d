# SPDX-License-Identifier: Apache-2.0
"""Memory watched on request of the program."""

import csv
import re

import pytest

TORCH = """
class Tensor:
    def __init__(self, pointer, count):
        self.pointer, self.count = pointer, count
    def data_ptr(self):
        return self.pointer
    def element_size(self):
        return 4
    def nelement(self):
        return self.count
class Parameter(Tensor):
    pass
Parameter.__module__ = "torch.nn.parameter"
"""

PREPARE = """
import msmemscope, mstx, npu, torch
from msmemscope import watcher
npu.init()
msmemscope.config(level="op", events="alloc,free,launch,access", analysis="")
msmemscope.start()
def operator(name):
    mstx.mark(f"memscope-aten-b: name={name}")
    mstx.mark(f"memscope-aten-e: name={name}")
"""


@pytest.fixture
def watching(target):
    (target.folder / "torch.py").write_text(TORCH)
    return target


def noted(target):
    """Operator and call, watched name, before or after; in order."""
    (file,) = target.output.glob("*/device_0/watch_dump/watch_dump_data_check_sum_*.csv")
    with open(file, newline="") as lines:
        rows = list(csv.reader(lines))
    assert rows[0] == ["Tensor info", "Check data sum"]
    assert all(re.fullmatch("[0-9a-f]{16}", row[1]) for row in rows[1:])
    return [re.sub(r"^0_\d+/", "", row[0]) for row in rows[1:]]


def test_watched_range_is_dumped(watching):
    watching.run(PREPARE + """
block = npu.malloc(4096)
operator("early")
watcher.watch(block, length=4096, name="mine")
operator("add")
operator("add")
watcher.remove(block, length=4096)
operator("late")
msmemscope.stop()
""")
    assert noted(watching) == ["add_1-mine_0_before", "add_1-mine_0_after", "add_2-mine_0_before", "add_2-mine_0_after"]


def test_watched_tensors_and_dump_limit(watching):
    watching.run(PREPARE + """
block = npu.malloc(4096)
plain, parameter = torch.Tensor(block, 16), torch.Parameter(block + 64, 16)
watcher.watch(plain, name="tensor", dump_nums=2)
watcher.watch(parameter, name="parameter", dump_nums=-1)
operator("add")
operator("mul")
watcher.remove(parameter)
watcher.remove(plain)
operator("late")
msmemscope.stop()
""")
    rows = noted(watching)
    assert [row for row in rows if "tensor" in row] == ["add_1-tensor_0_before", "add_1-tensor_0_after"]
    assert len([row for row in rows if "parameter" in row]) == 4 and not [row for row in rows if "late" in row]


@pytest.mark.parametrize("call, error", [
    ("watch()", "ValueError: At least one name keyword parameter must be entered."),
    ("watch(tensor)", "ValueError: At least one name keyword parameter must be entered."),
    ("watch(name='a')", "TypeError: Only one parameter without keywords can be input."),
    ("watch(tensor, tensor, name='a')", "TypeError: Only one parameter without keywords can be input."),
    ("watch(4096, name='a')", "TypeError: Expected a tensor as args."),
    ("watch([tensor], name='a')", "TypeError: Expected a tensor as args."),
    ("watch(tensor, length=4, name='a')", "TypeError: Expected addr:int as args when length is set."),
    ("watch(4096, length=0, name='a')", "ValueError: The length parameter is invalid."),
    ("watch(4096, length=-1, name='a')", "ValueError: The length parameter is invalid."),
    ("watch(4096, length='4', name='a')", "ValueError: The length parameter is invalid."),
    ("watch(4096, length=4)", "ValueError: The name parameter must be set."),
    ("watch(tensor, dump_nums=1)", "ValueError: The name parameter must be set."),
    ("watch(tensor, name='')", "ValueError: The name parameter must be set."),
    ("watch(tensor, name='x' * 65)", "ValueError: The name parameter exceeds maximum allowed length 64."),
    ("watch(tensor, name='a\\0')", "ValueError: The name parameter is part of file names and must not contain a NUL character."),
    ("watch(torch.Tensor(4096, 0), name='a')", "ValueError: The tensor has no memory."),
    ("watch(torch.Tensor(0, 4), name='a')", "ValueError: The tensor has no memory."),
    ("watch(tensor, name='a', dump_nums='1')", "ValueError: The dump_nums parameter is invalid."),
    ("watch(tensor, name='a', nonsense=1)", "TypeError: watch() got an unexpected keyword argument 'nonsense'"),
    ("remove()", "TypeError: Only one parameter without keywords can be input."),
    ("remove(4096)", "TypeError: Expected a tensor as args."),
    ("remove(tensor, length=4)", "TypeError: Expected addr:int as args when length is set."),
])
def test_wrong_calls_raise(watching, call, error):
    done = watching.run(f"""
        import torch
        from msmemscope import watcher
        tensor = torch.Tensor(4096, 4)
        try:
            watcher.{call}
        except Exception as error:
            print(f"{{type(error).__name__}}: {{error}}")
    """)
    assert done.out == error + "\n"
