/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts. Stateless. */
#include "softnpu/acl/impl.h"

#include "softnpu/runtime/context.h"
#include "softnpu/runtime/settings.h"

#include "runtime/rt.h"

aclError aclrtCreateContextImpl(aclrtContext *context, int32_t deviceId)
{
    SNPU_ACL_NOT_NULL(context);
    return rtCtxCreateEx(context, 0, deviceId);
}

aclError aclrtDestroyContextImpl(aclrtContext context)
{
    SNPU_ACL_NOT_NULL(context);
    return rtCtxDestroyEx(context);
}

aclError aclrtSetCurrentContextImpl(aclrtContext context)
{
    SNPU_ACL_NOT_NULL(context);
    return rtCtxSetCurrent(context);
}

aclError aclrtGetCurrentContextImpl(aclrtContext *context)
{
    SNPU_ACL_NOT_NULL(context);
    return rtCtxGetCurrent(context);
}

aclError aclrtGetPrimaryCtxStateImpl(int32_t deviceId, uint32_t *flags, int32_t *active)
{
    bool is_active = false;
    aclError ret = snpu_primary_state("aclrtGetPrimaryCtxState", deviceId, &is_active);
    if (ret != ACL_SUCCESS) {
        return ret;
    }
    if (flags != NULL) {
        *flags = 0;
    }
    if (active != NULL) {
        *active = is_active;
    }
    return ACL_SUCCESS;
}

aclError aclrtCtxGetCurrentDefaultStreamImpl(aclrtStream *stream)
{
    SNPU_ACL_NOT_NULL(stream);
    struct snpu_ctx *ctx;
    aclError ret = snpu_ctx_need("aclrtCtxGetCurrentDefaultStream", &ctx);
    if (ret == ACL_SUCCESS) {
        *stream = ctx->default_stream;
    }
    return ret;
}
