"""What recording costs a training step of real PyTorch on the CPU. Prints lines of bench.h.

usage: torch_bench.py BUILD

A transformer of 12 layers, 256 wide, 2,048 tokens a step. Each kind of recording is a process of its own that waits for its turn;
steps of all of them alternate, so that a disturbance of the machine hits each alike, and the best step counts. What an
operator costs is processor time of a narrow model, whose operators do next to nothing, with one thread.
"""

import argparse
import importlib.util
import os
import pathlib
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

    clock = time.process_time if options.processor else time.perf_counter
    if options.empty:
        Empty().__enter__()
    step()
    for _ in sys.stdin:
        counted = 0
        begin = clock()
        step()
        print(clock() - begin, counted, flush=True)


class Child:
    def __init__(self, name, prefix, *arguments):
        self.name, self.times, self.operators = name, [], 0
        self.process = subprocess.Popen([*prefix, str(pathlib.Path(__file__).resolve()), "--train", *arguments],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def step(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        words = self.process.stdout.readline().split()
        while words and not words[0][0].isdigit():
            words = self.process.stdout.readline().split()  # of somebody else's
        self.times.append(float(words[0]))
        self.operators = max(self.operators, int(words[1]))

    def end(self):
        self.process.stdin.close()
        self.process.stdout.read()
        self.process.wait()


def alternate(children, rounds):
    for _ in range(rounds):
        for child in children:
            child.step()
    return {child.name: child for child in children}


# ---- figures ----

def figure(name, value, unit, against="", ratio=None, goal="", original=""):
    print(f"| {name} | {value:.4g} {unit} | {against} | {'' if ratio is None else f'{ratio:.3f}'} | {goal} | {original} |", flush=True)


def measure(build):
    with tempfile.TemporaryDirectory(prefix="torch-bench-") as folder:
        def recorded(name, *options):
            return [f"{build}/msmemscope/bin/msmemscope", "--quiet", "--device=cpu", "--analysis=none", f"--output={folder}/{name}",
                    *options, "--", sys.executable]

        children = [
            Child("plain", [sys.executable]),
            Child("events", recorded("events", "--events=alloc,free,launch")),
            Child("stacks", recorded("stacks", "--events=alloc,free,launch", "--call-stack=python")),
        ]
        if importlib.util.find_spec("memray") is not None:
            children.append(Child("memray", [sys.executable, "-m", "memray", "run", "-q", "-o", f"{folder}/memray.bin"]))
        steps = alternate(children, 8)
        small = ["--width", "32", "--tokens", "64", "--threads", "1", "--processor"]
        modes = alternate([
            Child("none", [sys.executable], *small),
            Child("launches", recorded("launches", "--events=launch"), *small),
            Child("all", recorded("all", "--events=alloc,free,launch"), *small),
            Child("stacked", recorded("stacked", "--events=alloc,free,launch", "--call-stack=python"), *small),
            Child("empty", [sys.executable], *small, "--empty"),
            Child("accesses", recorded("accesses", "--events=access"), *small),
        ], 20)
        for child in [*steps.values(), *modes.values()]:
            child.end()
    plain = min(steps["plain"].times)
    figure("training step, plain", plain * 1e3, "ms")
    for name, what, goal in (("events", "with alloc, free and launch", "<= 1.03"), ("stacks", "and Python stacks", "<= 1.05"),
                             ("memray", "memray instead", "")):
        if name in steps:
            best = min(steps[name].times)
            figure(f"training step, {what}", best * 1e3, "ms", "plain", best / plain, goal)
    middle = statistics.median(steps["events"].times) / statistics.median(steps["plain"].times)
    figure("the same by the middle of the steps", statistics.median(steps["events"].times) * 1e3, "ms", "plain", middle)
    operators = modes["empty"].operators
    figure("operators in a step", operators, "operators")
    none, empty = min(modes["none"].times), min(modes["empty"].times)
    for name, what, base, goal in (
        ("launches", "launch events, per operator", none, ""),
        ("all", "with alloc and free", none, ""),
        ("stacked", "and Python stacks", none, ""),
        ("empty", "an empty dispatch mode, per operator", none, ""),
        ("accesses", "accesses, per operator, above an empty dispatch mode", empty, "<= 3 us"),
    ):
        figure(what, (min(modes[name].times) - base) / operators * 1e6, "us", goal=goal)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", nargs="?", default=os.environ.get("NPUSCOPE_BUILD", str(ROOT / "build")))
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--processor", action="store_true", help="count processor time")
    parser.add_argument("--empty", action="store_true")
    options = parser.parse_args()
    train(options) if options.train else measure(options.build)


main()
