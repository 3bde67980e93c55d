# SPDX-License-Identifier: Apache-2.0
"""Analyses of existing dumps: leaks between marks, and inefficient use of memory.

The engine is the same as that of the command line; this module checks the arguments.
"""

from __future__ import annotations

import errno
import os
import sys

from . import _home, _native, _recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Union

    Path = Union[str, os.PathLike[str]]

_ENGINE = "libmsmemscope_analyze.so"

__all__ = [
    "InefficientAnalyzer", "InefficientConfig", "LeaksAnalyzer", "LeaksConfig", "analyze", "check_inefficient",
    "check_leaks", "get_analyzer_config", "list_analyzers",
]


class LeaksConfig:
    """Settings of the leak analysis: HAL blocks allocated between two marks and not freed before the third."""

    parameters = ("input_path", "mstx_info", "start_index")

    def __init__(self, input_path: Path, mstx_info: str, start_index: int) -> None:
        self.input_path = _checked_path(input_path)
        if not isinstance(mstx_info, str):
            raise TypeError(f"mstx_info must be a str, not {type(mstx_info).__name__}")
        if not mstx_info.strip() or "\0" in mstx_info:
            raise ValueError("mstx_info must not be blank; it is the text of the marks")
        self.mstx_info = mstx_info
        self.start_index = _checked_int("start_index", start_index, 0)


class InefficientConfig:
    """Settings of the analysis for blocks allocated too early, freed too late, or idle for a long time."""

    parameters = ("input_path", "mem_size", "inefficient_type", "idle_threshold")

    def __init__(self, input_path: Path, mem_size: int = 0, inefficient_type: list[str] | str | None = None,
                 idle_threshold: int = 3000) -> None:
        self.input_path = _checked_path(input_path)
        self.mem_size = _checked_int("mem_size", mem_size, 0)
        wanted = list(_native.INEFFICIENT_TYPES) if inefficient_type is None else inefficient_type
        if isinstance(wanted, str):
            wanted = [wanted]
        if not isinstance(wanted, (list, tuple)) or not all(isinstance(name, str) for name in wanted):
            raise TypeError(f"inefficient_type must be a list of str, not {inefficient_type!r}")
        unknown = [name for name in wanted if name not in _native.INEFFICIENT_TYPES]
        if unknown or not wanted:
            raise ValueError(f"Invalid inefficient_type: {unknown}. Available types are {list(_native.INEFFICIENT_TYPES)}")
        self.inefficient_type = list(wanted)
        self.idle_threshold = _checked_int("idle_threshold", idle_threshold, 1)


class LeaksAnalyzer:
    def analyze(self, config: LeaksConfig) -> None:
        """Prints the leaks."""
        if not isinstance(config, LeaksConfig):
            raise TypeError(f"config must be a LeaksConfig, not {type(config).__name__}")
        _run(lambda engine: _native.check_leaks(engine, config.input_path, config.mstx_info, config.start_index, _line,
                                                _problem))


class InefficientAnalyzer:
    def analyze(self, config: InefficientConfig) -> None:
        """Writes its findings into the file and keeps a copy of the original."""
        if not isinstance(config, InefficientConfig):
            raise TypeError(f"config must be an InefficientConfig, not {type(config).__name__}")
        types = sum({_native.INEFFICIENT_TYPES[name] for name in config.inefficient_type})
        _run(lambda engine: _native.check_inefficient(engine, config.input_path, config.mem_size, types,
                                                      config.idle_threshold, _line, _problem))


_ANALYZERS: dict[str, tuple[Any, Any]] = {
    "leaks": (LeaksAnalyzer, LeaksConfig),
    "inefficient": (InefficientAnalyzer, InefficientConfig),
}


def _kind(analyzer_type: str) -> tuple[Any, Any]:
    if analyzer_type not in _ANALYZERS:
        raise ValueError(f"Unknown analyzer type: {analyzer_type}. Available types are {list_analyzers()}")
    return _ANALYZERS[analyzer_type]


def list_analyzers() -> list[str]:
    """The types that analyze() accepts."""
    return list(_ANALYZERS)


def get_analyzer_config(analyzer_type: str) -> dict[str, Any]:
    """The arguments that analyze() accepts for this type."""
    config = _kind(analyzer_type)[1]
    return {"config_class": config.__name__, "parameters": list(config.parameters)}


def analyze(analyzer_type: str, **kwargs: Any) -> None:
    """Runs an analysis by name, see check_leaks and check_inefficient."""
    analyzer, config = _kind(analyzer_type)
    analyzer().analyze(config(**kwargs))


def check_leaks(input_path: Path, mstx_info: str, start_index: int) -> None:
    """Prints HAL blocks that were allocated between two consecutive marks and not freed before the third. Marks are those with
    the text mstx_info; start_index (from 0) is the number of the first one."""
    LeaksAnalyzer().analyze(LeaksConfig(input_path, mstx_info, start_index))


def check_inefficient(input_path: Path, mem_size: int = 0, inefficient_type: list[str] | str | None = None,
                      idle_threshold: int = 3000) -> None:
    """Finds blocks of at least mem_size bytes that are allocated too early, freed too late, or unused for more than
    idle_threshold operators, and writes the findings into the file."""
    InefficientAnalyzer().analyze(InefficientConfig(input_path, mem_size, inefficient_type, idle_threshold))


# ---- arguments ----


def _checked_int(name: str, value: int, smallest: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} must be an int, not {type(value).__name__}")
    if not smallest <= value < 1 << 63:
        raise ValueError(f"{name} must be an integer of at least {smallest}, not {value}")
    return value


def _checked_path(path: Path) -> str:
    text = os.fspath(path)
    if not isinstance(text, str):
        raise TypeError(f"input_path must be a str, not {type(path).__name__}")
    if not text or "\0" in text:
        raise ValueError("input_path must name a file")
    return text


# ---- the engine ----

# Exceptions that scripts expect for problems with the file.
_ERRORS: dict[int, type[Exception]] = {
    errno.EFBIG: ValueError,
    errno.ENAMETOOLONG: ValueError,
    errno.EINVAL: ValueError,
    errno.EPROTO: ValueError,
}


def _line(text: str) -> None:
    print(text)


def _problem(text: str) -> None:
    _recorder.put(text, sys.stderr)


def _run(call: Callable[[str], object]) -> None:
    try:
        call(os.path.join(_home.find(), "lib64", _ENGINE))
    except OSError as error:
        kind = _ERRORS.get(error.errno or 0)
        if kind is None:
            raise
        raise kind(error.strerror) from None
    finally:
        if sys.stdout is not None:
            sys.stdout.flush()
