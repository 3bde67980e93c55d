# SPDX-License-Identifier: Apache-2.0
"""Sorting, selection, unique values, cumulative functions, searches, histograms and distances against PyTorch."""

import torch

from .cases import REALS, Out, Ref, operator
from .reductions import larger

INDICES = (torch.int32, torch.int64)


@operator("Sort")
def sort(g, dtype):
    x, descending = larger(g, dtype), g.random.random() < 0.5
    dim = g.dim(x)
    values, indices = torch.sort(x, stable=True, dim=dim, descending=descending)
    return [x, True, dim, descending, Out(values), Out(indices)]


@operator("Argsort")
def argsort(g, dtype):
    x, descending = larger(g, dtype), g.random.random() < 0.5
    dim = g.dim(x)
    return [x, dim, descending, Out(torch.sort(x, stable=True, dim=dim, descending=descending)[1])]


@operator("SortWithIndex")
def sort_with_index(g, dtype):
    x, descending = g.tensor(dtype, g.shape(least=1)), g.random.random() < 0.5
    given, dim = g.tensor(torch.int32, x.shape), g.dim(x)
    values, indices = torch.sort(x, stable=True, dim=dim, descending=descending)
    return [x, given, dim, descending, True, Out(values), Out(torch.gather(given, dim, indices))]


def at_indices(x, dim, values):
    """Any index with the right value is accepted."""
    def check(got):
        found = torch.gather(x, dim, got.long()) if x.dim() else x
        assert torch.equal(found.nan_to_num(nan=-77) if x.dtype in REALS else found,
                           values.nan_to_num(nan=-77) if x.dtype in REALS else values)
    return check


@operator("Topk")
def topk(g, dtype):
    if dtype is torch.bool:
        return None
    x, largest = larger(g, dtype), g.random.random() < 0.5
    dim = g.dim(x)
    k = g.random.randint(0, x.shape[dim]) if x.dim() else 1
    values, indices = torch.topk(x, k, dim, largest, True)
    return [x, k, dim, largest, True, Out(values), Out(indices, check=at_indices(x, dim, values))]


def ranked(name, function, *more):
    @operator(name)
    def rank(g, dtype):
        x, keep = larger(g, dtype), g.random.random() < 0.5
        if not x.numel() or dtype is torch.bool:
            return None
        dim = g.dim(x)
        k = [g.random.randint(1, x.shape[dim] if x.dim() else 1)] if more else []
        values, indices = function(x, *k, dim, keepdim=True)
        check = at_indices(x, dim, values)
        drop = (lambda t: t) if keep or not x.dim() else (lambda t: t.squeeze(dim))
        restore = (lambda t: t) if keep or not x.dim() else (lambda t: t.unsqueeze(dim))
        return [x, *k, dim, keep, Out(drop(values)), Out(drop(indices), check=lambda got: check(restore(got)))]


ranked("Kthvalue", torch.kthvalue, "k")
ranked("MedianDim", torch.median)
ranked("NanMedianDim", torch.nanmedian)


def median(name, function):
    @operator(name)
    def whole(g, dtype):
        x = larger(g, dtype)
        return [x, Out(function(x))] if x.numel() and dtype is not torch.bool else None


median("Median", torch.median)
median("NanMedian", torch.nanmedian)


def few(g, dtype):
    """A tensor with repeated values."""
    return g.tensor(dtype, g.shape(), specials=False) if dtype not in REALS else \
        g.lay_out(torch.randint(-3, 4, g.shape()).to(dtype))


@operator("Unique")
def unique(g, dtype):
    x, wanted = few(g, dtype), g.random.random() < 0.5
    values, inverse = torch.unique(x, return_inverse=True)
    return [x, True, wanted, Out(values, room=(x.numel(),)), Out(inverse) if wanted else None]


@operator("Unique2")
def unique2(g, dtype):
    x, wanted, counted = few(g, dtype), g.random.random() < 0.5, g.random.random() < 0.5
    values, inverse, counts = torch.unique(x, return_inverse=True, return_counts=True)
    return [x, True, wanted, counted, Out(values, room=(x.numel(),)), Out(inverse) if wanted else None,
            Out(counts, room=(x.numel(),)) if counted else None]


@operator("UniqueConsecutive")
def unique_consecutive(g, dtype):
    x = few(g, dtype)
    if x.dim() > 1 and x.numel() and g.random.random() < 0.5:
        dim = g.dim(x)
        values, inverse, counts = torch.unique_consecutive(x, return_inverse=True, return_counts=True, dim=dim)
        return [x, True, True, dim, Out(values, room=x.shape), Out(inverse), Out(counts, room=(x.shape[dim],))]
    values, inverse, counts = torch.unique_consecutive(x, return_inverse=True, return_counts=True)
    return [x, True, True, 1000, Out(values, room=(x.numel(),)), Out(inverse), Out(counts, room=(x.numel(),))]


def cumulative(x, dim, function, dtype):
    return function(x.double(), dim).to(dtype) if x.dtype in REALS else function(x, dim, dtype=torch.int64).to(dtype)


@operator("Cumsum")
def cumsum(g, dtype):
    x = larger(g, dtype, specials=False)
    dim, out = g.dim(x), dtype if dtype in REALS else torch.int64
    return [x, dim, out, Out(cumulative(x, dim, torch.cumsum, out))]


@operator("CumsumV2")
def cumsum_v2(g, dtype):
    x, exclusive, reverse = g.tensor(dtype, specials=False), g.random.random() < 0.5, g.random.random() < 0.5
    if dtype is torch.bool:
        return None
    dim = g.dim(x)
    wide = (x.double() if dtype in REALS else x.long())
    turned = torch.flip(wide, [dim]) if reverse and x.dim() else wide
    total = torch.cumsum(turned, dim)
    total = total - turned if exclusive else total
    return [x, dim, exclusive, reverse, Out(torch.flip(total, [dim]) if reverse and x.dim() else total, dtype=dtype)]


@operator("Cumprod")
def cumprod(g, dtype):
    x = g.tensor(dtype, specials=False)
    dim, out = g.dim(x), dtype if dtype in REALS else torch.int64
    return [x, dim, out, Out(cumulative(x, dim, torch.cumprod, out))]


@operator("InplaceCumprod")
def inplace_cumprod(g, dtype):
    x = g.tensor(dtype, specials=False)
    dim = g.dim(x)
    return [Ref(x, cumulative(x, dim, torch.cumprod, dtype)), dim] if dtype is not torch.bool else None


def extreme(name, function):
    @operator(name)
    def running(g, dtype):
        x, indices = larger(g, dtype), g.random.choice(INDICES)
        dim = g.dim(x)
        values, where = function(x, dim)
        return [x, dim, Out(values), Out(where, dtype=indices)]


extreme("Cummax", torch.cummax)
extreme("Cummin", torch.cummin)


@operator("SearchSorted")
def search_sorted(g, dtype):
    shape, right, one = g.shape(least=1), g.random.random() < 0.5, g.random.random() < 0.5
    if dtype is torch.bool:
        return None
    base = g.tensor(dtype, shape[-1:] if one else shape, specials=False, layout="dense")
    values = g.tensor(dtype, (*shape[:-1], 5), specials=False)
    out = g.random.choice(INDICES)
    if g.random.random() < 0.3:
        sorter = torch.argsort(base, dim=-1)
        return [base, values, out is torch.int32, right, sorter,
                Out(torch.searchsorted(base, values.contiguous(), right=right, sorter=sorter), dtype=out)]
    base = torch.sort(base, dim=-1)[0]
    return [g.lay_out(base), values, out is torch.int32, right, None,
            Out(torch.searchsorted(base, values.contiguous(), right=right), dtype=out)]


@operator("SearchSorteds")
def search_sorteds(g, dtype):
    base = torch.sort(g.tensor(dtype, (g.random.randint(1, 40),), specials=False, layout="dense"))[0]
    value, right = 1.0 if dtype in REALS else 1, g.random.random() < 0.5
    return [base, value, False, right, None, Out(torch.searchsorted(base, value, right=right))] \
        if dtype is not torch.bool else None


@operator("Bucketize")
def bucketize(g, dtype):
    base = torch.sort(g.tensor(dtype, (g.random.randint(1, 40),), specials=False, layout="dense"))[0]
    x, right = g.tensor(dtype, specials=False), g.random.random() < 0.5
    return [x, base, False, right, Out(torch.bucketize(x.contiguous(), base, right=right))] if dtype is not torch.bool else None


@operator("Histc")
def histc(g, dtype):
    x, bins = g.tensor(dtype, specials=False), g.random.randint(1, 20)
    low, high = g.random.choice([(0, 0), (-2, 3), (0, 50)])
    expected = torch.histc(x.double(), bins, low, high)
    return [x, bins, low, high, Out(expected, dtype=dtype)] if x.numel() < 100 else None


@operator("Bincount")
def bincount(g, dtype):
    x = g.tensor(dtype, (g.random.randint(0, 60),), low=0, high=30)
    least = g.random.randint(0, 40)
    weights = g.tensor(torch.float32, x.shape, specials=False) if g.random.random() < 0.5 else None
    expected = torch.bincount(x.long(), None if weights is None else weights.double(), least)
    return [x, weights, least, Out(expected, dtype=torch.float32 if weights is not None else torch.int64)]


@operator("Equal")
def equal(g, dtype):
    x = larger(g, dtype, specials=False)
    other = g.lay_out(x.clone())
    if g.random.random() < 0.4 and x.numel():
        other.view(-1)[-1:].logical_not_() if other.is_contiguous() else other.zero_()
    if g.random.random() < 0.2:
        other = g.tensor(dtype, (3, 9))
    return [x, other, Out(torch.tensor(torch.equal(x, other)))]


ORDERS = [0.0, 1.0, 2.0, 3.0, float("inf")]


@operator("Cdist")
def cdist(g, dtype):
    batch = [(), (3,), (2, 3)][g.random.randrange(3)]
    rows, others, cols = (g.random.randint(1, 9) for _ in range(3))
    x = g.tensor(dtype, (*batch, rows, cols), specials=False)
    y = g.tensor(dtype, (*(batch if g.random.random() < 0.5 else ()), others, cols), specials=False)
    order = g.random.choice(ORDERS)
    return [x, y, order, 0, Out(torch.cdist(x.double(), y.double(), order,
                                            compute_mode="donot_use_mm_for_euclid_dist"), dtype=dtype)]


@operator("Pdist", "PdistForward")
def pdist(g, dtype):
    x, order = g.tensor(dtype, (g.random.randint(1, 9), g.random.randint(1, 9)), specials=False), g.random.choice(ORDERS)
    return [x, order, Out(torch.pdist(x.double(), order), dtype=dtype)]


@operator("Trace")
def trace(g, dtype):
    x = g.tensor(dtype, g.shape(least=2, most=2), specials=False)
    return [x, Out(torch.trace(x.double() if dtype in REALS else x.long()),
                   dtype=dtype if dtype in REALS else torch.int64)]


def renormed(g, dtype):
    x = g.tensor(dtype, g.shape(least=2), specials=False)
    order, dim, most = g.random.choice([1.0, 2.0, 3.0]), g.dim(x), g.random.choice([0.5, 3.0, 100.0])
    return x, order, dim, most, Out(torch.renorm(x.double(), order, dim, most), dtype=dtype)


@operator("Renorm")
def renorm(g, dtype):
    return list(renormed(g, dtype))


@operator("InplaceRenorm")
def inplace_renorm(g, dtype):
    x, order, dim, most, out = renormed(g, dtype)
    return [Ref(x, out.expected), order, dim, most]


@operator("UniqueDim")
def unique_dim(g, dtype):
    shape = g.shape(least=1)
    x = g.lay_out(torch.randint(0, 2, shape).to(dtype))
    if not x.numel():
        return None
    dim, wanted = g.dim(x), g.random.random() < 0.5
    values, inverse, counts = torch.unique(x, dim=dim, return_inverse=True, return_counts=True)
    size = (x.shape[dim],)
    return [x, True, wanted, dim, Out(values, room=shape), Out(inverse) if wanted else None, Out(counts, room=size)]
