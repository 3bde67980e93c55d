# SPDX-License-Identifier: Apache-2.0
"""Arithmetic, comparisons, functions of one element, activations."""

import torch
import torch.nn.functional as f

from ..table import B, D, F, I, SPECIAL, V, call

i8, i16, i32, u8 = torch.int8, torch.int16, torch.int32, torch.uint8

# ---- arithmetic of two tensors: operators of Python, functions, broadcasting, promotion ----

call("add", lambda a, b: a + b, F(3, 4), F(3, 4), halves=True, grad=True)
call("add alpha", lambda a, b: torch.add(a, b, alpha=2.5), F(3, 4), F(4), halves=True)
call("add scalar", lambda a: a + 1.5, F(3, 4), halves=True)
call("add broadcast", lambda a, b: a + b, F(5, 1, 4), F(3, 1), grad=True)
call("add zero-dimensional", lambda a, b: a + b, F(3, 4), F(), grad=True)
call("add empty", lambda a, b: a + b, F(0, 4), F(1, 4))
call("add transposed", lambda a, b: a.t() + b, F(4, 3), F(3, 4), halves=True, grad=True)
call("add int", lambda a, b: a + b, I(7), I(7))
call("add int32 int64", lambda a, b: a + b, I(7, kind=i32), I(7))
call("add int8", lambda a, b: a + b, I(9, low=-128, high=128, kind=i8), I(9, low=-128, high=128, kind=i8))
call("add uint8", lambda a, b: a + b, I(9, high=256, kind=u8), I(9, high=256, kind=u8))
call("add int float", lambda a, b: a + b, I(7), F(7))
call("add bool bool", lambda a, b: a + b, B(9), B(9))
call("add int scalar float", lambda a: a + 0.5, I(7))
call("add half float", lambda a, b: a.half() + b, F(7), F(7))
call("add double", lambda a, b: a + b, D(7), D(7))
call("add inplace", lambda a, b: a.clone().add_(b, alpha=3), F(3, 4), F(4), halves=True)
call("add large", lambda a, b: a + b, F(300, 700), F(700))
call("sub", lambda a, b: a - b, F(3, 4), F(3, 4), halves=True, grad=True)
call("rsub", lambda a: 2 - a, F(3, 4), halves=True, grad=True)
call("sub alpha", lambda a, b: torch.sub(a, b, alpha=0.5), F(3, 4), F(3, 4))
call("sub int", lambda a, b: a - b, I(7, kind=i32), I(7, kind=i32))
call("sub inplace", lambda a, b: a.clone().sub_(b), F(3, 4), F(3, 4))
call("mul", lambda a, b: a * b, F(3, 4), F(3, 4), halves=True, grad=True)
call("mul scalar", lambda a: a * 0.125, F(3, 4), halves=True, grad=True)
call("mul bool", lambda a, b: a * b, F(9), B(9))
call("mul int", lambda a, b: a * b, I(9), I(9))
call("mul inplace", lambda a, b: a.clone().mul_(b), F(3, 4), F(4), halves=True)
call("div", lambda a, b: a / b, F(3, 4), F(3, 4, low=0.5), halves=True, grad=True)
call("div int", lambda a, b: a / b, I(9), I(9, low=1))
call("div scalar", lambda a: a / 3, F(3, 4), halves=True, grad=True)
call("div reciprocal", lambda a: 3 / a, F(3, 4, low=0.5), grad=True)
call("div inplace", lambda a, b: a.clone().div_(b), F(3, 4), F(3, 4, low=0.5))
call("div floor", lambda a, b: torch.div(a, b, rounding_mode="floor"), F(3, 40), F(3, 40, low=0.5))
call("div trunc", lambda a, b: torch.div(a, b, rounding_mode="trunc"), F(3, 40), F(3, 40, low=0.5))
call("div floor int", lambda a, b: torch.div(a, b, rounding_mode="floor"), I(90, low=-50, high=50), I(90, low=1))
call("div trunc scalar", lambda a: torch.div(a, 3, rounding_mode="trunc"), I(90, low=-50, high=50))
call("floor_divide", lambda a, b: a // b, I(90, low=-50, high=50), I(90, low=1))
call("floor_divide scalar", lambda a: a // 4, I(90, low=-50, high=50))
call("remainder", lambda a, b: a % b, F(3, 40), F(3, 40, low=0.5))
call("remainder int", lambda a, b: a % b, I(90, low=-50, high=50), I(90, low=1))
call("remainder scalar", lambda a: a % 7, I(90, low=-50, high=50))
call("fmod", torch.fmod, F(3, 40), F(3, 40, low=0.5))
call("fmod scalar", lambda a: torch.fmod(a, 1.5), F(3, 40))
call("pow", lambda a, b: a ** b, F(3, 4, low=0.1), F(3, 4), grad=True, tolerance=1e-4)
call("pow scalar", lambda a: a ** 2, F(3, 4), halves=True, grad=True)
call("pow 3", lambda a: a.pow(3), F(3, 4), halves=True, grad=True)
call("pow half", lambda a: a ** 0.5, F(3, 4, low=0.1), grad=True)
call("pow minus", lambda a: a ** -1.5, F(3, 4, low=0.1), grad=True, tolerance=1e-4)
call("pow of scalar", lambda a: 2 ** a, F(3, 4), grad=True, tolerance=1e-4)
call("pow int", lambda a: a ** 2, I(9))
call("float_power", lambda a: torch.float_power(a, 2), F(3, 4))
call("maximum", torch.maximum, F(3, 4), F(3, 4), halves=True, grad=True)
call("minimum", torch.minimum, F(3, 4), F(3, 4), halves=True, grad=True)
call("maximum int", torch.maximum, I(9), I(9))
call("maximum nan", torch.maximum, SPECIAL, V([1.0]))
call("fmax", torch.fmax, F(3, 4), F(3, 4))
call("fmin", torch.fmin, F(3, 4), F(3, 4))
call("atan2", torch.atan2, F(3, 4), F(3, 4), grad=True)
call("hypot", torch.hypot, F(3, 4), F(3, 4))
call("logaddexp", torch.logaddexp, F(3, 4), F(3, 4), grad=True)
call("logaddexp2", torch.logaddexp2, F(3, 4), F(3, 4))
call("xlogy", torch.xlogy, F(3, 4, low=0.1), F(3, 4, low=0.1), grad=True)
call("copysign", torch.copysign, F(3, 4), F(3, 4))
call("heaviside", torch.heaviside, V([-1.0, 0.0, 2.0]), V([0.5]))
call("gcd", torch.gcd, I(9, low=1, high=90), I(9, low=1, high=90))
call("lcm", torch.lcm, I(9, low=1, high=90), I(9, low=1, high=90))
call("nextafter", torch.nextafter, F(9), F(9))
call("ldexp", torch.ldexp, F(9), I(9, low=-3, high=4))
call("addcmul", lambda a, b, c: torch.addcmul(a, b, c, value=0.5), F(3, 4), F(3, 4), F(4), halves=True, grad=True)
call("addcdiv", lambda a, b, c: torch.addcdiv(a, b, c, value=0.5), F(3, 4), F(3, 4), F(4, low=0.5), halves=True, grad=True)
call("lerp", lambda a, b: torch.lerp(a, b, 0.3), F(3, 4), F(3, 4), halves=True, grad=True)
call("lerp tensor", torch.lerp, F(3, 4), F(3, 4), F(3, 4, low=0), grad=True)

# ---- comparisons and logic ----

for name in ("eq", "ne", "lt", "le", "gt", "ge"):
    function = getattr(torch, name)
    call(f"{name} int", function, I(40, high=3), I(40, high=3))
    call(name, function, F(40), F(40), halves=True)
    call(f"{name} scalar", lambda a, function=function: function(a, 0.5), F(40), halves=True)
call("eq nan", lambda a: a == a, SPECIAL)
call("eq bool", lambda a, b: a == b, B(9), B(9))
call("equal", torch.equal, F(9), F(9))
call("equal same", lambda a: torch.equal(a, a.clone()), F(9))
call("isclose", torch.isclose, SPECIAL, SPECIAL)
call("allclose", lambda a: torch.allclose(a, a + 1e-9), F(9))
call("isnan", torch.isnan, SPECIAL)
call("isinf", torch.isinf, SPECIAL)
call("isfinite", torch.isfinite, SPECIAL)
call("isposinf", torch.isposinf, SPECIAL)
call("isneginf", torch.isneginf, SPECIAL)
call("nan_to_num", lambda a: torch.nan_to_num(a, nan=1.0, posinf=2.0, neginf=-2.0), SPECIAL)
call("logical_and", torch.logical_and, B(40), B(40))
call("logical_or", torch.logical_or, B(40), B(40))
call("logical_xor", torch.logical_xor, B(40), B(40))
call("logical_not", torch.logical_not, B(40))
call("logical_and float", torch.logical_and, I(40, high=2).then(torch.Tensor.float), B(40))
call("and bool", lambda a, b: a & b, B(40), B(40))
call("or bool", lambda a, b: a | b, B(40), B(40))
call("xor bool", lambda a, b: a ^ b, B(40), B(40))
call("not bool", lambda a: ~a, B(40))
call("and", lambda a, b: a & b, I(40, high=99), I(40, high=99))
call("or", lambda a, b: a | b, I(40, high=99, kind=i32), I(40, high=99, kind=i32))
call("xor", lambda a, b: a ^ b, I(40, high=99), I(40, high=99))
call("and scalar", lambda a: a & 12, I(40, high=99))
call("not", lambda a: ~a, I(40, high=99, kind=i16))
call("shift left", lambda a: a << 2, I(40, high=99))
call("shift right", lambda a: a >> 2, I(40, high=99, kind=i32))
call("shift left tensor", lambda a, b: a << b, I(40, high=99), I(40, high=5))
call("iand", lambda a, b: a.clone().__iand__(b), B(40), B(40))

# ---- functions of one element ----

POSITIVE = {"low": 0.1, "high": 4.0}
UNIT = {"low": -0.9, "high": 0.9}
for name, options in (
        ("abs", {}), ("neg", {}), ("sign", {}), ("sgn", {}), ("square", {}), ("sqrt", POSITIVE), ("rsqrt", POSITIVE), ("exp", {}),
        ("exp2", {}), ("expm1", {}), ("log", POSITIVE), ("log2", POSITIVE), ("log10", POSITIVE), ("log1p", POSITIVE), ("sin", {}),
        ("cos", {}), ("tan", UNIT), ("asin", UNIT), ("acos", UNIT), ("atan", {}), ("sinh", {}), ("cosh", {}), ("tanh", {}),
        ("asinh", {}), ("acosh", {"low": 1.1, "high": 4.0}), ("atanh", UNIT), ("sigmoid", {}), ("erf", {}), ("erfc", {}),
        ("erfinv", UNIT), ("reciprocal", POSITIVE), ("digamma", POSITIVE), ("lgamma", {"low": 0.5, "high": 4.0})):
    call(name, getattr(torch, name), F(5, 7, **options), grad=True, tolerance=1e-4,
         halves=name in ("abs", "neg", "sqrt", "rsqrt", "exp", "log", "sin", "cos", "tanh", "sigmoid", "erf", "reciprocal"))
for name in ("abs", "sqrt", "rsqrt", "exp", "log", "tanh", "sigmoid", "erf", "floor", "sign", "reciprocal", "log1p", "atan"):
    call(f"{name} special", getattr(torch, name), SPECIAL, tolerance=1e-4)
for name in ("sin", "cos"):
    call(f"{name} special", getattr(torch, name), V([0.0, -0.0, 1e4, float("inf"), float("-inf"), float("nan")]))
for name in ("floor", "ceil", "round", "trunc", "frac"):
    call(name, getattr(torch, name), F(40, low=-9, high=9), halves=True)
call("round decimals", lambda a: torch.round(a, decimals=2), F(40, low=-9, high=9))
call("round half", torch.round, V([0.5, 1.5, 2.5, -0.5, -1.5, 3.49]))
call("abs int", torch.abs, I(40, low=-9))
call("neg int", torch.neg, I(40, low=-9, kind=i32))
call("sqrt int", torch.sqrt, I(40))
call("sinc", torch.sinc, F(9))
call("signbit", torch.signbit, SPECIAL)
call("logit", lambda a: torch.logit(a, eps=1e-6), F(9, low=0.1, high=0.9))
call("special.entr", torch.special.entr, F(9, low=0.1))
call("i0", torch.i0, F(9))
call("polygamma", lambda a: torch.polygamma(1, a), F(9, low=0.5), tolerance=1e-4)
call("deg2rad", torch.deg2rad, F(9))
call("clamp", lambda a: a.clamp(-0.5, 0.5), F(40), halves=True, grad=True)
call("clamp min", lambda a: a.clamp(min=0.25), F(40), halves=True, grad=True)
call("clamp max", lambda a: a.clamp_max(0.25), F(40), grad=True)
call("clamp tensor", lambda a, b, c: a.clamp(b, c), F(40), F(40, low=-1, high=0), F(40, low=0, high=1), grad=True)
call("clamp int", lambda a: a.clamp(2, 5), I(40))
call("clamp inplace", lambda a: a.clone().clamp_(-1, 1), F(40))
for name in ("sqrt_", "exp_", "abs_", "neg_", "sigmoid_", "tanh_", "floor_", "relu_", "zero_", "log_", "reciprocal_", "rsqrt_"):
    call(name, lambda a, name=name: getattr(a.clone(), name)(), F(9, **POSITIVE), tolerance=1e-4)

# ---- activations ----

for name in ("relu", "relu6", "leaky_relu", "elu", "selu", "celu", "gelu", "silu", "mish", "hardtanh", "hardswish", "hardsigmoid",
             "softplus", "softsign", "tanhshrink", "softshrink", "hardshrink", "logsigmoid", "threshold"):
    if name == "threshold":
        call(name, lambda a: f.threshold(a, 0.5, -1.0), F(5, 9, low=-4, high=4), halves=True, grad=True)
    else:
        call(name, getattr(f, name), F(5, 9, low=-4, high=4), grad=True, tolerance=1e-4,
             halves=name in ("relu", "leaky_relu", "gelu", "silu", "elu", "hardswish", "softplus"))
# torch_npu computes the other form of it
call("gelu tanh", lambda a: f.gelu(a, approximate="tanh"), F(5, 9), halves=True, grad=True, tolerance=1e-3)
call("glu", lambda a: f.glu(a, dim=-1), F(5, 8), grad=True)
call("prelu", f.prelu, F(5, 3, 4), F(3))
call("relu inplace", lambda a: f.relu(a.clone(), inplace=True), F(9))
call("softmax", lambda a: a.softmax(-1), F(5, 9), halves=True, grad=True)
call("softmax 0", lambda a: a.softmax(0), F(5, 9), grad=True)
call("softmax dtype", lambda a: f.softmax(a.half(), dim=-1, dtype=torch.float32), F(5, 9))
call("log_softmax", lambda a: a.log_softmax(-1), F(5, 9), halves=True, grad=True)
call("softmin", lambda a: f.softmin(a, dim=1), F(5, 9))
