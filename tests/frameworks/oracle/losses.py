# SPDX-License-Identifier: Apache-2.0
"""Losses against PyTorch."""

import torch

from .cases import Out, operator

aten = torch.ops.aten


def likelihood(g, dtype, planes):
    """Log-probabilities, targets (some ignored), weights or None."""
    classes = g.random.randint(1, 9)
    batch = g.random.randint(1, 40)
    shape = (batch, classes, g.random.randint(1, 5), g.random.randint(1, 5)) if planes else \
        (classes,) if g.round == 0 else (batch, classes)
    x = torch.log_softmax(torch.randn(shape, dtype=torch.float64), 0 if len(shape) == 1 else 1).to(dtype)
    target = torch.randint(0, classes, (batch, *shape[2:]) if len(shape) > 1 else ())
    ignored = g.random.choice([-100, 0, 1])
    weight = g.tensor(dtype, (classes,), low=0.1, high=2) if g.random.random() < 0.5 else None
    return g.lay_out(x), g.lay_out(target), weight, ignored


def wide(t):
    return None if t is None else t.double()


def nll(name, function, planes):
    @operator(name)
    def forward(g, dtype):
        x, target, weight, ignored = likelihood(g, dtype, planes)
        reduction = g.random.choice([0, 1, 2])
        out, total = function(x.double(), target, wide(weight), reduction, ignored)
        if g.random.random() < 0.5:
            target = target.int()
        return [x, target, weight, reduction, ignored, Out(out, dtype=dtype), Out(total.reshape(()), dtype=dtype)]


nll("NLLLoss", aten.nll_loss_forward, False)
nll("NLLLoss2d", aten.nll_loss2d_forward, True)


def nll_backward(name, forward, function, planes):
    @operator(name)
    def backward(g, dtype):
        x, target, weight, ignored = likelihood(g, dtype, planes)
        reduction = g.random.choice([0, 1, 2])
        out, total = forward(x.double(), target, wide(weight), reduction, ignored)
        if reduction == 1 and float(total) == 0:
            return None
        total = total.to(dtype)
        dy = g.tensor(dtype, out.shape, specials=False)
        expected = function(dy.double(), x.double().contiguous(), target, wide(weight), reduction, ignored, total.double())
        return [dy, x, target, weight, reduction, ignored, total.clone(), Out(expected, dtype=dtype)]


nll_backward("NLLLossBackward", aten.nll_loss_forward, aten.nll_loss_backward, False)
nll_backward("NLLLoss2dBackward", aten.nll_loss2d_forward, aten.nll_loss2d_backward, True)
