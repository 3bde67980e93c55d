/* SPDX-License-Identifier: Apache-2.0 */
/* halMemAlloc and halMemFree: decode and check the flag word, charge the capacity, take a block, publish it.
 *
 * Accounting is by whole pages: 4 KiB, 2 MiB or 1 GiB. Managed (SVM) memory counts on its device, host memory only
 * for the process. A freed block returns its capacity at once, whether or not its pages stay cached in the arena.
 *
 * halMemAllocInner is the function and halMemAlloc an alias, so that a tool that defines halMemAlloc reaches this
 * code through the inner name. No lock here: the thread that changes a block's state by compare-and-swap owns it, so
 * a double free fails. */
#include "softnpu/hal/arena.h"
#include "softnpu/hal/share.h"

#include "base/macros.h"

struct block_request {
    enum snpu_range_kind kind;
    enum snpu_page page;
    uint32_t dev;
    uint32_t module_id;
    uint64_t align_b;
    bool dvpp;
};

static const struct {
    drvError_t verdict;
    enum snpu_range_kind kind;
} virtual_types[16] = {
    [MEM_SVM >> MEM_VIRT_BIT] = {DRV_ERROR_NONE, SNPU_RANGE_MANAGED},
    [MEM_DEV >> MEM_VIRT_BIT] = {DRV_ERROR_NONE, SNPU_RANGE_DEVICE},
    [MEM_HOST >> MEM_VIRT_BIT] = {DRV_ERROR_NONE, SNPU_RANGE_HOST},
    [MEM_DVPP >> MEM_VIRT_BIT] = {DRV_ERROR_NONE, SNPU_RANGE_DEVICE},
    [MEM_HOST_AGENT >> MEM_VIRT_BIT] = {DRV_ERROR_NOT_SUPPORT, SNPU_RANGE_NONE},
    [MEM_RESERVE >> MEM_VIRT_BIT] = {DRV_ERROR_NOT_SUPPORT, SNPU_RANGE_NONE},
    [MEM_HOST_UVA >> MEM_VIRT_BIT] = {DRV_ERROR_NOT_SUPPORT, SNPU_RANGE_NONE},
    [MEM_UVM >> MEM_VIRT_BIT] = {DRV_ERROR_NONE, SNPU_RANGE_MANAGED},
    [8 ... 15] = {DRV_ERROR_INVALID_VALUE, SNPU_RANGE_NONE},
};

/* Advice and access bits (25-30, 32) and the reserved bits have no effect here and are accepted. */
static drvError_t decode(unsigned long long flag, struct block_request *req)
{
    unsigned type = (flag >> MEM_VIRT_BIT) & 0xf;
    unsigned page_field = (flag >> MEM_PAGE_BIT) & 0x3;
    bool huge = page_field == 1, giant = (flag & MEM_PAGE_GIANT) != 0;
    if (virtual_types[type].verdict != DRV_ERROR_NONE) {
        return virtual_types[type].verdict;
    }
    if (page_field > 1 || (huge && giant)) {
        return DRV_ERROR_INVALID_VALUE;
    }
    req->kind = virtual_types[type].kind;
    if ((req->kind == SNPU_RANGE_HOST && (huge || giant)) || ((flag & MEM_CONTIGUOUS_PHY) != 0 && (huge || giant))) {
        return DRV_ERROR_NOT_SUPPORT;
    }
    req->page = giant ? SNPU_PAGE_GIANT : huge ? SNPU_PAGE_HUGE : SNPU_PAGE_NORMAL;
    req->dev = flag & MEM_DEVID_MASK;
    req->module_id = (uint32_t)(flag >> MEM_MODULE_ID_BIT);
    req->align_b = (uint64_t)1 << ((flag >> MEM_ALIGN_BIT) & 0x1f);
    req->dvpp = type == MEM_DVPP >> MEM_VIRT_BIT;
    if (req->kind != SNPU_RANGE_HOST && !snpu__device_exists(req->dev)) {
        return DRV_ERROR_INVALID_DEVICE;
    }
    return DRV_ERROR_NONE;
}

drvError_t halMemAllocInner(void **pp, unsigned long long size, unsigned long long flag)
{
    struct block_request req = {0};
    if (pp == NULL || size == 0) {
        return DRV_ERROR_INVALID_VALUE;
    }
    drvError_t rc = decode(flag, &req);
    if (rc != DRV_ERROR_NONE) {
        return rc;
    }
    bool on_host = req.kind == SNPU_RANGE_HOST;
    uint32_t place = on_host ? SNPU_ARENA_HOST : req.dev;
    if (snpu__fault_oom(place, size) || size > SNPU_HAL_SIZE_MAX) {
        return DRV_ERROR_OUT_OF_MEMORY;
    }
    uint64_t size_b = MS_ROUND_UP(size, snpu_page_size(req.page));
    rc = snpu__charge(place, req.page, size_b, req.module_id);
    if (rc != DRV_ERROR_NONE) {
        return rc;
    }
    struct snpu_arena *arena = snpu_arena_get(place);
    struct snpu_block *block = arena != NULL ? snpu_arena_take(arena, req.page, size_b, req.align_b) : NULL;
    if (block == NULL) {
        snpu__uncharge(place, req.page, size_b, req.module_id);
        return DRV_ERROR_OUT_OF_MEMORY;
    }
    block->kind = (uint8_t)req.kind;
    block->place = (uint8_t)place;
    block->dvpp = req.dvpp;
    block->module_id = req.module_id;
    block->registered = 0;
    *pp = (void *)block->range.base;
    __atomic_store_n(&block->state, SNPU_BLOCK_LIVE, __ATOMIC_RELEASE);
    return DRV_ERROR_NONE;
}

drvError_t halMemFreeInner(void *pp)
{
    uintptr_t addr = (uintptr_t)pp;
    struct snpu_arena *arena = snpu_arena_of(addr);
    struct snpu_block *block = arena != NULL ? snpu_zone_start(snpu_arena_zone(arena, addr), addr) : NULL;
    uint32_t live = SNPU_BLOCK_LIVE;
    if (block == NULL || !__atomic_compare_exchange_n(&block->state, &live, SNPU_BLOCK_TAKEN, false, __ATOMIC_ACQUIRE,
                                                      __ATOMIC_RELAXED)) {
        return DRV_ERROR_INVALID_VALUE;
    }
    snpu__block_end(block);
    return DRV_ERROR_NONE;
}

drvError_t halMemAlloc(void **pp, unsigned long long size, unsigned long long flag)
    __attribute__((alias("halMemAllocInner")));
drvError_t halMemFree(void *pp) __attribute__((alias("halMemFreeInner")));

/* ---- releasing a device ---- */

struct collected {
    struct snpu_block *blocks[256];
    uint32_t count;
    bool more;
};

/* Under the zone's lock, under which blocks can be claimed but not given back. */
static void collect(struct snpu_block *block, void *arg)
{
    struct collected *c = arg;
    uint32_t live = SNPU_BLOCK_LIVE;
    if (c->count == MS_COUNT_OF(c->blocks)) {
        c->more = true;
    } else if (__atomic_compare_exchange_n(&block->state, &live, SNPU_BLOCK_TAKEN, false, __ATOMIC_ACQUIRE,
                                           __ATOMIC_RELAXED)) {
        c->blocks[c->count++] = block;
    }
}

static void free_blocks_of(uint32_t dev)
{
    struct snpu_arena *arena = snpu_arena_if_open(dev);
    struct collected c;
    if (arena == NULL) {
        return;
    }
    do {
        c.count = 0;
        c.more = false;
        snpu_arena_visit(arena, collect, &c);
        for (uint32_t i = 0; i < c.count; i++) {
            snpu__block_end(c.blocks[i]);
        }
    } while (c.more);
    snpu_arena_trim(arena);
}

void snpu_hal_release_device(uint32_t dev)
{
    if (!snpu__device_exists(dev)) {
        return;
    }
    snpu__vmm_release_device(dev);
    snpu__ipc_release_device(dev);
    snpu__register_release_device(dev);
    free_blocks_of(dev);
    snpu__device_close(dev);
}
