"""What a recording leaves behind, and what its options change."""

import stat

import pytest

# Does what its arguments say, one after the other: N allocations and frees at once, "keepN" blocks that stay, "exec" to begin
# anew with the rest, "step" a mark of a step, "line" wait for a line of input.
PROGRAM = r"""
#include <acl/acl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void work(long n, int keep)
{
    for (long i = 0; i < n; i++) {
        void *p = NULL;
        aclrtMalloc(&p, 4096, ACL_MEM_MALLOC_NORMAL_ONLY);
        if (!keep) aclrtFree(p);
    }
}
int main(int argc, char **argv)
{
    aclInit(NULL);
    aclrtSetDevice(0);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "exec") == 0) {
            argv[i] = argv[0];
            execv("/proc/self/exe", argv + i);
        } else if (strcmp(argv[i], "line") == 0) {
            puts("waiting");
            fflush(stdout);
            for (int c = 0; c != EOF && c != 10; c = getchar()) { }
        } else if (strncmp(argv[i], "keep", 4) == 0) {
            work(atol(argv[i] + 4), 1);
        } else {
            work(atol(argv[i]), 0);
        }
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory, compiler):
    folder = tmp_path_factory.mktemp("recording")
    (folder / "worker.c").write_text(PROGRAM)
    return compiler(folder / "worker", folder / "worker.c", "ascendcl")


def test_images_of_one_process_are_numbered_in_their_order(recorder, program):
    assert recorder.run(program, 4, "exec", 3, "exec", 2, "exec", 1).returncode == 0
    found = sorted(recorder.info(), key=lambda p: p["path"])
    assert [(p["exec_count"], p["kinds"]["HAL_ALLOC"]) for p in found] == [(0, 4), (1, 3), (2, 2), (3, 1)]


def test_nobody_else_reads_what_was_recorded(recorder, program):
    assert recorder.run(program, 5, options=["--format=db"]).returncode == 0
    assert recorder.run(program, 5, "keep1", options=["--log-level=debug"]).returncode == 0
    modes = {}
    for path in [recorder.output, *recorder.output.rglob("*")]:
        kind = "dir" if path.is_dir() else "config" if path.name == "config.json" else "file"
        modes.setdefault(kind, set()).add(stat.S_IMODE(path.stat().st_mode))
    assert modes == {"dir": {0o750}, "config": {0o640}, "file": {0o600}}


def test_recover_writes_the_format_of_the_recording(recorder, program):
    assert recorder.run(program, 5, options=["--format=db"]).returncode == 0
    (database,) = recorder.dumps("db")
    database.unlink()
    assert recorder.tool("recover").returncode == 0
    assert len(recorder.dumps("db")) == 1 and not recorder.dumps("csv")
