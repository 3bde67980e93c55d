# SPDX-License-Identifier: Apache-2.0
"""Reductions over dimensions against PyTorch."""

import warnings

import torch

from .cases import REALS, Out, operator

warnings.filterwarnings("ignore", "(std|var)(_mean)?\\(\\): degrees of freedom")
HALVES = (torch.float16, torch.bfloat16)


def wide(x):
    """Half precision is reduced in float32 and rounded once."""
    return x.float() if x.dtype in HALVES else x


def larger(g, dtype, least=0, **options):
    """Sometimes a tensor that is reduced in several pieces."""
    if g.round == 3:
        return g.tensor(dtype, g.random.choice([(70001,), (2, 40009), (40009, 3), (300, 257), (1100, 40)]), **options)
    return g.tensor(dtype, g.shape(least=least), **options)


def all_dims(x, dims):
    return list(dims) or list(range(x.dim()))


def close(x, expected, dtype=None):
    """A sum of many terms: the error grows with the terms that cancel."""
    return Out(expected, dtype=dtype, atol={torch.float32: 1e-5, torch.float64: 1e-9}.get(dtype or expected.dtype, 1e-2)
               * max(1.0, float(x.numel()) ** 0.5)) if (dtype or expected.dtype) in REALS else Out(expected, dtype=dtype)


def summed(name, function):
    @operator(name)
    def plain(g, dtype):
        x = larger(g, dtype)
        out = g.random.choice([dtype, torch.float32]) if dtype in REALS else torch.int64
        dims, keep = g.some_dims(x), g.random.random() < 0.5
        return [x, dims, keep, out, close(x, function(wide(x), all_dims(x, dims), keep), out)]


summed("ReduceSum", lambda x, dims, keep: torch.sum(x, dims, keepdim=keep))
summed("ReduceNansum", lambda x, dims, keep: torch.nansum(x, dims, keepdim=keep))


@operator("Mean")
def mean(g, dtype):
    x = larger(g, dtype)
    dims, keep, out = g.some_dims(x), g.random.random() < 0.5, dtype if dtype in REALS else torch.float32
    return [x, dims, keep, out,
            close(x, torch.mean(wide(x).to(torch.float64 if dtype not in HALVES else torch.float32),
                                all_dims(x, dims), keepdim=keep), out)]


@operator("MeanV2")
def mean_v2(g, dtype):
    x = larger(g, dtype)
    dims, keep, noop = g.some_dims(x), g.random.random() < 0.5, g.random.random() < 0.5
    expected = x if noop and not dims else torch.mean(wide(x), all_dims(x, dims), keepdim=keep)
    return [x, dims, keep, noop, close(x, expected, dtype)]


@operator("ReduceLogSum")
def log_sum(g, dtype):
    x = g.tensor(dtype, low=0.1, high=2)
    dims, keep, noop = g.some_dims(x), g.random.random() < 0.5, g.random.random() < 0.5
    expected = x if noop and not dims else torch.log(torch.sum(wide(x), all_dims(x, dims), keepdim=keep))
    return [x, dims, keep, noop, Out(expected, dtype=dtype)]


@operator("Prod")
def prod(g, dtype):
    x = g.tensor(dtype)
    out = dtype if dtype in REALS else torch.int64
    return [x, out, Out(torch.prod(x.double() if dtype in REALS else x), dtype=out)]


@operator("ProdDim")
def prod_dim(g, dtype):
    x, keep = g.tensor(dtype), g.random.random() < 0.5
    dim, out = g.dim(x), dtype if dtype in REALS else torch.int64
    return [x, dim, keep, out, Out(torch.prod(x.double() if dtype in REALS else x, dim, keepdim=keep), dtype=out)]


def extreme(name, function):
    @operator(name)
    def whole(g, dtype):
        x = larger(g, dtype)
        return [x, Out(function(x))] if x.numel() else None


extreme("Max", torch.max)
extreme("Min", torch.min)


def extremes(name, function, noop=None):
    @operator(name)
    def some(g, dtype):
        x = larger(g, dtype)
        dims, keep = g.some_dims(x), g.random.random() < 0.5
        if not x.numel():
            return None
        if noop is not None:
            return [x, dims, keep, noop, Out(x if noop and not dims else function(x, dims, keepdim=keep))]
        return [x, dims, keep, Out(function(x, dims, keepdim=keep))]


extremes("Amax", torch.amax)
extremes("Amin", torch.amin)
extremes("MaxV2", torch.amax, noop=True)


def chosen(name, function):
    """Value and index along a dimension."""
    @operator(name)
    def pair(g, dtype):
        x, keep, indices = larger(g, dtype), g.random.random() < 0.5, g.random.choice([torch.int32, torch.int64])
        if not x.numel():
            return None
        dim = g.dim(x)
        values, where = function(x, dim, keepdim=keep)
        return [x, dim, keep, Out(values), Out(where, dtype=indices)]


chosen("MaxDim", torch.max)
chosen("MinDim", torch.min)


def index_of(name, function):
    @operator(name)
    def index(g, dtype):
        x, keep = larger(g, dtype), g.random.random() < 0.5
        if not x.numel() or dtype is torch.bool:
            return None
        dim = g.dim(x)
        return [x, dim, keep, Out(function(x, dim, keepdim=keep))]


index_of("ArgMax", torch.argmax)
index_of("ArgMin", torch.argmin)


def truth(name, function):
    @operator(name)
    def tested(g, dtype):
        x = larger(g, dtype, **({} if dtype is torch.bool else {"low": 0 if dtype not in REALS else None}))
        if dtype not in REALS and x.numel():
            x[torch.rand(x.shape) < 0.5] = 0
        dims, keep = g.some_dims(x), g.random.random() < 0.5
        return [x, dims, keep, Out(function(x.bool(), all_dims(x, dims), keepdim=keep))]


truth("Any", torch.any)
truth("All", torch.all)


@operator("Aminmax")
def aminmax(g, dtype):
    x, keep = larger(g, dtype), g.random.random() < 0.5
    dims = g.some_dims(x)
    return [x, dims, keep, Out(torch.amin(x, dims, keepdim=keep)), Out(torch.amax(x, dims, keepdim=keep))] \
        if x.numel() else None


@operator("AminmaxAll")
def aminmax_all(g, dtype):
    x = larger(g, dtype)
    return [x, Out(torch.amin(x)), Out(torch.amax(x))] if x.numel() else None


@operator("AminmaxDim")
def aminmax_dim(g, dtype):
    x, keep = larger(g, dtype), g.random.random() < 0.5
    dim = g.dim(x)
    return [x, dim, keep, Out(torch.amin(x, dim, keepdim=keep)), Out(torch.amax(x, dim, keepdim=keep))] \
        if x.numel() else None


ORDERS = [0, 1, 2, 2, 3, 0.5, float("inf"), -float("inf")]


def vector_norm(x, order, dims, keep):
    return torch.linalg.vector_norm(x.double(), order, all_dims(x, dims), keepdim=keep)


@operator("Norm")
def norm(g, dtype):
    x, order, keep = larger(g, dtype), g.random.choice(ORDERS), g.random.random() < 0.5
    dims = g.some_dims(x)
    if not x.numel() and order < 0:
        return None
    return [x, float(order), dims, keep, Out(vector_norm(x, order, dims, keep), dtype=dtype)]


@operator("LinalgVectorNorm")
def linalg_vector_norm(g, dtype):
    x, order, keep = larger(g, dtype), g.random.choice(ORDERS), g.random.random() < 0.5
    dims = g.some_dims(x)
    if not x.numel() and order < 0:
        return None
    return [x, float(order), dims, keep, dtype, Out(vector_norm(x, order, dims, keep), dtype=dtype)]


@operator("ForeachNorm")
def foreach_norm(g, dtype):
    tensors = [larger(g, dtype) for _ in range(g.random.randint(1, 4))]
    order = g.random.choice([1, 2, 2])
    return [tensors, float(order), [Out(vector_norm(t, order, [], False), dtype=dtype) for t in tensors]]


def deviation(name, function, unbiased=False):
    @operator(name)
    def spread(g, dtype):
        x, keep = larger(g, dtype, specials=False), g.random.random() < 0.5
        dims, correction = g.some_dims(x), g.random.choice([0, 1]) if unbiased else g.random.choice([0, 1, 2])
        return [x, dims, bool(correction) if unbiased else correction, keep,
                *(Out(e, dtype=dtype) for e in function(x.double(), all_dims(x, dims), correction, keep))]


deviation("Var", lambda x, d, c, k: [torch.var(x, d, correction=c, keepdim=k)], unbiased=True)
deviation("VarCorrection", lambda x, d, c, k: [torch.var(x, d, correction=c, keepdim=k)])
deviation("VarMean", lambda x, d, c, k: torch.var_mean(x, d, correction=c, keepdim=k))
deviation("Std", lambda x, d, c, k: [torch.std(x, d, correction=c, keepdim=k)])
deviation("StdMeanCorrection", lambda x, d, c, k: torch.std_mean(x, d, correction=c, keepdim=k))


@operator("LogSumExp")
def log_sum_exp(g, dtype):
    x, keep = larger(g, dtype), g.random.random() < 0.5
    dims = g.some_dims(x)
    return [x, dims, keep, Out(torch.logsumexp(x.double(), all_dims(x, dims), keepdim=keep),
                               dtype=dtype if dtype in REALS else torch.float32)]
