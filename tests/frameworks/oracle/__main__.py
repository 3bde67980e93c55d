# SPDX-License-Identifier: Apache-2.0
"""Compares the operators of softnpu with PyTorch on the CPU, and prints a table: operator, types, cases, verdict.

usage: softnpu run -- python -m oracle [--rounds N] [--seed N] [OPERATOR]...      exits 1 if an operator fails
"""

import argparse
import importlib
import pathlib
import sys
import traceback
import zlib

import torch

from .cases import OPERATORS, ROUNDS, Generator, run_case
from .device import Device

SHORT = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.float64: "f64", torch.int8: "i8",
         torch.int16: "i16", torch.int32: "i32", torch.int64: "i64", torch.uint8: "u8", torch.bool: "bool"}


def verify(device, name, types, rounds, seed):
    """Number of cases, and the types that had at least one."""
    function, chosen = OPERATORS[name]
    cases, seen = 0, []
    for dtype in SHORT:
        if dtype not in types or (chosen is not None and dtype not in chosen):
            continue
        for number in range(rounds):
            g = Generator(zlib.crc32(f"{name} {dtype} {number} {seed}".encode()), number)
            args = function(g, dtype)
            if args is not None:
                run_case(device, name, args, g, f"{SHORT[dtype]}, round {number}")
                cases += 1
                if dtype not in seen:
                    seen.append(dtype)
    return cases, " ".join(SHORT[dtype] for dtype in seen)


def main():
    parser = argparse.ArgumentParser(prog="oracle", description=__doc__)
    parser.add_argument("operators", nargs="*", help="names without aclnn; default: all")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for path in sorted(pathlib.Path(__file__).parent.glob("*.py")):
        if not path.stem.startswith("__"):
            importlib.import_module(f".{path.stem}", __package__)
    device = Device()
    rows, failed = device.rows(), 0
    torch.set_num_threads(1)
    for name in sorted(options.operators or rows):
        try:
            if name not in rows:
                raise AssertionError("not implemented by softnpu")
            if name not in OPERATORS:
                raise AssertionError("has no reference in the oracle")
            cases, types = verify(device, name, rows[name], options.rounds, options.seed)
            if cases == 0:
                raise AssertionError("has no case")
            print(f"{name:40} {types:45} {cases:4} cases  ok", flush=True)
        except Exception as error:  # a failing operator must not hide the others
            failed += 1
            where = "" if isinstance(error, AssertionError) else traceback.format_exc(limit=-2)
            print(f"{name:40} FAILED: {error}\n{where}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
