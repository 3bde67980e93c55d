# SPDX-License-Identifier: Apache-2.0
"""Call stacks as text: functions, files and lines, also of programs that were deleted."""

import os
import pathlib
import re
import subprocess
import textwrap

import pytest
from recorder import collector_of, wait_until

PROGRAM = """\
#include "ascend_hal.h"
#include <stdio.h>

static inline __attribute__((always_inline)) void *allocate(unsigned long long size)
{
    void *p = NULL;
    halMemAlloc(&p, size, MEM_DEV | MEM_TYPE_HBM); /* line 7 */
    return p;
}

__attribute__((noinline)) void *load_weights(void)
{
    void *volatile p = allocate(4096); /* line 13 */
    return p;
}

int main(void)
{
    halMemFree(load_weights()); /* line 19 */
    return 0;
}
"""


@pytest.fixture
def program(compiler, tmp_path):
    source = tmp_path / "weights.c"
    source.write_text(PROGRAM)
    return compiler(tmp_path / "weights", source, "ascend_hal", flags=("-g", "-O2"))


def frames(row, column="Call Stack(C)"):
    return row[column].splitlines()


def of_malloc(recorder):
    (row,) = [r for r in recorder.rows() if r["Event"] == "MALLOC"]
    return row


def frame_pattern(path, name, at=""):
    where = f" at {re.escape(at)}" if at else ""
    return re.compile(rf"{re.escape(str(path))}\({name}\+0x[0-9a-f]+\) \[0x[0-9a-f]+\]{where}$")


def check_frames(found, program, source):
    expected = [("allocate", 7), ("load_weights", 13), ("main", 19)]
    for frame, (name, line) in zip(found, expected):
        assert frame_pattern(program, name, f"{source}:{line}").match(frame), frame
    assert len(found) > 3


def test_functions_files_and_lines(recorder, program, tmp_path):
    result = recorder.run(program, options=["--call-stack=c"])
    assert result.returncode == 0, result.stderr
    check_frames(frames(of_malloc(recorder)), program, tmp_path / "weights.c")


def test_export_after_program_is_deleted(recorder, program, tmp_path):
    """Export gives the same rows as the live recording after program and sources were deleted."""
    recorder.run(program, options=["--call-stack=c"])
    before = of_malloc(recorder)
    program.unlink()
    (tmp_path / "weights.c").unlink()
    exported = tmp_path / "again"
    assert recorder.tool("export", "-o", exported).returncode == 0
    (path,) = exported.glob("*/device_*/dump/memscope_dump_*.csv")
    (after,) = [r for r in recorder.rows(path) if r["Event"] == "MALLOC"]
    assert after["Call Stack(C)"] == before["Call Stack(C)"]
    assert "load_weights" in after["Call Stack(C)"]


@pytest.mark.parametrize("mode", ["none", "end"])
def test_trace_contains_stack_texts_without_export(recorder, program, tmp_path, mode):
    """Even if nothing was exported while the program ran."""
    recorder.run(program, options=["--call-stack=c", f"--export={mode}"])
    program.unlink()
    exported = tmp_path / "again"
    assert recorder.tool("export", "-o", exported).returncode == 0
    (path,) = exported.glob("*/device_*/dump/memscope_dump_*.csv")
    (row,) = [r for r in recorder.rows(path) if r["Event"] == "MALLOC"]
    check_frames(frames(row), program, tmp_path / "weights.c")


VANISH = """\
#include "ascend_hal.h"
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline)) void *load_weights(void)
{
    void *volatile p = 0;
    halMemAlloc((void **)&p, 4096, MEM_DEV | MEM_TYPE_HBM);
    return p;
}

int main(int n, char **v)
{
    unlink(v[0]);
    halMemFree(load_weights());
    getchar(); /* until the collector has opened it */
    return 0;
}
"""


def open_files(pid):
    found = set()
    for fd in pathlib.Path(f"/proc/{pid}/fd").glob("*") if pid else ():
        try:
            found.add(os.readlink(fd))
        except FileNotFoundError:
            pass  # closed meanwhile
    return found


def test_program_deletes_itself(recorder, compiler, tmp_path):
    source = tmp_path / "vanish.c"
    source.write_text(VANISH)
    program = compiler(tmp_path / "vanish", source, "ascend_hal", flags=("-g", "-O2"))
    process = recorder.start(program, options=["--call-stack=c"])
    wait_until(lambda: f"{program} (deleted)" in open_files(collector_of(recorder.output)))
    process.communicate("\n", timeout=60)
    assert not program.exists()
    assert "(load_weights+0x" in of_malloc(recorder)["Call Stack(C)"]


def test_stripped_program(recorder, program):
    subprocess.run(["strip", "-g", program], check=True)
    recorder.run(program, options=["--call-stack=c"])
    found = frames(of_malloc(recorder))
    assert frame_pattern(program, "load_weights").match(found[0]), found
    assert frame_pattern(program, "main").match(found[1]), found


def test_fully_stripped_program(recorder, program):
    subprocess.run(["strip", "-s", program], check=True)
    recorder.run(program, options=["--call-stack=c"])
    found = frames(of_malloc(recorder))
    for frame in found[:2]:  # the original's form for unnamed addresses
        assert re.match(rf"{re.escape(str(program))}\(\+0x[0-9a-f]+\) \[0x[0-9a-f]+\]$", frame), frame


def test_depth_counts_frames(recorder, program):
    recorder.run(program, options=["--call-stack=c:1"])
    found = frames(of_malloc(recorder))
    assert len(found) == 2 and "allocate" in found[0] and "load_weights" in found[1]  # one frame, two functions


def test_unloaded_and_deleted_library(recorder, compiler, tmp_path):
    """And another library that is loaded at the same address afterwards."""
    for name in ("first", "second"):
        source = tmp_path / f"{name}.c"
        source.write_text(f'#include "ascend_hal.h"\nvoid {name}_call(void)\n{{\n    void *volatile p = 0;\n'
                          f'    halMemAlloc((void **)&p, 4096, MEM_DEV | MEM_TYPE_HBM);\n    halMemFree(p);\n}}\n')
        compiler(tmp_path / f"lib{name}.so", source, "ascend_hal", flags=("-g", "-shared", "-fPIC"))
    source = tmp_path / "loads.c"
    source.write_text(textwrap.dedent("""\
        #include <dlfcn.h>
        #include <unistd.h>
        #include "ascend_hal.h"
        static int use(const char *path, const char *name)
        {
            void *library = dlopen(path, RTLD_NOW);
            void (*call)(void) = library ? (void (*)(void))dlsym(library, name) : 0;
            if (!call)
                return 1;
            call();
            return dlclose(library) | unlink(path);
        }
        int main(int n, char **v)
        {
            unsigned int devices;
            drvGetDevNum(&devices);
            return use(v[1], "first_call") | use(v[2], "second_call");
        }
        """))
    program = compiler(tmp_path / "loads", source, "ascend_hal", "dl", flags=("-g", "-rdynamic"))
    first, second = tmp_path / "libfirst.so", tmp_path / "libsecond.so"
    result = recorder.run(program, first, second, options=["--call-stack=c"])
    assert result.returncode == 0, result.stderr
    assert not first.exists() and not second.exists()
    texts = [r["Call Stack(C)"] for r in recorder.rows() if r["Event"] == "MALLOC"]
    assert str(first) in texts[0] and str(second) in texts[1]


DEEP = """\
#include "ascend_hal.h"
#include <stdlib.h>

typedef int (*compare)(const void *, const void *);
static int leaf(const void *a, const void *b)
{
    void *volatile p = 0;
    halMemAlloc((void **)&p, 4096, MEM_DEV | MEM_TYPE_HBM);
    halMemFree(p);
    return 0;
}
__attribute__((noinline)) void outer(compare through)
{
    THROUGH
    __asm__ volatile("" ::: "memory");
}
int main(void)
{
    outer(leaf);
    return 0;
}
"""


def recorded_deep(recorder, compiler, tmp_path, options, through):
    source = tmp_path / "deep.c"
    source.write_text(DEEP.replace("THROUGH", through))
    program = compiler(tmp_path / "deep", source, "ascend_hal", flags=("-g", "-O2", "-fno-omit-frame-pointer"))
    result = recorder.run(program, options=options)
    assert result.returncode == 0, result.stderr
    names = [re.search(r"\((\w*)", frame).group(1) for frame in frames(of_malloc(recorder))]
    logs = "".join(path.read_text() for path in recorder.output.glob("*/msmemscope_logs/*.log"))
    return names, logs


def test_frame_pointers_are_used(recorder, compiler, tmp_path):
    names, logs = recorded_deep(recorder, compiler, tmp_path, ["--call-stack=c:fp", "--log-level=info"], "through(0, 0);")
    assert names[:3] == ["leaf", "outer", "main"]
    assert "_start" not in names  # not reachable by frame pointers, so they were used
    assert "frame pointers" not in logs


def test_missing_frame_pointers_fall_back_to_tables(recorder, compiler, tmp_path):
    """In a library without them the unwind tables are used, and the log says so."""
    through = "char list[4] = {4, 3, 2, 1}; qsort(list, 2, 1, through);"
    names, logs = recorded_deep(recorder, compiler, tmp_path, ["--call-stack=c:fp", "--log-level=info"], through)
    assert names[0] == "leaf" and "outer" in names and names[-1] == "_start"
    assert any(name.startswith(("qsort", "__GI___qsort", "msort")) or name == "" for name in names[1:-3]), names
    assert "frame pointers of this program are not reliable" in logs


SCRIPT = '''\
import ctypes

driver = ctypes.CDLL("libascend_hal.so")
hooked = ctypes.CDLL(None)


class Model:
    def load(self, size):
        p = ctypes.c_void_p()
        hooked.halMemAlloc(
            ctypes.byref(p), ctypes.c_ulonglong(size),
            ctypes.c_ulonglong(0x4400))
        return p


def build():
    model = Model()

    first = [model.load(size)
             for size in (512,)]
    second = model.load(1024)
    return first, second


build()
'''


def pythons():
    found = {}
    for path in ["/usr/bin/python3", *os.environ.get("NPUSCOPE_PYTHONS", "").split()]:
        if os.path.exists(path):
            version = subprocess.run([path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                                     capture_output=True, text=True).stdout.strip()
            found.setdefault(version, path)
    return found


@pytest.mark.parametrize("version,python", pythons().items())
def test_python_lines(recorder, tmp_path, version, python):
    script = tmp_path / "model.py"
    script.write_text(SCRIPT)
    result = recorder.run(python, script, options=["--call-stack=python,c"])
    assert result.returncode == 0, result.stderr
    rows = [r for r in recorder.rows() if r["Event"] == "MALLOC"]
    minor = tuple(map(int, version.split(".")))
    qualified = "Model.load" if minor >= (3, 11) else "load"
    inner = "build.<locals>.<listcomp>" if minor >= (3, 11) else "<listcomp>"
    comprehension = [f"{script}(19): {inner}"] if minor < (3, 12) else []
    assert frames(rows[0], "Call Stack(Python)") == [
        f"{script}(10): {qualified}", *comprehension, f"{script}(19): build", f"{script}(25): <module>"]
    assert frames(rows[1], "Call Stack(Python)") == [
        f"{script}(10): {qualified}", f"{script}(21): build", f"{script}(25): <module>"]
    assert "ffi" in rows[0]["Call Stack(C)"]


def test_python_file_name_that_is_not_utf8(recorder, tmp_path):
    """Stacks are still recorded, and the output is UTF-8."""
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    with open(folder + b"/model.py", "w") as file:
        file.write(SCRIPT)
    result = recorder.run("/usr/bin/python3", os.fsdecode(folder) + "/model.py", options=["--call-stack=python"])
    assert result.returncode == 0, result.stderr
    rows = [r for r in recorder.rows() if r["Event"] == "MALLOC"]
    assert [frames(row, "Call Stack(Python)")[-1] for row in rows] == 2 * [f"{tmp_path}/caf?/model.py(25): <module>"]


def test_leak_report_names_line(recorder, compiler, tmp_path):
    source = tmp_path / "leaky.c"
    source.write_text(PROGRAM.replace("halMemFree(load_weights());", "load_weights();          "))
    program = compiler(tmp_path / "leaky", source, "ascend_hal", flags=("-g", "-O2"))
    result = recorder.run(program, options=["--call-stack=c"])
    assert re.search(rf"{re.escape(str(program))}\(load_weights\+0x[0-9a-f]+\) \[0x[0-9a-f]+\] at {re.escape(str(source))}:13",
                     result.stdout), result.stdout


# Machine code for x86-64: generated code is tested only there.
JIT = """\
#include "ascend_hal.h"
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *p;
static void allocate(void)
{
    halMemAlloc(&p, 4096, MEM_DEV | MEM_TYPE_HBM);
}

int main(void)
{
    /* push rbp; mov rbp, rsp; call rdi; pop rbp; ret */
    static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
    unsigned char *page = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char path[64];
    memcpy(page, code, sizeof(code));
    snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
    FILE *map = fopen(path, "w");
    fprintf(map, "%lx %zx generated_step\\n", (unsigned long)page, sizeof(code));
    fclose(map);
    ((void (*)(void (*)(void)))page)(allocate);
    halMemFree(p);
    puts(path);
    return 0;
}
"""


def check_generated_code(recorder, compiler, tmp_path):
    source = tmp_path / "jit.c"
    source.write_text(JIT)
    program = compiler(tmp_path / "jit", source, "ascend_hal", flags=("-g",))
    result = recorder.run(program, options=["--call-stack=c"])
    map_file = result.stdout.split()[0]
    os.unlink(map_file)
    found = frames(of_malloc(recorder))
    assert "(allocate+0x" in found[0]
    assert re.match(r"//anon\(generated_step\+0x6\) \[0x[0-9a-f]+\]$", found[1]), found
    (copy,) = recorder.output.glob("*/trace/*.perf.map")
    assert "generated_step" in copy.read_text()


if os.uname().machine == "x86_64":
    test_generated_code = check_generated_code
