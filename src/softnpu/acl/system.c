/* SPDX-License-Identifier: Apache-2.0 */
/* Versions, attributes of the installation, options, error state. Stateless. */
#include "softnpu/acl/impl.h"
#include "softnpu/acl/check.h"

#include "softnpu/runtime/context.h"
#include "softnpu/runtime/exception.h"
#include "softnpu/runtime/settings.h"

#include "ascend_hal.h"
#include "runtime/rt.h"

#include <stdio.h>
#include <string.h>

#define CANN_MAJOR   9
#define CANN_MINOR   1
#define CANN_RELEASE 0
#define CANN_TEXT    "9.1.0"

/* ---- versions ---- */

aclError aclrtGetVersionImpl(int32_t *majorVersion, int32_t *minorVersion, int32_t *patchVersion)
{
    SNPU_ACL_NOT_NULL(majorVersion);
    SNPU_ACL_NOT_NULL(minorVersion);
    SNPU_ACL_NOT_NULL(patchVersion);
    *majorVersion = ACL_MAJOR_VERSION;
    *minorVersion = ACL_MINOR_VERSION;
    *patchVersion = ACL_PATCH_VERSION;
    return ACL_SUCCESS;
}

aclError aclsysGetCANNVersionImpl(aclCANNPackageName name, aclCANNPackageVersion *version)
{
    SNPU_ACL_NOT_NULL(version);
    if ((int)name < ACL_PKG_NAME_CANN || name > ACL_PKG_NAME_DRIVER) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclsysGetCANNVersion: unknown package %d", (int)name);
    }
    memset(version, 0, sizeof(*version));
    strcpy(version->version, CANN_TEXT);
    snprintf(version->majorVersion, sizeof(version->majorVersion), "%d", CANN_MAJOR);
    snprintf(version->minorVersion, sizeof(version->minorVersion), "%d", CANN_MINOR);
    snprintf(version->releaseVersion, sizeof(version->releaseVersion), "%d", CANN_RELEASE);
    return ACL_SUCCESS;
}

static aclError check_package(const char *function, const char *name)
{
    static const char *const known[] = {"cann",         "runtime",      "compiler", "hccl",       "hcomm",
                                        "toolkit",      "opp",          "ops",      "driver",     "opbase",
                                        "cann-toolkit", "cann-runtime", "softnpu",  "npu-runtime"};
    for (size_t i = 0; i < MS_COUNT_OF(known); i++) {
        if (strcmp(name, known[i]) == 0) {
            return ACL_SUCCESS;
        }
    }
    return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: package %s is not installed", function, name);
}

aclError aclsysGetVersionStrImpl(char *pkgName, char *versionStr)
{
    SNPU_ACL_NOT_NULL(pkgName);
    SNPU_ACL_NOT_NULL(versionStr);
    aclError ret = check_package("aclsysGetVersionStr", pkgName);
    if (ret == ACL_SUCCESS) {
        strcpy(versionStr, CANN_TEXT);
    }
    return ret;
}

aclError aclsysGetVersionNumImpl(char *pkgName, int32_t *versionNum)
{
    SNPU_ACL_NOT_NULL(pkgName);
    SNPU_ACL_NOT_NULL(versionNum);
    aclError ret = check_package("aclsysGetVersionNum", pkgName);
    if (ret == ACL_SUCCESS) {
        *versionNum = CANN_MAJOR * 10000000 + CANN_MINOR * 100000 + CANN_RELEASE * 1000;
    }
    return ret;
}

const char *aclrtGetSocNameImpl(void)
{
    return snpu_hal_soc_name();
}

aclError aclrtCheckArchCompatibilityImpl(const char *socVersion, int32_t *canCompatible)
{
    SNPU_ACL_NOT_NULL(socVersion);
    SNPU_ACL_NOT_NULL(canCompatible);
    char family[64];
    aclError ret = rtGetSocSpec("version", "Short_SoC_version", family, sizeof(family));
    if (ret == ACL_SUCCESS) {
        *canCompatible = strncmp(socVersion, family, strlen(family)) == 0;
    }
    return ret;
}

/* ---- attributes ---- */

static const aclCannAttr attributes[] = {ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_BF16, ACL_CANN_ATTR_JIT_COMPILE};

aclError aclGetCannAttributeListImpl(const aclCannAttr **cannAttrList, size_t *num)
{
    SNPU_ACL_NOT_NULL(cannAttrList);
    SNPU_ACL_NOT_NULL(num);
    *cannAttrList = attributes;
    *num = MS_COUNT_OF(attributes);
    return ACL_SUCCESS;
}

aclError aclGetCannAttributeImpl(aclCannAttr cannAttr, int32_t *value)
{
    SNPU_ACL_NOT_NULL(value);
    for (size_t i = 0; i < MS_COUNT_OF(attributes); i++) {
        if (attributes[i] == cannAttr) {
            *value = 1;
            return ACL_SUCCESS;
        }
    }
    return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclGetCannAttribute: unknown attribute %d", (int)cannAttr);
}

aclError aclGetDeviceCapabilityImpl(uint32_t deviceId, aclDeviceInfo deviceInfo, int64_t *value)
{
    SNPU_ACL_NOT_NULL(value);
    uint32_t dev;
    aclError ret = snpu_dev_from_user("aclGetDeviceCapability", deviceId > INT32_MAX ? -1 : (int32_t)deviceId, &dev);
    if (ret != ACL_SUCCESS) {
        return ret;
    }
    switch (deviceInfo) {
    case ACL_DEVICE_INFO_AI_CORE_NUM:
        return rtGetDeviceInfo(deviceId, MODULE_TYPE_AICORE, INFO_TYPE_CORE_NUM, value);
    case ACL_DEVICE_INFO_VECTOR_CORE_NUM:
        return rtGetDeviceInfo(deviceId, MODULE_TYPE_VECTOR_CORE, INFO_TYPE_CORE_NUM, value);
    case ACL_DEVICE_INFO_L2_SIZE:
        *value = (int64_t)snpu_hal_l2_b();
        return ACL_SUCCESS;
    default:
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclGetDeviceCapability: unknown deviceInfo %d", (int)deviceInfo);
    }
}

/* ---- options ---- */

aclError aclrtGetSysParamOptImpl(aclSysParamOpt opt, int64_t *value)
{
    SNPU_ACL_NOT_NULL(value);
    return snpu_sys_param_get("aclrtGetSysParamOpt", false, (int)opt, value);
}

aclError aclrtSetSysParamOptImpl(aclSysParamOpt opt, int64_t value)
{
    return snpu_sys_param_set("aclrtSetSysParamOpt", false, (int)opt, value);
}

aclError aclrtCtxGetSysParamOptImpl(aclSysParamOpt opt, int64_t *value)
{
    SNPU_ACL_NOT_NULL(value);
    return snpu_sys_param_get("aclrtCtxGetSysParamOpt", true, (int)opt, value);
}

aclError aclrtCtxSetSysParamOptImpl(aclSysParamOpt opt, int64_t value)
{
    return snpu_sys_param_set("aclrtCtxSetSysParamOpt", true, (int)opt, value);
}

/* ---- error state ---- */

const char *aclGetRecentErrMsgImpl(void)
{
    return snpu_take_message();
}

aclError aclrtGetLastErrorImpl(aclrtLastErrLevel level)
{
    SNPU_ACL_REQUIRE(level == ACL_RT_THREAD_LEVEL, "aclrtGetLastError: unsupported level %d", (int)level);
    return snpu_get_last_error(1);
}

aclError aclrtPeekAtLastErrorImpl(aclrtLastErrLevel level)
{
    SNPU_ACL_REQUIRE(level == ACL_RT_THREAD_LEVEL, "aclrtPeekAtLastError: unsupported level %d", (int)level);
    return snpu_get_last_error(0);
}

static aclrtErrorType error_type(int32_t code)
{
    switch (code) {
    case 0:
        return ACL_RT_NO_ERROR;
    case ACL_ERROR_RT_AICORE_EXCEPTION:
    case ACL_ERROR_RT_AICORE_TIMEOUT:
    case ACL_ERROR_RT_AICORE_TRAP_EXCEPTION:
    case ACL_ERROR_RT_VECTOR_CORE_EXCEPTION:
    case ACL_ERROR_RT_VECTOR_CORE_TIMEOUT:
        return ACL_RT_ERROR_AICORE;
    case ACL_ERROR_RT_DEVICE_MEM_ERROR:
    case ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR:
        return ACL_RT_ERROR_MEMORY;
    default:
        return ACL_RT_ERROR_OTHERS;
    }
}

aclError aclrtGetErrorVerboseImpl(int32_t deviceId, aclrtErrorInfo *errorInfo)
{
    SNPU_ACL_NOT_NULL(errorInfo);
    uint32_t dev;
    aclError ret = snpu_dev_from_user("aclrtGetErrorVerbose", deviceId, &dev);
    if (ret != ACL_SUCCESS) {
        return ret;
    }
    memset(errorInfo, 0, sizeof(*errorInfo));
    errorInfo->errorType = error_type(snpu_hal_lost(dev) ? ACL_ERROR_RT_LOST_HEARTBEAT : snpu_exception_last(dev));
    if (errorInfo->errorType == ACL_RT_ERROR_AICORE) {
        errorInfo->hasDetail = 1;
        errorInfo->detail.aicoreErrType = ACL_RT_AICORE_ERROR_SW;
    }
    return ACL_SUCCESS;
}

/* Software memory has no uncorrectable errors: there is nothing to report or repair. */
aclError aclrtGetMemUceInfoImpl(int32_t deviceId, aclrtMemUceInfo *memUceInfoArray, size_t arraySize, size_t *retSize)
{
    SNPU_ACL_NOT_NULL(memUceInfoArray);
    SNPU_ACL_NOT_NULL(retSize);
    (void)arraySize;
    uint32_t dev;
    aclError ret = snpu_dev_from_user("aclrtGetMemUceInfo", deviceId, &dev);
    if (ret == ACL_SUCCESS) {
        *retSize = 0;
    }
    return ret;
}

aclError aclrtMemUceRepairImpl(int32_t deviceId, aclrtMemUceInfo *memUceInfoArray, size_t arraySize)
{
    SNPU_ACL_NOT_NULL(memUceInfoArray);
    uint32_t dev;
    aclError ret = snpu_dev_from_user("aclrtMemUceRepair", deviceId, &dev);
    if (ret == ACL_SUCCESS && arraySize == 0) {
        ret = snpu_fail(ACL_ERROR_INVALID_PARAM, "aclrtMemUceRepair: arraySize is 0");
    }
    return ret;
}

aclError aclrtRepairErrorImpl(int32_t deviceId, const aclrtErrorInfo *errorInfo)
{
    SNPU_ACL_NOT_NULL(errorInfo);
    uint32_t dev;
    aclError ret = snpu_dev_from_user("aclrtRepairError", deviceId, &dev);
    if (ret == ACL_SUCCESS && errorInfo->errorType != ACL_RT_NO_ERROR) {
        ret = snpu_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT,
                        "aclrtRepairError: errors of type %d need aclrtResetDeviceForce", (int)errorInfo->errorType);
    }
    return ret;
}
