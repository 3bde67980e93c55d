/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools and allocators of frameworks. Threads: no state here. */
#include "abi/acl_impl.h"
#include "softnpu/acl/check.h"
#include "softnpu/runtime/allocator.h"
#include "softnpu/runtime/mempool.h"

/* ---- pools ---- */
aclError aclrtMemPoolCreateImpl(aclrtMemPool *memPool, const aclrtMemPoolProps *poolProps)
{
    ACL_NOT_NULL(memPool);
    ACL_NOT_NULL(poolProps);
    if (poolProps->allocType != ACL_MEM_ALLOCATION_TYPE_PINNED || poolProps->handleType != ACL_MEM_HANDLE_TYPE_NONE ||
        poolProps->location.type != ACL_MEM_LOCATION_TYPE_DEVICE) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMemPoolCreate: allocation %d, handle %d, location %d",
                         (int)poolProps->allocType, (int)poolProps->handleType, (int)poolProps->location.type);
    }
    return snpu_mempool_create(memPool, (int32_t)poolProps->location.id, poolProps->maxSize);
}

aclError aclrtMemPoolDestroyImpl(const aclrtMemPool memPool)
{
    ACL_NOT_NULL(memPool);
    return snpu_mempool_destroy(memPool);
}

aclError aclrtMemPoolSetAttrImpl(aclrtMemPool memPool, aclrtMemPoolAttr attr, void *value)
{
    ACL_NOT_NULL(memPool);
    ACL_NOT_NULL(value);
    return snpu_mempool_set(memPool, (int32_t)attr, value);
}

aclError aclrtMemPoolGetAttrImpl(aclrtMemPool memPool, aclrtMemPoolAttr attr, void *value)
{
    ACL_NOT_NULL(memPool);
    ACL_NOT_NULL(value);
    return snpu_mempool_get(memPool, (int32_t)attr, value);
}

aclError aclrtMemPoolMallocAsyncImpl(void **devPtr, size_t size, aclrtMemPool memPool, aclrtStream stream)
{
    ACL_NOT_NULL(devPtr);
    ACL_NOT_NULL(memPool);
    return snpu_mempool_alloc(devPtr, size, memPool, stream);
}

aclError aclrtMemPoolFreeAsyncImpl(void *ptr, aclrtStream stream)
{
    ACL_NOT_NULL(ptr);
    return snpu_mempool_free(ptr, stream);
}

aclError aclrtMemPoolTrimToImpl(aclrtMemPool memPool, size_t minBytesToKeep)
{
    ACL_NOT_NULL(memPool);
    return snpu_mempool_trim(memPool, minBytesToKeep);
}

/* ---- allocators ---- */
aclrtAllocatorDesc aclrtAllocatorCreateDescImpl(void)
{
    return snpu_allocator_new();
}

aclError aclrtAllocatorDestroyDescImpl(aclrtAllocatorDesc allocatorDesc)
{
    ACL_NOT_NULL(allocatorDesc);
    return snpu_allocator_free(allocatorDesc);
}

/* One member of a description. */
#define SET_MEMBER(member, value)                                                                                      \
    do {                                                                                                               \
        ACL_NOT_NULL(allocatorDesc);                                                                                   \
        ACL_REQUIRE((value) != NULL, "%.*s: NULL", ACL_CALLER);                                                        \
        struct snpu_allocator *allocator = snpu_allocator_of(__func__, allocatorDesc);                                 \
        if (allocator == NULL) {                                                                                       \
            return ACL_ERROR_RT_PARAM_INVALID;                                                                         \
        }                                                                                                              \
        allocator->member = (value);                                                                                   \
        return ACL_SUCCESS;                                                                                            \
    } while (0)

aclError aclrtAllocatorSetObjToDescImpl(aclrtAllocatorDesc allocatorDesc, aclrtAllocator allocator_)
{
    SET_MEMBER(object, allocator_);
}

aclError aclrtAllocatorSetAllocFuncToDescImpl(aclrtAllocatorDesc allocatorDesc, aclrtAllocatorAllocFunc func)
{
    SET_MEMBER(alloc, func);
}

aclError aclrtAllocatorSetFreeFuncToDescImpl(aclrtAllocatorDesc allocatorDesc, aclrtAllocatorFreeFunc func)
{
    SET_MEMBER(free, func);
}

aclError aclrtAllocatorSetAllocAdviseFuncToDescImpl(aclrtAllocatorDesc allocatorDesc,
                                                    aclrtAllocatorAllocAdviseFunc func)
{
    SET_MEMBER(alloc_advise, func);
}

aclError aclrtAllocatorSetGetAddrFromBlockFuncToDescImpl(aclrtAllocatorDesc allocatorDesc,
                                                         aclrtAllocatorGetAddrFromBlockFunc func)
{
    SET_MEMBER(address, func);
}

aclError aclrtAllocatorRegisterImpl(aclrtStream stream, aclrtAllocatorDesc allocatorDesc)
{
    ACL_NOT_NULL(allocatorDesc);
    return snpu_allocator_register(stream, allocatorDesc);
}

aclError aclrtAllocatorGetByStreamImpl(aclrtStream stream, aclrtAllocatorDesc *allocatorDesc, aclrtAllocator *allocator,
                                       aclrtAllocatorAllocFunc *allocFunc, aclrtAllocatorFreeFunc *freeFunc,
                                       aclrtAllocatorAllocAdviseFunc *allocAdviseFunc,
                                       aclrtAllocatorGetAddrFromBlockFunc *getAddrFromBlockFunc)
{
    struct snpu_allocator found;
    ACL_NOT_NULL(allocatorDesc);
    ACL_NOT_NULL(allocator);
    ACL_NOT_NULL(allocFunc);
    ACL_NOT_NULL(freeFunc);
    ACL_NOT_NULL(allocAdviseFunc);
    ACL_NOT_NULL(getAddrFromBlockFunc);
    aclError code = snpu_allocator_get(stream, allocatorDesc, &found);
    if (code == 0) {
        *allocator = found.object;
        *allocFunc = found.alloc;
        *freeFunc = found.free;
        *allocAdviseFunc = found.alloc_advise;
        *getAddrFromBlockFunc = found.address;
    }
    return code;
}

aclError aclrtAllocatorUnregisterImpl(aclrtStream stream)
{
    return snpu_allocator_unregister(stream);
}
