# SPDX-License-Identifier: Apache-2.0
"""Gated units and their gradients."""

import torch
import torch.nn.functional as functional

from .cases import Out, operator, precise


def even(g, dtype):
    """A tensor and a dimension of even size."""
    shape = list(g.shape(1))
    dim = g.random.randrange(len(shape))
    shape[dim] *= 2
    return g.tensor(dtype, shape, specials=False), dim - len(shape) if g.random.random() < 0.5 else dim


def gated(name, backward, function):
    @operator(name)
    def forward(g, dtype):
        x, dim = even(g, dtype)
        return [x, dim, Out(precise(lambda t: function(*t.chunk(2, dim)))(x))]

    @operator(backward)
    def gradient(g, dtype):
        x, dim = even(g, dtype)
        wide = (x if dtype is torch.float64 else x.float()).clone().requires_grad_()
        y = function(*wide.chunk(2, dim))
        grad = g.tensor(dtype, y.shape, specials=False)
        y.backward(grad.to(wide.dtype))
        return [grad, x, dim, Out(wide.grad.to(dtype))]


gated("Glu", "GluBackward", lambda a, b: a * torch.sigmoid(b))
gated("SwiGlu", "SwiGluGrad", lambda a, b: functional.silu(a) * b)


def ge_glu(name, backward, choose):
    def setup(g, dtype):
        x, dim = even(g, dtype)
        approximate, left = g.random.randrange(2), choose and g.random.random() < 0.5
        wide = (x if dtype is torch.float64 else x.float()).clone().requires_grad_()
        halves = wide.chunk(2, dim)
        gate, value = halves if left else halves[::-1]
        gelu = functional.gelu(gate, approximate="tanh" if approximate else "none")
        return x, dim, [approximate, *([left] if choose else [])], wide, gelu, value

    @operator(name)
    def forward(g, dtype):
        x, dim, options, _, gelu, value = setup(g, dtype)
        return [x, dim, *options, Out((gelu * value).detach().to(dtype)), Out(gelu.detach().to(dtype))]

    @operator(backward, dtypes=(torch.float32, torch.float64))
    def gradient(g, dtype):
        x, dim, options, wide, gelu, value = setup(g, dtype)
        y = gelu * value
        grad = g.tensor(dtype, y.shape, specials=False)
        y.backward(grad)
        return [grad, x, gelu.detach().clone(), dim, *options, Out(wide.grad, atol=1e-4)]


ge_glu("GeGlu", "GeGluBackward", False)
ge_glu("GeGluV3", "GeGluV3Backward", True)


@operator("GeluMul")
def gelu_mul(g, dtype):
    shape = list(g.shape(1))
    shape[-1] *= 2
    x, approximate = g.tensor(dtype, shape, specials=False), g.random.choice(["none", "tanh"])
    return [x, approximate, Out(precise(lambda t: functional.gelu(t.chunk(2, -1)[0], approximate=approximate)
                                        * t.chunk(2, -1)[1])(x))]
