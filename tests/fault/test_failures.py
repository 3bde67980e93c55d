# SPDX-License-Identifier: Apache-2.0
"""System calls of the recorder fail, one at a time: the program is not affected, and nothing is lost silently."""

import errno
import os
import pathlib
import subprocess

import pytest

from conftest import BUILD, compile_program
from recorder import Recording
from victims import Account, check_rows, compile_victim

HERE = pathlib.Path(__file__).parent
# In `make soak`: every call, not only the first ones.
THOROUGH = "NPUSCOPE_SOAK" in os.environ

IN_TARGET = {"memfd_create": errno.EMFILE, "ftruncate": errno.EFBIG, "fcntl": errno.EPERM, "mmap64": errno.ENOMEM,
             "socket": errno.EMFILE, "connect": errno.ECONNREFUSED, "getsockopt": errno.EINVAL, "sendmsg": errno.ENOBUFS,
             "openat": errno.EMFILE, "readlinkat": errno.ENOENT, "read": errno.EIO, "madvise": errno.ENOMEM,
             "pthread_key_create": errno.EAGAIN, "dlopen": 0}
IN_COLLECTOR = {"write": errno.EIO, "pwrite64": errno.ENOSPC, "pread64": errno.EIO, "mmap64": errno.ENOMEM,
                "openat64": errno.EMFILE, "mkdirat": errno.ENOSPC, "ftruncate64": errno.EIO, "malloc": errno.ENOMEM,
                "calloc": errno.ENOMEM, "realloc": errno.ENOMEM, "recvmsg": errno.ENOBUFS, "sendmsg": errno.ENOBUFS,
                "pthread_create": errno.EAGAIN, "epoll_create1": errno.EMFILE, "eventfd": errno.EMFILE,
                "open_memstream": errno.ENOMEM, "renameat": errno.EIO, "memfd_create": errno.EMFILE}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("failures")


@pytest.fixture(scope="module")
def victim(folder):
    return compile_victim(compile_program, folder)


@pytest.fixture(scope="module")
def failing(folder):
    library = folder / "failing.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-o", library, HERE / "failing.c", "-ldl"], check=True)
    return library


@pytest.fixture(scope="module")
def home(folder, failing):
    """An installation whose collector preloads the library; the collector clears its environment otherwise."""
    home, real = folder / "home", BUILD / "msmemscope"
    (home / "libexec").mkdir(parents=True)
    for name in ("bin", "lib64", "python"):
        (home / name).symlink_to(real / name)
    collector = home / "libexec" / "msmemscope-collector"
    collector.write_text(f'#!/bin/sh\nLD_PRELOAD={failing} exec {real}/libexec/msmemscope-collector "$@"\n')
    collector.chmod(0o755)
    return home


class Run:
    def __init__(self, softnpu, home, failing, victim, folder, form="csv"):
        self.account = Account(folder / "account")
        self.recording = Recording(softnpu, home, folder / "out", "--analysis=none", f"--format={form}")
        self.victim, self.failing, self.folder = victim, failing, folder

    def __call__(self, where, function, number, code, count=None):
        env = {"MSMEMSCOPE_TEST_FAIL": f"{where}:{function}:{number}:{code}"}
        if where == "target":
            env["LD_PRELOAD"] = str(self.failing)
        if count is not None:
            env["MSMEMSCOPE_TEST_FAIL_COUNT"] = str(count)
        done = self.recording.run(self.victim, self.account.path, 2, 3000, "exit", 3, env=env, timeout=60)
        assert done.returncode in (3, 125), (function, number, done)
        if done.returncode == 125:  # the collector did not start; the launcher reported it before the program ran
            assert self.account.pid == 0 and "Error" in done.stderr, (function, number, done)
        return done

    def complete(self):
        return len(self.recording.dumps()) == 1 and check_rows(self.account, self.recording.rows()) == 32


@pytest.fixture
def run(softnpu, home, failing, victim, tmp_path):
    return Run(softnpu, home, failing, victim, tmp_path)


@pytest.mark.parametrize("function", IN_TARGET)
@pytest.mark.parametrize("number", ["1", "2", "1+", "3+"])
def test_failing_calls_in_program(run, function, number):
    """The program ends normally; its recording is complete, or there is none."""
    run("target", function, number, IN_TARGET[function])
    if run.recording.info():
        assert run.complete()
    else:
        assert run.recording.dumps() == []


def calls(softnpu, home, failing, victim, folder, function):
    """Number of calls of a function by the collector in a run without failures."""
    folder.mkdir()
    count = folder / "count"
    Run(softnpu, home, failing, victim, folder)("collector", function, 0, 0, count)
    return int(count.read_text())


@pytest.mark.parametrize("form", ["csv", "db"])
@pytest.mark.parametrize("function", IN_COLLECTOR)
@pytest.mark.foreign_databases
def test_failing_calls_in_collector(softnpu, home, failing, victim, tmp_path, function, form):
    """Files are complete, or an error is printed; the trace is readable in any case."""
    numbers = [1, 2, 5, "2+"] if not THOROUGH else [
        *range(1, min(400, calls(softnpu, home, failing, victim, tmp_path / "counted", function)) + 1), *(f"{n}+" for n in range(1, 40))]
    for number in numbers:
        folder = tmp_path / f"{number}".replace("+", "-on")
        folder.mkdir()
        run = Run(softnpu, home, failing, victim, folder, form)
        done = run("collector", function, number, IN_COLLECTOR[function])
        reported = "[msmemscope] Error" in done.stderr or "[msmemscope] Warn: the " in done.stderr
        if not reported:
            assert run.complete(), (function, number, done)
        assert all(p["damages"] == 0 for p in run.recording.info()), (function, number, done)
