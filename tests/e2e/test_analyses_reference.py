# SPDX-License-Identifier: Apache-2.0
"""The analyses of a recording on random events, against independent references: owners, inefficient blocks, out-of-memory
reports. Events pass through the model like those of a recording (model_test --dump)."""

import random
import subprocess

import pytest

from recorder import read_dump
from reference_inefficient import reference

LEVELS = {1: "component", 2: "process", 3: "detail", 5: "user", 6: "user", 7: "user"}


@pytest.fixture
def replay(build, tmp_path):
    def run(events, options):
        case = tmp_path / "case.txt"
        case.write_text(f"options {options}\n" + "\n".join(events) + "\n--- device_0\n")
        done = subprocess.run([build / "tests/unit/model_test", "--dump", "csv", case, tmp_path], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        directory = done.stdout.strip().splitlines()[-1]
        paths = sorted((tmp_path / directory).glob("device_*/dump/memscope_dump_*.csv"))
        rows = {}
        for path in paths:  # rows without a device are in every file
            rows |= {row.id: row for row in read_dump(path)}
        return [rows[i] for i in sorted(rows)]
    return run


class Events:
    """Random events, and a slow record of owners."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.lines, self.blocks, self.owners, self.labels = [], [], [], {}
        self.next_addr, self.open = 0x100000, set()

    def owner(self, block):
        labels, text = block["labels"], block["pool"]
        if 3 in labels:
            text += "@model@" + labels[3]
        elif block["accessed"]:
            text += "@ops@aten"
        return text + "".join("@" + labels[level] for level in (1, 2, 5, 6, 7) if level in labels)

    def alloc(self):
        pool, tid = self.rng.choice(("PTA", "PTA", "ATB", "HOST")), self.rng.choice((42, 43))
        size = self.rng.choice((512, 1024, 4096, 65536))
        labels = {level: stack[-1] for level, stack in self.labels.get(tid, {}).items() if level < 5 and stack}
        for level, label in zip((5, 6, 7), self.labels.get(tid, {}).get(5, [])):
            labels[level] = label
        block = {"pool": pool, "addr": self.next_addr, "size": size, "labels": labels, "accessed": False, "number": len(self.owners)}
        self.next_addr += 0x20000
        self.blocks.append(block)
        self.owners.append(None)
        device = "cpu" if pool == "HOST" else 0
        self.lines.append(f"pool_alloc pool={pool} dev={device} tid={tid} addr={block['addr']:#x} size={size}")

    def free(self, block):
        self.owners[block["number"]] = self.owner(block)
        self.blocks.remove(block)
        device = " dev=cpu" if block["pool"] == "HOST" else ""
        self.lines.append(f"pool_free pool={block['pool']}{device} addr={block['addr']:#x}")

    def access(self, block):
        block["accessed"] = block["accessed"] or block["pool"] in ("PTA", "HOST")
        inside = block["addr"] + self.rng.choice((0, 16, block["size"] - 1))
        device = "cpu" if block["pool"] == "HOST" else 0
        self.lines.append(f"access pool={block['pool']} dev={device} addr={inside:#x} size=16 type={self.rng.randrange(3)} text=op")

    def label(self):
        tid, level = self.rng.choice((42, 43)), self.rng.choice((1, 2, 3, 5))
        stack = self.labels.setdefault(tid, {}).setdefault(level, [])
        if stack and self.rng.random() < 0.5:
            self.lines.append(f"label_pop tid={tid} value={level} text={stack.pop()}")
        elif len(stack) < 3:
            label = self.rng.choice("abcdef") + str(level) + str(len(stack))
            stack.append(label)
            self.lines.append(f"label_push tid={tid} value={level} text={label}")

    def address_label(self, block):
        """Any address inside the block works; PTA blocks and CPU tensors."""
        level, label = self.rng.choice((1, 2, 3, 5, 6, 7)), "at" + str(self.rng.randrange(9))
        inside = block["addr"] + self.rng.choice((0, 8, block["size"] - 1))
        if block["pool"] in ("PTA", "HOST"):
            block["labels"][level] = label
        self.lines.append(f"addr_label dev=0 addr={inside:#x} value={level} text={label}")

    def operator(self):
        framework = self.rng.choice(("aten", "aten", "atb"))
        if framework in self.open:
            self.open.discard(framework)
            self.lines.append('mark dev=0 text="memscope-aten-e: name=op"' if framework == "aten" else "op_end dev=0 text=op")
        else:
            self.open.add(framework)
            self.lines.append('mark dev=0 text="memscope-aten-b: name=op"' if framework == "aten" else "op_start dev=0 text=op")

    def make(self, count):
        for _ in range(count):
            what = self.rng.random()
            block = self.rng.choice(self.blocks) if self.blocks else None
            if what < 0.2 or block is None:
                self.alloc()
            elif what < 0.35:
                self.free(block)
            elif what < 0.65:
                self.access(block)
            elif what < 0.8:
                self.operator()
            elif what < 0.9:
                self.label()
            else:
                self.address_label(block)
        for block in self.blocks:
            self.owners[block["number"]] = self.owner(block)
        return self.lines


@pytest.mark.parametrize("seed", range(8))
def test_owners_and_inefficient_blocks(replay, seed):
    events = Events(seed)
    rows = replay(events.make(500), "analysis=decompose,inefficient device=npu,cpu")
    allocations = [row for row in rows if row.event == "MALLOC"]
    assert [row.attr["owner"] for row in allocations] == events.owners
    found = {(row.pid, row.id): row.attr["inefficient_type"].split(",") for row in allocations if "inefficient_type" in row.attr}
    assert found == reference(rows) and found
    assert any(row.type == "HOST" and "inefficient_type" in row.attr for row in allocations) or seed


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("k", [3, 1000])
def test_out_of_memory(replay, seed, k):
    rng = random.Random(seed)
    lines, live, number, now = [], [], 0, 1000000
    for _ in range(200):
        number, now = number + 1, now + rng.choice((1000, 1000, 900000000))
        what = rng.random()
        if what < 0.5 or not live:
            kind, device, size = rng.choice((("PTA", 0), ("PTA", 1), ("HAL", 0), ("ATB", 0), ("HOST", "cpu"))) + (rng.choice((512, 1024, 4096)),)
            live.append((kind, device, number * 0x10000))
            if kind == "HAL":
                lines.append(f"hal_alloc at={now} addr={number * 0x10000:#x} size={size} flag=0 c={number}")
            else:
                lines.append(f"pool_alloc at={now} pool={kind} dev={device} addr={number * 0x10000:#x} size={size} c={number}")
        elif what < 0.85:
            kind, device, addr = live.pop(rng.randrange(len(live)))
            lines.append(f"hal_free at={now} addr={addr:#x}" if kind == "HAL" else
                         f"pool_free at={now} pool={kind}{' dev=cpu' if kind == 'HOST' else ''} addr={addr:#x}")
        else:
            lines.append(f"oom at={now} dev=0 function={rng.choice((1, 2))} size=64M flag=7 c=9999")
    rows = replay(lines, f"analysis=oom oom={k} device=npu,cpu")
    blocks, reported_at, at = {}, None, 0
    triggers = details = 0
    while at < len(rows):
        row = rows[at]
        at += 1
        if row.event == "MALLOC":
            blocks[row.attr["allocation_id"]] = row
        elif row.event == "FREE":
            blocks.pop(row.attr["allocation_id"])
        elif row.type == "OOM_TRIGGER":
            triggers += 1
            assert row.attr["req_size"] == str(64 << 20) and row.attr["func"] in ("halMemAlloc", "halMemCreate") and row.c_stack
            if reported_at is not None and row.time - reported_at < 2 * 10**9:
                continue
            reported_at = row.time
            details += 1
            wanted = [b for b in blocks.values() if b.type == "HAL" or (b.type in ("PTA", "ATB") and b.device == "0")]
            recent = sorted(wanted, key=lambda b: -b.time)[:k]
            largest = sorted(wanted, key=lambda b: (-b.number("size"), int(b.attr["allocation_id"])))[:k]
            for kind, expected in (("OOM_RECENT_ALLOC", recent), ("OOM_TOP_ALLOC", largest)):
                got = rows[at:at + len(expected)]
                at += len(expected)
                assert [g.type for g in got] == [kind] * len(expected)
                assert [(g.attr["pool"], g.attr["ptr"], g.attr["size"], g.attr["timestamp"], g.c_stack) for g in got] == \
                    [(e.type, e.ptr, e.attr["size"], str(e.time), e.c_stack) for e in expected]
        else:
            assert row.type not in ("OOM_RECENT_ALLOC", "OOM_TOP_ALLOC")
    assert triggers > details > 0
