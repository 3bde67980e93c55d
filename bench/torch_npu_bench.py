# SPDX-License-Identifier: Apache-2.0
"""torch_npu, unmodified, on a software NPU against PyTorch on the CPU. Prints lines in the format of bench.h.

usage: torch_npu_bench.py BUILD

scripts/frameworks provides the interpreter. Both sides use as many threads as there are processors. The model is the transformer
of torch_bench.py, 12 layers of width 256, with 2,048 tokens per step and with 64. Each kind of step is a separate process; their
steps alternate as in torch_bench.py, and the median of the ratios of adjacent steps counts. Operators run in one process, the two
devices in turn; the smallest time of each counts.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from torch_bench import ROOT, Child, alternate, figure

THREADS = os.cpu_count()


# ---- the programs ----

def train(options):
    sys.path.insert(0, str(ROOT / "examples" / "torch"))
    import torch
    from model import Transformer, device_named, made_up_text

    torch.set_num_threads(THREADS)
    torch.manual_seed(1)
    device = device_named(options.device)
    model = Transformer(layers=12, width=256, heads=8).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    sequences = 8 if options.tokens >= 512 else 2
    text = made_up_text(sequences, options.tokens // sequences).to(device)

    def step():
        logits = model(text[:, :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        return loss.item()  # waits for the device

    for _ in range(2):
        step()
    for _ in sys.stdin:
        begin = time.perf_counter(), time.process_time()
        step()
        print(time.perf_counter() - begin[0], time.process_time() - begin[1], 0, flush=True)


def operators():
    import torch
    import torch_npu  # noqa: F401
    torch.set_num_threads(THREADS)
    cases = (
        ("add, 1 M", "<= 1.5", lambda a, b: a + b, (1000, 1000), (1000, 1000)),
        ("mul by a number, 1 M", "<= 1.5", lambda a: a * 1.5, (1000, 1000)),
        ("exp, 1 M", "<= 1.5", lambda a: a.exp(), (1000, 1000)),
        ("tanh, 1 M", "<= 1.5", lambda a: a.tanh(), (1000, 1000)),
        ("gelu, 1 M", "<= 1.5", torch.nn.functional.gelu, (1000, 1000)),
        ("sum, 1 M", "<= 1.5", lambda a: a.sum(), (1000, 1000)),
        ("sum of rows, 1 M", "<= 1.5", lambda a: a.sum(1), (1000, 1000)),
        ("sum of columns, 1 M", "<= 1.5", lambda a: a.sum(0), (1000, 1000)),
        ("max of rows, 1 M", "<= 1.5", lambda a: a.amax(1), (1000, 1000)),
        ("transpose, 1 M", "", lambda a: a.t().contiguous(), (1000, 1000)),
        ("matmul, 512 x 512 x 512", "<= 1.5", lambda a, b: a @ b, (512, 512), (512, 512)),
        ("matmul, 64 x 256 x 1024", "<= 1.5", lambda a, b: a @ b, (64, 256), (256, 1024)),
        ("softmax, 1 M", "<= 2", lambda a: a.softmax(-1), (1000, 1000)),
        ("layer norm, 1 M", "<= 2", lambda a: torch.nn.functional.layer_norm(a, (1000,)), (1000, 1000)),
        ("add, 16", "", lambda a, b: a + b, (16,), (16,)),
    )
    for name, goal, function, *shapes in cases:
        inputs = [torch.randn(shape) for shape in shapes]
        sides = [inputs, [tensor.npu() for tensor in inputs]]
        smallest = [float("inf")] * 2
        for _ in range(12):
            for at, side in enumerate(sides):
                function(*side)
                torch.npu.synchronize()
                begin = time.perf_counter()
                for _ in range(5):
                    function(*side)
                torch.npu.synchronize()
                smallest[at] = min(smallest[at], (time.perf_counter() - begin) / 5)
        figure(name, smallest[1] * 1e6, "us", "PyTorch on the CPU", smallest[1] / smallest[0], goal)


# ---- figures ----

def measure(build, rounds):
    python = subprocess.run([str(ROOT / "scripts" / "frameworks"), "torch_npu-2.7.1.post2"], stdout=subprocess.PIPE, text=True,
                            check=True).stdout.strip()
    softnpu = f"{build}/home/bin/softnpu"
    subprocess.run([softnpu, "run", "--", python, str(pathlib.Path(__file__).resolve()), "--operators"], check=True,
                   stderr=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory(prefix="torch-npu-bench-") as folder:
        for tokens in (2048, 64):
            def recorded(name, tokens=tokens, *options):
                output = f"{folder}/{name}-{tokens}"
                prefix = [softnpu, "run", "--", f"{build}/msmemscope/bin/msmemscope", "--quiet", "--analysis=none",
                          f"--output={output}", "--events=alloc,free,launch", *options, "--", python]
                return Child(name, prefix, "--tokens", str(tokens), output=output)
            children = [Child("cpu", [python], "--tokens", str(tokens), "--device", "cpu",
                              environment={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}),
                        Child("npu", [softnpu, "run", "--", python], "--tokens", str(tokens)),
                        recorded("events"), recorded("stacks", tokens, "--call-stack=python")]
            steps = alternate(children, rounds)
            for child in children:
                child.end()
            for name, base, what, goal in (("cpu", None, "PyTorch on the CPU", ""), ("npu", "cpu", "torch_npu on a software NPU", "<= 3"),
                                           ("events", "npu", "with alloc, free and launch", "<= 1.03"),
                                           ("stacks", "npu", "and Python stacks", "<= 1.05")):
                ratio = statistics.median(one / other for one, other in zip(steps[name].wall, steps[base].wall)) if base else None
                figure(f"training step of {tokens} tokens, {what}, median", statistics.median(steps[name].wall) * 1e3, "ms",
                       f"{base} step of the same round" if base else "", ratio, goal)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", nargs="?", default=os.environ.get("NPUSCOPE_BUILD", str(ROOT / "build")))
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--operators", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--tokens", type=int, default=2048)
    parser.add_argument("--device", default="npu:0")
    options = parser.parse_args()
    train(options) if options.train else operators() if options.operators else measure(options.build, options.rounds)


if __name__ == "__main__":
    main()
