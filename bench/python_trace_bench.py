# SPDX-License-Identifier: Apache-2.0
"""Cost of the Python trace per call, compared with cProfile on the same functions. usage: python_trace_bench.py BUILD"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

PROGRAM = """
import cProfile, time
import msmemscope

CALLS, REPEATS, ROUNDS = 20000, 5, 5

def function():
    pass

def python_calls():
    for _ in range(CALLS):
        function()

def c_calls():
    call = len
    for _ in range(CALLS):
        call("")

def empty():
    for _ in range(CALLS):
        pass

def best(work):
    times = []
    for _ in range(REPEATS):
        begun = time.thread_time_ns()
        work()
        times.append(time.thread_time_ns() - begun)
    return min(times) / CALLS

def profiled(work):
    profile = cProfile.Profile()
    profile.enable()
    took = best(work)
    profile.disable()
    return took

def traced(work):
    msmemscope.config(events="traceback", analysis="")
    msmemscope.start()
    took = best(work)
    msmemscope.stop()
    return took

# Alternating, because the speed of the machine varies.
for work in (python_calls, c_calls):
    rounds = [(best(empty), best(work), profiled(work), traced(work)) for _ in range(ROUNDS)]
    loop, *took = map(min, zip(*rounds))
    print("figure", work.__name__, *(each - loop for each in took))
"""


def remove(folder):
    """Deletes the folder; the collector may still be writing there after the program has ended."""
    deadline = time.monotonic() + 60
    while os.path.exists(folder) and time.monotonic() < deadline:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(0.05)


def main():
    home = pathlib.Path(sys.argv[1]).resolve() / "msmemscope"
    names = {"python_calls": "call of a Python function, traced", "c_calls": "call of a C function, traced (two slices)"}
    folder = tempfile.mkdtemp()
    env = {**os.environ, "PYTHONPATH": str(home / "python")}
    done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=folder, env=env, capture_output=True, text=True, check=True)
    remove(folder)
    for line in done.stdout.splitlines():
        if line.startswith("figure "):
            _, name, plain, profiled, traced = line.split()
            more, theirs = float(traced) - float(plain), float(profiled) - float(plain)
            print(f"| {names[name]} | {more:.4g} ns more | cProfile | {more / theirs:.2f} | <= 1.5 |  |")


main()
