# SPDX-License-Identifier: Apache-2.0
"""A recording survives the death of the collector, and of all processes."""

import os
import signal
import time

import pytest

from recorder import Recorder, collector_of, wait_until

PROGRAM = r"""
#include <acl/acl.h>
#include <stdio.h>
#include <unistd.h>
static void work(int n)
{
    for (int i = 0; i < n; i++) {
        void *p = NULL;
        aclrtMalloc(&p, 4096, ACL_MEM_MALLOC_HUGE_FIRST);
        aclrtFree(p);
    }
}
int main(void)
{
    aclInit(NULL);
    aclrtSetDevice(0);
    work(1000);
    puts("ready");
    fflush(stdout);
    while (getchar() != 'g') { }
    work(1000);
    puts("more");
    fflush(stdout);
    while (getchar() != 'g') { }
    work(1000);
    return 6;
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory, compiler):
    folder = tmp_path_factory.mktemp("collector")
    (folder / "steps.c").write_text(PROGRAM)
    return compiler(folder / "steps", folder / "steps.c", "ascendcl")


@pytest.fixture
def job(recording, program):
    process = recording.start("--quiet", "--", program)
    process.recording, process.output, process.info = recording, recording.output, recording.info
    yield process
    process.kill()
    process.communicate()


def step(job):
    job.stdin.write("g")
    job.stdin.flush()


def rows(job):
    found = [row.event for row in job.recording.rows() if row.type == "HAL"]
    return found.count("MALLOC"), found.count("FREE")


def test_killed_collector_is_restarted_without_loss(job):
    assert job.stdout.readline() == "ready\n"
    wait_until(lambda: [p["kinds"].get("HAL_FREE", 0) for p in job.info()] == [1000])
    first = collector_of(job.output)
    os.kill(first, signal.SIGKILL)
    step(job)
    assert job.stdout.readline() == "more\n"
    wait_until(lambda: collector_of(job.output) not in (None, first))
    step(job)
    _, errors = job.communicate(timeout=30)
    assert job.returncode == 6
    assert "the collector died and was restarted; nothing was lost" in errors
    (process,) = job.info()
    assert process["kinds"]["HAL_ALLOC"] == process["kinds"]["HAL_FREE"] == 3000
    assert process["lost"] == process["damages"] == 0
    assert rows(job) == (3000, 3000)


def test_collector_killed_twice_does_not_block_program(job):
    assert job.stdout.readline() == "ready\n"
    first = collector_of(job.output)
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: collector_of(job.output) not in (None, first))
    os.kill(collector_of(job.output), signal.SIGKILL)
    step(job)
    assert job.stdout.readline() == "more\n"
    step(job)
    _, errors = job.communicate(timeout=60)
    assert job.returncode == 6
    assert "recording has ended" in errors


def test_killed_launcher_does_not_affect_recording(job):
    assert job.stdout.readline() == "ready\n"
    job.send_signal(signal.SIGKILL)
    job.wait(20)
    step(job)
    assert job.stdout.readline() == "more\n"
    step(job)
    wait_until(lambda: [p["ending"] for p in job.info()] == [1])
    assert [p["kinds"]["HAL_ALLOC"] for p in job.info()] == [3000]
    wait_until(lambda: collector_of(job.output) is None)  # files are complete when it has exited
    assert rows(job) == (3000, 3000)


def test_all_processes_killed_at_once(job):
    assert job.stdout.readline() == "ready\n"
    wait_until(lambda: [p["kinds"].get("HAL_FREE", 0) for p in job.info()] == [1000])
    (pid,) = [p["pid"] for p in job.info()]
    for who in (collector_of(job.output), pid, job.pid):
        os.kill(who, signal.SIGSTOP)
    for who in (job.pid, collector_of(job.output), pid):
        os.kill(who, signal.SIGKILL)
    job.wait(20)
    (process,) = job.info()
    assert process["kinds"]["HAL_ALLOC"] == process["kinds"]["HAL_FREE"] == 1000
    assert job.recording.tool("recover").returncode == 0
    assert rows(job) == (1000, 1000)


@pytest.mark.parametrize("missing", ["peerpidfd", "peerpidfd,pidfd"])
def test_deaths_are_noticed_on_older_kernels(softnpu, build, tmp_path, program, missing):
    """Without pidfds of connections, and without pidfds at all: by pid and start time."""
    recorder = Recorder(softnpu, build / "msmemscope", tmp_path / "out")
    process = recorder.start(program, options=["--analysis=none"], MSMEMSCOPE_TEST_WITHOUT=missing)
    assert process.stdout.readline() == "ready\n"
    wait_until(lambda: [p["kinds"].get("HAL_FREE", 0) for p in recorder.info()] == [1000])
    (pid,) = [p["pid"] for p in recorder.info()]
    os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGKILL
    (info,) = recorder.info()
    assert info["ending"] == 1 and info["kinds"]["HAL_FREE"] == 1000


def in_namespaces(*options):
    if os.geteuid() != 0:
        options = ["--user", "--map-root-user", *options]
    return ["unshare", *options]


@pytest.mark.parametrize("proc", [(), ("--mount-proc",)])
@pytest.mark.parametrize("missing", ["", "peerpidfd"])
def test_program_in_child_pid_namespace(softnpu, build, tmp_path, program, missing, proc):
    """Rows show the pid that the program itself sees."""
    recorder = Recorder(softnpu, build / "msmemscope", tmp_path / "out")
    process = recorder.start(*in_namespaces("--pid", "--fork", "--kill-child", *proc), program,
                             options=["--analysis=none", "--linger=30"], MSMEMSCOPE_TEST_WITHOUT=missing)
    assert process.stdout.readline() == "ready\n"
    out, _ = process.communicate("gg", timeout=60)
    assert process.returncode == 6
    (info,) = recorder.info()
    assert info["pid"] == 1 and info["ending"] == 1 and info["kinds"]["HAL_FREE"] == 3000
    assert {row["Process Id"] for row in recorder.rows()} == {"1"}
    assert len(list(recorder.output.glob("msmemscope_1_*_ascend"))) == 1


def test_equal_pids_of_two_namespaces(softnpu, build, tmp_path, program):
    """Two programs that are both process 1 are two processes, not two images of one."""
    recorder = Recorder(softnpu, build / "msmemscope", tmp_path / "out")
    inside = " ".join(in_namespaces("--pid", "--fork", "--kill-child"))
    inputs = [tmp_path / "first", tmp_path / "second"]
    for path in inputs:
        os.mkfifo(path)
    commands = " & ".join(f"{inside} {program} < {path}" for path in inputs)
    process = recorder.start("sh", "-c", f"{commands} & wait", options=["--analysis=none", "--linger=30"])
    pipes = [open(path, "w") for path in inputs]
    assert [process.stdout.readline() for _ in range(2)] == ["ready\n"] * 2
    wait_until(lambda: [p["kinds"].get("HAL_FREE", 0) for p in recorder.info()] == [1000, 1000])
    for pipe in pipes:
        pipe.write("gg")
        pipe.close()
    process.communicate(timeout=60)
    found = recorder.info()
    assert [(p["pid"], p["exec_count"]) for p in found] == [(1, 0), (1, 0)]
    assert len({p["path"] for p in found}) == 2


# Runs a program without SO_PEERPIDFD, as before Linux 6.5.
OLDER_KERNEL = r"""
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getsockopt, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 77, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOPROTOOPT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return 126;
    execvp(argv[1], argv + 1);
    return 127;
}
"""


@pytest.mark.parametrize("old", [False, True])
def test_unrelated_pid_namespaces(softnpu, build, tmp_path, program, compiler, old):
    """Collector and program do not see each other's pid. A program that pauses is not considered dead."""
    (tmp_path / "older.c").write_text(OLDER_KERNEL)
    kernel = [compiler(tmp_path / "older", tmp_path / "older.c")] if old else []
    inside = [*kernel, *in_namespaces("--pid", "--fork", "--kill-child", "--mount-proc")]
    recorder = Recorder(softnpu, build / "msmemscope", tmp_path / "out")
    tell = 'echo "$MSMEMSCOPE_SESSION" && echo "$LD_PRELOAD" && read line'
    launcher = softnpu.start(*inside, *recorder.argv("sh", "-c", tell, options=["--analysis=none", "--linger=30"]))
    session, preload = (launcher.stdout.readline().strip() for _ in range(2))
    job = softnpu.start(*inside, program, MSMEMSCOPE_SESSION=session, LD_PRELOAD=preload)
    assert job.stdout.readline() == "ready\n"
    count = lambda: [p["kinds"].get("HAL_FREE", 0) for p in recorder.info()]
    wait_until(lambda: count() == [1000])
    begin = time.monotonic()
    wait_until(lambda: time.monotonic() - begin > 1.5)  # longer than the timeout for silent programs
    assert [p["ending"] for p in recorder.info()] == [0]
    job.stdin.write("g")
    job.stdin.flush()
    wait_until(lambda: count() == [2000])
    assert [p["ending"] for p in recorder.info()] == [0]
    job.communicate("g", timeout=30)
    assert job.returncode == 6
    wait_until(lambda: [p["ending"] for p in recorder.info()] == [1])
    launcher.communicate("\n", timeout=60)
    assert launcher.returncode == 0
    (info,) = recorder.info()
    assert info["pid"] == 1 and info["kinds"]["HAL_FREE"] == 3000 and info["lost"] == 0
    rows = recorder.rows()
    assert {row["Process Id"] for row in rows} == {"1"} and len([r for r in rows if r["Event"] == "FREE"]) == 3000
    (path,) = recorder.output.glob("msmemscope_1_*_ascend")
