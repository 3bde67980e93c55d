# SPDX-License-Identifier: Apache-2.0
"""msmemscope report: planted defects are found and located, clean runs give no advice; inefficient blocks agree with a
slow reference; damaged input gives a partial report that says so."""

import json
import pathlib
import random
import re
import shutil

import pytest

from conftest import ROOT

MIB = 1 << 20
HEADER = "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,Call Stack(Python),Call Stack(C)\n"
USE = ["--events=alloc,free,access,launch", "--analysis=leaks,decompose,inefficient,oom", "--call-stack=c"]


@pytest.fixture
def command(build):
    return str(build / "msmemscope" / "bin" / "msmemscope")


@pytest.fixture
def record(softnpu, command, build, tmp_path):
    """Runs an example under the recorder; returns the directory and the example's output."""
    def run(example, *options, recorder=USE, expect=0, name="run", **environment):
        out = tmp_path / name
        done = softnpu.run(command, "--quiet", f"--output={out}", *recorder, "--", build / "examples" / example, *options,
                           **environment)
        assert done.returncode == expect, done.stdout + done.stderr
        return out, done.stdout
    return run


@pytest.fixture
def report(softnpu, command):
    def run(path, *options, expect=0):
        done = softnpu.run(command, "report", path, "--json", *options)
        assert done.returncode == expect, done.stderr
        return json.loads(done.stdout)
    run.text = lambda path, *options: softnpu.run(command, "report", path, *options)
    return run


def planted(text):
    """The defects that an example reports to have planted: dictionaries of its key=value pairs."""
    return [dict(pair.split("=", 1) for pair in line.split()[1:]) for line in text.splitlines() if line.startswith("planted:")]


def npu(result):
    (process,) = result["processes"]
    return process, process["devices"][0]


def major(device):
    return [finding for finding in device["advice"] if not finding["minor"]]


def functions(process, finding):
    return [frame["function"] for frame in process["sites"][finding["site"]]["frames"]]


# ---- planted defects: pattern, operator, planting function, options; bytes come from the example's output


PLANTED = {
    "leak": ("leak", "plant_leak", ["--leak"]),
    "early-alloc": ("early_allocation", "plant_early_alloc", ["--early-alloc"]),
    "late-free": ("late_deallocation", "plant_late_free", ["--late-free"]),
    "idle": ("temporary_idleness", "plant_idle", ["--idle"]),
    "fragment": ("fragmentation", "plant_fragmentation", ["--fragment"]),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_planted_defects_are_found_and_nothing_else(record, report, kind):
    pattern, function, options = PLANTED[kind]
    run, text = record("acl-train", "--steps", 8, *options)
    places = planted(text)
    assert {place["kind"] for place in places} == {kind}
    process, device = npu(report(run))
    findings = major(device)
    assert findings
    found = [finding for finding in findings if finding["pattern"] == pattern]
    first = max(found, key=lambda finding: finding["at_stake_b"])
    assert first["op"] == places[0]["operator"]
    assert function in functions(process, first), functions(process, first)
    if kind == "leak":  # blocks of the first step do not count, those of the last may still be freed
        assert (first["first_step"], first["last_step"], first["blocks"]) == (2, 7, 6)
        assert first["confidence"] == "high" and first["bytes"] == sum(int(place["block"]) for place in places[1:-1])
    else:
        assert first["first_step"] == int(places[0]["step"]) and first["blocks"] == (8 if kind == "fragment" else 1)
    block = int(places[0]["block"])
    if kind == "fragment":
        assert first["saves_reserved_b"] > 100 * MIB and first["block_b"] == block
    else:
        assert first["block_b"] == block and first["at_stake_b"] >= block
        assert int(first["addr"], 16) in [int(place["address"], 16) for place in places]
        assert first["saves_peak_b"] <= first["at_stake_b"] <= device["peak"]["used_b"]
    assert first == findings[0]
    if kind != "fragment":
        assert first["saves_peak_b"] * 100 > device["peak"]["used_b"]
    for finding in findings[1:]:  # the segment that the pool allocated for the block and kept, at the same site
        assert finding["pattern"] == "over_reserve" and kind not in ("leak", "fragment"), finding
        assert function in functions(process, finding), finding
    where = {"early-alloc": ("to_op", "torch._ops.aten.copy_.default"),
             "late-free": ("from_op", "torch._ops.aten.mul_.Scalar"),
             "idle": ("to_op", "torch._ops.aten.mul_.Scalar")}
    if kind in where:
        key, op = where[kind]
        assert first[key] == op


def test_out_of_memory(record, report):
    run, text = record("acl-train", "--steps", 4, "--oom", expect=1)
    (place,) = planted(text)
    process, device = npu(report(run))
    first = major(device)[0]
    assert (first["pattern"], first["from_op"], first["first_step"]) == (
        "out_of_memory", place["operator"], int(place["step"]))
    assert first["block_b"] >= int(place["size"])
    assert major(device)[1:] == []


def test_planted_in_the_server(record, report):
    run, text = record("acl-infer", "--requests", 24, "--leak")
    process, device = npu(report(run))
    assert {finding["pattern"] for finding in major(device)} == {"leak"}
    findings = [finding for finding in device["advice"] if finding["pattern"] == "leak"]
    assert all({"cache_open", "move_to_larger"} & set(functions(process, finding)) for finding in findings)
    # Keys and values of two layers for each planted request, all of them and no others.
    blocks = sum(finding["blocks"] for finding in findings)
    assert blocks == 4 * len(planted(text)) > 0
    assert sum(finding["bytes"] for finding in findings) == sum(int(place["size"]) for place in planted(text)) + 512 * blocks
    # A request is leaked when it ends; its last blocks are allocated before that.
    assert max(finding["last_step"] for finding in findings) <= max(int(place["step"]) for place in planted(text))


def test_growing_requests(record, report):
    run, text = record("acl-infer", "--requests", 24, "--grow")
    process, device = npu(report(run))
    findings = major(device)
    assert findings and {finding["pattern"] for finding in findings} == {"growing_requests"}
    assert all("cache_open" in functions(process, finding) for finding in findings)
    assert len(planted(text)) == 24


@pytest.mark.parametrize("example,options", [
    ("acl-train", ["--steps", 8]), ("acl-train", ["--steps", 6, "--loaders", 2]),
    ("acl-train", ["--steps", 5, "--hidden", 128, "--layers", 3]), ("acl-infer", ["--requests", 24])],
    ids=lambda value: value if isinstance(value, str) else " ".join(map(str, value)))
def test_clean_runs_give_no_advice(record, report, example, options):
    run, _ = record(example, *options)
    process, device = npu(report(run))
    assert process["accesses"] > 1000
    assert [(f["pattern"], f["text"]) for f in major(device)] == []
    assert all(f["saves_peak_b"] * 100 <= device["peak"]["used_b"] for f in device["advice"])
    assert "Nothing found that would save more than 1 %" in report.text(run).stdout


# ---- inefficient memory: a slow reference, directly from the definitions


def reference(rows, threshold=3000):
    """rows: in order of ids, as (event, type, pool, block). Returns the types found, by block."""
    frameworks = {name: {"api": 0, "malloc": None, "free": None, "inside": False, "did": set()} for name in ("PTA", "ATB")}
    history, marks = {}, {}

    def finish(state):
        for what in state["did"]:
            state[what] = state["api"]
        state["did"] = set()

    for event, kind, pool, block in rows:
        if event == "OP_LAUNCH":
            state = frameworks["ATB" if kind.startswith("ATB") else "PTA"]
            if kind.endswith("START"):
                state["api"] += 1
                state["inside"] = True
            elif state["inside"]:
                finish(state)
                state["inside"] = False
            continue
        if event not in ("MALLOC", "ACCESS", "FREE") or pool not in frameworks:
            continue
        state = frameworks[pool]
        single = not state["inside"]
        state["api"] += single
        now, events = state["api"], history.setdefault(block, [])
        found = marks.setdefault(block, [])
        if events and events[0][0] == "MALLOC":
            born = events[0][1]
            if event == "ACCESS":
                used = [api for what, api in events if what == "ACCESS" and api != born] + ([now] if now != born else [])
                freed = state["free"]
                if used and freed is not None and born != freed and born < freed < used[0]:
                    found.append("early_allocation")
                if events[-1][0] == "ACCESS" and now - events[-1][1] > threshold:
                    found.append("temporary_idleness")
            elif event == "FREE" and events[-1][0] == "ACCESS":
                last, allocated = events[-1][1], state["malloc"]
                if last != now and allocated is not None and last < allocated < now:
                    found.append("late_deallocation")
        events.append((event, now))
        if event != "ACCESS":
            state["did"].add(event.lower())
        if single:
            finish(state)
    return {block: list(dict.fromkeys(found)) for block, found in marks.items() if found}


def types_of(softnpu, command, path, *options):
    done = softnpu.run(command, "report", path, "--marks", *options)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "Process Id,Device Id,Ptr,Timestamp(ns),size,step,inefficient_type"
    found = {}
    for line in lines[1:]:
        numbers, types = line.split(',"')
        found[int(numbers.split(",")[3])] = types.rstrip('"').split(",")  # no two rows have the same time
    return found


def random_dump(path, seed, count):
    """Blocks of two pools, inside and outside of operators, with accesses within blocks."""
    chance = random.Random(seed)
    rows, live, free, expected = [], {}, list(range(1, 40)), []
    inside = {"PTA": False, "ATB": False}
    allocation = 0
    with open(path, "w") as out:
        out.write(HEADER)

        def write(event, kind, name, ptr, attr):
            rows.append(0)
            tid = 9 if kind.startswith("ATB") else 8  # operators of a thread nest
            out.write(f'{len(rows)},{event},{kind},{name},{len(rows) * 10},7,{tid},0,{ptr},"{attr}",,\n')

        for _ in range(count):
            pool = chance.choice(["PTA", "PTA", "ATB"])
            turn = chance.random()
            if turn < 0.25:
                kind = ("ATEN" if pool == "PTA" else "ATB") + ("_END" if inside[pool] else "_START")
                inside[pool] = not inside[pool]
                write("OP_LAUNCH", kind, "op", "N/A", "{path:a,workspace_ptr:0x0,workspace_size:0}" if pool == "ATB" else "")
                expected.append(("OP_LAUNCH", kind, pool, None))
            elif turn < 0.5 and free:
                slot = free.pop(chance.randrange(len(free)))
                allocation = (len(rows) + 1) * 10  # the time of this row
                live[slot] = (pool, allocation)
                ptr = f"0x{slot * 4096:016x}"
                write("MALLOC", pool, "N/A", ptr, f"{{allocation_id:{allocation},addr:{ptr},size:4096,total:1,used:1}}")
                expected.append(("MALLOC", pool, pool, allocation))
            elif turn < 0.85 and live:
                slot = chance.choice(sorted(live))
                pool, number = live[slot]
                ptr = f"0x{slot * 4096 + 512 * chance.randrange(8):016x}"
                kind = chance.choice(["READ", "WRITE", "UNKNOWN"])
                write("ACCESS", kind, "op", ptr, f"{{allocation_id:{number},addr:{ptr},size:512,type:{pool}}}")
                expected.append(("ACCESS", kind, pool, number))
            elif live:
                slot = chance.choice(sorted(live))
                pool, number = live.pop(slot)
                free.append(slot)
                ptr = f"0x{slot * 4096:016x}"
                write("FREE", pool, "N/A", ptr, f"{{allocation_id:{number},addr:{ptr},size:4096,total:1,used:1}}")
                expected.append(("FREE", pool, pool, number))
    return expected


@pytest.mark.parametrize("seed", range(6))
def test_inefficient_in_random_events(softnpu, command, tmp_path, seed):
    path = tmp_path / "random.csv"
    rows = random_dump(path, seed, 3000)
    for threshold in (3, 40, 3000):
        wanted = reference(rows, threshold)
        assert types_of(softnpu, command, path, "--idle", threshold) == wanted
        assert threshold > 100 or {t for types in wanted.values() for t in types} >= {
            "early_allocation", "late_deallocation", "temporary_idleness"}


def test_inefficient_while_recording(record, softnpu, command, recorded_rows):
    """inefficient_type in the dump agrees with the reference and with the report."""
    run, text = record("acl-train", "--steps", 4, "--early-alloc", "--late-free", "--idle", recorder=USE[:2])
    rows = recorded_rows(run)
    block = lambda row: row.number("allocation_id") if "allocation_id" in row.attr else None
    pool = lambda row: row.attr.get("type", row.type)
    real = [row for row in rows if "shadow" not in row.attr]
    wanted = reference([(row.event, row.type, pool(row), block(row)) for row in real])
    written = {row.number("allocation_id"): row.attr["inefficient_type"].split(",")
               for row in rows if "inefficient_type" in row.attr}
    assert written == wanted
    time_of = {row.number("allocation_id"): row.time for row in reversed(rows) if row.event == "MALLOC"}
    assert types_of(softnpu, command, run) == {time_of[number]: types for number, types in wanted.items()}
    types = {t for found in wanted.values() for t in found}
    assert types == {"early_allocation", "late_deallocation", "temporary_idleness"}
    at = {row.ptr: row for row in rows if row.event == "MALLOC" and int(row.attr["size"]) > 4 * MIB}
    for place in planted(text):
        row = at[f"0x{int(place['address'], 16):016x}"]
        kind = {"early-alloc": "early_allocation", "late-free": "late_deallocation", "idle": "temporary_idleness"}
        assert kind[place["kind"]] in row.attr["inefficient_type"]


@pytest.fixture
def recorded_rows():
    from recorder import read_dump

    def read(run):
        (path,) = run.glob("*/device_0/dump/memscope_dump_*.csv")
        return sorted(read_dump(path), key=lambda row: row.id)
    return read


# ---- one report from any source


def test_trace_csv_and_database_agree(record, report, softnpu, command, tmp_path):
    run, _ = record("acl-train", "--steps", 4, "--leak", recorder=USE)
    (dump,) = run.glob("*/device_0/dump/memscope_dump_*.csv")
    assert softnpu.run(command, "export", run, "--format=db", "-o", tmp_path / "db").returncode == 0
    (database,) = (tmp_path / "db").glob("*/device_0/dump/memscope_dump_*.db")

    def essence(path):
        process, device = npu(report(path))
        peak = device["peak"]
        return (peak["used_b"], peak["reserved_b"], peak["step"], peak["op"], peak["blocks"], peak["owners"],
                [(a["bytes"], process["sites"][a["site"]]["label"] if a["site"] is not None else "") for a in peak["sites"]],
                [(s["step"], s["peak_b"], s["end_b"], s["survivor_b"]) for s in device["steps"]],
                [(f["pattern"], f["blocks"], f["bytes"], f["saves_peak_b"]) for f in major(device)])
    first = essence(run)
    assert first[8]
    for other in (dump, database):
        assert essence(other) == first


@pytest.mark.parametrize("allocator", ["", "expandable_segments:True"])
@pytest.mark.parametrize("source", ["*", "*/device_0/dump/*.csv"])
def test_account_of_every_byte(record, report, allocator, source):
    run, _ = record("acl-train", "--steps", 3, **({"PYTORCH_NPU_ALLOC_CONF": allocator} if allocator else {}))
    process, device = npu(report(next(run.glob(source))))
    for moment in (device["peak"], device["end"]):
        account = moment["account"]
        assert account["driver_b"] == account["segment_b"] + sum(m["bytes"] for m in account["modules"])
        assert sum(p["reserved_b"] for p in account["pools"]) == moment["reserved_b"]
        assert sum(o["bytes"] for o in moment["owners"]) == moment["used_b"] == sum(s["bytes"] for s in moment["sites"])
    peak = device["peak"]["account"]
    assert peak["segment_b"] == device["peak"]["reserved_b"] > 0  # segments equal what the pools report
    assert sum(p["used_b"] for p in peak["pools"]) + sum(m["bytes"] for m in peak["modules"]) == device["peak"]["used_b"]


def test_samples_of_the_original(report):
    samples = ROOT.parent / "shared" / "samples" / "msmemscope"
    if not samples.is_dir():
        samples = ROOT / "tests" / "compat"
    inputs = [p for p in samples.rglob("*") if p.suffix in (".csv", ".db") and p.name.startswith(("memscope_dump", "pta-mix"))]
    for path in inputs:
        done = report.text(path)
        assert done.returncode == 0 and "in use" in done.stdout, (path, done.stderr)


# ---- the report as users see it


def golden_dump(path):
    """A training job of four steps: weights, activations, a leak, a tensor freed late, driver memory outside pools."""
    rows = []

    def row(event, kind, name="N/A", ptr="N/A", attr="", stack=""):
        rows.append(f'{len(rows)},{event},{kind},{name},{1000000 * (len(rows) + 1)},77,78,0,{ptr},"{attr}","{stack}",')

    def malloc(kind, addr, mib, owner, stack="", total=0):
        ptr = f"0x{addr:016x}"
        more = f"total:{total * MIB},used:0," if total else ""
        row("MALLOC", kind, ptr=ptr, stack=stack,
            attr=f"{{allocation_id:{addr},addr:{ptr},size:{mib * MIB},{more}owner:{owner}}}")

    def free(kind, addr):
        row("FREE", kind, ptr=f"0x{addr:016x}", attr="{}")

    def op(name, *uses):
        row("OP_LAUNCH", "ATEN_START", f"torch._ops.aten.{name}")
        for kind, addr, mib in uses:
            ptr = f"0x{addr:016x}"
            row("ACCESS", kind, f"torch._ops.aten.{name}", ptr, f"{{allocation_id:0,addr:{ptr},size:{mib * MIB},type:PTA}}")
        row("OP_LAUNCH", "ATEN_END", f"torch._ops.aten.{name}")

    malloc("HAL", 0x100000000, 12, "CANN@HCCL")
    malloc("HAL", 0x200000000, 128, "CANN@RUNTIME")
    malloc("PTA", 0x200000000, 20, "PTA@model@weight", "model.py(12): __init__\ntrain.py(3): <module>\n", total=128)
    for step in range(4):
        row("MSTX", "Range_start", "step start")
        malloc("PTA", 0x201400000, 16, "PTA@model@activation", "model.py(20): forward\ntrain.py(9): step\n", total=128)
        op("mm.default", ("READ", 0x200000000, 20), ("WRITE", 0x201400000, 16))
        op("relu.default", ("READ", 0x201400000, 16))
        malloc("PTA", 0x202400000, 24, "PTA@model@gradient", "train.py(10): step\n", total=128)
        op("mm_backward.default", ("READ", 0x200000000, 20), ("WRITE", 0x202400000, 24))
        free("PTA", 0x201400000)
        op("adamw.default", ("READ", 0x202400000, 24), ("WRITE", 0x200000000, 20))
        free("PTA", 0x202400000)
        malloc("PTA", 0x203c00000 + step * 0x100000, 1, "PTA@ops@aten", "train.py(14): log_loss\n", total=128)
        op("clone.default", ("WRITE", 0x203c00000 + step * 0x100000, 1))
        row("MSTX", "Range_end", f"Range end from id {step + 1}")
    path.write_text(HEADER + "\n".join(rows) + "\n")


def test_golden_report(report, tmp_path):
    """The exact text; if a difference is intended, write the new text into the file."""
    path = tmp_path / "memscope_dump_1.csv"
    golden_dump(path)
    done = report.text(path, "--top", "5")
    assert done.returncode == 0, done.stderr
    text = done.stdout.replace(str(tmp_path), "DIR")
    assert text == (pathlib.Path(__file__).parent / "golden" / "report.txt").read_text()


# ---- options and damage


def test_steps_devices_and_lists(record, report, command, softnpu):
    run, _ = record("acl-train", "--steps", 4, "--leak", "--devices", 2)
    result = report(run)
    assert len(result["processes"]) == 2
    assert [d["device"] for p in result["processes"] for d in p["devices"] if d["device"] is not None] in ([0, 1], [1, 0])
    one = report(run, "--device=1", "--top", "3")
    (device,) = [d for p in one["processes"] for d in p["devices"]]
    assert device["device"] == 1 and len(device["peak"]["top"]) == 3 and len(device["peak"]["sites"]) == 4
    (third,) = [d for p in report(run, "--device=0", "--steps=3")["processes"] for d in p["devices"]]
    assert [s["step"] for s in third["steps"] if s["allocations"]] == [3] and third["peak"]["step"] == 3
    help_text = softnpu.run(command, "report", "--help")
    assert help_text.returncode == 0 and "--steps" in help_text.stdout and "Exit status" in help_text.stdout
    for wrong in (["--top", "0"], ["--device=x"], ["--steps=1,2,3,4,5,6"], ["--nonsense"]):
        done = softnpu.run(command, "report", run, *wrong)
        assert done.returncode == 2 and "report --help" in done.stderr, wrong


def test_damaged_input(record, report, softnpu, command, tmp_path):
    run, _ = record("acl-train", "--steps", 3, recorder=[])
    (dump,) = run.glob("*/device_0/dump/memscope_dump_*.csv")
    text = dump.read_text()
    cut = tmp_path / "memscope_dump_1.csv"
    cut.write_text(text[:len(text) // 2])
    result = report(cut, expect=1)
    assert result["partial"] and any("partial" in note["text"] for note in result["notes"])
    assert result["processes"][0]["devices"][0]["peak"]["used_b"] > 0
    done = report.text(cut)
    assert done.returncode == 1 and "PARTIAL" in done.stdout
    trace = next(run.rglob("*.mst*"), None) or max((p for p in run.rglob("*") if p.is_file() and "dump" not in str(p.parent)),
                                                   key=lambda p: p.stat().st_size)
    damaged = tmp_path / "damaged"
    shutil.copytree(run, damaged)
    target = damaged / trace.relative_to(run)
    data = bytearray(target.read_bytes())
    data[len(data) // 2:len(data) // 2 + 64] = b"\xff" * 64
    target.write_bytes(data)
    result = report(damaged, expect=1)
    assert result["partial"]
    for content in ("", "a,b,c\n1,2,3\n"):
        (tmp_path / "memscope_dump_2.csv").write_text(content)
        done = softnpu.run(command, "report", tmp_path / "memscope_dump_2.csv")
        assert done.returncode == 1 and done.stderr
