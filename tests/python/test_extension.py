# SPDX-License-Identifier: Apache-2.0
"""Repeated calls of each file of the extensions, correct and wrong, leak no references and no memory."""

import pytest

BEFORE = """
import gc, sys, tracemalloc
import msmemscope, mstx, npu
from msmemscope import _native, describe, watcher
npu.init()
msmemscope.config(analysis="", events="alloc,free,traceback")
class quiet:
    write = flush = staticmethod(lambda *text: None)
class Tensor:
    def __init__(self, address=0x1000): self.address = address
    def data_ptr(self): return self.address
    def element_size(self): return 4
    def nelement(self): return 16
Tensor.__name__, Tensor.__module__ = "Tensor", "torch"
class Broken:
    def data_ptr(self): raise RuntimeError("no memory")
class Odd:
    def data_ptr(self): return "text"
tensor, name, odd = Tensor(), "name of something", "\\udc80"
def refused(call, *arguments, **keywords):
    try:
        call(*arguments, **keywords)
    except (TypeError, ValueError, OSError, RuntimeError, OverflowError, LookupError, ArithmeticError):
        return
    raise AssertionError((call, arguments))
"""

# For each file: the calls of one round.
ROUNDS = {
    "agent": """
        _native.loaded(), _native.state(), _native.wants(), _native.attach(None), _native.load(path)
        refused(_native.attach, 1)
        refused(_native.attach, odd)
        _native.own("/nowhere"), refused(_native.own, 1)
    """,
    "control": """
        _native.config("analysis=none"), _native.output(), _native.step(), _native.suspects()
        refused(_native.config, "nonsense=1")
        refused(_native.config, 1)
        refused(_native.config, "a" + chr(0))
    """,
    "labels": """
        _native.label_push(3, name), _native.label_pop(3, name), _native.label_address(3, 0x1000, name)
        _native.label_tensors(3, name, [tensor, Broken(), Odd(), None, 1])
        refused(_native.label_push, "x", name)
        refused(_native.label_push, 3, odd)
        refused(_native.label_address, 3, name, name)
        refused(_native.label_tensors, 3, name, (tensor,))
    """,
    "marks": """
        def failing(text, stream): 1 / 0
        _native.sanitizer(failing)
        def marked():
            mstx.mark("sanitizer-op: name=add")
            while True:  # the pending call runs between two instructions
                pass
        refused(marked)
        _native.sanitizer(None), _native.sanitizer_lost()
        refused(_native.sanitizer, 1)
    """,
    "slices": """
        _native.slice(_native.stamp(), name)
        refused(_native.slice, name, name)
        refused(_native.slice, 1, odd)
        with msmemscope.RecordFunction(name):
            pass
    """,
    "snapshot": """
        _native.devices(), _native.device(), _native.snapshot(0, name, (1, None, 3, 4, 5, 6))
        refused(_native.snapshot, 0, name, (1, None))
        refused(_native.snapshot, 0, name, (1, None, "x", 4, 5, 6))
        refused(_native.snapshot, 0, odd, (1,) * 6)
    """,
    "tracer": """
        _native.trace(True), _native.trace(False)
    """,
    "watch": """
        watcher.watch(tensor, name=name), watcher.remove(tensor), _native.unwatch(1, 1)
        refused(_native.watch, 0, 0, odd, 1)
        refused(_native.watch, "x", 1, name, 1)
    """,
    "analyze": """
        refused(_native.check_leaks, library, "/nowhere.csv", name, 0, print, print)
        refused(_native.check_leaks, library, "/nowhere.csv", 1, 0, print, print)
        refused(_native.check_inefficient, library, "/nowhere.csv", 0, 7, 1, print, print)
        refused(_native.check_inefficient, library, 1, 0, 7, 1, print, print)
    """,
    "mstx": """
        mstx.mark(name), mstx.range_end(mstx.range_start(name)), mstx.get_tool_id()
        domain = mstx.Domain("mine")
        domain.mark(name), domain.range_end(domain.range_start(name))
        refused(mstx.mark, odd)
        refused(mstx.range_end, name)
    """,
}

AFTER = """
from msmemscope import _home
path, library = _home.find() + "/lib64/" + _home.RECORDER, _home.find() + "/lib64/libmsmemscope_analyze.so"
watched = [None, True, tensor, name, odd, refused, Tensor, print, sys.stdout]
def state():
    gc.collect()
    return [sys.getrefcount(thing) for thing in watched], tracemalloc.get_traced_memory()[0]
msmemscope.start()
tracemalloc.start(1)
sys.stdout = quiet
for _ in range(15):  # the interpreter's own references settle after some rounds
    for _ in range(50):
        once()
    before = state()
    for _ in range(200):
        once()
    after = state()
    drift = [b - a for a, b in zip(before[0], after[0])]
    if all(abs(count) <= 3 for count in drift) and after[1] - before[1] < 4000:
        break
else:
    raise SystemExit(f"in every round: references {drift}, bytes {after[1] - before[1]}")
sys.stdout = sys.__stdout__
print("same")
msmemscope.stop()
"""


@pytest.mark.parametrize("file", ROUNDS)
def test_calls_leak_nothing(target, file):
    rounds = "def once():\n" + ROUNDS[file].replace("\n        ", "\n    ")
    done = target.run(BEFORE + rounds + AFTER)
    assert "same" in done.out
