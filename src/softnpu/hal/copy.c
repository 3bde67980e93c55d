/* SPDX-License-Identifier: Apache-2.0 */
/* Copies, fills and advice on addresses of any kind. Every address is checked first: device memory must be allocated
 * or mapped, and host memory must be mapped, so that a wild pointer becomes an error code. Asynchronous copies are
 * complete when the call returns; waiting for one only checks that it was issued. */
#include "softnpu/hal/process.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Host memory of the program: the kernel knows whether it is mapped. msync does not show whether it is writable, so
 * a copy into a read-only page still crashes. */
static bool mapped(uintptr_t addr, uint64_t size_b)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = addr / page * page;
    return msync((void *)start, addr + size_b - start, MS_ASYNC) == 0;
}

static bool usable(uintptr_t addr, uint64_t size_b, bool writing)
{
    struct snpu_range range;
    const void *ptr = (const void *)addr;
    if (!(writing ? snpu_hal_writable(ptr, size_b) : snpu_hal_accessible(ptr, size_b))) {
        return false;
    }
    return snpu_hal_lookup(ptr, &range) || mapped(addr, size_b);
}

static drvError_t copy(uintptr_t dst, size_t dest_max, uintptr_t src, size_t count)
{
    if (dst == 0 || src == 0 || count > dest_max) {
        return DRV_ERROR_INVALID_VALUE;
    }
    if (count == 0) {
        return DRV_ERROR_NONE;
    }
    if (!usable(dst, count, true) || !usable(src, count, false)) {
        return DRV_ERROR_INVALID_VALUE;
    }
    memmove((void *)dst, (const void *)src, count);
    return DRV_ERROR_NONE;
}

DVresult drvMemcpy(DVdeviceptr dst, size_t dest_max, DVdeviceptr src, size_t byte_count)
{
    return copy((uintptr_t)dst, dest_max, (uintptr_t)src, byte_count);
}

drvError_t halMemcpy(void *dst, size_t dst_size, void *src, size_t count, struct memcpy_info *info)
{
    if (info == NULL || info->dir > DRV_MEMCPY_DEVICE_TO_DEVICE) {
        return DRV_ERROR_INVALID_VALUE;
    }
    return copy((uintptr_t)dst, dst_size, (uintptr_t)src, count);
}

static uint64_t copies_issued;

DVresult halMemCpyAsync(DVdeviceptr dst, size_t dest_max, DVdeviceptr src, size_t byte_count, uint64_t *copy_fd)
{
    if (copy_fd == NULL) {
        return DRV_ERROR_INVALID_VALUE;
    }
    drvError_t rc = copy((uintptr_t)dst, dest_max, (uintptr_t)src, byte_count);
    if (rc == DRV_ERROR_NONE) {
        *copy_fd = __atomic_add_fetch(&copies_issued, 1, __ATOMIC_RELAXED);
    }
    return rc;
}

DVresult halMemCpyAsyncWaitFinish(uint64_t copy_fd)
{
    bool issued = copy_fd != 0 && copy_fd <= __atomic_load_n(&copies_issued, __ATOMIC_RELAXED);
    return issued ? DRV_ERROR_NONE : DRV_ERROR_INVALID_VALUE;
}

DVresult drvMemsetD8(DVdeviceptr dst, size_t destMax, UINT8 value, size_t num)
{
    if (dst == 0 || num > destMax) {
        return DRV_ERROR_INVALID_VALUE;
    }
    if (num == 0) {
        return DRV_ERROR_NONE;
    }
    if (!usable((uintptr_t)dst, num, true)) {
        return DRV_ERROR_INVALID_VALUE;
    }
    memset((void *)(uintptr_t)dst, value, num);
    return DRV_ERROR_NONE;
}

/* The location of memory makes no difference here: advice and prefetching only check their arguments. */
static drvError_t advised(uintptr_t ptr, uint64_t size_b, uint32_t dev)
{
    struct snpu_range range;
    if (ptr == 0 || size_b == 0 || !snpu_hal_lookup((const void *)ptr, &range) ||
        !snpu_hal_accessible((const void *)ptr, size_b)) {
        return DRV_ERROR_INVALID_VALUE;
    }
    return snpu__device_exists(dev) ? DRV_ERROR_NONE : DRV_ERROR_INVALID_DEVICE;
}

drvError_t halMemAdvise(DVdeviceptr ptr, size_t count, unsigned int type, DVdevice device)
{
    return advised((uintptr_t)ptr, count, device);
}

DVresult drvMemPrefetchToDevice(DVdeviceptr dev_ptr, size_t len, DVdevice device)
{
    return advised((uintptr_t)dev_ptr, len, device);
}
