# SPDX-License-Identifier: Apache-2.0
"""The same work below 28 Python functions: target.py LIBRARY KIND THREADS TURNS. The library holds the GIL while it
works, like an extension that allocates inside an operator."""
import ctypes
import resource
import sys
import threading
import time

library = ctypes.PyDLL(sys.argv[1])
library.work_run.restype = ctypes.c_double
kind = ["hal", "pool", "places", "launch"].index(sys.argv[2])
threads, turns = int(sys.argv[3]), int(sys.argv[4])
LAP = max(1, min(20000, turns // 10))  # turns between two points at which other threads may run
results = []


def below(frames, count):
    if frames > 1:
        return below(frames - 1, count)
    return library.work_run(kind, count, 0)


def worker():
    below(27, turns // 16)
    results.append([below(27, min(LAP, turns - done)) for done in range(0, turns, LAP)])


workers = [threading.Thread(target=worker) for _ in range(threads)]
start = time.monotonic_ns()
for thread in workers:
    thread.start()
for thread in workers:
    thread.join()
wall = time.monotonic_ns() - start
laps = [sum(lap) for lap in zip(*results)]
print("cpu", sum(laps) / (turns * threads))
print("lap", min(laps[:turns // LAP]) / (LAP * threads))
print("wall", wall / (turns * threads * 17 / 16))
print("peak", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
