# SPDX-License-Identifier: Apache-2.0
"""The PyTorch examples: each planted defect is found at its line, and a clean run reports nothing."""

import re

import pytest
from torch_runs import EXAMPLES, PYTHON, live_sums

LINES = {
    "losses": ("defects.py", "self.history.append"),
    "activations": ("defects.py", "self.seen.append"),
    "optimizer": ("defects.py", 'state["good_avg'),
    "graph": ("defects.py", "self.state = torch.tanh"),
}

HOLDERS = {
    "losses": "trained[0].history[...] (list)",
    "activations": "trained[0].seen[...] (list)",
    "optimizer": "trained[2].state[<torch.nn.parameter.Parameter>]['good_avg'] (dict)",
    "graph": "trained[0].state (defects.KeepGraph)",
}


def recorded(recording, script, *arguments, options=()):
    recording.options.remove("--analysis=none")
    python_path = str(recording.command).replace("bin/msmemscope", "python")
    done = recording.run("--device=cpu", "--call-stack=python:20", "--analysis=leaks", *options, "--", PYTHON, EXAMPLES / script,
                         *arguments, PYTHONPATH=python_path)
    assert done.returncode == 0, done.stderr
    return done


def line_of(file, text):
    lines = (EXAMPLES / file).read_text().splitlines()
    return {f"{file}({i}): " for i, line in enumerate(lines, 1) if text in line}


def holder_of(defect):
    return f"__main__.{HOLDERS[defect]}, assigned at {EXAMPLES}/train.py:"


def test_clean_training_reports_nothing(recording):
    done = recorded(recording, "train.py", "--steps=6", "--layers=2")
    assert "leak" not in done.stdout.lower() and "its holders" not in done.stdout, done.stdout
    assert done.stdout.count("step") >= 6


@pytest.mark.parametrize("defect", LINES)
def test_defects_are_found_at_their_line(recording, defect):
    done = recorded(recording, "train.py", "--steps=8", "--layers=2", f"--defect={defect}")
    assert "ERROR: Detected memory leaks on device cpu" in done.stdout, done.stdout
    sites = done.stdout.partition("Leaks by call site")[2]
    first = re.search(r"^ +1\. .*?(?=^ +2\. |\Z)", sites, re.S | re.M)
    assert first is not None and any(line in first[0] for line in line_of(*LINES[defect])), done.stdout
    assert holder_of(defect) in done.stdout.partition("its holders:\n")[2].splitlines()[0], done.stdout


def test_growing_cache_is_found(recording):
    clean = recorded(recording, "infer.py", "--requests=5", "--tokens=12")
    assert "leak" not in clean.stdout.lower(), clean.stdout


def test_kept_caches_have_holders(recording):
    done = recorded(recording, "infer.py", "--requests=6", "--tokens=12", "--keep")
    assert "ERROR: Detected memory leaks on device cpu" in done.stdout
    assert "infer.py" in done.stdout.partition("Leaks by call site")[2]


@pytest.mark.parametrize("defect", ["none", *HOLDERS])
def test_defects_are_found_through_python_api(recording, softnpu, defect):
    python_path = str(recording.command).replace("bin/msmemscope", "python")
    done = softnpu.run(PYTHON, EXAMPLES / "train.py", "--steps=6", "--layers=2", f"--defect={defect}", "--record", recording.output,
                       PYTHONPATH=python_path)
    assert done.returncode == 0, done.stderr
    held = done.stdout.partition("its holders:\n")[2]
    assert held == "" if defect == "none" else holder_of(defect) in held.splitlines()[0], done.stdout
    rows = recording.rows()
    assert {"START_TRACE", "STOP_TRACE", "STEP", "HOST", "ATEN_START"} <= {row.type for row in rows}
    for row, sums in live_sums(rows):
        if "shadow" not in row.attr:
            assert sum(sums.values()) == row.number("total")


def test_notebook_runs(recording, softnpu, tmp_path):
    python_path = str(recording.command).replace("bin/msmemscope", "python")
    done = softnpu.run("sh", "-c", f"cd {tmp_path} && exec {PYTHON} {EXAMPLES}/notebook.py", PYTHONPATH=python_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"^HOST .*owner:HOST@.*@forward", done.stdout, re.M), done.stdout
