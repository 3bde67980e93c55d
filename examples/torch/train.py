#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains a small transformer with plain PyTorch, on the CPU unless --device says otherwise, to be recorded:

    msmemscope --device=cpu --call-stack=python --analysis=leaks,decompose -- python3 train.py
    python3 train.py --record out            the same through the Python interface

--defect plants a mistake for the recorder to find."""

import argparse
import sys

import torch
from torch import nn

from defects import DEFECTS, Plan
from model import Transformer, device_named, made_up_text

try:
    import msmemscope
except ImportError:  # not recorded, or not installed for this Python
    msmemscope = None


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value, what in (("steps", 8, "steps of training"), ("layers", 4, "layers"), ("width", 128, "width"),
                              ("heads", 4, "heads"), ("batch", 4, "texts per step"), ("tokens", 64, "tokens per text")):
        parser.add_argument(f"--{name}", type=int, default=value, help=f"{what} (default %(default)s)")
    parser.add_argument("--device", default="cpu", help="where to train: cpu, npu, npu:1 ... (default %(default)s)")
    parser.add_argument("--threads", type=int, help="threads of PyTorch (default: its own choice)")
    parser.add_argument("--defect", choices=["none", *DEFECTS], default="none", help="a mistake to make")
    parser.add_argument("--record", metavar="DIRECTORY", help="record with msmemscope.start() and stop()")
    parser.add_argument("--events", default="alloc,free,launch", help="what to record (default %(default)s)")
    return parser.parse_args()


def train(options):
    torch.manual_seed(1)
    model = Transformer(layers=options.layers, width=options.width, heads=options.heads).to(device_named(options.device))
    plan = DEFECTS.get(options.defect, Plan)(model)
    optimizer = plan.optimizer(model.parameters())
    hidden = []
    model.norm.register_forward_hook(lambda module, inputs, output: hidden.append(output))
    for step in range(options.steps):
        text = made_up_text(options.batch, options.tokens, seed=step).to(options.device)
        logits = model(text[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten())
        plan.after_loss(loss, hidden.pop())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        print(f"step {step + 1}: loss {loss.item():.3f}", flush=True)
        del logits, loss
        if msmemscope is not None:
            msmemscope.step()
    return plan, model, optimizer


def main():
    options = arguments()
    if options.threads:
        torch.set_num_threads(options.threads)
    if options.record:
        if msmemscope is None:
            sys.exit("train.py: --record needs the package msmemscope; source set_env.sh, or pip install it")
        msmemscope.config(device=options.device.partition(":")[0], events=options.events, call_stack="python:20",
                          analysis="leaks,decompose", output=options.record)
        msmemscope.start()
    trained = train(options)
    if options.record:
        msmemscope.stop()
    return trained


if __name__ == "__main__":
    trained = main()
