# SPDX-License-Identifier: Apache-2.0
"""A program that dies in a known way (victim.c), and the comparison of its own log with the recording."""

import pathlib
import re
import struct

LIVE = 16
PADDING = 32  # bytes that aclrtMalloc adds to a request
THREADS_MAX = 64


def compile_victim(compiler, folder):
    return compiler(folder / "victim", pathlib.Path(__file__).with_name("victim.c"), "ascendcl", flags=("-pthread",))


class Account:
    """A victim's own log of its actions, readable after its death."""

    def __init__(self, path):
        self.path = path

    def read(self):
        if not self.path.exists() or self.path.stat().st_size < 16:
            return 0, []
        words = struct.unpack(f"<{2 + 5 * THREADS_MAX}Q", self.path.read_bytes())
        return words[0], [words[2 + 5 * t:7 + 5 * t] for t in range(words[1])]

    @property
    def pid(self):
        return self.read()[0]

    def allocations(self):
        return sum(thread[2] for thread in self.read()[1])


def check_rows(account, rows):
    """Checks that exactly the published events are there, once, in the order of each thread. Returns the live blocks."""
    _, threads = account.read()
    memory = [r for r in rows if r.event in ("MALLOC", "FREE") and r.type == "HAL"]
    closing = [r for r in memory if "shadow" in r.attr]  # synthetic frees of blocks that were never freed
    assert all(r.event == "FREE" for r in closing) and memory[len(memory) - len(closing):] == closing
    memory = memory[:len(memory) - len(closing)]
    assert {r.tid for r in memory} <= {str(t[0]) for t in threads}
    left = 0
    for tid, alloc_begun, alloc_done, free_begun, free_done in threads:
        mine = [r for r in memory if r.tid == str(tid)]
        mallocs = [r for r in mine if r.event == "MALLOC"]
        frees = [r for r in mine if r.event == "FREE"]
        assert alloc_done <= len(mallocs) <= alloc_begun
        assert free_done <= len(frees) <= free_begun
        assert [r.number("size") for r in mallocs] == [4096 + 512 * (i % 1000) + PADDING for i in range(len(mallocs))]
        assert [r.attr["allocation_id"] for r in frees] == [r.attr["allocation_id"] for r in mallocs[:len(frees)]]
        left += len(mallocs) - len(frees)
    assert len(closing) == left
    return left


def check_leaks(text, count):
    """Checks that the report lists every live block."""
    found = re.search(r"Detected HAL memory leaks on device 0 ======\n(.*\n)*?====== SUMMARY: \S+ Mb\(s\) leaked in (\d+) ",
                      text)
    assert found, text
    assert int(found.group(2)) == count
