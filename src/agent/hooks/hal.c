/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of the driver: device memory, physical handles, address ranges.
 *
 * Frees are recorded before the real call, allocations after it, so the order of stamps is the order of blocks even
 * when an address moves from one thread to another. A free that fails is revoked by a second record.
 * Reservations and mappings never become rows; they link pool addresses to the physical memory under them. */
#include "agent/agent.h"
#include "agent/hooks.h"
#include "agent/watch.h"

enum { MEMORY = MS_WANT_ALLOC | MS_WANT_FREE };

/* Both stacks, regardless of the session: this is often the last thing a program does. */
static inline __attribute__((always_inline)) void record_oom(unsigned state, enum ms_oom_function function,
                                                             uint32_t device, uint64_t size, uint64_t flag)
{
    enum { DEPTH = 50 };
    struct ms_stack_ids ids;
    MS_RECORD(OOM, state, device, ms_stacks_take(&ids, DEPTH, DEPTH, NULL), .size_b = size, .flag = flag,
              .function = function);
}

drvError_t halMemAlloc(void **pp, unsigned long long size, unsigned long long flag)
{
    drvError_t result = MS_REAL(halMemAlloc)(pp, size, flag);
    unsigned state = ms_wanted(MEMORY);
    if (MS_LIKELY(state == MS_STATE_OFF)) {
        return result;
    }
    if (MS_LIKELY(result == DRV_ERROR_NONE)) {
        struct ms_stack_ids ids;
        MS_RECORD(HAL_ALLOC, state, 0, ms_stacks(state, &ids), .addr = (uintptr_t)*pp, .size_b = size, .flag = flag);
    } else if (result == DRV_ERROR_OUT_OF_MEMORY) {
        record_oom(state, MS_OOM_MEM_ALLOC, (uint32_t)(flag & MEM_DEVID_MASK), size, flag);
    }
    return result;
}

drvError_t halMemFree(void *pp)
{
    unsigned state = ms_wanted(MEMORY);
    if (MS_LIKELY(state == MS_STATE_OFF)) {
        return MS_REAL(halMemFree)(pp);
    }
    if (ms_watching()) {
        ms_watch_freed((uintptr_t)pp);
    }
    struct ms_stack_ids ids;
    MS_RECORD(HAL_FREE, state, 0, ms_stacks(state, &ids), .addr = (uintptr_t)pp);
    drvError_t result = MS_REAL(halMemFree)(pp);
    if (MS_UNLIKELY(result != DRV_ERROR_NONE)) {
        MS_RECORD(HAL_FREE_FAILED, state, 0, NULL, .addr = (uintptr_t)pp);
    }
    return result;
}

drvError_t halMemCreate(drv_mem_handle_t **handle, size_t size, const struct drv_mem_prop *prop, uint64_t flag)
{
    drvError_t result = MS_REAL(halMemCreate)(handle, size, prop, flag);
    unsigned state = ms_wanted(MEMORY);
    if (MS_LIKELY(state == MS_STATE_OFF)) {
        return result;
    }
    if (MS_LIKELY(result == DRV_ERROR_NONE)) {
        struct ms_stack_ids ids;
        MS_RECORD(HAL_CREATE, state, prop->devid, ms_stacks(state, &ids), .handle = (uintptr_t)*handle, .size_b = size,
                  .side = prop->side, .module_id = prop->module_id, .page_type = prop->pg_type,
                  .mem_type = prop->mem_type);
    } else if (result == DRV_ERROR_OUT_OF_MEMORY) {
        record_oom(state, MS_OOM_MEM_CREATE, prop->devid, size, flag);
    }
    return result;
}

drvError_t halMemRelease(drv_mem_handle_t *handle)
{
    unsigned state = ms_wanted(MEMORY);
    if (MS_LIKELY(state == MS_STATE_OFF)) {
        return MS_REAL(halMemRelease)(handle);
    }
    struct ms_stack_ids ids;
    MS_RECORD(HAL_RELEASE, state, 0, ms_stacks(state, &ids), .addr = (uintptr_t)handle);
    drvError_t result = MS_REAL(halMemRelease)(handle);
    if (MS_UNLIKELY(result != DRV_ERROR_NONE)) {
        MS_RECORD(HAL_RELEASE_FAILED, state, 0, NULL, .addr = (uintptr_t)handle);
    }
    return result;
}

drvError_t halMemAddressReserve(void **ptr, size_t size, size_t alignment, void *addr, uint64_t flag)
{
    drvError_t result = MS_REAL(halMemAddressReserve)(ptr, size, alignment, addr, flag);
    unsigned state = ms_wanted(MEMORY);
    if (state != MS_STATE_OFF && result == DRV_ERROR_NONE) {
        MS_RECORD(RESERVE, state, 0, NULL, .addr = (uintptr_t)*ptr, .size_b = size);
    }
    return result;
}

drvError_t halMemAddressFree(void *ptr)
{
    unsigned state = ms_wanted(MEMORY);
    if (MS_LIKELY(state == MS_STATE_OFF)) {
        return MS_REAL(halMemAddressFree)(ptr);
    }
    MS_RECORD(ADDRESS_FREE, state, 0, NULL, .addr = (uintptr_t)ptr);
    drvError_t result = MS_REAL(halMemAddressFree)(ptr);
    if (MS_UNLIKELY(result != DRV_ERROR_NONE)) {
        MS_RECORD(ADDRESS_FREE_FAILED, state, 0, NULL, .addr = (uintptr_t)ptr);
    }
    return result;
}

drvError_t halMemMap(void *ptr, size_t size, size_t offset, drv_mem_handle_t *handle, uint64_t flag)
{
    drvError_t result = MS_REAL(halMemMap)(ptr, size, offset, handle, flag);
    unsigned state = ms_wanted(MEMORY);
    if (state != MS_STATE_OFF && result == DRV_ERROR_NONE) {
        MS_RECORD(MAP, state, 0, NULL, .addr = (uintptr_t)ptr, .size_b = size, .offset_b = offset,
                  .handle = (uintptr_t)handle);
    }
    return result;
}

drvError_t halMemUnmap(void *ptr)
{
    unsigned state = ms_wanted(MEMORY);
    if (MS_LIKELY(state == MS_STATE_OFF)) {
        return MS_REAL(halMemUnmap)(ptr);
    }
    MS_RECORD(UNMAP, state, 0, NULL, .addr = (uintptr_t)ptr);
    drvError_t result = MS_REAL(halMemUnmap)(ptr);
    if (MS_UNLIKELY(result != DRV_ERROR_NONE)) {
        MS_RECORD(UNMAP_FAILED, state, 0, NULL, .addr = (uintptr_t)ptr);
    }
    return result;
}
