# SPDX-License-Identifier: Apache-2.0
"""dynolog as a service: flags, log, pid file, readiness, signals, failing starts."""

import os
import re
import signal
import socket
import subprocess

import pytest

from conftest import BUILD, ROOT
from monitor import Daemon
from recorder import wait_until as until

DYNOLOG = BUILD / "src/cli/dynolog/dynolog"


@pytest.fixture
def start(tmp_path):
    started = []

    def begin(*flags, folder=tmp_path, **more):
        started.append(Daemon(folder, *flags, **more))
        return started[-1]

    yield begin
    for daemon in started:
        daemon.stop()


def run(*flags, **more):
    return subprocess.run([str(DYNOLOG), *map(str, flags)], capture_output=True, text=True, timeout=30, **more)


def test_help_version_and_reference_page():
    assert "--enable_ipc_monitor (bool, default false)" in run("--help").stdout
    assert re.fullmatch(r"dynolog version \S+\n", run("--version").stdout)
    assert run("--help_markdown").stdout == (ROOT / "docs/reference/dynolog-flags.md").read_text(), \
        "docs/reference/dynolog-flags.md is out of date: dynolog --help_markdown > docs/reference/dynolog-flags.md"


def test_man_page_has_every_flag_and_is_current():
    page = run("--help_man").stdout
    assert (BUILD / "src/cli/dynolog/dynolog.8").read_text() == page
    flags = re.findall(r"^  --(\w+) \(", run("--help").stdout, re.M)
    assert len(flags) > 50
    for flag in flags:
        assert f"\n.TP\n.B \\-\\-{flag}\n(" in page, flag
    lint = subprocess.run(["sh", "-c", "command -v mandoc >/dev/null || exit 0; exec mandoc -T lint -W error"], input=page,
                          text=True, capture_output=True)
    assert lint.returncode == 0, lint.stdout


@pytest.mark.parametrize("flags, text", [
    (["--enable_ipc_monitr"], "did you mean --enable_ipc_monitor?"),
    (["--port=99999"], "from 0 to 65535"),
    (["--flagfile=/does/not/exist"], "No such file"),
    (["--log_file=/does/not/exist/log"], "--log_file"),
    (["--log_file=stderr", "--pid_file=/does/not/exist/pid"], "--pid_file"),
    (["--log_file=stderr", "--enable_ipc_monitor", "--ipc_allow_users=no-such-user"], "--ipc_allow_users"),
    (["--log_file=stderr", "--enable_ipc_monitor", "--ipc_name=", "--noipc_home"], "no endpoint"),
    (["--log_file=stderr", "--enable_ipc_monitor", "--noipc_home", "--ipc_name=" + "x" * 200], "--ipc_name"),
])
def test_failed_start_exits_at_once_with_a_reason(flags, text):
    result = run("--port=0", *flags)
    assert result.returncode == 1
    assert text in result.stderr


def test_flag_file_of_the_packages(start, tmp_path):
    file = tmp_path / "dynolog.gflags"
    file.write_text("# comment\n--enable-ipc-monitor\n--use_ODS=false\n--dcgm_lib_path /x\n\n-minloglevel=0\n")
    daemon = start(f"--flagfile={file}").ready()
    assert "--use_ODS is accepted but has no effect" in daemon.log()
    assert "listening on @" in daemon.log()


def test_second_daemon_does_not_start(start, tmp_path):
    first = start("--enable_ipc_monitor").ready()
    same_name = start("--enable_ipc_monitor", f"--ipc_name={first.name}", folder=tmp_path / "b")
    assert "another daemon uses the address" in same_name.failed()
    same_home = start("--enable_ipc_monitor", f"--ipc_home_dir={tmp_path}", folder=tmp_path / "c")
    assert "another daemon listens on" in same_home.failed()
    same_port = start(f"--port={first.port}", folder=tmp_path / "d")
    assert "cannot listen" in same_port.failed()
    assert first.rpc(fn="getStatus")["status"] == 1


def test_foreign_file_is_left_alone(start, tmp_path):
    (tmp_path / "dynolog.sock").write_text("precious")
    daemon = start("--enable_ipc_monitor").ready()  # the other endpoints still work
    assert "is not a socket" in daemon.log()
    daemon.stop()
    assert (tmp_path / "dynolog.sock").read_text() == "precious"


def test_pid_file_belongs_to_one_daemon(start, tmp_path):
    file = tmp_path / "pid"
    file.write_text("12345\n")  # left by a killed daemon
    daemon = start(f"--pid_file={file}").ready()
    assert int(file.read_text()) == daemon.process.pid
    other = start(f"--pid_file={file}", folder=tmp_path / "other")
    assert f"another daemon (pid {daemon.process.pid})" in other.failed()
    assert int(file.read_text()) == daemon.process.pid
    assert daemon.stop() == 0
    assert not file.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_cause_a_clean_exit(start, tmp_path, number):
    daemon = start("--enable_ipc_monitor", f"--ipc_socket_dir={tmp_path}").ready()
    assert (tmp_path / "dynolog.sock").is_socket() and (tmp_path / "dynolog").is_socket()
    daemon.process.send_signal(number)
    assert daemon.process.wait(20) == 0
    assert not list(tmp_path.glob("dynolog*sock")) and not (tmp_path / "dynolog").exists()
    assert "exiting with status 0" in daemon.log()


def test_service_manager_is_notified(start, tmp_path):
    manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    manager.bind(str(tmp_path / "notify"))
    manager.settimeout(20)
    daemon = start(env={"NOTIFY_SOCKET": str(tmp_path / "notify")})
    assert manager.recv(256) == b"READY=1"
    assert daemon.rpc(fn="getStatus")["status"] == 1  # must be ready now
    daemon.process.send_signal(signal.SIGHUP)
    assert manager.recv(256).startswith(b"RELOADING=1\nMONOTONIC_USEC=")
    assert manager.recv(256) == b"READY=1"
    daemon.process.send_signal(signal.SIGTERM)
    assert manager.recv(256) == b"STOPPING=1"
    assert daemon.process.wait(20) == 0
    manager.close()


def test_logrotate_renames_the_log(start, tmp_path):
    daemon = start().ready()
    daemon.log_path.rename(tmp_path / "moved")
    daemon.process.send_signal(signal.SIGHUP)
    until(lambda: "reloaded" in daemon.log())
    assert "reloaded" not in (tmp_path / "moved").read_text()


def test_rotation_bounds_the_log(start, tmp_path):
    daemon = start("--enable_ipc_monitor", "--log_max_mb=1", "--log_keep=1").ready()
    size = 0
    for _ in range(30):  # each reload logs one line; fill the file up to the limit
        with open(daemon.log_path, "a") as log:
            log.write("x" * 99_999 + "\n")
        daemon.process.send_signal(signal.SIGHUP)
        size += 100_000
        until(lambda: size < 1_100_000 or (tmp_path / "dynolog.log.1").exists())
        if (tmp_path / "dynolog.log.1").exists():
            break
    assert (tmp_path / "dynolog.log.1").stat().st_size >= 1_000_000
    assert daemon.log_path.stat().st_size < 1_000_000


def test_log_goes_to_stderr_on_a_terminal(tmp_path):
    """stderr on a terminal if no flag selects a log."""
    master, slave = os.openpty()
    process = subprocess.Popen([str(DYNOLOG), "--port=0"], stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    seen = b""
    while b"] ready" not in seen:
        seen += os.read(master, 4096)
    process.terminate()
    assert process.wait(20) == 0
    os.close(master)
    assert b"log stderr" in seen


def test_clock_changes_have_no_effect(start, tmp_path, compiler):
    """Expiry and rate limits use the monotonic clock: changes of the wall clock have no effect."""
    source = tmp_path / "jump.c"
    source.write_text("""
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <time.h>
        int clock_gettime(clockid_t id, struct timespec *out)
        {
            static int (*real)(clockid_t, struct timespec *);
            static long calls;
            if (real == 0)
                real = dlsym(RTLD_NEXT, "clock_gettime");
            int result = real(id, out);
            if (id == CLOCK_REALTIME)
                out->tv_sec += (++calls % 2 ? 1 : -1) * 400000000L;
            return result;
        }
    """)
    library = compiler(tmp_path / "jump.so", source, flags=("-shared", "-fPIC", "-ldl"))
    daemon = start("--enable_ipc_monitor", env={"LD_PRELOAD": str(library)}).ready()
    from fabric_clients import Kineto
    client = Kineto(f"\0{daemon.name}\0", job=5)
    for _ in range(20):
        assert client.poll() == ""
    answer = daemon.rpc(fn="setKinetOnDemandRequest", config="ACTIVITIES_DURATION_MSECS=5", job_id=5, pids=[0])
    assert answer["commandStatus"] == "effective"
    assert "ACTIVITIES_DURATION_MSECS=5" in client.poll()
    assert daemon.rpc(fn="getStatus")["jobs"][0]["processes"][0]["silent"] is False
    years = {line[1:5] for line in daemon.log().splitlines()}
    assert len(years) > 1, "the clock did not change"
    client.close()
