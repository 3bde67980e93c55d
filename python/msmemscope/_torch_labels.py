# SPDX-License-Identifier: Apache-2.0
"""What a model of PyTorch uses its memory for: weight, gradient, optimizer_state, activation.

  activation       what is allocated while a module runs that was called from outside of any module
  weight           parameters and buffers of such modules, and parameters of optimizers
  gradient         .grad of those parameters, when a backward pass or a step of an optimizer ends
  optimizer_state  tensors in an optimizer's state, when a step ends

Labels by address come late and stand in the row of the allocation all the same. Memory that none of this names, such as
inputs, losses and temporaries of the backward pass, stays what it is: the rest.

Plain modules and optimizers, from PyTorch 1.13 on; distributed tensors by the part that is here.
"""

from __future__ import annotations

import gc
import sys
import threading
import weakref

from . import _hijack, _native
from ._hijack import Hook, Patch, Target
from .describe import DETAIL_1

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_MODULE, _OPTIMIZER, _AUTOGRAD = "torch.nn.modules.module", "torch.optim.optimizer", "torch.autograd"

_inside = threading.local()
_roots: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
_patches: list[Patch] = []


def _label(tensors: Iterable[Any], label: str) -> None:
    _native.label_tensors(DETAIL_1, label, [getattr(tensor, "_local_tensor", tensor) for tensor in tensors])


# ---- modules ----

def _first_address(module: Any) -> int:
    for parameter in module.parameters():
        try:
            return int(getattr(parameter, "_local_tensor", parameter).data_ptr())
        except RuntimeError:
            break
    return 0


def _label_weights(module: Any) -> None:
    """Once, and again when they have moved."""
    address = _first_address(module)
    if _roots.get(module) != address:
        _roots[module] = address
        _label([*module.parameters(), *module.buffers()], "weight")


def _around_call(original: Callable[..., Any], patch: Patch) -> Callable[..., Any]:
    """A hook of its own kind: it is in the way of every module."""
    push, pop = _native.label_push, _native.label_pop

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not patch.active or getattr(_inside, "module", False):
            return original(self, *args, **kwargs)
        _inside.module = True
        try:
            _label_weights(self)
        except Exception:
            pass  # a module of a strange kind: its weights remain without a name
        push(DETAIL_1, "activation")
        try:
            return original(self, *args, **kwargs)
        finally:
            pop(DETAIL_1, "activation")
            _inside.module = False
    return call


# ---- gradients ----

def _parameters_of(optimizer: Any) -> list[Any]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _label_gradients(parameters: Iterable[Any]) -> None:
    gradients = [parameter.grad for parameter in parameters]
    _label([gradient for gradient in gradients if gradient is not None], "gradient")


class _Backward(Hook):
    def after(self, done: bool, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for module in list(_roots):
            _label_gradients(module.parameters())


# ---- optimizers ----

class _Step(Hook):
    """The outermost of the steps that a class and its bases have."""

    def before(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        steps = getattr(_inside, "steps", 0)
        if steps == 0:
            _label_gradients(_parameters_of(args[0]))
        _inside.steps = steps + 1

    def after(self, done: bool, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        _inside.steps -= 1
        if _inside.steps > 0:
            return
        parameters = _parameters_of(args[0])
        _label(parameters, "weight")
        state = args[0].state
        held = [value for parameter in parameters if parameter in state for value in state[parameter].values()]
        _label([value for value in held if hasattr(value, "data_ptr")], "optimizer_state")


_classes: dict[type, Patch] = {}


def _follow_class(kind: type) -> None:
    """The class of an optimizer: its own step, and those that it inherits."""
    for base in kind.__mro__:
        if base in _classes or "step" not in vars(base) or base.__name__ == "Optimizer":
            continue
        target = Target(base.__module__, base.__qualname__, "step")
        patch = _ClassPatch(base, target)
        _classes[base] = patch
        patch.apply()


class _ClassPatch(Patch):
    """Of a class at hand, which need not be a member of its module."""

    def __init__(self, kind: type, target: Target) -> None:
        super().__init__(target, _Step())
        self._kind = kind

    def apply(self) -> None:
        original = vars(self._kind).get("step")
        if self._wrapper is None and callable(original):
            self._original, self._holder = original, self._kind
            self._wrapper = self.factory(original, self)
            self._wrapper.__wrapped__ = original
            self._wrapper.hooked = getattr(original, "hooked", None)  # PyTorch looks whether it has wrapped it already
            setattr(self._wrapper, _hijack._MARK, self)
            self._kind.step = self._wrapper  # type: ignore[attr-defined]


class _Birth(Hook):
    """A new optimizer."""

    def after(self, done: bool, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        _follow_class(type(args[0]))


def _follow_existing() -> None:
    """Optimizers that were made before; schedulers of older versions have put a copy of step into them."""
    kind = sys.modules[_OPTIMIZER].Optimizer
    for base in _subclasses(kind):
        _follow_class(base)
    for thing in gc.get_objects():
        if issubclass(type(thing), kind) and "step" in vars(thing):
            own = vars(thing)["step"]
            if not hasattr(own, _hijack._MARK):
                thing.step = _InstanceStep(thing, own)


class _InstanceStep:
    """A step that stands in the optimizer itself."""

    def __init__(self, optimizer: Any, original: Callable[..., Any]) -> None:
        self._optimizer = weakref.ref(optimizer)
        self._step = _Step()(lambda optimizer, *args, **kwargs: original(*args, **kwargs), self)
        setattr(self, _hijack._MARK, self)
        self.__dict__.update(getattr(original, "__dict__", {}))  # _with_counter and the like

    @property
    def active(self) -> bool:
        return bool(_patches) and self._optimizer() is not None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._step(self._optimizer(), *args, **kwargs)


def _subclasses(kind: type) -> list[type]:
    found: list[type] = list(kind.__subclasses__())
    return found + [further for each in found for further in _subclasses(each)]


# ---- on and off ----

def enable() -> None:
    """PyTorch need not be complete; what comes later is followed when it is there."""
    if _patches:
        _hijack.apply_all()
        return
    for target, factory in (
        (Target(_MODULE, "Module", "__call__"), _around_call),
        (Target(_AUTOGRAD, None, "backward"), _Backward()),
        (Target(_OPTIMIZER, "Optimizer", "__init__"), _Birth()),
    ):
        _patches.append(_hijack.add(Patch(target, factory)))
    module = sys.modules.get(_OPTIMIZER)
    if module is not None and not _hijack.is_loading(module):
        _follow_existing()


def disable() -> None:
    _hijack.remove(*_patches, *_classes.values())
    _patches.clear()
    _classes.clear()
    _roots.clear()
