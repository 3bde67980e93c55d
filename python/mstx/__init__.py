# SPDX-License-Identifier: Apache-2.0
"""Marks and ranges for profiling and memory tools.

    import mstx

    mstx.mark("loaded")
    step = mstx.range_start("step start", None)
    ...
    mstx.range_end(step)

They go to the injected tool (msmemscope, a profiler) and cost next to nothing without one. Domains are an extension of
this package: `mstx.Domain("io").mark("read")`.
"""

from __future__ import annotations

from . import _mstx
from ._mstx import get_tool_id, mark, range_end, range_start

__all__ = ["Domain", "get_tool_id", "mark", "range_end", "range_start"]


class Domain:
    """A namespace for marks and ranges. Tools that do not support domains ignore them."""

    __slots__ = ("name", "_handle")

    def __init__(self, name: str) -> None:
        self.name = name
        self._handle = _mstx.domain_create(name)

    def mark(self, message: str, stream: int | None = None) -> None:
        _mstx.domain_mark(self._handle, message, stream)

    def range_start(self, message: str, stream: int | None = None) -> int:
        """Returns the id of the range; 0 if no tool received it."""
        return _mstx.domain_range_start(self._handle, message, stream)

    def range_end(self, range_id: int) -> None:
        _mstx.domain_range_end(self._handle, range_id)

    def destroy(self) -> None:
        """Destroys the domain in the tool; later calls do nothing."""
        handle, self._handle = self._handle, None
        _mstx.domain_destroy(handle)

    def __enter__(self) -> Domain:
        return self

    def __exit__(self, *exception: object) -> None:
        self.destroy()

    def __repr__(self) -> str:
        return f"mstx.Domain({self.name!r})"
