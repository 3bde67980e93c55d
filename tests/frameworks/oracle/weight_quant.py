# SPDX-License-Identifier: Apache-2.0
"""Products with a weight of small integers against PyTorch."""

import torch

from .cases import Out, operator


def packed(weight):
    """Eight 4-bit elements of the last dimension in an int32, the first one lowest."""
    eights = (weight.long() & 15).unflatten(-1, (-1, 8))
    whole = sum(eights[..., i] << 4 * i for i in range(8))
    return torch.where(whole >= 2**31, whole - 2**32, whole).int()


def product(g, dtype):
    m, n, k = g.random.randint(1, 9), 8 * g.random.randint(1, 6), 32 * g.random.randint(1, 5)
    x = g.tensor(dtype, (m, k), specials=False)
    group = g.random.choice([0, 32])
    shape = (k // group, n) if group and k > group else g.random.choice([(1,), (n,), (1, n)])
    scale = g.tensor(dtype, shape, low=0.1, high=1)
    offset = g.random.choice([None, g.tensor(dtype, shape, low=-3, high=3)])
    bias = g.random.choice([None, g.tensor(dtype, (n,), specials=False)])
    bits, turned = g.random.choice([4, 8]), g.random.choice([False, True])
    weight = torch.randint(-2**(bits - 1), 2**(bits - 1), (k, n))
    rows = scale.shape[0] if len(shape) == 2 else 1
    spread = lambda t: t.float().expand(rows, n).repeat_interleave(k // rows, 0)  # noqa: E731
    plain = (weight + (spread(offset) if offset is not None else 0)) * spread(scale)
    y = x.float() @ plain + (bias.float() if bias is not None else 0)
    if turned:
        stored = (packed(weight.T.contiguous()) if bits == 4 else weight.T.contiguous().to(torch.int8)).T
    else:
        stored = packed(weight) if bits == 4 else weight.to(torch.int8)
    return x, stored, scale, offset, bias, group, Out(y, dtype, atol=0.05 if dtype is torch.bfloat16 else 5e-3)


@operator("WeightQuantBatchMatmulV2", "WeightQuantBatchMatmulNz")
def weight_quant(g, dtype):
    x, weight, scale, offset, bias, group, y = product(g, dtype)
    return [x, weight, scale, offset, None, None, bias, group, y]


@operator("WeightQuantBatchMatmulV3")
def weight_quant_v3(g, dtype):
    x, weight, scale, offset, bias, group, y = product(g, dtype)
    return [x, weight, scale, offset, None, None, bias, group, 0, y]
