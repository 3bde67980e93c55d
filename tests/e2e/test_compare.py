# SPDX-License-Identifier: Apache-2.0
"""msmemscope --compare: runs, steps, traces and dumps; dumps of the original; broken inputs."""

import csv
import pathlib
import sqlite3

import pytest

from conftest import ROOT

HEADER = "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,Call Stack(Python),Call Stack(C)\n"
MIB = 1 << 20


@pytest.fixture
def command(build):
    return str(build / "msmemscope" / "bin" / "msmemscope")


@pytest.fixture
def train(softnpu, command, build, tmp_path):
    def record(name, *options, recorder=()):
        out = tmp_path / name
        done = softnpu.run(command, f"--output={out}", "--level=op,kernel", *recorder, "--",
                           build / "examples" / "acl-train", "--steps", "4", *options)
        assert done.returncode == 0, done.stderr
        return out
    return record


@pytest.fixture
def compare(softnpu, command, tmp_path):
    """Compares; returns the finished process and the rows of memory_compare.csv, without its two header lines."""
    def run(*options, expect=0):
        before = set(tmp_path.glob("compared/compare/memory_compare_*.csv"))
        done = softnpu.run(command, "--compare", f"--output={tmp_path}/compared", *options)
        assert done.returncode == expect, done.stdout + done.stderr
        new = set(tmp_path.glob("compared/compare/memory_compare_*.csv")) - before
        if not new:
            return done, None
        (path,) = new
        lines = path.read_text().splitlines()
        assert lines[:2] == [",,,Base,Compare",
                             "Event,Name,Device Id,Allocated Memory(byte),Allocated Memory(byte),Diff Memory(byte)"]
        return done, list(csv.reader(lines[2:]))
    return run


def test_a_leak_is_explained(train, compare):
    clean, leaking = train("clean", recorder=["--call-stack=c"]), train("leaking", "--leak", recorder=["--call-stack=c"])
    done, rows = compare(f"--input={clean},{leaking}", "--level=op")
    only = [row for row in rows if row[3] == "N/A"]
    assert len(only) == 4 and {row[1] for row in only} == {"torch._ops.aten.clone.default"}
    assert {int(row[5]) for row in only} == {MIB + 512}  # rounded by the pool
    assert all(int(row[5]) == 0 for row in rows if row[3] != "N/A")
    assert "+4.0 MiB  torch._ops.aten.clone.default  (in 4 places)" in done.stdout
    site = done.stdout.split("by call site")[1].splitlines()[1]
    assert "+3.0 MiB" in site and "plant_leak" in site
    assert compare(f"--input={clean},{leaking}", "--fail-above", "2M", expect=1)[0].stderr.count("--fail-above") == 1
    compare(f"--input={clean},{leaking}", "--fail-above=16M")
    compare(f"--input={clean},{clean}", "--fail-above=0")


def test_steps_of_one_run(train, compare):
    run = train("run", "--leak")
    done, rows = compare(f"--input={run}", "--steps=3,4", "--level=kernel")
    assert rows and all(int(row[5]) == 0 for row in rows)
    assert "left at the end               1.0 MiB -> 1.0 MiB" in done.stdout
    compare(f"--input={run},{run}", "--steps=2")
    done, _ = compare(f"--input={run}", "--steps=3,9", expect=2)
    assert "has no operators" in done.stderr and "in that step" in done.stderr
    assert "[msmemscope] ERROR: Memory comparison failed!" in done.stderr


def test_trace_csv_and_database_agree(train, compare, softnpu, command, tmp_path):
    trace = train("trace")
    (dump,) = trace.glob("*/device_0/dump/memscope_dump_*.csv")
    assert softnpu.run(command, "export", trace, "--format=db", "-o", tmp_path / "db").returncode == 0
    (database,) = (tmp_path / "db").glob("*/device_0/dump/memscope_dump_*.db")
    results = []
    for source in (trace, dump, tmp_path / "db", database):
        for level in ("op", "kernel", "op,kernel"):
            _, rows = compare(f"--input={source},{dump}", f"--level={level}")
            assert all(int(row[5]) == 0 for row in rows), (source, level)
            results.append((level, rows))
    assert all(rows == results[i % 3][1] for i, (_, rows) in enumerate(results))


def test_two_ranks(softnpu, command, build, compare, tmp_path):
    out = tmp_path / "ranks"
    done = softnpu.run(command, f"--output={out}", "--", build / "examples" / "acl-train", "--steps", "2", "--devices", "2")
    assert done.returncode == 0, done.stderr
    first = next(out.glob("*/device_0/dump/memscope_dump_*.csv"))
    second = next(out.glob("*/device_1/dump/memscope_dump_*.csv"))
    done, rows = compare(f"--input={first},{second}")
    assert rows and "device 0 compared with device 1" in done.stdout


def foreign_pair(tmp_path):
    """Two dumps of the original, with its results for their first kernels; if not available, two of the same kind."""
    samples = ROOT.parent / "shared" / "samples" / "msmemscope" / "offline"
    if samples.is_dir():
        base, other = samples / "compare-base.csv", samples / "compare-compare.csv"
    else:
        base, other = tmp_path / "base.csv", tmp_path / "other.csv"
        for path, name in ((base, "Cast_1"), (other, "Cast_2")):
            rows = []
            for i in range(0, 300, 3):
                size = 512 * (i % 7 + 1)
                attr = f'"{{allocation_id:0,addr:0x0000124000000000,size:{size},total:1073741824,used:512}}"'
                rows += [f"{i},MALLOC,PTA,N/A,{1000 + i},1,1,0,0x0000124000000000,{attr},,",
                         f"{i + 1},FREE,PTA,N/A,{1001 + i},1,1,0,0x0000124000000000,{attr},,",
                         f'{i + 2},KERNEL_LAUNCH,KERNEL_LAUNCH,{name if i % 30 == 0 else "Add"},{1002 + i},1,1,0,N/A,'
                         '"{streamId:3,taskId:1}",,']
            path.write_text(HEADER + "\n".join(rows) + "\n")
    return base, other


def sizes_after(path):
    """The original's number: for every kernel the size of the pool's next row."""
    rows = sorted(csv.DictReader(path.open()), key=lambda row: int(row["Timestamp(ns)"]))
    found, size = [], 0
    for row in reversed(rows):
        if row["Event Type"] == "PTA":
            size = int(row["Attr"].split("size:")[1].split(",")[0])
        elif row["Event Type"] == "KERNEL_LAUNCH":
            found.append((row["Name"], size))
    return found[::-1]


def test_the_number_of_the_first_releases(compare, tmp_path):
    base, other = foreign_pair(tmp_path)
    _, rows = compare(f"--input={base},{other}", "--level=kernel", "--compare-legacy")
    assert [(row[1], int(row[3])) for row in rows if row[3] != "N/A"] == sizes_after(base)
    assert [(row[1], int(row[4])) for row in rows if row[4] != "N/A"] == sizes_after(other)
    both = sum(row[3] != "N/A" and row[4] != "N/A" for row in rows)
    in_place = sum(a[0] == b[0] for a, b in zip(sizes_after(base), sizes_after(other)))
    assert both >= in_place
    compare(f"--input={base},{other}", "--level=kernel", "--compare-legacy", "--steps=1", expect=2)


def test_samples_of_the_original(compare, tmp_path):
    samples = ROOT.parent / "shared" / "samples" / "msmemscope"
    inputs = [samples / "csv-kernel"] if samples.is_dir() else [foreign_pair(tmp_path)[0]]
    for path in inputs:
        done, rows = compare(f"--input={path},{path}", "--level=kernel")
        assert rows and all(int(row[5]) == 0 for row in rows) and "partial" not in done.stderr


def kernel_rows(count):
    return "".join(f"{i},KERNEL_LAUNCH,KERNEL_LAUNCH,K{i},{1000 + i},1,1,0,N/A,,,\n" for i in range(count))


@pytest.mark.foreign_databases
@pytest.mark.parametrize("name, content, message", [
    ("empty.csv", "", "empty.csv:1: the file is empty"),
    ("nothing.csv", HEADER, "has no kernels"),
    ("other.csv", "Name,Size(KB)\nx,1\n", "other.csv:1: not a msmemscope dump"),
    ("text.txt", "hello\n", "neither .csv nor .db"),
    ("text.db", "hello\n", "not a database"),
])
def test_foreign_files(compare, tmp_path, name, content, message):
    good, bad = tmp_path / "good.csv", tmp_path / name
    good.write_text(HEADER + kernel_rows(10))
    bad.write_text(content)
    done, rows = compare(f"--input={good},{bad}", "--level=kernel", expect=2)
    assert message in done.stderr and rows is None
    assert bad.read_text() == content


@pytest.mark.foreign_databases
def test_cut_files_give_partial_results(compare, tmp_path):
    good, cut = tmp_path / "good.csv", tmp_path / "cut.csv"
    good.write_text(HEADER + kernel_rows(1000))
    cut.write_text(good.read_text()[:-30])
    done, rows = compare(f"--input={good},{cut}", "--level=kernel", expect=1)
    assert "cut.csv:1001: the file ends in the middle of this row" in done.stderr and "the result is partial" in done.stderr
    assert len(rows) == 1000 and rows[-1][4] == "N/A" and rows[-2][4] != "N/A"

    database = tmp_path / "cut.db"
    with sqlite3.connect(database) as db:
        columns = ", ".join(f'"{name}" TEXT' for name in HEADER.strip().split(","))
        db.execute(f"CREATE TABLE memscope_dump ({columns})")
        db.executemany(f"INSERT INTO memscope_dump VALUES ({','.join('?' * 12)})", csv.reader(kernel_rows(5000).splitlines()))
    db.close()
    content = database.read_bytes()
    database.write_bytes(content[:len(content) // 2 + 100])
    done, rows = compare(f"--input={good},{database}", "--level=kernel", expect=1)
    assert "the result is partial" in done.stderr
    assert sum(row[4] != "N/A" for row in rows) > 1500
    assert not list(tmp_path.glob("cut.db-*")) and len(database.read_bytes()) == len(content) // 2 + 100


def test_rows_in_any_order_and_frees_without_allocations(compare, tmp_path):
    straight, shuffled = tmp_path / "a.csv", tmp_path / "b.csv"
    rows = ["0,FREE,PTA,N/A,999,1,1,0,0x0000000000000001,\"{allocation_id:7,size:64}\",,\n"] + [
        f"{i + 1},KERNEL_LAUNCH,KERNEL_LAUNCH,K{i},{1000 + i},1,1,0,N/A,,,\n" for i in range(500)]
    straight.write_text(HEADER + "".join(rows))
    shuffled.write_text(HEADER + "".join(rows[::-1]))
    _, result = compare(f"--input={straight},{shuffled}", "--level=kernel")
    assert len(result) == 500 and all(row[3:] == ["0", "0", "0"] for row in result)


def test_missing_inputs(compare):
    assert "/nosuch: No such file" in compare("--input=/nosuch,/etc", expect=2)[0].stderr
    assert "contains no msmemscope recording or dump" in compare("--input=/etc/apt,/etc/apt", expect=2)[0].stderr
