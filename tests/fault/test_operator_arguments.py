# SPDX-License-Identifier: Apache-2.0
"""No argument of a two-phase operator crashes the program; a refused call names the operator and changes nothing."""

import pathlib
import sys


def test_operators_survive_wrong_arguments(softnpu):
    done = softnpu.run(sys.executable, pathlib.Path(__file__).parent / "operator_calls.py", "1", env={"CALLS": "4"}, timeout=600)
    lines = done.stdout.splitlines()
    assert done.returncode == 0 and lines[-1] == "done", f"at {lines[-1]}: status {done.returncode}\n{done.stderr[-2000:]}"
    assert len(lines) > 700
