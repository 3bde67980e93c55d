# SPDX-License-Identifier: Apache-2.0
"""Records itself: a program that uses a device and keeps a little more memory with every step.

    softnpu run -- python record.py            (or on a card, with CANN's environment set)
    msmemscope report memscopeDumpResults

It calls the vendor's C interface, so that only Python is needed. The calls of msmemscope are the same with PyTorch.
"""

import ctypes

import msmemscope
from msmemscope import describe

STEPS, WORK_B, KEPT_B = 6, 8 << 20, 1 << 20
HUGE_FIRST = 0


class Device:
    """A minimal device: allocates and frees memory."""

    def __init__(self, number=0):
        self._acl = ctypes.CDLL("libascendcl.so")
        self._check(self._acl.aclInit(None))
        self._check(self._acl.aclrtSetDevice(number))

    def _check(self, status):
        if status != 0:
            self._acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
            raise RuntimeError(f"{status}: {(self._acl.aclGetRecentErrMsg() or b'').decode()}")

    def malloc(self, size):
        pointer = ctypes.c_void_p()
        self._check(self._acl.aclrtMalloc(ctypes.byref(pointer), ctypes.c_size_t(size), HUGE_FIRST))
        return pointer

    def free(self, pointer):
        self._check(self._acl.aclrtFree(pointer))


@describe.describer(owner="activations")
def step(device, history):
    work = device.malloc(WORK_B)
    with describe.describer(owner="history"):
        history.append(device.malloc(KEPT_B))  # the defect: it is never used again
    device.free(work)


def main():
    device, history = Device(), []
    msmemscope.config(call_stack="python", analysis="leaks,decompose")
    msmemscope.start()
    for _ in range(STEPS):
        step(device, history)
        msmemscope.step()
    msmemscope.stop()
    print(f"{STEPS} steps recorded in memscopeDumpResults")


if __name__ == "__main__":
    main()
