# SPDX-License-Identifier: Apache-2.0
"""Launcher, collector and commands built with sanitizers, around a program and libraries without them.

Run by scripts/test with NPUSCOPE_SANITIZED set to the build directory; NPUSCOPE_BUILD is the plain one. The collector has no
output of its own, so sanitizer reports go to files, which must not exist at the end."""

import os
import pathlib
import signal
import sys

import pytest

from conftest import BUILD, compile_program
from recorder import Recording, collector_of, wait_until

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "fault"))
from victims import Account, check_leaks, check_rows, compile_victim  # noqa: E402

SANITIZED = pathlib.Path(os.environ["NPUSCOPE_SANITIZED"]).resolve()
TOOLS = SANITIZED / "src" / "cli" / "msmemscope"


@pytest.fixture(scope="module")
def victim(tmp_path_factory):
    return compile_victim(compile_program, tmp_path_factory.mktemp("sanitized"))


@pytest.fixture
def home(tmp_path):
    """An installation of instrumented commands and plain libraries."""
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    (home / "libexec").mkdir()
    (home / "lib64").symlink_to(BUILD / "msmemscope" / "lib64")
    (home / "bin" / "msmemscope").symlink_to(BUILD / "msmemscope" / "bin" / "msmemscope")
    (home / "bin" / "msmemscope.bin").symlink_to(TOOLS / "msmemscope.bin")
    settings = "\n".join(f'export {name}_OPTIONS="log_path={tmp_path}/report:{more}"' for name, more in
                         [("ASAN", "detect_leaks=1"), ("UBSAN", "print_stacktrace=1:halt_on_error=1"),
                          ("TSAN", "halt_on_error=1:second_deadlock_stack=1")])
    collector = home / "libexec" / "msmemscope-collector"
    collector.write_text(f'#!/bin/sh\n{settings}\nexec {TOOLS}/msmemscope-collector "$@"\n')
    collector.chmod(0o755)
    return home


@pytest.fixture
def sanitized(softnpu, home, tmp_path):
    recording = Recording(softnpu, home, tmp_path / "out")
    yield recording
    # The collector may still be exiting when the command has returned.
    wait_until(lambda: collector_of(recording.output) is None)
    reports = [path.read_text() for path in tmp_path.glob("report.*")]
    assert not reports, reports[0]


def quiet(done):
    assert "Sanitizer" not in done.stderr and "runtime error" not in done.stderr, done.stderr
    assert "collector died" not in done.stderr, done.stderr
    return done


@pytest.mark.parametrize("form", ["csv", "db"])
def test_all_features_at_once(sanitized, form):
    done = quiet(sanitized.run(
        f"--format={form}", "--events=alloc,free,launch,access", "--level=op,kernel", "--call-stack=c,python",
        "--analysis=leaks,decompose,oom", "--", BUILD / "examples" / "acl-train", "--devices", 2, "--loaders", 3, "--steps", 3,
        "--leak", SOFTNPU_DEVICES=2, timeout=300))
    assert done.returncode == 0 and done.stdout.count("====== SUMMARY") == 2
    for command in (["info"], ["info", "--json"], ["recover"], *(["export", f"--format={f}", "-o", sanitized.output.parent / f]
                                                                 for f in ("csv", "db", "chrome", "collapsed",
                                                                           "speedscope", "pprof"))):
        done = quiet(sanitized.tool(*command, timeout=300))
        assert done.returncode == 0, done


@pytest.mark.parametrize("form", ["csv", "db"])
def test_killed_program(sanitized, victim, tmp_path, form):
    account = Account(tmp_path / "account")
    process = sanitized.start(f"--format={form}", "--", victim, account.path, 4, 0, "exit")
    wait_until(lambda: account.allocations() > 20000, seconds=100)
    os.kill(account.pid, signal.SIGKILL)
    out, errors = process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL and "Sanitizer" not in errors, errors
    check_leaks(out, check_rows(account, sanitized.rows()))


def test_killed_collector(sanitized, victim, tmp_path):
    account = Account(tmp_path / "account")
    process = sanitized.start("--analysis=none", "--", victim, account.path, 2, 60000, "exit", 3)
    wait_until(lambda: account.allocations() > 2000, seconds=100)
    os.kill(collector_of(sanitized.output), signal.SIGKILL)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 3 and "nothing was lost" in errors and "Sanitizer" not in errors, errors
    (found,) = sanitized.info()
    assert found["lost"] == found["damages"] == 0
    check_rows(account, sanitized.rows())


def test_many_short_processes(sanitized, victim, tmp_path):
    script = f"for i in $(seq 20); do {victim} {tmp_path}/account$i 1 50 exit & done; wait; exit 4"
    done = quiet(sanitized.run("--analysis=none", "--", "bash", "-c", script, timeout=300))
    assert done.returncode == 4
    assert sanitized.count("HAL_ALLOC") == [50] * 20


def test_full_trace(sanitized, victim, tmp_path):
    account = Account(tmp_path / "account")
    done = quiet(sanitized.run("--max-trace-size=16M", "--ring", "--analysis=leaks", "--", victim, account.path, 2, 100000,
                               "_exit", 2, timeout=300))
    assert done.returncode == 2


@pytest.mark.parametrize("content", ["", ",full-content"], ids=["hashes", "contents"])
@pytest.mark.parametrize("form", ["csv", "db"])
def test_watched_tensors(sanitized, form, content):
    """The collector opens files for the target, writes hashes, and finds the operator that overwrites a weight."""
    names = [f"torch._ops.aten.{name}.default" for name in ("native_layer_norm", "_fused_adamw_")]
    done = quiet(sanitized.run(
        f"--format={form}", f"--watch={','.join(names)}{content}", "--events=launch,access", "--level=op,kernel",
        "--analysis=none", "--", BUILD / "examples" / "acl-train", "--steps", 2, "--layers", 1, "--hidden", 32, "--heads", 2,
        "--seq", 8, "--vocab", 32, timeout=300))
    assert done.returncode == 0, done.stderr
    assert "watched output 0 of" in done.stdout or "was overwritten" in done.stdout
    noted = list(sanitized.output.glob("*/device_0/watch_dump/" + ("*.bin" if content else "*.csv")))
    assert noted and all(path.stat().st_size > 0 for path in noted)
    assert quiet(sanitized.tool("report", timeout=300)).returncode == 0


def test_out_of_memory(sanitized):
    done = quiet(sanitized.run("--analysis=oom:5", "--call-stack=c", "--", BUILD / "examples" / "acl-train", "--steps", 4,
                               "--oom", timeout=300))
    assert done.returncode == 1 and "====== ERROR: Out of memory ======" in done.stdout
    assert quiet(sanitized.tool("report", timeout=300)).returncode == 0
