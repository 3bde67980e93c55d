# SPDX-License-Identifier: Apache-2.0
"""MindStudio Insight can open the databases; what it would show agrees with the CSV files."""
import csv
import json
import pathlib
import re
import sqlite3
import subprocess

import pytest

from insight_lint import Lint, lint

CASES = sorted((pathlib.Path(__file__).parent.parent / "model").glob("*.txt"))


def dump(build, case, kind, tmp_path):
    program = pathlib.Path(build) / "tests/unit/model_test"
    out = subprocess.run([program, "--dump", kind, case, tmp_path], check=True, capture_output=True, text=True)
    return pathlib.Path(out.stdout.strip())


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_insight_opens_databases(build, case, tmp_path):
    databases = sorted(dump(build, case, "db", tmp_path).glob("device_*/dump/*.db"))
    assert databases
    for path in databases:
        assert lint(path) == []


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_database_matches_csv(build, case, tmp_path):
    tables = sorted(dump(build, case, "csv", tmp_path).glob("device_*/dump/memscope_dump_*.csv"))
    databases = sorted(dump(build, case, "db", tmp_path).glob("device_*/dump/*.db"))
    assert [p.parent.parent.name for p in tables] == [p.parent.parent.name for p in databases]
    for table, database in zip(tables, databases):
        with open(table, newline="") as f:
            rows = list(csv.reader(f))
        with sqlite3.connect(database) as db:
            stored = [list(map(str, row)) for row in db.execute("SELECT * FROM memscope_dump ORDER BY rowid")]
        assert len(rows) - 1 == len(stored)
        for row, other in zip(rows[1:], stored):
            if row[1] == "MSTX":
                row[3] = f'"{row[3]}"'
            attr = "".join(f",{key}:{value}" for key, value in json.loads(other[9]).items())
            assert row[9] == ("{" + attr[1:] + "}" if attr else "")
            row[10:] = [f'"{cell}"' if cell else "" for cell in row[10:]]
            assert row[:9] + row[10:] == other[:9] + other[10:]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_chrome_trace_is_valid(build, case, tmp_path):
    """It has every member that viewers need, non-negative times in microseconds, and no open slices."""
    events = json.loads((dump(build, case, "csv", tmp_path) / "trace.json").read_text())["traceEvents"]
    assert events
    for event in events:
        assert event["ph"] in "MXiC" and "name" in event and event["ts"] >= 0 and "pid" in event and "tid" in event
        assert event["ph"] != "X" or event["dur"] >= 0
        assert event["ph"] != "C" or event["ts"] > 0 and event["args"]["used"] >= 0
    if case.stem == "launch":
        kernel = next(e for e in events if e.get("cat") == "kernel")
        assert (kernel["name"], kernel["dur"], kernel["tid"]) == ("MatMulV2", 0.5, 3)
        assert any(e.get("cat") == "op" and e["name"] == "torch._ops.aten.add.Tensor" for e in events)
    if case.stem == "leaks":
        spans = [e["name"] for e in events if e["ph"] == "X"]
        assert spans.count("step start") == 4 and [s for s in spans if s != "step start"] == [f"step {n}" for n in range(1, 5)]


@pytest.mark.foreign_databases
def test_lint_finds_defects(build, tmp_path):
    case = next(c for c in CASES if c.stem == "pool")
    path = next(dump(build, case, "db", tmp_path).glob("device_0/dump/*.db"))

    def spoil(sql):
        copy = path.with_name("memscope_dump_1.db")
        copy.write_bytes(path.read_bytes())
        copy.chmod(0o600)
        db = sqlite3.connect(copy)
        db.execute(sql)
        db.commit()
        db.close()
        return " ".join(lint(copy))

    assert lint(path) == []
    assert "without a size" in spoil("""UPDATE memscope_dump SET "Attr" = REPLACE("Attr", '"size"', '"sise"')""")
    assert "not strings" in spoil("""UPDATE memscope_dump SET "Attr" = REPLACE("Attr", '"2048"', '2048')""")
    assert "FREE without MALLOC" in spoil("""DELETE FROM memscope_dump WHERE "ID" = 1""")
    assert "no event has a device" in spoil("""UPDATE memscope_dump SET "Device Id" = 'N/A'""")
    assert "python_trace_42" in spoil('CREATE TABLE python_trace_42 ("FuncInfo" TEXT, "StartTime(ns)" TEXT, '
                                      '"EndTime(ns)" TEXT, "Thread Id" INTEGER, "Process Id" INTEGER)')
    assert "columns" in spoil('ALTER TABLE memscope_dump RENAME COLUMN "Ptr" TO "Address"')
    assert "user_version" in spoil("PRAGMA user_version = 7")


def test_curves_match_rows(build, tmp_path):
    """The running totals that Insight computes equal `used` in the rows."""
    case = next(c for c in CASES if c.stem == "pinned")
    checked = Lint(next(dump(build, case, "db", tmp_path).glob("device_cpu/dump/*.db")))
    assert checked.run() == []
    text = case.read_text()
    used = [int(n) for n in re.findall(r"pinned:true,used:(\d+)", text)]
    assert checked.curves[("cpu", "HOST_PINNED")] == [0] + used
