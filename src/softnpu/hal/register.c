/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory of the program registered for devices (halHostRegister). Devices run in this process, so the device
 * address is the program's own. A range may be registered for several devices; partly overlapping ranges are
 * refused. Pinned memory may also be registered, from its beginning: its block records the devices, and nothing else
 * changes.
 *
 * Locks: the lock of the spans guards everything here except the records of pinned blocks, which are atomic words. */
#include "softnpu/hal/arena.h"
#include "softnpu/hal/process.h"
#include "softnpu/hal/spans.h"

#include "base/slab.h"

#include <sys/mman.h>
#include <unistd.h>

#define MAX_REGISTRATIONS 65536
#define MAP_SUPPORTED     1

struct host_registration {
    struct snpu_span span; /* must be first */
    uint64_t devices;
};

static struct ms_slab registrations = MS_SLAB_INIT(struct host_registration, MAX_REGISTRATIONS);

void snpu__register_forget(void)
{
    registrations = (struct ms_slab)MS_SLAB_INIT(struct host_registration, MAX_REGISTRATIONS);
}

static bool exists(uintptr_t addr, uint64_t size_b)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = addr / page * page;
    return addr + size_b > addr && msync((void *)start, addr + size_b - start, MS_ASYNC) == 0;
}

/* Spans locked. The registration that begins at `base`, NULL if none. */
static struct host_registration *find(uintptr_t base)
{
    struct snpu_span *span = snpu__span_find(base);
    return span != NULL && span->kind == SNPU_RANGE_REGISTERED && span->range.base == base
               ? (struct host_registration *)span
               : NULL;
}

/* The pinned allocation that begins at `base`, NULL if none. */
static struct snpu_block *pinned_block(uintptr_t base)
{
    struct snpu_arena *arena = snpu_arena_of(base);
    struct snpu_block *block = arena != NULL ? snpu_zone_start(snpu_arena_zone(arena, base), base) : NULL;
    return block != NULL && block->kind == SNPU_RANGE_HOST &&
                   __atomic_load_n(&block->state, __ATOMIC_ACQUIRE) == SNPU_BLOCK_LIVE
               ? block
               : NULL;
}

static bool register_pinned(struct snpu_block *block, uint64_t size_b, uint64_t bit)
{
    return size_b <= block->range.size_b && (__atomic_fetch_or(&block->registered, bit, __ATOMIC_RELAXED) & bit) == 0;
}

drvError_t halHostRegister(void *src_ptr, UINT64 size, UINT32 flag, UINT32 devid, void **dst_ptr)
{
    uintptr_t base = (uintptr_t)src_ptr;
    struct snpu_range range;
    if (src_ptr == NULL || size == 0 || dst_ptr == NULL) {
        return DRV_ERROR_INVALID_VALUE;
    }
    if (!snpu__device_exists(devid)) {
        return DRV_ERROR_INVALID_DEVICE;
    }
    uint64_t bit = (uint64_t)1 << devid;
    struct snpu_block *pinned = pinned_block(base);
    if (pinned != NULL) {
        if (!register_pinned(pinned, size, bit)) {
            return DRV_ERROR_INVALID_VALUE;
        }
        *dst_ptr = src_ptr;
        return DRV_ERROR_NONE;
    }
    bool known = snpu_hal_lookup(src_ptr, &range) && range.kind != SNPU_RANGE_REGISTERED;
    if (known || !exists(base, size)) {
        return DRV_ERROR_INVALID_VALUE;
    }
    drvError_t rc = DRV_ERROR_NONE;
    snpu__spans_lock();
    struct host_registration *r = find(base);
    if (r != NULL && r->span.range.size_b == size && (r->devices & bit) == 0) {
        r->devices |= bit;
    } else if (snpu__span_overlap(base, size)) {
        rc = DRV_ERROR_INVALID_VALUE;
    } else if ((r = ms_slab_alloc(&registrations)) == NULL) {
        rc = DRV_ERROR_NO_RESOURCES;
    } else {
        r->span.kind = SNPU_RANGE_REGISTERED;
        r->span.dev = devid;
        r->span.host_side = r->span.readable = r->span.writable = true;
        r->span.page_b = (uint32_t)sysconf(_SC_PAGESIZE);
        r->span.range.base = base;
        r->span.range.size_b = size;
        r->devices = bit;
        snpu__span_add(&r->span);
    }
    snpu__spans_unlock();
    if (rc == DRV_ERROR_NONE) {
        *dst_ptr = src_ptr;
    }
    return rc;
}

/* Spans locked. */
static void remove_device(struct host_registration *r, uint32_t dev)
{
    r->devices &= ~((uint64_t)1 << dev);
    if (r->devices == 0) {
        snpu__span_remove(&r->span);
        ms_slab_free(&registrations, r);
    } else if (r->span.dev == dev) {
        r->span.dev = (uint32_t)__builtin_ctzll(r->devices);
    }
}

drvError_t halHostUnregisterEx(void *src_ptr, UINT32 devid, UINT32 flag)
{
    drvError_t rc = DRV_ERROR_INVALID_VALUE;
    if (!snpu__device_exists(devid)) {
        return DRV_ERROR_INVALID_DEVICE;
    }
    struct snpu_block *pinned = pinned_block((uintptr_t)src_ptr);
    if (pinned != NULL) {
        uint64_t bit = (uint64_t)1 << devid;
        return (__atomic_fetch_and(&pinned->registered, ~bit, __ATOMIC_RELAXED) & bit) != 0 ? DRV_ERROR_NONE : rc;
    }
    snpu__spans_lock();
    struct host_registration *r = find((uintptr_t)src_ptr);
    if (r != NULL && (r->devices >> devid & 1) != 0) {
        remove_device(r, devid);
        rc = DRV_ERROR_NONE;
    }
    snpu__spans_unlock();
    return rc;
}

drvError_t halHostUnregister(void *src_ptr, UINT32 devid)
{
    return halHostUnregisterEx(src_ptr, devid, 0);
}

drvError_t halHostRegisterCapabilities(uint32_t devid, uint32_t acc_module_type, uint32_t *mem_map_cap)
{
    if (mem_map_cap == NULL) {
        return DRV_ERROR_INVALID_VALUE;
    }
    if (!snpu__device_exists(devid)) {
        return DRV_ERROR_INVALID_DEVICE;
    }
    *mem_map_cap = MAP_SUPPORTED;
    return DRV_ERROR_NONE;
}

void snpu__register_release_device(uint32_t dev)
{
    snpu__spans_lock();
    for (uint32_t i = 0; i < registrations.used_slots; i++) {
        struct host_registration *r = ms_slab_at(&registrations, i);
        if (r != NULL && (r->devices >> dev & 1) != 0) {
            remove_device(r, dev);
        }
    }
    snpu__spans_unlock();
}
