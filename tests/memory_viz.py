# SPDX-License-Identifier: Apache-2.0
"""A reader of PyTorch memory snapshots: accepts built-in types only, checks the file against the documented schema, and
replays it in both directions as the viewer does. Everything the viewer relies on is asserted."""

import bisect
import io
import pickle
import pickletools

# Supported by the JavaScript reader of pytorch.org/memory_viz.
KNOWN_OPS = {"PROTO", "APPEND", "APPENDS", "LIST", "TUPLE", "NEWFALSE", "NEWTRUE", "NONE", "BINGET", "BININT", "BININT1", "BININT2",
             "EMPTY_DICT", "EMPTY_LIST", "FRAME", "LONG1", "LONG_BINGET", "MARK", "MEMOIZE", "BINPUT", "LONG_BINPUT", "SETITEMS",
             "SETITEM", "DICT", "SHORT_BINUNICODE", "BINUNICODE", "STOP", "EMPTY_TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "BINFLOAT"}
BATCH_MAX = 1000  # items per append: it spreads them as arguments
ACTIONS = {"alloc", "free_requested", "free_completed", "segment_alloc", "segment_free", "segment_map", "segment_unmap", "oom",
           "snapshot"}


class Restricted(pickle.Unpickler):
    def find_class(self, module, name):
        raise AssertionError(f"the file wants {module}.{name}")


def check_frames(frames):
    assert isinstance(frames, list)
    for frame in frames:
        assert set(frame) == {"filename", "line", "name"}, frame
        assert isinstance(frame["filename"], str) and isinstance(frame["line"], int) and isinstance(frame["name"], str)


def check_segment(segment, devices):
    assert set(segment) == {"device", "address", "total_size", "stream", "segment_type", "segment_pool_id", "is_expandable",
                            "frames", "blocks", "allocated_size", "active_size", "requested_size"}
    assert 0 <= segment["device"] < devices and segment["segment_type"] in ("small", "large")
    assert isinstance(segment["is_expandable"], bool) and segment["segment_pool_id"] == (0, 0)
    check_frames(segment["frames"])
    at = segment["address"]
    for block in segment["blocks"]:
        assert set(block) == {"address", "size", "requested_size", "state", "frames"}
        assert block["address"] == at and block["size"] > 0 and block["state"] in ("active_allocated", "inactive")
        check_frames(block["frames"])
        at += block["size"]
    assert at == segment["address"] + segment["total_size"]
    active = sum(block["size"] for block in segment["blocks"] if block["state"] == "active_allocated")
    assert active == segment["allocated_size"] == segment["active_size"]


def check_entry(entry):
    assert entry["action"] in ACTIONS
    where = "device_free" if entry["action"] == "oom" else "addr"
    assert set(entry) - {"category"} == {"action", where, "size", "stream", "frames", "time_us"}, entry
    assert all(isinstance(entry[key], int) for key in (where, "size", "stream", "time_us"))
    assert isinstance(entry.get("category", ""), str)
    check_frames(entry["frames"])


def segment_at(segments, addr):
    starts = sorted(segments)
    i = bisect.bisect_right(starts, addr) - 1
    return i >= 0 and addr < starts[i] + segments[starts[i]]


def replay(entries):
    """Replays forwards. Returns (segments, blocks, maximum of bytes in blocks)."""
    segments, blocks, used, peak = {}, {}, 0, 0
    for entry in entries:
        action, addr, size = entry["action"], entry.get("addr"), entry["size"]
        if action in ("segment_alloc", "segment_map"):
            assert size > 0 and not any(addr < other + s and other < addr + size for other, s in segments.items())
            segments[addr] = size
        elif action in ("segment_free", "segment_unmap"):
            assert segments.pop(addr) == size
            assert not any(addr <= block < addr + size for block in blocks)
        elif action == "alloc":
            assert addr not in blocks and segment_at(segments, addr), entry
            blocks[addr] = size
            used += size
            peak = max(peak, used)
        elif action == "free_requested":
            assert blocks[addr] == size
        elif action == "free_completed":
            used -= blocks.pop(addr)
    return segments, blocks, peak


def load(path):
    """Checks and returns the snapshot."""
    data = path.read_bytes()
    batch = 0
    for opcode, _, _ in pickletools.genops(data):
        assert opcode.name in KNOWN_OPS, opcode.name
        batch = 0 if opcode.name in ("MARK", "APPENDS") else batch + (opcode.name == "EMPTY_DICT")
        assert batch <= BATCH_MAX
    assert data[:2] == b"\x80\x04"
    snapshot = Restricted(io.BytesIO(data)).load()
    assert set(snapshot) == {"segments", "device_traces", "external_annotations", "npuscope"}
    about = snapshot["npuscope"]
    assert set(about) == {"version", "process", "pid", "devices", "nested_blocks"} and about["version"] == 1
    assert len(about["devices"]) == len(snapshot["device_traces"])
    categories = set()
    for segment in snapshot["segments"]:
        check_segment(segment, len(snapshot["device_traces"]))
    for device, entries in enumerate(snapshot["device_traces"]):
        for entry in entries:
            check_entry(entry)
            categories |= {entry["category"]} if "category" in entry else set()
        segments, blocks, _ = replay(entries)
        final = [segment for segment in snapshot["segments"] if segment["device"] == device]
        assert sum(segments.values()) == sum(segment["total_size"] for segment in final)
        live = {block["address"]: block["size"] for segment in final for block in segment["blocks"]
                if block["state"] == "active_allocated"}
        assert {addr for addr in blocks} <= set(live)
        assert sum(blocks.values()) >= sum(live.values())  # blocks that extend beyond their segment are trimmed
    assert not categories or "unknown" in categories  # required by the viewer
    for annotation in snapshot["external_annotations"]:
        assert set(annotation) - {"device"} == {"name", "stage", "time_us"} and annotation["stage"] in ("START", "END", "MARK")
    return snapshot
