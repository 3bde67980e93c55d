# SPDX-License-Identifier: Apache-2.0
"""Operators that set, copy and convert values."""

import torch

from .cases import REALS, LIMITS, Out, Ref, operator

TARGETS = (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.int16, torch.int32, torch.int64,
           torch.uint8, torch.bool)
RANGES = {**LIMITS, torch.int32: (-2**31, 2**31 - 1), torch.int64: (-2**63, 2**63 - 1)}


def converted(x, dtype):
    """Reals to integers: towards zero, saturating, NaN gives 0."""
    if x.dtype in REALS and dtype not in REALS and dtype is not torch.bool:
        low, high = RANGES[dtype]
        return torch.tensor([0 if v != v else high if v >= high else low if v <= low else int(v)
                             for v in x.double().flatten().tolist()], dtype=dtype).reshape(x.shape)
    return x.to(dtype)


def source(g, dtype, shape):
    x = g.tensor(dtype, shape)
    if dtype in REALS and x.numel() and g.random.random() < 0.5:  # beyond the range of integers
        x.mul_(g.random.choice([30, 1e4, 3e9]))
    return x


@operator("Cast")
def cast(g, dtype):
    if dtype not in TARGETS:
        return None
    x, target = source(g, dtype, g.shape()), g.random.choice(TARGETS)
    return [x, target, Out(converted(x, target))]


@operator("InplaceCopy")
def copy(g, dtype):
    if dtype not in TARGETS:
        return None
    z = g.tensor(g.random.choice(TARGETS))
    x = source(g, dtype, g.broadcastable(dtype, z.shape).shape)
    return [Ref(z, converted(x, z.dtype).expand(z.shape)), x]


@operator("InplaceFillScalar")
def fill_scalar(g, dtype):
    if dtype not in TARGETS:
        return None
    x, value = g.tensor(dtype), g.number(dtype)
    return [Ref(x, torch.full_like(x, value)), value]


@operator("InplaceZero")
def zero(g, dtype):
    x = g.tensor(dtype) if dtype in TARGETS else torch.ones(g.shape(1), dtype=torch.int64).to(dtype)
    return [Ref(x, torch.zeros_like(x))]


@operator("InplaceOne")
def one(g, dtype):
    x = g.tensor(dtype) if dtype in TARGETS else torch.zeros(g.shape(1), dtype=torch.int64).to(dtype)
    return [Ref(x, torch.ones_like(x))]
