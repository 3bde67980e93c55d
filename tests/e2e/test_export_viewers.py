# SPDX-License-Identifier: Apache-2.0
"""Exports of events: PyTorch snapshots, JSON lines, Chrome traces; and what all formats have in common."""

import collections
import csv
import json
import random
import sqlite3

import pytest

import memory_viz
from conftest import ROOT
from protobuf import fields
from recorder import read_dump

HEADER = "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,Call Stack(Python),Call Stack(C)\n"
STEPS, LEAK = 3, 1 << 20
SINGLE = ("chrome", "memory_viz", "json", "collapsed", "speedscope", "pprof")  # single-file formats
ALL = ("csv", "db", *SINGLE)


@pytest.fixture
def export(export_to):
    """The single file that an export creates."""
    def run(source, form, expect=0):
        done, out = export_to(source, form, expect)
        (path,) = (p for p in out.rglob("*") if p.is_file())
        return path
    return run


@pytest.fixture
def recorded(softnpu, memscope, build, tmp_path):
    out = tmp_path / "recorded"
    done = softnpu.run(memscope, f"--output={out}", "--level=op,kernel", "--events=alloc,free,launch,access", "--call-stack=c",
                       "--device=npu,cpu", "--analysis=leaks,decompose", "--", build / "examples" / "acl-train", "--steps", STEPS, f"--leak={LEAK}")
    assert done.returncode == 0, done.stderr
    return out


def device_dump(recorded):
    (path,) = recorded.rglob("device_0/dump/memscope_dump_*.csv")
    return path


def samples():
    """Dumps of the original, if available; tests/e2e/test_export.py has its own."""
    return sorted((ROOT.parent / "shared" / "samples" / "msmemscope").rglob("*.csv"))


# ---- PyTorch snapshots ----

def names(entry):
    return [frame["name"] for frame in entry["frames"]]


def test_snapshot_of_a_recording(recorded, export):
    snapshot = memory_viz.load(export(recorded, "memory_viz"))
    assert snapshot["npuscope"]["devices"][0] == "npu 0"
    entries = snapshot["device_traces"][0]
    rows = [row for row in read_dump(device_dump(recorded)) if row.type == "PTA" and row.event in ("MALLOC", "FREE")]
    allocs = collections.Counter(entry["size"] for entry in entries if entry["action"] == "alloc")
    pool = collections.Counter(row.number("size") for row in rows if row.event == "MALLOC")
    assert not pool - allocs  # every pool block is present
    addresses = {int(row.ptr, 16) for row in rows if row.event == "MALLOC"}
    live = sum(row.number("size") if row.event == "MALLOC" else -row.number("size") for row in rows
               if row.attr.get("shadow") != "true")
    blocks = [block for segment in snapshot["segments"] if segment["device"] == 0 for block in segment["blocks"]]
    assert sum(b["size"] for b in blocks if b["state"] == "active_allocated" and b["address"] in addresses) == live > STEPS * LEAK
    leaks = [entry for entry in entries if entry["action"] == "alloc" and "plant_leak" in names(entry)]
    assert len(leaks) == STEPS and names(leaks[0]).index("plant_leak") < names(leaks[0]).index("main")
    assert "torch._ops.aten.clone.default" in names(leaks[0])
    steps = [(a["name"], a["stage"]) for a in snapshot["external_annotations"]
             if a["name"].startswith("step ") and a.get("device") == 0 and a["name"] != "step start"]
    assert steps == [(f"step {n + 1}", stage) for n in range(STEPS) for stage in ("START", "END")]
    categories = {entry.get("category") for entry in entries}
    assert "unknown" in categories and any(category and category != "unknown" for category in categories)


def test_snapshot_shows_the_pool_inside_the_driver(recorded, export):
    """Driver memory is counted once: as a pool's segment, or as a block if no pool uses it."""
    entries = memory_viz.load(export(recorded, "memory_viz"))["device_traces"][0]
    rows = [row for row in read_dump(device_dump(recorded)) if row.event in ("MALLOC", "FREE") and row.type == "HAL"]
    live, peak = 0, 0
    for row in rows:
        live += row.number("size") if row.event == "MALLOC" else -row.number("size")
        peak = max(peak, live)
    assert 0 < memory_viz.replay(entries)[2] <= peak


def test_snapshot_of_expandable_segments(softnpu, memscope, build, tmp_path, export):
    """Virtual memory: handles mapped to adjacent addresses are one segment."""
    out = tmp_path / "expandable"
    done = softnpu.run(memscope, f"--output={out}", "--", build / "examples" / "acl-train", "--steps", 2, f"--leak={LEAK}",
                       PYTORCH_NPU_ALLOC_CONF="expandable_segments:True")
    assert done.returncode == 0, done.stderr
    snapshot = memory_viz.load(export(out, "memory_viz"))
    actions = collections.Counter(entry["action"] for entry in snapshot["device_traces"][0])
    assert actions["segment_map"] >= 2 and actions["segment_unmap"] >= 1
    assert any(segment["is_expandable"] and segment["allocated_size"] >= 2 * LEAK for segment in snapshot["segments"])


def test_snapshots_of_dumps(recorded, export, export_to, tmp_path):
    _, database = export_to(device_dump(recorded), "db")
    counts = set()
    for source in (device_dump(recorded), *database.rglob("*.db")):
        snapshot = memory_viz.load(export(source, "memory_viz"))
        counts.add(len(snapshot["device_traces"][0]))
    assert len(counts) == 1 and counts.pop() > 0
    for path in samples():
        if path.name.startswith("memscope_dump"):
            assert sum(map(len, memory_viz.load(export(path, "memory_viz"))["device_traces"])) > 0, path


def malloc(i, addr, size, pool="PTA", device=0, event="MALLOC", extra="", alloc=""):
    return (f'{i},{event},{pool},N/A,{1000 + i * 10},7,7,{device},0x{addr:016x},"{{allocation_id:{i},addr:0x{addr:016x},size:{size},'
            f'total:0,used:0{extra}{alloc}}}",,\n')


@pytest.mark.foreign_databases
def test_snapshot_of_odd_memory(export, tmp_path):
    """Overlapping blocks, blocks beyond the ends of segments, without segments, of size 0, at the end of the address space; a
    pool that uses memory long after it was allocated; driver memory that is freed under a pool block and reallocated."""
    path = tmp_path / "odd.csv"
    rows = [malloc(1, 0x1000, 0x1000, "HAL"), malloc(2, 0x10000, 0x1000, "HAL"), malloc(3, 0x1800, 0x1000),
            malloc(4, 0x1900, 0x10), malloc(5, 0x1900, 0x10, "ATB"), malloc(6, 0x10800, 0x100), malloc(7, 0, 0),
            malloc(8, (1 << 64) - 16, 1 << 40), malloc(9, 0x2000, 0x4000, "HAL"), malloc(10, 0x2900, 0x100, device=3),
            malloc(1, 0x1000, 0x1000, "HAL", event="FREE").replace("1,", "11,", 1), malloc(12, 0x1000, 0x800, "HAL")]
    path.write_text(HEADER + "".join(rows))
    snapshot = memory_viz.load(export(path, "memory_viz"))
    assert snapshot["npuscope"]["nested_blocks"] >= 1 and snapshot["npuscope"]["devices"][3] == "npu 3"


@pytest.mark.foreign_databases
def test_snapshots_of_random_memory(export_to, tmp_path):
    """Many processes of random allocations, overlapping or not, in several pools and devices: what the viewer relies on
    holds in all of them."""
    rng = random.Random(4711)
    rows, number = [], 0
    for pid in range(1, 41):
        live, crowd = [], rng.choice((16, 64, 1024))
        for _ in range(rng.randrange(20, 300)):
            number += 1
            if live and rng.random() < 0.45:
                pool, device, addr, size, block = live.pop(rng.randrange(len(live)))
                event = "FREE"
            else:
                pool = rng.choice(("HAL", "HAL", "PTA", "PTA", "PTA", "ATB", "PTA_WORKSPACE", "HOST"))
                device = "cpu" if pool == "HOST" else rng.randrange(2)
                addr, size, block = 0x1000 * rng.randrange(crowd), rng.choice((0x200, 0x1000, 0x8000)), number
                live.append((pool, device, addr, size, block))
                event = "MALLOC"
            create = ",page_type:normal,alloc_type:create" if pool == "HAL" and event == "MALLOC" and rng.random() < 0.2 else ""
            rows.append(f'{number},{event},{pool},N/A,{1000 + number * 10},{pid},{rng.randrange(3)},{device},0x{addr:016x},'
                        f'"{{allocation_id:{block},addr:0x{addr:016x},size:{size},total:0,used:0{create}}}",,\n')
    path = tmp_path / "random.csv"
    path.write_text(HEADER + "".join(rows))
    _, out = export_to(path, "memory_viz")
    files = list(out.rglob("*.pickle"))
    assert len(files) == 40
    for file in files:
        memory_viz.load(file)


# ---- JSON lines ----

def read_lines(path):
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0]["kind"] == "npuscope" and lines[0]["version"] == 1 and lines[-1]["kind"] == "end"
    kinds = collections.Counter(line["kind"] for line in lines)
    assert (kinds["event"], kinds["block"]) == (lines[-1]["events"], lines[-1]["blocks"])
    seen = set()
    for line in lines:
        if line["kind"] == "stack":
            seen.add(line["id"])
        assert line.get("stack", next(iter(seen), None)) in seen or "stack" not in line  # defined before it is referenced
    return lines


def test_json_has_every_row(recorded, export):
    lines = read_lines(export(recorded, "json"))
    events = {line["id"]: line for line in lines if line["kind"] == "event"}
    for row in read_dump(device_dump(recorded)):
        event = events[row.id]
        assert (event["event"], event["type"], event["time_ns"]) == (row.event, row.type, row.time)
        for key, value in row.attr.items():
            if key in ("size", "used", "total", "allocation_id"):
                assert event["attr"][key] == int(value)
    blocks = {line["allocation_id"]: line for line in lines if line["kind"] == "block"}
    for event in events.values():  # a block agrees with its two rows
        if event["event"] in ("MALLOC", "FREE") and event["attr"].get("shadow") != "true":
            block = blocks[event["attr"]["allocation_id"]]
            when = "malloc_ns" if event["event"] == "MALLOC" else "free_ns"
            assert (block["size"], block["pool"], block["addr"], block[when]) == (
                event["attr"]["size"], event["type"], event["addr"], event["time_ns"])
    stacks = {line["id"]: line for line in lines if line["kind"] == "stack"}
    leaks = [line for line in lines if line["kind"] == "block" and line["end"] == "live" and line["pool"] == "PTA" and
             "plant_leak" in [frame["function"] for frame in stacks.get(line.get("stack"), {}).get("c", ())]]
    assert len(leaks) == STEPS and all("free_ns" not in line for line in leaks)
    assert {line["step"] for line in leaks} == set(range(1, STEPS + 1))
    assert any(frame["function"] == "plant_leak" and frame["line"] > 0 for frame in stacks[leaks[0]["stack"]]["c"])
    assert [line["stage"] for line in lines if line["kind"] == "step" and line["device"] == 0] == ["begin", "end"] * STEPS


# ---- Chrome traces ----

def test_chrome_shows_everything(recorded, export):
    trace = json.loads(export(recorded, "chrome").read_text())
    events = trace["traceEvents"]
    by_category = collections.defaultdict(list)
    for event in events:
        assert event["ph"] in "XCiM" and isinstance(event["ts"], (int, float)) and event["ts"] >= 0
        assert event["ph"] != "X" or event["dur"] >= 0
        by_category[event.get("cat", event["ph"])].append(event)
    devices = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    steps = sorted((e["ts"], e["name"]) for e in by_category["step"] if devices[e["pid"]] == "npu 0")
    assert [name for _, name in steps] == [f"step {n + 1}" for n in range(STEPS)]
    assert sum(e["name"] == "step start" for e in by_category["mstx"]) == STEPS
    assert any(e["name"].startswith("torch._ops.aten.") for e in by_category["op"])
    assert by_category["kernel"] and by_category["launch"]
    counters = {e["name"] for e in by_category["C"]}
    assert {"HAL npu 0", "PTA npu 0"} <= counters
    for name in counters:  # each curve is in time order
        times = [e["ts"] for e in by_category["C"] if e["name"] == name]
        assert times == sorted(times)
    lanes = collections.defaultdict(list)  # slices on a lane nest or are disjoint
    for event in events:
        if event["ph"] == "X" and event["cat"] != "mstx":
            lanes[event["pid"], event["tid"]].append((event["ts"], -event["dur"], event))
    for lane in lanes.values():
        open_until = []
        for start, duration, event in sorted(lane, key=lambda item: item[:2]):
            while open_until and open_until[-1] <= start + 1e-6:
                open_until.pop()
            assert not open_until or start - duration <= open_until[-1] + 1e-6, event
            open_until.append(start - duration)
    named = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert {named[e["pid"], e["tid"]] for e in by_category["step"]} == {"steps"}
    assert all(named[e["pid"], e["tid"]].startswith("stream ") for e in by_category["kernel"])


# ---- all formats ----

def check(form, path):
    """Checks that the file is readable."""
    if form == "chrome" or form == "speedscope":
        json.loads(path.read_text())
    elif form == "json":
        read_lines(path)
    elif form == "memory_viz":
        memory_viz.load(path)
    elif form == "pprof":
        assert list(fields(path.read_bytes()))
    elif form == "db":
        with sqlite3.connect(path) as db:
            assert db.execute("SELECT count(*) FROM memscope_dump").fetchone()[0] > 0
    elif form == "csv":
        assert len(list(csv.reader(path.open(newline="", errors="replace")))) > 1
    else:
        assert all(line.rsplit(" ", 1)[1].isdigit() for line in path.read_text().splitlines())


@pytest.mark.foreign_databases
@pytest.mark.parametrize("form", ALL)
def test_arbitrary_names(export, tmp_path, form):
    path = tmp_path / "memscope_dump_1.csv"
    evil = [b'"" quote', b"back\\slash", b"new\nline", b"tab\t\x01\x1b[2J", b"\xff\xfe not utf-8 \xc3", "漢字 ü".encode(), b"</script>",
            b"{a:b,c:d}", b"x" * 70000, b"%s%n", b";semi 12", b"\xed\xa0\x80 surrogate", b"= 1+1", b"'"]
    rows = b""
    for i, name in enumerate(evil):
        stack = b'"file ' + name.replace(b'"', b"'") + b'(3): f"'
        rows += b'%d,MSTX,Mark,"%s",%d,7,7,0,N/A,,,\n' % (3 * i, name, 100 + 30 * i)
        rows += (b'%d,MALLOC,PTA,N/A,%d,7,7,0,0x%016x,"{allocation_id:%d,addr:0x%x,size:8,total:64,used:8,owner:PTA@%s}",%s,\n'
                 % (3 * i + 1, 110 + 30 * i, 4096 * (i + 1), i + 1, 4096 * (i + 1), name.replace(b'"', b"'"), stack))
        rows += b'%d,OP_LAUNCH,ATEN_START,"%s",%d,7,7,0,N/A,,,\n' % (3 * i + 2, name, 120 + 30 * i)
    path.write_bytes(HEADER.encode() + rows)
    check(form, export(path, form))


@pytest.mark.foreign_databases
@pytest.mark.parametrize("form", ALL)
def test_partial_input_is_reported(export_to, recorded, tmp_path, form):
    path = tmp_path / "memscope_dump_1.csv"
    data = device_dump(recorded).read_bytes()
    path.write_bytes(data[:data.rfind(b"MALLOC,PTA") + 60])
    done, out = export_to(path, form, expect=1)
    assert "the result is partial" in done.stderr
    check(form, next(p for p in out.rglob("*") if p.is_file()))


@pytest.mark.foreign_databases
@pytest.mark.parametrize("form", ALL)
def test_damaged_recording_is_reported(export_to, recorded, form):
    (segment,) = recorded.rglob("*.seg")
    whole = segment.read_bytes()
    for part in 2, 4, 8:  # the number of events per block varies; the first cut may leave nothing
        data = bytearray(whole)
        data[len(data) - len(data) // part] ^= 0xff
        segment.write_bytes(data)
        done, out = export_to(recorded, form, expect=1)
        assert str(segment.name) in done.stderr, done.stderr
        left = [p for p in out.rglob("*") if p.is_file() and "device_cpu" not in str(p)]
        if left:
            break
    check(form, left[0])


@pytest.mark.foreign_databases
@pytest.mark.parametrize("form", ALL)
def test_dumps_of_the_original(export, form):
    for path in samples():
        if path.name.startswith(("memscope_dump", "pta-mix")):
            check(form, export(path, form))


@pytest.mark.parametrize("form", SINGLE)
def test_to_stdout(softnpu, memscope, recorded, export, form):
    path = export(recorded, form)
    done = softnpu.run("/bin/sh", "-c", f"'{memscope}' export '{recorded}' --format={form} -o - > '{path}.2'")
    assert done.returncode == 0 and done.stdout == "", done.stderr
    assert path.with_name(path.name + ".2").read_bytes() == path.read_bytes()


def test_wrong_use(softnpu, memscope, recorded, build, tmp_path):
    done = softnpu.run(memscope, "export", recorded, "--format=png")
    assert done.returncode == 2 and all(f"\n  {form} " in done.stderr for form in ALL)
    for form in ("csv", "db"):
        done = softnpu.run(memscope, "export", recorded, f"--format={form}", "-o", "-")
        assert done.returncode == 2 and "several files" in done.stderr
    again = softnpu.run(memscope, f"--output={recorded}", "--", build / "examples" / "acl-train", "--steps", 1)
    assert again.returncode == 0
    done = softnpu.run(memscope, "export", recorded, "--format=chrome", "-o", "-")
    assert done.returncode == 1 and "2 processes" in done.stderr and done.stdout == ""
    done = softnpu.run(memscope, "export", recorded, "--format=json", "-o", "-")
    kinds = [json.loads(line)["kind"] for line in done.stdout.splitlines()]
    assert done.returncode == 0 and kinds.count("npuscope") == kinds.count("end") == 2


def test_incomplete_files_are_removed(softnpu, memscope, recorded, tmp_path):
    for form in SINGLE:
        out = tmp_path / form
        done = softnpu.run("/bin/sh", "-c", f"ulimit -f 1; trap '' XFSZ; exec '{memscope}' export '{recorded}' --format={form} -o '{out}'")
        assert done.returncode == 1, (form, done.stderr)
        assert [p for p in out.rglob("*") if p.is_file()] == [], form
