# SPDX-License-Identifier: Apache-2.0
"""Operators on lists of tensors: every member against PyTorch."""

import torch

from .cases import REALS, Out, Ref, operator, precise

FLOATS = (torch.float32, torch.float16, torch.bfloat16)


def members(g, dtype, count, **values):
    return [g.tensor(dtype, g.shape(), **values) for _ in range(count)]


def foreach(name, roles, function, dtypes=FLOATS, numbers=None, **values):
    """Roles as in operators/foreach.c. function gets the tensors and numbers of one member in the order of the roles."""
    @operator("Foreach" + name, dtypes=dtypes)
    def case(g, dtype):
        count = g.random.choice([1, 3, 40])
        draw = numbers or (lambda g: g.random.uniform(0.5, 3) if dtype in REALS else g.random.randint(1, 3))
        first = members(g, dtype, count, **values)
        operands = []
        for role in roles:
            if role in "IR":
                operands.append(first if not operands or role == "R" else
                                [g.tensor(dtype, x.shape, **values) for x in first] if operands else first)
            elif role in "nst":
                value = draw(g)
                operands.append([value if role != "t" else float(torch.tensor(value, dtype=torch.float32))] * count)
            elif role in "NA":
                operands.append([draw(g) for _ in range(count)])
        if roles[0] == "n":
            operands[1] = first
        singles = [precise(function)(*(o[i] for o in operands)) for i in range(count)]
        args, left = [], list(operands)
        for role in roles:
            if role == "O":
                args.append([Out(s) for s in singles])
            elif role == "R":
                args.append([Ref(x, s) for x, s in zip(left.pop(0), singles)])
            else:
                operand = left.pop(0)
                args.append(operand if role in "IN" else operand[0] if role in "ns" else
                            torch.tensor(operand[:1] if role == "t" else operand, dtype=torch.float32
                                         if dtype in REALS else dtype))
        return args


def off(x, mode):
    return {1: torch.round, 2: torch.floor, 3: torch.ceil, 5: torch.trunc, 7: torch.frac}[int(mode)](x)


for name in ("Abs", "Acos", "Asin", "Atan", "Cos", "Cosh", "Erf", "Erfc", "Exp", "Expm1", "Log", "Log10", "Log1p", "Log2",
             "Neg", "Reciprocal", "Sigmoid", "Sign", "Sin", "Sinh", "Sqrt", "Tan", "Tanh"):
    foreach(name, "IO", getattr(torch, name.lower()))
WITH_INTEGERS = FLOATS + (torch.int32,)
foreach("ZeroInplace", "R", torch.zeros_like, dtypes=WITH_INTEGERS)
for name, function in (("Add", torch.add), ("Sub", torch.sub)):
    foreach(name + "List", "IItO", lambda x, y, a, of=function: of(x, y, alpha=a if x.dtype in REALS else int(a)),
            dtypes=WITH_INTEGERS)
    foreach(name + "ListV2", "IIsO", lambda x, y, a, of=function: of(x, y, alpha=a), dtypes=WITH_INTEGERS)
for name, function in (("Mul", torch.mul), ("Div", torch.div), ("Maximum", torch.maximum), ("Minimum", torch.minimum),
                       ("Pow", torch.pow)):
    types = FLOATS if name in ("Div", "Pow") else WITH_INTEGERS
    values = {"low": 0.25, "high": 3} if name == "Pow" else {}
    foreach(name + "List", "IIO", function, dtypes=types, **values)
for name, function in (("Add", torch.add), ("Sub", torch.sub), ("Mul", torch.mul), ("Div", torch.div), ("Maximum", None),
                       ("Minimum", None), ("Pow", torch.pow)):
    types = FLOATS if name in ("Div", "Pow") else WITH_INTEGERS
    values = {"low": 0.25, "high": 3} if name == "Pow" else {}

    def compute(x, y, of=function, name=name):
        if of is None:
            return getattr(torch, name.lower())(x, torch.full_like(x, y))
        return of(x, y if x.dtype in REALS else int(y))
    foreach(name + "Scalar", "ItO", compute, dtypes=types, **values)
    foreach(name + "ScalarV2", "InO", compute, dtypes=types, **values)
    foreach(name + "ScalarList", "INO", compute, dtypes=types, **values)
foreach("PowScalarAndTensor", "nIO", torch.pow, low=-2, high=3)
for name, function in (("Addcdiv", torch.addcdiv), ("Addcmul", torch.addcmul)):
    def value(x, y, z, v, of=function):
        return of(x, y, z, value=v)
    foreach(name + "Scalar", "IIItO", value)
    foreach(name + "ScalarV2", "IIIsO", value)
    foreach(name + "ScalarList", "IIIAO", value)
    foreach(name + "List", "IIIAO", value)
foreach("LerpList", "IIIO", torch.lerp)
foreach("LerpScalar", "IInO", torch.lerp, numbers=lambda g: g.random.uniform(-0.5, 1.5))
foreach("RoundOffNumber", "ItO", off, numbers=lambda g: g.random.choice([1, 2, 3, 5, 7]))
foreach("RoundOffNumberV2", "IsO", off, numbers=lambda g: g.random.choice([1, 2, 3, 5, 7]))


@operator("ForeachCopy", dtypes=FLOATS)
def foreach_copy(g, dtype):
    x = members(g, dtype, g.random.choice([1, 20]))
    to = g.random.choice(FLOATS)
    return [x, [Out(m.to(to)) for m in x]]


@operator("ForeachNonFiniteCheckAndUnscale")
def unscale(g, dtype):
    x = members(g, dtype, g.random.choice([1, 3, 40]))
    scale, found = torch.tensor([g.random.choice([1.0, 0.25, 1 / 65536])]), torch.zeros(1)
    bad = any(not torch.isfinite(m).all() for m in x)
    return [[Ref(m, (m.float() * scale).reshape(m.shape).to(dtype)) for m in x], Ref(found, torch.ones(1) * bad), scale]
