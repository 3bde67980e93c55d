# SPDX-License-Identifier: Apache-2.0
"""Element-wise operators against PyTorch."""

import torch
import torch.nn.functional as functional

from .cases import REALS, Out, Ref, operator, precise


def wide(x):
    """Integers and bool give real results as float32."""
    return x if x.dtype in REALS else x.float()


def unary(name, function, inplace=None, **values):
    """out = function(x), for the operator and, if named, its in-place form."""
    @operator(name)
    def plain(g, dtype):
        x = g.tensor(dtype, **values)
        return [x, Out(function(x))]
    if inplace:
        @operator(inplace)
        def changed(g, dtype):
            x = g.tensor(dtype, **values)
            expected = function(x)
            return [Ref(x, expected)] if expected.dtype == x.dtype else None


unary("Abs", lambda x: x if x.dtype is torch.bool else torch.abs(x))
unary("Neg", lambda x: x if x.dtype is torch.bool else torch.neg(x))
unary("Reciprocal", lambda x: torch.reciprocal(wide(x)))
unary("Sqrt", lambda x: torch.sqrt(wide(x)))
unary("Rsqrt", lambda x: torch.rsqrt(wide(x)))
unary("Exp", lambda x: torch.exp(wide(x)), "InplaceExp")
unary("Log", lambda x: torch.log(wide(x)))
unary("Relu", lambda x: x if x.dtype is torch.bool else functional.relu(x), "InplaceRelu")
unary("Sigmoid", lambda x: torch.sigmoid(wide(x)))
unary("Tanh", lambda x: torch.tanh(wide(x)))


def pair(g, dtype):
    shape = g.shape()
    x, y = g.tensor(dtype, shape), g.broadcastable(dtype, shape)
    return (x, y) if g.random.random() < 0.5 else (y, x)


def scaled(name, sign):
    """Add and Sub with alpha: tensor, scalar and in-place forms."""
    compute = precise(lambda x, y, alpha: torch.add(x, y, alpha=sign * alpha))

    @operator(name)
    def tensors(g, dtype):
        x, y = pair(g, dtype)
        alpha = 1 if dtype is torch.bool else g.number(dtype)
        if dtype is torch.bool and sign < 0:
            return None
        return [x, y, alpha, Out(compute(x, y, alpha))]

    @operator(name + "s")
    def scalar(g, dtype):
        if dtype is torch.bool:
            return None
        x, alpha, other = g.tensor(dtype), g.number(dtype), g.number(dtype)
        return [x, other, alpha, Out(compute(x, other, alpha))]

    @operator("Inplace" + name)
    def changed(g, dtype):
        if dtype is torch.bool:
            return None
        x = g.tensor(dtype)
        y, alpha = g.broadcastable(dtype, x.shape), g.number(dtype)
        return [Ref(x, compute(x, y, alpha)), y, alpha]


scaled("Add", 1)
scaled("Sub", -1)
