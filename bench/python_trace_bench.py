"""What the Python trace costs a call, beside cProfile on the same functions. usage: python_trace_bench.py BUILD"""
import os
import pathlib
import subprocess
import sys
import tempfile

PROGRAM = """
import cProfile, time
import msmemscope

CALLS, REPEATS = 20000, 15

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

loop = best(empty)
for work in (python_calls, c_calls):
    plain = best(work) - loop
    profile = cProfile.Profile()
    profile.enable()
    profiled = best(work) - loop
    profile.disable()
    msmemscope.config(events="traceback", analysis="")
    msmemscope.start()
    traced = best(work) - loop
    msmemscope.stop()
    print("figure", work.__name__, plain, profiled, traced)
"""


def main():
    home = pathlib.Path(sys.argv[1]).resolve() / "msmemscope"
    names = {"python_calls": "call of a Python function, traced", "c_calls": "call of a function of C, traced (two slices)"}
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "PYTHONPATH": str(home / "python")}
        done = subprocess.run([sys.executable, "-c", PROGRAM], cwd=folder, env=env, capture_output=True, text=True, check=True)
    for line in done.stdout.splitlines():
        if line.startswith("figure "):
            _, name, plain, profiled, traced = line.split()
            more, theirs = float(traced) - float(plain), float(profiled) - float(plain)
            print(f"| {names[name]} | {more:.4g} ns more | cProfile | {more / theirs:.2f} | <= 1.5 |  |")


main()
