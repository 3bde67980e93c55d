# SPDX-License-Identifier: Apache-2.0
"""Locates the programs and libraries of this installation."""

from __future__ import annotations

import os

from . import _native

RECORDER = "libascend_kernel_hook.so"


def candidates(package: str) -> list[str]:
    """Installation trees that may belong to a package in this directory: installed by `make install` or in a build tree (the
    package is part of the tree); installed by pip into a virtual environment or system, into one directory (--target), or
    with --editable (the extension is in a build tree)."""
    site = os.path.dirname(package)
    prefix = os.path.dirname(os.path.dirname(os.path.dirname(site)))
    return [
        os.path.dirname(site),
        os.path.join(prefix, "libexec", "msmemscope"),
        os.path.join(site, "libexec", "msmemscope"),
        os.path.join(os.path.dirname(os.path.dirname(_native.__file__)), "msmemscope"),
    ]


def find() -> str:
    """The tree that contains bin, lib64 and libexec."""
    trees = candidates(os.path.dirname(os.path.abspath(__file__)))
    for tree in trees:
        if os.path.exists(os.path.join(tree, "lib64", RECORDER)):
            return tree
    raise FileNotFoundError(f"[msmemscope] Error: incomplete installation: no lib64/{RECORDER} in {', '.join(trees)}.")
