# SPDX-License-Identifier: Apache-2.0
"""msmemscope query: SQL on recordings and dumps."""

import csv
import io
import json
import re
import signal

import pytest

from conftest import ROOT
from recorder import read_dump

HEADER = "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,Call Stack(Python),Call Stack(C)\n"
STEPS, LEAK = 4, 1 << 20


@pytest.fixture
def query(softnpu, memscope):
    """Rows of a statement as dictionaries; expect: its exit status."""
    def run(*arguments, expect=0, **more):
        done = softnpu.run(memscope, "query", *arguments, "--format=json", **more)
        assert done.returncode == expect, done.stdout + done.stderr
        return json.loads(done.stdout) if expect == 0 else done
    return run


@pytest.fixture
def record(softnpu, memscope, build, tmp_path):
    def run(name, *options, program=("--steps", STEPS, f"--leak={LEAK}")):
        out = tmp_path / name
        done = softnpu.run(memscope, f"--output={out}", "--events=alloc,free,launch,access", "--call-stack=c", "--device=npu,cpu",
                           "--analysis=leaks,decompose", *options, "--", build / "examples" / "acl-train", *program)
        assert done.returncode == 0, done.stderr
        return out
    return run


@pytest.fixture
def recorded(record):
    return record("recorded")


def device_dump(recorded):
    (path,) = recorded.rglob("device_0/dump/memscope_dump_*.csv")
    return path


class Reference:
    """Expected values, summed up from the rows of the dump."""

    def __init__(self, path, pool="PTA"):
        self.rows = sorted(read_dump(path), key=lambda row: row.id)
        self.blocks, self.freed = {}, {}
        live, self.peak, self.at_peak, self.peak_ns = {}, 0, {}, 0
        for row in self.rows:
            if row.type != pool or row.event not in ("MALLOC", "FREE"):
                continue
            block = row.number("allocation_id")
            if row.event == "MALLOC":
                self.blocks[block] = live[block] = row
                if sum(r.number("size") for r in live.values()) > self.peak:
                    self.peak, self.at_peak = sum(r.number("size") for r in live.values()), dict(live)
                    self.peak_ns = row.time
            elif row.attr.get("shadow") != "true" and live.pop(block, None):
                self.freed[block] = row
        self.live = live

    @staticmethod
    def size(rows):
        return sum(row.number("size") for row in rows)


def test_blocks_match_the_rows(recorded, query):
    reference = Reference(device_dump(recorded))
    rows = query(recorded, "SELECT * FROM blocks WHERE pool = 'PTA' ORDER BY block")
    assert {row["allocation_id"] for row in rows} == set(reference.blocks)
    for row in rows:
        malloc, free = reference.blocks[row["allocation_id"]], reference.freed.get(row["allocation_id"])
        assert (row["size"], row["malloc_ns"], row["addr"], row["device"]) == (
            malloc.number("size"), malloc.time, malloc.ptr, int(malloc.device))
        assert row["free_ns"] == (free.time if free else None) and row["end"] == ("freed" if free else "live")
        assert row["owner"] == malloc.attr["owner"] and row["tid"] == int(malloc.tid)
        assert row["at_peak"] == (row["allocation_id"] in reference.at_peak)


def test_pools_and_steps(recorded, query):
    reference = Reference(device_dump(recorded))
    (pool,) = query(recorded, "SELECT * FROM devices WHERE device = 0 AND pool = 'PTA'")
    assert (pool["peak"], pool["peak_ns"]) == (reference.peak, reference.peak_ns)
    assert (pool["blocks"], pool["allocated"]) == (len(reference.blocks), reference.size(reference.blocks.values()))
    assert (pool["live_at_end"], pool["blocks_at_end"]) == (reference.size(reference.live.values()), len(reference.live))
    assert pool["reserved_peak"] == max(row.number("total") for row in reference.rows if row.type == "PTA" and "total" in row.attr)
    steps = query(recorded, "SELECT * FROM steps WHERE device = '0' ORDER BY step")
    assert [step["step"] for step in steps] == list(range(1, STEPS + 1))
    assert all(step["begin_ns"] < step["end_ns"] for step in steps)
    growth = query(recorded, "SELECT step, growth, live_at_end FROM growth WHERE device = 0 AND pool = 'PTA' ORDER BY step")
    for step, row in zip(steps, growth):
        live = [r for r in reference.blocks.values() if r.time <= step["end_ns"] and
                (r.number("allocation_id") not in reference.freed or
                 reference.freed[r.number("allocation_id")].time > step["end_ns"])]
        assert row["live_at_end"] == reference.size(live)
    assert all(row["growth"] >= LEAK for row in growth[1:])


def test_events_are_the_rows(recorded, query):
    rows = query(recorded, "SELECT e.*, b.allocation_id FROM events e LEFT JOIN blocks b ON b.block = e.block ORDER BY id")
    events = {row["id"]: row for row in rows}
    for row in read_dump(device_dump(recorded)):
        event = events[row.id]
        assert (event["event"], event["type"], event["time_ns"]) == (row.event, row.type, row.time)
        assert event["addr"] == (row.ptr if row.ptr != "N/A" else None)
        for column, key in (("size", "size"), ("allocation_id", "allocation_id")):
            assert event[column] == (row.number(key) if key in row.attr else None), (column, row)
        attr = json.loads(event["attr"])
        assert all(str(attr[key]) == value for key, value in row.attr.items()
                   if key not in ("addr", "owner", "inefficient_type")), (attr, row.attr)


def test_operators(recorded, query):
    reference = Reference(device_dump(recorded))
    calls = query(recorded, "SELECT name, count(*) n, sum(blocks) blocks, sum(allocated) bytes FROM operators GROUP BY name")
    starts = [row.name for row in reference.rows if row.type == "ATEN_START"]
    assert {row["name"]: row["n"] for row in calls} == {name: starts.count(name) for name in starts}
    by_block = query(recorded, "SELECT operator name, count(*) blocks, sum(size) bytes FROM blocks WHERE operator IS NOT NULL "
                               "GROUP BY operator")
    assert {r["name"]: (r["blocks"], r["bytes"]) for r in by_block} == {
        r["name"]: (r["blocks"], r["bytes"]) for r in calls if r["blocks"]}
    assert query(recorded, "SELECT count(*) n FROM operators WHERE end_ns < begin_ns OR end_ns IS NULL")[0]["n"] == 0


def test_call_sites(recorded, query):
    (leak,) = query(recorded, "SELECT blocks, live_at_end FROM sites WHERE site LIKE '%plant_leak%' AND pool = 'PTA'")
    assert leak["blocks"] == STEPS and leak["live_at_end"] >= STEPS * LEAK
    (stack,) = query(recorded, f"SELECT DISTINCT s.c FROM blocks b JOIN stacks s ON s.stack = b.stack WHERE b.size >= {LEAK} "
                               "AND b.free_ns IS NULL AND b.pool = 'PTA'")
    assert re.search(r"plant_leak.*\n(.*\n)*.*main", stack["c"])
    owners = query(recorded, "SELECT sum(peak) peak FROM owners WHERE pool = 'PTA' AND device = 0")
    assert owners == [{"peak": Reference(device_dump(recorded)).peak}]


def test_documented_examples(recorded, query):
    """Every statement in docs/guide/query.md runs."""
    statements = re.findall(r"```sql\n(.*?)```", (ROOT / "docs/guide/query.md").read_text(), re.S)
    assert len(statements) >= 8
    for statement in statements:
        assert isinstance(query(recorded, statement), list), statement


def test_documented_schema(softnpu, memscope):
    schema = softnpu.run(memscope, "query", "--schema").stdout
    page = (ROOT / "docs/guide/query.md").read_text()
    assert schema in page, "docs/guide/query.md: the part below 'Tables' is what `msmemscope query --schema` prints"


def test_all_sources_agree(recorded, query, export_to):
    _, database = export_to(device_dump(recorded), "db")
    statement = ("SELECT allocation_id, size, malloc_ns, free_ns, owner, step, operator, at_peak FROM blocks "
                 "WHERE pool = 'PTA' ORDER BY 1")
    expected = query(recorded, statement)
    for source in (device_dump(recorded), *database.rglob("*.db")):
        rows = query(source, statement)
        for row, other in zip(rows, expected):
            row["allocation_id"] = other["allocation_id"]  # a dump of one device has its own numbering
        assert rows == expected


def test_ranks(record, query):
    ranks = [record(f"rank{n}", program=("--steps", n + 1)) for n in range(3)]
    rows = query(*ranks, "SELECT p.process, p.name, count(s.step) steps FROM processes p LEFT JOIN steps s ON s.process = p.process AND "
                         "s.device = 0 GROUP BY p.process ORDER BY 1")
    assert [(row["process"], row["steps"]) for row in rows] == [(0, 1), (1, 2), (2, 3)]
    assert len({row["name"] for row in rows}) == 3
    blocks = query(*ranks, "SELECT process, count(*) n FROM blocks GROUP BY process")
    alone = [query(rank, "SELECT count(*) n FROM blocks")[0]["n"] for rank in ranks]
    assert [row["n"] for row in blocks] == alone


@pytest.mark.foreign_databases
def test_dumps_of_the_original(query):
    samples = (ROOT.parent / "shared" / "samples" / "msmemscope").rglob("memscope_dump_*")
    for path in sorted(path for path in samples if path.suffix in (".csv", ".db")):
        rows = query(path, "SELECT count(*) n, sum(event = 'MALLOC') mallocs FROM events")
        dump = read_dump(path)
        live, nothing = set(), 0
        for row in sorted(dump, key=lambda row: row.id):
            block = (row.type, row.attr.get("allocation_id"))
            if row.event == "MALLOC":
                live.add(block)
            elif row.event == "FREE":
                nothing += block not in live  # allocated before the dump began
                live.discard(block)
        assert rows == [{"n": len(dump) - nothing, "mallocs": sum(row.event == "MALLOC" for row in dump)}], path
        for pool in query(path, "SELECT * FROM devices WHERE pool = 'PTA'"):
            reference = Reference(path)
            assert (pool["peak"], pool["peak_ns"], pool["blocks"]) == (reference.peak, reference.peak_ns, len(reference.blocks)), path
            assert pool["live_at_end"] == reference.size(reference.live.values()), path


# ---- output ----

def test_formats(recorded, softnpu, memscope):
    statement = "SELECT pool, peak, NULL AS none, 'a,\"b' AS text, 1.5 AS number FROM devices ORDER BY peak DESC"
    table = softnpu.run(memscope, "query", recorded, statement).stdout.splitlines()
    assert table[0].split() == ["pool", "peak", "none", "text", "number"] and len({line.find("1.5") for line in table[1:]}) == 1
    rows = list(csv.DictReader(io.StringIO(softnpu.run(memscope, "query", recorded, statement, "--format=csv").stdout)))
    assert rows[0]["text"] == 'a,"b' and rows[0]["none"] == "" and len(rows) == len(table) - 1
    document = json.loads(softnpu.run(memscope, "query", recorded, statement, "--format", "json").stdout)
    assert document[0]["none"] is None and document[0]["number"] == 1.5 and document[0]["peak"] == int(rows[0]["peak"])
    assert json.loads(softnpu.run(memscope, "query", recorded, "SELECT 1 WHERE 0", "--format=json").stdout) == []
    assert "MiB" in softnpu.run(memscope, "query", recorded, "SELECT human(max(peak)) FROM devices").stdout


def test_statements_from_files(recorded, softnpu, memscope, tmp_path):
    path = tmp_path / "statement.sql"
    path.write_text("-- how many?\nSELECT count(*)\n  FROM blocks;\n-- that is all\n")
    first = softnpu.run(memscope, "query", "-f", path, recorded)
    second = softnpu.run("/bin/sh", "-c", f"'{memscope}' query '{recorded}' < '{path}'")
    assert first.returncode == 0 and first.stdout == second.stdout and int(first.stdout.split()[1]) > 0
    done = softnpu.run(memscope, "query", "-f", tmp_path / "none.sql", recorded)
    assert done.returncode == 2 and "No such file" in done.stderr


@pytest.mark.foreign_databases
def test_terminals_are_safe(softnpu, memscope, tmp_path):
    path = tmp_path / "memscope_dump_1.csv"
    path.write_bytes(HEADER.encode() + b'1,MSTX,Mark,"a\x1b[2Jb\nc",10,7,7,0,N/A,,,\n2,MSTX,Mark,"d",20,7,7,0,N/A,,,\n')
    done = softnpu.run(memscope, "query", path, "SELECT name FROM marks")
    assert "\x1b" not in done.stdout and len(done.stdout.splitlines()) == 3
    assert json.loads(softnpu.run(memscope, "query", path, "SELECT name FROM marks", "--format=json").stdout)[0]["name"] == "a\x1b[2Jb\nc"


# ---- errors and limits ----

@pytest.mark.parametrize("statement, words", [
    ("SELECT bytes FROM blocks", ["no such column: bytes", "blocks has block, process", "size", "--schema", "^"]),
    ("SELECT site_name FROM sites", ["no such column", "sites has process, device, pool, site"]),
    ("SELECT * FROM block", ["no such table: block", "tables: processes", "views: peak_blocks"]),
    ("SELECT size FROM blocks WHER 1", ["syntax error", "^"]),
    ("", ["empty statement"]),
    ("SELECT 1; SELECT 2", ["one statement"]),
    ("DELETE FROM blocks", ["only SELECT"]),
    ("INSERT INTO steps VALUES (1)", ["only SELECT"]),
    ("CREATE TABLE x (y)", ["only SELECT"]),
    ("ATTACH '{dir}/other.db' AS other", ["only SELECT"]),
    ("VACUUM INTO '{dir}/other.db'", ["only SELECT"]),
    ("PRAGMA writable_schema = 1", ["only SELECT"]),
    ("SELECT * FROM pragma_database_list", ["only SELECT"]),
    ("SELECT load_extension('x')", ["only SELECT"]),
    ("BEGIN", ["only SELECT"]),
])
def test_errors_suggest_alternatives(recorded, query, tmp_path, statement, words):
    done = query(recorded, statement.format(dir=tmp_path), expect=2)
    assert all(word in done.stderr for word in words), done.stderr
    assert done.stdout == "" and not (tmp_path / "other.db").exists()


def test_wrong_use(recorded, softnpu, memscope, tmp_path):
    for arguments, word in ((["--format=xml"], "table, csv or json"), (["--timeout=soon"], "number of seconds"), (["--what"], "--what")):
        done = softnpu.run(memscope, "query", recorded, "SELECT 1", *arguments)
        assert done.returncode == 2 and word in done.stderr
    help_text = softnpu.run(memscope, "query", "--help").stdout
    assert "--schema" in help_text and "SELECT" in help_text
    empty = tmp_path / "empty"
    empty.mkdir()
    done = softnpu.run(memscope, "query", empty, "SELECT 1")
    assert done.returncode == 1 and done.stdout == "" and done.stderr
    done = softnpu.run(memscope, "query", recorded, empty, "SELECT count(*) FROM processes")
    assert done.returncode == 1 and done.stdout.split() == ["count(*)", "1"]


@pytest.mark.foreign_databases
def test_partial_input_is_reported(recorded, softnpu, memscope, tmp_path):
    path = tmp_path / "memscope_dump_1.csv"
    data = device_dump(recorded).read_bytes()
    path.write_bytes(data[:data.rfind(b"MALLOC,PTA") + 60])
    done = softnpu.run(memscope, "query", path, "SELECT complete FROM processes")
    assert done.returncode == 1 and "the result is partial" in done.stderr and done.stdout.split() == ["complete", "0"]


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


def test_time_limit(recorded, softnpu, memscope):
    done = softnpu.run(memscope, "query", recorded, ENDLESS, "--timeout=0.2")
    assert done.returncode == 1 and "timed out after 0.2 s" in done.stderr


def test_interrupt(recorded, softnpu, memscope, until):
    process = softnpu.start(memscope, "query", recorded, ENDLESS)
    ticks = lambda: int(open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()[11])
    until(lambda: ticks() > 20)  # it is running
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130 and "stopped" in errors
