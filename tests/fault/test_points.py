# SPDX-License-Identifier: Apache-2.0
"""The program is killed between two instructions of the recorder: everything published before is in the files."""

import re
import signal

import pytest

from conftest import BUILD, ROOT
from recorder import Recording
from victims import Account, check_leaks, check_rows, compile_victim

# Points that every event passes, and those reached with a new or full chunk.
EACH_EVENT = ("reserved", "stamped", "filled", "used", "committed")
EACH_CHUNK = ("filling", "counted", "full", "popped", "headed", "owned")


@pytest.fixture(scope="module")
def victim(tmp_path_factory, compiler):
    return compile_victim(compiler, tmp_path_factory.mktemp("points"))


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """An installation whose agent can be killed at labelled points."""
    home, real = tmp_path_factory.mktemp("points-home"), BUILD / "msmemscope"
    (home / "lib64").mkdir()
    for name in ("bin", "libexec", "python"):
        (home / name).symlink_to(real / name)
    (home / "lib64" / "libascend_kernel_hook.so").symlink_to(BUILD / "tests" / "fault" / "libascend_kernel_hook.so")
    return home


def test_all_points_are_tested():
    found = set()
    for source in (ROOT / "src" / "trace").iterdir():
        found.update(re.findall(r'MS_TESTPOINT\("(\w+)"\)', source.read_text()))
    assert found == {*EACH_EVENT, *EACH_CHUNK, "walking"}  # the last is the collector's, see trace_kill_test.c


@pytest.mark.parametrize("form", ["csv", "db"])
@pytest.mark.parametrize("label, times", [(label, n) for label in EACH_EVENT for n in (1, 2, 9999)]
                         + [(label, n) for label in EACH_CHUNK for n in (1, 2, 9)])
def test_killed_at_point(softnpu, home, victim, tmp_path, label, times, form):
    recording = Recording(softnpu, home, tmp_path / "out", f"--format={form}")
    account = Account(tmp_path / "account")
    done = recording.run(victim, account.path, 3, 20000, "exit", env={"MSMEMSCOPE_TEST_POINT": f"{label}:{times}"})
    assert done.returncode == -signal.SIGKILL
    if not recording.info():  # killed before the first event
        assert account.allocations() == 0 and times <= 2
        return
    left = check_rows(account, recording.rows())
    if left > 0:
        check_leaks(done.stdout, left)
    (process,) = recording.info()
    assert process["lost"] == process["damages"] == 0 and process["ending"] == 1
