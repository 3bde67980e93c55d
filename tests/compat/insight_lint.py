# SPDX-License-Identifier: Apache-2.0
"""Opens a dump as MindStudio Insight does: the same file checks, queries, and rules to derive blocks and curves from events.

    insight_lint.py FILE.db...          exit status 1 and one line per finding if Insight would refuse or misread it

Changes that Insight makes (it adds its tables and writes user_version) are made in an in-memory copy.
"""
import json
import os
import re
import sqlite3
import stat
import sys

NAME = re.compile(r"^(memscope|leaks)_dump_\d+\.db$")
COLUMNS = ["ID", "Event", "Event Type", "Name", "Timestamp(ns)", "Process Id", "Thread Id", "Device Id", "Ptr", "Attr",
           "Call Stack(Python)", "Call Stack(C)"]
NO_DEVICE = ("N/A", "", "host")
# Types that the decomposition view accepts; HOST (CPU tensors) is npuscope's and appears only in the other views.
MEMORY_TYPES = {"PTA", "MINDSPORE", "ATB", "HAL", "PTA_WORKSPACE", "HOST_PINNED"}
EXEMPT_TYPES = {"HOST"}
EVENT_TYPES = {
    "ACCESS": {"READ", "WRITE", "UNKNOWN"},
    "OP_LAUNCH": {"ATEN_START", "ATEN_END", "ATB_START", "ATB_END"},
    "KERNEL_LAUNCH": {"KERNEL_LAUNCH", "KERNEL_EXECUTE_START", "KERNEL_EXECUTE_END", "KERNEL_START", "KERNEL_END"},
    "SYSTEM": {"ACL_INIT", "ACL_FINI", "START_TRACE", "STOP_TRACE", "STEP"},
    "MSTX": {"Mark", "Range_start", "Range_end"},
}
FOREIGN_TABLES = ("memory_block", "memory_allocation", "status_info")


class Block:
    def __init__(self, row, size, attr):
        self.row, self.size, self.attr = row, size, attr
        self.end = None
        self.accesses = []


class Lint:
    def __init__(self, path):
        self.path = str(path)
        self.findings = []
        self.blocks = []
        self.curves = {}

    def say(self, text):
        self.findings.append(text)

    # -- the file --

    def check_file(self):
        if not NAME.match(os.path.basename(self.path)):
            self.say("the name is not recognised")
        status = os.lstat(self.path)
        if not stat.S_ISREG(status.st_mode):
            self.say("not a regular file")
        if status.st_mode & 0o022:
            self.say("writable by others")
        if not status.st_mode & 0o200 or not os.access(os.path.dirname(os.path.abspath(self.path)), os.W_OK):
            self.say("file or directory is not writable")
        for side in ("-wal", "-shm", "-journal"):
            if os.path.exists(self.path + side):
                self.say(f"a leftover file {side} exists")

    # -- the schema --

    def check_schema(self, db):
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        if "memscope_dump" not in tables:
            self.say("no table memscope_dump")
            return False
        for name in FOREIGN_TABLES:
            if name in tables:
                self.say(f"table {name} is Insight's own")
        if db.execute("PRAGMA user_version").fetchone()[0] != 0:
            self.say("user_version is not 0")
        if db.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
            self.say("journal mode is WAL")
        if db.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
            self.say("the database is damaged")
        names = [row[1] for row in db.execute("PRAGMA table_info(memscope_dump)")]
        if names[:len(COLUMNS)] != COLUMNS:
            self.say(f"columns are {names}")
            return False
        return True

    # -- problems that make the whole import fail --

    def check_import(self, db):
        low, high = db.execute('SELECT MIN("Timestamp(ns)"), MAX("Timestamp(ns)") FROM memscope_dump '
                               'WHERE "Timestamp(ns)" != \'N/A\'').fetchone()
        if low is None or low <= 0:
            self.say("times begin at 0, or there are none")
            return
        for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'python_trace_%'"):
            low2, high2 = db.execute(f'SELECT MIN("StartTime(ns)"), MAX("EndTime(ns)") FROM {table} WHERE '
                                     '"StartTime(ns)" != \'N/A\' AND "EndTime(ns)" != \'N/A\'').fetchone()
            if low2 is None:
                self.say(f"{table} has no call with start and end")
                continue
            high = max(high, int(high2))
            pid = table[len("python_trace_"):]
            wrong = db.execute(f'SELECT COUNT(*) FROM {table} WHERE CAST("Process Id" AS TEXT) != ? OR "Thread Id" <= 0',
                               (pid,)).fetchone()[0]
            if wrong:
                self.say(f"{table} has {wrong} rows of another process or without a thread")
            digits = db.execute(f'SELECT COUNT(DISTINCT LENGTH("StartTime(ns)")) FROM {table} '
                                'WHERE "StartTime(ns)" != \'N/A\'').fetchone()[0]
            if digits > 1:
                self.say(f"{table} has times of different lengths, which are compared as text")
        if high <= low:
            self.say("all events have the same time")
        devices = [d for (d,) in db.execute('SELECT DISTINCT "Device Id" FROM memscope_dump WHERE "Device Id" '
                                            "NOT IN ('N/A', '', 'host')")]
        if not devices:
            self.say("no event has a device")

    # -- events to blocks --

    def attributes(self, row):
        try:
            attr = json.loads(row[9]) if row[9] else {}
        except ValueError as error:
            self.say(f"event {row[0]}: Attr is not JSON ({error}): {row[9][:80]}")
            return {}
        if any(not isinstance(value, str) for value in attr.values()):
            self.say(f"event {row[0]}: Attr has values that are not strings")
        if ": " in row[9].split('"', 1)[0] or '" :' in row[9] or '":  ' in row[9]:
            self.say(f"event {row[0]}: Attr is not compact")
        return attr

    def replay(self, db):
        live, ids = {}, {}
        for row in db.execute('SELECT * FROM memscope_dump WHERE "Device Id" NOT IN (\'N/A\', \'\', \'host\') '
                              'ORDER BY "Timestamp(ns)"'):
            event, kind, device, ptr = row[1], row[2], row[7], row[8]
            attr = self.attributes(row)
            if event in EVENT_TYPES and kind not in EVENT_TYPES[event]:
                self.say(f"event {row[0]}: {event} of type {kind}")
            if event == "ACCESS":
                if not re.fullmatch(r"0x[0-9a-f]{16}", ptr):
                    self.say(f"event {row[0]}: Ptr is {ptr}")
                block = ids.get(attr.get("allocation_id"))
                if block is not None:
                    block.accesses.append(row[4])
            if event not in ("MALLOC", "FREE"):
                continue
            if kind not in MEMORY_TYPES | EXEMPT_TYPES:
                self.say(f"event {row[0]}: {event} of type {kind}")
            if not re.fullmatch(r"0x[0-9a-f]{16}", ptr) or attr.get("addr") != ptr:
                self.say(f"event {row[0]}: Ptr {ptr}, addr {attr.get('addr')}")
            size = abs(int(attr.get("size", "0") or 0))
            number = attr.get("allocation_id", "")
            if f'"allocation_id":"{number}"' not in row[9] or not number.isdigit() or int(number) < 1:
                self.say(f"event {row[0]}: allocation_id {number!r}")
            if size == 0:
                self.say(f"event {row[0]}: {event} without a size is ignored")
                continue
            curve = self.curves.setdefault((device, kind), [0])
            key = (device, ptr + kind)
            if event == "MALLOC":
                if key in live:
                    self.say(f"event {row[0]}: MALLOC at a live address is ignored")
                    continue
                live[key] = Block(row, size, attr)
                ids[number] = live[key]
                curve.append(curve[-1] + size)
            else:
                block = live.pop(key, None)
                if block is None:
                    self.say(f"event {row[0]}: FREE without MALLOC is ignored")
                    continue
                if block.size != size or block.attr["allocation_id"] != number:
                    self.say(f"event {row[0]}: FREE of {size} bytes, allocation {number}; MALLOC of {block.size}, "
                             f"allocation {block.attr['allocation_id']}")
                block.end = row
                self.blocks.append(block)
                curve.append(max(0, curve[-1] - size))
        self.blocks += live.values()

    # -- other queries, which must at least run --

    def check_queries(self, db):
        low = db.execute('SELECT MIN("Timestamp(ns)") FROM memscope_dump').fetchone()[0]
        db.execute("SELECT name FROM pragma_table_info('memscope_dump') WHERE name LIKE 'Call Stack%'").fetchall()
        pairs = db.execute('SELECT DISTINCT "Device Id", "Event Type" FROM memscope_dump WHERE "Event" IN '
                           "('MALLOC', 'FREE') AND \"Device Id\" NOT IN ('N/A', '', 'host')").fetchall()
        db.execute('SELECT "Device Id", MIN("Timestamp(ns)"), MAX("Timestamp(ns)") FROM memscope_dump WHERE "Device Id" '
                   "NOT IN ('N/A', 'host') GROUP BY \"Device Id\"").fetchall()
        page = ('SELECT COUNT(*) OVER (), * FROM memscope_dump WHERE "Device Id" = \'0\' AND "Timestamp(ns)" '
                'BETWEEN 1 AND 2 ORDER BY "Name" LIMIT 10')
        if not any("idx_memscope_dump_timestamp" in step[3] for step in db.execute("EXPLAIN QUERY PLAN " + page)):
            self.say("a page of a short range reads every row")
        if db.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            self.say("SQLite reports a damaged file")
        for device, _ in pairs:
            db.execute('SELECT COUNT(*) OVER (), *, "Timestamp(ns)" - ? FROM memscope_dump WHERE "Device Id" = ? '
                       'AND "Name" LIKE ? ORDER BY "ID" LIMIT 10 OFFSET 0', (low, device, "%a%")).fetchall()
        for block in self.blocks[:3]:
            number = block.attr["allocation_id"]
            found = db.execute('SELECT "ID" FROM memscope_dump WHERE "Attr" LIKE ? ORDER BY "Timestamp(ns)"',
                               (f'%"allocation_id":"{number}"%',)).fetchall()
            if not found:
                self.say(f"allocation {number} is not found by its text")

    def check_order(self, db):
        ids = db.execute('SELECT COUNT(*), COUNT(DISTINCT "ID"), COUNT(CASE WHEN rowid != "ID" + 1 THEN 1 END) '
                         "FROM memscope_dump").fetchone()
        if ids[0] != ids[1]:
            self.say("ids are not unique")
        if ids[2]:
            self.say(f"{ids[2]} rows have a rowid that is not ID + 1")

    def run(self):
        self.check_file()
        db = sqlite3.connect(f"file:{os.path.abspath(self.path)}?mode=ro", uri=True)
        try:
            if self.check_schema(db):
                self.check_import(db)
                self.check_order(db)
                self.replay(db)
                self.check_queries(db)
        finally:
            db.close()
        return self.findings


def lint(path, allow=()):
    """Findings in a file, except those that contain one of the texts in allow."""
    return [f for f in Lint(path).run() if not any(text in f for text in allow)]


def main():
    bad = False
    for path in sys.argv[1:]:
        for finding in lint(path):
            print(f"{path}: {finding}")
            bad = True
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
