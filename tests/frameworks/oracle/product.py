# SPDX-License-Identifier: Apache-2.0
"""Matrix products against PyTorch. Half types: the reference computes in float32 and rounds once."""

import torch

from .cases import REALS, Out, Ref, operator, precise

KEEP = 0  # cubeMathType


def close(expected, terms):
    """Sums of `terms` products of numbers around 2; float32 sums in another order than the reference."""
    loose = {torch.float32: (1e-4, 2e-5), torch.float64: (1e-9, 1e-9)}.get(expected.dtype)
    return Out(expected) if loose is None else Out(expected, rtol=loose[0], atol=loose[1] * (terms + 1))


def sizes(g, count):
    """Sizes; round 1 has an empty dimension, later rounds exceed a block of the product."""
    most = 9 if g.round < 6 else 90
    found = [g.random.randint(1, most) for _ in range(count)]
    if g.round == 1:
        found[g.random.randrange(count)] = 0
    if g.round == 9:
        found[-1] = 600
    return found


def matrix(g, dtype, shape):
    return g.tensor(dtype, shape, specials=False)


@operator("Matmul", "MatmulWeightNz")
def matmul(g, dtype):
    m, n, k = sizes(g, 3)
    batch = [g.random.randint(1, 3) for _ in range(g.random.randint(0, 2))]
    left, right = [*batch, m, k], [*batch[g.random.randint(0, len(batch)):], k, n]
    if g.round in (3, 5):
        left = [k]
    if g.round in (4, 5):
        right = [k]
    x, y = matrix(g, dtype, left), matrix(g, dtype, right)
    return [x, y, close(precise(torch.matmul)(x, y), k), KEEP]


def plain(name, function, left, right):
    """Shapes are texts with one letter per dimension."""
    @operator(name)
    def product(g, dtype):
        size = dict(zip("mnkb", sizes(g, 4)))
        x, y = (matrix(g, dtype, [size[d] for d in shape]) for shape in (left, right))
        math = [] if name in ("Dot", "Ger") else [KEEP]
        return [x, y, close(precise(function)(x, y), size["k"]), *math]


plain("Mm", torch.mm, "mk", "kn")
plain("Mv", torch.mv, "mk", "k")
plain("Dot", torch.dot, "k", "k")
plain("Ger", torch.outer, "m", "n")
plain("BatchMatMul", torch.bmm, "bmk", "bkn")
plain("BatchMatMulWeightNz", torch.bmm, "bmk", "bkn")


def added(names, function, left, right, out, inplace, math=True, alpha_first=False):
    """beta * self + alpha * x * y, as operators with an output, and as an in-place operator."""
    compute = precise(lambda s, x, y, a, b: function(s.expand(x.shape[0]) if out == "m" else s, x, y, alpha=a, beta=b))

    def operands(g, dtype, whole):
        size = dict(zip("mnkb", sizes(g, 4)))
        shape = [size[d] for d in out]
        add = matrix(g, dtype, shape) if whole else g.broadcastable(dtype, shape, specials=False)
        x, y = (matrix(g, dtype, [size[d] for d in dims]) for dims in (left, right))
        alpha, beta = g.number(dtype), 0 if g.round == 7 else g.number(dtype)
        if dtype not in REALS:
            alpha, beta = int(alpha), int(beta)
        return add, x, y, alpha, beta, compute(add, x, y, alpha, beta), size["b"] * size["k"]

    for name in names:
        @operator(name)
        def plain_form(g, dtype):
            add, x, y, alpha, beta, expected, terms = operands(g, dtype, False)
            factors = [alpha, beta] if alpha_first else [beta, alpha]
            return [add, x, y, *factors, close(expected, terms), *([KEEP] if math else [])]
    if inplace:
        @operator(inplace)
        def inplace_form(g, dtype):
            add, x, y, alpha, beta, expected, terms = operands(g, dtype, True)
            limits = close(expected, terms)
            return [Ref(add, expected, rtol=limits.rtol, atol=limits.atol), x, y, beta, alpha,
                    *([KEEP] if math else [])]


added(["Addmm", "AddmmWeightNz"], torch.addmm, "mk", "kn", "mn", "InplaceAddmm")
added(["Addmv"], torch.addmv, "mk", "k", "m", None, alpha_first=True)
added(["Addr", "AddrV2"], torch.addr, "m", "n", "mn", "InplaceAddr", math=False)
added(["Baddbmm"], torch.baddbmm, "bmk", "bkn", "bmn", "InplaceBaddbmm")
added(["Addbmm"], torch.addbmm, "bmk", "bkn", "mn", "InplaceAddbmm")


@operator("TransMatmulWeight")
def keep_weight(g, dtype):
    x = matrix(g, dtype, sizes(g, 2))
    return [Ref(x, x.clone())]


@operator("Einsum")
def einsum(g, dtype):
    equation = g.random.choice(["bij,bjk->bik", "ij,jk->ik", "i,j->ij", "ij->ji", "ijk->j", "abc,cd->abd", "ab,b->a",
                                "abc,adc->bd", "ij,ij->", "bqhd,bkhd->bhqk", "ab,cb->ca", "abx,bcy->ac"])
    size = {letter: g.random.randint(1, 6) for letter in "abcdhijkqxy"}
    tensors = [matrix(g, dtype, [size[letter] for letter in term]) for term in equation.split("->")[0].split(",")]
    wide = torch.float64 if dtype in REALS else torch.int64
    expected = torch.einsum(equation, *(t.to(wide) for t in tensors)).to(dtype)
    half = {torch.float16: 4e-2, torch.bfloat16: 3e-1}.get(dtype)
    return [tensors, equation, close(expected, 40) if half is None else Out(expected, rtol=2e-2, atol=half)]


@operator("GroupedMatmul")
def grouped(g, dtype):
    """Lists of tensors, or the rows of one tensor divided between the weights."""
    count, k, n = g.random.randint(1, 4), g.random.randint(1, 30), g.random.randint(1, 30)
    rows = [g.random.randint(0 if g.round > 4 else 1, 9) for _ in range(count)]
    xs = [matrix(g, dtype, [m, k]) for m in rows]
    weights = [matrix(g, dtype, [k, n]) for _ in range(count)]
    biases = [matrix(g, dtype, [n]) for _ in range(count)] if g.random.randint(0, 1) else None
    compute = precise(lambda x, w, b: x @ w + b)
    ys = [compute(x, w, b) for x, w, b in zip(xs, weights, biases or [torch.zeros(n).to(dtype)] * count)]
    if g.random.randint(0, 1):
        return [xs, weights, biases, None, None, None, None, None, 0, [close(y, k) for y in ys]]
    ends = [sum(rows[:i + 1]) for i in range(count)]
    return [[torch.cat(xs)], [torch.stack(weights)] if count > 1 else weights, biases, None, None, None, None, ends, 3,
            [close(torch.cat(ys), k)]]
