# SPDX-License-Identifier: Apache-2.0
"""Labels for memory: of what a part of the program allocates, or of one tensor.

    from msmemscope import describe

    with describe.describer(owner="cache"):        # what this thread allocates here
        ...

    @describe.describer(owner="forward")           # or in this function
    def forward(x): ...

    describe.describer(tensor, owner="embedding")  # the block of this tensor or address
"""

from __future__ import annotations

from . import _native
from ._around import around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol, TypeVar, overload

    Function = TypeVar("Function", bound=Callable[..., Any])

    class HasDataPtr(Protocol):
        def data_ptr(self) -> int: ...

# The levels of an owner, in the order in which they are written.
FRAMEWORK, COMPONENT, PROCESS, DETAIL_1, DETAIL_2, USER_DEFINED_1, USER_DEFINED_2, USER_DEFINED_3 = range(8)

_LONGEST_B = 128
_ESCAPES = {ord(c): e for c, e in zip("\n\f\r\b\t\v\x7f", ("\\n", "\\f", "\\r", "\\b", "\\t", "\\v", "\\x7f"))}


def _checked(owner: str) -> str:
    if not isinstance(owner, str):
        raise TypeError(f"owner must be a str, not {type(owner).__name__}")
    if len(owner.encode(errors="surrogatepass")) > _LONGEST_B:
        raise ValueError(f"Input owner exceeds maximum allowed length {_LONGEST_B}.")
    return owner.encode(errors="replace").decode().translate(_ESCAPES)


def _level(level: int) -> int:
    if level not in range(USER_DEFINED_3 + 1):
        raise ValueError(f"level {level!r} is not in the range {FRAMEWORK} to {USER_DEFINED_3}")
    return level


def describe_label(label: str, level: int = USER_DEFINED_1) -> None:
    """Labels what this thread allocates from now on."""
    if label := _checked(label):
        _native.label_push(_level(level), label)


def undescribe_label(label: str, level: int = USER_DEFINED_1) -> None:
    """Removes the label set by describe_label()."""
    if label := _checked(label):
        _native.label_pop(_level(level), label)


def describe_addr(address: int, labels: list[tuple[str, int]]) -> None:
    """Labels the block that contains this address."""
    for label, level in labels:
        if label := _checked(label):
            _native.label_address(_level(level), address, label)


class _Describer:
    """A label, as context manager and decorator; reusable and nestable."""

    __slots__ = ("_owner",)

    def __init__(self, owner: str) -> None:
        self._owner = _checked(owner)

    def __enter__(self) -> _Describer:
        if self._owner:
            _native.label_push(USER_DEFINED_1, self._owner)
        return self

    def __exit__(self, *exception: object) -> None:
        if self._owner:
            _native.label_pop(USER_DEFINED_1, self._owner)

    def __call__(self, function: Function) -> Function:
        return around(self, function)


if TYPE_CHECKING:
    @overload
    def describer(obj: None = None, owner: str = "") -> _Describer: ...
    @overload
    def describer(obj: int | HasDataPtr, owner: str = "") -> None: ...


def describer(obj: int | HasDataPtr | None = None, owner: str = "") -> _Describer | None:
    """Labels a part of the program (obj is None), or the block that contains a tensor or address."""
    if obj is None:
        return _Describer(owner)
    if isinstance(obj, int) and not isinstance(obj, bool):
        address = obj
    elif callable(getattr(obj, "data_ptr", None)):
        address = obj.data_ptr()  # type: ignore[union-attr]
    else:
        raise NotImplementedError("Unsupported tensor type")
    if not 0 <= address < 1 << 64:
        raise ValueError(f"invalid address: {address}")
    describe_addr(address, [(owner, USER_DEFINED_1)])
    return None
