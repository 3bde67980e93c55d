# SPDX-License-Identifier: Apache-2.0
"""--watch: the points of all checks against a slow reference; contents and hashes; the planted corruption is found and
located; programs are not affected."""

import csv
import re

import pytest

from recorder import Row

ATEN = "torch._ops.aten."
POLYNOMIAL = 0x42F0E1EBA9EA3693


def slow_hash(data):
    crc = 0xFFFFFFFFFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (POLYNOMIAL if crc & 1 else 0)
    return f"{crc ^ 0xFFFFFFFFFFFFFFFF:016x}"


def test_documented_hash():
    assert [slow_hash(data) for data in (b"", b"123456789", bytes(8), bytes(range(16)))] == [
        "0000000000000000", "b86883e6fa710a9f", "98b12cacc211a013", "df76d10c7c11fb95"]


@pytest.fixture
def watch(softnpu, build, tmp_path, memscope):
    """acl-train with --watch; output, rows of the dump, rows of hashes, files with contents."""
    class Outcome:
        pass

    runs = 0

    def run(option, *arguments, recorder=(), steps=2, expect=0):
        nonlocal runs
        runs += 1
        out = tmp_path / f"out{runs}"
        options = [f"--output={out}", "--analysis=none", "--events=launch,access", *recorder]
        options += [f"--watch={option}"] if option else []
        done = softnpu.run(memscope, *options, "--", build / "examples" / "acl-train", "--steps", steps,
                           "--layers", 1, "--hidden", 32, "--heads", 2, "--seq", 8, "--vocab", 32, *arguments)
        assert done.returncode == expect, done.stdout + done.stderr
        outcome = Outcome()
        outcome.out, outcome.text = out, done.stdout
        (dump,) = out.glob("*/device_0/dump/*.csv")
        with open(dump, newline="") as file:
            outcome.rows = [Row(cells) for cells in list(csv.reader(file))[1:]]
        outcome.hashes = []
        for path in out.glob("*/device_0/watch_dump/watch_dump_data_check_sum_*.csv"):
            with open(path, newline="") as file:
                lines = list(csv.reader(file))
            assert lines[0] == ["Tensor info", "Check data sum"]
            outcome.hashes += lines[1:]
        outcome.contents = {p.name: p.read_bytes() for p in out.glob("*/device_0/watch_dump/*.bin")}
        return outcome
    return run


def reference(rows, start, end, call=0, output=None):
    """Names of all checks, in order, as documented; freed tensors are no longer checked."""
    notes, counts, active, watched, starts, outputs = [], {}, False, {}, 0, {}

    def note(raw, number, when):
        notes.extend(f"{raw}_{number}-{start}_{index}_{when}" for index in watched)

    for row in sorted(rows, key=lambda r: r.id):
        raw = f"{row.device}_{row.tid}/{row.name}"
        if row.type == "ATEN_START":
            counts[raw] = counts.get(raw, 0) + 1
            outputs[row.tid] = []
            note(raw, counts[raw], "before")
        elif row.event == "ACCESS" and row.type == "WRITE":
            outputs[row.tid].append(row.ptr)
        elif row.event == "FREE" and row.type == "PTA":
            watched = {index: ptr for index, ptr in watched.items() if ptr != row.ptr}
        elif row.type == "ATEN_END":
            if row.name == start and not active and call in (0, counts[raw]):
                active, starts = True, starts + 1
                if output is not None and output >= len(outputs[row.tid]):
                    output = None
                watched = {i: ptr for i, ptr in enumerate(outputs[row.tid]) if output is None or i == output}
                note(raw, starts, "after")
            else:
                note(raw, counts[raw], "after")
                if row.name == end:
                    watched, active = {}, False
    return notes


@pytest.mark.parametrize("option, rule", [
    (f"{ATEN}_softmax.default,{ATEN}gelu.default", {"end": "gelu.default", "start": "_softmax.default"}),
    (f"{ATEN}native_layer_norm.default:1,{ATEN}mm.default", {"start": "native_layer_norm.default", "end": "mm.default", "output": 1}),
    (f"{ATEN}native_layer_norm.default:out2，{ATEN}mm.default", {"start": "native_layer_norm.default", "end": "mm.default", "output": 2}),
    (f"{ATEN}native_layer_norm.default:7,{ATEN}gelu.default", {"start": "native_layer_norm.default", "end": "gelu.default", "output": 7}),
    (f"{ATEN}gelu.default#2:0,none", {"start": "gelu.default", "end": "none", "call": 2, "output": 0}),
    (f"{ATEN}gelu.default,{ATEN}gelu.default", {"start": "gelu.default", "end": "gelu.default"}),
])
def test_points_agree_with_the_reference(watch, option, rule):
    rule = rule | {key: ATEN + rule[key] for key in ("start", "end")}
    run = watch(option)
    expected = reference(run.rows, **rule)
    assert len(expected) > 10 and expected[0].endswith("_after")
    assert [name for name, _ in run.hashes] == expected
    assert all(re.fullmatch(r"[0-9a-f]{16}", value) for _, value in run.hashes)


def test_contents(watch):
    option = f"{ATEN}normal_.default,{ATEN}fill_.Scalar"
    hashes, full = watch(option), watch(option + ",full-content")
    assert not full.hashes and not hashes.contents and full.contents

    def plain(name):
        return re.sub(r"^(\d+)_\d+.", r"\1_T.", name)
    expected = {plain(name.replace("/", ".")) + ".bin": value for name, value in hashes.hashes}
    assert {plain(name): slow_hash(data) for name, data in full.contents.items()} == expected


def init_of(run, address):
    """The operator that first wrote the tensor, and the number of the call."""
    rows = sorted(run.rows, key=lambda r: r.id)
    write = next(r for r in rows if r.event == "ACCESS" and r.type == "WRITE" and int(r.ptr, 16) == address)
    return write.name, sum(r.type == "ATEN_START" and r.name == write.name and r.tid == write.tid and r.id < write.id for r in rows)


def planted_address(text):
    return int(re.search(r"kind=corrupt .*address=0x([0-9a-f]+)", text)[1], 16)


def losses(text):
    return re.findall(r"^step.*?loss[^\n]*", text, re.M)


@pytest.mark.parametrize("operator", ["gelu.default", "_softmax.default"])
@pytest.mark.parametrize("level", ["op", "op,kernel"])
def test_the_planted_corruption_is_found(watch, operator, level):
    plain = watch(None, "--corrupt", operator, steps=4)
    name, call = init_of(plain, planted_address(plain.text))
    run = watch(f"{name}#{call},none", "--corrupt", operator, steps=4, recorder=[f"--level={level}"])
    report = run.text.split("====== WATCH: ")
    assert len(report) == 2 and report[1].startswith(f"output 0 of {name} was overwritten ======\n")
    size = re.search(r"kind=corrupt .*size=(\d+)", run.text)[1]
    lines = report[1].splitlines()
    assert lines[1].startswith(f"{size} bytes at 0x{planted_address(run.text):x} on device 0, in step 2, hash ")
    if level == "op":
        assert re.match(rf"It changed after 0_\d+/{re.escape(ATEN + operator)}_\d+ had ended and before 0_\d+/\S+ began: ",
                        lines[2])
    else:
        assert re.match(rf"It changed while kernel 0_\d+/fill\w*_\d+ ran, outside of any operator, after "
                        rf"0_\d+/{re.escape(ATEN + operator)}_\d+\.", lines[2])
    assert losses(run.text) == losses(plain.text) and losses(run.text)


def test_clean_run(watch):
    plain = watch(None, steps=3)
    for option in (f"{ATEN}normal_.default,none", f"{ATEN}_fused_adamw_.default,none"):
        run = watch(option, steps=3)
        assert "WATCH" not in run.text and "no unannounced change" in run.text
        assert losses(run.text) == losses(plain.text)
    run = watch("never,ever")
    assert "nothing was watched: no operator never with an output ended" in run.text


def test_tensors_of_the_program(softnpu, build, tmp_path, memscope, compiler):
    """The table for libraries: two ranges, one of which is checked only three times."""
    program = compiler(tmp_path / "program", __file__.replace("test_watch.py", "watch_program.c"), "ascendcl", "ms_tools_ext",
                       flags=[f"-I{build.parent}/src"])
    done = softnpu.run(memscope, f"--output={tmp_path}/out", "--analysis=none", "--watch=none", "--", program)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = (tmp_path / "out").glob("*/device_0/watch_dump/*.csv")
    lines = [line.split(",") for line in path.read_text().splitlines()[1:]]
    names = [re.sub(r"^0_\d+/", "", name) for name, _ in lines]
    points = [f"op_{i}-%s_0_{when}" for i in range(1, 5) for when in ("before", "after")]
    assert [n for n in names if "-twice_" not in n] == [p % "all" for p in points]
    assert [n for n in names if "-twice_" in n] == [p % "twice" for p in points[:3]]
    assert {value for name, value in lines if "-all_" in name} == {slow_hash(bytes([7]) * 4096), slow_hash(bytes([9]) * 4096)}
    assert "output 0 of all was overwritten" in done.stdout
    assert re.search(r"It changed while operator 0_\d+/op_3 ran, which does not write it", done.stdout)


@pytest.mark.parametrize("abi", ["cxx_abi_0", "cxx_abi_1"])
def test_atb(softnpu, build, home, tmp_path, memscope, abi):
    folder = build / "tests" / "atb" / abi
    kernels = home / "opp/built-in/op_impl/ai_core/tbe/kernel/transformer_kernels.so"
    env = {"LD_LIBRARY_PATH": f"{folder}/lib:{home}/lib64", "ATB_HOME_PATH": str(folder)}

    def run(option, level):
        out = tmp_path / re.sub(r"\W", "_", option + level)
        done = softnpu.run(memscope, f"--output={out}", f"--watch={option}", f"--level={level}", "--events=launch,access", "--",
                           folder / "lib" / "atb_run", kernels, 3, env=env)
        assert done.returncode == 0, done.stdout + done.stderr
        return [line.split(",")[0].split("/", 1)[1] for path in out.glob("*/device_0/watch_dump/*.csv")
                for line in path.read_text().splitlines()[1:]]
    name = "0_LinearGeluOperation"
    notes = run(f"0/{name},2/{name}", "op")
    assert notes == [f"{i}/{name}_1-0/{name}_0_{when}" for i, when in
                     ((0, "after"), (1, "before"), (1, "after"), (2, "before"), (2, "after"))]
    kernels_noted = run(f"0/{name},1/{name}", "op,kernel")
    assert any(note.startswith(f"1/{name}/0_") for note in kernels_noted)
