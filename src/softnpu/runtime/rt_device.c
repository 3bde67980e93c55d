/* SPDX-License-Identifier: Apache-2.0 */
/* rt functions for devices and contexts: the vendor's names for device.c and context.c. Stateless. */
#include "softnpu/runtime/context_life.h"
#include "softnpu/runtime/engine.h"
#include "softnpu/runtime/prof.h"
#include "softnpu/runtime/stream_api.h"

#include "ascend_hal.h"
#include "runtime/rt.h"

#include <stdio.h>
#include <string.h>

rtError_t rtSetDevice(int32_t devId)
{
    SNPU_PROF_RT_CALL(SET_DEVICE);
    return snpu_device_set("aclrtSetDevice", devId);
}

rtError_t rtDeviceReset(int32_t devId)
{
    SNPU_PROF_RT_CALL(DEVICE_RESET);
    return snpu_device_reset("aclrtResetDevice", devId, false);
}

rtError_t rtGetDevice(int32_t *devId)
{
    struct snpu_ctx *ctx;
    if (devId == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtGetDevice: deviceId is NULL");
    }
    int32_t ret = snpu_ctx_get("aclrtGetDevice", &ctx);
    if (ret == 0) {
        *devId = ctx->user_dev;
    }
    return ret;
}

rtError_t rtGetDeviceCount(int32_t *cnt)
{
    if (cnt == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtGetDeviceCount: count is NULL");
    }
    *cnt = (int32_t)snpu_dev_visible_count();
    return 0;
}

rtError_t rtDeviceSynchronize(void)
{
    SNPU_PROF_RT_CALL(DEVICE_SYNCHRONIZE);
    return snpu_device_wait_empty("aclrtSynchronizeDevice", -1);
}

rtError_t rtDeviceSynchronizeWithTimeout(int32_t timeout)
{
    SNPU_PROF_RT_CALL(DEVICE_SYNCHRONIZE);
    return snpu_device_wait_empty("aclrtSynchronizeDeviceWithTimeout", timeout);
}

rtError_t rtGetRunMode(rtRunMode *runMode)
{
    if (runMode == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtGetRunMode: runMode is NULL");
    }
    *runMode = RT_RUN_MODE_ONLINE;
    return 0;
}

rtError_t rtGetSocVersion(char_t *ver, const uint32_t maxLen)
{
    const char *name = snpu_hal_soc_name();
    if (ver == NULL || maxLen <= strlen(name)) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "rtGetSocVersion: invalid buffer: ver %p, maxLen %u", (void *)ver,
                         maxLen);
    }
    strcpy(ver, name);
    return 0;
}

/* ---- platform properties by name ---- */

static void short_soc(char *out, size_t out_b)
{
    /* "Ascend910B3" and "Ascend910_9391" are members of the families "Ascend910B" and "Ascend910_93". */
    const char *name = snpu_hal_soc_name();
    size_t keep = strncmp(name, "Ascend910_93", 12) == 0 ? 12
                  : strncmp(name, "Ascend910B", 10) == 0 ? 10
                                                         : strlen(name);
    snprintf(out, out_b, "%.*s", (int)keep, name);
}

static int64_t core_count(int32_t module)
{
    int64_t cores = 0;
    halGetDeviceInfo(0, module, INFO_TYPE_CORE_NUM, &cores);
    return cores;
}

rtError_t rtGetSocSpec(const char *label, const char *key, char *val, const uint32_t maxLen)
{
    if (label == NULL || key == NULL || val == NULL || maxLen == 0) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "rtGetSocSpec: NULL argument");
    }
    char text[64] = "";
    if (strcmp(label, "version") == 0) {
        if (strcmp(key, "Short_SoC_version") == 0) {
            short_soc(text, sizeof(text));
        } else if (strcmp(key, "SoC_version") == 0) {
            snprintf(text, sizeof(text), "%s", snpu_hal_soc_name());
        } else if (strcmp(key, "NpuArch") == 0) {
            snprintf(text, sizeof(text), "2201");
        }
    } else if (strcmp(label, "SoCInfo") == 0) {
        if (strcmp(key, "ai_core_cnt") == 0 || strcmp(key, "cube_core_cnt") == 0) {
            snprintf(text, sizeof(text), "%lld", (long long)core_count(MODULE_TYPE_AICORE));
        } else if (strcmp(key, "vector_core_cnt") == 0) {
            snprintf(text, sizeof(text), "%lld", (long long)core_count(MODULE_TYPE_VECTOR_CORE));
        } else if (strcmp(key, "ai_cpu_cnt") == 0) {
            snprintf(text, sizeof(text), "%lld", (long long)core_count(MODULE_TYPE_AICPU));
        } else if (strcmp(key, "memory_size") == 0) {
            snprintf(text, sizeof(text), "%llu", (unsigned long long)snpu_hal_capacity_b(0));
        } else if (strcmp(key, "l2_size") == 0) {
            snprintf(text, sizeof(text), "%llu", (unsigned long long)snpu_hal_l2_b());
        }
    }
    if (*text == '\0' || strlen(text) >= maxLen) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "rtGetSocSpec: [%s] %s%s", label, key,
                         *text == '\0' ? " is unknown" : " does not fit into the buffer");
    }
    strcpy(val, text);
    return 0;
}

/* ---- platform numbers ---- */

rtError_t rtGetDeviceInfo(uint32_t deviceId, int32_t moduleType, int32_t infoType, int64_t *val)
{
    uint32_t dev;
    if (val == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "rtGetDeviceInfo: val is NULL");
    }
    int32_t ret = snpu_dev_from_user("rtGetDeviceInfo", deviceId > INT32_MAX ? -1 : (int32_t)deviceId, &dev);
    return ret != 0 ? ret : snpu_from_drv(halGetDeviceInfo(dev, moduleType, infoType, val), "halGetDeviceInfo");
}

rtError_t rtGetDevicePhyIdByIndex(uint32_t devIndex, uint32_t *phyId)
{
    return snpu_from_drv(drvDeviceGetPhyIdByIndex(devIndex, phyId), "drvDeviceGetPhyIdByIndex");
}

rtError_t rtGetVisibleDeviceIdByLogicDeviceId(const int32_t logicDeviceId, int32_t *const visibleDeviceId)
{
    if (visibleDeviceId == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "rtGetVisibleDeviceIdByLogicDeviceId: NULL argument");
    }
    return snpu_dev_to_user((uint32_t)logicDeviceId, visibleDeviceId);
}

/* ---- contexts ---- */

rtError_t rtCtxCreateEx(rtContext_t *createCtx, uint32_t flags, int32_t devId)
{
    SNPU_PROF_RT_CALL(CONTEXT_CREATE);
    (void)flags;
    struct snpu_ctx *ctx;
    if (createCtx == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtCreateContext: context is NULL");
    }
    int32_t ret = snpu_ctx_create("aclrtCreateContext", devId, &ctx);
    if (ret == 0) {
        *createCtx = ctx;
    }
    return ret;
}

rtError_t rtCtxDestroyEx(rtContext_t destroyCtx)
{
    SNPU_PROF_RT_CALL(CONTEXT_DESTROY);
    return snpu_ctx_destroy("aclrtDestroyContext", destroyCtx);
}

/* Host kernels need no area to synchronise: the answer is that of a chip without one. */
rtError_t rtGetC2cCtrlAddr(uint64_t *addr, uint32_t *len)
{
    struct snpu_ctx *ctx;
    int32_t ret = addr != NULL && len != NULL
                      ? snpu_ctx_need("rtGetC2cCtrlAddr", &ctx)
                      : snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "rtGetC2cCtrlAddr: NULL argument");
    if (ret == 0) {
        *addr = 0;
        *len = 0;
    }
    return ret;
}

rtError_t rtCtxSetCurrent(rtContext_t currentCtx)
{
    SNPU_PROF_RT_CALL(CONTEXT_SET_CURRENT);
    return snpu_ctx_select("aclrtSetCurrentContext", currentCtx);
}

rtError_t rtCtxGetCurrent(rtContext_t *currentCtx)
{
    SNPU_PROF_RT_CALL(CONTEXT_GET_CURRENT);
    struct snpu_ctx *ctx;
    if (currentCtx == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtGetCurrentContext: context is NULL");
    }
    int32_t ret = snpu_ctx_get("aclrtGetCurrentContext", &ctx);
    if (ret == 0) {
        *currentCtx = ctx;
    }
    return ret;
}

rtError_t rtCtxGetDevice(int32_t *devId)
{
    struct snpu_ctx *ctx;
    int32_t ret = devId != NULL ? snpu_ctx_need("rtCtxGetDevice", &ctx)
                                : snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "rtCtxGetDevice: devId is NULL");
    if (ret == 0) {
        *devId = ctx->user_dev;
    }
    return ret;
}
