# SPDX-License-Identifier: Apache-2.0
"""The table of calls: what a row is, and the inputs that rows name.

A row is call(name, function, *inputs). The function gets the inputs as tensors of one device and must give the same on each.
Inputs are made on the CPU, from the row's name as the seed. Options of a row:

    halves=True     also with float16 and bfloat16 for every F()
    grad=True       also the gradients of every F()
    tolerance=T     the relative error that is accepted for float32, 2e-5 without it
    any_order=True  the elements of the results are compared sorted
"""

import math
import zlib

import torch

ROWS = []


class Row:
    def __init__(self, name, function, inputs, halves, grad, tolerance, any_order):
        self.name, self.function, self.inputs = name, function, inputs
        self.grad, self.tolerance, self.any_order = grad, tolerance, any_order
        self.types = [torch.float32] + ([torch.float16, torch.bfloat16] if halves else [])


def call(name, function, *inputs, halves=False, grad=False, tolerance=2e-5, any_order=False):
    ROWS.append(Row(name, function, inputs, halves, grad, tolerance, any_order))


class Input:
    """One input: make(generator, type) gives the tensor."""

    def __init__(self, make, real=False, trainable=False):
        self.make, self.real, self.trainable = make, real, trainable

    def then(self, change):
        """A view or another derived tensor of it, made on the device."""
        changed = Input(self.make, self.real, self.trainable)
        changed.change = change
        return changed

    def change(self, tensor):
        return tensor


def generator(name):
    return torch.Generator().manual_seed(zlib.crc32(name.encode()))


def F(*shape, low=-2.0, high=2.0, fixed=False):
    """Floating point in the type of the run; fixed: nothing asks for its gradient."""
    def make(source, kind):
        return (torch.rand(shape, generator=source) * (high - low) + low).to(kind)
    return Input(make, real=True, trainable=not fixed)


def D(*shape):
    """float64"""
    return Input(lambda source, _: torch.randn(shape, generator=source, dtype=torch.float64))


def I(*shape, low=0, high=10, kind=torch.int64):  # noqa: E743
    return Input(lambda source, _: torch.randint(low, high, shape, generator=source).to(kind))


def B(*shape):
    return Input(lambda source, _: torch.rand(shape, generator=source) < 0.5)


def C(*shape):
    """complex64"""
    return Input(lambda source, _: torch.randn(shape, generator=source, dtype=torch.complex64))


def V(values, kind=torch.float32):
    """These values."""
    return Input(lambda source, _: torch.tensor(values, dtype=kind))


def P(count):
    """A permutation."""
    return Input(lambda source, _: torch.randperm(count, generator=source))


SPECIAL = V([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, math.inf, -math.inf, math.nan, 1e-38, 1e30, -7.25, 100.0])
