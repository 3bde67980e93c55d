# SPDX-License-Identifier: Apache-2.0
"""Reports of many processes: the same step on all ranks, the first to diverge, and the call site that explains it."""

import json
import shutil

import pytest

MIB = 1 << 20
STEPS = 6


@pytest.fixture
def record(softnpu, memscope, build, tmp_path):
    def run(name, *options):
        out = tmp_path / name
        done = softnpu.run(memscope, f"--output={out}", "--call-stack=c", "--analysis=none", "--",
                           build / "examples" / "acl-train", "--steps", STEPS, *options, SOFTNPU_DEVICES=4)
        assert done.returncode == 0, done.stderr
        return out
    return run


@pytest.fixture
def report(softnpu, memscope):
    def run(*sources, expect=0):
        done = softnpu.run(memscope, "report", *sources, "--json")
        assert done.returncode == expect, done.stderr
        text = softnpu.run(memscope, "report", *sources)
        return json.loads(done.stdout), text.stdout
    return run


def test_ranks_of_one_job(record, report):
    found, text = report(record("job", "--devices", "3"))
    ranks = found["ranks"]
    assert [rank["name"] for rank in ranks["ranks"]] == ["npu 0", "npu 1", "npu 2"]
    assert ranks["steps"] == list(range(1, STEPS + 1)) and ranks["departure"] is None
    for i, rank in enumerate(ranks["ranks"]):
        device = found["processes"][rank["process"]]["devices"][rank["device"]]
        assert device["device"] == i and rank["peak_b"] == [step["peak_b"] for step in device["steps"]]
    for at in range(STEPS):
        peaks = sorted(rank["peak_b"][at] for rank in ranks["ranks"])
        assert [ranks["min_b"][at], ranks["median_b"][at], ranks["max_b"][at]] == peaks
    assert "all ranks\n  3 ranks, 6 steps" in text and "diverge" not in text


def test_one_of_several_leaks(record, report):
    """The same program four times, once with a leak from step 1 on: the leak is visible in the peak of step 2."""
    runs = [record(f"rank{i}", *(["--leak"] if i == 2 else [])) for i in range(4)]
    found, text = report(*runs)
    departure = found["ranks"]["departure"]
    assert departure["rank"] == 2 and departure["step"] == 2 and MIB <= departure["bytes"] < 1.1 * MIB
    cause = departure["causes"][0]
    assert "plant_leak" in cause["label"] and cause["bytes"] - cause["reference_b"] == departure["bytes"]
    assert any(frame["function"] == "plant_leak" for frame in cause["frames"])
    assert len(departure["causes"]) == 1, "and nothing else"
    assert "is the first to diverge, in step 2" in text and "plant_leak" in text.split("diverge")[1].split("process ")[0]


def test_sixty_four_ranks(record, report, softnpu, memscope, tmp_path):
    """A line for each, and full sections for the highest and the first to diverge, here the same rank."""
    clean, leaking = record("rank0"), record("rank41", "--leak")
    ranks = [leaking if i == 41 else clean if i == 0 else shutil.copytree(clean, tmp_path / f"rank{i}") for i in range(64)]
    found, text = report(*ranks)
    assert len(found["ranks"]["ranks"]) == 64 and found["ranks"]["departure"]["rank"] == 41
    lines = text.splitlines()
    table = lines[next(i for i, line in enumerate(lines) if line.startswith("  rank ")):]
    rows = table[1:65]
    assert table[65] == "" and all(row.startswith("  npu 0") for row in rows)
    assert [i for i, row in enumerate(rows) if not row.endswith("-")] == [41] and rows[41].endswith("Leak")
    assert len(lines) < 250 and text.count("What to do") == 1 and "1. Leak, steps" in text
    whole = softnpu.run(memscope, "report", *ranks, "--all").stdout
    assert whole.count("What to do") == 64


def test_two_ranks_and_one_process(record, report):
    clean, leaking = record("clean"), record("leaking", "--leak")
    for runs, guilty in (([clean, leaking], 1), ([leaking, clean], 0)):
        found, _ = report(*runs)
        assert found["ranks"]["departure"]["rank"] == guilty
    assert report(leaking)[0]["ranks"] is None


def test_missing_input(record, report, softnpu, memscope, tmp_path):
    clean = record("clean")
    done = softnpu.run(memscope, "report", clean, tmp_path / "nothing", "--json")
    assert done.returncode == 1 and "nothing" in done.stderr
    found = json.loads(done.stdout)
    assert found["partial"] and len(found["processes"]) == 1 and str(tmp_path / "nothing") in found["notes"][0]["text"]
