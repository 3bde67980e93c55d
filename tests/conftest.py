# SPDX-License-Identifier: Apache-2.0
"""Fixtures shared by all scenario tests: the build, and a separate machine for each test.

Tests run the real commands and programs of a build (NPUSCOPE_BUILD, default <repository>/build) and check only what a user
can see: exit status, output, files, other processes' view of the devices.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import uuid

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "compat")]

from framework_runs import torch_cpu, torch_npu  # noqa: E402, F401
from insight_lint import lint  # noqa: E402
from python_target import requirement, target, target_any  # noqa: E402, F401
from recorder import Recorder, Recording, wait_until  # noqa: E402

BUILD = pathlib.Path(os.environ.get("NPUSCOPE_BUILD", ROOT / "build")).resolve()
HOME = BUILD / "home"

# Programs inherit ignored signals: a background shell ignores SIGINT, nohup ignores SIGHUP.
for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)


class Softnpu:
    """A software NPU machine that only this test uses."""

    def __init__(self):
        self.name = f"test-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        self.command = str(HOME / "bin" / "softnpu")

    def env(self, **extra):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("SOFTNPU_", "ASCEND_", "LD_PRELOAD"))}
        env.update(
            ASCEND_HOME_PATH=str(HOME),
            ASCEND_OPP_PATH=str(HOME / "opp"),
            LD_LIBRARY_PATH=str(HOME / "lib64"),
            SOFTNPU_MACHINE=self.name,
        )
        env.update({k: str(v) for k, v in extra.items()})
        return env

    def run(self, *argv, timeout=120, env=None, **extra):
        """Runs a program directly in the environment of the machine; never raises on a bad exit status."""
        return subprocess.run(
            [str(a) for a in argv], env=self.env(**extra) | (env or {}), capture_output=True, text=True, timeout=timeout
        )

    def start(self, *argv, env=None, **extra):
        return subprocess.Popen(
            [str(a) for a in argv], env=self.env(**extra) | (env or {}), text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )

    def cli(self, *argv, timeout=120, **extra):
        return self.run(self.command, *argv, timeout=timeout, **extra)

    def info(self):
        return json.loads(self.cli("info", "--json").stdout)

    def used(self, device=0):
        return self.info()["devices"][device]["used"]

    def close(self):
        pathlib.Path(f"/dev/shm/softnpu-{os.getuid()}-{self.name}").unlink(missing_ok=True)


@pytest.fixture
def softnpu():
    machine = Softnpu()
    yield machine
    machine.close()


@pytest.fixture(scope="session")
def build():
    return BUILD


@pytest.fixture(scope="session")
def home():
    return HOME


@pytest.fixture
def recording(softnpu, tmp_path):
    """An msmemscope command line and its recordings, in a directory that only this test uses."""
    return Recording(softnpu, BUILD / "msmemscope", tmp_path / "out", "--analysis=none")


@pytest.fixture(scope="session")
def memscope(build):
    return str(build / "msmemscope" / "bin" / "msmemscope")


@pytest.fixture
def export_to(softnpu, memscope, tmp_path):
    """Runs msmemscope export of a source to a format, each time into a new directory."""
    count = 0

    def run(source, form, expect=0):
        nonlocal count
        count += 1
        out = tmp_path / f"export{count}"
        done = softnpu.run(memscope, "export", source, "--format", form, "-o", out)
        assert done.returncode == expect, done.stdout + done.stderr
        return done, out
    return run


def pytest_configure(config):
    config.addinivalue_line("markers", "foreign_databases: leaves invalid databases behind on purpose")


@pytest.fixture(autouse=True)
def databases_open_in_insight(request):
    """MindStudio Insight must be able to open every database that a test has written."""
    yield
    folder = request.node.funcargs.get("tmp_path")
    if folder is None or request.node.get_closest_marker("foreign_databases"):
        return
    # A process that never touched a device leaves its few events in device_cpu, where Insight has nothing to show.
    nothing = {"device_cpu": ("no event has a device", "all events have the same time")}
    findings = {str(path): found for path in sorted(folder.rglob("*.db"))
                if (found := lint(path, nothing.get(path.parent.parent.name, ())))}
    assert not findings, json.dumps(findings, indent=2)


def compile_program(target, source, *libraries, language="c", flags=()):
    """Compiles a program as a user would: against the installed headers, linked with the vendor's names."""
    compiler = {"c": "cc", "c++": "c++"}[language]
    command = [compiler, "-x", language, "-Wall", "-O1", *flags, f"-I{HOME}/include", str(source), "-o", str(target),
               f"-L{HOME}/lib64", *[f"-l{name}" for name in libraries]]
    if libraries:
        command.append(f"-Wl,-rpath-link,{HOME}/lib64")
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return target


@pytest.fixture(scope="session")
def compiler():
    return compile_program


@pytest.fixture
def recorder(softnpu, tmp_path):
    return Recorder(softnpu, BUILD / "msmemscope", tmp_path / "out")


@pytest.fixture(scope="session")
def until():
    """Waits for a condition; fails the test on timeout."""
    return wait_until


@pytest.fixture
def dynolog(tmp_path):
    """Starts monitoring daemons, each with its own port, sockets and log; they must exit normally."""
    from monitor import Daemon

    daemons = []

    def start(*flags, wait=True, **options):
        daemons.append(Daemon(tmp_path / f"daemon{len(daemons)}", *flags, **options))
        return daemons[-1].ready() if wait else daemons[-1]

    yield start
    statuses = [daemon.stop() for daemon in daemons]
    assert all(status in (0, 1) for status in statuses), statuses


@pytest.fixture
def idle_job(dynolog):
    """A daemon, and one NPU process that has reported itself idle."""
    from monitor import NpuClient

    daemon = dynolog("--enable_ipc_monitor")
    client = NpuClient(daemon)
    client.register()
    client.poll()
    client.idle()
    wait_until(lambda: daemon.rpc(fn="getStatus")["npumonitor"] == "Idle")
    yield daemon, client
    client.close()
