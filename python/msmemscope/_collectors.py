# SPDX-License-Identifier: Apache-2.0
"""The parts of the recording that are written in Python, switched on and off with the state of the recording.

  decompose        labels for the use of memory (_torch_labels, _hooks)
  access           memory that operators read and write (_torch_access)

Called by config(), start() and stop(), and by the recorder itself, from the main thread and between two instructions, in a
program that was started with `msmemscope PROGRAM` and has begun to use PyTorch.
"""

from __future__ import annotations

import sys

from . import _hijack, _recorder


def follow(state: _recorder.State) -> None:
    """Switches the collectors to a new state."""
    labels = state.tracing and bool(state.analysis & _recorder.DECOMPOSE)
    if labels:
        from . import _hooks, _torch_labels

        _torch_labels.enable()
        _hooks.enable_automatic()
    elif f"{__package__}._torch_labels" in sys.modules:
        from . import _hooks, _torch_labels

        _torch_labels.disable()
        _hooks.disable_automatic()
    wanted = _recorder.ACCESS | _recorder.OP
    if state.tracing and state.events & wanted == wanted:
        if torch_is_complete():
            from . import _torch_access

            _torch_access.enable()
        else:
            _hijack.when_loaded("torch", again)
    elif f"{__package__}._torch_access" in sys.modules:
        from . import _torch_access

        _torch_access.disable()


def torch_is_complete() -> bool:
    module = sys.modules.get("torch")
    return module is not None and not _hijack.is_loading(module)


def again() -> None:
    follow(_recorder.State())


def begin() -> str | None:
    """Called by the recorder at PyTorch's first allocation. Not None: PyTorch is still being imported, call again."""
    if not torch_is_complete():
        return "later"
    again()
    _hijack.apply_all()
    return None
