# SPDX-License-Identifier: Apache-2.0
"""Leaks and fluctuation: exactly the leaks planted by acl-train are found, with call site and growth."""

import os
import re
import signal

import pytest

from recorder import children_of

LINE = re.compile(r"Direct (?P<pool>.*) leak of (?P<mb>\S+) Mb\(s\) at 0x(?P<at>[0-9a-f]+) in kernel_(?P<kernel>\d+) at step (?P<step>\d+)\.")
PLANTED = re.compile(r"planted: kind=leak rank=(?P<rank>\d+) device=(?P<device>\d+) step=(?P<step>\d+) .* block=(?P<block>\d+) "
                     r"address=0x(?P<at>[0-9a-f]+)")


@pytest.fixture
def train(recording, build):
    """Output of acl-train under a recorder with leak analysis."""
    recording.options[1:] = ["--quiet"]

    def run(*arguments, options=(), **more):
        done = recording.run(*options, "--", build / "examples" / "acl-train", *arguments, **more)
        assert done.returncode == 0, done.stderr
        return done.stdout
    run.recording = recording
    return run


def sections(text):
    """The original's reports: device -> lines and summary."""
    found = {}
    for device, body, mb, count in re.findall(
            r"====== ERROR: Detected memory leaks on device (\d+) ======\n((?:Direct .*\n)*)"
            r"====== SUMMARY: (\S+) Mb\(s\) leaked in (\d+) allocation\(s\) ======\n", text):
        found[device] = [m.groupdict() for m in LINE.finditer(body)], float(mb), int(count)
    return found


def check_planted(text, device, steps):
    """All except those of the first step, which is start-up, and of the last, which may still be freed."""
    planted = [m.groupdict() for m in PLANTED.finditer(text) if m["device"] == device]
    assert [int(p["step"]) for p in planted] == list(range(1, steps + 1))
    lines, mb, count = sections(text)[device]
    assert [(m["at"], m["step"], m["mb"]) for m in lines] == [
        (p["at"], p["step"], f"{int(p['block']) / 1048576:.6f}") for p in planted[1:-1]]
    assert {m["pool"] for m in lines} == {"Pytorch Caching memory pool"}
    total = sum(int(p["block"]) for p in planted[1:-1]) / 1048576
    assert count == steps - 2 and mb == pytest.approx(total, rel=1e-5)
    return total


@pytest.mark.parametrize("size", [1 << 20, 5000])
def test_planted_leaks_are_found(train, size):
    text = train("--steps", 7, f"--leak={size}")
    total = check_planted(text, "0", 7)
    assert "HAL memory leaks" not in text
    # npuscope's summary: one site, first step, growth, confidence, operator.
    assert f"  1. {total:.6f} Mb(s) in 5 allocation(s), Pytorch Caching memory pool of device 0, since step 2, " \
           f"{total / 5:.6f} Mb(s) per step, confidence high\n        operator torch._ops.aten.clone.default\n" in text
    assert "\n  2. " not in text
    assert text.index("====== SUMMARY") < text.index("====== Leaks by") < text.index("Gap Analysis of Device 0")


def test_call_site(train):
    text = train("--steps", 5, "--leak", options=["--call-stack=c"])
    check_planted(text, "0", 5)
    site = text[text.index("====== Leaks by call site ======"):text.index("=======", text.index("Leaks by") + 40)]
    assert "  1. " in site and "  2. " not in site
    assert "(plant_leak+" in site and "defects.c:" in site


def test_grouped_by_owner(train):
    text = train("--steps", 5, "--leak", options=["--analysis=leaks,decompose"])
    check_planted(text, "0", 5)
    assert re.search(r"\n  1\. .* in 3 allocation\(s\).*\n        owner PTA@", text)


def test_kernels_that_were_launched_before(train):
    lines, _, _ = sections(train("--steps", 5, "--leak", options=["--level=kernel"]))["0"]
    kernels = [int(m["kernel"]) for m in lines]
    assert 0 < kernels[0] < kernels[1] < kernels[2]


def test_two_devices(train):
    text = train("--steps", 4, "--devices", 2, "--leak", SOFTNPU_DEVICES=2)
    assert sorted(sections(text)) == ["0", "1"]
    for device in "01":
        check_planted(text, device, 4)
        assert f"Gap Analysis of Device {device}" in text


@pytest.mark.parametrize("defect", [[], ["--late-free"], ["--early-alloc"], ["--idle"], ["--loaders", 4]],
                         ids=lambda words: " ".join(map(str, words)) or "clean")
def test_nothing_is_reported_where_nothing_leaks(train, defect):
    text = train("--steps", 5, *defect, options=["--call-stack=c", "--log-level=info"])
    assert "ERROR" not in text and "Leaks by" not in text and "leak of" not in text
    (log,) = train.recording.output.glob("*/msmemscope_logs/*.log")
    assert "There is no hal leak memory." in log.read_text()


@pytest.mark.parametrize("options", [["--analysis=none"], ["--steps=2,3"], ["--analysis=decompose"], ["--events=launch", "--analysis="]],
                         ids=" ".join)
def test_not_requested(train, options):
    text = train("--steps", 5, "--leak", options=options)
    assert "ERROR" not in text and "Leaks by" not in text and "Gap Analysis" not in text


def test_killed_in_the_middle(train, build):
    """The report is printed anyway, with the leaks planted so far."""
    process = train.recording.start(build / "examples" / "acl-train", "--steps", 1000000, "--leak=4096")
    lines = []
    while not lines or not lines[-1].startswith("step   30 "):
        lines.append(process.stdout.readline())
        assert lines[-1]
    (pid,) = children_of(process.pid)
    os.kill(pid, signal.SIGKILL)
    text, _ = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    found, _, count = sections(text)["0"]
    assert count == len(found) >= 28
    assert [int(m["step"]) for m in found] == list(range(2, count + 2))
    assert "since step 2" in text and "confidence high" in text


def test_fluctuation(train):
    """Ratios of the planted case grow with the memory that is never freed."""
    text = train("--steps", 6, "--leak")
    table = re.search(r"======= Pytorch Caching memory pool Gap Analysis of Device 0 =======\n"
                      r"\tMinAlloc/MaxAlloc\(%\)     MinAllocMem\(MB\)          StepId                   \n"
                      r"MinGap\t(\d+\.\d{4}) +(\d+\.\d{4}) +(\d) +\n"
                      r"MaxGap\t(\d+\.\d{4}) +(\d+\.\d{4}) +(\d) +\n", text)
    assert table, text
    assert float(table[1]) < float(table[4]) and float(table[2]) < float(table[5])
    assert (table[3], table[6]) == ("2", "6")
