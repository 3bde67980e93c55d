# SPDX-License-Identifier: Apache-2.0
"""msmemscope check: leaks between marks and inefficient blocks, on npuscope's and the original's dumps, against independent
references; what is written back, and invalid input."""

import csv
import itertools
import os
import random
import shutil
import sqlite3

import pytest

from conftest import ROOT
from recorder import COLUMNS, Row, read_dump
from reference_inefficient import NAMES, reference

SAMPLES = ROOT.parent / "shared" / "samples" / "msmemscope"


@pytest.fixture
def check(softnpu, memscope):
    def run(*arguments, expect=0):
        done = softnpu.run(memscope, "check", *arguments)
        assert done.returncode == expect, done.stdout + done.stderr
        return done
    return run


# ---- random dumps ----

def random_rows(seed, count=400, host=True):
    """Rows of operators and memory in three frameworks and two processes, with errors that occur in real dumps."""
    rng = random.Random(seed)
    rows, live, ids = [], {}, {1: 0, 2: 0}
    frameworks = ["PTA", "ATB"] + (["HOST"] if host else [])

    def add(event, kind, name, pid, ptr="N/A", attr=""):
        ids[pid] += rng.choice((1, 1, 1, 2))
        rows.append([ids[pid], event, kind, name, 1000 * len(rows) + 10, pid, pid, 0, ptr, attr, "", ""])

    allocations = 0
    for _ in range(count):
        pid = rng.choice((1, 1, 1, 2))
        what = rng.random()
        if what < 0.25:
            kind = rng.choice(("ATEN_START", "ATEN_END", "ATB_START", "ATB_END"))
            add("OP_LAUNCH", kind, "op", pid)
        elif what < 0.45 or not live:
            allocations += 1
            framework, size = rng.choice(frameworks), rng.choice((512, 4096, 1 << 20))
            live[pid, allocations] = framework, size
            ptr = f"0x{allocations * 4096:016x}"
            shadow = ",shadow:true" if rng.random() < 0.05 else ""
            add("MALLOC", framework, "N/A", pid, ptr, f"{{allocation_id:{allocations},addr:{ptr},size:{size}{shadow}}}")
        elif what < 0.85:
            (owner, number), (framework, size) = rng.choice(list(live.items()))
            ptr = f"0x{number * 4096:016x}"
            add("ACCESS", rng.choice(("READ", "WRITE", "UNKNOWN")), "op", owner, ptr,
                f"{{allocation_id:{number},addr:{ptr},size:{size},type:{framework},dtype:torch.float32,"
                f"shape:torch.Size([1, 5])}}")
        else:
            key = rng.choice(list(live))
            framework, size = live.pop(key)
            ptr = f"0x{key[1] * 4096:016x}"
            shadow = ",shadow:true" if rng.random() < 0.05 else ""
            add("FREE", framework, "N/A", key[0], ptr, f"{{allocation_id:{key[1]},addr:{ptr},size:{size}{shadow}}}")
    return rows


def write_csv(path, rows, ending="\n"):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, lineterminator=ending)
        writer.writerow(COLUMNS)
        writer.writerows(rows)


def write_db(path, rows):
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("CREATE TABLE memscope_dump (" + ", ".join(f'"{name}"' for name in COLUMNS) + ")")
        for row in rows:
            attr = Row(row).attr if row[9] else {}
            json_text = "{" + ",".join(f'"{k}":"{v}"' for k, v in attr.items()) + "}"
            db.execute(f"INSERT INTO memscope_dump VALUES ({','.join('?' * 12)})", row[:9] + [json_text] + row[10:])
    db.close()


def results(path):
    return {(row.pid, row.id): row.attr["inefficient_type"].split(",")
            for row in read_dump(path) if row.event == "MALLOC" and "inefficient_type" in row.attr}


@pytest.mark.foreign_databases
@pytest.mark.parametrize("seed", range(6))
def test_random_dumps_agree_with_the_reference(check, tmp_path, seed):
    rows = random_rows(seed, 600)
    options = [{}, {"idle": 5}, {"idle": 3, "min_size": 4096}, {"names": NAMES[:1]}, {"names": NAMES[1:], "idle": 2}]
    for number, option in enumerate(options):
        arguments = [f"--idle={option.get('idle', 3000)}", f"--min-size={option.get('min_size', 0)}"]
        arguments += [f"--type={','.join(option['names'])}"] if "names" in option else []
        expected = reference([Row(r) for r in rows], **option)
        shuffled = rows[:]
        random.Random(seed).shuffle(shuffled)
        for name, content in (("ordered", rows), ("shuffled", shuffled)):
            path = tmp_path / f"{name}{number}.csv"
            write_csv(path, content)
            check("inefficient", path, *arguments)
            assert results(path) == expected
        path = tmp_path / f"ordered{number}.db"
        write_db(path, shuffled)
        check("inefficient", path, *arguments)
        assert results(path) == expected
    assert any(len(names) > 1 for names in reference([Row(r) for r in rows], idle=3).values())


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_everything_else_is_preserved(check, tmp_path, ending):
    rows = random_rows(11)
    rows.insert(5, [9999, "MSTX", "Mark", 'a "quoted", text\nof two lines', 7, 1, 1, 0, "N/A", "", "f.py(1): g\n", ""])
    path = tmp_path / "dump.csv"
    write_csv(path, rows, ending)
    with open(path, "a", newline="") as file:
        file.write("12,MALLOC,PTA,cut in the mid")
    before = path.read_bytes()
    path.chmod(0o640)
    done = check("inefficient", path, "--idle", "3", expect=1)
    assert "the file ends in the middle of this row" in done.stderr
    kept = tmp_path / "dump.csv.orig"
    assert kept.read_bytes() == before
    changed = set(results_of_lines(before, path.read_bytes(), ending))
    assert changed and changed <= {f",inefficient_type:{','.join(n)}" for n in map(list, orders())}
    assert path.stat().st_mode & 0o777 == 0o640
    # Again: there is nothing new, so nothing is written.
    after = path.read_bytes()
    assert "no row changed" in check("inefficient", path, "--idle", "3", expect=1).stdout
    assert path.read_bytes() == after and sorted(tmp_path.iterdir()) == [path, kept]


def orders():
    for n in (1, 2, 3):
        yield from itertools.permutations(NAMES, n)


def results_of_lines(before, after, ending):
    """The inserted text of each line."""
    old, new = before.decode().split(ending), after.decode().split(ending)
    assert len(old) == len(new)
    for a, b in zip(old, new):
        if a != b:
            at = b.index(",inefficient_type:")
            end = b.index("}", at)
            assert b[:at] + b[end:] == a
            yield b[at:end]


def test_results_are_added_to_earlier_ones(check, tmp_path):
    rows = random_rows(3, 600)
    path = tmp_path / "dump.csv"
    write_csv(path, rows)
    check("inefficient", path, "--type=late_deallocation")
    first = results(path)
    check("inefficient", path, "--type", "early_allocation,temporary_idleness", "--idle=3")
    both, alone = results(path), reference([Row(r) for r in rows], idle=3)
    assert {k: sorted(v) for k, v in both.items()} == {k: sorted(v) for k, v in alone.items()}
    assert all(both[key][:1] == ["late_deallocation"] for key in first)
    assert (tmp_path / "dump.csv.orig.1").exists()


@pytest.mark.foreign_databases
def test_a_database_keeps_its_copy(check, tmp_path):
    rows = random_rows(4, 600)
    path = tmp_path / "dump.db"
    write_db(path, rows)
    before = [r.attr for r in read_dump(path)]
    done = check("inefficient", path, "--idle=3")
    assert "INFO: All results have been successfully written to db dump.db" in done.stdout
    with sqlite3.connect(f"file:{path}.orig?mode=ro", uri=True) as db:
        kept = [Row(cells).attr for cells in db.execute("SELECT * FROM memscope_dump ORDER BY rowid")]
    assert kept == before and results(path)


# ---- leaks ----

def leaks_reference(rows, mark, start):
    """As specified, row by row on a list; device -> [(size, ptr, id)], or None for too few marks."""
    found = {}
    for device in sorted({r[7] for r in rows}):
        mine = sorted((r for r in rows if r[7] == device), key=lambda r: r[0])
        marks = [r[0] for r in mine if r[1:4] == ["MSTX", "Mark", mark]]
        if len(marks) < 3 or start + 2 >= len(marks):
            found[device] = None
            continue
        a, b, c = marks[start:start + 3]
        left = []
        for r in mine:
            if r[2] == "HAL" and r[1] == "MALLOC" and a <= r[0] <= b:
                left.append(r)
            elif r[2] == "HAL" and r[1] == "FREE" and a <= r[0] <= c:
                left = [x for x in left if x[8] != r[8]]
        found[device] = [(r[8], r[0]) for r in left]
    return found


@pytest.mark.foreign_databases
@pytest.mark.parametrize("seed", range(4))
def test_leaks_agree_with_the_reference(check, tmp_path, seed):
    rng = random.Random(seed)
    rows, live = [], {0: set(), 1: set()}
    for number in range(1, 500):
        device = rng.choice((0, 0, 1))
        what = rng.random()
        if what < 0.04:
            rows.append([number, "MSTX", "Mark", rng.choice(("mark", "other")), number, 7, 7, device, "N/A", "", "", ""])
        elif what < 0.55 or not live[device]:
            ptr = f"0x{0x1000 * number:016x}" if rng.random() < 0.5 else f"0x{0x1000 * rng.randrange(1, 40):016x}"
            if ptr in live[device]:
                continue
            live[device].add(ptr)
            kind = rng.choice(("HAL", "HAL", "PTA"))
            rows.append([number, "MALLOC", kind, "N/A", number, 7, 7, device, ptr,
                         f"{{allocation_id:{number},addr:{ptr},size:{rng.choice((1, 2097152, 1048577))}}}", "", ""])
        else:
            ptr = rng.choice(sorted(live[device]))
            live[device].discard(ptr)
            rows.append([number, "FREE", "HAL", "N/A", number, 7, 7, device, ptr, f"{{allocation_id:1,addr:{ptr}}}", "", ""])
    sizes = {r[0]: int(Row(r).attr["size"]) for r in rows if r[1] == "MALLOC"}
    rng.shuffle(rows)
    write_csv(tmp_path / "dump.csv", rows)
    write_db(tmp_path / "dump.db", rows)
    for start in (0, 1, 3, 50):
        expected = leaks_reference(rows, "mark", start)
        for name in ("dump.csv", "dump.db"):
            bad = any(leaks is None or leaks for leaks in expected.values())
            text = check("leaks", tmp_path / name, "--mark=mark", "--start", start, expect=int(bad)).stdout
            for device, leaks in expected.items():
                if leaks is None:
                    assert f"Device {device} has" in text
                elif not leaks:
                    assert f"No hal memory leaks detected on device {device}." in text
                else:
                    lines = [f"Direct Hal memory leak of {sizes[i] / 1048576} Mb(s) at {ptr} in Index {i}." for ptr, i in leaks]
                    assert f"on device {device} ======\n" + "\n".join(lines) in text


# ---- output of the original ----

def test_lines_of_the_original(check, tmp_path):
    """Exactly what the original prints; on its own dumps, if available, with its own results."""
    rows = [[1, "MSTX", "Mark", "m", 1, 7, 7, 0, "N/A", "", "", ""],
            [2, "MALLOC", "HAL", "N/A", 2, 7, 7, 0, "0x0000160000400000", "{allocation_id:1,size:2097152}", "", ""],
            [3, "MSTX", "Mark", "m", 3, 7, 7, 0, "N/A", "", "", ""],
            [4, "MSTX", "Mark", "m", 4, 7, 7, 0, "N/A", "", "", ""],
            [5, "MSTX", "Mark", "m", 5, 7, 7, 0, "N/A", "", "", ""]]
    path = tmp_path / "marks.csv"
    write_csv(path, rows)
    start = "INFO: Starting to analyze data for device 0...\n"
    assert check("leaks", path, "--mark=m", expect=1).stdout == start + (
        "\nLeak Analysis Results for the Custom Range:\n====== ERROR: Detected memory leaks on device 0 ======\n"
        "Direct Hal memory leak of 2.0 Mb(s) at 0x0000160000400000 in Index 2.\n")
    assert check("leaks", path, "--mark=m", "--start=1").stdout == start + (
        "\nLeak Analysis Results for the Custom Range:\nNo hal memory leaks detected on device 0.\n")
    assert check("leaks", path, "--mark=n", expect=1).stdout == start + (
        "ERROR: Device 0 has fewer than 3 data points. Please re-collect the data points.\n")
    assert check("leaks", path, "--mark=m", "--start=7", expect=1).stdout == start + (
        "INFO: Start index 7 is out of bounds. Device 0 has a total of 4 MSTX events.\n")
    if not SAMPLES.is_dir():
        return
    (marks,) = (SAMPLES / "hal-leak-marks").glob("*.csv")
    texts = [check("leaks", marks, "--mark", name, *start, expect=1).stdout
             for name, *start in (["peer_mark"], ["none"], ["peer_mark", "--start=7"])]
    assert "".join(texts) == (SAMPLES / "offline" / "check_leaks.console.txt").read_text()
    shutil.copy(SAMPLES / "offline" / "pta-mix.csv", tmp_path / "t.csv")
    done = check("inefficient", tmp_path / "t.csv")
    assert done.stdout.startswith((SAMPLES / "offline" / "check_inefficient.console.txt").read_text())
    theirs = (SAMPLES / "offline" / "pta-mix-after-check_inefficient.csv").read_text()
    assert (tmp_path / "t.csv").read_text().splitlines() == theirs.splitlines()


# ---- invalid input ----

def test_invalid_input(check, tmp_path):
    assert "usage: msmemscope check leaks" in check("--help").stdout
    text = tmp_path / "notes.csv"
    text.write_text("a,b,c\n1,2,3\n")
    assert "not a msmemscope dump" in check("leaks", text, "--mark=x", expect=2).stderr
    empty = tmp_path / "empty.csv"
    empty.write_text("")
    assert "the file is empty" in check("inefficient", empty, expect=2).stderr
    good = tmp_path / "good.csv"
    write_csv(good, random_rows(1, 50))
    before = good.read_bytes()
    for arguments, word in ((["leaks", good], "no mark given"), (["leaks", good, "--mark", "  "], "must not be blank"),
                            (["leaks", good, "--mark=x", "--start=-1"], "not a number"),
                            (["inefficient", good, "--idle=0"], "greater than 0"),
                            (["inefficient", good, "--type=never"], "unknown"),
                            (["inefficient", good, "--min-size=much"], "not a size"),
                            (["inefficient", good, "--what"], "unexpected")):
        assert word in check(*arguments, expect=2).stderr
    assert good.read_bytes() == before
    big = tmp_path / "big.csv"
    with open(big, "w") as file:
        file.truncate((8 << 30) + 1)
    assert "Max allowed size is 8.00GB" in check("leaks", big, "--mark=x", expect=2).stderr


def test_program_named_check(softnpu, memscope, tmp_path):
    """`check` is a command only if a subcommand and a dump follow."""
    program = tmp_path / "check"
    program.write_text("#!/bin/sh\necho ran $*\n")
    program.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    for arguments in (["check"], ["check", "leaks"], ["check", "spelling", "x.csv"], ["--", "check", "leaks", "x.csv"]):
        done = softnpu.run(memscope, "--quiet", f"--output={tmp_path}/out", *arguments, env=env)
        assert "ran" in done.stdout, (arguments, done.stderr)


# ---- online ----

@pytest.mark.parametrize("arguments", [["--early-alloc"], ["--late-free"], ["--idle"], ["--fragment"], []])
def test_online_agrees_with_the_reference(recording, build, arguments, check):
    recording.options[1:] = ["--quiet", "--analysis=inefficient"]
    done = recording.run("--", build / "examples" / "acl-train", "--steps", 4, *arguments)
    assert done.returncode == 0, done.stderr
    rows = recording.rows()
    expected = reference(rows)
    (dump,) = recording.dumps()
    assert results(dump) == expected
    assert "no row changed" in check("inefficient", dump).stdout
    kinds = {"--early-alloc": "early_allocation", "--late-free": "late_deallocation", "--idle": "temporary_idleness"}
    for argument in arguments:
        if argument in kinds:
            address = int(done.stdout.split("address=")[1].split()[0], 16)
            planted = [r for r in rows if r.event == "MALLOC" and r.type == "PTA" and int(r.ptr, 16) == address]
            assert any(kinds[argument] in expected.get((r.pid, r.id), []) for r in planted)
