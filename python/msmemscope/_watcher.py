# SPDX-License-Identifier: Apache-2.0
"""watcher: dumps tensors around every operator, to find the one that overwrites them."""

from __future__ import annotations

from . import _native, _recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_LONGEST_B = 64
_UNLIMITED = -1


def _is_tensor(value: object) -> bool:
    """Recognises tensors, parameters and other subclasses without importing torch."""
    return any((kind.__module__, kind.__name__) in (("torch", "Tensor"), ("torch._tensor", "Tensor"))
               for kind in type(value).__mro__)


def _range(args: tuple[Any, ...], length: Any, given: bool) -> tuple[int, int]:
    """Address and size given by the one positional argument and length."""
    if len(args) != 1:
        raise TypeError("Only one parameter without keywords can be input.")
    (what,) = args
    if not given:
        if not _is_tensor(what):
            raise TypeError("Expected a tensor as args.")
        return what.data_ptr(), what.element_size() * what.nelement()
    if not isinstance(what, int) or isinstance(what, bool) or not 0 < what < 1 << 64:
        raise TypeError("Expected addr:int as args when length is set.")
    if not isinstance(length, int) or isinstance(length, bool) or not 0 < length < 1 << 63:
        raise ValueError("The length parameter is invalid.")
    return what, length


def _unknown(function: str, keywords: dict[str, Any]) -> None:
    for keyword in keywords:
        raise TypeError(f"{function}() got an unexpected keyword argument '{keyword}'")


class Watcher:
    """Dumps watched memory into watch_dump in the output directory, around the operators that are recorded."""

    def watch(self, *args: Any, **keywords: Any) -> None:
        """watch(tensor, *, name, dump_nums=-1), watch(address, *, length, name, dump_nums=-1): dump_nums is the maximum
        number of dumps; negative: no limit."""
        given, length = "length" in keywords, keywords.pop("length", None)
        if not given and not keywords:
            raise ValueError("At least one name keyword parameter must be entered.")
        name, dumps = keywords.pop("name", None), keywords.pop("dump_nums", _UNLIMITED)
        _unknown("watch", keywords)
        address, size = _range(args, length, given)
        if not isinstance(name, str) or not name:
            raise ValueError("The name parameter must be set.")
        if len(name.encode(errors="surrogatepass")) > _LONGEST_B:
            raise ValueError(f"The name parameter exceeds maximum allowed length {_LONGEST_B}.")
        if "\0" in name:
            raise ValueError("The name parameter is part of file names and must not contain a NUL character.")
        if not isinstance(dumps, int) or isinstance(dumps, bool) or not -(1 << 31) <= dumps < 1 << 31:
            raise ValueError("The dump_nums parameter is invalid.")
        if address == 0 or size == 0:
            raise ValueError("The tensor has no memory.")
        try:
            _recorder.need()
        except OSError as error:
            if _recorder.left_out(error):
                return
            raise _recorder.explained(error) from None
        _native.watch(address, size, name, dumps)

    def remove(self, *args: Any, **keywords: Any) -> None:
        """remove(tensor), remove(address, length=n): stops watching."""
        given, length = "length" in keywords, keywords.pop("length", None)
        _unknown("remove", keywords)
        where = _range(args, length, given)
        if _native.loaded():
            _native.unwatch(*where)


watcher = Watcher()
