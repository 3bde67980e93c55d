/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools and framework allocators. Threads: no state here. */
#include "abi/acl_impl.h"
#include "softnpu/acl/check.h"
#include "softnpu/runtime/allocator.h"
#include "softnpu/runtime/mempool.h"

/* ---- pools ---- */
aclError aclrtMemPoolCreateImpl(aclrtMemPool *memPool, const aclrtMemPoolProps *poolProps)
{
    SNPU_ACL_NOT_NULL(memPool);
    SNPU_ACL_NOT_NULL(poolProps);
    if (poolProps->allocType != ACL_MEM_ALLOCATION_TYPE_PINNED || poolProps->handleType != ACL_MEM_HANDLE_TYPE_NONE ||
        poolProps->location.type != ACL_MEM_LOCATION_TYPE_DEVICE) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID,
                         "aclrtMemPoolCreate: unsupported allocType %d, handleType %d or location %d",
                         (int)poolProps->allocType, (int)poolProps->handleType, (int)poolProps->location.type);
    }
    return snpu_mempool_create(memPool, (int32_t)poolProps->location.id, poolProps->maxSize);
}

aclError aclrtMemPoolDestroyImpl(const aclrtMemPool memPool)
{
    SNPU_ACL_NOT_NULL(memPool);
    return snpu_mempool_destroy(memPool);
}

aclError aclrtMemPoolSetAttrImpl(aclrtMemPool memPool, aclrtMemPoolAttr attr, void *value)
{
    SNPU_ACL_NOT_NULL(memPool);
    SNPU_ACL_NOT_NULL(value);
    return snpu_mempool_set(memPool, (int32_t)attr, value);
}

aclError aclrtMemPoolGetAttrImpl(aclrtMemPool memPool, aclrtMemPoolAttr attr, void *value)
{
    SNPU_ACL_NOT_NULL(memPool);
    SNPU_ACL_NOT_NULL(value);
    return snpu_mempool_get(memPool, (int32_t)attr, value);
}

aclError aclrtMemPoolMallocAsyncImpl(void **devPtr, size_t size, aclrtMemPool memPool, aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(devPtr);
    SNPU_ACL_NOT_NULL(memPool);
    return snpu_mempool_alloc(devPtr, size, memPool, stream);
}

aclError aclrtMemPoolFreeAsyncImpl(void *ptr, aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(ptr);
    return snpu_mempool_free(ptr, stream);
}

aclError aclrtMemPoolTrimToImpl(aclrtMemPool memPool, size_t minBytesToKeep)
{
    SNPU_ACL_NOT_NULL(memPool);
    return snpu_mempool_trim(memPool, minBytesToKeep);
}

/* ---- allocators ---- */
aclrtAllocatorDesc aclrtAllocatorCreateDescImpl(void)
{
    return snpu_allocator_new();
}

aclError aclrtAllocatorDestroyDescImpl(aclrtAllocatorDesc allocatorDesc)
{
    SNPU_ACL_NOT_NULL(allocatorDesc);
    return snpu_allocator_free(allocatorDesc);
}

/* One member of a descriptor. */
#define SET_MEMBER(member, value)                                                                                      \
    do {                                                                                                               \
        SNPU_ACL_NOT_NULL(allocatorDesc);                                                                              \
        SNPU_ACL_REQUIRE((value) != NULL, "%.*s: NULL", SNPU_ACL_CALLER);                                              \
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
    SNPU_ACL_NOT_NULL(allocatorDesc);
    return snpu_allocator_register(stream, allocatorDesc);
}

aclError aclrtAllocatorGetByStreamImpl(aclrtStream stream, aclrtAllocatorDesc *allocatorDesc, aclrtAllocator *allocator,
                                       aclrtAllocatorAllocFunc *allocFunc, aclrtAllocatorFreeFunc *freeFunc,
                                       aclrtAllocatorAllocAdviseFunc *allocAdviseFunc,
                                       aclrtAllocatorGetAddrFromBlockFunc *getAddrFromBlockFunc)
{
    struct snpu_allocator found;
    SNPU_ACL_NOT_NULL(allocatorDesc);
    SNPU_ACL_NOT_NULL(allocator);
    SNPU_ACL_NOT_NULL(allocFunc);
    SNPU_ACL_NOT_NULL(freeFunc);
    SNPU_ACL_NOT_NULL(allocAdviseFunc);
    SNPU_ACL_NOT_NULL(getAddrFromBlockFunc);
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
