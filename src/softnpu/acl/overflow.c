/* SPDX-License-Identifier: Apache-2.0 */
/* Floating-point overflow status. Kernels are host functions that compute with infinities and NaNs, so no overflow
 * is ever latched: the status that is read in stream order is always clear. Stateless. */
#include "softnpu/acl/impl.h"

#include "softnpu/runtime/settings.h"
#include "softnpu/runtime/task.h"

#include "runtime/rt.h"

#define STATUS_B 64

static aclError read_status(const char *function, void *out, uint64_t size_b, uint32_t mode, aclrtStream stream)
{
    if (out == NULL || size_b != STATUS_B || mode != 0) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: invalid outputAddr %p, outputSize %llu (must be %d) or mode %u",
                         function, out, (unsigned long long)size_b, STATUS_B, mode);
    }
    return rtMemsetAsync(out, size_b, 0, size_b, stream);
}

static aclError clear_status(const char *function, uint32_t mode, aclrtStream stream)
{
    struct snpu_stream *resolved;
    if (mode != 0) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: invalid checkMode %u", function, mode);
    }
    return snpu_stream_resolve(function, stream, &resolved);
}

aclError aclrtGetOverflowStatusImpl(void *outputAddr, size_t outputSize, aclrtStream stream)
{
    return read_status("aclrtGetOverflowStatus", outputAddr, outputSize, 0, stream);
}

aclError aclrtResetOverflowStatusImpl(aclrtStream stream)
{
    return clear_status("aclrtResetOverflowStatus", 0, stream);
}

aclError aclrtGetFloatOverflowStatusImpl(void *outputAddr, uint64_t outputSize, aclrtStream stream)
{
    return read_status("aclrtGetFloatOverflowStatus", outputAddr, outputSize, 0, stream);
}

aclError aclrtResetFloatOverflowStatusImpl(aclrtStream stream)
{
    return clear_status("aclrtResetFloatOverflowStatus", 0, stream);
}

aclError aclrtNpuGetFloatOverFlowStatusImpl(void *outputAddr, uint64_t outputSize, uint32_t checkMode,
                                            aclrtStream stream)
{
    return read_status("aclrtNpuGetFloatOverFlowStatus", outputAddr, outputSize, checkMode, stream);
}

aclError aclrtNpuClearFloatOverFlowStatusImpl(uint32_t checkMode, aclrtStream stream)
{
    return clear_status("aclrtNpuClearFloatOverFlowStatus", checkMode, stream);
}

aclError aclrtCtxGetFloatOverflowAddrImpl(void **overflowAddr)
{
    SNPU_ACL_NOT_NULL(overflowAddr);
    return snpu_scratch_address("aclrtCtxGetFloatOverflowAddr", SNPU_SCRATCH_OVERFLOW, overflowAddr);
}

aclError aclrtGetHardwareSyncAddrImpl(void **addr)
{
    SNPU_ACL_NOT_NULL(addr);
    return snpu_scratch_address("aclrtGetHardwareSyncAddr", SNPU_SCRATCH_SYNC, addr);
}
