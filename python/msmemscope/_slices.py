# SPDX-License-Identifier: Apache-2.0
"""RecordFunction: named slices in the Python trace."""

from __future__ import annotations

from threading import local

from . import _native
from ._around import around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Function = TypeVar("Function", bound=Callable[..., Any])

_LONGEST_B = 128


class RecordFunction(local):
    """Records a slice with this name in the Python trace while tracing is active; context manager and decorator.

    One object may be used by several threads and may be nested.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(f"name must be a str, not {type(name).__name__}")
        if len(name.encode(errors="surrogatepass")) > _LONGEST_B:
            raise ValueError(f"Input name exceeds maximum allowed length {_LONGEST_B}.")
        self._name = name.encode(errors="replace").decode()
        self._begun: list[int] = []

    def __enter__(self) -> RecordFunction:
        self._begun.append(_native.stamp())
        return self

    def __exit__(self, *exception: object) -> None:
        if self._begun:
            _native.slice(self._begun.pop(), self._name)

    def __call__(self, function: Function) -> Function:
        return around(self, function)
