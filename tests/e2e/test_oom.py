# SPDX-License-Identifier: Apache-2.0
"""--analysis=oom[:K]: when the driver refuses memory, the console shows the caller and the live blocks, with locations."""

import re

import pytest

MIB = 1 << 20


@pytest.fixture
def refused(recording, build):
    """Runs acl-train until memory is exhausted; returns the report lines on the console and the rows of the dump."""
    def run(*options, example=("--steps", 4, "--oom"), expect=1):
        recording.options[1:] = ["--quiet"]
        done = recording.run(*options, "--", build / "examples" / "acl-train", *example)
        assert done.returncode == expect, done.stderr
        begin = done.stdout.find("====== ERROR: Out of memory ======")
        end = done.stdout.find("request(s) refused", begin)
        return done.stdout[begin:end].splitlines() if begin >= 0 else [], done.stdout, recording.rows()
    return run


def blocks(lines, title):
    """[(bytes, address, pool, location)] from a list in the report."""
    found = []
    for at, line in enumerate(lines[lines.index(title) + 1:], lines.index(title) + 1):
        match = re.match(r" *(\d+)\. ([\d.]+) Mb\(s\) at (0x[0-9a-f]+), (\w+)", line)
        if match:
            assert int(match[1]) == len(found) + 1
            found.append((round(float(match[2]) * MIB), int(match[3], 16), match[4], lines[at + 1].strip()))
        elif not line.startswith("        "):
            break
    return found


def test_console_names_caller_and_blocks(refused):
    lines, whole, rows = refused("--analysis=oom:3", "--call-stack=c")
    assert re.match(r"halMemAlloc of 6553[68]\.0+ Mb\(s\) was refused on device 0, step 2, "
                    r"in torch\._ops\.aten\.empty\.memory_format, called by", lines[1])
    stack = lines[2:next(i for i, line in enumerate(lines) if line.startswith("In use at the time"))]
    assert any("tensor_try_new" in line for line in stack) and any("plant_oom" in line for line in stack)
    (held,) = [line for line in lines if line.startswith("In use at the time")]
    assert re.search(r"[\d.]+ Mb\(s\) in \d+ block\(s\) of PTA \([\d.]+ reserved\); 6\.0+ Mb\(s\) from the driver", held)

    details = [row for row in rows if row.event == "OOM_DETAIL"]
    for title, kind in (("Most recent live blocks:", "OOM_RECENT_ALLOC"), ("Largest live blocks:", "OOM_TOP_ALLOC")):
        found = blocks(lines, title)
        assert [(b[0], b[1], b[2]) for b in found] == [
            (row.number("size"), int(row.attr["ptr"], 16), row.attr["pool"]) for row in details if row.type == kind]
        assert len(found) == 3
        assert all(" < " in place and ".c:" in place for *_, place in found), found
    # The pool retries at once: failures are counted, details are printed once.
    triggers = [row for row in rows if row.type == "OOM_TRIGGER"]
    assert f"====== SUMMARY: {len(triggers)} request(s) refused, the largest of 65538 Mb(s) ======" in whole
    assert "\n".join(lines).count("was refused") == 1


def test_listed_blocks_match_dump(refused):
    """The most recent and the largest ones, computed from the dump alone."""
    lines, _, rows = refused("--analysis=oom:7", "--call-stack=c")
    trigger = next(row for row in rows if row.type == "OOM_TRIGGER")
    live = {}
    for row in rows:
        if row.id < trigger.id and row.device == "0" and row.type in ("HAL", "PTA", "PTA_WORKSPACE"):
            key = (row.type, row.ptr)
            if row.event == "MALLOC":
                live[key] = row
            elif row.event == "FREE":
                del live[key]
    recent = sorted(live.values(), key=lambda row: -row.id)[:7]
    largest = sorted(live.values(), key=lambda row: (-row.number("size"), row.id))[:7]
    essence = lambda row: (row.number("size"), int(row.ptr, 16), row.type)
    assert [b[:3] for b in blocks(lines, "Most recent live blocks:")] == [essence(row) for row in recent]
    assert [b[:3] for b in blocks(lines, "Largest live blocks:")] == [essence(row) for row in largest]


def test_oom_outside_selected_steps_is_reported(refused):
    lines, whole, _ = refused("--analysis=oom", "--steps=2")
    assert lines and "memory leaks" not in whole


@pytest.mark.parametrize("options,example,expect", [(["--analysis=leaks"], ["--steps", 4, "--oom"], 1),
                                                    (["--analysis=oom"], ["--steps", 2], 0)], ids=["not asked", "enough"])
def test_no_report_without_oom(refused, options, example, expect):
    lines, whole, _ = refused(*options, example=example, expect=expect)
    assert not lines and "refused" not in whole
