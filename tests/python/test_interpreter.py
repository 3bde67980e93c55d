# SPDX-License-Identifier: Apache-2.0
"""Threads, forked and started processes, interpreter shutdown, and callbacks."""

import textwrap

import pytest
from python_target import HOME
from recorder import Recording


def test_events_of_all_threads_are_recorded_once(target_any):
    """Between two points in the main thread, each event of a thread is recorded once, also while other threads start and stop."""
    target_any.run("""
        import msmemscope, npu, threading
        npu.init()
        msmemscope.config(analysis="", events="alloc,free")
        ready, go = threading.Barrier(9), threading.Barrier(9)
        def body():
            npu.set_device(0)
            ready.wait()
            npu.work(50)
            go.wait()
        threads = [threading.Thread(target=body) for _ in range(8)]
        for thread in threads:
            thread.start()
        msmemscope.start()
        ready.wait()
        go.wait()
        msmemscope.stop()
        for thread in threads:
            thread.join()
        assert npu.work(3) is None
    """)
    rows = target_any.mallocs("HAL")
    assert len(rows) == 400 and len({row.tid for row in rows}) == 8


def test_concurrent_calls_of_many_threads(target):
    """Calls are serialised; a call out of order is reported; nothing is damaged."""
    target.run("""
        import msmemscope, npu, threading
        npu.init()
        msmemscope.config(analysis="")
        refused = []
        def body():
            npu.set_device(0)
            for _ in range(20):
                for call in (msmemscope.start, msmemscope.stop, msmemscope.step, msmemscope.config):
                    try:
                        call()
                    except OSError as error:
                        refused.append(error)
                npu.work(2)
        threads = [threading.Thread(target=body) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all("another thread" in error.strerror for error in refused), refused
        msmemscope.start()
        npu.work(5, 1 << 22)
        msmemscope.stop()
    """)
    assert len([row for row in target.mallocs() if row.number("size") >= 1 << 22]) == 5


def test_forked_child_has_its_own_files(target, until):
    """The child is recorded as a separate process; the parent continues as before."""
    target.run("""
        import msmemscope, npu, os
        msmemscope.config(analysis="", output="there", call_stack="python:3")
        msmemscope.config(analysis="", call_stack="python:2")
        msmemscope.start()
        child = os.fork()
        npu.init()
        if child == 0:
            msmemscope.start()
            npu.work(20)
            msmemscope.stop()
            os._exit(0)
        npu.work(40)
        assert os.waitpid(child, 0)[1] == 0
        msmemscope.stop()
    """)

    def counts():
        by_pid = {}
        for row in target.mallocs(output=target.folder / "there"):
            assert row.python_stack.strip().count("\n") == 1
            by_pid[row.pid] = by_pid.get(row.pid, 0) + 1
        return sorted(by_pid.values())
    until(lambda: counts() == [20, 40])


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(target, method):
    target.run(f"""
        import msmemscope, multiprocessing, npu
        def work(n):
            npu.init()
            msmemscope.config(analysis="")
            msmemscope.start()
            npu.work(n)
            msmemscope.stop()
            return n
        if __name__ == "__main__":
            context = multiprocessing.get_context("{method}")
            with context.Pool(1) as pool:
                assert pool.map(work, [3, 4]) == [3, 4]
            npu.init()
            msmemscope.config(analysis="")
            msmemscope.start()
            npu.work(5)
            msmemscope.stop()
    """)
    by_pid = {}
    for row in target.mallocs():
        by_pid[row.pid] = by_pid.get(row.pid, 0) + 1
    assert sorted(by_pid.values()) == [5, 7]


def test_calls_during_interpreter_shutdown(target):
    """From finalizers and exit handlers."""
    done = target.run("""
        import atexit, msmemscope, npu, sys
        from msmemscope import describe
        npu.init()
        msmemscope.config(call_stack="python", analysis="")
        msmemscope.start()
        class Last:
            def __init__(self):
                self.label = describe.describer(owner="last")
                self.slice = msmemscope.RecordFunction("last")
            def __del__(self):
                with self.label, self.slice:
                    npu.work(1)
                msmemscope.step()
        sys.last = Last()
        keep = Last()
        atexit.register(lambda: npu.work(1))
        msmemscope._recorder.listen(lambda state: None)
    """)
    assert done.err.count("\n") == 1  # only the warning about the late recorder
    assert 1 <= len(target.mallocs()) <= 3


# ---- marks for the sanitizer ----

TORCH_NPU = {
    "torch_npu/__init__.py": "",
    "torch_npu/npu/__init__.py": "",
    "torch_npu/npu/_stream_check.py": "class NPURecordStreamHandler: pass\n",
    "torch_npu/npu/_sanitizer.py": """
        class Handler:
            calls = []
            def _handle_kernel_launch(self, *arguments):
                self.calls.append(arguments)
                return ["a race"] if arguments[4] == "bad" else []
        class npu_sanitizer:
            event_handler = Handler()
        def enable_npu_sanitizer():
            npu_sanitizer.enabled = True
    """,
    "torch/__init__.py": "",
    "torch/cuda/__init__.py": "",
    "torch/cuda/_sanitizer.py": "class CUDASanitizerErrors(Exception): pass\n",
}


@pytest.fixture
def sanitized(target):
    for name, text in TORCH_NPU.items():
        file = target.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
    return target


def test_marks_reach_the_sanitizer(sanitized):
    """From Python and C, from any thread; tracing is not active."""
    sanitized.run("""
        import ctypes, msmemscope, mstx, threading
        msmemscope.enable_npu_sanitizer()
        from torch_npu.npu._sanitizer import npu_sanitizer
        calls = npu_sanitizer.event_handler.calls
        assert npu_sanitizer.enabled
        mstx.mark("sanitizer-op: name=add;read=x:0x10:4,y:32:8;write=y:32:8,z:48:1", 7)
        assert calls == [(7, {16}, {32, 48}, set(), "add", {16: ["x"], 32: ["y", "y"], 48: ["z"]}, set())], calls
        library = ctypes.CDLL("libms_tools_ext.so")
        def body():
            library.mstxMarkA(b"sanitizer-op: name=from c;read=" + b"a" * 40 + b":1:1", None)
            library.mstxMarkA("sanitizer-op: name=odd;write=x:0:007:08,{}:2:1".format("\u4e2d" * 11).encode(), None)
            library.mstxMarkA(b"another mark", None)
        thread = threading.Thread(target=body)
        thread.start()
        thread.join()
        assert calls[1] == (0, {1}, set(), set(), "from c", {1: ["a" * 31]}, set()), calls
        assert calls[2:] == [(0, set(), {7, 2}, set(), "odd", {7: ["x:0"], 2: ["\u4e2d" * 10]}, set())], calls
    """)
    assert not sanitized.output.exists()


def test_sanitizer_errors_are_raised(sanitized):
    done = sanitized.run("""
        import msmemscope, mstx
        from torch.cuda._sanitizer import CUDASanitizerErrors
        msmemscope.enable_npu_sanitizer()
        try:
            mstx.mark("sanitizer-op: name=bad")
            for _ in range(1000):
                pass
        except CUDASanitizerErrors as error:
            print("raised", error)
        mstx.mark("sanitizer-op: name=good")
    """)
    assert done.out == "raised ['a race']\n" and done.err == "a race\n"


@pytest.mark.parametrize("text", ["sanitizer-op:", "sanitizer-op: read=a:1:1", "sanitizer-op: name=a;read=b", "sanitizer-op: name=a;read=b:c:1",
                                  "sanitizer-op: name=a;write=b:1:"])
def test_malformed_marks_are_reported(sanitized, text):
    done = sanitized.run(f"""
        import msmemscope, mstx
        msmemscope.enable_npu_sanitizer()
        mstx.mark({text!r})
        for _ in range(1000):
            pass
        from torch_npu.npu._sanitizer import npu_sanitizer
        assert npu_sanitizer.event_handler.calls == []
    """)
    assert done.err == f"[msmemscope] Warn: malformed mark for the sanitizer: {text}\n"


def test_lost_marks_are_counted(sanitized):
    sanitized.run("""
        import ctypes, msmemscope, mstx
        from msmemscope import _native
        msmemscope.enable_npu_sanitizer()
        library = ctypes.CDLL("libms_tools_ext.so")
        mstx.mark("sanitizer-op: name=" + "x" * 2000)
        assert _native.sanitizer_lost() == 1
    """)


def test_sanitizer_needs_torch_npu(target):
    done = target.run("""
        import msmemscope
        try:
            msmemscope.enable_npu_sanitizer()
        except ImportError as error:
            print(error)
    """)
    assert done.out.startswith("[msmemscope]: enable_npu_sanitizer needs torch_npu with its sanitizer: ")


# ---- RecordFunction ----


def test_named_slices_are_recorded(target_any):
    target_any.run("""
        import msmemscope, threading
        early = msmemscope.RecordFunction("early")
        with early:
            pass
        msmemscope.start()
        part = msmemscope.RecordFunction("part")
        with part:
            with part:
                pass
        @msmemscope.RecordFunction("function")
        def function(n):
            return n if n == 0 else function(n - 1)
        function(2)
        thread = threading.Thread(target=lambda: part.__enter__().__exit__())
        thread.start()
        thread.join()
        part.__exit__()
        msmemscope.stop()
        with part:
            pass
    """)
    (process,) = Recording(target_any.softnpu, HOME, target_any.output).info()
    assert process["kinds"]["SLICE"] == 6


def test_generator_has_slice_per_resumption(target):
    """As in the Python trace: a suspended generator does not run."""
    target.run("""
        import msmemscope
        @msmemscope.RecordFunction("generator")
        def generator():
            yield 1
            yield 2
        msmemscope.start()
        assert list(generator()) == [1, 2]
        msmemscope.stop()
    """)
    (process,) = Recording(target.softnpu, HOME, target.output).info()
    assert process["kinds"]["SLICE"] == 3


@pytest.mark.parametrize("argument, error", [
    ("'x' * 129", "ValueError: Input name exceeds maximum allowed length 128."),
    ("1", "TypeError: name must be a str, not int"),
])
def test_slice_names_are_checked(target, argument, error):
    done = target.run(f"""
        import msmemscope
        try:
            msmemscope.RecordFunction({argument})
        except Exception as error:
            print(f"{{type(error).__name__}}: {{error}}")
    """)
    assert done.out == error + "\n"
