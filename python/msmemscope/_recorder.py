# SPDX-License-Identifier: Apache-2.0
"""The recorder in this process: found, or loaded, and what it is asked for at the moment."""

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

# A session of our own: a collector that the API switches on, and until then everything noted for later.
_OWN_SESSION = "1;s=00000000000000000000000000000000;t=1;x=8"

lock = RLock()  # calls that change the recording, one at a time; first of all locks
said: dict[str, str] = {}  # options, as config() has set them
_forked = False  # and nobody has told them to the collector of this process, which is another one


def _after_fork() -> None:
    global lock, _forked
    lock = RLock()  # of the old one, the owner may not be here
    _forked = True


os.register_at_fork(after_in_child=_after_fork)

_late = False  # the recorder came with us, not before the program's libraries
_told: set[str] = set()  # warnings that are given once


class State:
    """What is asked of this process, by the command line or by config()."""

    __slots__ = ("recorded", "state", "events", "analysis", "flags", "npus", "c_depth", "python_depth")

    def __init__(self) -> None:
        (recorded, self.state, self.events, self.analysis, self.flags, self.npus, self.c_depth,
         self.python_depth) = _native.state()
        self.recorded = bool(recorded)

    @property
    def tracing(self) -> bool:
        return self.state == ON


# Called with the new state after config(), start() and stop(). What they raise is printed and goes no further: a collector
# of ours that fails is no reason for the program to end.
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
    """A stream that is closed, full, or not read by anybody is no reason for the program to end."""
    try:
        if stream is not None:
            print(line, file=stream, flush=True)
    except Exception:
        pass


def load() -> None:
    """At import, so that libraries which are loaded later are seen from their first event on."""
    path = os.path.join(_home.find(), "lib64", _home.RECORDER)
    if os.environ.get("MSMEMSCOPE_SHADOW") == "0" and "MSMEMSCOPE_SESSION" not in os.environ:
        return  # only when it is asked for something
    _load(path)


def _load(path: str) -> None:
    global _late
    _late = _native.load(path)
    _native.own(os.path.dirname(__file__))
    if _late:
        _announce(path)


# What was in the environment before we came, by name; None: nothing.
_environment: dict[str, str | None] = {}


def _announce(path: str) -> None:
    """torch_npu and MindSpore report their pools only where this library is preloaded, and look for that in the environment;
    mstx finds a tool that is not preloaded by a variable of its own."""
    possible = not any(letter.isspace() or letter == ":" for letter in path)  # else the loader takes it for several
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
    """The environment as it was before."""
    for name, value in _environment.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def need(bind: bool = False) -> None:
    """The recorder is there; with `bind`, it has hooked what is loaded by now. OSError if that cannot be."""
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
        if said:
            _native.config("\n".join(f"{option}={value}" for option, value in said.items()))


def left_out(error: OSError) -> bool:
    """The command line has left this process out (--no-children), or its collector is gone: worth a line, no reason for the
    program to end."""
    if error.errno != errno.ENOTCONN or "MSMEMSCOPE_SESSION" not in os.environ:
        return False
    warn("this process is not recorded: the session that it was started in has left it out, or has ended.")
    return True


def explained(error: OSError) -> OSError:
    """The same, with what to do if it is our own collector that does not answer: it may not run on this machine."""
    if error.errno not in (errno.ECONNREFUSED, errno.EPIPE, errno.ENOTCONN) or "MSMEMSCOPE_SESSION" in os.environ:
        return error
    program = os.path.join(_home.find(), "libexec", "msmemscope-collector")
    return OSError(error.errno, f"[msmemscope] Error: the collector does not answer; does {program} run here (ldd shows libraries "
                                "that are missing)?")


def unseen() -> list[str]:
    """What a recording of this process misses, because the recorder came late."""
    if not _late:
        return []
    missing = ["what was allocated before msmemscope was imported"]
    if "torch_npu" in sys.modules and _home.RECORDER not in os.environ.get("LD_PRELOAD", ""):
        missing.append("the memory pools of torch_npu, which was imported before msmemscope")
    if os.environ.get("ATB_HOME_PATH"):
        missing.append("operators of ATB")
    return missing


def tell_unseen() -> None:
    """Once, where the user looks for trouble."""
    missing = unseen()
    if missing and "late" not in _told:
        _told.add("late")
        warn(f"this program was started without the recorder; not seen: {'; '.join(missing)}. "
             "To see everything: msmemscope PROGRAM, or 'source msmemscope --load-api-env' before it.")
    if "cpu" not in _told and "torch" in sys.modules and "torch_npu" not in sys.modules and not State().flags & CPU \
            and _native.devices() == 0:
        _told.add("cpu")
        warn('this program uses PyTorch without an NPU; not seen: its tensors on the CPU. To see them: device="cpu" in config().')
