# SPDX-License-Identifier: Apache-2.0
"""Element-wise arithmetic, functions, comparisons and selections against PyTorch."""

import torch

from .cases import REALS, Out, Ref, operator
from .rows import constant, not_zero, number, one_of, row, uniform, wide


def below_zero(*values):
    """PyTorch converts a scalar to uint8 without a range check; the operators compare numbers."""
    return lambda g, dtype: abs(g.random.choice(values)) if dtype is torch.uint8 else g.random.choice(values)


def unary(name, function, inplace=True, **values):
    row(name, "io", function, **values)
    if inplace:
        row("Inplace" + name, "r", function, **values)


def on_reals(function):
    return lambda x: function(wide(x))


for name in ("Sqrt", "Rsqrt", "Exp", "Exp2", "Expm1", "Log", "Log2", "Log10", "Log1p", "Sin", "Cos", "Tan", "Asin", "Acos",
             "Atan", "Sinh", "Cosh", "Tanh", "Asinh", "Acosh", "Atanh", "Sinc", "Erf", "Erfc", "Erfinv", "Reciprocal",
             "Sigmoid"):
    # PyTorch's cosh and sinh overflow before the result does.
    unary(name, on_reals(getattr(torch, name.lower())), **({"low": -80, "high": 80} if name in ("Cosh", "Sinh") else {}))
row("Lgamma", "io", on_reals(torch.lgamma))
row("Digamma", "io", on_reals(torch.digamma), low=1, high=8)
row("Ndtri", "io", torch.special.ndtri, low=0.001, high=0.999)
unary("Abs", lambda x: x if x.dtype is torch.bool else torch.abs(x), inplace=False)
unary("Neg", lambda x: x if x.dtype is torch.bool else torch.neg(x))
for name in ("Ceil", "Floor", "Trunc", "Round"):
    unary(name, lambda x, of=getattr(torch, name.lower()): of(x) if x.dtype is not torch.bool else x)
unary("Frac", lambda x: torch.frac(x) if x.dtype in REALS else torch.zeros_like(x))
for name, roles in (("RoundDecimals", "ivo"), ("InplaceRoundDecimals", "rv")):
    row(name, roles, lambda x, d: torch.round(x, decimals=d) if x.dtype in REALS else x, [one_of(0, 1, 2, -1)], low=-99,
        high=99)
row("Sign", "io", torch.sign)
row("Signbit", "io", torch.signbit)
row("Heaviside", "iio", torch.heaviside)
row("Square", "io", lambda x: x * x)
row("SqrtBackward", "iio", lambda y, dy: 0.5 * dy / y)
row("AcosGrad", "iio", lambda dy, x: -dy / torch.sqrt(1 - x * x), low=-0.9, high=0.9)
row("AsinhGrad", "iio", lambda y, dy: dy / torch.cosh(y))
row("AtanGrad", "iio", lambda x, dy: dy / (1 + x * x))
row("Logit", "ivo", lambda x, eps: torch.logit(wide(x), None if eps < 0 else eps), [one_of(-1.0, 0.1)], low=0, high=1)
row("LogitGrad", "iivo", lambda x, dy, eps: torch.where((x < max(eps, 0)) | (x > 1 - max(eps, 0)), float("nan")
    if eps < 0 else 0.0, dy / (x * (1 - x))), [one_of(-1.0, 0.1)], low=-0.2, high=1.2)


# ---- sums

def alpha(g, dtype):
    return 1 if dtype is torch.bool else g.number(dtype)


def scaled(name, function, forms=True, **options):
    def compute(x, y, a):
        if torch.bool in (getattr(x, "dtype", None), getattr(y, "dtype", None)) and "Sub" in name.title():
            return None
        if (isinstance(a, float) or isinstance(y, float)) and not any(
                getattr(t, "dtype", None) in REALS for t in (x, y)):
            return None
        if name.startswith("Inplace") and torch.result_type(x, y) != x.dtype:
            return None
        return function(x, y, a)
    row(name, "iiso", compute, [alpha], mixed=True, **options)
    row(name + "s", "inso", compute, [number, alpha])
    if forms:
        row("Inplace" + name, "ris", compute, [alpha])
        row("Inplace" + name + "s", "rns", compute, [number, alpha])


scaled("Add", lambda x, y, a: torch.add(x, y, alpha=a))
scaled("Sub", lambda x, y, a: torch.sub(x, y, alpha=a))
scaled("Rsub", lambda x, y, a: torch.rsub(x, y, alpha=a), forms=False)
row("AddV3", "niso", lambda x, y, a: None if y.dtype is torch.bool else x + y * a, [number, number])
for prefix, roles in (("", "iiiso"), ("Inplace", "riis")):
    row(prefix + "Addcmul", roles, lambda x, y, z, v: torch.addcmul(x, y, z, value=v) if x.dtype is not torch.bool
        else None, [number])
    row(prefix + "Addcdiv", roles, lambda x, y, z, v: torch.addcdiv(x, y, z, value=v), [number])
    row(prefix + "Lerp", roles.replace("s", ""), torch.lerp)
    row(prefix + "Lerps", roles.replace("is", "n"), torch.lerp, [uniform(-0.5, 1.5)])
row("AddMatMatElements", "iiisso", lambda a, b, c, alpha, beta: c * beta + alpha * a * b, [number, number])


# ---- products, quotients, powers

def binary(tensor, scalar, function, inplace_tensor=None, inplace_scalar=None, mixed=True, second_number=number, **values):
    row(tensor, "iio", function, mixed=mixed, **values)
    row(scalar, "ino", function, [second_number], **values)
    row(inplace_tensor or "Inplace" + tensor, "ri", function, **values)
    row(inplace_scalar or "Inplace" + scalar, "rn", function, [second_number], **values)


def safe(function):
    """Integers: never divided by zero."""
    def compute(x, y):
        if torch.bool in (getattr(x, "dtype", None), getattr(y, "dtype", None)):
            return None
        if isinstance(y, torch.Tensor) and y.dtype not in REALS and (y == 0).any():
            return None
        return function(x, y)
    return compute


POSITIVE = {"low": 1, "high": 60}
binary("Mul", "Muls", torch.mul)
binary("Div", "Divs", torch.div, second_number=not_zero)
row("MulNoNan", "iio", lambda x, y: torch.where(y == 0, torch.zeros_like(x), x * y))
row("MaskedScale", "imvo", lambda x, m, s: x * m * s, [constant(1.5)])
binary("FloorDivide", "FloorDivides", safe(lambda x, y: torch.div(x, y, rounding_mode="floor")), second=POSITIVE,
       second_number=not_zero, mixed=False)
binary("FmodTensor", "FmodScalar", safe(torch.fmod), second=POSITIVE, second_number=not_zero)
binary("RemainderTensorTensor", "RemainderTensorScalar", safe(torch.remainder), second=POSITIVE, second_number=not_zero)
row("RemainderScalarTensor", "nio", safe(torch.remainder), **POSITIVE)
row("Gcd", "iio", torch.gcd)
MODES = {0: None, 1: "trunc", 2: "floor"}
for name, roles in (("DivMod", "iivo"), ("DivMods", "invo"), ("DivV3", "iivo"), ("InplaceDivMod", "riv"),
                    ("InplaceDivMods", "rnv")):
    scalars = [not_zero, one_of(0, 1, 2)] if "n" in roles else [one_of(0, 1, 2)]
    row(name, roles, lambda x, y, m: safe(lambda a, b: torch.div(a, b, rounding_mode=MODES[m]))(x, y), scalars,
        second=POSITIVE)


def power(x, y):
    if not isinstance(x, torch.Tensor):
        return None if y.dtype is torch.bool or (y.dtype not in REALS and (y < 0).any()) else torch.pow(x, y)
    if x.dtype is torch.bool or (isinstance(y, torch.Tensor) and y.dtype is torch.bool):
        return None
    if x.dtype not in REALS and (y < 0 if not isinstance(y, torch.Tensor) else y.dtype not in REALS and (y < 0).any()):
        return None
    return torch.pow(x, y)


row("PowTensorTensor", "iio", power, low=-5, high=5, second={"low": 0, "high": 4})
row("PowTensorScalar", "ino", power, [one_of(2, 3, 0.5, -1, -2, 1.7, 0)], specials=False)
row("PowScalarTensor", "nio", power, [one_of(2, 3, 0.5)], low=0, high=6)
row("InplacePowTensorTensor", "ri", power, low=-5, high=5, second={"low": 0, "high": 4})
row("InplacePowTensorScalar", "rn", power, [one_of(2, 3, 0.5, -1, 0)], specials=False)
row("Atan2", "iio", lambda x, y: torch.atan2(wide(x), wide(y)))
row("InplaceAtan2", "ri", lambda x, y: torch.atan2(wide(x), wide(y)))
row("LogAddExp", "iio", torch.logaddexp)
row("LogAddExp2", "iio", torch.logaddexp2)
row("XLogYTensor", "iio", torch.xlogy)
row("XLogYScalarOther", "ino", torch.xlogy, [constant(2.5)])
row("XLogYScalarSelf", "nio", torch.xlogy)
row("InplaceXLogYTensor", "ri", torch.xlogy)
row("InplaceXLogYScalarOther", "rn", torch.xlogy, [constant(2.5)])
row("Xlog1py", "iio", torch.special.xlog1py)


# ---- comparisons, logic, bits

for short, function in (("Eq", torch.eq), ("Ne", torch.ne), ("Gt", torch.gt), ("Ge", torch.ge), ("Lt", torch.lt),
                        ("Le", torch.le)):
    small = {"low": -2, "high": 2}
    row(short + "Tensor", "iio", function, exact=True, mixed=True, **small)
    row(short + "Scalar", "ino", function, [below_zero(0, 1, -1, 0.1, 2)], exact=True, **small)
    row("Inplace" + short + "Tensor", "ri", lambda x, y, of=function: of(x, y).to(x.dtype), **small)
    row("Inplace" + short + "Scalar", "rn", lambda x, y, of=function: of(x, y).to(x.dtype), [one_of(0, 1)], **small)


def close(x, y, rtol, atol, equal_nan):
    return torch.isclose(*torch.broadcast_tensors(x, y), rtol=rtol, atol=atol, equal_nan=equal_nan)


row("IsClose", "iivvfo", close, [one_of(0.0, 0.1), one_of(0.0, 0.5), one_of(True, False)])
row("ApproximateEqual", "iivo", lambda x, y, t: (wide(x) - wide(y)).abs() < t, [constant(1.5)])
row("IsFinite", "io", torch.isfinite)
row("IsInf", "io", torch.isinf)
row("IsPosInf", "io", torch.isposinf)
row("IsNegInf", "io", torch.isneginf)
row("IsInTensorScalar", "in-fo", lambda x, y, invert: torch.isin(x, y, invert=invert) if x.dtype not in (
    torch.bool, torch.bfloat16) else None, [one_of(0, 1, -1), one_of(True, False)], fixed=[False], exact=True,
    types=(torch.int32, torch.int64, torch.float32), low=-2, high=2)
for name, function in (("And", torch.logical_and), ("Or", torch.logical_or)):
    row("Logical" + name, "iio", function, mixed=True, low=-1, high=1)
    row("InplaceLogical" + name, "ri", lambda x, y, of=function: of(x, y).to(x.dtype), low=-1, high=1)
row("LogicalXor", "iio", torch.logical_xor, mixed=True, low=-1, high=1)
row("LogicalNot", "io", torch.logical_not, low=-1, high=1)
row("InplaceLogicalNot", "r", lambda x: torch.logical_not(x).to(x.dtype), low=-1, high=1)
for name in ("And", "Or", "Xor"):
    function = getattr(torch, "bitwise_" + name.lower())
    binary(f"Bitwise{name}Tensor", f"Bitwise{name}Scalar", function, mixed=False)
row("BitwiseAndTensorOut", "iio", torch.bitwise_and)
row("InplaceBitwiseAndTensorOut", "ri", torch.bitwise_and)
row("BitwiseNot", "io", torch.bitwise_not)
row("LeftShift", "iio", torch.bitwise_left_shift, second={"low": 0, "high": 6})
row("LeftShifts", "ino", torch.bitwise_left_shift, [one_of(0, 1, 5)])
row("RightShift", "iio", torch.bitwise_right_shift, second={"low": 0, "high": 6})


# ---- selection

def no_bool(function):
    return lambda *args: None if args[0].dtype is torch.bool else function(*args)


row("Maximum", "iio", torch.maximum, mixed=True)
row("Minimum", "iio", torch.minimum, mixed=True)
row("Clamp", "isso", no_bool(torch.clamp), [below_zero(-1), constant(2)])
row("Hardtanh", "isso", no_bool(torch.clamp), [below_zero(-1), constant(2)])
row("InplaceHardtanh", "rss", no_bool(torch.clamp), [below_zero(-1), constant(2)])
row("ClampTensor", "iiio", no_bool(torch.clamp))
for name, function in (("ClampMin", torch.maximum), ("ClampMax", torch.minimum)):
    row(name, "ino", no_bool(lambda x, y, of=function: of(x, torch.tensor(y, dtype=x.dtype))), [constant(1)])
    row(name + "Tensor", "iio", function)
    row("Inplace" + name + "Tensor", "ri", function)
row("InplaceClampMax", "rn", no_bool(lambda x, y: x.clamp(max=y)), [constant(1)])
row("SWhere", "miio", torch.where)
row("InplaceMaskedFillScalar", "rmn", torch.masked_fill)


@operator("InplaceMaskedFillTensor")
def masked_fill(g, dtype):
    x, value = g.tensor(dtype), g.tensor(dtype, ())
    mask = g.broadcastable(torch.bool, x.shape)
    return [Ref(x, x.masked_fill(mask, value)), mask, value]


row("NanToNum", "ivvvo", torch.nan_to_num, [constant(1.5), constant(9.0), constant(-9.0)])
row("InplaceNanToNum", "rvvv", torch.nan_to_num, [constant(1.5), constant(9.0), constant(-9.0)])
