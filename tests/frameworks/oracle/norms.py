# SPDX-License-Identifier: Apache-2.0
"""Softmax and normalisations against PyTorch."""

import torch

from .cases import Out, operator
from .reductions import wide


def softmax(name, function):
    @operator(name)
    def forward(g, dtype):
        x = g.tensor(dtype, g.random.choice([(3, 5000), (700, 9), (2, 3, 2049)])) if g.round == 3 else g.tensor(dtype)
        dim = g.dim(x)
        return [x, dim, Out(function(wide(x), dim), dtype=dtype)]


softmax("Softmax", torch.softmax)
softmax("LogSoftmax", torch.log_softmax)


def softmax_backward(name, function, gradient):
    @operator(name)
    def backward(g, dtype):
        shape = g.random.choice([(3, 5000), (700, 9), (2, 3, 2049)]) if g.round == 3 else g.shape()
        dy, x = g.tensor(dtype, shape), g.tensor(dtype, shape, specials=False)
        dim = g.dim(x)
        y = g.lay_out(function(wide(x), dim).to(dtype))
        expected = gradient(dy.double(), y.double(), dim, torch.float64)
        return [dy, y, dim, Out(expected, dtype=dtype)]


softmax_backward("SoftmaxBackward", torch.softmax, torch._softmax_backward_data)
softmax_backward("LogSoftmaxBackward", torch.log_softmax, torch._log_softmax_backward_data)


@operator("SoftmaxCrossEntropyWithLogits")
def softmax_cross_entropy(g, dtype):
    shape = g.shape(least=2, most=2)
    x, labels = g.tensor(dtype, shape, specials=False), g.tensor(dtype, shape, low=0, high=1)
    logits = torch.log_softmax(x.double(), 1)
    return [x, labels, Out(-(labels.double() * logits).sum(1), dtype=dtype),
            Out(logits.exp() - labels.double(), dtype=dtype)] if shape[1] else None


def normalized(g, dtype):
    """An input with the number of its trailing dimensions that are normalized."""
    x = g.tensor(dtype, g.random.choice([(3, 5000), (200, 40), (2, 3, 2049)]), specials=False) if g.round == 3 else \
        g.tensor(dtype, g.shape(least=1), specials=False)
    return x, g.random.randint(1, x.dim())


def layer_norm(*names, mode=False):
    @operator(*names)
    def forward(g, dtype):
        x, count = normalized(g, dtype)
        if not x.numel():
            return None
        shape = x.shape[x.dim() - count:]
        weight = g.tensor(dtype, shape) if g.random.random() < 0.7 else None
        bias = g.tensor(dtype, shape) if g.random.random() < 0.7 else None
        stats = dtype if dtype is torch.float64 else torch.float32
        z, mean, rstd = torch.native_layer_norm(x.double(), shape, None if weight is None else weight.double(),
                                                None if bias is None else bias.double(), 1e-5)
        loose = {"rtol": 1e-3, "atol": 1e-4} if dtype is torch.float32 else {}
        return [x, list(shape), weight, bias, 1e-5, Out(z, dtype=dtype, **loose), Out(mean, dtype=stats),
                Out(rstd, dtype=stats, **loose), *([0] if mode else [])]


layer_norm("LayerNorm", "FastLayerNorm")
layer_norm("LayerNormWithImplMode", mode=True)


@operator("LayerNormBackward")
def layer_norm_backward(g, dtype):
    x, count = normalized(g, dtype)
    if not x.numel():
        return None
    shape = x.shape[x.dim() - count:]
    dy = g.tensor(dtype, x.shape, specials=False)
    weight, bias = (g.tensor(dtype, shape, specials=False) for _ in range(2))
    if g.random.random() < 0.3:
        weight = bias = None
    mean, rstd = (t.float() for t in torch.native_layer_norm(x.double(), shape, None, None, 1e-2)[1:])
    mask = [True, weight is not None, bias is not None and g.random.random() < 0.8]
    dx, dw, db = torch.ops.aten.native_layer_norm_backward(
        dy.double(), x.double(), shape, mean.double(), rstd.double(), None if weight is None else weight.double(),
        None if bias is None else bias.double(), mask)
    loose = {"rtol": 1e-3, "atol": 1e-3} if dtype is torch.float32 else {"rtol": 2e-2, "atol": 5e-2}
    return [dy, x, list(shape), mean, rstd, weight, bias, mask, Out(dx, dtype=dtype, **loose),
            Out(dw, dtype=dtype, **loose) if mask[1] else None, Out(db, dtype=dtype, **loose) if mask[2] else None]


def rms(x, weight, count, eps):
    dims = list(range(x.dim() - count, x.dim()))
    rstd = torch.rsqrt((x * x).mean(dims, keepdim=True) + eps)
    return x * rstd * weight, rstd


def rms_norm(name, more):
    @operator(name)
    def forward(g, dtype):
        x, count = normalized(g, dtype)
        if not x.numel():
            return None
        weight = g.tensor(dtype, x.shape[x.dim() - count:], specials=False)
        y, rstd = rms(x.double(), weight.double() + more, count, 1e-6)
        return [x, weight, 1e-6, Out(y, dtype=dtype), Out(rstd, dtype=torch.float32)]


rms_norm("RmsNorm", 0)
rms_norm("GemmaRmsNorm", 1)


@operator("AddRmsNorm")
def add_rms_norm(g, dtype):
    x, count = normalized(g, dtype)
    if not x.numel():
        return None
    other, weight = g.tensor(dtype, x.shape, specials=False), g.tensor(dtype, x.shape[x.dim() - count:], specials=False)
    total = (wide(x) + wide(other)).to(dtype)
    y, rstd = rms(total.double(), weight.double(), count, 1e-6)
    return [x, other, weight, 1e-6, Out(y, dtype=dtype), Out(rstd, dtype=torch.float32), Out(total)]


@operator("RmsNormGrad")
def rms_norm_grad(g, dtype):
    x, count = normalized(g, dtype)
    if not x.numel():
        return None
    dy, weight = g.tensor(dtype, x.shape, specials=False), g.tensor(dtype, x.shape[x.dim() - count:], specials=False)
    wide_x, wide_weight = x.double().requires_grad_(), weight.double().requires_grad_()
    y, rstd = rms(wide_x, wide_weight, count, 1e-2)
    dx, dw = torch.autograd.grad(y, (wide_x, wide_weight), dy.double())
    loose = {"rtol": 1e-3, "atol": 1e-3} if dtype is torch.float32 else {"rtol": 2e-2, "atol": 5e-2}
    return [dy, x, rstd.detach().float(), weight, Out(dx, dtype=dtype, **loose), Out(dw, dtype=torch.float32, **loose)]
