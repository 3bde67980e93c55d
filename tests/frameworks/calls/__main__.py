# SPDX-License-Identifier: Apache-2.0
"""Calls of torch on tensors of an NPU against the same calls on the CPU.

usage: python -m calls [NAME]...      without names: all. Ends with 'N equal, N different'; exits 1 if anything is different.
"""

import sys
import traceback
import warnings

import torch
import torch_npu  # noqa: F401

from . import table
from .tables import blas, convert, indexing, layers, pointwise, reductions, shapes  # noqa: F401

HALF_TOLERANCE = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


def tensors_of(result):
    if isinstance(result, torch.Tensor):
        return [result]
    if isinstance(result, (tuple, list)):
        return [tensor for member in result for tensor in tensors_of(member)]
    return [torch.tensor(result)]


def compute(row, kind, device, precise):
    """The results, and the gradients of the inputs. precise: halves are computed as float32 and then rounded."""
    source = table.generator(row.name)
    leaves, arguments = [], []
    for one in row.inputs:
        leaf = one.make(source, kind)
        if precise and one.real:
            leaf = leaf.float()
        leaf = leaf.to(device)
        if row.grad and one.trainable:
            leaf.requires_grad_()
            leaves.append(leaf)
        arguments.append(one.change(leaf))
    results = tensors_of(row.function(*arguments))
    if leaves:
        weights = [torch.rand(result.shape, generator=source).to(result.dtype).to(device) for result in results]
        pairs = [(result, weight) for result, weight in zip(results, weights) if result.requires_grad]
        torch.autograd.backward([result for result, _ in pairs], [weight for _, weight in pairs])
        results = results + [leaf.grad for leaf in leaves]
    return [result.detach().cpu() for result in results]


def difference(row, kind, expected, got):
    """What differs, or None."""
    if len(expected) != len(got):
        return f"{len(got)} results instead of {len(expected)}"
    for at, (want, have) in enumerate(zip(expected, got)):
        if want.shape != have.shape:
            return f"result {at}: shape {list(have.shape)} instead of {list(want.shape)}"
        if want.dtype == torch.float64 and have.dtype == torch.float32:  # torch_npu replaces float64 and says so in a warning
            want = want.float()
        if want.dtype != have.dtype and not (kind != torch.float32 and want.dtype == torch.float32):
            return f"result {at}: {have.dtype} instead of {want.dtype}"
        if want.is_complex():
            want, have = torch.view_as_real(want), torch.view_as_real(have)
        if row.any_order:
            want, have = want.flatten().sort().values, have.flatten().sort().values
        if not want.is_floating_point():
            if not torch.equal(want, have):
                return f"result {at}: {have.flatten()[:6].tolist()} instead of {want.flatten()[:6].tolist()}"
            continue
        tolerance = HALF_TOLERANCE.get(kind, row.tolerance)
        size = want[want.isfinite()].abs().max().item() if want.isfinite().any() else 1.0
        want, have = want.double(), have.double()
        if not torch.allclose(have, want, rtol=tolerance, atol=tolerance * max(size, 1e-3), equal_nan=True):
            worst = (have - want).abs().nan_to_num(nan=float("inf")).max().item()
            return (f"result {at}: differs by {worst:.3g} of {size:.3g}: {have.flatten()[:6].tolist()} "
                    f"instead of {want.flatten()[:6].tolist()}")
    return None


def check(row, kind):
    try:
        expected = compute(row, kind, "cpu", kind != torch.float32)
    except Exception as error:  # the row is wrong
        return f"fails on the CPU: {error}"
    try:
        return difference(row, kind, expected, compute(row, kind, "npu", False))
    except Exception as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        if "-v" in sys.argv:
            traceback.print_exc()
        causes = [line for line in lines if "aclnn" in line or "E" in line[:2]]
        return f"{type(error).__name__}: " + " / ".join(dict.fromkeys(lines[:1] + causes[:3]))[:400]


def main():
    warnings.simplefilter("ignore")
    names = [word for word in sys.argv[1:] if not word.startswith("-")]
    repeated = [row.name for at, row in enumerate(table.ROWS) if any(row.name == other.name for other in table.ROWS[:at])]
    assert not repeated, f"two rows have the name {repeated[0]}"
    rows = [row for row in table.ROWS if not names or row.name in names]
    assert len(rows) >= len(names), "a name has no row"
    equal = different = 0
    for row in rows:
        for kind in row.types:
            what = check(row, kind)
            if what is None:
                equal += 1
            else:
                different += 1
                print(f"{row.name} {str(kind).removeprefix('torch.')}: {what}", flush=True)
    print(f"{len(rows)} calls: {equal} equal, {different} different")
    return different != 0


sys.exit(main())
