# SPDX-License-Identifier: Apache-2.0
"""Wraps functions of other packages: at once if their module is loaded, else when it is loaded.

Nothing is imported for that. Targets that do not exist are skipped. Wrappers can be removed in any order; a wrapper that was
itself wrapped by other code meanwhile stays in place and only forwards calls.
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
    """One wrapped function. factory(original, patch) returns the wrapper, which must only forward calls while patch.active is
    false."""

    def __init__(self, target: Target, factory: Callable[[Callable[..., Any], Patch], Callable[..., Any]]) -> None:
        self.target, self.factory = target, factory
        self.active = True
        self._holder: Any = None
        self._original: Any = None
        self._inherited = False
        self._wrapper: Any = None

    def apply(self) -> None:
        """Installs the wrapper if the module is loaded completely and has the function."""
        module = sys.modules.get(self.target.module)
        if self._wrapper is not None or module is None or is_loading(module):
            return
        holder = getattr(module, self.target.owner, None) if self.target.owner else module
        if holder is None:
            return
        found = vars(holder).get(self.target.function)
        self._inherited = found is None
        if found is None:  # inherited: take the raw attribute of the base class, to recognise static methods
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
            return  # attributes of built-in types cannot be set
        self._holder, self._original, self._wrapper = holder, found, placed

    def remove(self) -> None:
        self.active = False
        if self._wrapper is None or vars(self._holder).get(self.target.function) is not self._wrapper:
            return  # not installed, or wrapped by other code
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
    """Removes several at once: the original of one may be the wrapper of another, if a module imported it."""
    with _lock:
        for patch in patches:
            patch.active = False
            if patch in _patches:
                _patches.remove(patch)
        for patch in patches:
            patch.remove()
        _follow_imports()


def apply_all() -> None:
    """Installs wrappers in modules that were still loading when the patches were added."""
    with _lock:
        for patch in list(_patches):
            patch.apply()


# ---- modules loaded later ----

_arrivals: dict[str, list[Callable[[], None]]] = {}


def when_loaded(module: str, call: Callable[[], None]) -> None:
    """Calls `call` once this module is loaded; it must not be loaded yet."""
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
                _recorder.warn(f"{'.'.join(filter(None, patch.target))} cannot be hooked: {error}")
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
        if module.__spec__ is not None:  # regard it as loaded
            before, module.__spec__._initializing = is_loading(module), False  # type: ignore[attr-defined]
            try:
                _arrived(module.__name__)
            finally:
                module.__spec__._initializing = before  # type: ignore[attr-defined]

    def __getattr__(self, name: str) -> Any:  # get_code, get_data ...
        return getattr(self._loader, name)


class _Loading(ModuleSpec):
    """The spec of a module that was already loading when it was first waited for; notices when loading ends."""

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
    """Keeps the finder in sys.meta_path while a module is waited for."""
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


# ---- hooks that run before and after a function ----

class Hook:
    """Calls before() before the function and after() after it, also if the function raised (done is False). Their exceptions are
    reported once as a warning. If before() fails, after() is not called."""

    warned = False

    def before(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        pass

    def after(self, done: bool, result: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        pass

    def _complain(self, error: Exception) -> None:
        if not self.warned:
            self.warned = True
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
