"""Which memory each operator of PyTorch reads and writes.

A dispatch mode sees every operator with its arguments; what its schema says about them is worked out once per operator, the
rest is done in C (_native/access.c). The mode alone costs several microseconds per operator, so it stands only while
accesses are recorded. Begin and end of operators come from elsewhere: PyTorch's own observers.

A mode belongs to a thread; the threads of autograd take it over from the one that calls backward(), and threads that are
started meanwhile get it, too.
"""

from __future__ import annotations

import threading

from . import _hijack, _native
from ._hijack import Patch, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# As in _native/access.c.
NOTHING, READ, WRITE = 0, 1, 2

_facts: dict[Any, tuple[bytes, bytes, dict[str, int], bytes]] = {}
_on = False
_thread = threading.local()
_patch: Patch | None = None


def facts_of(function: Any) -> tuple[bytes, bytes, dict[str, int], bytes]:
    """Of an operator: its name; for each argument by position, each by name, and each result, whether it is read or
    written."""
    schema = function._schema
    name = schema.name.rpartition("::")[2]
    creates = name.startswith("new_") or name.endswith("_like")

    def argument(alias: Any) -> int:
        if creates:
            return NOTHING
        if alias is None:
            return READ
        return WRITE if alias.is_write else NOTHING  # else a view: nothing is touched

    def result(alias: Any) -> int:
        return NOTHING if name == "empty_like" or (alias is not None and not alias.is_write) else WRITE

    named = {each.name: argument(each.alias_info) for each in schema.arguments}
    found = (
        f"{function.__module__}.{function.__name__}".encode(),
        bytes(named[each.name] for each in schema.arguments if not each.kwarg_only),
        {each: what for each, what in named.items() if what != NOTHING},
        bytes(result(each.alias_info) for each in schema.returns),
    )
    _facts[function] = found
    return found


def _make_mode() -> Any:
    """The class needs PyTorch."""
    from torch import Tensor
    from torch.nn import Parameter
    from torch.utils._python_dispatch import TorchDispatchMode

    _native.access_begin(Tensor, Parameter)
    known, inputs, outputs = _facts.get, _native.access_inputs, _native.access_outputs
    empty: dict[str, Any] = {}

    class AccessMode(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if not _on:
                return func(*args, **(kwargs or empty))
            facts = known(func) or facts_of(func)
            inputs(facts, args, kwargs)
            result = func(*args, **(kwargs or empty))
            outputs(facts, result)
            return result

    return AccessMode


_mode: Any = None


def _enter() -> None:
    """In this thread, unless it is in it already."""
    global _mode
    if getattr(_thread, "mode", None) is None:
        if _mode is None:
            _mode = _make_mode()
        mode = _mode()
        mode.__enter__()
        _thread.mode = mode


def _leave() -> None:
    """If it is the innermost one of this thread; below another it stays, and passes everything on."""
    mode = getattr(_thread, "mode", None)
    if mode is not None and _innermost() is mode:
        mode.__exit__(None, None, None)
        _thread.mode = None


def _innermost() -> Any:
    from torch.utils import _python_dispatch

    ask = getattr(_python_dispatch, "_get_current_dispatch_mode", None)
    if ask is not None:
        return ask()
    from torch import _C

    return _C._get_torch_dispatch_mode()


def _around_run(original: Callable[..., Any], patch: Patch) -> Callable[..., Any]:
    def run(self: Any) -> Any:
        if not patch.active or not _on:
            return original(self)
        _enter()
        try:
            return original(self)
        finally:
            _leave()
    return run


def enable() -> None:
    global _on, _patch
    _enter()
    _on = True
    if _patch is None:
        _patch = _hijack.add(Patch(Target("threading", "Thread", "run"), _around_run))


def disable() -> None:
    global _on, _patch
    _on = False
    if _patch is not None:
        _hijack.remove(_patch)
        _patch = None
    _leave()
