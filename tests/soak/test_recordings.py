# SPDX-License-Identifier: Apache-2.0
"""Repeated recordings: kernel level, deaths at random times.

NPUSCOPE_SOAK_RUNS is the number of runs (1000); the message of a failure contains its seed."""

import os
import pathlib
import random
import shutil
import signal
import sys

import pytest

from conftest import BUILD, compile_program
from recorder import Recording, collector_of, wait_until

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "fault"))
from victims import Account, check_leaks, check_rows, compile_victim  # noqa: E402

RUNS = int(os.environ.get("NPUSCOPE_SOAK_RUNS", "1000"))


@pytest.fixture(scope="module")
def victim(tmp_path_factory):
    return compile_victim(compile_program, tmp_path_factory.mktemp("soak"))


def test_kernel_level_is_reliable(softnpu, tmp_path):
    """No crash, no hang, no changed exit status; every launched kernel has run."""
    train = BUILD / "examples" / "acl-train"
    programs = [(("--steps", 2), 0), (("--steps", 1, "--oom"), None), (("--nonsense",), 2)]
    plain = [softnpu.run(train, *arguments).returncode if status is None else status for arguments, status in programs]
    for i in range(RUNS):
        output = tmp_path / "out"
        recording = Recording(softnpu, BUILD / "msmemscope", output, "--level=kernel", "--quiet",
                              *(["--format=db"] if i % 2 else []))
        which = 0 if i % 10 else i // 10 % 3
        done = recording.run(train, *programs[which][0], timeout=60)
        assert done.returncode == plain[which], (i, done)
        if which == 0:
            kinds = [r.type for r in recording.rows()]
            assert kinds.count("KERNEL_LAUNCH") == kinds.count("KERNEL_EXECUTE_START") == kinds.count("KERNEL_EXECUTE_END") > 0, i
        shutil.rmtree(output, ignore_errors=True)


@pytest.mark.parametrize("who", ["program", "collector", "both"])
def test_deaths_at_random_times(softnpu, victim, tmp_path, who):
    for i in range(max(RUNS // 10, 1)):
        chance = random.Random(i)
        folder = tmp_path / str(i)
        folder.mkdir()
        account = Account(folder / "account")
        recording = Recording(softnpu, BUILD / "msmemscope", folder / "out", f"--format={chance.choice(('csv', 'db'))}")
        process = recording.start(victim, account.path, chance.randint(1, 8), 0, "exit")
        moment = chance.randint(0, 50000)
        wait_until(lambda: account.allocations() > moment, seconds=100)
        if who == "both":  # no process holds the shared memory any more: only what is on disk can be recovered
            wait_until(lambda: list(recording.output.glob("*/trace/*.seg")))
            victims = [process.pid, wait_until(lambda: collector_of(recording.output)), account.pid]
            for number in (signal.SIGSTOP, signal.SIGKILL):
                for pid in victims:
                    os.kill(pid, number)
            process.communicate(timeout=100)
            assert recording.tool("recover").returncode == 0, i
            assert all(p["damages"] == 0 or p["ending"] == 0 for p in recording.info()), i
        else:
            if who == "collector":
                os.kill(wait_until(lambda: collector_of(recording.output)), signal.SIGKILL)
                before = account.allocations()
                wait_until(lambda: account.allocations() > before + 1000, seconds=100)
            os.kill(account.pid, signal.SIGKILL)
            out, errors = process.communicate(timeout=100)
            assert process.returncode == -signal.SIGKILL, (i, errors)
            check_leaks(out, check_rows(account, recording.rows()))
            (found,) = recording.info()
            assert found["lost"] == found["damages"] == 0, i
        shutil.rmtree(folder)
