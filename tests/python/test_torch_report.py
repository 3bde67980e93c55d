# SPDX-License-Identifier: Apache-2.0
"""msmemscope report on real PyTorch: each defect of examples/torch is found at its line, a clean run gives no advice."""

import json

import pytest

from torch_runs import EXAMPLES, PYTHON

DEFECTS = {"losses": "KeepLosses.after_loss", "activations": "KeepActivations.watch", "optimizer": "Cautious.step",
           "graph": "KeepGraph.after_loss"}


@pytest.mark.parametrize("defect", [None, *DEFECTS])
def test_training_defects_are_reported(recording, build, defect):
    options = ["--defect", defect] if defect else []
    done = recording.run("--device=cpu", "--call-stack=python", "--events=alloc,free,launch", "--",
                         PYTHON, EXAMPLES / "train.py", *options, PYTHONPATH=build / "msmemscope" / "python")
    assert done.returncode == 0, done.stderr
    report = recording.tool("report", "--json")
    assert report.returncode == 0, report.stderr
    (process,) = json.loads(report.stdout)["processes"]
    advice = [finding for device in process["devices"] for finding in device["advice"] if not finding["minor"]]
    assert [finding["pattern"] for finding in advice] == ["leak"] * len(advice)
    assert bool(advice) == (defect is not None)
    for finding in advice:
        frames = process["sites"][finding["site"]]["frames"]
        assert DEFECTS[defect] in [frame["function"] for frame in frames]
        assert any(frame["file"].endswith("defects.py") and frame["line"] > 0 for frame in frames)
    assert any(step["step"] == 8 for device in process["devices"] for step in device["steps"])
