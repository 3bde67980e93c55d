# SPDX-License-Identifier: Apache-2.0
"""Cost of the Python package: import, start and stop, labels, slices and marks. Prints lines in the format of bench.h.

usage: python_bench.py BUILD      (on a software NPU, as scripts/bench runs it)
"""

import os
import pathlib
import subprocess
import sys
import tempfile

# Measured inside a program; best of several runs, in nanoseconds.
PRELUDE = """
import sys, time
sys.path[:0] = [{package!r}, {support!r}]
def best(call, repeats=5):
    times = []
    for _ in range(repeats):
        begin = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - begin)
    return min(times)
def each(call, count):
    def loop():
        for _ in range(count):
            call()
    empty = best(lambda: [None for _ in range(count)])
    return max(best(loop) - empty, 0) / count
"""

IMPORT = """
begin = time.perf_counter_ns()
import msmemscope
print(time.perf_counter_ns() - begin)
"""

CONTROL = """
import msmemscope, npu
npu.init()
msmemscope.config(analysis="", events="alloc,free")
live = [npu.malloc(512) for _ in range({live})]
class quiet:
    write = flush = staticmethod(lambda *text: None)
console, sys.stdout = sys.stdout, quiet
starts, stops = [], []
for _ in range(4):
    starts.append(best(msmemscope.start, 1))
    stops.append(best(msmemscope.stop, 1))
sys.stdout = console
print(starts[0], min(starts), min(stops[1:]))
"""

# Blocks that outlive their step, in a program with as many objects as one that uses PyTorch.
LEAKS = """
import msmemscope, npu
npu.init()
pool = npu.Pool()
objects = [[number] for number in range(200000)]
msmemscope.config(analysis="leaks", events="alloc,free")
class quiet:
    write = flush = staticmethod(lambda *text: None)
console, sys.stdout = sys.stdout, quiet
stops = []
for _ in range(5):
    msmemscope.start()
    for _ in range(6):
        pool.malloc(1 << 20)
        msmemscope.step()
    stops.append(best(msmemscope.stop, 1))
asked = best(msmemscope.tell_holders, 1)
sys.stdout = console
print(min(stops[1:]), asked)
"""

CALLS = """
import msmemscope, mstx
from msmemscope import describe
label, part = describe.describer(owner="label"), msmemscope.RecordFunction("part")
def labelled():
    with label:
        pass
def sliced():
    with part:
        pass
def marked():
    mstx.mark("mark")
off = [each(call, 20000) for call in (labelled, sliced, marked, msmemscope.step)]
msmemscope.config(analysis="")
class quiet:
    write = flush = staticmethod(lambda *text: None)
console, sys.stdout = sys.stdout, quiet
msmemscope.start()
on = [each(call, 20000) for call in (labelled, sliced, marked, msmemscope.step)]
msmemscope.stop()
sys.stdout = console
print(*off, *on)
"""


class Bench:
    def __init__(self, build, folder):
        root = pathlib.Path(__file__).resolve().parent.parent
        self.folder = folder
        self.prelude = PRELUDE.format(package=str(build / "msmemscope" / "python"), support=str(root / "tests/python/support"))

    def run(self, code, **values):
        env = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE")}
        done = subprocess.run([sys.executable, "-c", self.prelude + code.format(**values)], cwd=self.folder, env=env,
                              capture_output=True, text=True, check=True)
        return [float(number) for number in done.stdout.split()]

    def figure(self, name, value, unit, against="", ratio=None, goal=""):
        shown = "" if ratio is None else f"{ratio:.2f}"
        print(f"| {name} | {value:.4g} {unit} | {against} | {shown} | {goal} |", flush=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(pathlib.Path(sys.argv[1]).resolve(), folder)
        ours = min(bench.run(IMPORT)[0] for _ in range(7))
        theirs = min(bench.run(IMPORT.replace("msmemscope", "json"))[0] for _ in range(7))
        bench.figure("import msmemscope, wall", ours / 1e6, "ms", "import json", ours / theirs)
        first, start, stop = bench.run(CONTROL, live=10000)
        bench.figure("first start() with 10,000 live blocks, wall", first / 1e6, "ms", goal="<= 50 ms")
        bench.figure("start() with 10,000 live blocks, wall", start / 1e6, "ms", goal="<= 50 ms")
        bench.figure("stop() with nothing new to export, wall", stop / 1e6, "ms", goal="<= 50 ms")
        stop, asked = bench.run(LEAKS)
        bench.figure("stop() when blocks have outlived their step, wall", stop / 1e6, "ms", goal="<= 50 ms")
        bench.figure("tell_holders() afterwards, 200,000 objects, wall", asked / 1e6, "ms")
        numbers = bench.run(CALLS)
        names = ("describer() around a block", "RecordFunction around a part", "mstx.mark()", "step()")
        for name, off, on in zip(names, numbers, numbers[len(names):]):
            bench.figure(f"{name}, while tracing", on, "ns", "the same while not tracing", on / max(off, 1))


main()
