# SPDX-License-Identifier: Apache-2.0
"""take_snapshot: writes the current memory use of a device as a row of the recording.

The numbers come from the framework that manages the device. Without one, the recording fills in what it knows, and the driver
the size of the device.
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

_warned: set[int] = set()  # missing devices for which a warning was printed


def _number(device: object) -> int:
    """The number of a device given as 1, "npu:1", "cpu", torch.device("npu", 1) or numpy.int64(1)."""
    if isinstance(device, bool) or device is None:
        raise TypeError(f"device must be an int, 'npu:N' or 'cpu', not {device!r}")
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
    raise TypeError(f"device must be an int, 'npu:N' or 'cpu', not {device!r}")


def _count() -> int:
    """Number of devices visible to the program."""
    npu = _framework()
    return int(npu.device_count()) if npu is not None else _native.devices()


def _visible(wanted: list[int]) -> list[int]:
    """Drops devices that the program does not see: a mask may name all devices of the machine."""
    count = _count()
    missing = {number for number in wanted if number >= count > 0}
    if missing - _warned:
        _warned.update(missing)
        _recorder.warn(f"no snapshot of device {', '.join(map(str, sorted(missing)))}: "
                       f"this program sees devices 0 to {count - 1} only.")
    return [number for number in wanted if number not in missing]


def _framework() -> Any:
    """torch_npu.npu, if the program uses it."""
    return getattr(sys.modules.get("torch_npu"), "npu", None)


def _memory(device: int) -> list[int | None]:
    """Reserved, peak reserved, allocated, peak allocated, total, free; None for unknown values."""
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
        raise TypeError("device and device_mask are aliases; give only one")
    if not isinstance(name, str):
        raise TypeError(f"name must be a str, not {type(name).__name__}")
    return device if device is not None else device_mask


def take_snapshot(device: Devices = None, name: str = _NAME, *, device_mask: Devices = None) -> None:
    """Writes a row for each device: one, several, or None for all visible ones. Works without start()."""
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
    """Takes snapshots "<name> Start" and "<name> End" around a block or function; context manager and decorator."""

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
