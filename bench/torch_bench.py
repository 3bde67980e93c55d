# SPDX-License-Identifier: Apache-2.0
"""Cost of recording for a training step of real PyTorch on the CPU. Prints lines in the format of bench.h.

usage: torch_bench.py BUILD

A transformer with 12 layers of width 256, 2,048 tokens per step. Each kind of recording is a separate process. Their steps
alternate, in a different order each round, so that disturbances of the machine affect all kinds equally and no kind always finds
the caches as the same other one left them. A step is compared with the two plain steps of the same round, whose own difference
is the error of these figures. Budgets apply to the median of these ratios. The mean over all steps, which no lucky step can
distort, and the processor time including the collector's are printed next to it.

The cost per operator is processor time with a narrow model, whose operators do next to nothing, and one thread: the median of
the differences. The BLAS library also gets one thread: its other threads wait by yielding the processor, which counts as process
time and varies by several microseconds per operator. The empty dispatch mode is measured twice: the difference between two
equal processes is the error of these figures.

memray is measured as well if it is installed; NPUSCOPE_MEMRAY_PYTHON names a Python that has memray and PyTorch.
"""

import argparse
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


# ---- the program ----

def train(options):
    sys.path.insert(0, str(ROOT / "examples" / "torch"))
    import torch
    from model import Transformer, made_up_text
    from torch.utils._python_dispatch import TorchDispatchMode

    counted = 0

    class Empty(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nonlocal counted
            counted += 1
            return func(*args, **(kwargs or {}))

    if options.threads:
        torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    model = Transformer(layers=12, width=options.width, heads=8)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    text = made_up_text(8, options.tokens // 8)

    def step():
        logits = model(text[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    if options.empty:
        Empty().__enter__()
    for _ in range(2):  # the first creates persistent state, the second touches its pages
        step()
    for _ in sys.stdin:
        counted = 0
        begin = time.perf_counter(), time.process_time()
        step()
        print(time.perf_counter() - begin[0], time.process_time() - begin[1], counted, flush=True)


class Child:
    def __init__(self, name, prefix, *arguments, output=None, environment=None):
        self.name, self.output = name, output
        self.wall, self.processor, self.operators = [], [], 0
        self.process = subprocess.Popen([*prefix, str(pathlib.Path(sys.argv[0]).resolve()), "--train", *arguments],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                        env={**os.environ, **(environment or {})})

    def step(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        words = self.process.stdout.readline().split()
        while words and not words[0][0].isdigit():
            words = self.process.stdout.readline().split()  # lines of other tools
        self.wall.append(float(words[0]))
        self.processor.append(float(words[1]))
        self.operators = max(self.operators, int(words[2]))

    def collector(self):
        """Processor time used so far by the collector that writes to this output; 0: none."""
        for entry in pathlib.Path("/proc").glob("[0-9]*") if self.output is not None else ():
            try:
                files = [os.readlink(file) for file in (entry / "fd").iterdir()]
                if (entry / "comm").read_text().startswith("msmemscope-coll") and self.output in files:
                    used = (entry / "stat").read_text().rpartition(")")[2].split()[11:13]
                    return sum(map(int, used)) / os.sysconf("SC_CLK_TCK")
            except OSError:
                continue  # ended, or not accessible
        return 0.0

    def end(self):
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.wait()


def alternate(children, rounds):
    for child in children:
        child.step()  # started and warm
        child.wall.clear(), child.processor.clear()
        child.before = child.collector()
    order = random.Random(1)
    for _ in range(rounds):
        for child in order.sample(children, len(children)):
            child.step()
    for child in children:
        child.collected = child.collector() - child.before
    return {child.name: child for child in children}


# ---- figures ----

def figure(name, value, unit, against="", ratio=None, goal="", original=""):
    print(f"| {name} | {value:.4g} {unit} | {against} | {'' if ratio is None else f'{ratio:.3f}'} | {goal} | {original} |", flush=True)


def memray_python():
    python = os.environ.get("NPUSCOPE_MEMRAY_PYTHON", sys.executable)
    found = subprocess.run([python, "-c", "import memray, torch"], capture_output=True, check=False).returncode == 0
    return python if found else None


def print_steps(steps):
    plain, again = steps["plain"], steps["plain again"]
    base = [(one + other) / 2 for one, other in zip(plain.wall, again.wall)]
    base_used = (sum(plain.processor) + sum(again.processor)) / 2
    figure("training step, plain, median", statistics.median(base) * 1e3, "ms")
    for name, what, goal in (("plain again", "plain again: error of these figures", ""),
                             ("events", "with alloc, free and launch", "<= 1.03"), ("stacks", "and Python stacks", "<= 1.05"),
                             ("memray", "memray instead", "")):
        if name not in steps:
            continue
        child = steps[name]
        ratios = [with_it / without for with_it, without in zip(child.wall, plain.wall if child is again else base)]
        figure(f"training step, {what}, median", statistics.median(child.wall) * 1e3, "ms", "plain step of the same round",
               statistics.median(ratios), goal)
        figure("- mean of all steps", statistics.mean(child.wall) * 1e3, "ms", "plain",
               sum(child.wall) / sum(plain.wall if child is again else base))
        used = sum(child.processor) + child.collected
        figure("- processor time, the collector's included", used / len(child.processor) * 1e3, "ms", "plain",
               used / (sum(plain.processor) if child is again else base_used))


def print_operators(modes):
    operators = modes["empty"].operators
    figure("operators in a step", operators, "operators")
    for name, what, base, goal in (
        ("launches", "launch events, per operator", "none", ""),
        ("all", "with alloc and free", "none", ""),
        ("stacked", "and Python stacks", "none", ""),
        ("empty", "an empty dispatch mode, per operator", "none", ""),
        ("empty again", "a second empty dispatch mode against the first: error of these figures", "empty", ""),
        ("accesses", "accesses, per operator, on top of an empty dispatch mode", "empty", "<= 3 us"),
    ):
        more = [with_it - without for with_it, without in zip(modes[name].processor, modes[base].processor)]
        figure(what, statistics.median(more) / operators * 1e6, "us", goal=goal)


def measure(build, rounds):
    with tempfile.TemporaryDirectory(prefix="torch-bench-") as folder:
        def recorded(name, events, *more, options=(), environment=None):
            output = f"{folder}/{name}"
            prefix = [f"{build}/msmemscope/bin/msmemscope", "--quiet", "--device=cpu", "--analysis=none", f"--output={output}",
                      f"--events={events}", *options, "--", sys.executable]
            return Child(name, prefix, *more, output=output, environment=environment)

        python, stacks = memray_python(), ["--call-stack=python"]
        children = [
            Child("plain", [sys.executable]),
            Child("plain again", [sys.executable]),
            recorded("events", "alloc,free,launch"),
            recorded("stacks", "alloc,free,launch", options=stacks),
        ]
        if python is not None:
            children.append(Child("memray", [python, "-m", "memray", "run", "-q", "-o", f"{folder}/memray.bin"]))
        steps = alternate(children, rounds)
        for child in children:
            child.end()
        small = ["--width", "32", "--tokens", "64", "--threads", "1"]
        single = {"environment": dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")}
        children = [
            Child("none", [sys.executable], *small, **single),
            recorded("launches", "launch", *small, **single),
            recorded("all", "alloc,free,launch", *small, **single),
            recorded("stacked", "alloc,free,launch", *small, options=stacks, **single),
            Child("empty", [sys.executable], *small, "--empty", **single),
            Child("empty again", [sys.executable], *small, "--empty", **single),
            recorded("accesses", "access", *small, **single),
        ]
        modes = alternate(children, 4 * rounds)
        for child in children:
            child.end()
    print_steps(steps)
    print_operators(modes)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", nargs="?", default=os.environ.get("NPUSCOPE_BUILD", str(ROOT / "build")))
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--empty", action="store_true")
    options = parser.parse_args()
    train(options) if options.train else measure(options.build, options.rounds)


if __name__ == "__main__":
    main()
