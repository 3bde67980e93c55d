# SPDX-License-Identifier: Apache-2.0
"""Exports for call-stack viewers: collapsed, speedscope, pprof; from a trace, its CSV and its database."""

import collections
import json
import re
import shutil
import subprocess

import pytest

from protobuf import fields, packed
from recorder import read_dump

STEPS, LEAK = 4, 1 << 20


@pytest.fixture
def export(export_to):
    """The single file that an export creates."""
    def run(source, form):
        done, out = export_to(source, form)
        (path,) = (p for p in out.rglob("*") if p.is_file())
        assert f"create file {path}." in done.stdout
        return path
    return run


@pytest.fixture
def recorded(softnpu, memscope, build, tmp_path):
    out = tmp_path / "recorded"
    done = softnpu.run(memscope, f"--output={out}", "--call-stack=c", "--analysis=leaks,decompose", "--",
                       build / "examples" / "acl-train", "--steps", STEPS, f"--leak={LEAK}")
    assert done.returncode == 0, done.stderr
    return out


def device_dump(recorded):
    (path,) = recorded.rglob("device_0/dump/memscope_dump_*.csv")
    return path


def dump_figures(recorded):
    """Expected values of the PTA pool from the rows: peak, total allocated, live at the end, and the share of the planted leak
    in each. The peak is found by summing up, its blocks by copying."""
    live, peak, peak_b, allocated = {}, {}, 0, []
    for row in read_dump(device_dump(recorded)):
        if row.type != "PTA" or row.event not in ("MALLOC", "FREE"):
            continue
        block = row.number("allocation_id")
        if row.event == "MALLOC":
            live[block] = (row.number("size"), "plant_leak" in row.c_stack)
            allocated.append(live[block])
            if sum(size for size, _ in live.values()) > peak_b:
                peak, peak_b = dict(live), sum(size for size, _ in live.values())
        elif row.attr.get("shadow") != "true":
            del live[block]
    sets = {"peak": list(peak.values()), "alloc": allocated, "inuse": list(live.values())}
    return {name: (len(blocks), sum(size for size, _ in blocks), sum(size for size, planted in blocks if planted))
            for name, blocks in sets.items()}


@pytest.fixture
def figures(recorded):
    found = dump_figures(recorded)
    assert found["inuse"][2] >= STEPS * LEAK and found["alloc"][1] > found["peak"][1] > found["peak"][2] > 0
    return found


def read_collapsed(path):
    stacks = {}
    for line in path.read_text().splitlines():
        stack, value = line.rsplit(" ", 1)
        assert stack not in stacks
        stacks[tuple(stack.split(";"))] = int(value)
    return stacks


def test_collapsed(recorded, export, figures):
    stacks = read_collapsed(export(recorded, "collapsed"))
    pool = {stack: value for stack, value in stacks.items() if stack[:2] == ("npu 0", "PTA")}
    assert sum(pool.values()) == figures["peak"][1]
    assert sum(value for stack, value in pool.items() if "plant_leak" in stack) == figures["peak"][2]
    (leak,) = (stack for stack in pool if "plant_leak" in stack)
    assert leak.index("main") < leak.index("train_step") < leak.index("plant_leak") < leak.index("npool_malloc")
    assert leak[-1] == "torch._ops.aten.clone.default"
    assert any(stack[:2] == ("npu 0", "HAL") for stack in stacks)


def test_all_sources_agree(recorded, export, export_to):
    stacks = read_collapsed(export(recorded, "collapsed"))
    _, database = export_to(device_dump(recorded), "db")
    for source in (device_dump(recorded), *database.rglob("*.db")):
        again = read_collapsed(export(source, "collapsed"))
        assert {s: v for s, v in again.items() if s[1] == "PTA"} == {s: v for s, v in stacks.items() if s[1] == "PTA"} != {}


def test_speedscope(recorded, export, figures):
    """The parts of the published schema that a sampled profile has, and the numbers."""
    document = json.loads(export(recorded, "speedscope").read_text())
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert set(document) == {"$schema", "exporter", "name", "activeProfileIndex", "profiles", "shared"}
    frames = document["shared"]["frames"]
    assert all(set(f) <= {"name", "file", "line", "col"} and isinstance(f["name"], str) for f in frames)
    assert len({json.dumps(f) for f in frames}) == len(frames)
    profiles = {}
    for profile in document["profiles"]:
        assert set(profile) == {"type", "name", "unit", "startValue", "endValue", "samples", "weights"}
        assert profile["type"] == "sampled" and profile["unit"] == "bytes" and profile["startValue"] == 0
        assert len(profile["samples"]) == len(profile["weights"]) and profile["endValue"] == sum(profile["weights"])
        assert all(0 <= i < len(frames) for sample in profile["samples"] for i in sample) and all(profile["samples"])
        profiles[profile["name"]] = profile
    for title, name in (("live at the peak", "peak"), ("live at the end", "inuse"), ("allocated", "alloc")):
        profile = profiles[f"npu 0 PTA: {title}"]
        planted = sum(weight for sample, weight in zip(profile["samples"], profile["weights"])
                      if "plant_leak" in [frames[i]["name"] for i in sample])
        assert (profile["endValue"], planted) == figures[name][1:]
    assert document["profiles"][document["activeProfileIndex"]]["name"] == "npu 0 HAL: live at the peak"
    assert any(f["name"] == "plant_leak" and f["file"].endswith("defects.c") and f["line"] > 0 for f in frames)


def read_pprof(path):
    """(types, samples): a sample is (function names from the innermost, values, labels)."""
    parts = collections.defaultdict(list)
    for field, value in fields(path.read_bytes()):
        parts[field].append(value)
    strings = [s.decode() for s in parts[6]]
    assert strings[0] == "" and len(set(strings)) == len(strings)
    functions = {f[1]: strings[f[2]] for f in map(dict, map(fields, parts[5]))}
    places = {}
    for location in map(dict, map(fields, parts[4])):
        assert location[2] == 1  # the mapping
        places[location[1]] = functions[dict(fields(location[4]))[1]]
    samples = []
    for sample in parts[2]:
        labels = {}
        for field, value in fields(sample):
            if field == 1:
                names = [places[i] for i in packed(value)]
            elif field == 2:
                values = packed(value)
            else:
                label = dict(fields(value))
                labels[strings[label[1]]] = strings[label[2]]
        samples.append((names, values, labels))
    types = [tuple(strings[value] for _, value in fields(t)) for t in parts[1]]
    return types, samples, strings[parts[14][0]]


def test_pprof(recorded, export, figures):
    types, samples, default = read_pprof(export(recorded, "pprof"))
    assert types == [(f"{name}_{what}", unit) for name in ("alloc", "inuse", "peak")
                     for what, unit in (("objects", "count"), ("space", "bytes"))]
    assert default == "peak_space"
    pool = [sample for sample in samples if sample[2]["pool"] == "PTA" and sample[2]["device"] == "npu 0"]
    for i, name in enumerate(("alloc", "inuse", "peak")):
        assert (sum(values[2 * i] for _, values, _ in pool), sum(values[2 * i + 1] for _, values, _ in pool),
                sum(values[2 * i + 1] for names, values, _ in pool if "plant_leak" in names)) == figures[name]
    (leak,) = (sample for sample in pool if "plant_leak" in sample[0])
    assert leak[0].index("plant_leak") < leak[0].index("train_step") < leak[0].index("main")
    assert leak[2]["owner"].startswith("PTA@") and leak[2]["operator"] == "torch._ops.aten.clone.default"


def test_go_tool_pprof_reads_it(recorded, export, figures):
    """If Go is installed, its own reader agrees; otherwise test_pprof has read the file."""
    path = export(recorded, "pprof")
    go = shutil.which("go")
    if go is None:
        return
    done = subprocess.run([go, "tool", "pprof", "-symbolize=none", "-unit=B", "-sample_index=inuse_space", "-tagfocus=pool=^PTA$",
                           "-top", "-cum", str(path)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    line = re.search(r"(\d+)B +[\d.]+% +plant_leak\b", done.stdout)
    assert line and int(line[1]) == figures["inuse"][2], done.stdout


def test_without_stacks_operators_are_shown(softnpu, memscope, build, tmp_path, export):
    out = tmp_path / "plain"
    done = softnpu.run(memscope, f"--output={out}", "--", build / "examples" / "acl-train", "--steps", 2, "--leak")
    assert done.returncode == 0, done.stderr
    stacks = read_collapsed(export(out, "collapsed"))
    assert ("npu 0", "PTA", "torch._ops.aten.clone.default") in stacks and ("npu 0", "PTA", "no call stack") in stacks
    _, samples, _ = read_pprof(export(out, "pprof"))
    assert ["torch._ops.aten.clone.default"] in [names for names, _, _ in samples]


def test_no_file_is_overwritten(recorded, softnpu, memscope):
    first = softnpu.run(memscope, "export", recorded, "--format=collapsed")
    assert first.returncode == 0
    (path,) = recorded.rglob("*.collapsed")
    before = path.read_bytes()
    second = softnpu.run(memscope, "export", recorded, "--format=collapsed")
    assert second.returncode == 1 and "File exists" in second.stderr
    assert path.read_bytes() == before
