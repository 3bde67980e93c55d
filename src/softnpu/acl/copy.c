/* SPDX-License-Identifier: Apache-2.0 */
/* ACL copies and fills: arguments are checked here, the runtime does the work. Threads: no state here. */
#include "abi/acl_impl.h"
#include "softnpu/acl/check.h"
#include "softnpu/runtime/copy.h"
#include "softnpu/runtime/kernel.h"

#include "runtime/rt.h"

/* ---- flat ---- */
static const rtMemcpyKind_t rt_kinds[] = {
    [ACL_MEMCPY_HOST_TO_HOST] = RT_MEMCPY_HOST_TO_HOST,
    [ACL_MEMCPY_HOST_TO_DEVICE] = RT_MEMCPY_HOST_TO_DEVICE,
    [ACL_MEMCPY_DEVICE_TO_HOST] = RT_MEMCPY_DEVICE_TO_HOST,
    [ACL_MEMCPY_DEVICE_TO_DEVICE] = RT_MEMCPY_DEVICE_TO_DEVICE,
    [ACL_MEMCPY_DEFAULT] = RT_MEMCPY_DEFAULT,
    [ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE] = RT_MEMCPY_HOST_TO_DEVICE_EX,
    [ACL_MEMCPY_INNER_DEVICE_TO_DEVICE] = RT_MEMCPY_DEVICE_TO_DEVICE,
    [ACL_MEMCPY_INTER_DEVICE_TO_DEVICE] = RT_MEMCPY_DEVICE_TO_DEVICE,
};

#define KNOWN_KIND(kind)                                                                                               \
    SNPU_ACL_REQUIRE((uint32_t)(kind) < MS_COUNT_OF(rt_kinds), "%.*s: unknown kind %d", SNPU_ACL_CALLER, (int)(kind))

aclError aclrtMemcpyImpl(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind)
{
    if (count == 0) {
        return ACL_SUCCESS;
    }
    SNPU_ACL_NOT_NULL(dst);
    SNPU_ACL_NOT_NULL(src);
    KNOWN_KIND(kind);
    return rtMemcpy(dst, destMax, src, count, rt_kinds[kind]);
}

aclError aclrtMemcpyAsyncImpl(void *dst, size_t destMax, const void *src, size_t count, aclrtMemcpyKind kind,
                              aclrtStream stream)
{
    if (count == 0) {
        return ACL_SUCCESS;
    }
    SNPU_ACL_NOT_NULL(dst);
    SNPU_ACL_NOT_NULL(src);
    KNOWN_KIND(kind);
    return rtMemcpyAsync(dst, destMax, src, count, rt_kinds[kind], stream);
}

aclError aclrtMemcpyAsyncWithConditionImpl(void *dst, size_t destMax, const void *src, size_t count,
                                           aclrtMemcpyKind kind, aclrtStream stream)
{
    static const char function[] = "aclrtMemcpyAsyncWithCondition";
    SNPU_ACL_NOT_NULL(dst);
    SNPU_ACL_NOT_NULL(src);
    KNOWN_KIND(kind);
    if (count > destMax) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: count %zu exceeds destMax %zu", function, count, destMax);
    }
    const struct snpu_copy copy = {dst, src, count, count, count, 1, (int32_t)kind};
    return snpu_copy_async_or_wait(function, &copy, stream);
}

/* ---- two-dimensional ---- */
aclError aclrtMemcpy2dImpl(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                           aclrtMemcpyKind kind)
{
    SNPU_ACL_NOT_NULL(dst);
    SNPU_ACL_NOT_NULL(src);
    KNOWN_KIND(kind);
    const struct snpu_copy copy = {dst, src, dpitch, spitch, width, height, (int32_t)kind};
    return snpu_copy_now("aclrtMemcpy2d", &copy);
}

aclError aclrtMemcpy2dAsyncImpl(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width, size_t height,
                                aclrtMemcpyKind kind, aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(dst);
    SNPU_ACL_NOT_NULL(src);
    KNOWN_KIND(kind);
    const struct snpu_copy copy = {dst, src, dpitch, spitch, width, height, (int32_t)kind};
    return snpu_copy_async("aclrtMemcpy2dAsync", &copy, stream);
}

/* ---- batches ---- */
struct batch {
    const char *function;
    void **dsts, **srcs;
    size_t *max_b, *size_b;
    size_t count;
    const aclrtMemcpyBatchAttr *attrs;
    const size_t *attr_indexes;
    size_t attr_count;
};

/* The whole batch is checked before the first copy. *failed is the index of the bad copy, if one copy is at fault. */
static aclError check_batch(const struct batch *b, size_t *failed)
{
    SNPU_ACL_REQUIRE(b->dsts != NULL && b->srcs != NULL && b->max_b != NULL && b->size_b != NULL && b->count > 0,
                     "%s: an array is NULL, or the batch is empty", b->function);
    SNPU_ACL_REQUIRE(b->attr_count <= b->count && (b->attr_count == 0 || (b->attrs != NULL && b->attr_indexes != NULL)),
                     "%s: %zu attributes for %zu copies", b->function, b->attr_count, b->count);
    for (size_t i = 0; i < b->attr_count; i++) {
        SNPU_ACL_REQUIRE(b->attr_indexes[i] < b->count &&
                             (i == 0 ? b->attr_indexes[0] == 0 : b->attr_indexes[i] > b->attr_indexes[i - 1]),
                         "%s: attribute indexes must start at 0 and increase", b->function);
    }
    for (size_t i = 0; i < b->count; i++) {
        if (b->dsts[i] == NULL || b->srcs[i] == NULL || b->size_b[i] == 0 || b->size_b[i] > b->max_b[i]) {
            *failed = i;
            return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: copy %zu: invalid range: %zu bytes from %p to %zu at %p",
                             b->function, i, b->size_b[i], b->srcs[i], b->max_b[i], b->dsts[i]);
        }
    }
    return ACL_SUCCESS;
}

static aclError run_batch(const struct batch *b, size_t *failIndex, bool async, aclrtStream stream)
{
    size_t failed = SIZE_MAX;
    aclError code = check_batch(b, &failed);
    for (size_t i = 0; code == 0 && i < b->count; i++) {
        const struct snpu_copy copy = {b->dsts[i],   b->srcs[i], b->size_b[i],      b->size_b[i],
                                       b->size_b[i], 1,          ACL_MEMCPY_DEFAULT};
        code = async ? snpu_copy_async(b->function, &copy, stream) : snpu_copy_now(b->function, &copy);
        failed = code != 0 ? i : SIZE_MAX;
    }
    if (failIndex != NULL) {
        *failIndex = failed;
    }
    return code;
}

aclError aclrtMemcpyBatchImpl(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
                              aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs, size_t *failIndex)
{
    SNPU_ACL_NOT_NULL(failIndex);
    const struct batch b = {"aclrtMemcpyBatch", dsts, srcs, destMaxs, sizes, numBatches, attrs, attrsIndexes, numAttrs};
    return run_batch(&b, failIndex, false, NULL);
}

aclError aclrtMemcpyBatchAsyncImpl(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
                                   aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs,
                                   size_t *failIndex, aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(failIndex);
    const struct batch b = {
        "aclrtMemcpyBatchAsync", dsts, srcs, destMaxs, sizes, numBatches, attrs, attrsIndexes, numAttrs};
    return run_batch(&b, failIndex, true, stream);
}

aclError aclrtMemcpyBatchV2Impl(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
                                aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs)
{
    const struct batch b = {"aclrtMemcpyBatchV2", dsts,  srcs,         destMaxs, sizes,
                            numBatches,           attrs, attrsIndexes, numAttrs};
    return run_batch(&b, NULL, false, NULL);
}

aclError aclrtMemcpyBatchAsyncV2Impl(void **dsts, size_t *destMaxs, void **srcs, size_t *sizes, size_t numBatches,
                                     aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes, size_t numAttrs,
                                     aclrtStream stream)
{
    const struct batch b = {
        "aclrtMemcpyBatchAsyncV2", dsts, srcs, destMaxs, sizes, numBatches, attrs, attrsIndexes, numAttrs};
    return run_batch(&b, NULL, true, stream);
}

/* ---- addresses read from memory ---- */
aclError aclrtMemcpyAsyncWithOffsetImpl(void **dst, size_t destMax, size_t dstDataOffset, const void **src,
                                        size_t count, size_t srcDataOffset, aclrtMemcpyKind kind, aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(dst);
    SNPU_ACL_NOT_NULL(src);
    KNOWN_KIND(kind);
    const struct snpu_copy_indirect copy = {dst, src, dstDataOffset, srcDataOffset, destMax, count};
    return snpu_copy_indirect("aclrtMemcpyAsyncWithOffset", &copy, stream);
}

/* Copy descriptors exist only for copies within a device. */
#define INNER_KIND(kind)                                                                                               \
    SNPU_ACL_REQUIRE((kind) == ACL_MEMCPY_INNER_DEVICE_TO_DEVICE || (kind) == ACL_MEMCPY_DEVICE_TO_DEVICE,             \
                     "%.*s: kind %d is not a copy within a device", SNPU_ACL_CALLER, (int)(kind))

aclError aclrtGetMemcpyDescSizeImpl(aclrtMemcpyKind kind, size_t *descSize)
{
    SNPU_ACL_NOT_NULL(descSize);
    INNER_KIND(kind);
    *descSize = SNPU_COPY_DESC_B;
    return ACL_SUCCESS;
}

aclError aclrtSetMemcpyDescImpl(void *desc, aclrtMemcpyKind kind, void *srcAddr, void *dstAddr, size_t count,
                                void *config)
{
    SNPU_ACL_NOT_NULL(desc);
    SNPU_ACL_NOT_NULL(srcAddr);
    SNPU_ACL_NOT_NULL(dstAddr);
    INNER_KIND(kind);
    SNPU_ACL_REQUIRE(config == NULL && count > 0,
                     "aclrtSetMemcpyDesc: count is 0, or config is not NULL (%zu bytes, config %p)", count, config);
    return snpu_copy_desc_write(desc, dstAddr, srcAddr, count);
}

aclError aclrtMemcpyAsyncWithDescImpl(void *desc, aclrtMemcpyKind kind, aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(desc);
    INNER_KIND(kind);
    return snpu_copy_desc_run(desc, stream);
}

/* ---- kernel variables ---- */
static aclError symbol_range(const char *function, const void *symbol, size_t offset, size_t count, void **addr)
{
    size_t size_b;
    aclError code = snpu_symbol_find(function, symbol, addr, &size_b);
    if (code != 0) {
        return code;
    }
    if (offset > size_b || count > size_b - offset) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %zu bytes at offset %zu exceed the variable's %zu bytes",
                         function, count, offset, size_b);
    }
    *addr = (char *)*addr + offset;
    return ACL_SUCCESS;
}

aclError aclrtGetSymbolAddressImpl(const void *symbol, void **devPtr)
{
    size_t size_b;
    SNPU_ACL_NOT_NULL(symbol);
    SNPU_ACL_NOT_NULL(devPtr);
    return snpu_symbol_find("aclrtGetSymbolAddress", symbol, devPtr, &size_b);
}

aclError aclrtGetSymbolSizeImpl(const void *symbol, size_t *size)
{
    void *addr;
    SNPU_ACL_NOT_NULL(symbol);
    SNPU_ACL_NOT_NULL(size);
    return snpu_symbol_find("aclrtGetSymbolSize", symbol, &addr, size);
}

aclError aclrtMemcpyFromSymbolImpl(void *dst, size_t dstMax, const void *symbol, size_t count, size_t offset,
                                   aclrtMemcpyKind kind)
{
    void *addr;
    SNPU_ACL_NOT_NULL(symbol);
    aclError code = symbol_range("aclrtMemcpyFromSymbol", symbol, offset, count, &addr);
    return code != 0 ? code : aclrtMemcpyImpl(dst, dstMax, addr, count, kind);
}

aclError aclrtMemcpyFromSymbolAsyncImpl(void *dst, size_t dstMax, const void *symbol, size_t count, size_t offset,
                                        aclrtMemcpyKind kind, aclrtStream stream)
{
    void *addr;
    SNPU_ACL_NOT_NULL(symbol);
    aclError code = symbol_range("aclrtMemcpyFromSymbolAsync", symbol, offset, count, &addr);
    /* The variable belongs to the device and is read in stream order. */
    return code != 0 ? code
                     : aclrtMemcpyAsyncImpl(dst, dstMax, addr, count,
                                            kind == ACL_MEMCPY_DEFAULT ? ACL_MEMCPY_DEVICE_TO_HOST : kind, stream);
}

aclError aclrtMemcpyToSymbolImpl(const void *symbol, const void *src, size_t count, size_t offset, aclrtMemcpyKind kind)
{
    void *addr;
    SNPU_ACL_NOT_NULL(symbol);
    aclError code = symbol_range("aclrtMemcpyToSymbol", symbol, offset, count, &addr);
    return code != 0 ? code : aclrtMemcpyImpl(addr, count, src, count, kind);
}

aclError aclrtMemcpyToSymbolAsyncImpl(const void *symbol, const void *src, size_t count, size_t offset,
                                      aclrtMemcpyKind kind, aclrtStream stream)
{
    void *addr;
    SNPU_ACL_NOT_NULL(symbol);
    aclError code = symbol_range("aclrtMemcpyToSymbolAsync", symbol, offset, count, &addr);
    return code != 0 ? code : aclrtMemcpyAsyncImpl(addr, count, src, count, kind, stream);
}

/* ---- fills ---- */
aclError aclrtMemsetImpl(void *devPtr, size_t maxCount, int32_t value, size_t count)
{
    if (count == 0) {
        return ACL_SUCCESS;
    }
    SNPU_ACL_NOT_NULL(devPtr);
    return rtMemset(devPtr, maxCount, (uint32_t)value, count);
}

aclError aclrtMemsetAsyncImpl(void *devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream)
{
    if (count == 0) {
        return ACL_SUCCESS;
    }
    SNPU_ACL_NOT_NULL(devPtr);
    return rtMemsetAsync(devPtr, maxCount, (uint32_t)value, count, stream);
}

static aclError check_words(const char *function, size_t memSize, size_t count)
{
    return count <= memSize / sizeof(uint32_t)
               ? ACL_SUCCESS
               : snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %zu words do not fit into %zu bytes", function, count,
                           memSize);
}

aclError aclrtMemsetD32Impl(void *ptr, size_t memSize, uint32_t value, size_t N)
{
    if (N == 0) {
        return ACL_SUCCESS;
    }
    SNPU_ACL_NOT_NULL(ptr);
    aclError code = check_words("aclrtMemsetD32", memSize, N);
    return code != 0 ? code : snpu_fill_words("aclrtMemsetD32", ptr, value, N);
}

aclError aclrtMemsetD32AsyncImpl(void *ptr, size_t memSize, uint32_t value, size_t N, aclrtStream stream)
{
    if (N == 0) {
        return ACL_SUCCESS;
    }
    SNPU_ACL_NOT_NULL(ptr);
    aclError code = check_words("aclrtMemsetD32Async", memSize, N);
    return code != 0 ? code : snpu_fill_words_async("aclrtMemsetD32Async", ptr, value, N, stream);
}

/* ---- reductions and cache maintenance ---- */
aclError aclrtReduceAsyncImpl(void *dst, const void *src, uint64_t count, aclrtReduceKind kind, aclDataType type,
                              aclrtStream stream, void *reserve)
{
    SNPU_ACL_NOT_NULL(dst);
    SNPU_ACL_NOT_NULL(src);
    SNPU_ACL_REQUIRE(reserve == NULL, "aclrtReduceAsync: reserve must be NULL");
    return snpu_reduce_async(dst, src, count, (int32_t)kind, (int32_t)type, stream);
}

#define KNOWN_CMO(type)                                                                                                \
    SNPU_ACL_REQUIRE((uint32_t)(type) <= ACL_RT_CMO_TYPE_FLUSH, "%.*s: unknown operation %d", SNPU_ACL_CALLER,         \
                     (int)(type))

aclError aclrtCmoAsyncImpl(void *src, size_t size, aclrtCmoType cmoType, aclrtStream stream)
{
    SNPU_ACL_NOT_NULL(src);
    KNOWN_CMO(cmoType);
    SNPU_ACL_REQUIRE(size > 0, "aclrtCmoAsync: size is 0");
    return snpu_cmo_async("aclrtCmoAsync", src, size, stream);
}

aclError aclrtCmoAsyncWithBarrierImpl(void *src, size_t size, aclrtCmoType cmoType, uint32_t barrierId,
                                      aclrtStream stream)
{
    (void)barrierId; /* tasks of a stream run in order anyway */
    SNPU_ACL_NOT_NULL(src);
    KNOWN_CMO(cmoType);
    SNPU_ACL_REQUIRE(size > 0, "aclrtCmoAsyncWithBarrier: size is 0");
    return snpu_cmo_async("aclrtCmoAsyncWithBarrier", src, size, stream);
}

aclError aclrtCmoWaitBarrierImpl(aclrtBarrierTaskInfo *taskInfo, aclrtStream stream, uint32_t flag)
{
    SNPU_ACL_NOT_NULL(taskInfo);
    SNPU_ACL_REQUIRE(taskInfo->barrierNum > 0 && taskInfo->barrierNum <= ACL_RT_CMO_MAX_BARRIER_NUM && flag == 0,
                     "aclrtCmoWaitBarrier: invalid barrierNum %zu or flag %u", taskInfo->barrierNum, flag);
    return snpu_cmo_barrier(stream);
}

/* A range in memory. */
struct cmo_desc {
    void *src;
    size_t size_b;
};

aclError aclrtCmoGetDescSizeImpl(size_t *size)
{
    SNPU_ACL_NOT_NULL(size);
    *size = sizeof(struct cmo_desc);
    return ACL_SUCCESS;
}

aclError aclrtCmoSetDescImpl(void *cmoDesc, void *src, size_t size)
{
    SNPU_ACL_NOT_NULL(cmoDesc);
    SNPU_ACL_NOT_NULL(src);
    SNPU_ACL_REQUIRE(size > 0, "aclrtCmoSetDesc: size is 0");
    const struct cmo_desc desc = {src, size};
    return rtMemcpy(cmoDesc, sizeof(desc), &desc, sizeof(desc), RT_MEMCPY_DEFAULT);
}

aclError aclrtCmoAsyncWithDescImpl(void *cmoDesc, aclrtCmoType cmoType, aclrtStream stream, const void *reserve)
{
    struct cmo_desc desc;
    SNPU_ACL_NOT_NULL(cmoDesc);
    KNOWN_CMO(cmoType);
    SNPU_ACL_REQUIRE(reserve == NULL, "aclrtCmoAsyncWithDesc: reserve must be NULL");
    aclError code = rtMemcpy(&desc, sizeof(desc), cmoDesc, sizeof(desc), RT_MEMCPY_DEFAULT);
    return code != 0 ? code : snpu_cmo_async("aclrtCmoAsyncWithDesc", desc.src, desc.size_b, stream);
}
