# SPDX-License-Identifier: Apache-2.0
"""Marks and ranges for tools that watch this program.

    import mstx

    mstx.mark("loaded")
    step = mstx.range_start("step start", None)
    ...
    mstx.range_end(step)

They go to the tool that is injected (msmemscope, a profiler), and cost next to nothing without one. Domains are an
addition of this package: `mstx.Domain("io").mark("read")`.
"""

from __future__ import annotations

from . import _mstx
from ._mstx import get_tool_id, mark, range_end, range_start

__all__ = ["Domain", "get_tool_id", "mark", "range_end", "range_start"]


class Domain:
    """Marks and ranges of a part of the program, kept apart by tools that know domains; nothing for those that do not."""

    __slots__ = ("name", "_handle")

    def __init__(self, name: str) -> None:
        self.name = name
        self._handle = _mstx.domain_create(name)

    def mark(self, message: str, stream: int | None = None) -> None:
        _mstx.domain_mark(self._handle, message, stream)

    def range_start(self, message: str, stream: int | None = None) -> int:
        """Number of the range; 0 if no tool has heard it."""
        return _mstx.domain_range_start(self._handle, message, stream)

    def range_end(self, range_id: int) -> None:
        _mstx.domain_range_end(self._handle, range_id)

    def destroy(self) -> None:
        """Tells the tool that nothing more will come; calls after that do nothing."""
        handle, self._handle = self._handle, None
        _mstx.domain_destroy(handle)

    def __enter__(self) -> Domain:
        return self

    def __exit__(self, *exception: object) -> None:
        self.destroy()

    def __repr__(self) -> str:
        return f"mstx.Domain({self.name!r})"
