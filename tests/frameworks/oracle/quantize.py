# SPDX-License-Identifier: Apache-2.0
"""Quantisation against its formulas in float32."""

import torch

from .cases import Out, operator


def close(expected, dtype=None):
    """A whole number may differ by one where the value before rounding is next to the half."""
    return Out(expected if dtype is None else expected.to(dtype), rtol=0, atol=1)


def parameters(g, dtype, n, negative=True):
    """Scale and offset: one, or n of each."""
    count = 1 if g.random.randint(0, 1) else n
    low = -3 if negative else 0.1
    return (g.tensor(dtype, [count], low=low, high=4, layout="dense") for _ in range(2))


@operator("AscendQuant")
def ascend_quant(g, dtype):
    x = g.tensor(dtype, g.shape(1, 3), specials=False)
    scale, offset = parameters(g, dtype, x.shape[-1])
    mode, function = g.random.choice([("round", torch.round), ("floor", torch.floor), ("ceil", torch.ceil),
                                      ("trunc", torch.trunc)])
    root = bool(g.random.randint(0, 1))
    factor = scale.float() ** (2 if root else 1)
    y = function(x.float() * factor + offset.float()).clamp(-128, 127)
    return [x, scale, offset, root, mode, torch.int8, close(y, torch.int8)]


@operator("AscendQuantV3")
def ascend_quant_axis(g, dtype):
    x = g.tensor(dtype, g.shape(2, 3), specials=False)
    axis = g.random.choice([-1, -2])
    scale, _ = parameters(g, dtype, x.shape[axis])
    shape = [-1, 1] if axis == -2 and scale.numel() != 1 else [-1]
    y = torch.round(x.float() * scale.float().view(shape)).clamp(-128, 127)
    return [x, scale, None, False, "round", torch.int8, axis, close(y, torch.int8)]


@operator("AscendAntiQuant")
def anti_quant(g, dtype):
    x = g.tensor(dtype, g.shape(1, 3))
    out = g.random.choice([torch.float16, torch.bfloat16])
    scale, offset = parameters(g, torch.float32, x.shape[-1])
    offset = None if g.random.randint(0, 1) else offset
    y = (x.float() + (0 if offset is None else offset)) * scale
    return [x, scale, offset, out, False, Out(y.to(out))]


@operator("Quantize")
def quantize(g, dtype):
    x = g.tensor(dtype, g.shape(1, 3), specials=False)
    axis = g.random.randrange(x.dim())
    scale, _ = parameters(g, torch.float32, x.shape[axis], negative=False)
    zero = torch.randint(-5, 5, scale.shape, dtype=torch.int32)
    shape = [1] * x.dim()
    shape[axis] = -1
    shape = shape if scale.numel() != 1 else [1]
    out = g.random.choice([torch.int8, torch.uint8, torch.int32])
    limits = (0, 255) if out is torch.uint8 else (-128, 127) if out is torch.int8 else (-2**30, 2**30)
    y = (torch.round(x.float() / scale.view(shape)) + zero.view(shape)).clamp(*limits)
    return [x, scale, zero, out, axis, close(y, out)]


def dynamic(name, later):
    @operator(name)
    def rows(g, dtype):
        x = g.tensor(dtype, [*g.shape(1, 2), g.random.randint(1, 70)], specials=False)
        if x.numel() == 0:
            return None
        smooth = g.tensor(dtype, x.shape[-1:], low=0.5, high=2) if g.random.randint(0, 1) else None
        value = x.float() * (1 if smooth is None else smooth.float())
        shift = later and x.shape[-1] > 1 and bool(g.random.randint(0, 1))
        if shift:
            top, bottom = value.amax(-1), value.amin(-1)
            scale = (top - bottom) / 255
            offset = 127 - top / scale
        else:
            scale, offset = value.abs().amax(-1) / 127, torch.zeros(value.shape[:-1])
        y = torch.round(value / scale[..., None] + offset[..., None]).clamp(-128, 127)
        middle = [None, torch.int8] if later else []
        return [x, smooth, *middle, close(y, torch.int8), Out(scale, rtol=1e-4, atol=1e-5),
                *([Out(offset, rtol=1e-3, atol=1e-2) if shift else None] if later else [])]


dynamic("DynamicQuant", False)
dynamic("DynamicQuantV2", True)


def fake(name, function, per_channel):
    @operator(name)
    def case(g, dtype):
        x = g.tensor(dtype, g.shape(1, 3), specials=False)
        axis = g.random.randrange(x.dim())
        count = x.shape[axis] if per_channel else 1
        scale = torch.rand(count) * 0.5 + 0.01
        zero = torch.randint(-9, 9, [count], dtype=torch.int32)
        middle = [axis] if per_channel else [1.0]
        if x.numel() == 0:
            return None
        y, mask = function(x.float(), scale, zero, axis)
        return [x, scale, zero, *middle, -100, 100, Out(y.to(dtype)), Out(mask)]


fake("FakeQuantPerTensorAffineCachemask",
     lambda x, scale, zero, axis: torch.ops.aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
         x, scale, zero, torch.ones(1), -100, 100), False)
fake("FakeQuantPerChannelAffineCachemask",
     lambda x, scale, zero, axis: torch.ops.aten.fake_quantize_per_channel_affine_cachemask(
         x, scale, zero, axis, -100, 100), True)


def product(name, arrange):
    """arrange(x1, x2, scale, rows, offset, bias, out)"""
    @operator(name)
    def case(g, dtype):
        m, n, k = (g.random.randint(1, 40) for _ in range(3))
        lead = [g.random.randint(1, 3) for _ in range(g.random.randint(0, 1))]
        x, y = g.tensor(dtype, [*lead, m, k]), g.tensor(dtype, [*lead, k, n])
        total = x.double() @ y.double()
        out = g.random.choice([torch.float16, torch.bfloat16, torch.int8, torch.int32])
        scale = (torch.rand(n if g.random.randint(0, 1) else 1) + 0.1) / 5000
        rows = torch.rand(m) + 0.5 if "V3" not in name and out in (torch.float16, torch.bfloat16) else None
        whole = torch.randint(-99, 99, [n], dtype=torch.int32) if g.random.randint(0, 1) else None
        real = torch.randn(n) if whole is None and rows is not None else None
        offset = torch.randn(1) if out is torch.int8 else None
        total = total + (0 if whole is None else whole)
        if out is not torch.int32:
            total = total * scale * (1 if rows is None else rows[:, None]) + (0 if real is None else real)
        if out is torch.int8:
            total = torch.round(total + offset).clamp(-128, 127)
        if g.random.randint(0, 1):
            padded = torch.zeros(scale.numel(), 2)
            padded[:, 0] = scale
            scale = padded.view(torch.int64).view(-1)
        expected = close(total, out) if out is torch.int8 else Out(total.to(out))
        return arrange(x, y, scale, rows, offset, whole if whole is not None else real, expected)


product("QuantMatmulV3", lambda x, y, scale, rows, offset, bias, out: [x, y, scale, offset, bias, False, False, out])
product("QuantMatmulV4", lambda x, y, scale, rows, offset, bias, out: [x, y.mT, scale, offset, rows, bias, False, True,
                                                                       out])
for version in ("QuantMatmulV5", "QuantMatmulWeightNz"):
    product(version, lambda x, y, scale, rows, offset, bias, out: [
        x, y, rows, scale, None, None, offset, None, bias, False, False, 0, out])
