/* SPDX-License-Identifier: Apache-2.0 */
/* Modes, limits and groups of devices. Stateless. */
#include "softnpu/acl/impl.h"

#include "softnpu/runtime/context.h"
#include "softnpu/runtime/settings.h"
#include "base/slab.h"

aclError aclrtSetDeviceSatModeImpl(aclrtFloatOverflowMode mode)
{
    return snpu_sat_mode_set("aclrtSetDeviceSatMode", (int)mode);
}

aclError aclrtGetDeviceSatModeImpl(aclrtFloatOverflowMode *mode)
{
    SNPU_ACL_NOT_NULL(mode);
    int have = 0;
    aclError ret = snpu_sat_mode_get("aclrtGetDeviceSatMode", &have);
    if (ret == ACL_SUCCESS) {
        *mode = (aclrtFloatOverflowMode)have;
    }
    return ret;
}

aclError aclrtGetDeviceResLimitImpl(int32_t deviceId, aclrtDevResLimitType type, uint32_t *value)
{
    SNPU_ACL_NOT_NULL(value);
    return snpu_res_limit_get("aclrtGetDeviceResLimit", deviceId, (int)type, value);
}

aclError aclrtSetDeviceResLimitImpl(int32_t deviceId, aclrtDevResLimitType type, uint32_t value)
{
    return snpu_res_limit_set("aclrtSetDeviceResLimit", deviceId, (int)type, value);
}

aclError aclrtResetDeviceResLimitImpl(int32_t deviceId)
{
    return snpu_res_limit_reset("aclrtResetDeviceResLimit", deviceId);
}

aclError aclrtGetStreamResLimitImpl(aclrtStream stream, aclrtDevResLimitType type, uint32_t *value)
{
    SNPU_ACL_NOT_NULL(value);
    return snpu_stream_res_limit_get("aclrtGetStreamResLimit", stream, (int)type, value);
}

aclError aclrtSetStreamResLimitImpl(aclrtStream stream, aclrtDevResLimitType type, uint32_t value)
{
    return snpu_stream_res_limit_set("aclrtSetStreamResLimit", stream, (int)type, value);
}

aclError aclrtResetStreamResLimitImpl(aclrtStream stream)
{
    return snpu_stream_res_limit_reset("aclrtResetStreamResLimit", stream);
}

aclError aclrtUseStreamResInCurrentThreadImpl(aclrtStream stream)
{
    return snpu_thread_res_use("aclrtUseStreamResInCurrentThread", stream, true);
}

aclError aclrtUnuseStreamResInCurrentThreadImpl(aclrtStream stream)
{
    return snpu_thread_res_use("aclrtUnuseStreamResInCurrentThread", stream, false);
}

aclError aclrtGetResInCurrentThreadImpl(aclrtDevResLimitType type, uint32_t *value)
{
    SNPU_ACL_NOT_NULL(value);
    return snpu_thread_res_get("aclrtGetResInCurrentThread", (int)type, value);
}

aclError aclrtDeviceSetLimitImpl(aclrtDeviceLimit limit, size_t value)
{
    return snpu_device_limit_set("aclrtDeviceSetLimit", (int)limit, value);
}

aclError aclrtDeviceGetLimitImpl(aclrtDeviceLimit limit, size_t *value)
{
    SNPU_ACL_NOT_NULL(value);
    return snpu_device_limit_get("aclrtDeviceGetLimit", (int)limit, value);
}

/* ---- groups of compute units: these chips are not divided, so there are none ---- */

struct aclrtGroupInfo {
    uint32_t count;
};

static struct ms_slab group_infos = MS_SLAB_INIT(struct aclrtGroupInfo, 4096);

static aclError check_group_info(const char *function, const aclrtGroupInfo *info)
{
    if (!ms_slab_check(&group_infos, info)) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: %p was not created by aclrtCreateGroupInfo", function,
                         (const void *)info);
    }
    return ACL_SUCCESS;
}

aclError aclrtSetGroupImpl(int32_t groupId)
{
    return snpu_fail(ACL_ERROR_RT_GROUP_NOT_CREATE, "aclrtSetGroup: no group %d", groupId);
}

aclError aclrtGetGroupCountImpl(uint32_t *count)
{
    SNPU_ACL_NOT_NULL(count);
    struct snpu_ctx *ctx;
    aclError ret = snpu_ctx_need("aclrtGetGroupCount", &ctx);
    if (ret == ACL_SUCCESS) {
        *count = 0;
    }
    return ret;
}

aclrtGroupInfo *aclrtCreateGroupInfoImpl(void)
{
    aclrtGroupInfo *info = ms_slab_alloc(&group_infos);
    if (info == NULL) {
        snpu_fail(ACL_ERROR_BAD_ALLOC, "aclrtCreateGroupInfo: too many objects, or out of host memory");
    }
    return info;
}

aclError aclrtDestroyGroupInfoImpl(aclrtGroupInfo *groupInfo)
{
    aclError ret = check_group_info("aclrtDestroyGroupInfo", groupInfo);
    if (ret == ACL_SUCCESS) {
        ms_slab_free(&group_infos, groupInfo);
    }
    return ret;
}

aclError aclrtGetAllGroupInfoImpl(aclrtGroupInfo *groupInfo)
{
    aclError ret = check_group_info("aclrtGetAllGroupInfo", groupInfo);
    if (ret == ACL_SUCCESS) {
        groupInfo->count = 0;
    }
    return ret;
}

aclError aclrtGetGroupInfoDetailImpl(const aclrtGroupInfo *groupInfo, int32_t groupIndex, aclrtGroupAttr attr,
                                     void *attrValue, size_t valueLen, size_t *paramRetSize)
{
    aclError ret = check_group_info("aclrtGetGroupInfoDetail", groupInfo);
    if (ret != ACL_SUCCESS) {
        return ret;
    }
    SNPU_ACL_NOT_NULL(attrValue);
    SNPU_ACL_NOT_NULL(paramRetSize);
    return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclrtGetGroupInfoDetail: no group with index %d", groupIndex);
}
