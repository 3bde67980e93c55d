# SPDX-License-Identifier: Apache-2.0
"""msmemscope around a program: exit status, signals, terminals, pipes, short-lived and long-lived processes."""

import os
import pty
import select
import signal
import subprocess
import time

import pytest

from recorder import children_of, collector_of, wait_until

# Performs the action of its first argument, then allocates and frees N times through the driver.
PROGRAM = r"""
#define _GNU_SOURCE
#include <acl/acl.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static void work(int n)
{
    aclInit(NULL);
    aclrtSetDevice(0);
    for (int i = 0; i < n; i++) {
        void *p = NULL;
        aclrtMalloc(&p, 4096, ACL_MEM_MALLOC_HUGE_FIRST);
        aclrtFree(p);
    }
}
static volatile sig_atomic_t got;
static void note(int number) { got = number; }
int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int n = argc > 2 ? atoi(argv[2]) : 10;
    if (strcmp(what, "exit") == 0) { work(1); return n; }
    if (strcmp(what, "signal") == 0) { work(1); signal(n, SIG_DFL); raise(n); return 0; }
    if (strcmp(what, "_exit") == 0) { work(n); _exit(3); }
    if (strcmp(what, "wait") == 0) {
        int sigs[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
        for (int i = 0; i < 5; i++) signal(sigs[i], note);
        work(n);
        sigset_t all, none;
        sigfillset(&all);
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &all, NULL); /* delivered in sigsuspend(), not before */
        puts("ready");
        fflush(stdout);
        while (!got) sigsuspend(&none);
        printf("got %d\n", (int)got);
        return 5;
    }
    if (strcmp(what, "daemon") == 0) { /* works, notifies its parent, works again after a write to the pipe argv[3] */
        int notify[2];
        char byte;
        if (pipe(notify) != 0) return 8;
        if (fork() != 0) { close(notify[1]); return read(notify[0], &byte, 1) == 1 ? 0 : 7; }
        setsid();
        dup2(notify[1], 0);
        syscall(SYS_close_range, 1u, ~0u, 0u);
        work(n);
        if (write(0, "x", 1) != 1) _exit(6);
        close(0);
        alarm(60);
        if (open(argv[3], O_RDONLY) != 0 || read(0, &byte, 1) != 1) _exit(5);
        work(n);
        _exit(0);
    }
    if (strcmp(what, "closefrom") == 0) {
        work(n);
        syscall(SYS_close_range, 3u, ~0u, 0u);
        int fd = open("/dev/null", O_WRONLY);
        work(n);
        return write(fd, "x", 1) == 1 ? 0 : 9;
    }
    if (strcmp(what, "stay") == 0) { /* a child that outlives the program and holds no file */
        int notify[2];
        char byte;
        if (pipe(notify) != 0) return 8;
        if (fork() == 0) {
            alarm(60);
            work(n);
            close(0); close(1); close(2);
            if (write(notify[1], "x", 1) != 1) _exit(6);
            close(notify[1]);
            pause();
            _exit(0);
        }
        work(n);
        return read(notify[0], &byte, 1) == 1 ? 0 : 7;
    }
    if (strcmp(what, "exec") == 0) { /* executes itself again */
        work(n);
        execl("/proc/self/exe", argv[0], "exit", "4", (char *)NULL);
    }
    if (strcmp(what, "fork") == 0) {
        for (int i = 0; i < 3; i++) if (fork() == 0) { work(n); _exit(0); }
        while (wait(NULL) > 0) { }
        work(2 * n);
        return 0;
    }
    work(n);
    return 0;
}
"""


@pytest.fixture(scope="session")
def program(tmp_path_factory, compiler):
    folder = tmp_path_factory.mktemp("topology")
    source = folder / "worker.c"
    source.write_text(PROGRAM)
    return compiler(folder / "worker", source, "ascendcl")


@pytest.fixture
def tool(recording):
    return recording


@pytest.mark.parametrize("code", [0, 1, 42, 255])
def test_exit_status_is_that_of_program(tool, program, code):
    assert tool.run(program, "exit", code).returncode == code
    assert len(tool.info()) == 1


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT, signal.SIGSEGV, signal.SIGINT])
def test_ends_by_the_same_signal(tool, program, number):
    assert tool.run(program, "signal", int(number)).returncode == -number
    (process,) = tool.info()
    assert process["kinds"]["HAL_ALLOC"] == process["kinds"]["HAL_FREE"] == 1
    assert process["ending"] == 1


def test_nothing_is_lost_by_exit_without_destructors(tool, program):
    assert tool.run(program, "_exit", 5000).returncode == 3
    assert tool.count("HAL_ALLOC") == [5000]


def test_unusable_program_is_reported(tool, tmp_path):
    assert tool.run("/nosuch/program").returncode == 127
    assert tool.run("no-such-program-anywhere").returncode == 127
    assert tool.run("/etc/passwd").returncode == 126
    assert tool.run(tmp_path).returncode == 126
    script = tmp_path / "script"
    script.write_text("exit 9\n")
    script.chmod(0o755)
    assert tool.run(script).returncode == 9  # without #!, run by a shell
    script.write_text("#!/nosuch/interpreter\n")
    assert tool.run(script).returncode == 127


def test_program_without_events_writes_nothing(tool):
    assert tool.run("true").returncode == 0
    assert not tool.output.exists()


def test_captured_output_does_not_hang(tool, program):
    line = subprocess.run(["sh", "-c", 'x=$("$@" 2>/dev/null); echo "[$x]"', "sh", *tool.argv("echo", "hello")],
                          env=tool.softnpu.env(), capture_output=True, text=True, timeout=20)
    assert line.stdout == "[hello]\n"
    # A surviving child does not hold the pipe: it closes with the command.
    assert tool.run("--linger=0", "--", program, "stay", 5, timeout=30).returncode == 0
    (left,) = [process for process in tool.info() if process["ending"] == 0]  # the program's own files are complete
    os.kill(left["pid"], signal.SIGKILL)
    wait_until(lambda: [p["ending"] for p in tool.info()] == [1, 1])


def test_program_may_outlive_command_in_pipe(tool, program):
    line = subprocess.run(["sh", "-c", '"$@" | head -n1 | cat', "sh", *tool.argv("--quiet", "--", "sh", "-c", "echo a; echo b; echo c")],
                          env=tool.softnpu.env(), capture_output=True, text=True, timeout=20)
    assert line.stdout == "a\n"


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    return tmp_path / "pipe"


def test_late_children_are_recorded_after_the_command_has_returned(tool, program, pipe):
    assert tool.run("--linger=0", "--", program, "daemon", 50, pipe).returncode == 0
    pipe.write_text("go")
    wait_until(lambda: [p["ending"] for p in tool.info()] == [1])
    assert tool.count("HAL_ALLOC") == [100]
    wait_until(lambda: not list(tool.output.glob(".msmemscope-*")))


def test_waits_for_children_that_outlive_the_program(tool, program, pipe):
    process = tool.start("--linger=60", "--", program, "daemon", 50, pipe)
    wait_until(lambda: tool.count("HAL_ALLOC") == [50])
    wait_until(lambda: not children_of(process.pid))
    pipe.write_text("go")
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert tool.count("HAL_ALLOC") == [100]
    assert not list(tool.output.glob(".msmemscope-*"))


def test_program_closes_all_files(tool, program):
    assert tool.run(program, "closefrom", 20).returncode == 0
    assert tool.count("HAL_ALLOC") == [40]


def test_exec_ends_previous_image(tool, program):
    assert tool.run(program, "exec", 20).returncode == 4
    assert sorted(p["kinds"]["HAL_ALLOC"] for p in tool.info()) == [1, 20]
    assert len({p["path"] for p in tool.info()}) == 2


def test_forked_children_are_recorded_separately(tool, program):
    assert tool.run(program, "fork", 20).returncode == 0
    assert tool.count("HAL_ALLOC") == [20, 20, 20, 40]


def test_no_children_records_only_the_program(tool, program):
    assert tool.run("--no-children", "--", program, "fork", 20).returncode == 0
    assert tool.count("HAL_ALLOC") == [40]


def test_a_hundred_short_processes(tool, program):
    done = tool.run("sh", "-c", f'for i in $(seq 100); do {program} "" 3 & [ $((i % 10)) != 0 ] || wait; done; wait')
    assert done.returncode == 0
    assert tool.count("HAL_ALLOC") == [3] * 100


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT])
def test_signals_are_forwarded(tool, program, number):
    process = tool.start("--quiet", "--", program, "wait", 7)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(number)
    assert process.stdout.read() == f"got {int(number)}\n"
    assert process.wait(20) == 5
    assert tool.count("HAL_ALLOC") == [7]


def schedulers(pid):
    names = {os.SCHED_IDLE: "idle", os.SCHED_OTHER: "other"}
    return [names.get(os.sched_getscheduler(int(task))) for task in os.listdir(f"/proc/{pid}/task")]


def test_collector_has_its_own_process_group(tool, program):
    """So that ^C does not reach it. It stays in the program's session: kernels that divide processor time between sessions would
    otherwise give the export thread, at idle priority, as much time as the program."""
    process = tool.start("--quiet", "--", program, "wait", 3)
    assert process.stdout.readline() == "ready\n"
    wait_until(lambda: collector_of(tool.output) is not None)
    collector = collector_of(tool.output)
    assert os.getsid(collector) == os.getsid(process.pid)
    assert os.getpgid(collector) not in (os.getpgid(process.pid), os.getpgid(0))
    wait_until(lambda: {"idle", "other"} <= set(schedulers(collector)))
    os.kill(collector, signal.SIGHUP)  # as when the terminal is closed
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert process.returncode == 5 and tool.count("HAL_ALLOC") == [3]


def test_terminal_interrupt_reaches_program_once(tool, program):
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(tool.command, tool.argv("--quiet", "--", program, "wait", 7), tool.softnpu.env())
    text = b""
    deadline = time.monotonic() + 20
    sent = False
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            got = os.read(terminal, 4096)
        except OSError:
            break
        text += got
        if b"ready" in text and not sent:
            os.write(terminal, b"\x03")
            sent = True
    assert b"got 2" in text
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5
    assert tool.count("HAL_ALLOC") == [7]


def test_ignored_signals_stay_ignored(tool):
    done = subprocess.run(["sh", "-c", 'trap "" HUP; exec "$@"', "sh", *tool.argv("sh", "-c", "kill -HUP $$; echo alive")],
                          env=tool.softnpu.env(), capture_output=True, text=True, timeout=20)
    assert done.stdout == "alive\n"


def test_command_as_process_1(tool, program):
    inside = ["unshare", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*inside, "true"], capture_output=True).returncode != 0:
        inside = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
        assert subprocess.run([*inside, "true"], capture_output=True).returncode == 0, "this test needs namespaces"
    done = subprocess.run([*inside, *tool.argv(program, "exit", "42")], env=tool.softnpu.env(), timeout=30)
    assert done.returncode == 42
    assert tool.count("HAL_ALLOC") == [1]
    done = subprocess.run([*inside, *tool.argv("--linger=1", "--", program, "stay", "6")], env=tool.softnpu.env(), timeout=60)
    assert done.returncode == 0
    assert tool.count("HAL_ALLOC") == [1, 6, 6]


def test_nested_command(tool, program):
    inner = tool.output.parent / "inner"
    done = tool.run("--", tool.command, f"--output={inner}", "--", program, "exit", 3)
    assert done.returncode == 3
    assert not tool.output.exists()
    assert len(list(inner.glob("msmemscope_*"))) == 1
    preload = tool.run("--", tool.command, f"--output={inner}", "--", "sh", "-c", "echo $LD_PRELOAD")
    assert preload.stdout.count("libascend_kernel_hook.so") == 1
