# SPDX-License-Identifier: Apache-2.0
"""Softmax and normalisations against PyTorch."""

import torch

from .cases import Out, Ref, operator
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


def channels(g, dtype):
    """An input with channels in dimension 1, and four vectors with one number per channel."""
    shape = (64, 5, 13, 7) if g.round == 3 else g.shape(least=2, most=4)
    x = g.tensor(dtype, shape, specials=False)
    stats = torch.float64 if dtype is torch.float64 else torch.float32
    vectors = [g.tensor(stats, (shape[1],), low=0.2, high=2) for _ in range(4)]
    return x, stats, vectors


LOOSE = {torch.float32: {"rtol": 1e-3, "atol": 1e-3}, torch.float64: {},
         torch.float16: {"rtol": 1e-2, "atol": 2e-2}, torch.bfloat16: {"rtol": 2e-2, "atol": 1e-1}}


@operator("BatchNorm")
def batch_norm(g, dtype):
    x, stats, (weight, bias, mean, variance) = channels(g, dtype)
    training = g.random.random() < 0.6
    if not x.numel() or (training and x.numel() == x.shape[1]):
        return None
    if g.random.random() < 0.3:
        weight = bias = None
    new_mean, new_variance = mean.double(), variance.double()
    z, save_mean, save_invstd = torch.native_batch_norm(
        x.double(), None if weight is None else weight.double(), None if bias is None else bias.double(),
        new_mean, new_variance, training, 0.1, 1e-3)
    loose = LOOSE[dtype]
    return [x, weight, bias, Ref(mean, new_mean.to(stats)), Ref(variance, new_variance.to(stats), **LOOSE[stats]),
            training, 0.1, 1e-3, Out(z, dtype=dtype, **loose), Out(save_mean, dtype=stats),
            Out(save_invstd, dtype=stats, **LOOSE[stats])]


def batch_norm_backward(g, dtype, *version):
    x, stats, (weight, mean, variance, _) = channels(g, dtype)
    training = g.random.random() < 0.6
    if not x.numel() or (training and x.numel() == x.shape[1]):
        return None
    dy = g.tensor(dtype, x.shape, specials=False)
    _, save_mean, save_invstd = torch.native_batch_norm(x.double(), None, None, None, None, True, 0.1, 1e-1)
    save_mean, save_invstd = save_mean.to(stats), save_invstd.to(stats)
    mask = [True, True, g.random.random() < 0.5]
    results = torch.ops.aten.native_batch_norm_backward(
        dy.double(), x.double(), weight.double(), mean.double(), variance.double(), save_mean.double(),
        save_invstd.double(), training, 1e-3, mask)
    outs = [Out(r, dtype=t, **LOOSE[dtype]) if m else None for r, t, m in zip(results, (dtype, stats, stats), mask)]
    return [dy, x, weight, mean, variance, save_mean, save_invstd, training, 1e-3, mask, *version, *outs]


operator("BatchNormBackward")(batch_norm_backward)
operator("FastBatchNormBackward")(lambda g, dtype: batch_norm_backward(g, dtype, 0))


def moments(x):
    dims = [d for d in range(x.dim()) if d != 1]
    return x.double().mean(dims), x.double().var(dims, correction=0), dims


@operator("BatchNormStats")
def batch_norm_stats(g, dtype):
    x, stats, _ = channels(g, dtype)
    mean, variance, _ = moments(x)
    return [x, 1e-3, Out(mean, dtype=stats), Out(torch.rsqrt(variance + 1e-3), dtype=stats, **LOOSE[stats])] \
        if x.numel() else None


@operator("BatchNormReduce")
def batch_norm_reduce(g, dtype):
    x, stats, _ = channels(g, dtype)
    dims = [d for d in range(x.dim()) if d != 1]
    return [x, Out(x.double().sum(dims), dtype=stats, **LOOSE[stats]),
            Out((x.double() ** 2).sum(dims), dtype=stats, **LOOSE[stats])]


def along(x, vector):
    return vector.double().reshape([-1 if d == 1 else 1 for d in range(x.dim())])


@operator("BatchNormElemt")
def batch_norm_elemt(g, dtype):
    x, stats, (weight, bias, mean, invstd) = channels(g, dtype)
    expected = (x.double() - along(x, mean)) * along(x, invstd) * along(x, weight) + along(x, bias)
    return [x, weight, bias, mean, invstd, 1e-3, Out(expected, dtype=dtype, **LOOSE[dtype])]


@operator("BatchNormReduceBackward")
def batch_norm_reduce_backward(g, dtype):
    x, stats, (weight, mean, invstd, _) = channels(g, dtype)
    dy = g.tensor(dtype, x.shape, specials=False)
    dims = [d for d in range(x.dim()) if d != 1]
    total, dot = dy.double().sum(dims), (dy.double() * (x.double() - along(x, mean))).sum(dims)
    return [dy, x, mean, invstd, weight, True, True, True,
            *(Out(r, dtype=stats, **LOOSE[stats]) for r in (total, dot, dot * invstd.double(), total))]


@operator("BatchNormElemtBackward")
def batch_norm_elemt_backward(g, dtype):
    x, stats, (weight, mean, invstd, _) = channels(g, dtype)
    dy = g.tensor(dtype, x.shape, specials=False)
    if not x.numel():
        return None
    total, dot = (g.tensor(stats, (x.shape[1],), specials=False) for _ in range(2))
    counts = torch.randint(1, 50, (3,), dtype=torch.int32)
    n = float(counts.sum())
    expected = (dy.double() - along(x, total) / n - (x.double() - along(x, mean)) * along(x, invstd) ** 2
                * along(x, dot) / n) * along(x, invstd) * along(x, weight)
    return [dy, x, mean, invstd, weight, total, dot, counts, Out(expected, dtype=dtype, **LOOSE[dtype])]


def grouped(g, dtype):
    """An input, its groups, and parameters of its channels."""
    groups, channels = g.random.randint(1, 4), g.random.randint(1, 3)
    shape = (g.random.randint(1, 5), groups * channels, *(g.random.randint(1, 7) for _ in range(g.random.randint(0, 2))))
    x = g.tensor(dtype, shape, specials=False)
    gamma, beta = (g.tensor(dtype, (shape[1],), specials=False) for _ in range(2))
    return x, groups, gamma, beta


def group_statistics(x, gamma, beta, groups, eps):
    elements = x.numel() // (x.shape[0] * x.shape[1])
    z, mean, rstd = torch.native_group_norm(
        x.double().contiguous(), None if gamma is None else gamma.double(), None if beta is None else beta.double(),
        x.shape[0], x.shape[1], elements, groups, eps)
    return [x.shape[0], x.shape[1], elements], z.reshape(x.shape), mean, rstd


@operator("GroupNorm")
def group_norm(g, dtype):
    x, groups, gamma, beta = grouped(g, dtype)
    if g.random.random() < 0.3:
        gamma = beta = None
    sizes, z, mean, rstd = group_statistics(x, gamma, beta, groups, 1e-2)
    return [x, gamma, beta, *sizes, groups, 1e-2, Out(z, dtype=dtype, **LOOSE[dtype]), Out(mean, dtype=dtype),
            Out(rstd, dtype=dtype)]


def group_norm_active(name, scale, *arguments):
    """arguments: how the parameters between beta and the outputs follow from groups and eps"""
    @operator(name)
    def forward(g, dtype):
        x, groups, gamma, beta = grouped(g, dtype)
        _, z, mean, rstd = group_statistics(x, gamma, beta, groups, 1e-2)
        active = z * torch.sigmoid(scale * z) if scale else z
        return [x, gamma, beta, *(groups if a == "groups" else 1e-2 if a == "eps" else a for a in arguments),
                Out(active, dtype=dtype, **LOOSE[dtype]), Out(mean, dtype=dtype), Out(rstd, dtype=dtype)]


group_norm_active("GroupNormSilu", 1, "groups", "eps")
group_norm_active("GroupNormSiluV2", 0, "groups", "eps", False)
group_norm_active("GroupNormSwish", 1.5, "groups", "NCHW", "eps", True, 1.5)


@operator("GroupNormBackward")
def group_norm_backward(g, dtype):
    x, groups, gamma, _ = grouped(g, dtype)
    dy = g.tensor(dtype, x.shape, specials=False)
    sizes, _, mean, rstd = group_statistics(x, None, None, groups, 1e-1)
    mean, rstd = mean.to(dtype), rstd.to(dtype)
    mask = [True, g.random.random() < 0.8, g.random.random() < 0.8]
    results = torch.ops.aten.native_group_norm_backward(
        dy.double().contiguous(), x.double().contiguous(), mean.double(), rstd.double(), gamma.double(), *sizes, groups,
        mask)
    outs = [Out(r.reshape(s), dtype=dtype, **LOOSE[dtype]) if m else None
            for r, s, m in zip(results, (x.shape, gamma.shape, gamma.shape), mask)]
    return [dy, x, mean, rstd, gamma, *sizes, groups, mask, *outs]


def summed(g, dtype):
    x, count = normalized(g, dtype)
    if not x.numel():
        return None
    shape = x.shape[x.dim() - count:]
    return x, g.tensor(dtype, x.shape, specials=False), g.tensor(dtype, shape, specials=False), \
        g.tensor(dtype, shape, specials=False), shape


@operator("AddLayerNorm")
def add_layer_norm(g, dtype):
    parts, wanted = summed(g, dtype), g.random.random() < 0.5
    if parts is None:
        return None
    x, other, gamma, beta, shape = parts
    bias = g.tensor(dtype, shape, specials=False) if g.random.random() < 0.5 else None
    total = x.double() + other.double() + (0 if bias is None else bias.double())
    z, mean, rstd = torch.native_layer_norm(total, shape, gamma.double(), beta.double(), 1e-2)
    return [x, other, gamma, beta, bias, 1e-2, wanted, Out(z, dtype=dtype, **LOOSE[dtype]),
            Out(mean, dtype=torch.float32), Out(rstd, dtype=torch.float32), Out(total, dtype=dtype) if wanted else None]


@operator("DeepNorm")
def deep_norm(g, dtype):
    parts = summed(g, dtype)
    if parts is None:
        return None
    x, other, gamma, beta, shape = parts
    z, mean, rstd = torch.native_layer_norm(0.3 * x.double() + other.double(), shape, gamma.double(), beta.double(), 1e-2)
    return [x, other, beta, gamma, 0.3, 1e-2, Out(mean, dtype=torch.float32), Out(rstd, dtype=torch.float32),
            Out(z, dtype=dtype, **LOOSE[dtype])]


def summed_gradients(dy, total, gamma, shape):
    mean, rstd = (t.float() for t in torch.native_layer_norm(total, shape, None, None, 1e-2)[1:])
    return mean, rstd, torch.ops.aten.native_layer_norm_backward(
        dy.double(), total, shape, mean.double(), rstd.double(), gamma.double(), gamma.double(), [True] * 3)


@operator("AddLayerNormGrad")
def add_layer_norm_grad(g, dtype):
    parts = summed(g, dtype)
    if parts is None:
        return None
    x, other, gamma, _, shape = parts
    dy = g.tensor(dtype, x.shape, specials=False)
    dsum = g.tensor(dtype, x.shape, specials=False) if g.random.random() < 0.5 else None
    mean, rstd, (dx, dw, db) = summed_gradients(dy, x.double() + other.double(), gamma, shape)
    loose = {"rtol": 2e-2, "atol": 5e-2} if dtype is not torch.float32 else LOOSE[dtype]
    return [dy, x, other, rstd, mean, gamma, dsum,
            Out(dx + (0 if dsum is None else dsum.double()), dtype=dtype, **loose),
            Out(dw, dtype=torch.float32, **loose), Out(db, dtype=torch.float32, **loose)]


@operator("DeepNormGrad")
def deep_norm_grad(g, dtype):
    parts = summed(g, dtype)
    if parts is None:
        return None
    x, other, gamma, _, shape = parts
    dy = g.tensor(dtype, x.shape, specials=False)
    mean, rstd, (dx, dw, db) = summed_gradients(dy, 0.3 * x.double() + other.double(), gamma, shape)
    loose = {"rtol": 2e-2, "atol": 5e-2} if dtype is not torch.float32 else LOOSE[dtype]
    return [dy, x, other, gamma, mean, rstd, 0.3, Out(0.3 * dx, dtype=dtype, **loose), Out(dx, dtype=dtype, **loose),
            Out(db, dtype=torch.float32, **loose), Out(dw, dtype=torch.float32, **loose)]


def masked(g, dtype):
    shape = g.shape(least=1)
    mask = g.broadcastable(torch.bool, shape)
    return g.tensor(dtype, shape, specials=False), mask, mask.expand(shape)


@operator("ScaledMaskedSoftmax")
def scaled_masked_softmax(g, dtype):
    x, mask, wide_mask = masked(g, dtype)
    scores = (x.double() * 0.7).masked_fill(wide_mask, -10000)
    return [x, mask, 0.7, False, Out(torch.softmax(scores, -1), dtype=dtype)]


@operator("ScaledMaskedSoftmaxBackward")
def scaled_masked_softmax_backward(g, dtype):
    x, mask, wide_mask = masked(g, dtype)
    y, dy = torch.softmax(x.double(), -1).to(dtype), g.tensor(dtype, x.shape, specials=False)
    grad = torch._softmax_backward_data(dy.double(), y.double(), -1, torch.float64) * 0.7
    return [dy, y, mask, 0.7, False, Out(grad.masked_fill(wide_mask, 0), dtype=dtype)]


def listed(name, function):
    @operator(name)
    def combined(g, dtype):
        shape = g.shape()
        tensors = [g.tensor(dtype, shape, specials=False), *(g.broadcastable(dtype, shape, specials=False)
                                                             for _ in range(g.random.randint(0, 3)))]
        total = tensors[0].clone()
        for t in tensors[1:]:
            total = function(total, t)
        return [tensors, Out(total)] if dtype is not torch.bool else None


listed("MaxN", torch.maximum)
listed("MinN", torch.minimum)
listed("Sum", lambda x, y: (wide(x) + wide(y)).to(x.dtype))
listed("SumV2", lambda x, y: (wide(x) + wide(y)).to(x.dtype))
