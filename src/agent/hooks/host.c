/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of host memory that is pinned for a device. Only registrations that request pinning are recorded; the end of
 * any registration is, because the reader knows which ones began. */
#include "agent/agent.h"
#include "agent/hooks.h"

aclError aclrtHostRegisterV2(void *ptr, uint64_t size, uint32_t flag)
{
    aclError result = MS_REAL(aclrtHostRegisterV2)(ptr, size, flag);
    unsigned state = ms_wanted(MS_WANT_ALLOC | MS_WANT_FREE);
    if (state != MS_STATE_OFF && result == ACL_SUCCESS && (flag & ACL_HOST_REG_PINNED) != 0) {
        struct ms_stack_ids ids;
        MS_RECORD(HOST_REGISTER, state, flag, ms_stacks(state, &ids), .addr = (uintptr_t)ptr, .size_b = size);
    }
    return result;
}

aclError aclrtHostUnregister(void *ptr)
{
    unsigned state = ms_wanted(MS_WANT_ALLOC | MS_WANT_FREE);
    if (MS_LIKELY(state == MS_STATE_OFF)) {
        return MS_REAL(aclrtHostUnregister)(ptr);
    }
    struct ms_stack_ids ids;
    MS_RECORD(HOST_UNREGISTER, state, 0, ms_stacks(state, &ids), .addr = (uintptr_t)ptr);
    aclError result = MS_REAL(aclrtHostUnregister)(ptr);
    if (MS_UNLIKELY(result != ACL_SUCCESS)) {
        MS_RECORD(HOST_UNREGISTER_FAILED, state, 0, NULL, .addr = (uintptr_t)ptr);
    }
    return result;
}
