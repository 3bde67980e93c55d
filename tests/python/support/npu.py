# SPDX-License-Identifier: Apache-2.0
"""Device functions for target programs: the vendor's C interface, called through ctypes."""

import ctypes

_acl = ctypes.CDLL("libascendcl.so")


def _ok(status):
    assert status == 0, status


def init(device=0):
    _acl.aclInit(None)
    _ok(_acl.aclrtSetDevice(device))


def set_device(device):
    _ok(_acl.aclrtSetDevice(device))


def malloc(size=4096):
    pointer = ctypes.c_void_p()
    _ok(_acl.aclrtMalloc(ctypes.byref(pointer), ctypes.c_size_t(size), 2))
    return pointer.value


def free(pointer):
    _ok(_acl.aclrtFree(ctypes.c_void_p(pointer)))


def work(times, size=4096):
    for _ in range(times):
        free(malloc(size))


class Pool:
    """torch_npu's caching allocator."""

    def __init__(self):
        self._lib = ctypes.CDLL("libnpupool.so")
        self._lib.npool_caching_create.restype = ctypes.c_void_p
        self._pool = ctypes.c_void_p(self._lib.npool_caching_create(None))

    def malloc(self, size):
        pointer = ctypes.c_void_p()
        _ok(self._lib.npool_malloc(self._pool, ctypes.byref(pointer), ctypes.c_size_t(size), None))
        return pointer.value

    def free(self, pointer):
        _ok(self._lib.npool_free(self._pool, ctypes.c_void_p(pointer)))
