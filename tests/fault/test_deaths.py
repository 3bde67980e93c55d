# SPDX-License-Identifier: Apache-2.0
"""The program ends in every possible way: published events are in the files when the command returns, the leak report is
printed, and the command ends as the program ended."""

import os
import signal

import pytest

from recorder import wait_until
from victims import LIVE, PADDING, Account, check_leaks, check_rows, compile_victim


@pytest.fixture(scope="module")
def victim(tmp_path_factory, compiler):
    return compile_victim(compiler, tmp_path_factory.mktemp("deaths"))


@pytest.fixture(params=["csv", "db"])
def leaks(recording, request):
    """A recorder with leak analysis, in either format."""
    recording.options[1:] = [f"--format={request.param}", "--analysis=leaks"]
    return recording


@pytest.fixture
def account(tmp_path):
    return Account(tmp_path / "account")


def check(recording, account, text):
    left = check_rows(account, recording.rows())
    check_leaks(text, left)
    (process,) = recording.info()
    assert process["lost"] == process["gaps"] == process["damages"] == 0
    assert process["ending"] == 1
    return left


@pytest.mark.parametrize("ending, number, status", [
    ("exit", 0, 0), ("exit", 3, 3), ("_exit", 7, 7), ("abort", 0, -signal.SIGABRT), ("segv", 0, -signal.SIGSEGV),
    ("raise", signal.SIGKILL, -signal.SIGKILL), ("raise", signal.SIGTERM, -signal.SIGTERM),
    ("raise", signal.SIGINT, -signal.SIGINT), ("memory", 0, -signal.SIGABRT)])
def test_program_ends_in_each_way(leaks, account, victim, ending, number, status):
    done = leaks.run(victim, account.path, 4, 2000, ending, int(number))
    assert done.returncode == status
    extra = 0
    if ending == "memory":  # one more block of the main thread, allocated when memory is exhausted and freed
        rows = leaks.rows()
        own = [r for r in rows if r.tid == str(account.pid) and r.type == "HAL" and "shadow" not in r.attr]
        assert [(r.event, r.number("size")) for r in own] == [("MALLOC", 12352 + PADDING), ("FREE", 12352 + PADDING)]
        extra = len(own)
        leaks.rows = lambda: [r for r in rows if r not in own]
    assert check(leaks, account, done.stdout) == 4 * LIVE
    assert leaks.count("HAL_ALLOC") == [8000 + extra // 2]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("after", [1, 777, 20000])
def test_program_is_killed_at_work(leaks, account, victim, number, after):
    process = leaks.start(victim, account.path, 3, 0, "exit")
    wait_until(lambda: account.allocations() >= after)
    if number == signal.SIGKILL:
        os.kill(account.pid, number)
    else:
        process.send_signal(number)  # forwarded
    out, _ = process.communicate(timeout=60)
    assert process.returncode == -number
    check(leaks, account, out)
    assert account.allocations() >= after
