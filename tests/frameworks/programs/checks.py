# SPDX-License-Identifier: Apache-2.0
"""Checks of a program: functions with @check, run one after the other in one process by run()."""

import sys
import traceback

import torch

CHECKS = {}
CPU, NPU = torch.device("cpu"), torch.device("npu:0")


def check(function):
    CHECKS[function.__name__] = function
    return function


def run():
    """Runs the checks that the command line names, or all; ends the process with 1 if one has failed."""
    failed, names = 0, sys.argv[1:] or list(CHECKS)
    for name in names:
        try:
            CHECKS[name]()
            print(f"{name}: ok", flush=True)
        except Exception:
            failed += 1
            print(f"{name}: FAILED\n{traceback.format_exc()}", flush=True)
    print(f"{len(names)} checks, {failed} failed")
    sys.exit(failed != 0)


def expect_close(got, expected, tolerance):
    """Tensors or lists of numbers; the error is relative to the largest expected value."""
    got, expected = (torch.as_tensor(value).detach().cpu().double() for value in (got, expected))
    assert got.shape == expected.shape, f"shape {list(got.shape)} instead of {list(expected.shape)}"
    size = expected.abs().max().item() if expected.numel() else 0.0
    error = (got - expected).abs().max().item() if expected.numel() else 0.0
    assert error <= tolerance * max(size, 1e-6), (
        f"differs by {error:.3g} of {size:.3g}: {got.flatten()[:8].tolist()} instead of {expected.flatten()[:8].tolist()}")


def expect_same_state(model, reference, tolerance):
    """The parameters and buffers of both models are equal."""
    for (name, one), other in zip(model.state_dict().items(), reference.state_dict().values()):
        try:
            expect_close(one, other, tolerance)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None
