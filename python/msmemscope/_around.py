# SPDX-License-Identifier: Apache-2.0
"""Runs a function inside a context manager; supports generators and coroutines.

While a generator or a coroutine is suspended, its thread does other things. The context is left meanwhile, unless it is about
elapsed time.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import wraps
from types import coroutine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from typing import Any, TypeVar

    Function = TypeVar("Function", bound=Callable[..., Any])
    Context = AbstractContextManager[Any]

_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200  # bits of co_flags; importing inspect is slow
_nothing = nullcontext()


def around(context: Context, function: Function, *, suspended: bool = False) -> Function:
    """Returns function wrapped in context. suspended: stay in the context while the function is suspended."""
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    for flag, kind in _KINDS:
        if flags & flag:
            parts, whole = (_nothing, context) if suspended else (context, _nothing)
            return wraps(function)(kind(parts, whole, function))  # type: ignore[return-value]

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        with context:
            return function(*args, **kwargs)
    return call  # type: ignore[return-value]


def _run(parts: Context, inner: Any) -> Any:
    """A generator that forwards to the inner generator or coroutine, each resumption inside `parts`."""
    go_on, value = inner.send, None
    while True:
        with parts:
            try:
                yielded = go_on(value)
            except StopIteration as end:
                return end.value
        try:
            go_on, value = inner.send, (yield yielded)
        except GeneratorExit:
            with parts:
                inner.close()
            raise
        except BaseException as error:
            go_on, value = inner.throw, error


_awaited: Callable[[Context, Any], Any] = coroutine(_run)


def _generator(parts: Context, whole: Context, function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        with whole:
            return (yield from _run(parts, function(*args, **kwargs)))
    return call


def _coroutine(parts: Context, whole: Context, function: Callable[..., Any]) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        with whole:
            return await _awaited(parts, function(*args, **kwargs))
    return call


def _async_generator(parts: Context, whole: Context, function: Callable[..., Any]) -> Callable[..., Any]:
    async def call(*args: Any, **kwargs: Any) -> Any:
        inner = function(*args, **kwargs)
        further = inner.asend(None)
        with whole:
            while True:
                try:
                    yielded = await _awaited(parts, further)
                except StopAsyncIteration:
                    return
                try:
                    further = inner.asend((yield yielded))
                except GeneratorExit:
                    await _awaited(parts, inner.aclose())
                    raise
                except BaseException as error:
                    further = inner.athrow(error)
    return call


_KINDS = ((_COROUTINE, _coroutine), (_ASYNC_GENERATOR, _async_generator), (_GENERATOR, _generator))
