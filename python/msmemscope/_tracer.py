# SPDX-License-Identifier: Apache-2.0
"""The Python trace: which functions ran when, on the same clock as the memory events.

Active while tracing if events contains "traceback" or tracer.start() was called."""

from __future__ import annotations

import sys

from . import _control, _native, _recorder


class Tracer:
    """The older alternative to events="traceback": switches only the Python trace."""

    def __init__(self) -> None:
        self._asked = False
        self._began = 0  # number of the _control.start() call made by start(); 0: none

    def start(self) -> None:
        """Starts the Python trace, and tracing as well if it is not active."""
        with _recorder.lock:
            if self._asked:
                _recorder.warn("the Python tracer is already active.")
                return
            _initialise_npu()
            self._asked = True
            if _recorder.State().tracing:
                follow(_recorder.State())
                return
            try:
                _control.start()
            except BaseException:
                self._asked = False
                raise
            self._began = _control.starts

    def stop(self) -> None:
        """Stops the Python trace, and tracing as well if start() started it."""
        with _recorder.lock:
            if not self._asked:
                _recorder.warn("the Python tracer is not active.")
                return
            self._asked = False
            began, self._began = self._began, 0
            if 0 < began == _control.starts and _recorder.State().tracing:
                _control.stop()
            else:
                follow(_recorder.State())

    @property
    def asked(self) -> bool:
        return self._asked


def _initialise_npu() -> None:
    """Initialises torch_npu, so that the trace belongs to a device."""
    npu = getattr(sys.modules.get("torch_npu"), "npu", None)
    begin = getattr(npu, "_lazy_init", None)
    if begin is not None:
        try:
            begin()
        except Exception as error:
            _recorder.warn(f"cannot initialise torch_npu: {error}")


def follow(state: _recorder.State) -> None:
    """Switches the trace to a new state."""
    why = _native.trace(state.tracing and (tracer.asked or bool(state.events & _recorder.TRACEBACK)))
    if why:
        _recorder.warn(f"no Python trace: {why}.")


tracer = Tracer()
_recorder.listen(follow)
