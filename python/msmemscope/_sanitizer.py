# SPDX-License-Identifier: Apache-2.0
"""enable_npu_sanitizer: reports to torch_npu's stream sanitizer what operators outside PyTorch read and write.

Such operators set marks:

    sanitizer-op: name=<op>;read=<alias:address:size>,...;write=<alias:address:size>,...
"""

from __future__ import annotations

import sys

from . import _native, _recorder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PREFIX = "sanitizer-op:"
_LONGEST_ALIAS_B = 31

_enabled: Any = None  # torch_npu's handler, whether it takes storages, class of its errors


class Operator:
    """The contents of a mark."""

    __slots__ = ("name", "reads", "writes", "aliases")

    def __init__(self, name: str) -> None:
        self.name = name
        self.reads: set[int] = set()
        self.writes: set[int] = set()
        self.aliases: dict[int, list[str]] = {}


def _number(text: str) -> int:
    return int(text, 16 if text.lower().startswith("0x") else 10)


def parse(text: str) -> Operator | None:
    """Returns None for a mark that does not have this form."""
    if not text.startswith(PREFIX):
        return None
    fields = dict(part.strip().partition("=")[::2] for part in text[len(PREFIX):].split(";"))
    if not fields.get("name"):
        return None
    operator = Operator(fields["name"])
    for key, addresses in (("read", operator.reads), ("write", operator.writes)):
        for item in filter(None, fields.get(key, "").split(",")):
            parts = item.strip().rsplit(":", 2)
            if len(parts) != 3:
                return None
            try:
                address, _ = map(_number, parts[1:])
            except ValueError:
                return None
            addresses.add(address)
            alias = parts[0].encode()[:_LONGEST_ALIAS_B].decode(errors="ignore")
            operator.aliases.setdefault(address, []).append(alias)
    return operator


def _hand_over(text: str, stream: int) -> None:
    operator = parse(text)
    if operator is None:
        _recorder.warn(f"malformed mark for the sanitizer: {text[:200]}")
        return
    handler, with_storage, errors = _enabled
    arguments: list[Any] = [stream, operator.reads - operator.writes, operator.writes, set(), operator.name,
                            operator.aliases]
    if with_storage:
        arguments.append(set())
    found = handler._handle_kernel_launch(*arguments)
    if found:
        for error in found:
            _recorder.put(str(error), sys.stderr)
        raise errors(found)


def enable_npu_sanitizer() -> None:
    """Switches torch_npu's stream sanitizer on and passes marks to it, whether or not tracing is active."""
    global _enabled
    try:
        from torch.cuda._sanitizer import CUDASanitizerErrors
        from torch_npu.npu import _sanitizer, _stream_check
    except ImportError as error:
        raise ImportError(f"[msmemscope]: enable_npu_sanitizer needs torch_npu with its sanitizer: {error}") from None
    _sanitizer.enable_npu_sanitizer()
    try:
        _recorder.need()
    except OSError as error:  # marks are received all the same
        if not _recorder.left_out(error):
            raise _recorder.explained(error) from None
    _enabled = (_sanitizer.npu_sanitizer.event_handler, hasattr(_stream_check, "NPURecordStreamHandler"),
                CUDASanitizerErrors)
    _native.sanitizer(_hand_over)
