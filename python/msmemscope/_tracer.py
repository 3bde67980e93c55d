# SPDX-License-Identifier: Apache-2.0
"""The Python trace: which functions ran when, on one clock with the memory events.

On while something is traced and events has "traceback", or tracer.start() was called."""

from __future__ import annotations

import sys

from . import _control, _native, _recorder


class Tracer:
    """What there was before events="traceback": switches the Python trace alone."""

    def __init__(self) -> None:
        self._asked = False
        self._began = 0  # number of the start() that we have called, because nothing was traced; 0: we have not

    def start(self) -> None:
        """Begins the Python trace, and tracing with it if nothing is traced."""
        with _recorder.lock:
            if self._asked:
                _recorder.warn("the Python tracer is active already.")
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
        """Ends it, and tracing if nobody else has begun that."""
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
    """Calls of a thread are shown beside the memory of a device: let there be one."""
    npu = getattr(sys.modules.get("torch_npu"), "npu", None)
    begin = getattr(npu, "_lazy_init", None)
    if begin is not None:
        try:
            begin()
        except Exception as error:
            _recorder.warn(f"torch_npu cannot be initialised: {error}")


def follow(state: _recorder.State) -> None:
    """The state is new."""
    why = _native.trace(state.tracing and (tracer.asked or bool(state.events & _recorder.TRACEBACK)))
    if why:
        _recorder.warn(f"no Python trace: {why}.")


tracer = Tracer()
_recorder.listen(follow)
