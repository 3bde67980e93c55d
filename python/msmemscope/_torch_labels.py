# SPDX-License-Identifier: Apache-2.0
"""Labels the memory of a PyTorch model by its use: weight, gradient, optimizer_state, activation.

  activation       memory allocated while a module runs that was not called by another module
  weight           parameters and buffers of such modules, and parameters of optimizers
  gradient         .grad of those parameters, at the end of a backward pass or an optimizer step
  optimizer_state  tensors in an optimizer's state, at the end of a step

Labels by address are set after the allocation, but still appear in its row. Other memory, such as inputs, losses and
temporaries of the backward pass, gets no label.

Supports plain modules and optimizers from PyTorch 1.13 on; of distributed tensors, the local part is labelled.
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
    """Labels the weights once, and again after they have moved."""
    address = _first_address(module)
    if _roots.get(module) != address:
        _roots[module] = address
        _label([*module.parameters(), *module.buffers()], "weight")


def _around_call(original: Callable[..., Any], patch: Patch) -> Callable[..., Any]:
    """Not a Hook, for speed: it runs for every module call."""
    push, pop = _native.label_push, _native.label_pop

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not patch.active or getattr(_inside, "module", False):
            return original(self, *args, **kwargs)
        _inside.module = True
        try:
            _label_weights(self)
        except Exception:
            pass  # an unusual module: its weights get no label
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
    """Labels at the outermost step(): a class and its bases may each have one."""

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
    """Hooks step() of an optimizer class, its own and the inherited ones."""
    for base in kind.__mro__:
        if base in _classes or "step" not in vars(base) or base.__name__ == "Optimizer":
            continue
        target = Target(base.__module__, base.__qualname__, "step")
        patch = _ClassPatch(base, target)
        _classes[base] = patch
        patch.apply()


class _ClassPatch(Patch):
    """Patches a given class, which need not be an attribute of its module."""

    def __init__(self, kind: type, target: Target) -> None:
        super().__init__(target, _Step())
        self._kind = kind

    def apply(self) -> None:
        original = vars(self._kind).get("step")
        if self._wrapper is None and callable(original):
            self._original, self._holder = original, self._kind
            self._wrapper = self.factory(original, self)
            self._wrapper.__wrapped__ = original
            self._wrapper.hooked = getattr(original, "hooked", None)  # PyTorch checks this to avoid wrapping twice
            setattr(self._wrapper, _hijack._MARK, self)
            self._kind.step = self._wrapper  # type: ignore[attr-defined]


class _NewOptimizer(Hook):
    """Hooks the class of a new optimizer."""

    def after(self, done: bool, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        _follow_class(type(args[0]))


def _follow_existing() -> None:
    """Hooks existing optimizers; schedulers of older versions store a wrapped step() in the instance."""
    kind = sys.modules[_OPTIMIZER].Optimizer
    for base in _subclasses(kind):
        _follow_class(base)
    for thing in gc.get_objects():
        if issubclass(type(thing), kind) and "step" in vars(thing):
            own = vars(thing)["step"]
            if not hasattr(own, _hijack._MARK):
                thing.step = _InstanceStep(thing, own)


class _InstanceStep:
    """Replaces step() stored in an optimizer instance."""

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
    """PyTorch may still be loading; modules loaded later are hooked then."""
    if _patches:
        _hijack.apply_all()
        return
    for target, factory in (
        (Target(_MODULE, "Module", "__call__"), _around_call),
        (Target(_AUTOGRAD, None, "backward"), _Backward()),
        (Target(_OPTIMIZER, "Optimizer", "__init__"), _NewOptimizer()),
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
