# SPDX-License-Identifier: Apache-2.0
"""The quick start of msMonitor's documentation, command by command, on a machine of its own.

Run in new user, mount and network namespaces: the port, the sockets, /home, /var/log and the home directory are private, so
that every command is exactly the documented one. A client that behaves like the plugin replaces the training job.

usage: quick_start.py BUILD CERTS|NO_CERTS      (CERTS: a directory with server_certs and client_certs)
"""

import fcntl
import json
import os
import pathlib
import pwd
import shutil
import socket
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from monitor import NpuClient  # noqa: E402
from recorder import wait_until  # noqa: E402

DAEMON = "dynolog --enable-ipc-monitor --certs-dir {server} --metric_log_dir /tmp/metric_log_dir"
START = "dyno --certs-dir {client} npu-monitor --npu-monitor-start --report-interval-s 30 --mspti-activity-kind Kernel"
STOP = "dyno --certs-dir {client} npu-monitor --npu-monitor-stop"
TRACE = ("dyno --certs-dir {client} nputrace --start-step 10 --iterations 2 --activities CPU,NPU --analyse "
         "--data-simplification false --log-file /tmp/profile_data")
STATUS = "dyno --certs-dir {client} status"
LOG = pathlib.Path("/var/log/dynolog.log")


def prepare(build, certs):
    """Creates private directories, copies the two programs, and brings up the loopback interface."""
    # The private directories may hide the build and the certificates: programs are read before, certificates by
    # descriptor.
    programs = {name: pathlib.Path(build, "src/cli", name, name).read_bytes() for name in ("dynolog", "dyno")}
    source = None if certs == "NO_CERTS" else os.open(certs, os.O_DIRECTORY)
    for folder in ("/home", "/var/log", "/tmp", pwd.getpwuid(os.getuid()).pw_dir):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "tmpfs", folder], check=True)
    for name, program in programs.items():
        pathlib.Path("/tmp", name).write_bytes(program)
        os.chmod(f"/tmp/{name}", 0o755)
    os.environ["PATH"] = f"/tmp:{os.environ['PATH']}"
    if source is not None:
        for name in ("server_certs", "client_certs"):
            shutil.copytree(f"/proc/self/fd/{source}/{name}", f"/home/{name}")
    with socket.socket() as sock:  # SIOCSIFFLAGS: IFF_UP
        fcntl.ioctl(sock, 0x8914, struct.pack("16sh14x", b"lo", 1))


def run(command, **places):
    command = command.format(**places)
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    print(f"$ {command}\n{result.stdout}{result.stderr}", flush=True)
    return result


def response(result):
    line = next(line for line in result.stdout.splitlines() if line.startswith("response = "))
    return json.loads(line.removeprefix("response = "))


def status(**places):
    result = run(STATUS, **places)
    assert result.returncode == 0
    return json.loads(result.stdout.splitlines()[-1])


class Job(NpuClient):
    """A training job whose plugin has connected to the daemon's socket in the home directory."""

    def __init__(self):
        self.folder = pathlib.Path(pwd.getpwuid(os.getuid()).pw_dir)
        super().__init__(self)
        self.register()
        self.poll()
        self.idle()

    def obey(self):
        """Fetches a command and reports what the plugin would report."""
        config = dict(line.strip().split("=", 1) for line in wait_until(self.poll).strip().splitlines())
        if config.get("NPU_MONITOR_START") == "true":
            self.status(b"npuMonitorStatus", 1)
        elif config.get("NPU_MONITOR_STOP") == "true":
            self.status(b"npuMonitorStatus", 0)
        else:
            step = int(config["PROFILE_START_STEP"])
            self.status(b"npuTraceStatus", 2, 1, step, step + int(config["ACTIVITIES_ITERATIONS"]))
        return config


def tour(places):
    # Without a job.
    shown = status(**places)
    assert (shown["nputrace"], shown["npumonitor"], shown["current_step"]) == ("Uninitialized", "Uninitialized", -1)
    assert response(run(START, **places))["commandStatus"] == "ineffective"

    job = Job()
    wait_until(lambda: status(**places)["npumonitor"] == "Idle")
    assert response(run(START, **places))["commandStatus"] == "effective"
    config = job.obey()
    assert (config["REPORT_INTERVAL_S"], config["MSPTI_ACTIVITY_KIND"]) == ("30", "Kernel")
    wait_until(lambda: status(**places)["npumonitor"] == "Running")
    assert response(run(TRACE, **places))["commandStatus"] == "ineffective"  # not while monitoring is running

    assert response(run(STOP, **places))["commandStatus"] == "effective"
    job.obey()
    wait_until(lambda: status(**places)["npumonitor"] == "Idle")

    answer = response(run(TRACE, **places))
    assert answer["commandStatus"] == "effective" and answer["processesMatched"] == [job.pid]
    config = job.obey()
    assert config["ACTIVITIES_LOG_FILE"] == "/tmp/profile_data" and config["PROFILE_DATA_SIMPLIFICATION"] == "false"
    wait_until(lambda: status(**places)["nputrace"] == "Ready")
    shown = status(**places)
    assert (shown["current_step"], shown["start_step"], shown["stop_step"]) == (1, 10, 12)


def main():
    build, certs = sys.argv[1:]
    prepare(build, certs)
    os.environ["MSMONITOR_USE_DAEMON"] = "1"
    places = {"server": "NO_CERTS", "client": "NO_CERTS"}
    if certs != "NO_CERTS":
        places = {"server": "/home/server_certs", "client": "/home/client_certs"}
    daemon = subprocess.Popen(["bash", "-c", "exec " + DAEMON.format(**places)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: daemon.poll() is not None or (LOG.exists() and "] ready" in LOG.read_text()))
        tour(places)
        assert pathlib.Path("/tmp/metric_log_dir").is_dir()
    finally:
        daemon.terminate()
        ended = daemon.wait(20)
        print(LOG.read_text() if LOG.exists() else "no log")
    assert ended == 0


main()
