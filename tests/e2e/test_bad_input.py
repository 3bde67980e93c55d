# SPDX-License-Identifier: Apache-2.0
"""Bad input to the commands that read dumps: they end quickly, report the problem, exit with an error status, and leave the
input unchanged."""

import csv
import hashlib
import io
import os
import random
import sqlite3

import pytest

HEADER = "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,Call Stack(Python),Call Stack(C)\n"
GIB = 1 << 30


def dump_rows(count=400):
    """Rows of operators that allocate, use and free; marks; steps."""
    rows = []

    def add(event, kind, name="N/A", ptr="N/A", attr=""):
        rows.append([len(rows), event, kind, name, 1000 + 10 * len(rows), 7, 8, 0, ptr, attr, "", ""])
    for i in range(count):
        ptr = f"0x{(i + 1) << 20:016x}"
        if i % 50 == 0:
            add("MSTX", "Mark", "x")
            add("MALLOC", "HAL", ptr=ptr, attr=f"{{allocation_id:{count + i},addr:{ptr},size:1024}}")
            add("FREE", "HAL", ptr=ptr, attr=f"{{allocation_id:{count + i},addr:{ptr},size:1024}}")
        add("OP_LAUNCH", "ATEN_START", f"op{i % 7}")
        add("MALLOC", "PTA", ptr=ptr, attr=f"{{allocation_id:{i},addr:{ptr},size:1024,total:4096,used:1024}}")
        add("ACCESS", "WRITE", f"op{i % 7}", ptr, f"{{allocation_id:{i},addr:{ptr},size:1024,type:PTA}}")
        add("OP_LAUNCH", "ATEN_END", f"op{i % 7}")
        add("FREE", "PTA", ptr=ptr, attr=f"{{allocation_id:{i},addr:{ptr},size:1024,total:4096,used:0}}")
    return rows


def text_of(rows):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return HEADER + out.getvalue()


def database(path, rows, table="memscope_dump"):
    with sqlite3.connect(path) as db:
        columns = ", ".join(f'"{name}"' for name in HEADER.strip().split(","))
        db.execute(f"CREATE TABLE {table} ({columns})")
        db.executemany(f"INSERT INTO {table} VALUES ({','.join('?' * 12)})", rows)
    db.close()


def write_all(folder):
    rows = dump_rows()
    shuffled = rows[:]
    random.Random(1).shuffle(shuffled)
    good = text_of(rows)
    for name, content in {
            "good.csv": good, "empty.csv": "", "header.csv": HEADER, "other.csv": "a,b,c\n1,2,3\n" * 10,
            "cut.csv": good[:len(good) // 2 + 7], "shuffled.csv": text_of(shuffled), "notes.txt": "hello", "empty.db": "",
            "frees.csv": text_of([row for row in rows if row[1] != "MALLOC"])}.items():
        (folder / name).write_text(content)
    for name in ("binary.csv", "binary.db"):
        (folder / name).write_bytes(random.Random(2).randbytes(50000))
    database(folder / "good.db", rows)
    database(folder / "other.db", rows, "something_else")
    content = (folder / "good.db").read_bytes()
    (folder / "cut.db").write_bytes(content[:len(content) // 2 + 100])
    (folder / "hole.csv").write_text(good)  # as after a power failure
    for name in ("hole.csv", "zeros.csv", "zeros.db"):
        with open(folder / name, "ab") as file:
            file.truncate(100 * GIB)
    (folder / "nothing").mkdir()


COMMANDS = {
    "report": lambda path, out: ["report", path], "query": lambda path, out: ["query", path, "SELECT count(*) FROM events"],
    "compare": lambda path, out: ["--compare", f"--input={path},{path.parent}/good.csv", "--level=op", f"--output={out}"],
    "check leaks": lambda path, out: ["check", "leaks", path, "--mark", "x"],
    "check inefficient": lambda path, out: ["check", "inefficient", path, "--idle", 1],
    "csv": lambda path, out: ["export", path, "--format=csv", "-o", out],
    "memory_viz": lambda path, out: ["export", path, "--format=memory_viz", "-o", out]}

# Expected messages; "": the input is usable, and every command must succeed.
WRONG = {"empty.csv": "the file is empty", "empty.db": "the file is empty", "other.csv": "not a msmemscope dump",
         "other.db": "not a msmemscope dump", "binary.csv": "not a msmemscope dump", "binary.db": "not a database",
         "notes.txt": ".csv nor .db|suffix must be .csv or .db", "nothing": "contains no msmemscope recording|not a regular file",
         "missing.csv": "No such file|invalid paths input", "zeros.csv": "the file is empty|too large",
         "zeros.db": "not a database|too large", "cut.csv": "the file ends in the middle of this row",
         "cut.db": "the file is truncated", "hole.csv": "the rest of the file is empty|too large",
         "header.csv": "no rows|nothing in it|No events|has no operators|count", "shuffled.csv": "", "frees.csv": ""}


def state_of(path):
    if not path.exists() or path.is_dir():
        return path.exists() and sorted(path.iterdir())
    status = path.stat()
    content = hashlib.sha256(path.read_bytes()).hexdigest() if status.st_size < GIB else status.st_blocks
    return status.st_size, status.st_mtime_ns, content


@pytest.mark.foreign_databases
@pytest.mark.parametrize("command", COMMANDS)
def test_bad_input_is_reported(softnpu, memscope, tmp_path, command):
    folder = tmp_path / "in"
    folder.mkdir()
    write_all(folder)
    for number, (name, words) in enumerate(WRONG.items()):
        path, out = folder / name, tmp_path / f"out{number}"
        before, files = state_of(path), sorted(os.listdir(folder))
        done = softnpu.run(memscope, *COMMANDS[command](path, out), timeout=60)
        output = done.stdout + done.stderr
        assert "Sanitizer" not in output and done.returncode >= 0, output
        assert not set(output) & set(map(chr, [*range(9), *range(11, 32), 127])), name  # no control characters on a terminal
        if words:
            assert any(word in output for word in words.split("|")), (name, output[-500:])
            assert done.returncode != 0 or (name, command) == ("header.csv", "query"), (name, output[-500:])
        elif command != "check leaks":  # its exit status depends on the findings
            assert done.returncode == 0, (name, output[-500:])
        if command == "check inefficient" and f"{name}.orig" in os.listdir(folder):  # this one writes into its input
            assert state_of(folder / f"{name}.orig")[2] == before[2]
            (folder / f"{name}.orig").rename(path)
        else:
            assert state_of(path) == before, name
        assert sorted(os.listdir(folder)) == files, name


@pytest.mark.foreign_databases
def test_wrong_marks_and_indexes_are_reported(softnpu, memscope, tmp_path):
    write_all(tmp_path)
    good = tmp_path / "good.csv"
    for options, words in ((["--mark", "nowhere"], "fewer than 3"), (["--mark", "x", "--start", "1000"], "out of bounds"),
                           (["--mark", ""], "must not be blank"), (["--mark", "x", "--start", "-1"], "not a number"), ([], "--mark")):
        done = softnpu.run(memscope, "check", "leaks", good, *options)
        assert done.returncode != 0 and words in done.stdout + done.stderr, (options, done.stdout + done.stderr)
