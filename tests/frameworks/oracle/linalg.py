# SPDX-License-Identifier: Apache-2.0
"""Linear algebra against PyTorch in double precision."""

import torch

from .cases import REALS, Out, operator


def rounded(x, dtype):
    return Out(x.to(dtype), **({"rtol": 1e-3, "atol": 1e-4} if dtype is torch.float32 else {}))


def square(g, dtype, strong=True):
    """Matrices that are far from singular."""
    n = 0 if g.round == 1 else g.random.randint(1, 8)
    lead = [g.random.randint(1, 3) for _ in range(g.random.randint(0, 2))]
    return g.lay_out((torch.randn(*lead, n, n) + (2 * n * torch.eye(n) if strong else 0)).to(dtype))


@operator("Inverse")
def inverse(g, dtype):
    a = square(g, dtype)
    return [a, rounded(torch.inverse(a.double()), dtype)]


@operator("Slogdet")
def slogdet(g, dtype):
    a = square(g, dtype, strong=False)
    sign, log = torch.linalg.slogdet(a.double())
    return [a, Out(sign.to(dtype)), rounded(log, dtype)]


@operator("Logdet")
def logdet(g, dtype):
    a = square(g, dtype, strong=False)
    return [a, rounded(torch.logdet(a.double()), dtype)]


def factors(name, modes):
    @operator(name)
    def qr(g, dtype):
        lead = [g.random.randint(1, 3) for _ in range(g.random.randint(0, 2))]
        x = g.tensor(dtype, [*lead, g.random.randint(1, 7), g.random.randint(1, 7)], specials=False)
        argument, mode = g.random.choice(modes)
        q, r = torch.linalg.qr(x.double(), mode)
        unused = torch.zeros(0, dtype=dtype)
        return [x, argument, unused if mode == "r" else rounded(q, dtype), rounded(r, dtype)]


factors("Qr", [(True, "reduced"), (False, "complete")])
factors("LinalgQr", [(0, "reduced"), (1, "complete"), (2, "r")])


@operator("LinalgCross")
def cross(g, dtype):
    shape = list(g.shape(1, 3))
    dim = g.random.randrange(len(shape))
    shape[dim] = 3
    x, y = (g.tensor(dtype, [d if i == dim or g.random.randint(0, 2) else 1 for i, d in enumerate(shape)],
                     specials=False) for _ in range(2))
    wide = torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
    expected = torch.linalg.cross(x.to(wide), y.to(wide), dim=dim - len(shape))
    return [x, y, dim, Out(expected.to(dtype), **({"rtol": 1e-4, "atol": 1e-4} if dtype in REALS[:1] else
                                                  {"atol": 5e-2} if dtype in REALS[1:3] else {}))]
