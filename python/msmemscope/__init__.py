# SPDX-License-Identifier: Apache-2.0
"""Records the memory events of this program and the owners of its memory.

    import msmemscope
    msmemscope.config(call_stack="python")
    msmemscope.start()
    for batch in data:
        train(batch)
        msmemscope.step()
    msmemscope.stop()

Works in a program started with `msmemscope PROGRAM`, with the libraries preloaded, or without either; in the last case start()
warns about what cannot be recorded. Needs only Python. Everything except the four functions above is loaded on first use.
"""

from __future__ import annotations

from . import _control, _recorder
from ._control import config, start, step, stop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import analyzer as analyzer
    from . import describe as describe
    from ._holders import Holder, holders, tell_holders
    from ._hooks import cleanup_framework_hooks, init_framework_hooks
    from ._sanitizer import enable_npu_sanitizer
    from ._slices import RecordFunction
    from ._snapshot import TakeSnapshot, take_snapshot
    from ._tracer import tracer
    from ._watcher import watcher
    from .analyzer import analyze, check_inefficient, check_leaks, get_analyzer_config, list_analyzers

# Modules of the other public names.
_HOMES = {
    "analyze": "analyzer",
    "check_inefficient": "analyzer",
    "check_leaks": "analyzer",
    "cleanup_framework_hooks": "_hooks",
    "enable_npu_sanitizer": "_sanitizer",
    "get_analyzer_config": "analyzer",
    "init_framework_hooks": "_hooks",
    "list_analyzers": "analyzer",
    "RecordFunction": "_slices",
    "take_snapshot": "_snapshot",
    "TakeSnapshot": "_snapshot",
    "holders": "_holders",
    "tell_holders": "_holders",
    "tracer": "_tracer",
    "watcher": "_watcher",
}
_MODULES = ("analyzer", "describe")

__all__ = [
    "RecordFunction", "TakeSnapshot", "analyze", "analyzer", "check_inefficient", "check_leaks",
    "cleanup_framework_hooks", "config", "describe", "enable_npu_sanitizer", "get_analyzer_config", "holders",
    "init_framework_hooks", "list_analyzers", "start", "step", "stop", "take_snapshot", "tell_holders", "tracer",
    "watcher",
]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name in _HOMES:
        value: object = getattr(import_module(f".{_HOMES[name]}", __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _follow(state: _recorder.State) -> None:
    from . import _collectors

    _collectors.follow(state)


def _begin() -> None:
    from atexit import register

    _recorder.listen(_follow)
    _recorder.load()
    register(_control.at_exit)


_begin()
