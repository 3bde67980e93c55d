# SPDX-License-Identifier: Apache-2.0
"""The Python trace: which functions ran when, in each interpreter on this machine."""

import csv
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import sysconfig

import pytest
from python_target import Target

COLUMNS = ["FuncInfo", "StartTime(ns)", "EndTime(ns)", "Thread Id", "Process Id"]


def interpreters():
    """The interpreter that runs the tests, and others in PATH that work; NPUSCOPE_PYTHONS names more."""
    found = {sys.version_info[:2]: sys.executable}
    names = [*os.environ.get("NPUSCOPE_PYTHONS", "").split(), *(f"python3.{n}" for n in range(9, 15))]
    for path in filter(None, map(shutil.which, names)):
        asked = subprocess.run([path, "-c", "import sys; print(*sys.version_info[:2])"], capture_output=True, text=True)
        if asked.returncode == 0:
            found.setdefault(tuple(map(int, asked.stdout.split())), path)
    return {f"{a}.{b}": path for (a, b), path in sorted(found.items())}


PYTHONS = interpreters()


@pytest.fixture(params=PYTHONS.values(), ids=PYTHONS.keys())
def traced(softnpu, tmp_path, request):
    return Traced(softnpu, tmp_path / "target", python=request.param)


@pytest.fixture
def traced_here(softnpu, tmp_path):
    return Traced(softnpu, tmp_path / "target")


class Slice:
    def __init__(self, cells):
        self.text, self.start, self.end = cells[0], *(None if c == "N/A" else int(c) for c in cells[1:3])
        self.tid, self.pid = int(cells[3]), int(cells[4])

    def __repr__(self):
        return f"<{self.text} {self.start} {self.end} t{self.tid}>"


class Traced(Target):
    def traces(self):
        return sorted(self.output.glob("*/device_*/dump/python_trace_*.csv"))

    def slices(self):
        """Slices of all threads; functions of the program as `line: name`."""
        found = []
        for path in self.traces():
            tid = int(re.fullmatch(r"python_trace_(\d+)_\d{14}\.csv", path.name)[1])
            with open(path, newline="") as file:
                rows = list(csv.reader(file))
            assert rows[0] == COLUMNS
            found += map(Slice, rows[1:])
            assert {row.tid for row in found[-len(rows) + 1:]} == {tid}
        return self.shortened(found)

    def shortened(self, slices):
        for row in slices:
            row.text = re.sub(rf"{re.escape(str(self.folder / 'target.py'))}\((\d+)\)", r"\1", row.text)
        return slices

    def ours(self):
        """Slices of the program itself, without libraries."""
        return [row for row in self.slices() if re.match(r"(start: |stop: )?\d+: ", row.text)]


def texts(rows):
    return [re.sub(r"\b(\w+\.)+", "", row.text) for row in rows]  # 3.9 and 3.10 have no qualified names


def check_nesting(rows):
    """Slices of a thread are nested or disjoint, with a gap between them: readers derive the depth from that."""
    for tid in {row.tid for row in rows}:
        open_ends = []
        for row in sorted((r for r in rows if r.tid == tid and r.start and r.end), key=lambda r: (r.start, -r.end)):
            assert row.start <= row.end
            while open_ends and open_ends[-1].end < row.start:
                open_ends.pop()
            if open_ends:
                assert open_ends[-1].start < row.start and row.end <= open_ends[-1].end, (open_ends[-1], row)
            open_ends.append(row)


CALLS = """\
import msmemscope, threading
def leaf(x): return len(x)
def numbers(n):
    for i in range(n):
        yield leaf("ab")
def fails():
    raise ValueError
class Model:
    def step(self):
        try:
            fails()
        except ValueError:
            return leaf("c")
def work():
    Model().step()
    return sum(numbers(2))
{}
thread = threading.Thread(target=work)
thread.start()
thread.join()
work()
"""
EXPECTED = ["6: fails", "2: leaf", "2: leaf", "9: step", "2: leaf", "2: leaf", "3: numbers", "2: leaf", "2: leaf", "3: numbers",
            "3: numbers", "16: work", "14: work"]


@pytest.mark.parametrize("start", ["", "msmemscope.config(events='traceback', analysis=''); msmemscope.start()"],
                         ids=["command-line", "api"])
def test_calls_are_traced(traced, start):
    """Calls, generators, exceptions, C functions with the calling line; in the main thread and another one."""
    if start:
        traced.run(CALLS.format(start) + "msmemscope.stop()\n")
    else:
        traced.way = "launcher"
        traced.run(CALLS.format("pass"), options=["--events=traceback", "--collect-mode=immediate"])
    rows = traced.slices()
    check_nesting(rows)
    assert len(traced.traces()) == 2
    for tid in {row.tid for row in rows}:
        mine = [row for row in rows if row.tid == tid and re.match(r"\d+: ", row.text)]
        mine = mine[next(i for i, row in enumerate(mine) if row.text == "6: fails"):]
        assert texts(mine)[:len(EXPECTED)] == EXPECTED
        assert [row.text for row in rows if row.tid == tid].count("<built-in function len>") >= 3
    inner = next(row for row in rows if row.text == "<built-in function sum>")
    outer = next(row for row in rows if row.text.startswith("16: ") and row.tid == inner.tid and row.end >= inner.end)
    assert outer.start < inner.start and inner.end <= outer.end


def test_open_calls_have_no_start_or_end(traced):
    """Functions called before tracing have no start, those that return later no end; the package's are not shown."""
    traced.run("""\
        import msmemscope, threading
        def main():
            begin()
            inside()
            msmemscope.stop()
        def begin():
            msmemscope.config(events="traceback", analysis="")
            msmemscope.start()
        def inside():
            with msmemscope.RecordFunction("named"):
                pass
        waits, go = threading.Event(), threading.Event()
        def sleeper():
            waits.set()
            go.wait()
        thread = threading.Thread(target=sleeper)
        thread.start()
        waits.wait()
        main()
        go.set()
        thread.join()
    """)
    rows = [row for row in traced.slices() if re.match(r"(start: |stop: )?(\d+: |named)", row.text)]
    assert texts(rows) == ["start: 6: begin", "named", "9: inside", "stop: 1: <module>", "stop: 2: main"]
    assert [(row.start is None, row.end is None) for row in rows] == [
        (True, False), (False, False), (False, False), (True, True), (True, True)]


def test_short_lived_threads(traced):
    """Many threads, each with its own file; calls outside tracing are not recorded."""
    traced.run("""\
        import msmemscope, threading
        def f(): pass
        def body():
            for _ in range(100): f()
        def run():
            threads = [threading.Thread(target=body) for _ in range(10)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
        msmemscope.config(events="traceback", analysis="")
        run()
        for _ in range(3):
            msmemscope.start()
            run()
            msmemscope.stop()
        run()
    """)
    rows = traced.slices()
    check_nesting(rows)
    assert texts(rows).count("2: f") == 3000
    assert texts(rows).count("3: body") == 30


def test_tracer_alone(traced):
    """As documented: only tracer.start() and tracer.stop()."""
    done = traced.run("""\
        import msmemscope
        def f(): pass
        f()
        msmemscope.tracer.start()
        f()
        msmemscope.tracer.start()
        msmemscope.tracer.stop()
        f()
        msmemscope.tracer.stop()
        msmemscope.config(analysis="")
        msmemscope.start()
        f()
        msmemscope.tracer.start()
        f(); f()
        msmemscope.tracer.stop()
        f()
        msmemscope.stop()
    """)
    assert texts(traced.ours()).count("2: f") == 3
    assert done.err.count("is already active") == 1 and done.err.count("is not active") == 1
    assert done.out.count("Start tracing") == 2 and done.out.count("Stop tracing") == 2


def test_tracer_stop_keeps_launcher_tracing(softnpu, tmp_path):
    target = Target(softnpu, tmp_path / "target", "launcher")
    target.run("""
        import msmemscope, npu
        npu.init()
        msmemscope.tracer.start()
        npu.work(1)
        msmemscope.tracer.stop()
        npu.work(5)
    """, options=["--collect-mode=immediate", "--analysis=none"])
    assert len(target.mallocs()) == 6


def test_tracer_can_retry_failed_start(target):
    done = target.run("""
        import msmemscope, os
        msmemscope.config(output="there")
        os.rmdir("there")
        open("there", "w").close()
        for _ in range(2):
            try:
                msmemscope.tracer.start()
            except OSError as error:
                print(error.strerror)
    """)
    assert done.out.count("cannot write to") == 2 and "active" not in done.err


def test_config_switches_trace_off(traced_here):
    traced_here.run("""\
        import msmemscope
        def f(): pass
        msmemscope.config(events="alloc,free,traceback", analysis="")
        msmemscope.start()
        f()
        msmemscope.config(events="", analysis="")
        f()
        msmemscope.config(events="traceback", analysis="")
        f()
        msmemscope.stop()
    """)
    assert texts(traced_here.ours()).count("2: f") == 2


def test_trace_in_database(traced):
    traced.run("""\
        import msmemscope, npu
        npu.init()
        def f(): npu.work(1)
        msmemscope.config(events="alloc,free,traceback", analysis="", data_format="db", device="npu")
        msmemscope.start()
        f()
        msmemscope.stop()
        print(__import__("os").getpid())
    """)
    (path,) = [p for p in traced.files() if "device_0" in str(p)]  # next to the memory events
    with sqlite3.connect(path) as db:
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE name LIKE 'python_trace_%'")]
        assert len(tables) == 1
        columns = [(name, kind) for _, name, kind, *_ in db.execute(f"PRAGMA table_info({tables[0]})")]
        rows = traced.shortened([Slice(cells) for cells in db.execute(f"SELECT * FROM {tables[0]}")])
        times = [int(t) for (t,) in db.execute("SELECT \"Timestamp(ns)\" FROM memscope_dump WHERE Event = 'MALLOC'")]
    assert columns == list(zip(COLUMNS, ("TEXT", "TEXT", "TEXT", "INTEGER", "INTEGER")))
    (f,) = [row for row in rows if row.text == "3: f"]
    assert f.pid == int(tables[0].split("_")[-1]) and any(f.start < t < f.end for t in times)  # same clock


IMPORTS = """\
    import msmemscope, sys
    def f():
        import helper
        return helper.after()
    open("helper.py", "w").write("def inside():\\n    return 1\\nvalue = inside()\\ndef after():\\n    return 2\\n")
    sys.path.insert(0, ".")
    msmemscope.config(events="traceback", analysis="")
    msmemscope.start()
    f()
    msmemscope.stop()
"""


def test_imports_are_collapsed(traced):
    """The import and the bodies of modules are slices; what they call is not."""
    traced.run(IMPORTS)
    rows = traced.slices()
    assert [row.text for row in rows if "importlib" in row.text and "_find_and_load" not in row.text] == []
    assert sum("_find_and_load" in row.text for row in rows) == 1
    named = [row.text.rpartition(": ")[2] for row in rows if "helper.py(" in row.text]
    assert named == ["<module>", "after"]
    check_nesting(rows)


def test_imports_are_shown_on_request(traced_here):
    traced_here.run(IMPORTS, MSMEMSCOPE_TRACE_IMPORTS=1)
    named = [row.text.rpartition(": ")[2] for row in traced_here.slices() if "helper.py(" in row.text]
    assert named == ["inside", "<module>", "after"]


@pytest.mark.parametrize("limit, calls", [("100", 100), ("0", 1000), ("many", 1000), (None, 1000)])
def test_number_of_calls_is_limited(traced_here, limit, calls):
    """The log says where the trace ended, and a later trace begins again."""
    traced_here.run("""\
        import msmemscope
        def f():
            return 1
        def g():
            return 2
        msmemscope.config(events="traceback", analysis="")
        msmemscope.start()
        for _ in range(1000):
            f()
        msmemscope.stop()
        msmemscope.start()
        g()
        msmemscope.stop()
    """, **({"MSMEMSCOPE_TRACE_CALLS": limit} if limit is not None else {}))
    found = texts(traced_here.ours())
    assert found.count("2: f") == calls or (calls == 100 and 95 <= found.count("2: f") <= 100)
    assert found.count("4: g") == 1
    logs = "".join(path.read_text() for path in traced_here.output.glob("*/msmemscope_logs/*.log"))
    assert logs.count("the Python trace ends here") == (calls == 100)


def test_lazy_imports_of_package_are_not_traced(traced):
    traced.run("""\
        import msmemscope
        def f():
            with msmemscope.RecordFunction("mine"):
                return msmemscope.describe.describer(owner="x")
        msmemscope.config(events="traceback", analysis="")
        msmemscope.start()
        f()
        msmemscope.stop()
    """)
    assert [row.text for row in traced.slices() if "importlib" in row.text] == []
    assert texts(traced.ours()) == ["2: f", "stop: 1: <module>"]


def test_torch_modules_and_omitted_calls(traced):
    """nn.Module calls are named by class; calls below __torch_dispatch__ and C calls in contextlib's __exit__ are omitted."""
    folder = traced.folder / "torch" / "nn" / "modules"
    folder.mkdir(parents=True)
    for package in ("torch", "torch/nn", "torch/nn/modules"):
        (traced.folder / package / "__init__.py").write_text("")
    (folder / "module.py").write_text(
        "class Module:\n    def _call_impl(self, *a):\n        return self.forward(*a)\n"
        "    def _wrapped(self, *a):\n        return self._call_impl(*a)\n    __call__ = _wrapped\n")
    traced.run("""\
        import contextlib, msmemscope
        from torch.nn.modules.module import Module
        class Linear(Module):
            def forward(self, x): return x
        class Mode:
            def __torch_dispatch__(self): return below(2)
        def below(n): return n and below(n - 1)
        @contextlib.contextmanager
        def scope():
            yield
        msmemscope.config(events="traceback", analysis="")
        msmemscope.start()
        Linear()(1)
        Linear()(2)
        Mode().__torch_dispatch__()
        below(0)
        with scope(): pass
        msmemscope.stop()
    """)
    found = [row.text for row in traced.slices()]
    assert found.count("nn.Module: Linear") == 2
    assert len([t for t in found if re.search(r"module\.py\(2\): (Module\.)?_call_impl", t)]) == 2
    assert len([t for t in found if re.fullmatch(r"7: below", t)]) == 1
    assert len([t for t in found if re.fullmatch(r"6: (Mode\.)?__torch_dispatch__", t)]) == 1
    exits = [row for row in traced.slices() if re.search(r"contextlib\.py\(\d+\): .*__exit__", row.text)]
    assert len(exits) == 1  # no second slice for the line that calls next()


def test_deleted_code_objects(traced):
    """Code objects whose address is reused, many names, deep recursion."""
    traced.run("""\
        import msmemscope, sys
        msmemscope.config(events="traceback", analysis="")
        msmemscope.start()
        addresses = set()
        for i in range(200):
            space = {}
            exec(compile("def f(): pass\\nf()", "file%03d" % i, "exec"), space)
            addresses.add(id(space["f"].__code__))
            space.clear()  # a function and its globals form a cycle
        assert len(addresses) < 100, len(addresses)
        sys.setrecursionlimit(6000)
        def deep(n): return n and deep(n - 1)
        deep(2500)
        deep(3)
        msmemscope.stop()
    """)
    found = [row.text for row in traced.slices()]
    assert [t for t in found if t.endswith(": f")] == [f"file{i:03d}(1): f" for i in range(200)]
    assert 2000 < len([t for t in found if t.endswith(": deep") and t.startswith("12")]) <= 2505


def test_unusual_names(traced):
    """File and function names do not break cells or lines, are valid UTF-8, and are truncated if too long."""
    traced.run("""\
        import msmemscope
        names = ["a,b", 'a"b', "a\\nb", "a\\rb", "\\u00e9\\u4e2d\\U0001f600", "a\\udcffb", "", 3000 * "\\u4e2d" + "end"]
        msmemscope.config(events="traceback", analysis="")
        msmemscope.start()
        for name in names:
            exec(compile("def odd(): pass\\nodd()", name, "exec"))
        for name in ["n\\udc80", 5000 * "n"]:
            keys = {"co_name", "co_qualname"} & set(dir(odd.__code__))
            odd.__code__ = odd.__code__.replace(**dict.fromkeys(keys, name))
            odd()
        msmemscope.stop()
    """)
    found = [row.text for row in traced.slices()]
    *odd, long = [text[:-len("(1): odd")] for text in found if text.endswith("(1): odd")]
    assert odd == ["a,b", 'a"b', "a\nb", "a\rb", "\u00e9\u4e2d\U0001f600", "a?b", ""]
    assert re.fullmatch("\u4e2d{500,}end", long)
    assert [text for text in found if re.fullmatch(r"\u4e2d*end\(1\): n\?", text)]
    assert [text for text in found if re.fullmatch(r"\u4e2d*end\(1\): n{500,}", text)]


def test_deleted_types(traced):
    """Methods are named after the type that is at the address now."""
    traced.run("""\
        import gc, msmemscope
        msmemscope.config(events="traceback", analysis="")
        msmemscope.start()
        for name in [*map("T{}".format, range(50)), "A at 0x1"]:
            kind = type(name, (dict,), {})
            get = kind().get
            get(1)
            del kind, get
            gc.collect()
        msmemscope.stop()
    """)
    found = [match[1] for row in traced.slices() if (match := re.fullmatch("<built-in method get of (.*) object>", row.text))]
    assert [name for name in found if name != "dict"] == [*map("T{}".format, range(50)), "A at 0x1"]


def test_falls_back_if_monitoring_is_taken(traced):
    """By two other tools; a profile function is used instead."""
    traced.run("""\
        import msmemscope, sys, threading
        if sys.version_info >= (3, 12):
            for tool in range(6): sys.monitoring.use_tool_id(tool, "other")
        def f(): return len("")
        msmemscope.config(events="traceback", analysis="")
        msmemscope.start()
        f()
        thread = threading.Thread(target=f)
        thread.start()
        thread.join()
        msmemscope.stop()
        f()
        assert sys.getprofile() is None and threading._profile_hook is None
    """)
    rows = traced.slices()
    check_nesting(rows)
    assert texts(traced.ours()).count("4: f") == 4 and len({row.tid for row in traced.ours()}) == 2


def test_existing_profiler_is_kept(traced):
    """Another profiler in the same thread keeps working where the interpreter permits; nothing is damaged."""
    traced.run("""\
        import cProfile, msmemscope, sys
        def f(): pass
        msmemscope.config(events="traceback", analysis="")
        msmemscope.start()
        f()
        profile = cProfile.Profile()
        profile.enable()
        f()
        profile.disable()
        msmemscope.stop()
        assert any("f" == key[2] for key in profile.getstats() and __import__("pstats").Stats(profile).stats)
        if sys.version_info >= (3, 12):
            assert sys.monitoring.get_tool(3) is None and sys.monitoring.get_tool(4) is None
        else:
            assert sys.getprofile() is None
    """)
    expected = 2 if traced.python in [p for v, p in PYTHONS.items() if tuple(map(int, v.split("."))) >= (3, 12)] else 1
    assert texts(traced.ours()).count("2: f") == expected


def test_profiler_set_while_tracing_is_kept(traced):
    """In each thread: the end of the trace does not remove it."""
    traced.run("""\
        import msmemscope, sys, threading
        def other(*event): pass
        ready, go = threading.Event(), threading.Event()
        def body():
            sys.setprofile(other)
            ready.set()
            go.wait()
            kept.append(sys.getprofile() is other)
        kept = []
        thread = threading.Thread(target=body, daemon=True)
        msmemscope.config(events="traceback", analysis="")
        msmemscope.start()
        thread.start()
        ready.wait()
        sys.setprofile(other)
        threading.setprofile(other)
        msmemscope.stop()
        assert sys.getprofile() is other and threading._profile_hook is other
        go.set()
        thread.join()
        assert kept == [True]
        sys.setprofile(None)
        threading.setprofile(None)
        msmemscope.start()
        msmemscope.stop()
        assert sys.getprofile() is None and threading._profile_hook is None
    """)


@pytest.mark.parametrize("checks", ["", "1"], ids=["plain", "dev"])
def test_tracing_until_interpreter_exit(traced, checks):
    """Remaining threads and objects do no harm, and memory is not corrupted."""
    traced.way = "launcher"
    done = traced.run("""\
        import atexit, threading, time
        def f(): pass
        class Last:
            def __del__(self): f()
        keep = Last()
        cycle = [keep]; cycle.append(cycle)
        def forever():
            while True:
                f()
                time.sleep(0.001)
        threading.Thread(target=forever, daemon=True).start()
        atexit.register(f)
        def numbers():
            yield 1
            yield 2
        suspended = numbers(); next(suspended)
    """, options=["--events=traceback", "--collect-mode=immediate"], PYTHONDEVMODE=checks)
    assert done.err == ""
    rows = traced.ours()
    assert texts(rows).count("1: <module>") == 1 and "stop: 7: forever" in texts(rows)


def test_isolated_interpreter(traced):
    """Without environment and site: the trace does not need the package."""
    traced.way = "launcher"
    script = traced.folder / "isolated.py"
    script.write_text("def f(): pass\nf()\n")
    argv = traced.argv("", options=["--events=traceback", "--collect-mode=immediate"])
    argv[-1:] = ["-I", "-S", str(script)]
    done = subprocess.run(argv, cwd=traced.folder, env=traced.softnpu.env(**traced.env), capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert [row.text for row in traced.slices() if row.text.endswith("isolated.py(1): f")] != []


EMBEDDED = """\
#include <Python.h>
int main(void)
{
    Py_Initialize();
    %s
    return Py_FinalizeEx();
}
"""


@pytest.mark.parametrize("first", ['PyRun_SimpleString("import part; part.begin()");',
                                   'PyObject_CallMethod(PyImport_ImportModule("part"), "begin", NULL);'],
                         ids=["text", "module"])
def test_embedded_interpreter(traced_here, compiler, first):
    """The start of a main program is not visible there; creating the interpreter is not part of the trace."""
    traced_here.way = "launcher"
    (traced_here.folder / "part.py").write_text("def begin(): return inside()\ndef inside(): return 1\n")
    source = traced_here.folder / "program.c"
    source.write_text(EMBEDDED % first)
    name, include, folder = (sysconfig.get_config_var(key) for key in ("LDVERSION", "INCLUDEPY", "LIBDIR"))
    program = compiler(traced_here.folder / "program", source, f"python{name}",
                       flags=[f"-I{include}", f"-L{folder}", f"-Wl,-rpath,{folder}"])
    argv = traced_here.argv("", options=["--events=traceback", "--collect-mode=immediate"])
    argv[-2:] = [str(program)]
    env = traced_here.softnpu.env(**traced_here.env | {"PYTHONPATH": str(traced_here.folder)})
    done = subprocess.run(argv, cwd=traced_here.folder, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    found = [row.text for row in traced_here.slices()]
    assert [t.split("/")[-1] for t in found if "/part.py(" in t] == [
        "part.py(1): <module>", "part.py(2): inside", "part.py(1): begin"]
    assert not [t for t in found if "/site.py(" in t]
