# SPDX-License-Identifier: Apache-2.0
"""msmemscope export: from traces and dumps, npuscope's and the original's, to every format."""

import csv
import json
import sqlite3

import pytest

from conftest import ROOT

HEADER = "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,Call Stack(Python),Call Stack(C)\n"


@pytest.fixture
def export(export_to):
    return export_to


@pytest.fixture
def recorded(softnpu, memscope, build, tmp_path):
    out = tmp_path / "recorded"
    done = softnpu.run(memscope, f"--output={out}", "--level=op,kernel", "--events=alloc,free,launch,access", "--call-stack=c",
                       "--analysis=decompose", "--", build / "examples" / "acl-train", "--steps", "2", "--devices", "2")
    assert done.returncode == 0, done.stderr
    return out


def dumps(directory, suffix="csv"):
    return {path.parent.parent.name: path for path in sorted(directory.rglob(f"memscope_dump_*.{suffix}"))
            if path.parent.parent.name != "device_cpu"}


def test_dumps_round_trip(recorded, export):
    before = dumps(recorded)
    assert set(before) == {"device_0", "device_1"}
    for device, path in before.items():
        _, database = export(path, "db")
        _, again = export(database, "csv")
        assert dumps(again)[device].read_bytes() == path.read_bytes()
        _, copied = export(path, "csv")
        assert dumps(copied)[device].read_bytes() == path.read_bytes()


def test_curves_of_trace_and_dump_are_equal(recorded, export):
    def counters(directory, name):
        values = []
        for path in sorted(directory.rglob("memscope_trace_*.json")):
            values += [(event["name"], event["args"]["used"]) for event in json.loads(path.read_text())["traceEvents"]
                       if event["ph"] == "C" and event["name"] == name]
        return values
    _, from_trace = export(recorded, "chrome")
    for device, path in dumps(recorded).items():
        _, from_dump = export(path, "chrome")
        name = f"PTA npu {device[-1]}"
        assert counters(from_dump, name) == counters(from_trace, name) != []


def originals(tmp_path):
    """Dumps of the original; if not available, one with rows in its order."""
    samples = ROOT.parent / "shared" / "samples" / "msmemscope"
    if samples.is_dir():
        return sorted(samples.glob("*/memscope_dump_*.csv")) + sorted(samples.glob("offline/pta-mix*.csv"))
    path = tmp_path / "memscope_dump_20260101000000.csv"
    path.write_text(HEADER +
                    '3,MSTX,Mark,"peer_mark",30,7,7,0,N/A,,,\n'
                    '1,MALLOC,PTA,N/A,10,7,7,0,0x0000000000000010,"{allocation_id:1,addr:0x0000000000000010,size:8,'
                    'total:64,used:8,inefficient_type:early_allocation}","NA","f [0x1]\ng [0x2]\n"\n'
                    '2,FREE,PTA,N/A,20,7,7,0,0x0000000000000010,"{allocation_id:1,addr:0x0000000000000010,size:8,'
                    'total:64,used:0}",,\n0,SYSTEM,ACL_INIT,N/A,1,7,7,N/A,N/A,,,\n')
    return [path]


@pytest.mark.foreign_databases
def test_dumps_of_the_original(export, tmp_path):
    for path in originals(tmp_path):
        rows = sorted(csv.reader(path.open(newline="")), key=lambda row: int(row[0]) if row[0] != "ID" else -1)
        _, database = export(path, "db")
        done, again = export(database, "csv")
        with dumps(again)["device_0"].open(newline="") as file:
            assert list(csv.reader(file)) == rows, path
        with sqlite3.connect(dumps(database, "db")["device_0"]) as db:
            assert db.execute("SELECT count(*) FROM memscope_dump").fetchone()[0] == len(rows) - 1
        _, chrome = export(path, "chrome")
        (trace,) = chrome.rglob("memscope_trace_*.json")
        assert json.loads(trace.read_text())["traceEvents"]


@pytest.mark.foreign_databases
def test_rows_of_two_processes_in_one_file(export, tmp_path):
    path = tmp_path / "both.csv"
    path.write_text(HEADER + "".join(f'{i},MSTX,Mark,"m",{i + 10},{pid},1,0,N/A,,,\n' for i in range(3) for pid in (7, 8)))
    _, out = export(path, "db")
    assert len(list(out.rglob("memscope_dump_*.db"))) == 2 and list(out.glob("both/process_8/device_0"))


def test_wrong_use(softnpu, memscope, tmp_path, export):
    path = tmp_path / "memscope_dump_1.csv"
    path.write_text(HEADER + '1,MSTX,Mark,"m",1,7,7,0,N/A,,,\n2,MSTX,Mark,"n",2,7,7,0,N/A,,,\n')
    done = softnpu.run(memscope, "export", path, "--format=csv")
    assert done.returncode == 1 and "is already in csv format" in done.stderr
    assert softnpu.run(memscope, "export", path, "--format=png").returncode == 2
    assert softnpu.run(memscope, "export", path).returncode == 0  # the other format, next to the dump
    assert len(dumps(tmp_path, "db")) == 1
    path.write_text("")
    done, _ = export(path, "db", expect=1)
    assert "the file is empty" in done.stderr
    help_text = softnpu.run(memscope, "export", "--help").stdout
    assert all(word in help_text for word in ("csv", "db", "chrome", "collapsed", "speedscope", "pprof"))
