# SPDX-License-Identifier: Apache-2.0
"""Frameworks from PyPI as targets, unmodified. scripts/frameworks downloads them once."""

import functools
import os
import pathlib
import subprocess

import pytest

from python_target import Target

ROOT = pathlib.Path(__file__).resolve().parent.parent


@functools.lru_cache
def framework(name):
    """The interpreter of an environment, or the folder of a source distribution."""
    done = subprocess.run([str(ROOT / "scripts" / "frameworks"), name], stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, f"scripts/frameworks {name} failed; its messages are above"
    return done.stdout.strip()


@pytest.fixture(scope="session")
def torch_npu():
    """The interpreter that has torch_npu; make soak chooses a newer one."""
    return framework(os.environ.get("NPUSCOPE_TORCH_NPU", "torch_npu-2.7.1.post2"))


@pytest.fixture(params=["torch-2.7.1", "torch-newest"])
def torch_cpu(request, softnpu, tmp_path):
    """A program as a target, with each PyTorch from PyPI; it computes on the CPU."""
    return Target(softnpu, tmp_path / "target", python=framework(request.param))
