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


def element_loss(name, function, *numbers, targets=None, weights=0, inputs=None):
    """out = function(input, target, [weight, [positive weight]], reduction, numbers)"""
    @operator(name)
    def forward(g, dtype):
        shape = (300, 257) if g.round == 3 else g.shape()
        reduction = g.random.choice([0, 1, 2])
        x = g.tensor(dtype, shape, **(inputs or {"specials": False}))
        target = g.tensor(dtype, shape, **(targets or {"specials": False}))
        extra = [g.tensor(dtype, shape[-1:], low=0.2, high=2) if shape and g.random.random() < 0.6 else None
                 for _ in range(weights)]
        expected = function(x.double(), target.double(), *map(wide, extra), reduction, *numbers)
        return [x, target, *extra, reduction, *numbers, Out(expected, dtype=dtype)]


def element_gradient(name, function, *numbers, targets=None, weights=0, inputs=None):
    """out = gradient of function for its input (or the target, for names with Target)"""
    @operator(name)
    def backward(g, dtype):
        shape = (30, 57) if g.round == 3 else g.shape()
        reduction = g.random.choice([0, 1, 2])
        x = g.tensor(dtype, shape, **(inputs or {"specials": False}))
        target = g.tensor(dtype, shape, **(targets or {"specials": False}))
        extra = [g.tensor(dtype, shape[-1:], low=0.2, high=2) if shape and g.random.random() < 0.6 else None
                 for _ in range(weights)]
        dy = g.tensor(dtype, shape if reduction == 0 else (), specials=False)
        wide_x, wide_target = x.double().requires_grad_(), target.double().requires_grad_("Target" in name)
        loss = function(wide_x, wide_target, *map(wide, extra), reduction, *numbers)
        expected, = torch.autograd.grad(loss, wide_target if "Target" in name else wide_x, dy.double())
        return [dy, x, target, *extra, reduction, *numbers, Out(expected, dtype=dtype)]


def smooth_l1(x, target, reduction, beta):
    return aten.smooth_l1_loss(x, target, reduction, beta)


def kl_div(x, target, reduction, log_target):
    return aten.kl_div(x, target, reduction, log_target=log_target)


UNIT = {"low": 0.01, "high": 0.99}
SIGNS = {"low": -1, "high": 1}
for loss, reference, options in (
        ("MseLoss", aten.mse_loss, {}), ("L1Loss", lambda x, t, r: reduced(torch.abs(x - t), r), {}),
        ("BinaryCrossEntropy", aten.binary_cross_entropy, {"inputs": UNIT, "targets": UNIT, "weights": 1}),
        ("BinaryCrossEntropyWithLogits", aten.binary_cross_entropy_with_logits, {"targets": UNIT, "weights": 2}),
        ("SoftMarginLoss", aten.soft_margin_loss, {"targets": SIGNS})):
    element_loss(loss, reference, **options)
    element_gradient(loss + "Backward", reference, **options)
element_loss("MseLossOut", aten.mse_loss)
element_gradient("BinaryCrossEntropyWithLogitsTargetBackward", aten.binary_cross_entropy_with_logits, targets=UNIT,
                 weights=2)
element_loss("SmoothL1Loss", smooth_l1, 0.75)
element_gradient("SmoothL1LossBackward", smooth_l1, 0.75)
element_loss("KlDiv", kl_div, False, targets=UNIT)
element_gradient("KlDivBackward", kl_div, True)
element_gradient("KlDivTargetBackward", kl_div, False, targets=UNIT)


def reduced(losses, reduction):
    return losses if reduction == 0 else losses.mean() if reduction == 1 else losses.sum()


def entropy(g, dtype):
    rows, classes = g.random.randint(1, 40), g.random.randint(1, 60)
    x = g.tensor(dtype, (rows, classes), specials=False)
    weight = g.tensor(torch.float32, (classes,), low=0.1, high=2) if g.random.random() < 0.5 else None
    return x, torch.randint(0, classes, (rows,)), weight, g.random.choice([0, 1, 2])


REDUCTIONS = ["none", "mean", "sum"]


@operator("CrossEntropyLoss")
def cross_entropy(g, dtype):
    x, target, weight, reduction = entropy(g, dtype)
    log_prob = torch.log_softmax(x.double(), 1)
    loss, _ = aten.nll_loss_forward(log_prob, target, wide(weight), reduction, -100)
    return [x, target, weight, REDUCTIONS[reduction], -100, 0.0, 0.0, False, Out(loss, dtype=dtype, rtol=2e-2, atol=1e-2),
            Out(log_prob, dtype=dtype), None, None]


@operator("CrossEntropyLossGrad")
def cross_entropy_grad(g, dtype):
    x, target, weight, reduction = entropy(g, dtype)
    log_prob = torch.log_softmax(x.double(), 1).to(dtype)
    wide_x = log_prob.double().requires_grad_()
    loss, _ = aten.nll_loss_forward(torch.log_softmax(wide_x, 1), target, wide(weight), reduction, -100)
    dy = g.tensor(dtype, loss.shape, specials=False)
    expected, = torch.autograd.grad(loss, wide_x, dy.double())
    return [dy, log_prob, target, weight, None, None, REDUCTIONS[reduction], -100, 0.0, 0.0,
            Out(expected, dtype=dtype, rtol=2e-2, atol=1e-2)]
