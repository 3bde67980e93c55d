# SPDX-License-Identifier: Apache-2.0
"""The rows of torch_npu's memory pools: each equals what torch_npu itself reports, block by block and at every step."""

import json
import textwrap

import pytest
from torch_runs import program

# Prints the state of the allocator after each phase; phases are separated by marks in the recording.
REPORT = """
    import json
    import torch
    import torch_npu
    import mstx

    def report(name):
        torch.npu.synchronize()
        blocks = {}
        for segment in torch.npu.memory._snapshot()["segments"]:
            address = segment["address"]
            for block in segment["blocks"]:
                if block["state"] == "active_allocated":
                    blocks[f"{segment['device']}:{address}"] = block["size"]
                address += block["size"]
        mstx.mark(name)
        print(json.dumps({"name": name, "blocks": blocks,
                          "devices": {str(device): [torch.npu.memory_reserved(device), torch.npu.memory_allocated(device)]
                                      for device in range(torch.npu.device_count())}}), flush=True)
"""


def phases(done):
    decode = json.JSONDecoder().raw_decode  # the recorder may append to a line
    return [decode(line)[0] for line in done.stdout.splitlines() if line.startswith("{")]


def states(rows, names):
    """At each mark: live blocks, and total and used of the last row, per device."""
    live, levels, found = {}, {}, {}
    for row in sorted(rows, key=lambda row: row.time):
        if row.event == "MSTX" and row.name in names:
            found[row.name] = (dict(live), dict(levels))
        elif row.type == "PTA" and row.event in ("MALLOC", "FREE") and "shadow" not in row.attr:
            place = f"{row.device}:{int(row.ptr, 16)}"
            if row.event == "MALLOC":
                assert place not in live
                live[place] = row.number("size")
            else:
                assert live.pop(place) == row.number("size")
            levels[row.device] = (row.number("total"), row.number("used"))
    return found


def compare(recording, torch_npu, body, *options, **env):
    """Runs a program that reports phases; every one must be in the rows as torch_npu says."""
    script = program(recording.output.parent, textwrap.dedent(REPORT) + textwrap.dedent(body))
    done = recording.run("--events=alloc,free", *options, "--", torch_npu, script, **env)
    assert done.returncode == 0, done.stderr
    expected = phases(done)
    rows = recording.rows()
    found = states(rows, {phase["name"] for phase in expected})
    assert len(expected) > 1
    for phase in expected:
        blocks, levels = found[phase["name"]]
        assert blocks == phase["blocks"], phase["name"]
        for device, (reserved, allocated) in phase["devices"].items():
            total, used = levels.get(device, (0, 0))
            assert used == allocated, phase["name"]
            assert total == reserved or phase["name"] == "emptied", phase["name"]  # empty_cache reports nothing
    return rows, expected


RANDOM = """
    import random
    random.seed(1)
    kept = []
    streams = [torch.npu.current_stream(), torch.npu.Stream()]
    for phase in range(12):
        for _ in range(30):
            if kept and random.random() < 0.45:
                kept.pop(random.randrange(len(kept)))
            else:
                with torch.npu.stream(random.choice(streams)):
                    size = int(2 ** random.uniform(0, 26))
                    kept.append(torch.empty(size, dtype=torch.uint8, device="npu"))
                    if random.random() < 0.2:
                        kept[-1].record_stream(random.choice(streams))
        report(f"phase {phase}")
"""


@pytest.mark.parametrize("conf", ["", "max_split_size_mb:32", "expandable_segments:True", "garbage_collection_threshold:0.6"])
def test_rows_equal_the_allocators_view(recording, torch_npu, conf):
    rows, _ = compare(recording, torch_npu, RANDOM, **({"PYTORCH_NPU_ALLOC_CONF": conf} if conf else {}))
    assert sum(row.type == "PTA" for row in rows) > 300


def test_emptied_cache_shows_in_the_next_row(recording, torch_npu):
    rows, expected = compare(recording, torch_npu, """
        first, second = torch.empty((30 << 20) - 32, dtype=torch.uint8, device="npu"), torch.empty(100, device="npu")
        report("both")
        del first
        torch.npu.empty_cache()
        report("emptied")
        third = torch.empty(100, device="npu")
        report("again")
    """)
    assert expected[0]["devices"]["0"][0] == 32 << 20 and expected[1]["devices"]["0"][0] == 2 << 20
    gone = [row for row in rows if row.event == "FREE" and row.type == "HAL" and "shadow" not in row.attr]
    assert [row.number("size") for row in gone] == [30 << 20]


def test_devices_have_their_own_pools(recording, torch_npu):
    compare(recording, torch_npu, """
        first = torch.empty(5000, device="npu:0")
        second = torch.empty(7000000, device="npu:1")
        report("both")
        third = torch.empty(600, device="npu:1")
        del first
        report("second only")
    """, SOFTNPU_DEVICES=2)


def test_names_of_visible_devices(recording, torch_npu):
    """ASCEND_RT_VISIBLE_DEVICES renumbers devices; rows have the numbers of the driver."""
    script = program(recording.output.parent, """
        import torch
        import torch_npu
        tensor = torch.empty(5000, device="npu:0")
    """)
    done = recording.run("--events=alloc,free", "--", torch_npu, script, SOFTNPU_DEVICES=4, ASCEND_RT_VISIBLE_DEVICES="2,3")
    assert done.returncode == 0, done.stderr
    assert {row.device for row in recording.rows() if row.type in ("PTA", "HAL") and row.event == "MALLOC"} == {"2"}


def test_frees_at_exit_do_not_count(recording, torch_npu):
    """The interpreter destroys its objects at exit, after aclFinalize: what lives until then is kept memory."""
    script = program(recording.output.parent, """
        import torch
        import torch_npu
        kept = torch.empty(5000, device="npu")
        gone = torch.empty(7000, device="npu")
        del gone
    """)
    done = recording.run("--events=alloc,free", "--", torch_npu, script)
    assert done.returncode == 0, done.stderr
    rows = [row for row in recording.rows() if row.type == "PTA"]
    freed = [(row.number("size"), "shadow" in row.attr) for row in rows if row.event == "FREE"]
    assert freed == [(28160, False), (20480, True)]  # the last one is the end of the recording
