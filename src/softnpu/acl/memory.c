/* SPDX-License-Identifier: Apache-2.0 */
/* Device and host memory: ACL's sizes and policies on top of the runtime's allocation.
 *
 * aclrtMalloc adds 32 bytes that kernels may read beyond the end of a tensor; the other calls do not. Tools see
 * these sizes in the driver, so they are exactly the vendor's. Threads: no state here. */
#include "abi/acl_impl.h"
#include "softnpu/acl/check.h"
#include "softnpu/runtime/context.h"
#include "softnpu/runtime/memory.h"
#include "softnpu/runtime/task.h"

#include "runtime/rt.h"

#include <string.h>

#define UNIT_B    32u
#define PADDING_B 32u

/* ---- device memory ---- */
static const uint32_t rt_policies[] = {
    [ACL_MEM_MALLOC_HUGE_FIRST] = RT_MEMORY_POLICY_HUGE_PAGE_FIRST,
    [ACL_MEM_MALLOC_HUGE_ONLY] = RT_MEMORY_POLICY_HUGE_PAGE_ONLY,
    [ACL_MEM_MALLOC_NORMAL_ONLY] = RT_MEMORY_POLICY_DEFAULT_PAGE_ONLY,
    [ACL_MEM_MALLOC_HUGE_FIRST_P2P] = RT_MEMORY_POLICY_HUGE_PAGE_FIRST_P2P,
    [ACL_MEM_MALLOC_HUGE_ONLY_P2P] = RT_MEMORY_POLICY_HUGE_PAGE_ONLY_P2P,
    [ACL_MEM_MALLOC_NORMAL_ONLY_P2P] = RT_MEMORY_POLICY_DEFAULT_PAGE_ONLY_P2P,
    [ACL_MEM_MALLOC_HUGE1G_ONLY] = RT_MEMORY_POLICY_HUGE1G_PAGE_ONLY,
    [ACL_MEM_MALLOC_HUGE1G_ONLY_P2P] = RT_MEMORY_POLICY_HUGE1G_PAGE_ONLY_P2P,
};

static bool giant(uint32_t policy)
{
    return policy == ACL_MEM_MALLOC_HUGE1G_ONLY || policy == ACL_MEM_MALLOC_HUGE1G_ONLY_P2P;
}

typedef rtError_t (*malloc_fn)(void **out, uint64_t size, rtMemType_t type, const uint16_t module);

static aclError allocate(const char *function, malloc_fn fn, void **out, size_t size, aclrtMemMallocPolicy policy,
                         size_t padding_b)
{
    const uint32_t places = ACL_MEM_TYPE_LOW_BAND_WIDTH | ACL_MEM_TYPE_HIGH_BAND_WIDTH;
    uint32_t number = (uint32_t)policy & ~(places | ACL_MEM_ACCESS_USER_SPACE_READONLY);
    size_t padded;
    SNPU_ACL_REQUIRE(out != NULL, "%s: devPtr is NULL", function);
    SNPU_ACL_REQUIRE(size > 0, "%s: size is 0", function);
    SNPU_ACL_REQUIRE(number < MS_COUNT_OF(rt_policies), "%s: unknown policy 0x%x", function, (unsigned)policy);
    SNPU_ACL_REQUIRE(!__builtin_add_overflow(size, (giant(number) ? 0 : padding_b) + UNIT_B - 1, &padded),
                     "%s: size %zu is too large", function, size);
    padded = padded / UNIT_B * UNIT_B;
    if (((uint32_t)policy & ACL_MEM_ACCESS_USER_SPACE_READONLY) != 0) {
        return rtsMalloc(out, padded, (rtMallocPolicy)policy, RT_MEM_ADVISE_NONE, NULL);
    }
    return fn(out, padded, rt_policies[number], SNPU_MODULE_APP);
}

aclError aclrtMallocImpl(void **devPtr, size_t size, aclrtMemMallocPolicy policy)
{
    return allocate("aclrtMalloc", rtMalloc, devPtr, size, policy, PADDING_B);
}

aclError aclrtMallocAlign32Impl(void **devPtr, size_t size, aclrtMemMallocPolicy policy)
{
    return allocate("aclrtMallocAlign32", rtMalloc, devPtr, size, policy, 0);
}

aclError aclrtMallocCachedImpl(void **devPtr, size_t size, aclrtMemMallocPolicy policy)
{
    return allocate("aclrtMallocCached", rtMallocCached, devPtr, size, policy, PADDING_B);
}

_Static_assert(sizeof(aclrtMallocConfig) == sizeof(rtMallocConfig_t) &&
                   sizeof(aclrtMallocAttribute) == sizeof(rtMallocAttribute_t),
               "configurations are passed on as they are");

aclError aclrtMallocWithCfgImpl(void **devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg)
{
    SNPU_ACL_NOT_NULL(devPtr);
    SNPU_ACL_REQUIRE(size > 0, "aclrtMallocWithCfg: size is 0");
    return rtsMalloc(devPtr, size, (rtMallocPolicy)policy, RT_MEM_ADVISE_NONE, (rtMallocConfig_t *)cfg);
}

aclError aclrtMallocForTaskSchedulerImpl(void **devPtr, size_t size, aclrtMemMallocPolicy policy,
                                         aclrtMallocConfig *cfg)
{
    SNPU_ACL_NOT_NULL(devPtr);
    SNPU_ACL_REQUIRE(size > 0, "aclrtMallocForTaskScheduler: size is 0");
    return rtsMalloc(devPtr, size, (rtMallocPolicy)policy, RT_MEM_ADVISE_TS, (rtMallocConfig_t *)cfg);
}

aclError aclrtFreeImpl(void *devPtr)
{
    SNPU_ACL_NOT_NULL(devPtr);
    return rtFree(devPtr);
}

/* Waits for the device of the current context. Task errors are not reported here, but by the synchronize calls. */
static aclError wait_for_device(const char *function)
{
    struct snpu_ctx *ctx;
    aclError code = snpu_ctx_need(function, &ctx);
    if (code == 0) {
        code = snpu_capture_check_unsafe(function);
    }
    if (code == 0) {
        snpu_dev_synchronize(ctx->dev, -1);
    }
    return code;
}

aclError aclrtFreeWithDevSyncImpl(void *devPtr)
{
    SNPU_ACL_NOT_NULL(devPtr);
    aclError code = wait_for_device("aclrtFreeWithDevSync");
    return code != 0 ? code : rtFree(devPtr);
}

/* ---- host memory ---- */
aclError aclrtMallocHostImpl(void **hostPtr, size_t size)
{
    SNPU_ACL_NOT_NULL(hostPtr);
    SNPU_ACL_REQUIRE(size > 0, "aclrtMallocHost: size is 0");
    return rtMallocHost(hostPtr, size, SNPU_MODULE_APP);
}

aclError aclrtMallocHostWithCfgImpl(void **ptr, uint64_t size, aclrtMallocConfig *cfg)
{
    SNPU_ACL_NOT_NULL(ptr);
    SNPU_ACL_REQUIRE(size > 0, "aclrtMallocHostWithCfg: size is 0");
    return rtsMallocHost(ptr, size, (const rtMallocConfig_t *)cfg);
}

aclError aclrtFreeHostImpl(void *hostPtr)
{
    SNPU_ACL_NOT_NULL(hostPtr);
    return rtFreeHost(hostPtr);
}

aclError aclrtFreeHostWithDevSyncImpl(void *hostPtr)
{
    SNPU_ACL_NOT_NULL(hostPtr);
    aclError code = wait_for_device("aclrtFreeHostWithDevSync");
    return code != 0 ? code : rtFreeHost(hostPtr);
}

aclError aclrtHostRegisterImpl(void *ptr, uint64_t size, aclrtHostRegisterType type, void **devPtr)
{
    SNPU_ACL_NOT_NULL(ptr);
    SNPU_ACL_NOT_NULL(devPtr);
    return rtsHostRegister(ptr, size, (rtHostRegisterType)type, devPtr);
}

aclError aclrtHostRegisterV2Impl(void *ptr, uint64_t size, uint32_t flag)
{
    SNPU_ACL_NOT_NULL(ptr);
    const uint32_t known = ACL_HOST_REG_MAPPED | ACL_HOST_REG_IOMEMORY | ACL_HOST_REG_READONLY | ACL_HOST_REG_PINNED;
    SNPU_ACL_REQUIRE((flag & ~known) == 0, "aclrtHostRegisterV2: unknown bits in flag 0x%x", flag);
    return snpu_host_register("aclrtHostRegisterV2", ptr, size, flag & (ACL_HOST_REG_IOMEMORY | ACL_HOST_REG_READONLY),
                              NULL);
}

aclError aclrtHostUnregisterImpl(void *ptr)
{
    SNPU_ACL_NOT_NULL(ptr);
    return rtsHostUnregister(ptr);
}

aclError aclrtHostGetDevicePointerImpl(void *pHost, void **pDevice, uint32_t flag)
{
    SNPU_ACL_NOT_NULL(pHost);
    SNPU_ACL_NOT_NULL(pDevice);
    return snpu_host_device_pointer(pHost, pDevice, flag);
}

aclError aclrtHostMemMapCapabilitiesImpl(uint32_t deviceId, aclrtHacType hacType,
                                         aclrtHostMemMapCapability *capabilities)
{
    uint32_t dev;
    SNPU_ACL_NOT_NULL(capabilities);
    SNPU_ACL_REQUIRE(hacType <= ACL_RT_HAC_TYPE_CCU, "aclrtHostMemMapCapabilities: unknown hacType %d", (int)hacType);
    aclError code = snpu_dev_from_user("aclrtHostMemMapCapabilities", (int32_t)deviceId, &dev);
    if (code == 0) {
        *capabilities = ACL_RT_HOST_MEM_MAP_SUPPORTED; /* all units share one memory */
    }
    return code;
}

/* ---- information ---- */
aclError aclrtGetMemInfoImpl(aclrtMemAttr attr, size_t *free, size_t *total)
{
    SNPU_ACL_NOT_NULL(free);
    SNPU_ACL_NOT_NULL(total);
    return rtMemGetInfoEx((rtMemInfoType_t)attr, free, total);
}

aclError aclrtGetMemUsageInfoImpl(int32_t deviceId, aclrtMemUsageInfo *memUsageInfo, size_t inputNum, size_t *outputNum)
{
    SNPU_ACL_NOT_NULL(memUsageInfo);
    SNPU_ACL_NOT_NULL(outputNum);
    SNPU_ACL_REQUIRE(inputNum > 0, "aclrtGetMemUsageInfo: inputNum is 0");
    return snpu_mem_usage(deviceId, memUsageInfo, inputNum, outputNum);
}

aclError aclrtPointerGetAttributesImpl(const void *ptr, aclrtPtrAttributes *attributes)
{
    SNPU_ACL_NOT_NULL(ptr);
    SNPU_ACL_NOT_NULL(attributes);
    rtPointerAttributes_t found;
    aclError code = rtPointerGetAttributes(&found, ptr);
    if (code == 0) {
        memset(attributes, 0, sizeof(*attributes));
        attributes->location.id = found.deviceID;
        attributes->location.type = (aclrtMemLocationType)found.locationType;
        attributes->pageSize = found.pageSize;
    }
    return code;
}

aclError aclrtCheckMemTypeImpl(void **addrList, uint32_t size, uint32_t memType, uint32_t *checkResult,
                               uint32_t reserve)
{
    const uint32_t known = ACL_RT_MEM_TYPE_DEV | ACL_RT_MEM_TYPE_DVPP | ACL_RT_MEM_TYPE_RSVD;
    SNPU_ACL_NOT_NULL(addrList);
    SNPU_ACL_NOT_NULL(checkResult);
    SNPU_ACL_REQUIRE(size > 0 && reserve == 0 && memType != 0 && (memType & ~known) == 0,
                     "aclrtCheckMemType: invalid arguments: %u addresses, type 0x%x, reserve %u", size, memType,
                     reserve);
    return snpu_mem_check_type(addrList, size, memType, checkResult);
}

/* ---- cache maintenance: memory is always coherent ---- */
aclError aclrtMemFlushImpl(void *devPtr, size_t size)
{
    SNPU_ACL_NOT_NULL(devPtr);
    SNPU_ACL_REQUIRE(size > 0, "aclrtMemFlush: size is 0");
    return snpu_mem_touch("aclrtMemFlush", devPtr, size);
}

aclError aclrtMemInvalidateImpl(void *devPtr, size_t size)
{
    SNPU_ACL_NOT_NULL(devPtr);
    SNPU_ACL_REQUIRE(size > 0, "aclrtMemInvalidate: size is 0");
    return snpu_mem_touch("aclrtMemInvalidate", devPtr, size);
}

aclError aclrtDeviceL2CacheFlushImpl(void *rsv)
{
    struct snpu_ctx *ctx;
    SNPU_ACL_REQUIRE(rsv == NULL, "aclrtDeviceL2CacheFlush: rsv must be NULL");
    return snpu_ctx_need("aclrtDeviceL2CacheFlush", &ctx);
}

aclError aclrtMemP2PMapImpl(void *devPtr, size_t size, int32_t dstDevId, uint64_t flags)
{
    uint32_t dev;
    SNPU_ACL_NOT_NULL(devPtr);
    SNPU_ACL_REQUIRE(size > 0 && flags == 0, "aclrtMemP2PMap: invalid size %zu or flags %llu", size,
                     (unsigned long long)flags);
    aclError code = snpu_dev_from_user("aclrtMemP2PMap", dstDevId, &dev);
    return code != 0 ? code : snpu_mem_touch("aclrtMemP2PMap", devPtr, size);
}

/* ---- managed memory ---- */
aclError aclrtMemAllocManagedImpl(void **ptr, uint64_t size, uint32_t flag)
{
    SNPU_ACL_NOT_NULL(ptr);
    SNPU_ACL_REQUIRE(size > 0 && flag == ACL_RT_MEM_ATTACH_GLOBAL,
                     "aclrtMemAllocManaged: invalid size %llu or flag %u (must be %d)", (unsigned long long)size, flag,
                     ACL_RT_MEM_ATTACH_GLOBAL);
    return snpu_mem_alloc_managed(ptr, size);
}

static struct snpu_location location_of(aclrtMemManagedLocation location)
{
    return (struct snpu_location){(int32_t)location.type, location.id};
}

aclError aclrtMemManagedAdviseImpl(const void *const ptr, uint64_t size, aclrtMemManagedAdviseType advise,
                                   aclrtMemManagedLocation location)
{
    SNPU_ACL_NOT_NULL(ptr);
    return snpu_managed_advise(ptr, size, (int32_t)advise, location_of(location));
}

aclError aclrtMemManagedGetAttrImpl(aclrtMemManagedRangeAttribute attribute, const void *ptr, size_t size, void *data,
                                    size_t dataSize)
{
    SNPU_ACL_NOT_NULL(ptr);
    SNPU_ACL_NOT_NULL(data);
    return snpu_managed_get((int32_t)attribute, ptr, size, data, dataSize);
}

aclError aclrtMemManagedGetAttrsImpl(aclrtMemManagedRangeAttribute *attributes, size_t numAttributes, const void *ptr,
                                     size_t size, void **data, size_t *dataSizes)
{
    SNPU_ACL_NOT_NULL(attributes);
    SNPU_ACL_NOT_NULL(ptr);
    SNPU_ACL_NOT_NULL(data);
    SNPU_ACL_NOT_NULL(dataSizes);
    aclError code = 0;
    for (size_t i = 0; i < numAttributes && code == 0; i++) {
        code = snpu_managed_get((int32_t)attributes[i], ptr, size, data[i], dataSizes[i]);
    }
    return code;
}

aclError aclrtMemManagedPrefetchAsyncImpl(const void *ptr, size_t size, aclrtMemManagedLocation location,
                                          uint32_t flags, aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(ptr);
    SNPU_ACL_REQUIRE(flags == 0, "aclrtMemManagedPrefetchAsync: flags must be 0");
    return snpu_managed_prefetch(ptr, size, location_of(location), stream);
}

aclError aclrtMemManagedPrefetchBatchAsyncImpl(const void **ptrs, size_t *sizes, size_t count,
                                               aclrtMemManagedLocation *prefetchLocs, size_t *prefetchLocIdxs,
                                               size_t numPrefetchLocs, uint64_t flags, aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(ptrs);
    SNPU_ACL_NOT_NULL(sizes);
    SNPU_ACL_NOT_NULL(prefetchLocs);
    SNPU_ACL_NOT_NULL(prefetchLocIdxs);
    SNPU_ACL_REQUIRE(flags == 0 && count > 0 && numPrefetchLocs > 0 && numPrefetchLocs <= count &&
                         prefetchLocIdxs[0] == 0,
                     "aclrtMemManagedPrefetchBatchAsync: invalid arguments: %zu ranges, %zu locations, flags %llu",
                     count, numPrefetchLocs, (unsigned long long)flags);
    aclError code = 0;
    size_t location = 0; /* each location applies from its index to the next one's */
    for (size_t i = 0; i < count && code == 0; i++) {
        while (location + 1 < numPrefetchLocs && prefetchLocIdxs[location + 1] <= i) {
            location++;
        }
        code = snpu_managed_prefetch(ptrs[i], sizes[i], location_of(prefetchLocs[location]), stream);
    }
    return code;
}
