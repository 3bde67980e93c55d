# SPDX-License-Identifier: Apache-2.0
"""Layout operators, sequences and triangles against PyTorch."""

import torch

from .cases import REALS, Out, Ref, operator


def shaped(g, least=1, most=4):
    """A shape with at least this many dimensions."""
    shape = g.shape(least, most)
    return shape if len(shape) >= least else shape + (3,) * (least - len(shape))


@operator("Cat")
def cat(g, dtype):
    shape = list(shaped(g))
    dim = g.random.randrange(-len(shape), len(shape))
    parts = []
    for _ in range(g.random.randint(1, 5)):
        shape[dim] = g.random.randint(0, 5)
        parts.append(g.tensor(dtype, shape))
    if g.round == 4:
        parts.insert(1, torch.empty(0, dtype=dtype))
    return [parts, dim, Out(torch.cat(parts, dim))]


@operator("Stack")
def stack(g, dtype):
    shape = g.shape()
    parts = [g.tensor(dtype, shape) for _ in range(g.random.randint(1, 5))]
    dim = g.random.randrange(-len(shape) - 1, len(shape) + 1)
    return [parts, dim, Out(torch.stack(parts, dim))]


@operator("ChunkCat")
def chunk_cat(g, dtype):
    dim, chunks = g.random.randint(0, 1), g.random.randint(1, 4)
    parts = [g.tensor(dtype, [2] * dim + [g.random.randint(1, 9), *g.shape(1, 2)]) for _ in range(3)]
    flat = []
    for t in parts:
        size = -(-t.shape[dim] // chunks)
        padded = torch.zeros([*t.shape[:dim], chunks * size, *t.shape[dim + 1:]], dtype=dtype)
        padded.narrow(dim, 0, t.shape[dim]).copy_(t)
        rest = 1
        for extent in t.shape[dim + 1:]:
            rest *= extent
        flat.append(padded.reshape(*t.shape[:dim], chunks, size * rest))
    return [parts, dim, chunks, Out(torch.cat(flat, dim + 1))]


@operator("SplitTensor")
def split_tensor(g, dtype):
    x = g.tensor(dtype, shaped(g))
    dim, size = g.dim(x), g.random.randint(1, 4)
    if x.shape[dim] == 0:
        return None
    return [x, size, dim, [Out(part) for part in torch.split(x, size, dim)]]


@operator("SplitWithSize")
def split_with_size(g, dtype):
    x = g.tensor(dtype, shaped(g))
    dim = g.dim(x)
    cuts = sorted(g.random.randint(0, x.shape[dim]) for _ in range(2))
    sizes = [cuts[0], cuts[1] - cuts[0], x.shape[dim] - cuts[1]]
    return [x, sizes, dim, [Out(part) for part in torch.split(x, sizes, dim)]]


def slice_of(x, dim, start, end, step):
    index = [slice(None)] * x.dim()
    index[dim] = slice(start, end, step)
    return x[tuple(index)]


@operator("Slice")
def slice_one(g, dtype):
    x = g.tensor(dtype, shaped(g))
    dim, size = g.dim(x), 9
    start, end, step = g.random.randint(-size, size), g.random.randint(-size, size), g.random.randint(1, 3)
    return [x, dim, start, end, step, Out(slice_of(x, dim, start, end, step))]


@operator("SliceV2")
def slice_many(g, dtype):
    x = g.tensor(dtype, shaped(g))
    dims = g.some_dims(x)
    starts, ends = [[g.random.randint(-9, 9) for _ in dims] for _ in range(2)]
    steps = [g.random.randint(1, 3) for _ in dims]
    expected = x
    for dim, start, end, step in zip(dims, starts, ends, steps):
        expected = slice_of(expected, dim, start, end, step)
    return [x, starts, ends, dims, steps, Out(expected)]


@operator("Permute")
def permute(g, dtype):
    x = g.tensor(dtype)
    dims = g.random.sample(range(x.dim()), x.dim())
    return [x, dims, Out(x.permute(dims))]


@operator("Flip")
def flip(g, dtype):
    x = g.tensor(dtype)
    dims = g.some_dims(x)
    return [x, dims, Out(torch.flip(x, dims))]


@operator("Roll")
def roll(g, dtype):
    x = g.tensor(dtype, shaped(g))
    dims = g.some_dims(x)
    shifts = [g.random.randint(-9, 9) for _ in dims or [0]]
    return [x, shifts, dims, Out(torch.roll(x, shifts, dims))]


@operator("ChannelShuffle")
def channel_shuffle(g, dtype):
    groups = g.random.randint(1, 3)
    x = g.tensor(dtype, [2, groups * g.random.randint(1, 4), *g.shape(1, 2)])
    return [x, groups, Out(x.unflatten(1, (groups, -1)).transpose(1, 2).flatten(1, 2))]


@operator("Expand")
def expand(g, dtype):
    shape = g.shape()
    x = g.broadcastable(dtype, shape)
    return [x, list(shape), Out(x.expand(shape))]


@operator("Repeat")
def repeat(g, dtype):
    x = g.tensor(dtype, g.shape(0, 5, 3))
    times = [g.random.randint(0 if g.round == 3 else 1, 3) for _ in range(x.dim() + g.random.randint(0, 2))]
    return [x, times, Out(x.repeat(times))]


@operator("RepeatInterleaveIntWithDim")
def repeat_interleave_dim(g, dtype):
    x = g.tensor(dtype, shaped(g))
    dim, times = g.dim(x), g.random.randint(0 if g.round == 3 else 1, 3)
    expected = torch.repeat_interleave(x, times, dim)
    return [x, times, dim, expected.shape[dim], Out(expected)]


@operator("RepeatInterleaveInt")
def repeat_interleave_int(g, dtype):
    x, times = g.tensor(dtype), g.random.randint(1, 3)
    expected = torch.repeat_interleave(x, times)
    return [x, times, expected.numel(), Out(expected)]


@operator("ConstantPadNd")
def constant_pad(g, dtype):
    x = g.tensor(dtype, shaped(g))
    least = -1 if g.round > 5 and all(d > 1 for d in x.shape) else 0
    pad = [g.random.randint(least, 3) for _ in range(2 * g.random.randint(0, x.dim()))]
    for i in range(0, len(pad), 2):  # a part must remain
        pad[i + 1] = max(pad[i + 1], 1 - x.shape[-1 - i // 2] - pad[i])
    value = g.number(dtype)
    return [x, pad, value, Out(torch.constant_pad_nd(x, pad, value))]


@operator("InplaceFillTensor")
def fill_tensor(g, dtype):
    x, value = g.tensor(dtype), g.tensor(dtype, g.random.choice([(), (1,)]))
    return [Ref(x, torch.zeros_like(x).fill_(value.reshape(()))), value]


@operator("Diag", "DiagFlat")
def diag(g, dtype):
    x, offset = g.tensor(dtype, (g.random.randint(0, 6),)), g.random.randint(-4, 4)
    return [x, offset, Out(torch.diag(x, offset))]


@operator("Eye")
def eye(g, dtype):
    n, m = g.random.randint(0, 40), g.random.randint(0, 40)
    return [n, m, Out(torch.eye(n, m).to(dtype))]


@operator("InplaceFillDiagonal")
def fill_diagonal(g, dtype):
    shape = (4, 4, 4) if g.round == 3 else (g.random.randint(1, 30), g.random.randint(1, 6))
    x, value, wrap = g.tensor(dtype, shape), g.number(dtype), bool(g.random.randrange(2))
    return [Ref(x, x.clone(memory_format=torch.contiguous_format).fill_diagonal_(value, wrap=wrap)), value, wrap]


@operator("Arange", "Range")
def arange(g, dtype):
    start, step, count = g.random.randint(0, 20), g.random.choice([1, 2, 3]), g.random.choice([0, 1, 7, 30, 1000])
    if dtype in REALS:
        start, step = start / 4, step / 8
    else:
        count = min(count, 30)
    expected = (start + step * torch.arange(count, dtype=torch.float64)).to(dtype)
    return [start, start + step * count, step, Out(expected)]


@operator("Linspace")
def linspace(g, dtype):
    start, end, steps = g.random.randint(0, 9), g.random.randint(0, 50), g.random.choice([0, 1, 2, 9, 1000])
    return [start, end, steps, Out(torch.linspace(start, end, steps, dtype=torch.float64)
                                   if dtype in REALS else torch.linspace(start, end, steps, dtype=dtype), dtype)]


@operator("LogSpace")
def logspace(g, dtype):
    start, end, steps = g.random.uniform(-1, 0), g.random.uniform(0, 2), g.random.choice([1, 2, 9, 300])
    return [start, end, steps, 2.5, Out(torch.logspace(start, end, steps, 2.5, dtype=torch.float64), dtype)]


def triangle(name, function):
    @operator(name)
    def plain(g, dtype):
        x, diagonal = g.tensor(dtype, shaped(g, 2)), g.random.randint(-8, 8)
        return [x, diagonal, Out(function(x, diagonal))]

    @operator("Inplace" + name)
    def changed(g, dtype):
        x, diagonal = g.tensor(dtype, shaped(g, 2)), g.random.randint(-8, 8)
        return [Ref(x, function(x, diagonal)), diagonal]


triangle("Triu", torch.triu)
triangle("Tril", torch.tril)


@operator("OneHot")
def one_hot(g, dtype):
    classes = g.random.randint(1, 6)
    x = g.tensor(dtype, low=0, high=classes)
    axis, result = g.random.choice([-1, 0]), g.random.choice([torch.float32, torch.int64, torch.float16])
    on, off = g.tensor(result, (1,), specials=False), g.tensor(result, (1,), specials=False)
    hot = torch.nn.functional.one_hot(x.long(), classes + 1)[..., :classes].bool()
    expected = torch.where(hot, on, off).to(result)
    return [x, classes, on, off, axis, Out(expected if axis == -1 else expected.movedim(-1, 0))]


@operator("NpuFormatCast")
def format_cast(g, dtype):
    x = g.tensor(dtype)
    return [x, Out(x)]
