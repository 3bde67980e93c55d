# SPDX-License-Identifier: Apache-2.0
"""take_snapshot: what memory of a device is in use at this moment, as a row of the recording.

A framework that manages the device knows best; where there is none, the recording itself fills in what it has seen, and
the driver what the device has.
"""

from __future__ import annotations

import os
import sys

from . import _native, _recorder
from ._around import around

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeVar, Union

    Function = TypeVar("Function", bound=Callable[..., Any])
    Device = Union[int, str]
    Devices = Union[Device, Iterable[Device], None]

_NAME = "Memory Snapshot"
_HOST = -1

_told: set[int] = set()  # devices that are not there


def _number(device: object) -> int:
    """Of a device as people write it: 1, "npu:1", "cpu", torch.device("npu", 1), numpy.int64(1)."""
    if isinstance(device, bool) or device is None:
        raise TypeError(f"a device is an int, 'npu:N' or 'cpu', not {device!r}")
    if hasattr(device, "__index__"):
        number = device.__index__()
        if not 0 <= number <= 31:
            raise ValueError(f"device {number} is not in the range 0 to 31")
        return int(number)
    text = str(device)
    kind, _, index = text.partition(":")
    if text in ("cpu", "cpu:0"):
        return _HOST
    if kind == "npu" and (index.isdecimal() or text == "npu"):
        return _number(int(index)) if index else max(_native.device(), 0)
    raise TypeError(f"a device is an int, 'npu:N' or 'cpu', not {device!r}")


def _count() -> int:
    """Devices that the program sees."""
    npu = _framework()
    return int(npu.device_count()) if npu is not None else _native.devices()


def _visible(wanted: list[int]) -> list[int]:
    """A mask of all devices of a machine may stand in a program that sees one."""
    count = _count()
    missing = {number for number in wanted if number >= count > 0}
    if missing - _told:
        _told.update(missing)
        _recorder.warn(f"no snapshot of device {', '.join(map(str, sorted(missing)))}: this program sees {count}, from 0 on.")
    return [number for number in wanted if number not in missing]


def _framework() -> Any:
    """torch_npu.npu, if the program uses it."""
    return getattr(sys.modules.get("torch_npu"), "npu", None)


def _memory(device: int) -> list[int | None]:
    """Reserved, peak of it, allocated, peak of it, total, free; None for what nobody here knows."""
    npu = _framework()
    if device == _HOST:
        page = os.sysconf("SC_PAGE_SIZE")
        return [None, None, None, None, page * os.sysconf("SC_PHYS_PAGES"), page * os.sysconf("SC_AVPHYS_PAGES")]
    if npu is None:
        return [None] * 6
    free, total = npu.mem_get_info(device)
    return [npu.memory_reserved(device), npu.max_memory_reserved(device), npu.memory_allocated(device),
            npu.max_memory_allocated(device), total, free]


def _checked(device: Devices, name: str, device_mask: Devices) -> Devices:
    if device is not None and device_mask is not None:
        raise TypeError("device and device_mask are the same; give one")
    if not isinstance(name, str):
        raise TypeError(f"name must be a str, not {type(name).__name__}")
    return device if device is not None else device_mask


def take_snapshot(device: Devices = None, name: str = _NAME, *, device_mask: Devices = None) -> None:
    """Writes a row for each device: a number, several, or None for all that are visible. Needs no start()."""
    wanted = _checked(device, name, device_mask)
    if wanted is None:
        numbers = list(range(_count())) or [_HOST]
    elif isinstance(wanted, (list, tuple, set, frozenset, range)):
        numbers = _visible(list(dict.fromkeys(_number(one) for one in wanted)))
    else:
        numbers = _visible([_number(wanted)])
    try:
        for number in numbers:
            memory = _memory(number)
            with _recorder.lock:
                _recorder.need()
                _native.snapshot(number, name, memory)
    except OSError as error:
        if not _recorder.left_out(error):
            raise _recorder.explained(error) from None


class TakeSnapshot:
    """Snapshots at both ends of a part of the program, "<name> Start" and "<name> End"; context manager and decorator."""

    __slots__ = ("_device", "_name")

    def __init__(self, device: Devices = None, name: str = _NAME, *, device_mask: Devices = None) -> None:
        self._device, self._name = _checked(device, name, device_mask), name

    def __enter__(self) -> TakeSnapshot:
        take_snapshot(self._device, f"{self._name} Start")
        return self

    def __exit__(self, *exception: object) -> None:
        take_snapshot(self._device, f"{self._name} End")

    def __call__(self, function: Function) -> Function:
        return around(self, function, suspended=True)
