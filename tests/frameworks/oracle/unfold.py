# SPDX-License-Identifier: Apache-2.0
"""Windows as columns and triangular systems against PyTorch."""

import torch

from .cases import Out, operator, precise


def windows(g):
    """Image size and kernel, dilation, padding, stride that fit it."""
    while True:
        size = [g.random.randint(1, 12) for _ in range(2)]
        kernel, dilation, stride = ([g.random.randint(1, 3) for _ in range(2)] for _ in range(3))
        padding = [g.random.randint(0, 2) for _ in range(2)]
        if all(n + 2 * p > d * (k - 1) for n, k, d, p in zip(size, kernel, dilation, padding)):
            return size, kernel, dilation, padding, stride


@operator("Im2col")
def im2col(g, dtype):
    size, *numbers = windows(g)
    x = g.tensor(dtype, [*([g.random.randint(1, 3)] if g.random.random() < 0.7 else []), g.random.randint(1, 4), *size])
    return [x, *numbers, Out(torch.nn.functional.unfold(x.float(), *numbers).to(dtype))]


@operator("Im2colBackward")
def col2im(g, dtype):
    size, *numbers = windows(g)
    x = torch.zeros(g.random.randint(1, 3), g.random.randint(1, 4), *size)
    columns = g.tensor(dtype, torch.nn.functional.unfold(x, *numbers).shape, specials=False)
    return [columns, size, *numbers, Out(precise(lambda t: torch.nn.functional.fold(t, size, *numbers))(columns))]


@operator("TriangularSolve")
def triangular_solve(g, dtype):
    size, columns = g.random.choice([1, 2, 5, 40]), g.random.choice([1, 3, 70])
    batch = g.random.choice([(), (2,), (3, 2), (0,)])
    a = g.tensor(dtype, (*(batch if g.random.random() < 0.7 else ()), size, size), low=-0.3, high=0.3)
    b = g.tensor(dtype, (*batch, size, columns), specials=False)
    for i in range(size):
        a[..., i, i] += 2
    upper, transpose, unit = (g.random.random() < 0.5 for _ in range(3))
    plain = a.double()
    plain = torch.triu(plain) if upper else torch.tril(plain)
    if unit:
        plain = plain - torch.diag_embed(torch.diagonal(plain, dim1=-2, dim2=-1)) + torch.eye(size)
    if transpose:
        plain, upper_now = plain.transpose(-1, -2), not upper
    else:
        upper_now = upper
    x = torch.linalg.solve_triangular(plain, b.double(), upper=upper_now)
    return [b, a, upper, transpose, unit, Out(x, dtype, rtol=1e-4, atol=1e-4), Out(a.expand(*batch, size, size).clone())]
