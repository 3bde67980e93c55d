# SPDX-License-Identifier: Apache-2.0
"""The recorder in this process: finds or loads it, and reports its current state."""

from __future__ import annotations

import errno
import os
import sys
from _thread import RLock

from . import _home, _native

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TextIO

# Bits of agent_v1.h and session.h; those of events and analyses come from the table in trace/wanted.h.
OFF, SHADOW, ON = 0, 1, 2
ACCESS, TRACEBACK, OP = _native.WANT_ACCESS, _native.WANT_TRACEBACK, _native.WANT_OP
LEAKS, DECOMPOSE = _native.ANALYSIS_LEAKS, _native.ANALYSIS_DECOMPOSE
CPU, API = 4, 8

# The session used without a launcher: the API starts a collector; until then allocations are recorded in shadow state.
_OWN_SESSION = "1;s=00000000000000000000000000000000;t=1;x=8"

lock = RLock()  # serialises calls that change the recording; taken before all other locks
configured: dict[str, str] = {}  # options set by config()
_forked = False  # in a forked child whose own collector has not received them yet


def _after_fork() -> None:
    global lock, _forked
    lock = RLock()  # the thread that owns the old one may not exist in the child
    _forked = True


os.register_at_fork(after_in_child=_after_fork)

_late = False  # the recorder was loaded by this package, not before the program's libraries
_warned: set[str] = set()  # warnings that are printed once


class State:
    """What is recorded in this process, as set by the command line or by config()."""

    __slots__ = ("recorded", "state", "events", "analysis", "flags", "npus", "c_depth", "python_depth")

    def __init__(self) -> None:
        (recorded, self.state, self.events, self.analysis, self.flags, self.npus, self.c_depth,
         self.python_depth) = _native.state()
        self.recorded = bool(recorded)

    @property
    def tracing(self) -> bool:
        return self.state == ON


# Called with the new state after config(), start() and stop(). Their exceptions are printed, not propagated: a failing
# listener must not end the program.
_listeners: list[Callable[[State], None]] = []


def listen(listener: Callable[[State], None]) -> None:
    if listener not in _listeners:
        _listeners.append(listener)


def changed() -> None:
    state = State()
    if state.events & TRACEBACK:
        from . import _tracer  # listens  # noqa: F401
    for listener in list(_listeners):
        try:
            listener(state)
        except Exception as error:
            warn(f"{getattr(listener, '__module__', listener)} failed: {type(error).__name__}: {error}")


def say(kind: str, text: str) -> None:
    put(f"[msmemscope] {kind}: {text}", sys.stdout)


def warn(text: str) -> None:
    put(f"[msmemscope] Warn: {text}", sys.stderr)


def complain(text: str) -> None:
    put(f"[msmemscope] Error: {text.removeprefix('[msmemscope] Error: ')}", sys.stderr)


def put(line: str, stream: TextIO | None) -> None:
    """Prints a line. A stream that is closed, full or without a reader must not end the program."""
    try:
        if stream is not None:
            print(line, file=stream, flush=True)
    except Exception:
        pass


def load() -> None:
    """Loads the recorder at import, so that libraries loaded later are recorded from their first event on."""
    path = os.path.join(_home.find(), "lib64", _home.RECORDER)
    if os.environ.get("MSMEMSCOPE_SHADOW") == "0" and "MSMEMSCOPE_SESSION" not in os.environ:
        return  # load it on first use instead
    _load(path)


def _load(path: str) -> None:
    global _late
    _late = _native.load(path)
    _native.own(os.path.dirname(__file__))
    if _late:
        _announce(path)


# Original values of the environment variables that _announce() changed; None: was not set.
_environment: dict[str, str | None] = {}


def _announce(path: str) -> None:
    """Changes the environment: torch_npu and MindSpore report their pools only if LD_PRELOAD names this library, and mstx finds a
    tool that is not preloaded through MSTX_INJECTION_PATH."""
    possible = not any(letter.isspace() or letter == ":" for letter in path)  # the loader would split the path there
    if possible and "ASCEND_HOME_PATH" in os.environ and not any(name in sys.modules for name in ("torch_npu", "mindspore")):
        preloaded = os.environ.get("LD_PRELOAD")
        _environment["LD_PRELOAD"] = preloaded
        os.environ["LD_PRELOAD"] = f"{path}:{preloaded}" if preloaded else path
        if "MSTX_INJECTION_PATH" not in os.environ:
            _environment["MSTX_INJECTION_PATH"] = None
            os.environ["MSTX_INJECTION_PATH"] = path
    front_end = sys.modules.get("mstx._mstx")
    if front_end is not None:
        front_end.refresh()


def withdraw() -> None:
    """Restores the environment."""
    for name, value in _environment.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def need(bind: bool = False) -> None:
    """Loads and attaches the recorder if necessary; with `bind`, also hooks libraries loaded since. Raises OSError on failure."""
    global _forked
    if not _native.loaded():
        _load(os.path.join(_home.find(), "lib64", _home.RECORDER))
    if not State().recorded:
        if "MSMEMSCOPE_SESSION" in os.environ:
            raise OSError(errno.ENOTCONN, "[msmemscope] Error: no collector records this process.")
        _native.attach(_OWN_SESSION)
    elif bind and _late:
        _native.attach(None)
    if _forked:
        _forked = False
        if configured:
            _native.config("\n".join(f"{option}={value}" for option, value in configured.items()))


def left_out(error: OSError) -> bool:
    """True, after a warning, if the session excludes this process (--no-children) or its collector is gone: the program must go
    on."""
    if error.errno != errno.ENOTCONN or "MSMEMSCOPE_SESSION" not in os.environ:
        return False
    warn("this process is not recorded: its session excludes it or has ended.")
    return True


def explained(error: OSError) -> OSError:
    """The error, with a hint if a collector that this process started does not respond: it may be unable to run here."""
    if error.errno not in (errno.ECONNREFUSED, errno.EPIPE, errno.ENOTCONN) or "MSMEMSCOPE_SESSION" in os.environ:
        return error
    program = os.path.join(_home.find(), "libexec", "msmemscope-collector")
    return OSError(error.errno, f"[msmemscope] Error: the collector does not respond; check that {program} can run here (ldd "
                                "shows missing libraries).")


def unseen() -> list[str]:
    """What is missing from a recording of this process because the recorder was loaded late."""
    if not _late:
        return []
    missing = ["allocations before msmemscope was imported"]
    if "torch_npu" in sys.modules and _home.RECORDER not in os.environ.get("LD_PRELOAD", ""):
        missing.append("the memory pools of torch_npu, which was imported before msmemscope")
    if os.environ.get("ATB_HOME_PATH"):
        missing.append("ATB operators")
    return missing


def warn_unseen() -> None:
    """Warns once about what is not recorded."""
    missing = unseen()
    if missing and "late" not in _warned:
        _warned.add("late")
        warn(f"this program was started without the recorder; not recorded: {'; '.join(missing)}. "
             "To record everything, start it with 'msmemscope PROGRAM', or run 'source msmemscope --load-api-env' first.")
    if "cpu" not in _warned and "torch" in sys.modules and "torch_npu" not in sys.modules and not State().flags & CPU \
            and _native.devices() == 0:
        _warned.add("cpu")
        warn('this program uses PyTorch without an NPU; not recorded: its CPU tensors. To record them, use config(device="cpu").')
