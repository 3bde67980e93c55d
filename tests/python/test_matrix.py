# SPDX-License-Identifier: Apache-2.0
"""The package in every interpreter on this machine: processes, subinterpreters, development mode, leaks in the package."""

import re

import pytest
from test_trace import PYTHONS, Traced, check_nesting, texts

EVERYTHING = """\
import gc, sys, threading
import msmemscope
from msmemscope import describe

def called(n): return n and called(n - 1)
def numbers():
    for i in range(3):
        yield called(i)
class Kept:
    def data_ptr(self): return 0x1000

def once():
    msmemscope.config(events="alloc,free,traceback", call_stack="python:5", analysis="")
    msmemscope.start()
    with describe.describer(owner="x"), msmemscope.RecordFunction("part"):
        list(numbers())
        called(3)
    try:
        describe.describer("no tensor")
    except NotImplementedError:
        pass
    msmemscope.step()
    thread = threading.Thread(target=called, args=(2,))
    thread.start()
    thread.join()
    kept = Kept()
    assert msmemscope.holders(0x1000)
    msmemscope.stop()

class quiet:
    write = flush = staticmethod(lambda *text: None)
"""


@pytest.fixture(params=PYTHONS.values(), ids=PYTHONS.keys())
def traced(softnpu, tmp_path, request):
    return Traced(softnpu, tmp_path / "target", python=request.param)


def test_development_mode_reports_nothing(traced):
    """With warnings as errors, memory checks and the interpreter's own checks."""
    done = traced.run(EVERYTHING + "once(); once(); gc.collect()\n", PYTHONDEVMODE="1", PYTHONWARNINGS="error",
                      PYTHONMALLOC="debug")
    assert done.err.count("\n") == 1 and "started without the recorder" in done.err


def test_references_and_memory_do_not_grow(traced):
    traced.run(EVERYTHING + """
import resource, tracemalloc
sys.stdout = quiet
watched = [None, True, called, called.__code__, numbers.__code__, once.__code__, msmemscope._native.start, sys.modules["threading"],
           msmemscope.config]
def counts():
    gc.collect()
    return [sys.getrefcount(thing) for thing in watched]
def rounds(n):
    for _ in range(n):
        once()
tracemalloc.start(1)
def state():
    gc.collect()
    return tracemalloc.get_traced_memory()[0], counts(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
rounds(20)
# Interpreters release some references of their own late (None in reused frames), so counts drop for some rounds: they must
# become stable.
for attempt in range(15):
    before = state()
    rounds(20)
    after = state()
    drift = [b - a for a, b in zip(before[1], after[1])]
    if all(abs(count) <= 3 for count in drift):
        break
else:
    raise SystemExit(f"references come or go in every round: {drift}")
sys.stdout = sys.__stdout__
assert after[0] - before[0] < 20000, (before, after)
assert after[2] - before[2] < 8192, (before, after)
""")


SUBINTERPRETER = """\
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import msmemscope
def f(): pass
msmemscope.config(events="traceback", analysis="")
msmemscope.start()
name = interpreters.create()
code = '''
def f(): pass
f()
try:
    import msmemscope
except ImportError as error:
    print("refused:", error)
'''
failure = interpreters.run_string(name, code)
assert failure is None, failure
f()
interpreters.destroy(name)
msmemscope.stop()
"""


def test_subinterpreters_are_refused(traced):
    """With a message; tracing in the main interpreter continues."""
    done = traced.run(SUBINTERPRETER)
    assert re.search(r"refused: .*(main interpreter|subinterpreters)", done.out)
    assert texts(traced.ours()).count("7: f") == 1


def test_forked_child_is_traced(traced, until):
    traced.way = "launcher"
    traced.run("""\
        import os, threading
        def parent(): pass
        def child(): pass
        ready, go = threading.Event(), threading.Event()
        thread = threading.Thread(target=lambda: (ready.set(), go.wait()))
        thread.start()
        ready.wait()
        def main():
            parent()
            pid = os.fork()
            if pid == 0:
                child()
                return True
            os.waitpid(pid, 0)
            return False
        if main():
            os._exit(0)
        go.set()
        thread.join()
        parent()
    """, options=["--events=traceback", "--collect-mode=immediate"])
    def both():
        rows = traced.ours()
        return len({row.pid for row in rows}) == 2 and rows
    rows = until(both)
    (child,) = {row.pid for row in rows if row.text == "3: child"}
    (parent,) = {row.pid for row in rows if row.text == "2: parent"}
    assert child != parent and texts(rows).count("2: parent") == 2
    assert [(row.text, row.start) for row in rows if row.pid == child and row.text.endswith("main")] == [("start: 8: main", None)]
    check_nesting([row for row in rows if row.pid == child])


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing_is_traced(traced, until, method):
    traced.way = "launcher"
    traced.run(f"""\
        import multiprocessing
        def work(n): return n
        if __name__ == "__main__":
            with multiprocessing.get_context("{method}").Pool(2) as pool:
                assert pool.map(work, range(20), chunksize=1) == list(range(20))
                pool.close()
                pool.join()
    """, options=["--events=traceback", "--collect-mode=immediate"])
    until(lambda: texts(traced.ours()).count("2: work") == 20)


def test_exceptions_in_called_objects_are_reported(traced):
    """A listener, a descriptor and a tensor that raise; the program continues."""
    traced.run(EVERYTHING + """
class Bad:
    def data_ptr(self): raise RuntimeError("no memory")
class Worse:
    @property
    def __dict__(self): raise RuntimeError
    @property
    def __class__(self): raise RuntimeError
    def data_ptr(self): return 0x2000
bad, worse = Bad(), Worse()
msmemscope._recorder.listen(lambda state: 1 / 0)
once()
assert msmemscope.holders(0x2000)
assert msmemscope.holders(bad)
sys.setrecursionlimit(200)
msmemscope.start()
def forever(): forever()
try:
    forever()
except RecursionError:
    pass
msmemscope.stop()
""")
