# SPDX-License-Identifier: Apache-2.0
"""Convolutions and pooling against PyTorch. Half types: the reference computes in float32 and rounds once."""

import torch
import torch.nn.functional as functional

from .cases import Out, Ref, operator

KEEP = 0  # cubeMathType


def rounded(x, dtype, terms=1):
    """An output; float32 sums in another order than the reference."""
    return Out(x.to(dtype), **({"rtol": 1e-4, "atol": 2e-5 * (terms + 1)} if dtype is torch.float32 else {}))


class Convolution:
    """Random sizes of a convolution with 1 to 3 dimensions."""

    def __init__(self, g, dtype, spatial=None, depthwise=False):
        pick = g.random.randint
        self.spatial = n = spatial or pick(1, 3)
        self.transposed = not depthwise and pick(0, 2) == 0
        self.groups = pick(1, 3)
        inner, outer = (1 if depthwise else pick(1, 4)) * self.groups, pick(1, 4) * self.groups
        if g.round == 9 and not depthwise:
            inner, outer = inner * 24, outer * 10
        self.kernel = [pick(1, 4) for _ in range(n)]
        if g.round == 8:
            self.kernel = [1] * n
        self.stride = [1 if g.round == 8 else pick(1, 3) for _ in range(n)]
        self.dilation = [pick(1, 2) for _ in range(n)]
        self.padding = [0 if g.round == 8 else pick(0, (k * d) // 2) for k, d in zip(self.kernel, self.dilation)]
        self.extra = [pick(0, s - 1) for s in self.stride]
        size = [k * d + pick(0, 20 if n == 2 else 6) for k, d in zip(self.kernel, self.dilation)]
        weight = [inner, outer // self.groups] if self.transposed else [outer, inner // self.groups]
        batch = 0 if g.round == 1 else pick(1, 3)
        self.x = g.tensor(dtype, [batch, inner, *size], specials=False)
        self.weight = g.tensor(dtype, [*weight, *self.kernel], specials=False)
        self.bias = g.tensor(dtype, [outer], specials=False) if pick(0, 1) else None
        self.terms = inner

    def __call__(self, x, weight, bias):
        function = getattr(functional, f"conv{'_transpose' if self.transposed else ''}{self.spatial}d")
        extra = {"output_padding": self.extra} if self.transposed else {}
        return function(x, weight, bias, stride=self.stride, padding=self.padding, dilation=self.dilation,
                        groups=self.groups, **extra)


def wide(x):
    return None if x is None else x.float().contiguous()


@operator("Convolution")
def convolution(g, dtype):
    c = Convolution(g, dtype)
    expected = c(wide(c.x), wide(c.weight), wide(c.bias))
    return [c.x, c.weight, c.bias, c.stride, c.padding, c.dilation, c.transposed, c.extra, c.groups,
            rounded(expected, dtype, c.terms), KEEP]


@operator("ConvDepthwise2d")
def depthwise(g, dtype):
    c = Convolution(g, dtype, spatial=2, depthwise=True)
    c.groups = c.x.shape[1]
    expected = c(wide(c.x), wide(c.weight), wide(c.bias))
    return [c.x, c.weight, c.kernel, c.bias, c.stride, c.padding, c.dilation, rounded(expected, dtype), KEEP]


@operator("ConvolutionBackward")
def backward(g, dtype):
    c = Convolution(g, dtype)
    x, weight = wide(c.x).requires_grad_(), wide(c.weight).requires_grad_()
    outer = c.weight.shape[1] * c.groups if c.transposed else c.weight.shape[0]
    bias = torch.zeros(outer, requires_grad=True)
    y = c(x, weight, bias)
    grad = g.tensor(dtype, y.shape, specials=False)
    y.backward(wide(grad))
    mask = [g.random.random() < 0.8 for _ in range(3)]
    outs = [rounded(t.grad, dtype, max(y.numel() // 50, c.terms)) if wanted else None
            for t, wanted in zip((x, weight, bias), mask)]
    return [grad, c.x, c.weight, [outer], c.stride, c.padding, c.dilation, c.transposed, c.extra, c.groups, mask,
            KEEP, *outs]


@operator("ConvTbc")
def conv_tbc(g, dtype):
    time, batch, inner, outer, taps = (g.random.randint(1, 7) for _ in range(5))
    pad = g.random.randint(0, 2)
    x, weight = (g.tensor(dtype, s, specials=False) for s in ((time + taps, batch, inner), (taps, inner, outer)))
    bias = g.tensor(dtype, [outer], specials=False)
    return [x, weight, bias, pad, rounded(torch.conv_tbc(wide(x), wide(weight), wide(bias), pad), dtype, inner), KEEP]


@operator("ConvTbcBackward")
def conv_tbc_backward(g, dtype):
    time, batch, inner, outer, taps = (g.random.randint(1, 7) for _ in range(5))
    pad = g.random.randint(0, 2)
    x, weight = (g.tensor(dtype, s, specials=False) for s in ((time + taps, batch, inner), (taps, inner, outer)))
    bias = g.tensor(dtype, [outer], specials=False)
    leaves = [wide(t).requires_grad_() for t in (x, weight, bias)]
    y = torch.conv_tbc(*leaves, pad)
    grad = g.tensor(dtype, y.shape, specials=False)
    y.backward(wide(grad))
    return [grad, x, weight, bias, pad, KEEP, *(rounded(t.grad, dtype, 20) for t in leaves)]


# ---- pooling ----

class Pool:
    def __init__(self, g, dtype, spatial, dilated, specials=True):
        pick = g.random.randint
        self.kernel = [pick(1, 4) for _ in range(spatial)]
        self.stride = [pick(1, 3) for _ in range(spatial)]
        self.padding = [pick(0, k // 2) for k in self.kernel]
        self.dilation = [pick(1, 2) if dilated else 1 for _ in range(spatial)]
        self.ceil = bool(pick(0, 1))
        size = [k * d + pick(0, 9) for k, d in zip(self.kernel, self.dilation)]
        lead = [pick(1, 3), pick(1, 4)] if pick(0, 2) else [pick(1, 4)]
        self.x = g.tensor(dtype, [*lead, *size], specials=specials)
        self.windows = [self.kernel, self.stride, self.padding]


def max_pool(spatial, name, back, index):
    function = getattr(functional, f"max_pool{spatial}d")

    def run(c, x):
        return function(x, c.kernel, c.stride, c.padding, c.dilation, c.ceil, return_indices=True)

    @operator(name)
    def forward(g, dtype):
        c = Pool(g, dtype, spatial, True)
        y, where = run(c, wide(c.x))
        if torch.isnan(y).any() or torch.isinf(y).any():
            where = None
        return [c.x, *c.windows, c.dilation, c.ceil, Out(y.to(dtype)),
                Out(where, dtype=index) if where is not None else Out(torch.zeros(y.shape, dtype=index),
                                                                      check=lambda got: None)]

    @operator(back)
    def backward(g, dtype):
        c = Pool(g, dtype, spatial, True, specials=False)
        x = wide(c.x).requires_grad_()
        y, where = run(c, x)
        grad = g.tensor(dtype, y.shape, specials=False)
        y.backward(wide(grad))
        return [grad, c.x, where.to(index), *c.windows, c.dilation, c.ceil, rounded(x.grad, dtype)]


max_pool(2, "MaxPool2dWithIndices", "MaxPool2dWithIndicesBackward", torch.int64)
max_pool(3, "MaxPool3dWithArgmax", "MaxPool3dWithArgmaxBackward", torch.int32)


@operator("MaxPool")
def plain_max_pool(g, dtype):
    c = Pool(g, dtype, 2, False)
    y = functional.max_pool2d(wide(c.x), c.kernel, c.stride, c.padding, c.dilation, c.ceil)
    return [c.x, c.kernel, c.stride, 0, [p for p in c.padding for _ in range(2)], c.dilation, int(c.ceil),
            Out(y.to(dtype))]


def mask_shape(c, y):
    """The shape that torch_npu gives the mask: int8, whose content only the backward operator reads."""
    height, width = y.shape[-2:]
    return [*y.shape[:-2], c.kernel[0] * c.kernel[1], ((height * width + 15) // 16 + 1) * 32]


@operator("MaxPool2dWithMask")
def masked_max_pool(g, dtype):
    c = Pool(g, dtype, 2, True)
    y = functional.max_pool2d(wide(c.x), c.kernel, c.stride, c.padding, c.dilation, c.ceil)
    mask = torch.zeros(mask_shape(c, y), dtype=torch.int8)
    return [c.x, *c.windows, c.dilation, c.ceil, Out(y.to(dtype)), Ref(mask, mask, check=lambda got: None)]


@operator("MaxPool2dWithMaskBackward")
def masked_max_pool_backward(g, dtype):
    c = Pool(g, dtype, 2, True, specials=False)
    x = wide(c.x).requires_grad_()
    y, where = functional.max_pool2d(x, c.kernel, c.stride, c.padding, c.dilation, c.ceil, return_indices=True)
    mask = torch.zeros(mask_shape(c, y), dtype=torch.int8)
    if c.kernel != [1, 1]:
        mask.view(-1).view(torch.int32)[:where.numel()] = where.int().reshape(-1)
    grad = g.tensor(dtype, y.shape, specials=False)
    y.backward(wide(grad))
    return [grad, c.x, mask, *c.windows, c.dilation, c.ceil, rounded(x.grad, dtype)]


def avg_pool(spatial):
    function, math = getattr(functional, f"avg_pool{spatial}d"), [KEEP] if spatial == 2 else []

    def case(g, dtype):
        c = Pool(g, dtype, spatial, False, specials=False)
        count, divisor = bool(g.random.randint(0, 1)), g.random.choice([0, 0, 3])
        x = wide(c.x).requires_grad_()
        return c, x, function(x, c.kernel, c.stride, c.padding, c.ceil, count, divisor or None), [c.ceil, count, divisor]

    @operator(f"AvgPool{spatial}d")
    def forward(g, dtype):
        c, _, y, options = case(g, dtype)
        return [c.x, *c.windows, *options, *math, rounded(y.detach(), dtype)]

    @operator(f"AvgPool{spatial}dBackward")
    def backward(g, dtype):
        c, x, y, options = case(g, dtype)
        grad = g.tensor(dtype, y.shape, specials=False)
        y.backward(wide(grad))
        return [grad, c.x, *c.windows, *options, *math, rounded(x.grad, dtype)]


def adaptive(spatial):
    def case(g, dtype):
        lead = [2, 3] if g.random.randint(0, 1) else [3]
        x = g.tensor(dtype, [*lead, *(g.random.randint(1, 9) for _ in range(spatial))], specials=False)
        return x, [g.random.randint(1, 9) for _ in range(spatial)]

    average, maximum = (getattr(functional, f"adaptive_{kind}_pool{spatial}d") for kind in ("avg", "max"))
    index = torch.int64 if spatial == 2 else torch.int32

    @operator(f"AdaptiveAvgPool{spatial}d")
    def average_forward(g, dtype):
        x, size = case(g, dtype)
        return [x, size, rounded(average(wide(x), size), dtype)]

    @operator(f"AdaptiveMaxPool{spatial}d")
    def max_forward(g, dtype):
        x, size = case(g, dtype)
        y, where = maximum(wide(x), size, return_indices=True)
        return [x, size, Out(y.to(dtype)), Out(where, dtype=index)]

    @operator(f"AdaptiveAvgPool{spatial}dBackward")
    def average_backward(g, dtype):
        x, size = case(g, dtype)
        leaf = wide(x).requires_grad_()
        grad = g.tensor(dtype, [*x.shape[:-spatial], *size], specials=False)
        average(leaf, size).backward(wide(grad))
        return [grad, x, rounded(leaf.grad, dtype)]

    @operator(f"AdaptiveMaxPool{spatial}dBackward")
    def max_backward(g, dtype):
        x, size = case(g, dtype)
        leaf = wide(x).requires_grad_()
        grad = g.tensor(dtype, [*x.shape[:-spatial], *size], specials=False)
        y, where = maximum(leaf, size, return_indices=True)
        y.backward(wide(grad))
        return [grad, x, where.to(index), rounded(leaf.grad, dtype)]


for dimensions in (2, 3):
    avg_pool(dimensions)
    adaptive(dimensions)


def unpool(spatial):
    extra = [] if spatial == 2 else [[1] * 3, [0] * 3]

    def case(g, dtype):
        small, size = ([g.random.randint(1, 5) for _ in range(spatial)] for _ in range(2))
        size = [s + t for s, t in zip(small, size)]
        count = int(torch.tensor(small).prod())
        where = torch.stack([torch.randperm(int(torch.tensor(size).prod()))[:count] for _ in range(6)])
        return g.tensor(dtype, [2, 3, *small]), where.view(2, 3, *small), size

    @operator(f"MaxUnpool{spatial}d")
    def put(g, dtype):
        x, where, size = case(g, dtype)
        expected = torch.zeros(2, 3, int(torch.tensor(size).prod()), dtype=dtype)
        expected.scatter_(2, where.flatten(2), x.flatten(2))
        return [x, where, size, *extra, Out(expected.view(2, 3, *size))]

    @operator(f"MaxUnpool{spatial}dBackward")
    def take(g, dtype):
        x, where, size = case(g, dtype)
        grad = g.tensor(dtype, [2, 3, *size])
        return [grad, x, where, size, *extra, Out(grad.flatten(2).gather(2, where.flatten(2)).view(x.shape))]


unpool(2)
unpool(3)
