/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory that devices may access: registering memory that the program allocated or got pinned. Host and device
 * share one address space here, so the device pointer equals the host pointer.
 *
 * Threads and locks: none; the driver does the bookkeeping. Failure: the driver's result as an ACL code. */
#include "softnpu/runtime/memory.h"

#include "softnpu/runtime/context.h"
#include "softnpu/runtime/error.h"

#include "acl/acl.h"
#include "ascend_hal.h"
#include "runtime/rt.h"

int32_t snpu_host_register(const char *function, void *ptr, uint64_t size_b, uint32_t flags, void **dev_ptr)
{
    struct snpu_ctx *ctx;
    int32_t code = snpu_ctx_need(function, &ctx);
    if (code != 0) {
        return code;
    }
    struct snpu_range range;
    if (ptr == NULL || size_b == 0) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid range: %llu bytes at %p", function,
                         (unsigned long long)size_b, ptr);
    }
    if (snpu_hal_lookup(ptr, &range) && range.kind != SNPU_RANGE_REGISTERED && range.kind != SNPU_RANGE_HOST) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is not host memory", function, ptr);
    }
    code = snpu__mem_check(function, "range", ptr, size_b, SNPU_READ);
    if (code != 0) {
        return code;
    }
    void *seen = NULL;
    drvError_t result = halHostRegister(ptr, size_b, flags, ctx->dev, &seen);
    if (result != DRV_ERROR_NONE) {
        return snpu_from_drv(result, function);
    }
    if (dev_ptr != NULL) {
        *dev_ptr = seen;
    }
    return 0;
}

rtError_t rtsHostRegister(void *ptr, uint64_t size, rtHostRegisterType type, void **devPtr)
{
    if (devPtr == NULL ||
        (type != RT_HOST_REGISTER_MAPPED && type != RT_HOST_REGISTER_IOMEMORY && type != RT_HOST_REGISTER_READONLY)) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "rtsHostRegister: invalid argument: type %d, devPtr %p", (int)type,
                         (void *)devPtr);
    }
    return snpu_host_register("rtsHostRegister", ptr, size, (uint32_t)type, devPtr);
}

rtError_t rtsHostUnregister(void *ptr)
{
    struct snpu_ctx *ctx;
    struct snpu_range range;
    int32_t code = snpu_ctx_need("rtsHostUnregister", &ctx);
    if (code != 0) {
        return code;
    }
    bool known = snpu_hal_lookup(ptr, &range) && range.base == (uintptr_t)ptr;
    if (known && range.kind == SNPU_RANGE_REGISTERED) {
        return snpu_from_drv(halHostUnregister(ptr, range.dev), "rtsHostUnregister");
    }
    if (!known || range.kind != SNPU_RANGE_HOST || halHostUnregister(ptr, ctx->dev) != DRV_ERROR_NONE) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "rtsHostUnregister: %p is not the start of registered memory",
                         ptr);
    }
    return 0;
}

int32_t snpu_host_device_pointer(void *host, void **dev_ptr, uint32_t flags)
{
    static const char function[] = "aclrtHostGetDevicePointer";
    struct snpu_range range;
    if (flags != 0) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: flag %u is reserved", function, flags);
    }
    if (!snpu_hal_lookup(host, &range) || (range.kind != SNPU_RANGE_REGISTERED && range.kind != SNPU_RANGE_HOST)) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is neither pinned nor registered", function, host);
    }
    *dev_ptr = host;
    return 0;
}
