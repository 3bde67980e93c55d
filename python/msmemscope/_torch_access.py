# SPDX-License-Identifier: Apache-2.0
"""Which memory each operator of PyTorch reads and writes.

A dispatch mode sees every operator with its arguments. What its schema says about them is worked out here, once per operator;
the rest is done in C (_native/access.c), and no Python runs for an operator. The mode alone costs several microseconds per
operator, so it stands only while accesses are recorded. Begin and end of operators come from elsewhere: PyTorch's own
observers.

A mode belongs to a thread; the threads of autograd take it over from the one that calls backward(), and threads that are
started meanwhile get it, too.
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

_on = False
_thread = threading.local()
_patches: list[Patch] = []


def facts_of(function: Any) -> tuple[bytes, bytes, dict[str, int], bytes, bool]:
    """Of an operator: its name; for each argument by position, each by name, and each result, whether it is read or
    written; whether it returns one tensor."""
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
    return (
        f"{function.__module__}.{function.__name__}".encode(),
        bytes(named[each.name] for each in schema.arguments if not each.kwarg_only),
        {each: what for each, what in named.items() if what != NOTHING},
        bytes(result(each.alias_info) for each in schema.returns),
        [str(each.type) for each in schema.returns] == ["Tensor"],
    )


def tensor_of(number: Any) -> Any:
    """As PyTorch makes one of a number of Python's; modes of the program's own do not see it."""
    import torch

    kinds = {bool: torch.bool, int: torch.int64, complex: torch.complex128}
    with _unseen(torch):
        return torch.scalar_tensor(number, dtype=kinds.get(type(number), torch.float64))


def restore(function: Any, positional: tuple[Any, ...], keywords: dict[str, Any] | None) -> Any:
    """The arguments of an operator with tensors where it wants tensors and was given numbers; None if it was not."""
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


# Numbers that PyTorch has for them.
_CPU, _META = 0, 14
_TYPES = {"uint8": 0, "int64": 4, "float32": 6, "float64": 7, "bool": 11}
_SHAPES = ((257,), (13, 17), (5, 3, 7), (2, 9, 4, 11), (3, 2, 8, 6, 1), ())


def _examples(torch: Any) -> list[tuple[Any, int, int, tuple[int, ...], int, int]]:
    """Tensors of many kinds: each with where its storage is, offset, sizes, and PyTorch's numbers for type and device. From
    these _native/access_layout.c learns where a tensor keeps all this."""
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
    """Modes do not see what happens here."""
    names = names or ("_DisableTorchDispatch", "DisableTorchFunction")
    guards = [getattr(torch._C, name)() for name in names if hasattr(torch._C, name)]
    with contextlib.ExitStack() as stack:
        for guard in guards:  # some guard as long as they are there, some in a `with`
            if hasattr(guard, "__enter__"):
                stack.enter_context(guard)
        yield


def _learn(torch: Any) -> None:
    """None of it is the program's: it is not recorded, either."""
    examples = []
    with contextlib.ExitStack() as stack:
        _native.quiet(True)
        stack.callback(_native.quiet, False)
        stack.enter_context(_unseen(torch))
        with contextlib.suppress(Exception):  # then tensors are asked instead of looked at
            examples = _examples(torch)
        _native.access_begin(torch.Tensor, torch.nn.Parameter, torch._ops.OpOverload, facts_of, restore, tensor_of, examples)
        examples.clear()  # while it is quiet


def _make_mode() -> Any:
    """The class needs PyTorch."""
    import torch
    from torch.utils import _python_dispatch

    _learn(torch)
    _native.own(_python_dispatch.__file__)  # a mode of ours brings functions of it into the stacks of all operators

    class AccessMode(_python_dispatch.TorchDispatchMode):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            # Of the object, not of the class: newer versions wrap what they find there.
            self.__torch_dispatch__ = _native.access_bind(self)

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


def _around_new(original: Callable[..., Any], patch: Patch) -> Callable[..., Any]:
    """Functions that make the object of a tensor themselves, and in 1.13 refuse one that has come through a mode, as it has an
    object by then: once more, without modes."""
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
