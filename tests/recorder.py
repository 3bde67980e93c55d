# SPDX-License-Identifier: Apache-2.0
"""Recordings in tests: runs msmemscope as users do, and reads its output."""

import csv
import json
import os
import pathlib
import re
import sqlite3
import time

COLUMNS = ("ID", "Event", "Event Type", "Name", "Timestamp(ns)", "Process Id", "Thread Id", "Device Id", "Ptr", "Attr",
           "Call Stack(Python)", "Call Stack(C)")


def wait_until(condition, what="the condition", seconds=30):
    """Polls a condition until it is true; fails the test on timeout."""
    deadline = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        assert time.monotonic() < deadline, f"timeout after {seconds} s: {what}"
        time.sleep(0.01)


def children_of(pid):
    try:
        return [int(p) for task in pathlib.Path(f"/proc/{pid}/task").iterdir() for p in (task / "children").read_text().split()]
    except OSError:
        return []


def collector_of(output):
    """Pid of the process that holds the output directory open."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            if not open(f"/proc/{entry}/cmdline").read().endswith("msmemscope-collector\0--collect\0"):
                continue
            if any(os.readlink(f"/proc/{entry}/fd/{fd}") == str(output) for fd in os.listdir(f"/proc/{entry}/fd")):
                return int(entry)
        except OSError:
            continue
    return None


class Row:
    """A row of a dump in either format. Attribute values are strings, as in the files."""

    def __init__(self, cells):
        self.id, self.event, self.type, self.name = int(cells[0]), cells[1], cells[2], cells[3].strip('"')
        self.time, self.pid, self.tid = int(cells[4]), str(cells[5]), str(cells[6])
        self.device, self.ptr, self.python_stack, self.c_stack = str(cells[7]), cells[8], cells[10], cells[11]
        text = cells[9] or "{}"
        if text.startswith('{"') or text == "{}":
            self.attr = json.loads(text)
        else:
            self.attr = dict(re.findall(r"(\w+):(.*?)(?=,\w+:|$)", text[1:-1]))

    def number(self, key):
        return int(self.attr[key])

    def __repr__(self):
        return f"<{self.id} {self.event} {self.type} {self.name} t{self.tid} d{self.device} {self.ptr} {self.attr}>"


def read_dump(path):
    if path.suffix == ".db":
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
            return [Row(cells) for cells in db.execute("SELECT * FROM memscope_dump ORDER BY rowid")]
    with open(path, newline="") as f:
        lines = list(csv.reader(f))
    assert tuple(lines[0]) == COLUMNS
    return [Row(cells) for cells in lines[1:]]


class Recorder:
    """msmemscope on a separate machine, writing below one directory."""

    def __init__(self, softnpu, home, output):
        self.softnpu, self.output = softnpu, output
        self.command = str(home / "bin" / "msmemscope")

    def argv(self, *program, options=()):
        return [self.command, "--quiet", f"--output={self.output}", *options, "--", *map(str, program)]

    def run(self, *program, options=(), timeout=120, **more):
        return self.softnpu.run(*self.argv(*program, options=options), timeout=timeout, **more)

    def start(self, *program, options=(), **more):
        return self.softnpu.start(*self.argv(*program, options=options), **more)

    def tool(self, command, *arguments, **more):
        """info, export, recover."""
        return self.softnpu.run(self.command, command, self.output, *arguments, **more)

    def info(self):
        found = self.tool("info", "--json")
        return json.loads(found.stdout) if found.returncode == 0 else []

    def dumps(self, suffix="csv"):
        return sorted(self.output.glob(f"*/device_*/dump/memscope_dump_*.{suffix}"))

    def rows(self, path=None):
        """Rows of the one CSV file, as dictionaries."""
        if path is None:
            (path,) = self.dumps()
        with open(path, newline="") as file:
            return list(csv.DictReader(file))


class Recording(Recorder):
    """A Recorder with a user-style command line, and the rows of all files in either format."""

    def __init__(self, softnpu, home, output, *options):
        super().__init__(softnpu, home, output)
        self.options = [f"--output={output}", *options]

    def argv(self, *arguments, options=()):
        """[OPTION... --] PROGRAM [ARGUMENT...]"""
        arguments = [str(a) for a in arguments]
        split = arguments.index("--") if "--" in arguments else -1
        return [self.command, *self.options, *options, *arguments[:max(split, 0)], "--", *arguments[split + 1:]]

    def count(self, kind):
        """Number of events of one kind, per process."""
        return sorted(p["kinds"].get(kind, 0) for p in self.info())

    def dumps(self):
        return sorted(p for p in self.output.glob("*/device_*/dump/memscope_dump_*") if p.suffix in (".csv", ".db"))

    def rows(self):
        return [row for path in self.dumps() for row in read_dump(path)]
