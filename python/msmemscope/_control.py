# SPDX-License-Identifier: Apache-2.0
"""config, start, stop, step."""

from __future__ import annotations

import errno
import os
import sys

from . import _native, _recorder

# Arguments of config() and the options they set; each call starts from the options' defaults.
_SETTINGS = {option.replace("-", "_"): option for option in _native.DEFAULTS}
# Arguments that can be given once, under both of their names.
_ONCE = {
    "watch": "watch",
    "data_format": "data-format",
    "format": "data-format",
    "output": "output",
    "output_path": "output",
}

starts = 0  # calls of start()
_effective = "MSMEMSCOPE_SESSION" in os.environ  # this process is configured, by the command line or by config()


def config(*args: str, **settings: str) -> None:
    """Sets what is recorded from now on. Every call starts from the defaults; format, output and watch keep the value that was
    set first. Values are those of the command line's options:

    device, level, events, call_stack, analysis, watch, data_format (or format), output (or output_path)
    """
    if args:
        raise TypeError("config() takes no positional arguments")
    for key, value in settings.items():
        if not isinstance(value, str):
            raise TypeError(f"Value for argument '{key}' must be a string (use quotes)")
    with _recorder.lock:
        _configure(settings)


def _configure(settings: dict[str, str]) -> None:
    global _effective
    lines = dict(_native.DEFAULTS)
    once: dict[str, str] = {}
    again = False
    for key, value in settings.items():
        if "\n" in value or "\0" in value:
            raise _failed(f"the value of '{key}' contains a newline or NUL character.")
        if key in _SETTINGS:
            lines[_SETTINGS[key]] = value
        elif key in _ONCE:
            again = again or _effective or _ONCE[key] in once
            if not _effective:
                once.setdefault(_ONCE[key], _absolute(value) if _ONCE[key] == "output" else value)
        else:
            raise _failed(f"unknown setting '{key}'; known: {', '.join([*_SETTINGS, *_ONCE])}.")
    lines["collect-mode"] = "deferred"
    text = [f"{option}={value}" for option, value in lines.items()]
    kept = [f"{option}={value}" for option, value in once.items()]
    try:
        _recorder.need(bind=True)
        try:
            warning = _native.config("\n".join(text + kept))
        except OSError as error:
            if error.errno != errno.EBUSY or not kept:
                raise
            once = {}
            again, warning = True, _native.config("\n".join(text))  # files exist already
    except OSError as error:
        if _recorder.left_out(error):
            return
        if error.errno not in (errno.EINVAL, errno.ENOENT, errno.EBUSY, errno.E2BIG):
            raise _recorder.explained(error) from None
        raise _failed(error.strerror or "") from None
    except UnicodeEncodeError as error:
        raise _failed(f"a value is not valid text: {error}.") from None
    _effective = True
    _recorder.configured.update({**lines, **once})
    if warning:
        _print(warning)
    if again:
        _recorder.warn('Config:"format","output_path","watch" can only be set once.')
    _recorder.changed()


def start() -> None:
    """Starts tracing. Earlier allocations are known if the recorder was loaded when they were made."""
    global starts
    with _recorder.lock:
        try:
            _recorder.need(bind=True)
            _native.start()
        except OSError as error:
            if _recorder.left_out(error):
                return
            raise _recorder.explained(error) from None
        starts += 1
        _recorder.say("Info", "Start tracing.")
        _recorder.warn_unseen()
        _recorder.changed()


def stop() -> None:
    """Stops tracing. When it returns, all earlier events are in the files, or an error has been printed."""
    with _recorder.lock:
        if not _recorder.State().tracing:
            _recorder.warn("stop() has no effect: tracing is not active.")
            return
        _recorder.say("Info", "Stop tracing.")
        _native.trace(False)
        suspects = ""
        try:
            suspects = _native.stop()
            _recorder.say("Info", "Fflush temporary cache events to file!")
        except OSError as error:  # must not end the program
            _recorder.complain(_recorder.explained(error).strerror or str(error))
        _recorder.changed()
        if suspects:
            from . import _holders

            _holders.remember(suspects)


def at_exit() -> None:
    """Runs at interpreter exit, while all objects still exist: reports what holds memory that outlived its step, also if tracing
    is still active."""
    try:
        state = _recorder.State()
        suspects = _native.suspects() if state.tracing and state.analysis & _recorder.LEAKS else ""
        if suspects or f"{__package__}._holders" in sys.modules:
            from . import _holders

            if suspects:
                _holders.note(suspects)
            _holders.at_exit()
    except Exception:
        return  # the collector, or parts of the interpreter, may be gone


def step() -> None:
    """Ends the current step and begins the next one. Does nothing while tracing is not active."""
    _native.step()


def _absolute(path: str) -> str:
    """An absolute path, because the collector has another working directory."""
    if not path.strip() or path.startswith("/"):
        return path
    try:
        return os.path.join(os.getcwd(), path)
    except OSError as error:
        raise _failed(f"cannot resolve {path}: no working directory: {error.strerror}.") from None


def _print(line: str) -> None:
    if line.startswith("[msmemscope]"):
        line = line.partition(": ")[2]
    _recorder.warn(line)


def _failed(reason: str) -> ValueError:
    """Prints the reason, worded as on the command line, and returns the exception that scripts expect."""
    if reason:
        _recorder.complain(reason)
    return ValueError("Set msmemscope trace config failed!")
