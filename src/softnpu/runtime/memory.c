/* SPDX-License-Identifier: Apache-2.0 */
/* Device and pinned memory: translating policies into the driver's flag word, freeing, classifying pointers.
 *
 * Invariants: one successful allocation is one halMemAlloc with exactly the flags that the vendor's runtime uses; a
 * refused huge-page allocation above 1 MiB with fallback is two. Nothing is cached here: tools rely on seeing every
 * call in the driver.
 * Threads and locks: none of its own; the driver's are leaves.
 * Failure: the driver's result becomes an ACL code; out-parameters stay untouched. */
#include "softnpu/runtime/memory.h"

#include "softnpu/runtime/context.h"
#include "softnpu/runtime/error.h"
#include "softnpu/runtime/prof.h"

#include "acl/acl.h"
#include "ascend_hal.h"
#include "runtime/rt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HUGE_ABOVE_B (1u << 20) /* smaller blocks use huge pages only on request */
#define ALIGN_512    MEM_SET_ALIGN_SIZE(9)

/* ---- generations ---- */
static uint32_t generations[SNPU_MAX_DEVICES];

uint32_t snpu__mem_generation(uint32_t dev)
{
    return __atomic_load_n(&generations[dev], __ATOMIC_ACQUIRE);
}

void snpu__mem_device_closed(uint32_t dev)
{
    __atomic_fetch_add(&generations[dev], 1, __ATOMIC_ACQ_REL);
}

/* ---- allocation ---- */
static unsigned long long page_flags(enum snpu_pages pages)
{
    switch (pages) {
    case SNPU_PAGES_GIANT:
        return MEM_PAGE_GIANT;
    case SNPU_PAGES_HUGE:
        return MEM_PAGE_HUGE | ALIGN_512;
    default:
        return ALIGN_512;
    }
}

static drvError_t try_alloc(const struct snpu_alloc *request, enum snpu_pages pages, void **out)
{
    unsigned long long flag = (unsigned long long)request->module << MEM_MODULE_ID_BIT | MEM_DEV | MEM_TYPE_HBM |
                              page_flags(pages) | (request->dev & MEM_DEVID_MASK);
    flag |= request->p2p ? MEM_ADVISE_P2P : 0;
    flag |= request->read_only ? MEM_READONLY : 0;
    flag |= request->task_scheduler ? MEM_ADVISE_TS : 0;
    return halMemAlloc(out, request->size_b, flag);
}

static int32_t alloc_failed(drvError_t result, uint64_t size_b, uint32_t dev)
{
    struct MemInfo info;
    if (result == DRV_ERROR_OUT_OF_MEMORY && halMemGetInfo(dev, MEM_INFO_TYPE_HBM_SIZE, &info) == DRV_ERROR_NONE) {
        return snpu_fail(
            ACL_ERROR_RT_MEMORY_ALLOCATION,
            "out of memory on device %u: %llu bytes requested, %llu free in huge pages and %llu in normal pages", dev,
            (unsigned long long)size_b, info.phy_info.huge_free, info.phy_info.free);
    }
    char what[96];
    snprintf(what, sizeof(what), "allocation of %llu bytes on device %u", (unsigned long long)size_b, dev);
    return snpu_from_drv(result, what);
}

int32_t snpu__mem_alloc(const struct snpu_alloc *request, void **out)
{
    void *block = NULL;
    enum snpu_pages pages = request->pages;
    bool fallback = false;
    if (pages == SNPU_PAGES_HUGE_FIRST) {
        fallback = request->size_b > HUGE_ABOVE_B;
        pages = fallback ? SNPU_PAGES_HUGE : SNPU_PAGES_NORMAL;
    }
    drvError_t result = try_alloc(request, pages, &block);
    if (result != DRV_ERROR_NONE && fallback) {
        result = try_alloc(request, SNPU_PAGES_NORMAL, &block);
    }
    if (result != DRV_ERROR_NONE) {
        return alloc_failed(result, request->size_b, request->dev);
    }
    snpu_prof_mem_mng(request->dev, SNPU_PROF_NO_STREAM, (uintptr_t)block, request->size_b, SNPU_PROF_MEM_DEVICE,
                      SNPU_PROF_MALLOC);
    *out = block;
    return 0;
}

/* The policies of rtMalloc (one bit each) and of rtsMalloc (numbers) have the same meanings. */
static const struct {
    uint32_t rt_bit;
    enum snpu_pages pages;
    bool p2p;
} policies[] = {
    [RT_MEM_MALLOC_HUGE_FIRST] = {RT_MEMORY_POLICY_HUGE_PAGE_FIRST, SNPU_PAGES_HUGE_FIRST, false},
    [RT_MEM_MALLOC_HUGE_ONLY] = {RT_MEMORY_POLICY_HUGE_PAGE_ONLY, SNPU_PAGES_HUGE, false},
    [RT_MEM_MALLOC_NORMAL_ONLY] = {RT_MEMORY_POLICY_DEFAULT_PAGE_ONLY, SNPU_PAGES_NORMAL, false},
    [RT_MEM_MALLOC_HUGE_FIRST_P2P] = {RT_MEMORY_POLICY_HUGE_PAGE_FIRST_P2P, SNPU_PAGES_HUGE_FIRST, true},
    [RT_MEM_MALLOC_HUGE_ONLY_P2P] = {RT_MEMORY_POLICY_HUGE_PAGE_ONLY_P2P, SNPU_PAGES_HUGE, true},
    [RT_MEM_MALLOC_NORMAL_ONLY_P2P] = {RT_MEMORY_POLICY_DEFAULT_PAGE_ONLY_P2P, SNPU_PAGES_NORMAL, true},
    [RT_MEM_MALLOC_HUGE1G_ONLY] = {RT_MEMORY_POLICY_HUGE1G_PAGE_ONLY, SNPU_PAGES_GIANT, false},
    [RT_MEM_MALLOC_HUGE1G_ONLY_P2P] = {RT_MEMORY_POLICY_HUGE1G_PAGE_ONLY_P2P, SNPU_PAGES_GIANT, true},
};

static int32_t malloc_by_bits(const char *function, void **out, uint64_t size_b, uint32_t type, uint16_t module)
{
    struct snpu_ctx *ctx;
    int32_t code = snpu_ctx_need(function, &ctx);
    if (code != 0) {
        return code;
    }
    if (out == NULL || size_b == 0) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %s", function,
                         out == NULL ? "the result pointer is NULL" : "size is 0");
    }
    struct snpu_alloc request = {.size_b = size_b, .pages = SNPU_PAGES_HUGE_FIRST, .dev = ctx->dev, .module = module};
    for (size_t i = 0; i < MS_COUNT_OF(policies); i++) {
        if ((type & policies[i].rt_bit) != 0) {
            request.pages = policies[i].pages;
            request.p2p = policies[i].p2p;
            break;
        }
    }
    return snpu__mem_alloc(&request, out);
}

rtError_t rtMalloc(void **devPtr, uint64_t size, rtMemType_t type, const uint16_t moduleId)
{
    SNPU_PROF_RT_CALL(DEV_MALLOC);
    return malloc_by_bits("rtMalloc", devPtr, size, type, moduleId);
}

rtError_t rtMallocCached(void **devPtr, uint64_t size, rtMemType_t type, const uint16_t moduleId)
{
    SNPU_PROF_RT_CALL(DEV_MALLOC_CACHED);
    return malloc_by_bits("rtMallocCached", devPtr, size, type, moduleId);
}

/* The module and device that a configuration requests. */
static int32_t read_config(const char *function, const rtMallocConfig_t *cfg, uint16_t *module, uint32_t *dev)
{
    if (cfg == NULL) {
        return 0;
    }
    if (cfg->attrs == NULL && cfg->numAttrs > 0) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: configuration without attributes", function);
    }
    for (size_t i = 0; i < cfg->numAttrs; i++) {
        const rtMallocAttribute_t *attr = &cfg->attrs[i];
        switch (attr->attr) {
        case RT_MEM_MALLOC_ATTR_RSV:
        case RT_MEM_MALLOC_ATTR_VA_FLAG:
            break;
        case RT_MEM_MALLOC_ATTR_MODULE_ID:
            if (attr->value.moduleId > 0xff) {
                return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid module id %u", function,
                                 attr->value.moduleId);
            }
            *module = attr->value.moduleId;
            break;
        case RT_MEM_MALLOC_ATTR_DEVICE_ID: {
            int32_t code = snpu_dev_from_user(function, (int32_t)attr->value.deviceId, dev);
            if (code != 0) {
                return code;
            }
            break;
        }
        default:
            return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: unknown attribute %d", function, (int)attr->attr);
        }
    }
    return 0;
}

rtError_t rtsMalloc(void **devPtr, uint64_t size, rtMallocPolicy policy, rtMallocAdvise advise, rtMallocConfig_t *cfg)
{
    SNPU_PROF_RT_CALL(DEV_MALLOC);
    const uint32_t places = RT_MEM_TYPE_LOW_BAND_WIDTH | RT_MEM_TYPE_HIGH_BAND_WIDTH;
    uint32_t number = (uint32_t)policy & ~(places | RT_MEM_ACCESS_USER_SPACE_READONLY);
    struct snpu_ctx *ctx;
    int32_t code = snpu_ctx_need("rtsMalloc", &ctx);
    if (code != 0) {
        return code;
    }
    if (devPtr == NULL || size == 0 || number >= MS_COUNT_OF(policies) || advise > RT_MEM_ADVISE_CACHED) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID,
                         "rtsMalloc: invalid argument: pointer %p, size %llu, policy 0x%x, advise %d", (void *)devPtr,
                         (unsigned long long)size, (unsigned)policy, (int)advise);
    }
    struct snpu_alloc request = {
        .size_b = size,
        .pages = policies[number].pages,
        .dev = ctx->dev,
        .module = SNPU_MODULE_APP,
        .p2p = policies[number].p2p,
        .read_only = ((uint32_t)policy & RT_MEM_ACCESS_USER_SPACE_READONLY) != 0,
        .task_scheduler = advise == RT_MEM_ADVISE_TS,
    };
    code = read_config("rtsMalloc", cfg, &request.module, &request.dev);
    return code != 0 ? code : snpu__mem_alloc(&request, devPtr);
}

static int32_t malloc_host(void **out, uint64_t size_b, uint32_t dev, uint16_t module)
{
    void *block = NULL;
    drvError_t result =
        halMemAlloc(&block, size_b,
                    (unsigned long long)module << MEM_MODULE_ID_BIT | MEM_HOST | ALIGN_512 | (dev & MEM_DEVID_MASK));
    if (result != DRV_ERROR_NONE) {
        return snpu_from_drv(result, "allocation of pinned host memory");
    }
    snpu_prof_mem_mng(dev, SNPU_PROF_NO_STREAM, (uintptr_t)block, size_b, SNPU_PROF_MEM_HOST, SNPU_PROF_MALLOC);
    *out = block;
    return 0;
}

static int32_t malloc_host_with(const char *function, void **out, uint64_t size_b, uint16_t module,
                                const rtMallocConfig_t *cfg)
{
    struct snpu_ctx *ctx;
    int32_t code = snpu_ctx_need(function, &ctx);
    if (code != 0) {
        return code;
    }
    if (out == NULL || size_b == 0) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %s", function,
                         out == NULL ? "the result pointer is NULL" : "size is 0");
    }
    uint32_t dev = ctx->dev;
    code = read_config(function, cfg, &module, &dev);
    return code != 0 ? code : malloc_host(out, size_b, dev, module);
}

rtError_t rtMallocHost(void **hostPtr, uint64_t size, const uint16_t moduleId)
{
    SNPU_PROF_RT_CALL(HOST_MALLOC);
    return malloc_host_with("rtMallocHost", hostPtr, size, moduleId, NULL);
}

rtError_t rtsMallocHost(void **hostPtr, uint64_t size, const rtMallocConfig_t *cfg)
{
    SNPU_PROF_RT_CALL(HOST_MALLOC);
    return malloc_host_with("rtsMallocHost", hostPtr, size, SNPU_MODULE_APP, cfg);
}

int32_t snpu_mem_alloc_managed(void **out, uint64_t size_b)
{
    SNPU_PROF_RT_CALL(MANAGED_MEM_ALLOC);
    struct snpu_ctx *ctx;
    int32_t code = snpu_ctx_need("aclrtMemAllocManaged", &ctx);
    if (code != 0) {
        return code;
    }
    unsigned long long flag = (unsigned long long)SNPU_MODULE_APP << MEM_MODULE_ID_BIT | MEM_SVM | MEM_TYPE_HBM |
                              ALIGN_512 | (ctx->dev & MEM_DEVID_MASK);
    void *block = NULL;
    drvError_t result = DRV_ERROR_OUT_OF_MEMORY;
    if (size_b > HUGE_ABOVE_B) {
        result = halMemAlloc(&block, size_b, flag | MEM_PAGE_HUGE);
    }
    if (result != DRV_ERROR_NONE) {
        result = halMemAlloc(&block, size_b, flag);
    }
    if (result != DRV_ERROR_NONE) {
        return alloc_failed(result, size_b, ctx->dev);
    }
    snpu__managed_forget(block); /* advice left over from a block that was here before its device was reset */
    snpu_prof_mem_mng(ctx->dev, SNPU_PROF_NO_STREAM, (uintptr_t)block, size_b, SNPU_PROF_MEM_MANAGED, SNPU_PROF_MALLOC);
    *out = block;
    return 0;
}

/* ---- freeing ---- */
/* What to do with a pointer that aclrtFree cannot free. */
static const char *const advice[] = {
    [SNPU_RANGE_NONE] = "not device memory: already freed, or never allocated",
    [SNPU_RANGE_RESERVED] = "a reserved address: use aclrtReleaseMemAddress",
    [SNPU_RANGE_MAPPED] = "mapped physical memory: use aclrtUnmapMem",
    [SNPU_RANGE_REGISTERED] = "registered host memory: use aclrtHostUnregister",
    [SNPU_RANGE_IMPORTED] = "another process's memory: use aclrtIpcMemClose",
};

static int32_t free_block(const char *function, void *ptr)
{
    struct snpu_ctx *ctx;
    struct snpu_range range;
    int32_t code = snpu_ctx_need(function, &ctx);
    if (code != 0) {
        return code;
    }
    snpu_hal_lookup(ptr, &range);
    if ((size_t)range.kind < MS_COUNT_OF(advice) && advice[range.kind] != NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is %s", function, ptr, advice[range.kind]);
    }
    if (range.base != (uintptr_t)ptr) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is %zu bytes inside the block that begins at %p", function,
                         ptr, (size_t)((uintptr_t)ptr - range.base), (void *)range.base);
    }
    if (snpu__mempool_owns(ptr)) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p belongs to a memory pool: use aclrtMemPoolFreeAsync",
                         function, ptr);
    }
    enum snpu_prof_memory memory = range.kind == SNPU_RANGE_HOST      ? SNPU_PROF_MEM_HOST
                                   : range.kind == SNPU_RANGE_MANAGED ? SNPU_PROF_MEM_MANAGED
                                                                      : SNPU_PROF_MEM_DEVICE;
    if (range.kind == SNPU_RANGE_MANAGED) {
        snpu__managed_forget(ptr);
    }
    drvError_t result = halMemFree(ptr);
    if (result != DRV_ERROR_NONE) {
        return snpu_from_drv(result, function);
    }
    snpu_prof_mem_mng(range.dev, SNPU_PROF_NO_STREAM, (uintptr_t)ptr, range.size_b, memory, SNPU_PROF_FREE);
    return 0;
}

rtError_t rtFree(void *devPtr)
{
    SNPU_PROF_RT_CALL(DEV_FREE);
    return free_block("rtFree", devPtr);
}

rtError_t rtFreeHost(void *hostPtr)
{
    SNPU_PROF_RT_CALL(HOST_FREE);
    return free_block("rtFreeHost", hostPtr);
}

/* ---- pointers ---- */
/* Foreign host memory: checks with the kernel that all of it is mapped. An asynchronous msync only walks the mappings
 * of the range (not its pages) and reports a hole. */
static bool host_mapped(const void *ptr, uint64_t size_b)
{
    const uintptr_t page_b = 4096;
    uintptr_t first = (uintptr_t)ptr & ~(page_b - 1), end;
    if (size_b == 0) {
        return true;
    }
    if (__builtin_add_overflow((uintptr_t)ptr, size_b, &end)) {
        return false;
    }
    int kept = errno;
    bool mapped = msync((void *)first, end - first, MS_ASYNC) == 0;
    errno = kept;
    return mapped;
}

bool snpu__mem_touchable(const void *ptr, uint64_t size_b, enum snpu_access access)
{
    struct snpu_range range;
    bool allowed = access == SNPU_WRITE ? snpu_hal_writable(ptr, size_b) : snpu_hal_accessible(ptr, size_b);
    return allowed && (snpu_hal_lookup(ptr, &range) || host_mapped(ptr, size_b));
}

int32_t snpu__mem_check(const char *function, const char *what, const void *ptr, uint64_t size_b,
                        enum snpu_access access)
{
    if (snpu__mem_touchable(ptr, size_b, access)) {
        return 0;
    }
    return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %s: %llu bytes at %p are not all %s memory", function, what,
                     (unsigned long long)size_b, ptr, access == SNPU_WRITE ? "writable" : "readable");
}

bool snpu__mem_on_device(const void *ptr)
{
    struct snpu_range range;
    snpu_hal_lookup(ptr, &range);
    switch (range.kind) {
    case SNPU_RANGE_DEVICE:
    case SNPU_RANGE_MANAGED:
    case SNPU_RANGE_IMPORTED:
        return true;
    case SNPU_RANGE_MAPPED:
        return !range.host_side;
    default:
        return false;
    }
}

bool snpu__mem_pageable(const void *ptr)
{
    struct snpu_range range;
    return !snpu_hal_lookup(ptr, &range);
}

int32_t snpu_mem_touch(const char *function, const void *ptr, uint64_t size_b)
{
    struct snpu_ctx *ctx;
    int32_t code = snpu_ctx_need(function, &ctx);
    return code != 0 ? code : snpu__mem_check(function, "range", ptr, size_b, SNPU_READ);
}

rtError_t rtPointerGetAttributes(rtPointerAttributes_t *attributes, const void *ptr)
{
    if (attributes == NULL || ptr == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "rtPointerGetAttributes: NULL argument");
    }
    static const struct {
        rtMemoryType_t type;
        rtMemLocationType location;
    } places[] = {
        [SNPU_RANGE_NONE] = {RT_MEMORY_TYPE_USER, RT_MEMORY_LOC_UNREGISTERED},
        [SNPU_RANGE_DEVICE] = {RT_MEMORY_TYPE_DEVICE, RT_MEMORY_LOC_DEVICE},
        [SNPU_RANGE_HOST] = {RT_MEMORY_TYPE_HOST, RT_MEMORY_LOC_HOST},
        [SNPU_RANGE_MANAGED] = {RT_MEMORY_TYPE_SVM, RT_MEMORY_LOC_MANAGED},
        [SNPU_RANGE_RESERVED] = {RT_MEMORY_TYPE_USER, RT_MEMORY_LOC_UNREGISTERED},
        [SNPU_RANGE_MAPPED] = {RT_MEMORY_TYPE_DEVICE, RT_MEMORY_LOC_DEVICE},
        [SNPU_RANGE_REGISTERED] = {RT_MEMORY_TYPE_HOST, RT_MEMORY_LOC_HOST},
        [SNPU_RANGE_IMPORTED] = {RT_MEMORY_TYPE_DEVICE, RT_MEMORY_LOC_DEVICE},
    };
    struct snpu_range range;
    snpu_hal_lookup(ptr, &range);
    bool host_mapping = range.kind == SNPU_RANGE_MAPPED && range.host_side;
    enum snpu_range_kind kind = host_mapping ? SNPU_RANGE_HOST : range.kind;
    int32_t user_dev = 0;
    if (kind != SNPU_RANGE_NONE) {
        snpu_dev_to_user(range.dev, &user_dev);
    }
    attributes->memoryType = places[kind].type;
    attributes->locationType = (rtMemoryType_t)places[kind].location;
    attributes->deviceID = (uint32_t)user_dev;
    attributes->pageSize = kind == SNPU_RANGE_NONE ? (uint32_t)sysconf(_SC_PAGESIZE) : range.page_b;
    return 0;
}

int32_t snpu_mem_check_type(void **pointers, uint32_t count, uint32_t types, uint32_t *result)
{
    bool all = true;
    for (uint32_t i = 0; i < count; i++) {
        struct snpu_range range;
        snpu_hal_lookup(pointers[i], &range);
        uint32_t type = range.kind == SNPU_RANGE_RESERVED  ? ACL_RT_MEM_TYPE_RSVD
                        : snpu__mem_on_device(pointers[i]) ? ACL_RT_MEM_TYPE_DEV
                                                           : 0;
        all = all && (type & types) != 0;
    }
    *result = all;
    return 0;
}

/* ---- information ---- */
enum { POOL_NORMAL = 1, POOL_HUGE = 2, POOL_GIANT = 4 };

static const struct {
    uint32_t hal_type;
    uint32_t pools;
} infos[] = {
    [RT_MEMORYINFO_DDR] = {MEM_INFO_TYPE_DDR_SIZE, POOL_NORMAL | POOL_HUGE},
    [RT_MEMORYINFO_HBM] = {MEM_INFO_TYPE_HBM_SIZE, POOL_NORMAL | POOL_HUGE},
    [RT_MEMORYINFO_DDR_HUGE] = {MEM_INFO_TYPE_DDR_SIZE, POOL_HUGE},
    [RT_MEMORYINFO_DDR_NORMAL] = {MEM_INFO_TYPE_DDR_SIZE, POOL_NORMAL},
    [RT_MEMORYINFO_HBM_HUGE] = {MEM_INFO_TYPE_HBM_SIZE, POOL_HUGE},
    [RT_MEMORYINFO_HBM_NORMAL] = {MEM_INFO_TYPE_HBM_SIZE, POOL_NORMAL},
    [RT_MEMORYINFO_DDR_P2P_HUGE] = {MEM_INFO_TYPE_DDR_P2P_SIZE, POOL_HUGE},
    [RT_MEMORYINFO_DDR_P2P_NORMAL] = {MEM_INFO_TYPE_DDR_P2P_SIZE, POOL_NORMAL},
    [RT_MEMORYINFO_HBM_P2P_HUGE] = {MEM_INFO_TYPE_HBM_P2P_SIZE, POOL_HUGE},
    [RT_MEMORYINFO_HBM_P2P_NORMAL] = {MEM_INFO_TYPE_HBM_P2P_SIZE, POOL_NORMAL},
    [RT_MEMORYINFO_HBM_HUGE1G] = {MEM_INFO_TYPE_HBM_SIZE, POOL_GIANT},
    [RT_MEMORYINFO_HBM_P2P_HUGE1G] = {MEM_INFO_TYPE_HBM_P2P_SIZE, POOL_GIANT},
    [RT_MEMORYINFO_NORMAL] = {MEM_INFO_TYPE_HBM_SIZE, POOL_NORMAL},
    [RT_MEMORYINFO_HUGE] = {MEM_INFO_TYPE_HBM_SIZE, POOL_HUGE},
    [RT_MEMORYINFO_HUGE1G] = {MEM_INFO_TYPE_HBM_SIZE, POOL_GIANT},
    [RT_MEMORYINFO_P2P_NORMAL] = {MEM_INFO_TYPE_HBM_P2P_SIZE, POOL_NORMAL},
    [RT_MEMORYINFO_P2P_HUGE] = {MEM_INFO_TYPE_HBM_P2P_SIZE, POOL_HUGE},
    [RT_MEMORYINFO_P2P_HUGE1G] = {MEM_INFO_TYPE_HBM_P2P_SIZE, POOL_GIANT},
};

rtError_t rtMemGetInfoEx(rtMemInfoType_t memInfoType, size_t *freeSize, size_t *totalSize)
{
    struct snpu_ctx *ctx;
    int32_t code = snpu_ctx_need("rtMemGetInfoEx", &ctx);
    if (code != 0) {
        return code;
    }
    if (freeSize == NULL || totalSize == NULL || (size_t)memInfoType >= MS_COUNT_OF(infos)) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID,
                         "rtMemGetInfoEx: invalid argument: type %d, freeSize %p, totalSize %p", (int)memInfoType,
                         (void *)freeSize, (void *)totalSize);
    }
    struct MemInfo info;
    memset(&info, 0, sizeof(info));
    drvError_t result = halMemGetInfo(ctx->dev, infos[memInfoType].hal_type, &info);
    if (result != DRV_ERROR_NONE) {
        return snpu_from_drv(result, "halMemGetInfo");
    }
    uint32_t pools = infos[memInfoType].pools;
    const struct MemPhyInfo *phy = &info.phy_info;
    *freeSize = (pools & POOL_NORMAL ? phy->free : 0) + (pools & POOL_HUGE ? phy->huge_free : 0) +
                (pools & POOL_GIANT ? phy->giant_free : 0);
    *totalSize = (pools & POOL_NORMAL ? phy->total : 0) + (pools & POOL_HUGE ? phy->huge_total : 0) +
                 (pools & POOL_GIANT ? phy->giant_total : 0);
    return 0;
}

int32_t snpu_mem_usage(int32_t user_dev, void *entries, size_t capacity, size_t *count)
{
    uint32_t dev;
    int32_t code = snpu_dev_from_user("aclrtGetMemUsageInfo", user_dev, &dev);
    return code != 0 ? code : snpu_from_drv(halGetMemUsageInfo(dev, entries, capacity, count), "halGetMemUsageInfo");
}
