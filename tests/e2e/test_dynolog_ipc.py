# SPDX-License-Identifier: Apache-2.0
"""The daemon with training processes of every kind: registration, commands, states, namespaces, users."""

import grp
import json
import os
import pathlib
import pwd
import shutil
import subprocess
import sys
import tempfile

import pytest

from conftest import BUILD, ROOT
from fabric_clients import Kineto, Plugin
from monitor import DYNOLOG, Daemon
from recorder import wait_until

KINETO = "ACTIVITIES_LOG_FILE=/tmp/x.json\nPROFILE_START_TIME=0\nACTIVITIES_DURATION_MSECS=500"
TRACE = "ACTIVITIES_LOG_FILE=/tmp/x\nPROFILE_START_STEP=10\nACTIVITIES_ITERATIONS=2\nPROFILE_ACTIVITIES=CPU,NPU"
START = "NPU_MONITOR_START=true\nNPU_MONITOR_STOP=false\nREPORT_INTERVAL_S=60\nDURATION=0"
CLIENT = [sys.executable, str(ROOT / "tests" / "fabric_clients.py")]
# Without root, a user namespace permits creating the others.
UNSHARE = ["unshare"] if os.getuid() == 0 else ["unshare", "--user", "--map-root-user"]


@pytest.fixture
def place():
    """A directory with a short name, because socket addresses have at most 106 characters. All users may read it."""
    with tempfile.TemporaryDirectory(prefix="dynolog-") as folder:
        os.chmod(folder, 0o755)
        yield pathlib.Path(folder)


@pytest.fixture
def start(place):
    started = []

    def begin(*flags, folder=place, **more):
        started.append(Daemon(folder, "--enable_ipc_monitor", *flags, **more))
        return started[-1].ready()

    yield begin
    for daemon in started:
        daemon.stop()


@pytest.fixture
def programs():
    """Starts programs and ends them with the test."""
    running = []

    def begin(*argv, **more):
        running.append(subprocess.Popen([str(a) for a in argv], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more))
        return running[-1]

    yield begin
    for process in running:
        process.kill()
        process.wait()
        process.stdout.close()


def command(daemon, config, job=0, pids=(0,), limit=10):
    return daemon.rpc(fn="setKinetOnDemandRequest", config=config, job_id=job, pids=list(pids), process_limit=limit)


def processes(daemon, job=0):
    jobs = [j for j in daemon.rpc(fn="getStatus")["jobs"] if j["job_id"] == job]
    return jobs[0]["processes"] if jobs else []


@pytest.mark.parametrize("generation", [(8, 1), (8, 2), (8, 3), (26, 0)])
def test_plugin_of_each_generation(start, place, generation):
    daemon = start()
    plugin = Plugin(daemon.name, place, generation)
    plugin.init(rank=3)
    # Up to 8.2, the reply to the context message comes first: one more poll.
    for _ in range(1 if generation >= (8, 3) else 2):
        assert plugin.poll() == ""
    status = processes(daemon)[0]
    assert status["nputrace"] == status["npumonitor"] == "Idle"
    assert status["pid"] == os.getpid()
    if generation >= (8, 2):
        assert status["rank"] == 3
    assert command(daemon, START)["commandStatus"] == "effective"
    received = [plugin.poll() for _ in range(1 if generation >= (8, 3) else 2)][-1]
    lines = [line.strip() for line in received.strip().split("\n")]
    assert lines[:-1] == START.split("\n")
    assert lines[-1].startswith("REQUEST_TRACE_ID=")
    plugin.monitor_status(1)
    plugin.poll()
    expected = "ineffective" if generation >= (8, 2) else "effective"  # 8.1 cannot report that it is running
    answer = command(daemon, TRACE)
    assert answer["commandStatus"] == expected
    if expected == "ineffective":
        assert "npu-monitor is running" in answer["reason"]
    plugin.close()


def test_progress_of_a_trace_is_reported_step_by_step(start, place):
    daemon = start()
    plugin = Plugin(daemon.name, place, (26, 0))
    plugin.init()
    plugin.poll()

    def stage():
        plugin.poll()
        return processes(daemon)[0].get("command", {}).get("stage")

    assert stage() is None
    assert command(daemon, TRACE)["commandStatus"] == "effective"
    assert processes(daemon)[0]["command"]["stage"] == "pending"
    assert "PROFILE_START_STEP=10" in plugin.poll()
    assert stage() == "delivered"
    plugin.trace_status(2, 4, 10, 12)
    assert stage() == "acknowledged"
    flat = daemon.rpc(fn="getStatus")
    assert {k: flat[k] for k in ("nputrace", "current_step", "start_step", "stop_step")} == \
        {"nputrace": "Ready", "current_step": 4, "start_step": 10, "stop_step": 12}
    plugin.trace_status(1, 10, 10, 12)
    assert stage() == "acknowledged"
    refused = command(daemon, START)
    assert refused["commandStatus"] == "ineffective" and "step 10 of 10 to 12" in refused["reason"]
    plugin.trace_status(0, 12)
    assert stage() == "completed"
    assert "start_step" not in daemon.rpc(fn="getStatus")
    plugin.trace_status(-1)
    plugin.monitor_status(-1)
    plugin.poll()
    assert daemon.rpc(fn="getStatus")["nputrace"] == "Uninitialized"
    plugin.close()


def test_kineto_by_name_and_by_directory(start, place):
    daemon = start(f"--ipc_socket_dir={place}")
    for client in (Kineto(f"\0{daemon.name}\0", job=7), Kineto(f"{place}/dynolog", job=7, folder=place)):
        assert client.context() == 1
        assert client.poll() == ""
        assert command(daemon, KINETO, job=7)["activityProfilersTriggered"] == [os.getpid()]
        assert client.poll(mask=0) == ""
        assert KINETO in client.poll()
        assert client.poll(mask=0) == ""
        assert processes(daemon, 7)[0]["command"]["stage"] == "acknowledged"
        assert client.poll() == ""
        assert processes(daemon, 7)[0]["command"]["stage"] == "completed"
        client.close()


def test_variable_sets_the_directory(start, place):
    start(env={"KINETO_IPC_SOCKET_DIR": str(place)})
    assert (place / "dynolog").is_socket()


def test_both_families_at_once_and_separate_jobs(start, place, programs):
    daemon = start()
    kineto = programs(*CLIENT, "kineto", daemon.name, "42")
    plugin = programs(*CLIENT, "npu", place / "dynolog.sock")
    pids = [int(p.stdout.readline().split()[1]) for p in (kineto, plugin)]
    status = daemon.rpc(fn="getStatus")
    assert sorted(job["job_id"] for job in status["jobs"]) == [0, 42]
    assert command(daemon, KINETO, job=42)["processesMatched"] == [pids[0]]
    assert "ACTIVITIES_DURATION_MSECS=500" in kineto.stdout.read()
    answer = command(daemon, TRACE, job=4711)
    assert answer["commandStatus"] == "ineffective" and "--job-id" in answer["reason"]
    # The launcher's pid selects its descendants.
    assert command(daemon, TRACE, pids=[os.getpid()])["processesMatched"] == [pids[1]]
    assert "PROFILE_START_STEP=10" in plugin.stdout.read()


def test_ended_process_is_removed_at_once(start, programs):
    daemon = start()
    client = programs(*CLIENT, "kineto", daemon.name, "42")
    client.stdout.readline()
    assert command(daemon, KINETO, job=42, limit=0)["processesMatched"] == [client.pid]
    client.kill()
    client.wait()
    wait_until(lambda: not daemon.rpc(fn="getStatus")["jobs"], seconds=5)
    assert "no process has registered" in command(daemon, KINETO, job=42)["reason"]


def test_slurm_job_is_found_although_its_client_reports_0(start, place, programs):
    daemon = start()
    plugin = programs(*CLIENT, "npu", place / "dynolog.sock", env=os.environ | {"SLURM_JOB_ID": "815", "RANK": "6"})
    plugin.stdout.readline()
    assert processes(daemon)[0]["slurm_job_id"] == 815
    assert processes(daemon)[0]["rank"] == 6
    assert command(daemon, TRACE, job=815)["commandStatus"] == "effective"
    assert "PROFILE_START_STEP=10" in plugin.stdout.read()


def test_process_in_another_pid_namespace(start, place, programs):
    daemon = start()
    client = programs(*UNSHARE, "--pid", "--fork", "--mount-proc", *CLIENT, "kineto", daemon.name, "9")
    inner = int(client.stdout.readline().split()[1])
    process = processes(daemon, 9)[0]
    assert process["pid"] == inner == 1
    assert process["host_pid"] > 1
    # Both pids select it.
    assert command(daemon, KINETO, job=9, pids=[process["host_pid"]], limit=0)["processesMatched"] == [inner]
    assert command(daemon, KINETO, job=9, pids=[inner])["commandStatus"] == "effective"
    assert "ACTIVITIES_DURATION_MSECS=500" in client.stdout.read()
    client.wait()
    wait_until(lambda: not processes(daemon, 9), seconds=5)


def test_process_in_another_network_namespace(start, place, programs):
    daemon = start(f"--ipc_socket_dir={place}")
    client = programs(*UNSHARE, "--net", *CLIENT, "kineto", place / "dynolog", "9")
    assert client.stdout.readline().startswith("registered")
    assert command(daemon, KINETO, job=9)["commandStatus"] == "effective"
    assert "ACTIVITIES_DURATION_MSECS=500" in client.stdout.read()


def as_nobody(place, *arguments):
    """The client as another user, with a Python interpreter and a script that all users may read."""
    script = shutil.copy(CLIENT[1], place)
    return ["setpriv", "--reuid=nobody", "--clear-groups", "/usr/bin/python3", script, *arguments]


def test_other_users_are_served_only_if_allowed(start, place, programs):
    if os.getuid() != 0:  # an unprivileged daemon serves root; other users cannot be tested
        assert "listening" in start().log()
        return
    open_door = start()
    client = programs(*as_nobody(place, "kineto", open_door.name, "3"))
    assert client.stdout.readline().startswith("registered")
    assert processes(open_door, 3)[0]["uid"] == pwd.getpwnam("nobody").pw_uid
    closed = start("--ipc_allow_users=own", folder=place / "closed")
    client = programs(*as_nobody(place, "kineto", closed.name, "3"))
    assert "TimeoutError" in client.stdout.read()
    assert "user is not allowed (--ipc_allow_users)" in closed.log()
    listed = start("--ipc_allow_users=nobody", folder=place / "listed")
    client = programs(*as_nobody(place, "kineto", listed.name, "3"))
    assert client.stdout.readline().startswith("registered")


def with_home_of_nobody(place, home):
    """A dynolog that sees a password file in which the user nobody has this home directory."""
    lines = [line.split(":") for line in open("/etc/passwd").read().splitlines()]
    (place / "passwd").write_text("".join(":".join(f[:5] + [str(home)] + f[6:]) + "\n" if f[0] == "nobody" else
                                          ":".join(f) + "\n" for f in lines))
    program = place / "dynolog"
    program.write_text(f"#!/bin/sh\nexec unshare -m sh -c 'mount --bind {place}/passwd /etc/passwd && "
                       f"exec {DYNOLOG} \"$@\"' sh \"$@\"\n")
    program.chmod(0o755)
    return program


def test_root_opens_sockets_in_home_directories_of_users(start, place, programs):
    if os.getuid() != 0:
        assert "only root" in Daemon(place, "--enable_ipc_monitor", "--ipc_users=root").failed()
        return
    user, home = pwd.getpwnam("nobody"), place / "home"
    home.mkdir()
    shutil.chown(home, "nobody")
    daemon = start("--ipc_users=nobody", program=with_home_of_nobody(place, home))
    file = (home / "dynolog.sock").stat()
    assert (file.st_uid, file.st_mode & 0o777) == (user.pw_uid, 0o600)
    client = programs(*as_nobody(place, "npu", home / "dynolog.sock"))
    assert client.stdout.readline().startswith("registered")
    assert command(daemon, TRACE)["commandStatus"] == "effective"
    assert "PROFILE_START_STEP=10" in client.stdout.read()
    assert daemon.stop() == 0
    assert not list(home.iterdir())


def test_missing_home_directory_does_not_affect_others(start, place, programs):
    if os.getuid() != 0:
        assert "No such file" in start(f"--ipc_home_dir={place}/missing").log()
        return
    daemon = start("--ipc_users=nobody", program=with_home_of_nobody(place, place / "missing"))
    assert f"{place}/missing/dynolog.sock: No such file" in daemon.log()
    client = programs(*CLIENT, "npu", place / "dynolog.sock")
    assert client.stdout.readline().startswith("registered")


def test_group_of_the_shared_directory(start, place):
    group = grp.getgrgid(os.getgid()).gr_name
    start(f"--ipc_socket_dir={place}", f"--ipc_socket_group={group}")
    assert (place / "dynolog").stat().st_mode & 0o777 == 0o660
    assert (place / "dynolog_data").stat().st_mode & 0o777 == 0o660


def test_cancel_withdraws_pending_commands(start):
    daemon = start()
    client = Kineto(f"\0{daemon.name}\0", job=7)
    client.poll()
    command(daemon, KINETO, job=7)
    assert daemon.rpc(fn="cancelOnDemandRequest", job_id=7, pids=[0])["commandStatus"] == "effective"
    assert client.poll() == ""
    assert processes(daemon, 7)[0]["command"]["stage"] == "cancelled"
    assert daemon.rpc(fn="cancelOnDemandRequest", job_id=7, pids=[0])["commandStatus"] == "ineffective"
    client.close()


def test_status_is_one_line_of_json(start):
    """Keys that exist in every state, as scripts expect them."""
    status = start().rpc(fn="getStatus")
    assert json.loads(json.dumps(status)) == {"current_step": -1, "jobs": [], "npumonitor": "Uninitialized",
                                              "nputrace": "Uninitialized", "status": 1}
