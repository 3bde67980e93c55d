# SPDX-License-Identifier: Apache-2.0
"""Activation functions and their gradients against PyTorch."""

import torch
import torch.nn.functional as functional

from .cases import Out, operator, precise
from .rows import constant, not_zero, number, one_of, row, uniform


def slope(function):
    """The gradient by autograd: (gradient of the output, input, numbers)."""
    def compute(grad, x, *numbers):
        x, grad = torch.broadcast_tensors(x, grad)
        x = x.clone().requires_grad_()
        function(x, *numbers).backward(grad)
        return x.grad
    return compute


def activation(name, function, numbers=(), inplace=False, backward=None, **values):
    scalars = "s" * len(numbers)
    row(name, f"i{scalars}o", function, numbers, **values)
    if inplace:
        row("Inplace" + name, f"r{scalars}", function, numbers, **values)
    if backward:
        row(backward, f"ii{scalars}o", slope(function), numbers, **values)


def positive(g, dtype):
    return g.random.uniform(0.2, 2)


row("Relu", "io", lambda x: x if x.dtype is torch.bool else functional.relu(x))
row("InplaceRelu", "r", lambda x: x if x.dtype is torch.bool else functional.relu(x))
for name, roles in (("AddRelu", "iiso"), ("InplaceAddRelu", "ris")):
    row(name, roles, lambda x, y, a: None if x.dtype is torch.bool else functional.relu(x + y * a), [number])
for name, roles in (("Threshold", "isso"), ("InplaceThreshold", "rss"), ("ThresholdV2", "isso")):
    row(name, roles, lambda x, t, v: None if x.dtype is torch.bool else functional.threshold(x, t, v), [number, number])
for name in ("ThresholdBackward", "ReluGradV4"):
    row(name, "iiso", lambda dy, x, t: None if x.dtype is torch.bool else torch.where(x <= t, torch.zeros_like(dy), dy),
        [number])
activation("LeakyRelu", functional.leaky_relu, [uniform(0.01, 0.5)], inplace=True)
row("LeakyReluBackward", "iisfo", lambda dy, x, s, r: torch.where(x > 0, dy, dy * s), [positive, constant(False)])


def elu(x, alpha, scale, input_scale):
    return torch.where(x > 0, scale * x, scale * alpha * torch.expm1(x * input_scale))


activation("Elu", elu, [positive] * 3, inplace=True)
activation("EluV2", elu, [positive] * 3)
row("EluBackward", "isssfio", lambda dy, a, s, i, result, x: torch.where(
    x > 0, dy * s, dy * i * (x + a * s if result else a * s * torch.exp(x * i))), [positive] * 3 + [one_of(True, False)])
activation("Selu", functional.selu, inplace=True)
row("SeluBackward", "iio", lambda dy, y: torch.where(y > 0, dy * 1.0507009873554805, dy * (y + 1.7580993408473766)))
activation("Celu", lambda x, a: functional.celu(x, a), [positive], inplace=True)
row("SigmoidBackward", "iio", lambda dy, y: dy * y * (1 - y))
row("TanhBackward", "iio", lambda dy, y: dy * (1 - y * y))
activation("Gelu", functional.gelu, backward="GeluBackward", specials=False)
row("GeluV2", "ivo", lambda x, a: functional.gelu(x, approximate="tanh" if a else "none"), [one_of(0, 1)], specials=False)
row("GeluBackwardV2", "iivo", lambda dy, x, a: slope(lambda t: functional.gelu(t, approximate=a))(dy, x),
    [one_of("none", "tanh")], specials=False)


def fast_gelu(x):
    return x * torch.sigmoid(1.702 * x)


activation("FastGelu", fast_gelu, backward="FastGeluBackward", specials=False)
activation("FastGeluV2", fast_gelu, specials=False)
activation("Silu", functional.silu, backward="SiluBackward", specials=False)
activation("Swish", lambda x, b: x * torch.sigmoid(x * (1 if b is None else b)), [positive], backward="SwishBackward",
           specials=False)
activation("Mish", functional.mish, inplace=True, backward="MishBackward", specials=False)
activation("Softplus", functional.softplus, [positive, constant(3)], backward="SoftplusBackward", specials=False)
activation("LogSigmoid", functional.logsigmoid)


@operator("LogSigmoidForward")
def log_sigmoid_forward(g, dtype):
    x = g.tensor(dtype)
    return [x, Out(precise(functional.logsigmoid)(x)), torch.empty(0, dtype=dtype)]


row("LogSigmoidBackward", "ii-o", slope(functional.logsigmoid), fixed=[torch.empty(0)], specials=False)
activation("Softsign", functional.softsign, backward="SoftsignBackward", specials=False)
row("HardtanhBackward", "iisso", lambda dy, x, a, b: torch.where((x <= a) | (x >= b), 0.0, dy), [constant(-1.0), constant(2.0)])
activation("Hardswish", functional.hardswish, inplace=True)
row("HardswishBackward", "iio", slope(functional.hardswish), specials=False)
row("HardswishBackwardV2", "iio", slope(functional.hardswish), specials=False)
for name, roles in (("Hardsigmoid", "io"), ("InplaceHardsigmoid", "r"), ("HardsigmoidV2", "io"), ("InplaceHardsigmoidV2", "r")):
    row(name, roles, functional.hardsigmoid)
# PyTorch has 1/6 in single precision.
row("HardsigmoidBackward", "iio", slope(functional.hardsigmoid), types=(torch.float32, torch.float16, torch.bfloat16),
    specials=False)
activation("Hardshrink", functional.hardshrink, [positive], backward="HardshrinkBackward", specials=False)
activation("Softshrink", functional.softshrink, [positive], backward="SoftshrinkBackward", specials=False)
row("Shrink", "isso", lambda x, l, b: torch.where(x < -l, x + b, torch.where(x > l, x - b, 0.0)), [positive, not_zero])


@operator("Prelu")
def prelu(g, dtype):
    x = g.tensor(dtype, g.shape(1))
    channels = x.shape[1] if x.dim() > 1 else 1
    weight = g.tensor(dtype, (g.random.choice([1, channels]),))
    return [x, weight, Out(precise(functional.prelu)(x, weight))]
