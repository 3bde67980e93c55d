# SPDX-License-Identifier: Apache-2.0
"""How the families describe their operators: arguments with expected outputs, from random shapes, strides and values.

    @operator("Flip")
    def flip(g, dtype):                      called several times for every type that the operator's row accepts
        x = g.tensor(dtype)
        dims = g.some_dims(x)
        return [x, dims, Out(torch.flip(x, dims))]        arguments in the order of the signature

Out(expected) becomes a tensor of that shape with random strides, filled with garbage before the call and compared after
it. Ref(x, expected) is an input that the operator changes. All other tensors must stay as they were. A function may
return None if the type makes no sense for the values that it drew.
"""

import random

import torch

ROUNDS = 10
OPERATORS = {}  # name: (function, types or None)

# Relative and absolute error, by type of the output.
TOLERANCE = {torch.float32: (2e-5, 1e-5), torch.float64: (1e-9, 1e-9), torch.float16: (2e-3, 1e-3),
             torch.bfloat16: (1.6e-2, 1e-2)}
REALS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
LIMITS = {torch.int8: (-128, 127), torch.uint8: (0, 255), torch.int16: (-2**15, 2**15 - 1), torch.bool: (0, 1)}


def precise(function):
    """Computes a reference of half-precision tensors in float32 and rounds once, as the operators do."""
    def compute(*args):
        halves = [a.dtype for a in args if isinstance(a, torch.Tensor) and a.dtype in (torch.float16, torch.bfloat16)]
        if not halves:
            return function(*args)
        result = function(*(a.float() if isinstance(a, torch.Tensor) and a.dtype in halves else a for a in args))
        return result.to(halves[0]) if result.dtype is torch.float32 else result
    return compute


class Out:
    def __init__(self, expected, dtype=None, rtol=None, atol=None, check=None, room=None):
        self.expected = expected if dtype is None else expected.to(dtype)
        self.room = room  # the shape before the call, if the operator determines the shape of its result
        self.rtol, self.atol, self.check = rtol, atol, check


class Ref(Out):
    def __init__(self, tensor, expected, **options):
        super().__init__(expected, **options)
        self.tensor = tensor


def operator(*names, dtypes=None):
    """Registers a function for operators; dtypes overrides the types of the row (must be a part of them)."""
    def register(function):
        for name in names:
            assert name not in OPERATORS, name
            OPERATORS[name] = (function, dtypes)
        return function
    return register


class Generator:
    """Random arguments. The first rounds take the special shapes: no dimensions, no elements, one element."""

    def __init__(self, seed, round_number):
        self.random = random.Random(seed)
        self.round = round_number
        torch.manual_seed(seed)

    def shape(self, least=0, most=4, largest=7):
        if self.round == 0 and least == 0:
            return ()
        if self.round == 1:
            return (self.random.choice([(0,), (3, 0), (2, 0, 3)]) if least <= 1 else
                    tuple(0 if i == 0 else 2 for i in range(least)))
        if self.round == 2 and least <= 2:
            return (self.random.choice([(1031,), (37, 41)]) if least <= 1 else (37, 41))[:most]
        return tuple(self.random.randint(1, largest) for _ in range(self.random.randint(max(least, 1), most)))

    def values(self, dtype, shape, low=None, high=None, specials=True):
        if dtype in REALS:
            x = torch.randn(shape, dtype=torch.float64) * 2
            if low is not None or high is not None:
                low, high = low if low is not None else -4, high if high is not None else 4
                x = torch.rand(shape, dtype=torch.float64) * (high - low) + low
            elif specials and self.round % 3 == 2 and x.numel():
                flat = x.view(-1)
                for special in (float("nan"), float("inf"), -float("inf"), 0.0, -0.0):
                    flat[self.random.randrange(flat.numel())] = special
            return x.to(dtype)
        bottom, top = LIMITS.get(dtype, (-1000, 1000))
        bottom, top = max(bottom, -100 if low is None else low), min(top, 100 if high is None else high)
        return torch.randint(bottom, top + 1, shape).to(dtype)

    def lay_out(self, x, layout=None):
        """The same values with other strides and an offset."""
        layout = layout or self.random.choice(["dense", "dense", "transposed", "gaps", "sliced"])
        if layout == "transposed" and x.dim() >= 2:
            order = list(range(x.dim()))
            self.random.shuffle(order)
            back = [order.index(i) for i in range(x.dim())]
            return x.permute(order).contiguous().permute(back)
        if layout in ("gaps", "sliced") and x.dim() >= 1:
            step = 2 if layout == "sliced" else 1
            room = torch.empty([*x.shape[:-1], x.shape[-1] * step + 3], dtype=x.dtype)
            fill_garbage(room)
            view = room[..., 1:1 + x.shape[-1] * step:step]
            view.copy_(x)
            return view
        return x.contiguous().clone()

    def tensor(self, dtype, shape=None, low=None, high=None, specials=True, layout=None):
        shape = self.shape() if shape is None else tuple(shape)
        return self.lay_out(self.values(dtype, shape, low, high, specials), layout)

    def broadcastable(self, dtype, shape, **options):
        """A tensor whose shape broadcasts to `shape`."""
        dims = [1 if self.random.random() < 0.3 else d for d in shape]
        return self.tensor(dtype, dims[self.random.randint(0, len(dims)):] if dims else [], **options)

    def dim(self, x):
        """A dimension of x, sometimes counted from the end."""
        limit = max(x.dim(), 1)
        return self.random.randrange(-limit, limit)

    def some_dims(self, x, least=0):
        count = self.random.randint(min(least, x.dim()), x.dim())
        return [d - x.dim() if self.random.random() < 0.3 else d for d in self.random.sample(range(x.dim()), count)]

    def number(self, dtype):
        """A scalar that does not promote the type."""
        return self.random.uniform(-3, 3) if dtype in REALS else bool(self.random.randrange(2)) \
            if dtype is torch.bool else self.random.randint(-3, 3) if dtype is not torch.uint8 else 2


def fill_garbage(t):
    if t.numel():
        t.fill_(True if t.dtype is torch.bool else 93 if t.dtype not in REALS else float("nan"))


def compare(name, out, got, where):
    expected = out.expected
    assert got.dtype == expected.dtype and got.shape == expected.shape
    if out.check is not None:
        out.check(got)
        return
    rtol, atol = TOLERANCE.get(expected.dtype, (0, 0))
    torch.testing.assert_close(got, expected, rtol=out.rtol if out.rtol is not None else rtol,
                               atol=out.atol if out.atol is not None else atol, equal_nan=True,
                               msg=lambda text: f"{name}, {where}: {text}")


def run_case(device, name, args, g, where):
    """Runs one call and compares its outputs; inputs must be unchanged."""
    outputs, inputs, values = [], [], []

    def place(arg):
        if isinstance(arg, Ref):
            outputs.append((arg, arg.tensor))
            return arg.tensor
        if isinstance(arg, Out):
            view = g.lay_out(torch.zeros(arg.expected.shape if arg.room is None else arg.room,
                                         dtype=arg.expected.dtype), None if arg.room is None else "dense")
            fill_garbage(view)
            outputs.append((arg, view))
            return view
        if isinstance(arg, torch.Tensor):
            inputs.append((arg, arg.clone()))
        if isinstance(arg, (list, tuple)) and any(isinstance(a, (Out, torch.Tensor)) for a in arg):
            return [place(a) for a in arg]
        return arg

    values = [place(arg) for arg in args]
    device.run(name, *values)
    for number, (out, got) in enumerate(outputs):
        compare(name, out, got, f"{where}, output {number}")
    for tensor, before in inputs:
        if not any(tensor is got for _, got in outputs):
            assert torch.equal(tensor.nan_to_num() if tensor.dtype in REALS else tensor,
                               before.nan_to_num() if before.dtype in REALS else before), f"{name}: changed an input"
