# SPDX-License-Identifier: Apache-2.0
"""Which memory each operator of PyTorch reads and writes.

A dispatch mode receives every operator with its arguments. What the operator's schema says about them is derived here, once
per operator; the rest is done in C (_native/access.c), so no Python code runs for an operator. The mode alone costs several
microseconds per operator, so it is active only while accesses are recorded. Begin and end of operators are not recorded here;
they come from PyTorch's own observers.

A mode belongs to a thread. Autograd's threads inherit it from the thread that calls backward(); threads that the program starts
while it is active enter it, too.
"""

from __future__ import annotations

import contextlib
import threading

from . import _hijack, _native
from ._hijack import Patch, Target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

# As in _native/access.c.
NOTHING, READ, WRITE = 0, 1, 2
TENSOR = 4  # in addition: a tensor by its schema, where PyTorch may pass a number

_on = False
_thread = threading.local()
_patches: list[Patch] = []


def facts_of(function: Any) -> tuple[bytes, bytes, dict[str, int], bytes, bool]:
    """Facts about an operator: its name; whether each argument (by position, and by name) and each result is read or written;
    whether it returns exactly one tensor."""
    schema = function._schema
    name = schema.name.rpartition("::")[2]
    creates = name.startswith("new_") or name.endswith("_like")

    def access(alias: Any) -> int:
        if creates:
            return NOTHING
        if alias is None:
            return READ
        return WRITE if alias.is_write else NOTHING  # else a view: no access

    def argument(each: Any) -> int:
        return access(each.alias_info) | (TENSOR if str(each.type) in ("Tensor", "Optional[Tensor]") else 0)

    def result(alias: Any) -> int:
        return NOTHING if name == "empty_like" or (alias is not None and not alias.is_write) else WRITE

    named = {each.name: argument(each) for each in schema.arguments}
    return (
        f"{function.__module__}.{function.__name__}".encode(),
        bytes(named[each.name] for each in schema.arguments if not each.kwarg_only),
        {each: what for each, what in named.items() if what != NOTHING},
        bytes(result(each.alias_info) for each in schema.returns),
        [str(each.type) for each in schema.returns] == ["Tensor"],
    )


def tensor_of(number: Any) -> Any:
    """Converts a Python number to a tensor as PyTorch does; hidden from the program's own modes."""
    import torch

    kinds = {bool: torch.bool, int: torch.int64, complex: torch.complex128}
    with _unseen(torch):
        return torch.scalar_tensor(number, dtype=kinds.get(type(number), torch.float64))


def restore(function: Any, positional: tuple[Any, ...], keywords: dict[str, Any] | None) -> Any:
    """The arguments with numbers converted where the operator requires tensors; None if there are none to convert."""
    made = []

    def tensor(value: Any) -> Any:
        if isinstance(value, (int, float, complex)):
            made.append(tensor_of(value))
            return made[-1]
        return value

    def argument(kind: str, value: Any) -> Any:
        if kind in ("Tensor", "Optional[Tensor]"):
            return tensor(value)
        return [tensor(each) for each in value] if kind == "List[Tensor]" else value

    kinds = {each.name: str(each.type) for each in function._schema.arguments}
    arguments = tuple(argument(kind, value) for kind, value in zip(kinds.values(), positional))
    named = {name: argument(kinds[name], value) for name, value in (keywords or {}).items()}
    return (arguments, named) if made else None


def run_below(function: Any, positional: tuple[Any, ...], keywords: dict[str, Any] | None) -> Any:
    """Calls an operator without __torch_function__ of its arguments."""
    from torch import _C

    guard = getattr(_C, "DisableTorchFunctionSubclass", None) or _C.DisableTorchFunction
    with guard():
        return function(*positional, **(keywords or {}))


# PyTorch's numbers for devices and types.
_CPU, _META = 0, 14
_TYPES = {"uint8": 0, "int64": 4, "float32": 6, "float64": 7, "bool": 11}
_SHAPES = ((257,), (13, 17), (5, 3, 7), (2, 9, 4, 11), (3, 2, 8, 6, 1), ())


def _examples(torch: Any) -> list[tuple[Any, int, int, tuple[int, ...], int, int]]:
    """Probe tensors of many kinds, each with the address of its storage, offset, sizes, and PyTorch's numbers for type and
    device. _native/access_layout.c uses them to find where a tensor stores these values."""
    found = []
    for i, shape in enumerate(_SHAPES):
        for j, (name, number) in enumerate(_TYPES.items()):
            if (i + j) % 2:
                continue
            storage = torch.empty(4096, dtype=getattr(torch, name), device="cpu")
            offset = 19 + 31 * i + 7 * j
            tensor = torch.as_strided(storage, shape, tuple(range(1, len(shape) + 1)), offset)
            tensor = torch.nn.Parameter(tensor, requires_grad=False) if j == 1 else tensor
            found.append((tensor, storage.data_ptr(), offset, shape, number, _CPU))
    buffer = torch.frombuffer(bytearray(64), dtype=torch.uint8)
    found[-2:] = [(buffer, buffer.data_ptr(), 0, (64,), _TYPES["uint8"], _CPU),
                  (torch.empty(2, 3, dtype=torch.float32, device="meta"), 0, 0, (2, 3), _TYPES["float32"], _META)]
    return found


@contextlib.contextmanager
def _unseen(torch: Any, *names: str) -> Iterator[None]:
    """Hides operators from modes."""
    names = names or ("_DisableTorchDispatch", "DisableTorchFunction")
    guards = [getattr(torch._C, name)() for name in names if hasattr(torch._C, name)]
    with contextlib.ExitStack() as stack:
        for guard in guards:  # some guard while they exist, some need a `with`
            if hasattr(guard, "__enter__"):
                stack.enter_context(guard)
        yield


def _learn(torch: Any) -> None:
    """Prepares the C part. The probe tensors are not the program's, so they are not recorded."""
    examples = []
    with contextlib.ExitStack() as stack:
        _native.quiet(True)
        stack.callback(_native.quiet, False)
        stack.enter_context(_unseen(torch))
        with contextlib.suppress(Exception):  # then tensors are queried through their methods
            examples = _examples(torch)
        _native.access_begin(torch.Tensor, torch.nn.Parameter, torch._ops.OpOverload, facts_of, restore, tensor_of,
                             run_below, examples)
        examples.clear()  # while recording is suspended


def _make_mode() -> Any:
    """Creates the class of the mode, whose base class is PyTorch's."""
    import torch
    from torch.utils import _python_dispatch

    _learn(torch)
    _native.own(_python_dispatch.__file__)  # our mode puts its functions into the stack of every operator

    class AccessMode(_python_dispatch.TorchDispatchMode):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            # An attribute of the object, not of the class: newer versions wrap the class's method.
            self.__torch_dispatch__ = _native.access_bind(self)

    return AccessMode


_mode: Any = None


def _enter() -> None:
    """Enters the mode in this thread, unless it is active already."""
    global _mode
    if getattr(_thread, "mode", None) is None:
        if _mode is None:
            _mode = _make_mode()
        mode = _mode()
        mode.__enter__()
        _thread.mode = mode


def _leave() -> None:
    """Leaves the mode if it is the innermost one of this thread; below another one it stays and only forwards."""
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


def _around_new(original: Callable[..., Any], patch: Patch) -> Callable[..., Any]:
    """These functions create the Python object of a tensor. In 1.13 they refuse a tensor that passed through a mode, because it
    already has an object: retry without modes."""
    import torch

    def new(*args: Any, **kwargs: Any) -> Any:
        try:
            return original(*args, **kwargs)
        except RuntimeError as error:
            if not patch.active or "already associated to a python object" not in str(error):
                raise
        with _unseen(torch, "_DisableTorchDispatch"):
            return original(*args, **kwargs)
    return new


def enable() -> None:
    global _on
    _enter()
    _on = True
    _native.access_on(True)
    if not _patches:
        for target, factory in (
            (Target("threading", "Thread", "run"), _around_run),
            (Target("torch", "Tensor", "__new__"), _around_new),
            (Target("torch", "Tensor", "as_subclass"), _around_new),
        ):
            _patches.append(_hijack.add(Patch(target, factory)))


def disable() -> None:
    global _on
    _on = False
    _native.access_on(False)
    _hijack.remove(*_patches)
    _patches.clear()
    _leave()
