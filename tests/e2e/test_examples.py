# SPDX-License-Identifier: Apache-2.0
"""The examples on the software NPU: they work, plant defects where they report them, and refuse wrong options."""

import json
import re

import pytest


def run(softnpu, home, name, *argv, **extra):
    return softnpu.run(home / "bin" / name, *argv, **extra)


def lines(result):
    """The JSON objects that a program printed."""
    return [json.loads(line) for line in result.stdout.splitlines()]


def losses(result):
    return [line["loss"] for line in lines(result) if "loss" in line]


def planted(result):
    """The machine-readable lines about defects, as dictionaries of strings."""
    found = []
    for line in result.stdout.splitlines():
        if line.startswith("planted: "):
            found.append(dict(pair.split("=", 1) for pair in line.removeprefix("planted: ").split()))
    return found


# ---- acl-hello


def test_hello_runs(softnpu, home):
    result = run(softnpu, home, "acl-hello")
    assert result.returncode == 0, result.stderr
    assert "hello from the device: 2 * 65535 + 1 = 131071" in result.stdout


def test_hello_reports_failure(softnpu, home):
    result = run(softnpu, home, "acl-hello", "/no/such/binary.so")
    assert result.returncode == 1
    assert "aclrtBinaryLoadFromFile" in result.stderr
    assert re.search(r"returned \d+: .+", result.stderr)
    assert run(softnpu, home, "acl-hello", "a", "b").returncode == 2


# ---- acl-train


@pytest.mark.parametrize("devices", [1, 2])
def test_loss_decreases(softnpu, home, devices):
    result = run(softnpu, home, "acl-train", "--devices", devices, "--json")
    assert result.returncode == 0, result.stderr
    loss = losses(result)
    assert len(loss) == 30
    assert loss[0] == pytest.approx(4.16, abs=0.2)  # log(64): untrained
    assert loss[-1] < 1.5
    summary = lines(result)[-1]
    assert summary["devices"] == devices and summary["steps"] == 30


def test_memory_is_steady(softnpu, home):
    result = run(softnpu, home, "acl-train", "--steps", 8, "--json")
    steps = [line for line in lines(result) if "step" in line]
    assert len({line["allocated"] for line in steps}) == 1
    assert len({line["reserved"] for line in steps[2:]}) == 1
    assert all(line["allocated"] < line["peak"] <= line["reserved"] for line in steps)


def test_same_seed_same_losses(softnpu, home):
    first = losses(run(softnpu, home, "acl-train", "--steps", 5, "--json"))
    assert first == losses(run(softnpu, home, "acl-train", "--steps", 5, "--json"))
    assert first != losses(run(softnpu, home, "acl-train", "--steps", 5, "--json", "--seed", 2))


def test_two_devices_train_on_different_data(softnpu, home):
    one = losses(run(softnpu, home, "acl-train", "--steps", 3, "--json"))
    two = losses(run(softnpu, home, "acl-train", "--steps", 3, "--json", "--devices", 2))
    assert one[0] != two[0]
    assert one[0] == pytest.approx(two[0], abs=0.1)


def test_gradients_are_correct(softnpu, home):
    result = run(softnpu, home, "acl-train", "--check", "--layers", 1)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "gradients right" in result.stdout


@pytest.mark.parametrize("conf", ["expandable_segments:True", "max_split_size_mb:32", "garbage_collection_threshold:0.5"])
def test_allocator_options_are_used(softnpu, home, conf):
    plain = losses(run(softnpu, home, "acl-train", "--steps", 3, "--json"))
    result = run(softnpu, home, "acl-train", "--steps", 3, "--json", env={"PYTORCH_NPU_ALLOC_CONF": conf})
    assert result.returncode == 0, result.stderr
    assert losses(result) == plain


def test_wrong_allocator_options_are_reported(softnpu, home):
    result = run(softnpu, home, "acl-train", env={"PYTORCH_NPU_ALLOC_CONF": "max_split_size_mb:7"})
    assert result.returncode == 1
    assert "PYTORCH_NPU_ALLOC_CONF" in result.stderr and "max_split_size_mb" in result.stderr
    both = {"PYTORCH_NPU_ALLOC_CONF": "", "PYTORCH_ALLOC_CONF": ""}
    result = run(softnpu, home, "acl-train", env=both)
    assert result.returncode == 1 and "both set" in result.stderr


def test_leak_is_planted_each_step(softnpu, home):
    result = run(softnpu, home, "acl-train", "--steps", 4, "--leak=3M", "--json")
    assert result.returncode == 0, result.stderr
    found = [line for line in lines(result) if "planted" in line]
    assert [line["step"] for line in found] == [1, 2, 3, 4]
    assert {line["planted"] for line in found} == {"leak"}
    assert {line["size"] for line in found} == {3 << 20}
    assert {line["block"] for line in found} == {(3 << 20) + 512}
    assert len({line["address"] for line in found}) == 4
    allocated = [line["allocated"] for line in lines(result) if "allocated" in line]
    assert {b - a for a, b in zip(allocated, allocated[1:])} == {(3 << 20) + 512}


@pytest.mark.parametrize("switch, kind, operator", [
    ("--leak", "leak", "clone.default"),
    ("--early-alloc", "early-alloc", "empty.memory_format"),
    ("--late-free", "late-free", "clone.default"),
    ("--idle", "idle", "clone.default"),
    ("--fragment", "fragment", "cat.default"),
])
def test_defects_are_planted(softnpu, home, switch, kind, operator):
    result = run(softnpu, home, "acl-train", "--steps", 4, switch)
    assert result.returncode == 0, result.stderr
    found = planted(result)
    assert len(found) == (4 if kind == "leak" else 1)
    for line in found:
        assert line["kind"] == kind
        assert line["operator"] == "torch._ops.aten." + operator
        assert int(line["block"]) >= int(line["size"]) + 32
        assert int(line["address"], 16) != 0
    if kind != "leak":
        assert found[0]["step"] == "2"


def test_each_rank_reports_its_defects(softnpu, home):
    result = run(softnpu, home, "acl-train", "--steps", 2, "--devices", 2, "--late-free")
    assert result.returncode == 0, result.stderr
    assert sorted((line["rank"], line["device"]) for line in planted(result)) == [("0", "0"), ("1", "1")]


def test_fragmentation_leaves_reserved_memory_unused(softnpu, home):
    result = run(softnpu, home, "acl-train", "--steps", 4, "--fragment", "--json")
    last = [line for line in lines(result) if "reserved" in line][-1]
    assert last["reserved"] - last["allocated"] > 120 << 20


def test_corruption_changes_the_result(softnpu, home):
    good = losses(run(softnpu, home, "acl-train", "--steps", 4, "--json"))
    result = run(softnpu, home, "acl-train", "--steps", 4, "--corrupt", "gelu")
    assert result.returncode == 0, result.stderr
    (found,) = planted(result)
    assert found["kind"] == "corrupt" and found["operator"] == "torch._ops.aten.gelu.default"
    assert found["victim"] == "h.0.mlp.c_fc.weight" and found["step"] == "2"
    bad = losses(run(softnpu, home, "acl-train", "--steps", 4, "--corrupt", "torch._ops.aten.gelu.default", "--json"))
    assert bad[0] == good[0] and bad[2] != good[2]


def test_corruption_by_unused_operator_is_refused(softnpu, home):
    result = run(softnpu, home, "acl-train", "--steps", 2, "--corrupt", "argmax")
    assert result.returncode == 1
    assert "did not run" in result.stderr


@pytest.mark.parametrize("devices", [1, 2])
def test_oom_is_reported(softnpu, home, devices):
    result = run(softnpu, home, "acl-train", "--steps", 4, "--oom", "--devices", devices, SOFTNPU_HBM="1G")
    assert result.returncode == 1
    assert "out of memory" in result.stderr
    found = planted(result)
    assert found and found[0]["kind"] == "oom" and found[0]["step"] == "2"
    assert int(found[0]["size"]) == 1 << 30


def test_small_device_runs_out_of_memory(softnpu, home):
    result = run(softnpu, home, "acl-train", "--hidden", 1024, "--layers", 4, "--steps", 1, SOFTNPU_HBM="128M")
    assert result.returncode == 1
    assert "out of memory" in result.stderr


def test_failing_rank_ends_the_others(softnpu, home):
    result = run(softnpu, home, "acl-train", "--devices", 2, timeout=60, SOFTNPU_DEVICES=1)
    assert result.returncode == 1
    assert "no device 1: this machine has 1" in result.stderr


@pytest.mark.parametrize("argv, message", [
    (["--steps", "0"], "--steps: '0' is not a whole number between 1 and"),
    (["--steps", "x"], "--steps"),
    (["--steps"], "--steps requires a value"),
    (["--lr", "-1"], "--lr: '-1' is not a number greater than 0"),
    (["--hidden", "65"], "--hidden must be a multiple of --heads"),
    (["--devices", "65"], "--devices"),
    (["--leak=lots"], "--leak: 'lots' is not a size"),
    (["--idle=3"], "--idle does not take a value"),
    (["--corrupt", "frobnicate"], "unknown operator 'frobnicate'; known operators: "),
    (["--check", "--devices", "2"], "--check works on one device"),
    (["--frobnicate"], "unknown option '--frobnicate'"),
    (["extra"], "unknown option 'extra'"),
    (["--rank", "1"], "--rank"),
])
def test_wrong_options_are_refused(softnpu, home, argv, message):
    result = run(softnpu, home, "acl-train", *argv)
    assert result.returncode == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_missing_operator_binary_is_reported(softnpu, home):
    result = run(softnpu, home, "acl-train", "--kernels", "/no/such.so")
    assert result.returncode == 1
    assert "/no/such.so" in result.stderr


def test_help_names_every_switch(softnpu, home):
    result = run(softnpu, home, "acl-train", "--help")
    assert result.returncode == 0
    for switch in ("--steps N", "--leak[=BYTES]", "--corrupt OP", "--oom"):
        assert switch in result.stdout
    assert "--root-fd" not in result.stdout


# ---- acl-infer


def test_infer_is_correct(softnpu, home):
    result = run(softnpu, home, "acl-infer", "--check", "--requests", 12)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "generation right" in result.stdout


def test_infer_does_not_depend_on_slots(softnpu, home):
    few = run(softnpu, home, "acl-infer", "--requests", 8, "--slots", 1, "--json")
    again = run(softnpu, home, "acl-infer", "--requests", 8, "--slots", 1, "--json")
    assert few.returncode == 0, few.stderr
    assert lines(few)[-1]["checksum"] == lines(again)[-1]["checksum"]
    assert lines(few)[-1]["requests"] == 8


def test_infer_frees_its_caches(softnpu, home):
    good = lines(run(softnpu, home, "acl-infer", "--requests", 16, "--json"))[-1]
    result = run(softnpu, home, "acl-infer", "--requests", 16, "--json", "--leak")
    summary = next(line for line in lines(result) if "checksum" in line)
    found = [line for line in lines(result) if "planted" in line]
    assert sorted(line["request"] for line in found) == [4, 8, 12, 16]
    leaked = sum(line["size"] for line in found)
    assert summary["checksum"] == good["checksum"]
    assert leaked <= summary["allocated"] - good["allocated"] <= leaked + 512 * 4 * len(found)


def test_infer_cache_grows(softnpu, home):
    good = lines(run(softnpu, home, "acl-infer", "--requests", 16, "--json"))[-1]
    result = run(softnpu, home, "acl-infer", "--requests", 16, "--json", "--grow")
    found = sorted((line for line in lines(result) if "planted" in line), key=lambda line: line["request"])
    sizes = [line["size"] for line in found]
    assert len(sizes) == 16 and sizes[-1] > 4 * sizes[0]
    assert all(line["reserved_tokens"] >= line["used_tokens"] - 1 for line in found)
    summary = next(line for line in lines(result) if "checksum" in line)
    assert summary["checksum"] == good["checksum"] and summary["peak"] > good["peak"]


@pytest.mark.parametrize("argv, message", [
    (["--requests", "0"], "--requests"),
    (["--hidden", "7"], "--hidden must be a multiple of --heads"),
    (["--nothing"], "unknown option"),
])
def test_infer_refuses_wrong_options(softnpu, home, argv, message):
    result = run(softnpu, home, "acl-infer", *argv)
    assert result.returncode == 2
    assert message in result.stderr


# ---- none of them depends on softnpu


def test_examples_are_plain_acl_programs(home, build):
    import subprocess
    for name in ("acl-hello", "acl-train", "acl-infer"):
        path = home / "bin" / name
        names = subprocess.run(["nm", "-D", str(path)], capture_output=True, text=True, check=True).stdout
        assert "snpu_" not in names
        assert b"SOFTNPU" not in path.resolve().read_bytes()
    assert b"SOFTNPU" not in (home / "lib64" / "libnpupool.so").resolve().read_bytes()
