# SPDX-License-Identifier: Apache-2.0
"""Everything at once: eight threads, two devices, all events, both stacks. The rows must be consistent."""

import collections

import pytest

from recorder import read_dump

EVERYTHING = ("--events=alloc,free,launch,access", "--level=op,kernel", "--call-stack=c,python", "--analysis=leaks,decompose")


@pytest.fixture(params=["csv", "db"])
def dumps(recording, request, build):
    recording.options[1:] = [f"--format={request.param}", *EVERYTHING]
    done = recording.run(build / "examples" / "acl-train", "--devices", 2, "--loaders", 7, "--steps", 3,
                         SOFTNPU_DEVICES=2)
    assert done.returncode == 0, done.stderr
    assert "ERROR" not in done.stdout  # nothing leaks
    assert [p["lost"] + p["gaps"] + p["damages"] for p in recording.info()] == [0, 0]
    found = {path.parent.parent.name: read_dump(path) for path in recording.dumps()}
    assert sorted(found) == ["device_0", "device_1"]
    return found


def check_order(rows):
    """Ids are unique and ascending; times ascend, except those measured by the device."""
    assert [r.id for r in rows] == sorted({r.id for r in rows})
    times = [r.time for r in rows if not r.type.startswith("KERNEL_EXECUTE")]
    assert all(a < b for a, b in zip(times, times[1:]))


def check_blocks(rows, device):
    """A block has one MALLOC and then one FREE, which agree; live blocks of one kind never overlap; the totals in rows equal the
    sum of live blocks."""
    live, seen, used = {}, set(), collections.Counter()
    by_address = collections.defaultdict(dict)
    for row in rows:
        if row.event == "ACCESS" and "allocation_id" in row.attr:
            block = live[row.attr["allocation_id"]]
            begin, at = int(block.ptr, 16), int(row.ptr, 16)
            assert begin <= at < begin + block.number("size"), row
            assert block.type == row.attr["type"], row
        if row.event not in ("MALLOC", "FREE"):
            continue
        assert row.device == device and row.attr["addr"] == row.ptr, row
        number, size = row.attr["allocation_id"], row.number("size")
        if row.event == "MALLOC":
            assert number not in seen, row
            seen.add(number)
            live[number] = row
            assert row.ptr not in by_address[row.type], row
            by_address[row.type][row.ptr] = row
            used[row.type] += size
        else:
            malloc = live.pop(number)
            assert (malloc.ptr, malloc.type, malloc.number("size")) == (row.ptr, row.type, size), row
            del by_address[row.type][row.ptr]
            used[row.type] -= size
        assert row.number("used") == used[row.type], row
        if row.type != "HAL":
            assert row.number("total") >= used[row.type], row
    assert [int(n) for n in sorted(seen, key=int)] == list(range(1, len(seen) + 1))
    assert not live
    return len(seen)


def check_overlap(rows):
    """Live blocks of one kind never overlap."""
    for kind in {r.type for r in rows if r.event == "MALLOC"}:
        spans = {}
        for row in (r for r in rows if r.event in ("MALLOC", "FREE") and r.type == kind):
            begin = int(row.ptr, 16)
            if row.event == "FREE":
                del spans[begin]
                continue
            end = begin + row.number("size")
            assert not any(begin < other_end and other < end for other, other_end in spans.items()), row
            spans[begin] = end


def check_threads(rows):
    """Operators of a thread are properly nested; every thread has allocated, with a stack."""
    open_operators = collections.defaultdict(list)
    for row in rows:
        if row.type == "ATEN_START":
            open_operators[row.tid].append(row.name)
        elif row.type == "ATEN_END":
            assert open_operators[row.tid].pop() == row.name, row
    assert not any(open_operators.values())
    mallocs = [r for r in rows if r.event == "MALLOC" and r.type == "PTA"]
    assert len({r.tid for r in mallocs}) == 8
    assert all("acl-train" in r.c_stack for r in mallocs)
    assert all(r.attr["owner"].startswith("PTA") for r in mallocs)


def check_kernels(rows):
    """Each kernel run has one earlier launch, and each launch one run."""
    def keys(kind):
        return collections.Counter((r.name, r.attr["streamId"], r.attr["taskId"]) for r in rows if r.type == kind)

    assert keys("KERNEL_LAUNCH") == keys("KERNEL_EXECUTE_START") == keys("KERNEL_EXECUTE_END") != {}


def test_rows_are_consistent(dumps):
    for name, rows in dumps.items():
        assert len({r.pid for r in rows}) == 1
        check_order(rows)
        assert check_blocks(rows, name[-1]) > 300
        check_overlap(rows)
        check_threads(rows)
        check_kernels(rows)
        for event in ("OP_LAUNCH", "ACCESS", "KERNEL_LAUNCH", "MSTX", "SYSTEM"):
            assert any(r.event == event for r in rows), event
