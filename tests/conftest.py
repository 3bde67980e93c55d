"""Shared by all scenario tests: where the build is, and a machine of its own for every test.

Tests drive the real commands and programs of a build (NPUSCOPE_BUILD, default <repository>/build) and look only at what a
user could see: exit status, output, files, other processes' view of the devices.
"""

import csv
import json
import os
import pathlib
import subprocess
import time
import uuid

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("NPUSCOPE_BUILD", ROOT / "build")).resolve()
HOME = BUILD / "home"


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


class Recorder:
    """msmemscope on a machine of its own, writing below one directory."""

    def __init__(self, softnpu, output):
        self.softnpu, self.output = softnpu, output
        self.command = str(BUILD / "msmemscope" / "bin" / "msmemscope")

    def argv(self, *program, options=()):
        return [self.command, "--quiet", f"--output={self.output}", *options, "--", *map(str, program)]

    def run(self, *program, options=(), timeout=120, **more):
        return self.softnpu.run(*self.argv(*program, options=options), timeout=timeout, **more)

    def start(self, *program, options=(), **more):
        return self.softnpu.start(*self.argv(*program, options=options), **more)

    def tool(self, command, *arguments, **more):
        """info, export, recover."""
        return self.softnpu.run(self.command, command, self.output, *arguments, **more)

    def info(self):
        found = self.tool("info", "--json")
        return json.loads(found.stdout) if found.returncode == 0 else []

    def dumps(self, suffix="csv"):
        return sorted(self.output.glob(f"*/device_*/dump/memscope_dump_*.{suffix}"))

    def rows(self, path=None):
        """Rows of the one CSV file, as dictionaries."""
        if path is None:
            (path,) = self.dumps()
        with open(path, newline="") as file:
            return list(csv.DictReader(file))


@pytest.fixture
def recorder(softnpu, tmp_path):
    return Recorder(softnpu, tmp_path / "out")


def wait_until(condition, seconds=30):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture(scope="session")
def until():
    """Waits for a condition; fails the test after some seconds."""
    return wait_until
