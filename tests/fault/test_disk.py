# SPDX-License-Identifier: Apache-2.0
"""Full, read-only and unusable output directories."""

import os
import resource
import subprocess

import pytest
from recorder import collector_of, wait_until

PROGRAM = r"""
#include <acl/acl.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    long n = atol(argv[1]);
    aclInit(NULL);
    aclrtSetDevice(0);
    puts("ready");
    fflush(stdout);
    getchar();
    for (long i = 0; i < n; i++) {
        void *p = NULL;
        aclrtMalloc(&p, 4096 + (size_t)rand() % 65536, ACL_MEM_MALLOC_NORMAL_ONLY);
        if (i % (n / 5) != n / 10) aclrtFree(p); /* five leaks, early and late */
    }
    puts("done");
    return 3;
}
"""
PAIRS = 400000


@pytest.fixture(scope="module")
def program(tmp_path_factory, compiler):
    folder = tmp_path_factory.mktemp("disk")
    (folder / "leaky.c").write_text(PROGRAM)
    return compiler(folder / "leaky", folder / "leaky.c", "ascendcl")


def mount(folder, *options):
    folder.mkdir(exist_ok=True)
    return subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", str(folder)], capture_output=True).returncode == 0


def may_mount(tmp):
    if os.geteuid() != 0 or not mount(tmp):
        return False
    subprocess.run(["umount", str(tmp)], check=True)
    return True


class Small:
    """Limited space: a small file system or, without privileges, a limit on the size of the collector's files."""

    def __init__(self, recorder, folder, size, file_system):
        self.recorder, self.folder, self.size = recorder, folder, size
        self.mounted = file_system and mount(folder, "-o", f"size={size}")
        folder.mkdir(exist_ok=True)
        recorder.output = folder / "out"

    def run(self, *program, options=()):
        process = self.recorder.start(*program, options=options)
        assert process.stdout.readline() == "ready\n"
        if not self.mounted:
            collector = wait_until(lambda: collector_of(self.recorder.output))
            resource.prlimit(collector, resource.RLIMIT_FSIZE, (self.size // 2, self.size // 2))
        process.out, process.err = process.communicate("\n", timeout=120)
        return process

    def close(self):
        if self.mounted:
            subprocess.run(["umount", "-l", str(self.folder)], check=True)


@pytest.fixture(params=["disk", "limit"])
def small(request, recorder, tmp_path):
    place = Small(recorder, tmp_path / "small", 3 << 20, request.param == "disk")
    yield place
    place.close()


def test_reports_are_correct_on_full_disk(recorder, program, small):
    done = small.run(program, PAIRS)
    assert done.returncode == 3 and "done\n" in done.out
    # The limit also applies to the memory file that replaces the disk: losses there are reported.
    assert "leaked in 5 allocation(s)" in done.out or (not small.mounted and "results are uncertain since" in done.out)
    assert done.err.count("can no longer be written") == 1
    (info,) = recorder.info()
    assert info["ending"] == 3 and info["damages"] == 0
    assert info["kinds"]["HAL_ALLOC"] + info["kinds"]["HAL_FREE"] + info["left_out"] >= 2 * PAIRS - 5
    assert not list(recorder.output.glob("*/trace/*.reserve"))
    for dump in recorder.dumps():  # existing files are complete
        assert all(line.count('"') % 2 == 0 for line in dump.read_text().splitlines()[:-1])


def test_events_that_do_not_fit_are_counted(recorder, program, small):
    done = small.run(program, PAIRS, options=["--export=none"])
    assert done.returncode == 3
    (info,) = recorder.info()
    assert info["ending"] == 3 and info["left_out"] > 100000
    taken = sum(info["kinds"].values())
    assert 2 * PAIRS - 5 <= taken + info["left_out"] <= 2 * PAIRS + 1000
    text = recorder.tool("info").stdout
    assert f"{info['left_out']} events since " in text


@pytest.mark.parametrize("room", [16 << 10, 128 << 10, 1100 << 10])
def test_almost_no_space(recorder, program, tmp_path, room):
    place = Small(recorder, tmp_path / "none", room, True)
    try:
        done = place.run(program, 20000)
        assert done.returncode == 3 and "done\n" in done.out
        if place.mounted:
            assert "No space left on device" in done.err
    finally:
        place.close()


@pytest.mark.parametrize("where", ["below a file", "proc", "read-only", "no rights"])
def test_unusable_directories_are_refused_before_program_runs(recorder, program, tmp_path, where):
    cleanup = None
    if where == "below a file":
        (tmp_path / "file").write_text("mine")
        recorder.output = tmp_path / "file" / "out"
    elif where == "proc":
        recorder.output = tmp_path.__class__("/proc/msmemscope-out")
    elif where == "read-only" and may_mount(tmp_path / "mount"):
        mount(tmp_path / "mount", "-o", "ro")
        cleanup = ["umount", "-l", str(tmp_path / "mount")]
        recorder.output = tmp_path / "mount" / "out"
    else:
        recorder.output = tmp_path.__class__("/sys/kernel/out")  # not writable, even for root
    done = recorder.run(program, 1000)
    if cleanup:
        subprocess.run(cleanup, check=True)
    assert done.returncode == 2
    assert "done" not in done.stdout
    assert str(recorder.output) in done.stderr
    if where == "below a file":
        assert (tmp_path / "file").read_text() == "mine"


def test_existing_files_are_not_overwritten(recorder, program, tmp_path):
    recorder.output.mkdir()
    mine = {name: recorder.output / name for name in ("config.json", "notes.csv", "device_0")}
    for path in mine.values():
        path.write_text("mine")
    assert recorder.run(program, 50, options=["--analysis=none"]).returncode == 3
    assert [path.read_text() for path in mine.values()] == ["mine"] * 3
    (first,) = recorder.dumps()
    before = first.read_bytes()
    again = tmp_path / "again"
    for i in range(2):
        assert recorder.tool("export", "-o", again).returncode == 0
    files = sorted(again.glob("*/device_0/dump/*.csv"))
    assert len(files) == 2 and files[0].read_bytes() == files[1].read_bytes() == before
    assert recorder.tool("export").returncode == 0  # in addition to the first one
    assert len(recorder.dumps()) == 2 and first.read_bytes() == before
    assert recorder.tool("export", "--format=chrome", "-o", again).returncode == 0
    second = recorder.tool("export", "--format=chrome", "-o", again)
    assert second.returncode == 1 and "File exists" in second.stderr
