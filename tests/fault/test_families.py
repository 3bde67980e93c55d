# SPDX-License-Identifier: Apache-2.0
"""Processes that fork and exec; thousands of threads; unreachable sockets."""

import collections
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

from recorder import collector_of, read_dump, wait_until

UNIT = 32768


@pytest.fixture(scope="module")
def families(tmp_path_factory, compiler):
    source = pathlib.Path(__file__).with_name("families.c")
    return compiler(tmp_path_factory.mktemp("families") / "families", source, "ascend_hal", flags=("-pthread",))


def blocks(rows):
    """Number of allocations and frees by block size."""
    found = collections.Counter()
    for row in rows:
        if row.type == "HAL" and "shadow" not in row.attr:
            found[row.event, row.number("size") // UNIT] += 1
    return found


@pytest.mark.parametrize("split", ["fork", "clone"])
@pytest.mark.parametrize("form", ["csv", "db"])
def test_forked_process_is_recorded_separately(recording, families, split, form):
    assert recording.run(f"--format={form}", "--", families, split).returncode == 0
    by_pid = {p["pid"]: p for p in recording.info()}
    assert len(by_pid) == 2
    (child,) = [p for p in by_pid.values() if p["ppid"] in by_pid]
    parent = by_pid[child["ppid"]]
    rows = {p: read_dump(next(pathlib.Path(by_pid[p]["path"]).glob("device_0/dump/*"))) for p in by_pid}
    for pid, own in rows.items():
        assert {r.pid for r in own} == {str(pid)}
        assert [r.id for r in own] == sorted({r.id for r in own})
        assert all(a.time < b.time for a, b in zip(own, own[1:]))
    # The child starts empty: freeing inherited memory creates no row.
    assert blocks(rows[child["pid"]]) == {("MALLOC", 2): 100, ("FREE", 2): 100, ("MALLOC", 4): 1}
    assert blocks(rows[parent["pid"]]) == {("MALLOC", 1): 1, ("MALLOC", 3): 100, ("FREE", 3): 100, ("FREE", 1): 1}
    assert all(p["lost"] == p["damages"] == 0 and p["ending"] == 1 for p in by_pid.values())


def test_vfork_child_records_after_exec(recording, families):
    assert recording.run(families, "vfork").returncode == 0
    parent, child = sorted((blocks(read_dump(dump)) for dump in recording.dumps()), key=len, reverse=True)
    assert parent == {("MALLOC", 1): 1, ("FREE", 1): 1, ("MALLOC", 3): 1, ("FREE", 3): 1}
    assert child == {("MALLOC", 2): 1, ("FREE", 2): 1}


def test_threads_that_end_are_recorded(recording, families):
    assert recording.run(families, "threads", 3000, timeout=100).returncode == 0
    rows = recording.rows()
    assert blocks(rows) == {(event, size): 750 for event in ("MALLOC", "FREE") for size in (1, 2, 3, 4)}
    assert len({r.tid for r in rows if r.event == "MALLOC"}) > 1000  # ids may be reused
    (process,) = recording.info()
    assert process["lost"] == process["damages"] == 0


def test_thousand_threads_at_once(recording, families):
    assert recording.run(families, "crowd", 1000, timeout=100).returncode == 0
    rows = recording.rows()
    assert blocks(rows) == {("MALLOC", 1): 1000, ("FREE", 1): 1000}
    assert len({r.tid for r in rows if r.event == "MALLOC"}) == 1000
    assert [p["lost"] for p in recording.info()] == [0]


def test_script_with_two_ranks(recording, build, tmp_path):
    """The documented form: msmemscope bash user.sh. Helper processes without events write nothing."""
    train = build / "examples" / "acl-train"
    (tmp_path / "user.sh").write_text(f"""
        echo "$(date | sed s/x/y/)" | grep -q . || exit 3
        ASCEND_RT_VISIBLE_DEVICES=0 {train} --steps 2 >/dev/null & one=$!
        ASCEND_RT_VISIBLE_DEVICES=1 {train} --steps 2 --seed 2 >/dev/null & two=$!
        wait $one || exit 4
        wait $two || exit 5
        exit 6""")
    done = recording.run("bash", tmp_path / "user.sh")
    assert done.returncode == 6, done.stderr
    assert len(recording.info()) == len(list(recording.output.iterdir())) == 2
    assert sorted(p.parent.parent.name for p in recording.dumps()) == ["device_0", "device_1"]
    assert {r.device for r in recording.rows()} == {"0", "1", "N/A"}


def without_network(command):
    inside = ["unshare", "--net"]
    if os.getuid() != 0:
        inside = ["unshare", "--user", "--map-root-user", "--net"]
    return [*inside, *map(str, command)]


def test_other_network_namespace_uses_socket_file(recording, families):
    """Abstract sockets are limited to the namespace; the socket file in the output directory is not."""
    assert recording.run(*without_network([families, "plain", 7])).returncode == 0
    assert blocks(recording.rows()) == {("MALLOC", 7): 1, ("FREE", 7): 1}


def test_unreachable_socket_starts_own_collector(recording, families):
    """It writes to the same directory."""
    inner = without_network(["sh", "-c", f"rm {recording.output}/.msmemscope-*; {families} plain 7; exit 5"])
    done = recording.run(*inner)
    assert done.returncode == 5, done.stderr
    wait_until(lambda: recording.count("HAL_FREE") == [1])
    wait_until(lambda: [p["ending"] for p in recording.info()] == [1])


def test_new_process_after_launcher_and_collector_died(recording, families, tmp_path):
    """New processes of the job start their own collector, and nothing blocks."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    job = recording.start("sh", "-c", f"{families} plain 1; echo ready; cat {fifo} >/dev/null; {families} plain 2; echo $?")
    line = job.stdout.readline()
    while line != "ready\n":  # the recorder's messages use the same pipe
        line = job.stdout.readline()
    wait_until(lambda: recording.count("HAL_FREE") == [1])
    collector = collector_of(recording.output)
    os.kill(job.pid, signal.SIGKILL)  # it would restart the collector
    job.wait()
    os.kill(collector, signal.SIGKILL)
    wait_until(lambda: not list(pathlib.Path(f"/proc/{collector}").glob("fd/*")))  # until then it would still accept connections
    fifo.write_text("go")
    assert job.stdout.read().endswith("0\n")
    wait_until(lambda: recording.count("HAL_FREE") == [1, 1])


def test_hundreds_of_commands_without_events(recording):
    done = recording.run("bash", "-c", "for i in $(seq 150); do /bin/true; done; exit 4")
    assert done.returncode == 4
    assert not recording.output.exists()


def test_command_substitution_and_captured_output(recording, families):
    """Only the program itself holds the pipe."""
    script = f'a=$({shutil.which("env")} "$@"); printf "<%s>" "$a"'
    done = subprocess.run(["sh", "-c", script, "sh", *recording.argv("--quiet", "--", "sh", "-c", f"{families} plain 1; echo out; echo err >&2")],
                          env=recording.softnpu.env(), capture_output=True, text=True, timeout=60)
    assert done.stdout == "<out>" and done.stderr.endswith("err\n")
    assert recording.count("HAL_ALLOC") == [1]
