# SPDX-License-Identifier: Apache-2.0
"""The files of a recording, and the effect of its options."""

import os
import pathlib
import pty
import signal
import stat
import time

import pytest
from recorder import collector_of

# Executes its arguments in order: N allocates and frees N times, "keepN" allocates N blocks that stay, "exec" restarts with the
# remaining arguments, "step" and "end" delimit a step, "line" waits for a line of input,
# "fast" disables pauses from then on.
PROGRAM = r"""
#include <acl/acl.h>
#include <mstx/ms_tools_ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int fast;
static void work(long n, int keep)
{
    for (long i = 0; i < n; i++) {
        void *p = NULL;
        aclrtMalloc(&p, 4096 + (size_t)rand() % 65536, ACL_MEM_MALLOC_NORMAL_ONLY); /* random, so that it does not compress well */
        if (!keep) aclrtFree(p);
        if (i % 500 == 499 && !fast) usleep(1000); /* many sweeps, many segments */
    }
}
int main(int argc, char **argv)
{
    mstxRangeId step = 0;
    aclInit(NULL);
    aclrtSetDevice(0);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "exec") == 0) {
            argv[i] = argv[0];
            execv("/proc/self/exe", argv + i);
        } else if (strcmp(argv[i], "fast") == 0) {
            fast = 1;
        } else if (strcmp(argv[i], "line") == 0) {
            puts("waiting");
            fflush(stdout);
            for (int c = 0; c != EOF && c != 10; c = getchar()) { }
        } else if (strcmp(argv[i], "step") == 0) {
            step = mstxRangeStartA("step start", NULL);
        } else if (strcmp(argv[i], "end") == 0) {
            mstxRangeEnd(step);
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
    return compiler(folder / "worker", folder / "worker.c", "ascendcl", "ms_tools_ext")


def test_exec_images_are_numbered_in_order(recorder, program):
    assert recorder.run(program, 4, "exec", 3, "exec", 2, "exec", 1).returncode == 0
    found = sorted(recorder.info(), key=lambda p: p["path"])
    assert [(p["exec_count"], p["kinds"]["HAL_ALLOC"]) for p in found] == [(0, 4), (1, 3), (2, 2), (3, 1)]


def test_recordings_are_private(recorder, program):
    assert recorder.run(program, 5, options=["--format=db"]).returncode == 0
    assert recorder.run(program, 5, "keep1", options=["--log-level=debug"]).returncode == 0
    modes = {}
    for path in [recorder.output, *recorder.output.rglob("*")]:
        kind = "dir" if path.is_dir() else "config" if path.name == "config.json" else "file"
        modes.setdefault(kind, set()).add(stat.S_IMODE(path.stat().st_mode))
    assert modes == {"dir": {0o750}, "config": {0o640}, "file": {0o600}}


def test_recover_writes_format_of_recording(recorder, program):
    assert recorder.run(program, 5, options=["--format=db"]).returncode == 0
    (database,) = recorder.dumps("db")
    database.unlink()
    assert recorder.tool("recover").returncode == 0
    assert len(recorder.dumps("db")) == 1 and not recorder.dumps("csv")


SMALL = {"MSMEMSCOPE_TEST_SEGMENT_B": "8192"}


def segments(recorder):
    return sorted(int(path.name.split(".")[1]) for path in recorder.output.glob("*/trace/*.seg"))


def exported(recorder, tmp_path, *arguments):
    """The lines and messages of a second export."""
    done = recorder.tool("export", "-o", tmp_path / "again", *arguments)
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "again").glob("*/device_0/dump/memscope_dump_*.csv")
    return path.read_text().splitlines(), done.stderr


def test_ring_keeps_latest_part_and_row_ids(recorder, program, tmp_path):
    assert recorder.run(program, "keep100", 200000, options=["--ring"], env=SMALL).returncode == 0
    size = sum(path.stat().st_size for path in recorder.output.glob("*/trace/*.seg"))
    assert size < 450000  # half of the trace; a segment can be large if the drain was delayed
    assert segments(recorder)[0] > 1
    (info,) = recorder.info()
    assert info["begins_at"] > 0 and info["events"] + info["begins_at"] > 400000 and info["lost"] == info["gaps"] == 0
    again, messages = exported(recorder, tmp_path)
    first = int(again[1].split(",")[0])
    assert f"rows 0 to {first - 1} are not in it" in messages
    (dump,) = recorder.dumps()
    assert again[1:] == dump.read_text().splitlines()[first + 1:]  # written during the recording


def test_ring_exported_at_end(recorder, program):
    """Disk use is bounded, and the state at the start of the window is correct."""
    assert recorder.run(program, "keep100", 100000, options=["--ring", "--export=end"], env=SMALL).returncode == 0
    rows = recorder.rows()
    assert 1000 < len(rows) < 150000
    assert int(rows[0]["ID"]) > 50000
    mallocs = {row["Attr"].split(",")[0] for row in rows if row["Event"] == "MALLOC"}
    unknown = [row for row in rows if row["Event"] == "FREE" and row["Attr"].split(",")[0] not in mallocs]
    assert len(unknown) in (100, 101)  # blocks allocated before the window: the kept ones, and the one at its edge
    used = [int(row["Attr"].split("used:")[1].split("}")[0].split(",")[0]) for row in rows if "used:" in row["Attr"]]
    assert min(used) >= 100 * 4096


def test_ring_without_export(recorder, program):
    assert recorder.run(program, 100000, options=["--ring", "--export=none"], env=SMALL).returncode == 0
    assert segments(recorder)[0] > 1
    assert not recorder.dumps()


def test_size_limit_ends_trace_but_not_results(recorder, program):
    done = recorder.run(program, "keep3", 50000, options=["--max-trace-size=16M"], env=SMALL)
    assert done.returncode == 0
    assert "has reached its size limit" in done.stderr
    (info,) = recorder.info()
    assert info["ending"] == 4
    assert len([row for row in recorder.rows() if row["Event"] == "MALLOC"]) == 50003


def test_unselected_steps_take_no_space(recorder, program, tmp_path):
    script = [30000, "keep5", "step", 10, "end", 60000, "step", 20, "end", 60000, "step", 30, "end", 60000]
    assert recorder.run(program, *script, options=["--steps=1,3"], env=SMALL).returncode == 0
    kept = segments(recorder)
    assert len(kept) < 8 and kept[-1] > 2 * len(kept)  # most were deleted
    (info,) = recorder.info()
    assert info["jumps"] >= 1 and info["lost"] == info["damages"] == 0
    (dump,) = recorder.dumps()
    lines = dump.read_text().splitlines()
    assert sum(",MALLOC,HAL," in line and "shadow" not in line for line in lines) == 40
    again, messages = exported(recorder, tmp_path)
    assert again == lines
    assert messages == ""


HOLDER = r"""
#include <acl/acl.h>
#include <stdio.h>
int main(void)
{
    aclInit(NULL);
    aclrtSetDevice(1);
    for (int i = 0; i < 3; i++) {
        void *p = NULL;
        aclrtMalloc(&p, 8 << 20, ACL_MEM_MALLOC_HUGE_ONLY);
        aclrtMallocHost(&p, 4096);
        puts("more");
        fflush(stdout);
        getchar();
    }
    return 0;
}
"""


@pytest.fixture(scope="module")
def holder(tmp_path_factory, compiler):
    folder = tmp_path_factory.mktemp("holder")
    (folder / "holder.c").write_text(HOLDER)
    return compiler(folder / "holder", folder / "holder.c", "ascendcl")


def hold(recorder, holder, until, samples, **more):
    """Runs the holder; it allocates again only after the recording has sampled what it has so far."""
    process = recorder.start(holder, options=["--device=npu,cpu", "--analysis=none"], **more)
    for i in range(3):
        assert process.stdout.readline() == "more\n"
        if samples:
            # SET_DEVICE, then one sample per change
            until(lambda: [p["devices"].get("1", 0) > i + 1 for p in recorder.info()] == [True])
        process.stdin.write("\n")
        process.stdin.flush()
    process.communicate(timeout=30)
    return process.returncode


def attributes(recorder, device, event="MALLOC"):
    (path,) = recorder.output.glob(f"*/device_{device}/dump/memscope_dump_*.csv")
    return [dict(pair.split(":", 1) for pair in row["Attr"].strip("{}").split(","))
            for row in recorder.rows(path) if row["Event"] == event]


def test_rows_contain_device_and_host_memory(recorder, holder, until):
    assert hold(recorder, holder, until, samples=True, SOFTNPU_DEVICES=2) == 0
    first, second, third = attributes(recorder, 1)
    assert "device_used" not in first  # sampled after the first event
    assert int(second["device_used"]) >= int(second["process_used"]) >= 8 << 20
    assert int(third["process_used"]) >= 16 << 20
    pinned = attributes(recorder, "cpu")[-1]
    assert pinned["pinned"] == "true" and int(pinned["used"]) == 3 * 4096
    assert int(pinned["process_used"]) > 1 << 20


def test_device_memory_is_omitted_without_dcmi(recorder, holder, until, tmp_path):
    assert hold(recorder, holder, until, samples=False, ASCEND_HOME_PATH=tmp_path, SOFTNPU_DEVICES=2) == 0
    assert all("device_used" not in found and "used" in found for found in attributes(recorder, 1))


def test_hanging_dcmi_delays_nothing(recorder, holder, until, tmp_path, compiler):
    source = tmp_path / "dcmi.c"
    source.write_text("#include <unistd.h>\nint dcmi_init(void) { for (;;) pause(); }\nint dcmi_get_device_hbm_info(void) { return 0; }\n")
    (tmp_path / "lib64").mkdir()
    compiler(tmp_path / "lib64" / "libdcmi.so", source, flags=["-shared", "-fPIC"])
    assert hold(recorder, holder, until, samples=False, ASCEND_HOME_PATH=tmp_path, SOFTNPU_DEVICES=2) == 0
    assert len(attributes(recorder, 1)) == 3


def stopped_collector(recorder, program, options, until, pairs):
    """Runs a program while its collector is stopped; returns the time it took, its output, and info about the recording."""
    process = recorder.start(program, 1, "line", "fast", pairs, "line", options=options)
    assert process.stdout.readline() == "waiting\n"
    collector = until(lambda: collector_of(recorder.output))
    until(lambda: [p["kinds"].get("HAL_FREE", 0) for p in recorder.info()] == [1])
    os.kill(collector, signal.SIGSTOP)
    try:
        process.stdin.write("\n")
        process.stdin.flush()
        begin = time.monotonic()
        assert process.stdout.readline() == "waiting\n"  # not blocked
        took = time.monotonic() - begin
    finally:
        os.kill(collector, signal.SIGCONT)
    out, errors = process.communicate("\n", timeout=60)
    assert process.returncode == 0
    (info,) = recorder.info()
    return took, out + errors, info


@pytest.mark.parametrize("policy", ["drop", "wait", "wait:100"])
def test_stopped_collector_costs_events_not_time(recorder, program, until, policy):
    pairs = 1300000
    export = "end" if policy == "wait" else "none"
    took, messages, info = stopped_collector(recorder, program, [f"--on-full={policy}", f"--export={export}"], until, pairs)
    assert info["lost"] > 0 and info["gaps"] >= 1
    assert info["kinds"]["HAL_ALLOC"] + info["kinds"]["HAL_FREE"] + info["lost"] == 2 * pairs + 2
    assert "recorder too slow" in recorder.tool("info").stdout
    assert took < 60  # one wait per event would be 80,000 s
    assert export == "none" or "uncertain" in messages.lower()


def test_nothing_is_lost_while_buffers_suffice(recorder, program, until):
    _, messages, info = stopped_collector(recorder, program, ["--on-full=drop", "--export=none"], until, 100000)
    assert info["lost"] == 0 and info["kinds"]["HAL_FREE"] == 100001


@pytest.mark.parametrize("mode", ["live", "end", "none"])
def test_export_modes(recorder, program, until, mode):
    process = recorder.start(program, 500, "line", 500, options=[f"--export={mode}", "--analysis=none"])
    assert process.stdout.readline() == "waiting\n"
    until(lambda: [p["kinds"].get("HAL_FREE", 0) for p in recorder.info()] == [500])
    if mode == "live":
        until(lambda: recorder.dumps() and len(recorder.rows()) >= 1000)
    else:
        assert not recorder.dumps()
    process.communicate("\n", timeout=30)
    rows = [row for row in recorder.rows() if row["Event"] == "FREE"] if mode != "none" else []
    assert len(rows) == (0 if mode == "none" else 1000)
    if mode == "none":
        assert recorder.tool("export").returncode == 0
        assert len([row for row in recorder.rows() if row["Event"] == "FREE"]) == 1000


def test_info_shows_recording_overhead(recorder, program):
    assert recorder.run(program, "fast", 100000, options=["--analysis=none"]).returncode == 0
    (info,) = recorder.info()
    cost = info["overhead"]
    assert cost["buffers"] >= 16384 and cost["drain_ns"] > 0 and cost["collector"] > 1 << 20
    assert 1000 < cost["record_ps"] < 10_000_000
    assert "ns per event" in recorder.tool("info").stdout


def test_progress_is_shown_on_terminals_only(recorder, program, until):
    """For operations longer than a second; the line is cleared afterwards."""
    argv = recorder.argv(program, 10, "line", options=["--analysis=none", "--linger=60"])
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(argv[0], argv, recorder.softnpu.env())
    text = b""
    stopped = None
    while True:
        try:
            got = os.read(terminal, 65536)
        except OSError:
            break
        text += got
        if stopped is None and b"waiting\r\n" in text:
            stopped = until(lambda: collector_of(recorder.output))
            os.kill(stopped, signal.SIGSTOP)  # the end of the program is not reported
            os.write(terminal, b"\n")
        if stopped and b"[msmemscope] waiting for 1 process" in text:
            os.kill(stopped, signal.SIGCONT)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert text.endswith(b"\r\x1b[K") or b"\r\x1b[K[msmemscope]" in text
    done = recorder.tool("export")
    assert done.returncode == 0 and "\x1b" not in done.stdout + done.stderr
