# SPDX-License-Identifier: Apache-2.0
"""Sliding windows, grid sampling and bags of embeddings against PyTorch."""

import torch
import torch.nn.functional as functional

from .cases import Out, Ref, operator, precise


@operator("UnfoldGrad")
def unfold_grad(g, dtype):
    shape = [g.random.randint(3, 8) for _ in range(g.random.randint(1, 3))]
    dim, size, step = g.random.randrange(-len(shape), len(shape)), g.random.randint(1, 3), g.random.randint(1, 4)
    grad = g.tensor(dtype, torch.zeros(shape).unfold(dim, size, step).shape, specials=False)
    compute = precise(lambda x: torch.ops.aten.unfold_backward(x, shape, dim % len(shape), size, step))
    return [grad, shape, dim % len(shape), size, step, Out(compute(grad))]


def grids(g, dtype, dims):
    shape = [g.random.randint(1, 2), g.random.randint(1, 3)] + [g.random.randint(2, 6) for _ in range(dims)]
    out = [g.random.randint(1, 5) for _ in range(dims)]
    image = g.tensor(dtype, shape, specials=False)
    grid = g.tensor(dtype, [shape[0], *out, dims], low=-1.4, high=1.4)
    mode, padding = g.random.randint(0, 2 if dims == 2 else 1), g.random.randint(0, 2)
    return image, grid, mode, padding, bool(g.random.randrange(2))


def sampling(name, dims):
    @operator(name)
    def forward(g, dtype):
        image, grid, *numbers = grids(g, dtype, dims)
        return [image, grid, *numbers, Out(precise(lambda x, y: torch.grid_sampler(x, y, *numbers))(image, grid),
                                           **({"atol": 1e-4, "rtol": 1e-4} if dtype is torch.float32 else {}))]

    @operator(name + "Backward")
    def backward(g, dtype):
        image, grid, *numbers = grids(g, dtype, dims)
        x, y = image.float().requires_grad_(), grid.float().requires_grad_()
        out = torch.grid_sampler(x, y, *numbers)
        grad = g.tensor(dtype, out.shape, specials=False)
        of_x, of_y = torch.autograd.grad(out, (x, y), grad.float(), allow_unused=True)
        of_y = torch.zeros_like(grid).float() if of_y is None else of_y
        close = {"atol": 1e-3, "rtol": 1e-3} if dtype is torch.float32 else {"atol": 3e-2, "rtol": 2e-2}
        return [grad, image, grid, *numbers, [True, True], Out(of_x.to(dtype), **close), Out(of_y.to(dtype), **close)]


sampling("GridSampler2D", 2)
sampling("GridSampler3D", 3)


@operator("AffineGrid")
def affine_grid(g, dtype):
    dims, batch = g.random.choice([2, 3]), g.random.randint(1, 3)
    theta = g.tensor(dtype, (batch, dims, dims + 1), specials=False)
    size, align = [batch, 2] + [g.random.randint(1, 5) for _ in range(dims)], bool(g.random.randrange(2))
    return [theta, size, align, Out(precise(lambda t: functional.affine_grid(t, size, align))(theta))]


@operator("EmbeddingBag")
def embedding_bag(g, dtype):
    weight = g.tensor(dtype, (9, g.random.choice([1, 6])), specials=False)
    kind, count, mode = g.random.choice([torch.int32, torch.int64]), g.random.randint(1, 12), g.random.randint(0, 2)
    indices = torch.randint(0, 9, (count,)).to(kind)
    offsets = torch.tensor([0] + sorted(g.random.randint(0, count) for _ in range(2))).to(kind)
    factors = g.tensor(dtype, (count,), specials=False) if mode == 0 and g.random.random() < 0.5 else None
    padding = g.random.choice([-1, 3])
    out, bag_of, sizes, largest = torch.ops.aten._embedding_bag(
        weight.float(), indices, offsets, False, mode, False, None if factors is None else factors.float(), False, padding)
    bag_of = torch.bucketize(torch.arange(count), offsets.long()[1:], right=True)
    return [weight, indices, offsets, False, mode, False, factors, False, padding, Out(out.to(dtype)),
            Out(bag_of.to(kind)), Out(bag_sizes(indices, offsets, padding).to(kind)),
            Out(largest.to(kind) if mode == 2 else torch.zeros(3, dtype=kind))]


def bag_sizes(indices, offsets, padding):
    ends = [*offsets.tolist()[1:], len(indices)]
    return torch.tensor([sum(i != padding for i in indices.tolist()[a:b]) for a, b in zip(offsets.tolist(), ends)])


@operator("EmbeddingRenorm")
def embedding_renorm(g, dtype):
    weight = g.tensor(dtype, (9, g.random.choice([1, 6])), specials=False)
    indices = torch.randint(0, 9, (g.random.randint(1, 12),)).to(g.random.choice([torch.int32, torch.int64]))
    most, order = g.random.choice([0.5, 2.0]), g.random.choice([1.0, 2.0, 3.0])
    wide = weight.float().contiguous().clone()
    return [Ref(weight, torch.embedding_renorm_(wide, indices.long(), most, order).to(dtype)), indices, most, order]
