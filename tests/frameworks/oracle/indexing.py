# SPDX-License-Identifier: Apache-2.0
"""Gather, scatter and masks against PyTorch."""

import math

import torch

from .cases import REALS, Out, Ref, operator, precise
from .layout import shaped

INDICES = (torch.int64, torch.int32)


def positions(g, shape, size, negative=False):
    """Indices into `size` elements."""
    low = -size if negative else 0
    return g.lay_out(torch.randint(low, max(size, low + 1), shape).to(g.random.choice(INDICES)))


def distinct(g, count, size):
    return torch.tensor(g.random.sample(range(size), count), dtype=g.random.choice(INDICES))


@operator("IndexSelect")
def index_select(g, dtype):
    x = g.tensor(dtype, shaped(g))
    dim = g.dim(x)
    index = positions(g, (g.random.randint(1, 9),), x.shape[dim]) if x.shape[dim] else torch.empty(0).long()
    return [x, dim, index, Out(torch.index_select(x, dim, index))]


def rows(x, dim, index):
    dim %= x.dim()
    return torch.index_select(x, dim, index.reshape(-1)).reshape(*x.shape[:dim], *index.shape, *x.shape[dim + 1:])


@operator("GatherV2")
def gather_v2(g, dtype):
    x = g.tensor(dtype, shaped(g))
    dim = g.dim(x)
    if x.shape[dim] == 0:
        return None
    index = positions(g, g.shape(1, 3, 4), x.shape[dim])
    return [x, dim, index, Out(rows(x, dim, index))]


@operator("GatherV3")
def gather_v3(g, dtype):
    x = g.tensor(dtype, shaped(g))
    dim = g.dim(x)
    if x.shape[dim] == 0:
        return None
    index = positions(g, g.shape(1, 3, 4), x.shape[dim])
    return [x, dim, index, 0, 1, Out(rows(x, dim, index))]


@operator("Embedding")
def embedding(g, dtype):
    weight = g.tensor(dtype, (g.random.randint(1, 50), g.random.choice([1, 7, 300])))
    index = positions(g, g.shape(0, 3), weight.shape[0])
    return [weight, index, Out(rows(weight, 0, index))]


@operator("EmbeddingDenseBackward")
def embedding_backward(g, dtype):
    count, dim = g.random.randint(2, 30), g.random.choice([1, 7, 300])
    index = positions(g, g.shape(1, 2, 5), count)
    grad = g.tensor(dtype, (*index.shape, dim), specials=False)
    padding, scaled = g.random.choice([-1, 1]), bool(g.random.randrange(2))
    compute = precise(lambda x: torch.ops.aten.embedding_dense_backward(x, index.long(), count, padding, scaled))
    return [grad, index, count, padding % 2**64, scaled, Out(compute(grad))]


@operator("Gather")
def gather(g, dtype):
    x = g.tensor(dtype)
    dim = g.dim(x)
    shape = [g.random.randint(1, d) if d else 0 for d in x.shape]
    size = x.shape[dim] if x.dim() else 1
    if shape:
        shape[dim] = g.random.randint(1, 9) if size else 0
    index = positions(g, shape, size)
    return [x, dim, index, Out(torch.gather(x, dim, index.long()))]


@operator("Take")
def take(g, dtype):
    x = g.tensor(dtype)
    index = positions(g, g.shape() if x.numel() else (0,), x.numel(), negative=True)
    return [x, index, Out(torch.take(x, index.long()))]


@operator("GatherNd")
def gather_nd(g, dtype):
    x = g.tensor(dtype, [d or 1 for d in shaped(g)])
    width = g.random.randint(1, x.dim())
    points = g.shape(1, 2)
    index = torch.stack([positions(g, points, x.shape[k]).long() for k in range(width)], -1)
    return [x, index, True, Out(x[tuple(index.unbind(-1))])]


def index_list(g, x):
    """Indices for some dimensions: what the operator gets, and what PyTorch gets."""
    shape = g.shape(1, 2, 4) if g.round != 1 else (3,)
    chosen = [g.random.random() < 0.6 for _ in range(x.dim())]
    chosen[g.random.randrange(x.dim())] = True
    while not chosen[-1]:
        chosen.pop()
    kind = g.random.choice(INDICES)
    given = [g.lay_out(torch.randint(-x.shape[i], x.shape[i], [1 if g.random.random() < 0.2 else d for d in shape])
                       .to(kind)) if c else None for i, c in enumerate(chosen)]
    return ([torch.empty(0, dtype=x.dtype) if i is None else i for i in given],
            tuple(slice(None) if i is None else i.long() for i in given))


@operator("Index")
def index(g, dtype):
    x = g.tensor(dtype, [d or 1 for d in shaped(g)])
    given, key = index_list(g, x)
    return [x, given, Out(x[key])]


@operator("IndexPutImpl")
def index_put(g, dtype):
    x = g.tensor(dtype, [d or 1 for d in shaped(g)], specials=False)
    given, key = index_list(g, x)
    accumulate = bool(g.random.randrange(2))
    shape = x[key].shape
    values = g.broadcastable(dtype, shape, specials=False)
    wide = x.float() if dtype in (torch.float16, torch.bfloat16) and accumulate else x.clone()
    if accumulate:
        expected = put_rows(wide, key, values.to(wide.dtype))
    else:
        values = values.reshape(-1)[:1].reshape(()) if values.numel() else values  # duplicates: one value
        expected = wide
        expected[key] = values
    return [Ref(x, expected.to(dtype)), given, values, accumulate, False]


def put_rows(x, key, values):
    """x[key] += values with duplicates."""
    flat = torch.arange(x.numel()).reshape(x.shape)[key]
    values = values.expand(flat.shape).reshape(-1)
    if x.dtype is torch.bool:
        result = x.contiguous().view(-1).to(torch.int32).index_add(0, flat.reshape(-1), values.to(torch.int32))
        return (result != 0).reshape(x.shape)
    return x.contiguous().view(-1).index_add(0, flat.reshape(-1), values).reshape(x.shape)


def scatter_parts(g, dtype):
    x = g.tensor(dtype, specials=False)
    dim = g.dim(x)
    size = x.shape[dim] if x.dim() else 1
    shape = [g.random.randint(1, d) if d else 0 for d in x.shape]
    if shape:
        shape[dim] = g.random.randint(1, 9) if size else 0
    index = positions(g, shape, size)
    source = g.tensor(dtype, [d + g.random.randint(0, 1) if d else 0 for d in shape], specials=False)
    if dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64):
        source = g.lay_out(source.clamp(-2, 2))
    return x, dim, index, source


def reduced(x, dim, index, source, reduce, include=True):
    """Each element in order, in double or int64."""
    wide = (x.double() if x.dtype in REALS else x.long()).contiguous()
    out = (wide.reshape(1) if x.dim() == 0 else wide).clone()
    seen = torch.zeros(out.shape, dtype=torch.long) + (1 if include else 0)
    positions_ = index.reshape(1) if index.dim() == 0 else index
    values = source.reshape(1) if source.dim() == 0 else source
    values = values.to(out.dtype)
    for at in torch.cartesian_prod(*[torch.arange(d) for d in positions_.shape]).reshape(
            -1, positions_.dim()).tolist() if positions_.numel() else []:
        to = list(at)
        to[dim] = int(positions_[tuple(at)])
        to, v = tuple(to), values[tuple(at)]
        if reduce == 0 or not seen[to]:
            out[to] = v
        elif reduce in (1, 5):
            out[to] += v
        elif reduce == 2:
            out[to] *= v
        else:
            out[to] = torch.maximum(out[to], v) if reduce == 3 else torch.minimum(out[to], v)
        if x.dtype is torch.bool:
            out[to] = out[to] != 0
        seen[to] += 1
    if reduce == 5:
        out = out / seen.clamp(min=1) if x.dtype in REALS else torch.div(out, seen.clamp(min=1), rounding_mode="trunc")
    return out.reshape(x.shape).to(x.dtype)


def small(g, dtype):
    """Shapes that the reference can visit element by element."""
    while True:
        parts = scatter_parts(g, dtype)
        if parts[2].numel() < 300:
            return parts
        g.round = 3


@operator("ScatterAdd")
def scatter_add(g, dtype):
    x, dim, index, source = small(g, dtype)
    return [x, dim, index, source, Out(reduced(x, dim, index, source, 1))]


@operator("Scatter")
def scatter(g, dtype):
    x, dim, index, source = small(g, dtype)
    reduce = g.random.choice([0, 1, 2, 3, 4])
    return [x, dim, index, source, reduce, Out(reduced(x, dim, index, source, reduce))]


@operator("ScatterValue")
def scatter_value(g, dtype):
    x, dim, index, _ = small(g, dtype)
    value, reduce = g.number(dtype), g.random.choice([0, 1])
    return [x, dim, index, value, reduce, Out(reduced(x, dim, index, torch.full(index.shape, value, dtype=dtype),
                                                      reduce))]


@operator("InplaceScatter")
def scatter_changed(g, dtype):
    x, dim, index, source = small(g, dtype)
    reduce = g.random.choice([0, 1])
    return [Ref(x, reduced(x, dim, index, source, reduce)), dim, index, source, reduce]


@operator("InplaceScatterValue")
def scatter_value_changed(g, dtype):
    x, dim, index, _ = small(g, dtype)
    value = g.number(dtype)
    return [Ref(x, reduced(x, dim, index, torch.full(index.shape, value, dtype=dtype), 0)), dim, index, value, 0]


@operator("ScatterReduce")
def scatter_reduce(g, dtype):
    x, dim, index, source = small(g, dtype)
    reduce, include = g.random.randint(1, 5 if dtype in REALS else 4), bool(g.random.randrange(2))
    return [x, dim, index, source, reduce, include, Out(reduced(x, dim, index, source, reduce, include))]


@operator("InplaceScatterReduce")
def scatter_reduce_changed(g, dtype):
    x, dim, index, source = small(g, dtype)
    reduce, include = g.random.randint(1, 5 if dtype in REALS else 4), bool(g.random.randrange(2))
    return [Ref(x, reduced(x, dim, index, source, reduce, include)), dim, index, source, reduce, include]


def row_parts(g, dtype, unique=False):
    x = g.tensor(dtype, [d or 1 for d in shaped(g)], specials=False)
    dim = g.dim(x)
    count = g.random.randint(1, x.shape[dim])
    index = distinct(g, count, x.shape[dim]) if unique else positions(g, (g.random.randint(1, 9),), x.shape[dim])
    shape = list(x.shape)
    shape[dim] = index.numel()
    return x, dim, index, g.tensor(dtype, shape, specials=False)


def added(x, dim, index, source, alpha):
    wide = x.double() if x.dtype in REALS else x.long()
    result = wide.index_add(dim, index.long(), source.to(wide.dtype), alpha=alpha)
    return (result != 0) if x.dtype is torch.bool else result.to(x.dtype)


@operator("IndexAdd")
def index_add(g, dtype):
    x, dim, index, source = row_parts(g, dtype)
    alpha = 1 if dtype is torch.bool else g.number(dtype)
    return [x, dim, index, source, alpha, Out(added(x, dim, index, source, alpha))]


@operator("IndexAddV2")
def index_add_v2(g, dtype):
    x, dim, index, source = row_parts(g, dtype)
    return [x, dim, index, source, 1, 0, Out(added(x, dim, index, source, 1))]


@operator("IndexCopy")
def index_copy(g, dtype):
    x, dim, index, source = row_parts(g, dtype, unique=True)
    return [x, dim, index, source, Out(x.index_copy(dim, index.long(), source))]


@operator("InplaceIndexCopy")
def index_copy_changed(g, dtype):
    x, dim, index, source = row_parts(g, dtype, unique=True)
    return [Ref(x, x.index_copy(dim, index.long(), source)), dim, index, source]


@operator("IndexFill")
def index_fill(g, dtype):
    x, dim, index, _ = row_parts(g, dtype)
    value = g.number(dtype)
    return [x, dim, index, value, Out(x.index_fill(dim, index.long(), value))]


@operator("InplaceIndexFill")
def index_fill_changed(g, dtype):
    x, dim, index, _ = row_parts(g, dtype)
    value = g.number(dtype)
    return [Ref(x, x.index_fill(dim, index.long(), value)), dim, index, value]


@operator("IndexFillTensor")
def index_fill_known(g, dtype):
    x, dim, index, _ = row_parts(g, dtype)
    value = g.number(dtype)
    return [x, dim, index.tolist(), value, Out(x.index_fill(dim, index.long(), value))]


@operator("InplaceIndexFillTensor")
def index_fill_known_changed(g, dtype):
    x, dim, index, _ = row_parts(g, dtype)
    value = g.number(dtype)
    return [Ref(x, x.index_fill(dim, index.long(), value)), dim, index.tolist(), value]


def point_parts(g, dtype):
    x = g.tensor(dtype, [d or 1 for d in shaped(g)])
    width = g.random.randint(1, x.dim())
    total = math.prod(x.shape[:width])
    flat = distinct(g, g.random.randint(1, min(total, 9)), total).long()
    index = torch.stack(torch.unravel_index(flat, x.shape[:width]), -1).to(g.random.choice(INDICES))
    updates = g.tensor(dtype, (flat.numel(), *x.shape[width:]))
    expected = x.clone()
    expected[tuple(index.long().unbind(-1))] = updates
    return x, index, updates, expected


@operator("ScatterNd")
def scatter_nd(g, dtype):
    x, index, updates, expected = point_parts(g, dtype)
    return [x, index, updates, Out(expected)]


@operator("ScatterNdUpdate")
def scatter_nd_update(g, dtype):
    x, index, updates, expected = point_parts(g, dtype)
    return [Ref(x, expected), index, updates]


@operator("InplacePut")
def put(g, dtype):
    x = g.tensor(dtype, [d or 1 for d in g.shape()], specials=False)
    accumulate = bool(g.random.randrange(2))
    if accumulate:
        index = positions(g, g.shape(1, 2), x.numel(), negative=True)
        source = g.tensor(dtype, index.shape, specials=False)
        at = index.long().reshape(-1) % x.numel()
        expected = added(x.reshape(-1), 0, at, source.reshape(-1), 1).reshape(x.shape)
    else:
        index = distinct(g, g.random.randint(1, min(x.numel(), 30)), x.numel())
        source = g.tensor(dtype, index.shape, specials=False)
        expected = x.clone(memory_format=torch.contiguous_format).put_(index.long(), source)
    return [Ref(x, expected), index, source, accumulate]


@operator("InplaceScatterUpdate")
def scatter_update(g, dtype):
    batch, heads, length, width = 3, 2, g.random.randint(1, 3), g.random.choice([5, 16])
    x = g.tensor(dtype, (batch, heads, 9, width))
    updates = g.tensor(dtype, (batch, heads, length, width))
    starts = positions(g, (batch,), 9 - length + 1)
    pairs, expected = g.random.randrange(2), x.clone()
    order = g.random.sample(range(batch), batch) if pairs else list(range(batch))
    for b in range(batch):
        expected[order[b], :, starts[b]:starts[b] + length] = updates[b]
    index = torch.stack([torch.tensor(order).to(starts.dtype), starts], 1) if pairs else starts
    return [Ref(x, expected), index, updates, g.random.choice([2, -2])]


@operator("RepeatInterleave")
def repeat_interleave(g, dtype):
    x = g.tensor(dtype)
    repeats = torch.randint(0, 4, (x.numel(),)).to(g.random.choice(INDICES))
    expected = torch.repeat_interleave(x.reshape(-1), repeats)
    return [x, repeats, expected.numel(), Out(expected)]


@operator("RepeatInterleaveWithDim")
def repeat_interleave_with_dim(g, dtype):
    x = g.tensor(dtype, shaped(g))
    dim = g.dim(x)
    repeats = torch.randint(0, 4, (x.shape[dim],) if g.round != 4 else (1,))
    expected = torch.repeat_interleave(x, repeats, dim)
    return [x, repeats, dim, expected.shape[dim], Out(expected)]


@operator("RepeatInterleaveTensor")
def repeat_interleave_tensor(g, dtype):
    repeats = torch.randint(0, 4, (g.random.randint(1, 20),)).to(dtype)
    expected = torch.repeat_interleave(repeats).to(dtype)
    return [repeats, expected.numel(), Out(expected)]


def with_zeros(g, dtype, shape=None):
    x = g.tensor(dtype, shape)
    return g.lay_out(torch.where(torch.rand(x.shape) < 0.5, torch.zeros_like(x), x))


@operator("Nonzero")
def nonzero(g, dtype):
    x = with_zeros(g, dtype, shaped(g))
    return [x, Out(torch.nonzero(x), room=(x.numel(), x.dim()))]


@operator("NonzeroV2")
def nonzero_v2(g, dtype):
    x = with_zeros(g, dtype, shaped(g))
    return [x, Out(torch.nonzero(x).t().contiguous(), room=(x.dim(), x.numel()))]


def masked(g, dtype):
    shape = g.shape()
    x, mask = g.tensor(dtype, shape), g.broadcastable(torch.bool, shape)
    return x, mask


@operator("MaskedSelect")
def masked_select(g, dtype):
    x, mask = masked(g, dtype)
    expected = torch.masked_select(x, mask)
    return [x, mask, Out(expected, room=(torch.broadcast_shapes(x.shape, mask.shape).numel(),))]


@operator("InplaceMaskedScatter")
def masked_scatter(g, dtype):
    x, mask = masked(g, dtype)
    source = g.tensor(dtype, (x.numel() + 2,))
    return [Ref(x, x.masked_scatter(mask, source)), mask, source]
