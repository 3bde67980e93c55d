# SPDX-License-Identifier: Apache-2.0
"""Functions of other packages, replaced by ones of ours around them: now if their module is loaded, else when it is.

Nothing is imported for that. A target that does not exist is passed over. What was put in place is taken out again in any
order; where somebody else has wrapped our function meanwhile, it stays and only passes calls on.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
import threading
from functools import update_wrapper
from importlib.machinery import ModuleSpec

from . import _recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType
    from typing import Any, NamedTuple, Protocol

    class Target(NamedTuple):
        module: str
        owner: str | None
        function: str

    class Switch(Protocol):
        @property
        def active(self) -> bool: ...
else:
    from collections import namedtuple

    Target = namedtuple("Target", "module owner function")

_lock = threading.RLock()
_patches: list[Patch] = []
_MARK = "__msmemscope_patch__"


class Patch:
    """One function in the place of another. factory(original, patch) makes it; it must pass calls on while not
    patch.active."""

    def __init__(self, target: Target, factory: Callable[[Callable[..., Any], Patch], Callable[..., Any]]) -> None:
        self.target, self.factory = target, factory
        self.active = True
        self._holder: Any = None
        self._original: Any = None
        self._inherited = False
        self._wrapper: Any = None

    def apply(self) -> None:
        """If the module is there, complete, and has such a function."""
        module = sys.modules.get(self.target.module)
        if self._wrapper is not None or module is None or is_loading(module):
            return
        holder = getattr(module, self.target.owner, None) if self.target.owner else module
        if holder is None:
            return
        found = vars(holder).get(self.target.function)
        self._inherited = found is None
        if found is None:  # as it stands in the base: a static method as such
            found = next((vars(base)[self.target.function] for base in getattr(holder, "__mro__", ())
                          if self.target.function in vars(base)), getattr(holder, self.target.function, None))
        kind, function = None, found
        if isinstance(found, (staticmethod, classmethod)):
            kind, function = type(found), found.__func__
        if not callable(function):
            return
        wrapper = self.factory(function, self)
        update_wrapper(wrapper, function)
        setattr(wrapper, _MARK, self)
        placed = kind(wrapper) if kind is not None else wrapper
        try:
            setattr(holder, self.target.function, placed)
        except (AttributeError, TypeError):
            return  # of a built-in type
        self._holder, self._original, self._wrapper = holder, found, placed

    def remove(self) -> None:
        self.active = False
        if self._wrapper is None or vars(self._holder).get(self.target.function) is not self._wrapper:
            return  # never there, or below somebody else's
        original = self._original
        while (below := getattr(getattr(original, "__func__", original), _MARK, None)) is not None and not below.active:
            original = below._original
        if self._inherited:
            delattr(self._holder, self.target.function)
        else:
            setattr(self._holder, self.target.function, original)
        self._wrapper = None


def is_loading(module: ModuleType) -> bool:
    return getattr(getattr(module, "__spec__", None), "_initializing", False)


def add(patch: Patch) -> Patch:
    with _lock:
        _patches.append(patch)
        _follow_imports()
        patch.apply()
    return patch


def remove(*patches: Patch) -> None:
    """Several together: a function that a module has imported may be one of ours of another module."""
    with _lock:
        for patch in patches:
            patch.active = False
            if patch in _patches:
                _patches.remove(patch)
        for patch in patches:
            patch.remove()
        _follow_imports()


def apply_all() -> None:
    """For modules that were just being loaded when their functions were asked for."""
    with _lock:
        for patch in list(_patches):
            patch.apply()


# ---- modules that are loaded later ----

_arrivals: dict[str, list[Callable[[], None]]] = {}


def when_loaded(module: str, call: Callable[[], None]) -> None:
    """Calls once this module is complete, which it must not be yet."""
    with _lock:
        _arrivals.setdefault(module, []).append(call)
        _follow_imports()


def _arrived(module: str) -> None:
    with _lock:
        calls = _arrivals.pop(module, [])
        for patch in [patch for patch in _patches if patch.target.module == module]:
            try:
                patch.apply()
            except Exception as error:
                _recorder.warn(f"{'.'.join(filter(None, patch.target))} cannot be followed: {error}")
        _follow_imports()
    for call in calls:
        call()


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        if module.__spec__ is not None:  # complete, as far as we are concerned
            before, module.__spec__._initializing = is_loading(module), False  # type: ignore[attr-defined]
            try:
                _arrived(module.__name__)
            finally:
                module.__spec__._initializing = before  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> Any:  # get_code, get_data ...
        return getattr(self._loader, name)


class _Loading(ModuleSpec):
    """The spec of a module that was being loaded already when it was first waited for: tells when it is complete."""

    @property
    def _initializing(self) -> bool:
        return bool(self.__dict__["_initializing"])

    @_initializing.setter
    def _initializing(self, value: bool) -> None:
        self.__dict__["_initializing"] = value
        if not value:
            self.__class__ = ModuleSpec  # type: ignore[assignment]
            if self.name in sys.modules:
                _arrived(self.name)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self) -> None:
        self._asking = threading.local()

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in _wanted or getattr(self._asking, "now", False):
            return None
        self._asking.now = True
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            return None
        finally:
            self._asking.now = False
        if spec is None or spec.loader is None or not hasattr(spec.loader, "exec_module"):
            return None
        spec.loader = _Loader(spec.loader)
        return spec


_finder = _Finder()
_wanted: frozenset[str] = frozenset()


def _follow_imports() -> None:
    """Our finder stands in sys.meta_path as long as a module is waited for."""
    global _wanted
    names = {patch.target.module for patch in _patches} | set(_arrivals)
    _wanted = frozenset(name for name in names if name not in sys.modules)
    for module in [sys.modules[name] for name in names - _wanted]:
        if is_loading(module) and type(module.__spec__) is ModuleSpec:
            module.__spec__.__class__ = _Loading
    if _wanted and _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    elif not _wanted and _finder in sys.meta_path:
        sys.meta_path.remove(_finder)


# ---- the usual kind: something before, something after ----

class Hook:
    """before() is called ahead of the function, after() behind it, also if it raised (done False). What they raise goes no
    further than a warning; without before() there is no after()."""

    told = False

    def before(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        pass

    def after(self, done: bool, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        pass

    def _complain(self, error: Exception) -> None:
        if not self.told:
            self.told = True
            _recorder.warn(f"a hook of msmemscope failed: {type(error).__name__}: {error}")

    def __call__(self, original: Callable[..., Any], patch: Switch) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if not patch.active:
                return original(*args, **kwargs)
            done = entered = False
            result = None
            try:
                self.before(args, kwargs)
                entered = True
            except Exception as error:
                self._complain(error)
            try:
                result = original(*args, **kwargs)
                done = True
                return result
            finally:
                if entered:
                    try:
                        self.after(done, result, args, kwargs)
                    except Exception as error:
                        self._complain(error)
        return call
