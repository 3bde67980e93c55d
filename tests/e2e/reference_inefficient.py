# SPDX-License-Identifier: Apache-2.0
"""A second, slow implementation of the definitions of inefficient memory: every event of a block is kept, and the history
of the whole process is searched for each query. Rows are recorder.Row objects.

It shares nothing with the analysis that it checks.
"""

NAMES = ("early_allocation", "late_deallocation", "temporary_idleness")


class Memory:
    """One kind of memory of one process: its calls, numbered from 1, and what happened in each."""

    def __init__(self):
        self.calls = []       # per call: the set of its events
        self.ended = []       # numbers of calls, in the order of their ends
        self.operator = False

    def begin(self):
        """Starts a call; it takes over what an operator that has not ended contained."""
        self.calls.append(set(self.calls[-1]) if self.operator else set())
        self.operator = True

    def end(self):
        if self.calls:
            self.ended.append(len(self.calls))
        self.operator = False

    def happens(self, what):
        """Records an event; returns the number of its call."""
        if not self.operator:
            self.calls.append(set())
        return len(self.calls)

    def happened(self, what):
        self.calls[-1].add(what)
        if not self.operator:
            self.ended.append(len(self.calls))

    def last(self, what):
        """The last ended call with such an event."""
        for number in reversed(self.ended):
            if what in self.calls[number - 1]:
                return number
        return None


def reference(rows, idle=3000, min_size=0, names=NAMES):
    """(process, id of the MALLOC row) -> names, in order of detection."""
    found, memories, blocks = {}, {}, {}

    def memory(pid, kind):
        return memories.setdefault((pid, kind), Memory())

    for row in sorted(rows, key=lambda r: r.id):
        if row.event == "OP_LAUNCH":
            framework, what = row.type.split("_")
            for kind in {"ATEN": ("PTA", "HOST"), "ATB": ("ATB",)}[framework]:
                memory(row.pid, kind).begin() if what == "START" else memory(row.pid, kind).end()
            continue
        if row.event not in ("MALLOC", "ACCESS", "FREE"):
            continue
        key = row.pid, row.attr["allocation_id"]
        if row.event != "ACCESS" and (row.type not in ("PTA", "ATB", "HOST") or "pinned" in row.attr):
            continue
        if "shadow" in row.attr and row.event != "ACCESS":
            blocks.pop(key, None)
            continue
        if row.event == "MALLOC":
            blocks[key] = {"kind": row.type, "events": [], "row": row.id, "size": row.number("size"), "found": []}
        block = blocks.get(key)
        kind = block["kind"] if block else row.attr.get("type", "PTA") if row.event == "ACCESS" else row.type
        if kind not in ("PTA", "ATB", "HOST"):
            continue
        m = memory(row.pid, kind)
        call = m.happens(row.event)
        if block:
            block["events"].append((row.event, call))
            events = block["events"]
            new = []
            if row.event == "ACCESS":
                start = events[0][1]
                others = [c for e, c in events if e == "ACCESS" and c != start]
                freed = m.last("FREE")
                if others and freed is not None and start != freed and start < freed < others[0]:
                    new.append("early_allocation")
                if events[-2][0] == "ACCESS" and call - events[-2][1] > idle:
                    new.append("temporary_idleness")
            elif row.event == "FREE" and events[-2][0] == "ACCESS":
                allocated = m.last("MALLOC")
                if events[-2][1] != call and allocated is not None and events[-2][1] < allocated < call:
                    new.append("late_deallocation")
            for name in new:
                if name not in block["found"]:
                    block["found"].append(name)
                    if name in names and block["size"] >= min_size:
                        found.setdefault((row.pid, block["row"]), []).append(name)
        m.happened(row.event)
        if row.event == "FREE":
            blocks.pop(key, None)
    return found
