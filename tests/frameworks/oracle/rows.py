# SPDX-License-Identifier: Apache-2.0
"""References of element-wise operators as rows: operator, role of every parameter, function of PyTorch.

Roles as in src/softnpu/aclnn/operators/map.h: i input, m mask, n scalar operand, s number, r input and output, o output;
v is a number by value, f a flag by value, - a parameter that the function does not get, given by `fixed`.
"""

import torch

from .cases import REALS, Out, Ref, operator

HALVES = (torch.float16, torch.bfloat16)
OTHERS = (torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.uint8, torch.bool)


def wide(x):
    """Integers and bool give real results as float32."""
    return x if x.dtype in REALS else x.float()


def rounded_once(function, operands):
    """Half-precision operands are computed in float32 and rounded once."""
    halves = [x.dtype for x in operands if isinstance(x, torch.Tensor) and x.dtype in HALVES]
    if not halves:
        return function(*operands)
    real = [x.dtype for x in operands if isinstance(x, torch.Tensor) and x.dtype in REALS]
    result = function(*(x.float() if isinstance(x, torch.Tensor) and x.dtype in HALVES else x for x in operands))
    if result is None or result.dtype is not torch.float32 or len(set(real)) > 1:
        return result
    return result.to(halves[0])


def row(name, roles, function, numbers=(), fixed=(), types=None, exact=False, mixed=False, **values):
    """numbers: one function of (generator, type) for each s, v and f; values: bounds of tensors, `second` for all but
    the first; exact: PyTorch's result in the type itself; mixed: operands of other types."""
    second = values.pop("second", values)

    @operator(name, dtypes=types)
    def case(g, dtype):
        shape, args, operands, supply, constants = g.shape(), [], [], list(numbers), list(fixed)
        turn = g.random.random() < 0.5 and "r" not in roles
        for role in roles:
            tensors = sum(isinstance(x, torch.Tensor) for x in operands)
            if role in "ir":
                bounds = second if tensors else values
                other = g.random.choice(OTHERS) if mixed and tensors and shape and g.random.random() < 0.4 else dtype
                make = g.broadcastable if role == "i" and tensors != turn else g.tensor
                if role == "i" and "i" in roles.replace("i", "", 1):
                    make = g.tensor if tensors == turn else g.broadcastable
                operands.append(make(other, shape, **bounds))
            elif role == "m":
                operands.append(g.broadcastable(torch.bool, shape))
            elif role == "n":
                operands.append(supply.pop(0)(g, dtype) if supply else g.number(dtype))
            elif role in "svf":
                operands.append(supply.pop(0)(g, dtype))
        tensors = [x for x in operands if isinstance(x, torch.Tensor)]
        if len({x.dtype for x in tensors}) > 1 and mixed and any(x.dim() == 0 for x in tensors):
            return None  # PyTorch treats a tensor without dimensions as a scalar
        try:
            expected = function(*operands) if exact else rounded_once(function, operands)
        except (RuntimeError, NotImplementedError) as error:
            if "not implemented for" in str(error) or "not supported" in str(error) or "can't be cast" in str(error):
                return None
            raise
        if expected is None:
            return None
        left = list(operands)
        for role in roles:
            if role == "o":
                args.append(Out(expected))
            elif role == "-":
                args.append(constants.pop(0))
            else:
                operand = left.pop(0)
                if role == "r":
                    if expected.dtype is not operand.dtype or expected.shape != operand.shape:
                        return None
                    operand = Ref(operand, expected)
                args.append(operand)
        return args
    return case


def constant(value):
    return lambda g, dtype: value


def uniform(low, high):
    return lambda g, dtype: g.random.uniform(low, high)


def number(g, dtype):
    return g.number(dtype)


def not_zero(g, dtype):
    value = g.number(dtype)
    return value if value else 2


def one_of(*values):
    return lambda g, dtype: g.random.choice(values)
