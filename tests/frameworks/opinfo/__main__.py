# SPDX-License-Identifier: Apache-2.0
"""Runs PyTorch's own operator database on npu tensors and compares with the CPU.

usage: softnpu run -- python -m opinfo TYPE [OPERATOR]...      TYPE: float32, float16, bfloat16, int64, int32, uint8, bool

Prints one line for each operator of the database: 'ok NAME CASES', 'known NAME: REASON' if it is in differences.py, or
'FAILED NAME: MESSAGE'. Exits 1 if an operator fails.
"""

import re
import sys
import warnings

warnings.filterwarnings("ignore")

import torch  # noqa: E402
import torch_npu  # noqa: E402, F401
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

from .differences import RANDOM, difference  # noqa: E402

SAMPLES = 6  # of each operator
TOLERANCE = {torch.float32: 1e-3, torch.float16: 1e-2, torch.bfloat16: 6e-2}


def move(value, device):
    if isinstance(value, torch.Tensor):
        return value.detach().to(device)
    if isinstance(value, (list, tuple)):
        return type(value)(move(v, device) for v in value) if not hasattr(value, "_fields") else \
            type(value)(*(move(v, device) for v in value))
    if isinstance(value, dict):
        return {k: move(v, device) for k, v in value.items()}
    return value


def is_random(sample):
    return any(isinstance(v, float) and v > 0 and "dropout" in k for k, v in sample.kwargs.items())


def run(op, dtype):
    """Number of samples that were compared; raises on the first difference."""
    compared = 0
    for number, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=False)):
        if number >= SAMPLES:
            break
        if is_random(sample):
            continue
        given = move(sample.input, "npu"), move(sample.args, "npu"), move(sample.kwargs, "npu")
        try:
            expected = op.op(sample.input, *sample.args, **sample.kwargs)
        except Exception:  # the sample is an error on the CPU too
            continue
        got = move(op.op(given[0], *given[1], **given[2]), "cpu")
        tolerance = TOLERANCE.get(dtype, 1e-3)
        torch.testing.assert_close(got, expected, rtol=tolerance, atol=tolerance, equal_nan=True, check_stride=False)
        compared += 1
    return compared


def main():
    dtype, only, failed = getattr(torch, sys.argv[1]), set(sys.argv[2:]), 0
    for op in op_db:
        name = op.name + ("." + op.variant_test_name if op.variant_test_name else "")
        if dtype not in op.dtypes or any(word in name for word in RANDOM) or (only and name not in only):
            continue
        reason = difference(name, dtype)
        try:
            torch.manual_seed(1)
            compared, message = run(op, dtype), None
        except Exception as error:
            code = re.search(r"E\d{6} .*", str(error))
            compared, message = 0, code[0] if code else " ".join(f"{type(error).__name__}: {error}".split())
        if message is None and reason is None:
            print(f"ok {name} {compared}", flush=True)
        elif message is not None and reason is None:
            failed += 1
            print(f"FAILED {name}: {message[:300]}", flush=True)
        else:
            print(f"known {name}: {reason}", flush=True)
    sys.exit(1 if failed else 0)


main()
