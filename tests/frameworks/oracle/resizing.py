# SPDX-License-Identifier: Apache-2.0
"""Padding and interpolation with their gradients against PyTorch."""

import torch
import torch.nn.functional as functional

from .cases import Out, operator, precise


def gradient(function):
    """The gradient of the input, in float32, of function(x) for a gradient of its output."""
    def compute(x, grad):
        leaf = torch.zeros(x, dtype=torch.float32, requires_grad=True)
        return torch.autograd.grad(function(leaf), leaf, grad.float())[0].to(grad.dtype)
    return compute


def padding(name, count, mode):
    def draw(g):
        shape = [g.random.randint(1, 3) for _ in range(g.random.randint(1, 2))] + [g.random.randint(4, 9)
                                                                                 for _ in range(count)]
        return shape, [g.random.randint(0, 3) for _ in range(2 * count)]

    def padded(x, pad):
        batched = x if x.dim() == count + 2 else x[None]  # PyTorch pads unbatched tensors too, but not in all modes
        return functional.pad(batched, pad, mode).reshape(
            *x.shape[:-count], *[x.shape[-count + i] + pad[2 * (count - 1 - i)] + pad[2 * (count - 1 - i) + 1]
                                 for i in range(count)])

    @operator(name)
    def forward(g, dtype):
        shape, pad = draw(g)
        x = g.tensor(dtype, shape)
        wide = x.float() if dtype in (torch.bool, torch.int8, torch.uint8, torch.int16, torch.int32, torch.float16,
                                      torch.bfloat16) else x.double()
        return [x, pad, Out(padded(wide, pad).to(dtype))]

    @operator(name + "Backward")
    def backward(g, dtype):
        shape, pad = draw(g)
        out = padded(torch.zeros(shape), pad).shape
        grad = g.tensor(dtype, out, specials=False)
        return [grad, torch.zeros(shape, dtype=dtype), pad, Out(gradient(lambda x: padded(x, pad))(shape, grad))]


for dims in (1, 2, 3):
    padding(f"ReflectionPad{dims}d", dims, "reflect")
    padding(f"ReplicationPad{dims}d", dims, "replicate")
    if dims > 1:
        padding(f"CircularPad{dims}d", dims, "circular")


def sizes(g, count, form):
    """Shape of the input, size of the output, scales as the operator gets them and as PyTorch gets them."""
    shape = [g.random.randint(1, 2), g.random.randint(1, 3)] + [g.random.randint(1, 9) for _ in range(count)]
    if form == "size" or g.round % 2:
        return shape, [g.random.randint(1, 14) for _ in range(count)], [0.0] * count, None
    scales = [g.random.choice([0.5, 1.5, 2.0, 2.25]) for _ in range(count)]
    out = [max(int(d * s), 1) for d, s in zip(shape[2:], scales)]
    # Where the size is exactly once or twice the input's, parts of PyTorch ignore another scale.
    usable = all(int(d * s) == o and (o not in (d, 2 * d) or o == d * s) for d, s, o in zip(shape[2:], scales, out))
    return (shape, out, scales, scales) if usable else (shape, out, [0.0] * count, None)


def kernel_of(mode, count, antialias=False):
    name = {"nearest": f"upsample_nearest{count}d", "exact": f"_upsample_nearest_exact{count}d",
            "linear": ["upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d"][count - 1],
            "cubic": "upsample_bicubic2d"}[mode]
    return getattr(torch.ops.aten, ("_" if antialias else "") + name + ("_aa" if antialias else ""))


def resized(mode, count, out, align, scales, antialias):
    function = kernel_of(mode, count, antialias)
    numbers = scales or [None] * count
    if mode in ("nearest", "exact"):
        return lambda x: function(x, out, *numbers)
    return lambda x: function(x, out, align, *numbers)


def resizing(name, count, mode, backward, *, antialias=False, form="scales"):
    aligned = mode in ("linear", "cubic")

    @operator(name)
    def forward(g, dtype):
        if dtype not in (torch.float32, torch.float16, torch.bfloat16, torch.uint8) or (
                dtype is torch.uint8 and (aligned or mode == "exact" or form == "scales")):
            return None
        shape, out, given, scales = sizes(g, count, form)
        if antialias and 1 in out:
            return None  # PyTorch repeats the first row then
        align = aligned and g.random.random() < 0.5 and not antialias
        x = g.tensor(dtype, shape, specials=False)
        function = resized(mode, count, out, align, scales, antialias)
        return [x, out, *([align] if aligned else []), *(given if form == "scales" else []),
                Out(precise(function)(x))]

    @operator(*backward) if backward else lambda f: f
    def gradients(g, dtype):
        shape, out, given, scales = sizes(g, count, "scales")
        align = aligned and g.random.random() < 0.5 and not antialias
        grad = g.tensor(dtype, shape[:2] + out, specials=False)
        function = resized(mode, count, out, align, scales, antialias)
        return [grad, out, shape, *([align] if aligned else []), *given, Out(gradient(function)(shape, grad))]


for dims in (1, 2, 3):
    resizing(f"UpsampleNearest{dims}d", dims, "nearest", [f"UpsampleNearest{dims}dBackward"],
             form="scales" if dims == 3 else "size")
    if dims < 3:
        resizing(f"UpsampleNearest{dims}dV2", dims, "nearest", [])
    resizing(f"UpsampleNearestExact{dims}d", dims, "exact", [f"UpsampleNearestExact{dims}dBackward"])
resizing("UpsampleLinear1d", 1, "linear", ["UpsampleLinear1dBackward"])
resizing("UpsampleBilinear2d", 2, "linear", ["UpsampleBilinear2dBackward", "UpsampleBilinear2dBackwardV2"])
resizing("UpsampleTrilinear3d", 3, "linear", ["UpsampleTrilinear3dBackward"])
resizing("UpsampleBicubic2d", 2, "cubic", ["UpsampleBicubic2dBackward"])
resizing("UpsampleBilinear2dAA", 2, "linear", ["UpsampleBilinear2dAABackward"], antialias=True)
resizing("UpsampleBicubic2dAA", 2, "cubic", ["UpsampleBicubic2dAAGrad"], antialias=True)
