# SPDX-License-Identifier: Apache-2.0
"""Rotary position embedding against PyTorch."""

import torch

from .cases import Out, Ref, operator, precise


def rotated(x, mode):
    """x as it is multiplied with cos, and as it is multiplied with sin."""
    first, second = x[..., ::2], x[..., 1::2]
    if mode == 1:
        return x, torch.stack((-second, first), -1).flatten(-2)
    if mode == 3:
        return torch.cat((first, second), -1), torch.cat((-second, first), -1)
    parts = x.chunk(4 if mode == 2 else 2, -1)
    return x, torch.cat([t for i in range(0, len(parts), 2) for t in (-parts[i + 1], parts[i])], -1)


@precise
def embed(x, cos, sin, mode):
    plain, turned = rotated(x, mode)
    return plain * cos + turned * sin


def arguments(g, dtype):
    """Rows of an even length in the layouts BSND and BNSD, with the angles of positions."""
    b, s, n, d = g.random.randint(1, 3), g.random.randint(1, 5), g.random.randint(1, 3), 4 * g.random.choice([1, 2, 9, 16, 400])
    if g.round == 1:
        b = 0
    shape, angles = g.random.choice([((b, s, n, d), (1, s, 1, d)), ((b, n, s, d), (1, 1, s, d)), ((b, s, n, d), (b, s, 1, d))])
    return [g.tensor(dtype, shape, specials=False), *(g.tensor(dtype, angles, low=-1, high=1) for _ in range(2))]


@operator("RotaryPositionEmbedding")
def rotary(g, dtype):
    x, cos, sin = arguments(g, dtype)
    mode = g.random.randrange(4)
    return [x, cos, sin, mode, Out(embed(x, cos, sin, mode))]


def apply(g, dtype):
    query, cos, sin = arguments(g, dtype)
    key = g.tensor(dtype, query.shape, specials=False)
    return query, key, cos, sin


@operator("ApplyRotaryPosEmb")
def apply_half(g, dtype):
    query, key, cos, sin = apply(g, dtype)
    return [Ref(query, embed(query, cos, sin, 0)), Ref(key, embed(key, cos, sin, 0)), cos, sin, 1]


@operator("ApplyRotaryPosEmbV2")
def apply_mode(g, dtype):
    query, key, cos, sin = apply(g, dtype)
    mode = g.random.randrange(3)
    return [Ref(query, embed(query, cos, sin, mode)), Ref(key, embed(key, cos, sin, mode)), cos, sin, 1,
            ("half", "interleave", "quarter")[mode]]
