/* SPDX-License-Identifier: Apache-2.0 */
/* Devices: selection, synchronisation, numbering, attributes, peers. Stateless: arguments are checked here,
 * libruntime.so and libascend_hal.so do the work. */
#include "softnpu/acl/impl.h"

#include "softnpu/hal/derived.h"

#include "softnpu/runtime/context.h"
#include "softnpu/runtime/context_life.h"
#include "softnpu/runtime/registry.h"
#include "softnpu/runtime/settings.h"
#include "softnpu/runtime/stream_api.h"

#include "ascend_hal.h"
#include "runtime/rt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- selection ---- */

aclError aclrtGetDeviceCountImpl(uint32_t *count)
{
    SNPU_ACL_NOT_NULL(count);
    int32_t n = 0;
    aclError ret = rtGetDeviceCount(&n);
    if (ret == ACL_SUCCESS) {
        *count = (uint32_t)n;
    }
    return ret;
}

aclError aclrtSetDeviceImpl(int32_t deviceId)
{
    return rtSetDevice(deviceId);
}

aclError aclrtGetDeviceImpl(int32_t *deviceId)
{
    SNPU_ACL_NOT_NULL(deviceId);
    return rtGetDevice(deviceId);
}

aclError aclrtResetDeviceImpl(int32_t deviceId)
{
    return rtDeviceReset(deviceId);
}

aclError aclrtResetDeviceForceImpl(int32_t deviceId)
{
    return snpu_device_reset("aclrtResetDeviceForce", deviceId, true);
}

aclError aclrtSetDeviceWithoutTsdVXXImpl(int32_t deviceId)
{
    return rtSetDevice(deviceId);
}

aclError aclrtResetDeviceWithoutTsdVXXImpl(int32_t deviceId)
{
    return rtDeviceReset(deviceId);
}

aclError aclrtGetRunModeImpl(aclrtRunMode *runMode)
{
    SNPU_ACL_NOT_NULL(runMode);
    rtRunMode mode;
    aclError ret = rtGetRunMode(&mode);
    if (ret == ACL_SUCCESS) {
        *runMode = mode == RT_RUN_MODE_OFFLINE ? ACL_DEVICE : ACL_HOST;
    }
    return ret;
}

aclError aclrtSetTsDeviceImpl(aclrtTsId tsId)
{
    struct snpu_ctx *ctx;
    if (tsId != ACL_TS_ID_AICORE && tsId != ACL_TS_ID_AIVECTOR) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclrtSetTsDevice: invalid tsId %d", (int)tsId);
    }
    return snpu_ctx_need("aclrtSetTsDevice", &ctx);
}

aclError aclrtSynchronizeDeviceImpl(void)
{
    return rtDeviceSynchronize();
}

aclError aclrtSynchronizeDeviceWithTimeoutImpl(int32_t timeout)
{
    return rtDeviceSynchronizeWithTimeout(timeout);
}

aclError aclrtDeviceTaskAbortImpl(int32_t deviceId, uint32_t timeout)
{
    return snpu_device_task_abort("aclrtDeviceTaskAbort", deviceId, timeout);
}

aclError aclrtSetDeviceTaskAbortCallbackImpl(const char *regName, aclrtDeviceTaskAbortCallback callback, void *args)
{
    SNPU_ACL_NOT_NULL(regName);
    return snpu_registry_set("aclrtSetDeviceTaskAbortCallback", SNPU_REG_TASK_ABORT, regName, (void (*)(void))callback,
                             args);
}

aclError aclrtRegDeviceStateCallbackImpl(const char *regName, aclrtDeviceStateCallback callback, void *args)
{
    SNPU_ACL_NOT_NULL(regName);
    return snpu_registry_set("aclrtRegDeviceStateCallback", SNPU_REG_DEVICE_STATE, regName, (void (*)(void))callback,
                             args);
}

/* ---- attributes ---- */

enum { FROM_DRIVER, CAPACITY, L2, NUMBER, CONSTANT };

static const struct {
    int attr, source, a, b; /* module and info type of the driver, or a constant */
} attributes[] = {
    {ACL_DEV_ATTR_AICPU_CORE_NUM, FROM_DRIVER, MODULE_TYPE_AICPU, INFO_TYPE_CORE_NUM},
    {ACL_DEV_ATTR_AICORE_CORE_NUM, FROM_DRIVER, MODULE_TYPE_AICORE, INFO_TYPE_CORE_NUM},
    {ACL_DEV_ATTR_CUBE_CORE_NUM, FROM_DRIVER, MODULE_TYPE_AICORE, INFO_TYPE_CORE_NUM},
    {ACL_DEV_ATTR_VECTOR_CORE_NUM, FROM_DRIVER, MODULE_TYPE_VECTOR_CORE, INFO_TYPE_CORE_NUM},
    {ACL_DEV_ATTR_UBUF_PER_VECTOR_CORE, CONSTANT, 192 * 1024, 0},
    {ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, CAPACITY, 0, 0},
    {ACL_DEV_ATTR_L2_CACHE_SIZE, L2, 0, 0},
    {ACL_DEV_ATTR_SMP_ID, CONSTANT, 0, 0},
    {ACL_DEV_ATTR_PHY_CHIP_ID, NUMBER, 0, 0},
    {ACL_DEV_ATTR_SUPER_POD_DEVICE_ID, NUMBER, 0, 0},
    {ACL_DEV_ATTR_SUPER_POD_SERVER_ID, CONSTANT, 0, 0},
    {ACL_DEV_ATTR_SUPER_POD_ID, CONSTANT, 0, 0},
    {ACL_DEV_ATTR_CUST_OP_PRIVILEGE, CONSTANT, 0, 0},
    {ACL_DEV_ATTR_MAINBOARD_ID, CONSTANT, 0, 0},
    {ACL_DEV_ATTR_HD_CONNECT_TYPE, CONSTANT, ACL_HOST_DEVICE_CONNECT_TYPE_PCIE, 0},
    {ACL_DEV_ATTR_DEVICE_FORM_FACTOR, CONSTANT, ACL_DEVICE_FORM_FACTOR_A_K, 0},
    {ACL_DEV_ATTR_IS_VIRTUAL, CONSTANT, 0, 0},
    {ACL_DEV_ATTR_NPU_ARCH, CONSTANT, 2201, 0},
};

static aclError driver_id(const char *function, uint32_t deviceId, uint32_t *dev)
{
    return snpu_dev_from_user(function, deviceId > INT32_MAX ? -1 : (int32_t)deviceId, dev);
}

aclError aclrtGetDeviceInfoImpl(uint32_t deviceId, aclrtDevAttr attr, int64_t *value)
{
    SNPU_ACL_NOT_NULL(value);
    uint32_t dev;
    aclError ret = driver_id("aclrtGetDeviceInfo", deviceId, &dev);
    size_t i = 0;
    while (i < MS_COUNT_OF(attributes) && attributes[i].attr != (int)attr) {
        i++;
    }
    if (ret != ACL_SUCCESS) {
        return ret;
    }
    if (i == MS_COUNT_OF(attributes)) {
        bool simt = (int)attr >= ACL_DEV_ATTR_WARP_SIZE && (int)attr <= ACL_DEV_ATTR_MAX_BLOCK_DIM_Z;
        return snpu_fail(simt ? ACL_ERROR_RT_FEATURE_NOT_SUPPORT : ACL_ERROR_RT_PARAM_INVALID,
                         "aclrtGetDeviceInfo: unsupported attribute %d%s", (int)attr,
                         simt ? " (SIMT devices only)" : "");
    }
    switch (attributes[i].source) {
    case FROM_DRIVER:
        return rtGetDeviceInfo(deviceId, attributes[i].a, attributes[i].b, value);
    case CAPACITY:
        *value = (int64_t)snpu_hal_capacity_b(dev);
        return ACL_SUCCESS;
    case L2:
        *value = (int64_t)snpu_hal_l2_b();
        return ACL_SUCCESS;
    case NUMBER:
        *value = dev;
        return ACL_SUCCESS;
    default:
        *value = attributes[i].a;
        return ACL_SUCCESS;
    }
}

aclError aclrtGetDeviceCapabilityImpl(int32_t deviceId, aclrtDevFeatureType devFeatureType, int32_t *value)
{
    SNPU_ACL_NOT_NULL(value);
    uint32_t dev;
    aclError ret = snpu_dev_from_user("aclrtGetDeviceCapability", deviceId, &dev);
    if (ret == ACL_SUCCESS && devFeatureType != ACL_FEATURE_TSCPU_TASK_UPDATE_SUPPORT_AIC_AIV &&
        devFeatureType != ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV) {
        ret = snpu_fail(ACL_ERROR_INVALID_PARAM, "aclrtGetDeviceCapability: unknown feature %d", (int)devFeatureType);
    }
    if (ret == ACL_SUCCESS) {
        *value = ACL_DEV_FEATURE_NOT_SUPPORT;
    }
    return ret;
}

aclError aclrtQueryDeviceStatusImpl(int32_t deviceId, aclrtDeviceStatus *deviceStatus)
{
    SNPU_ACL_NOT_NULL(deviceStatus);
    uint32_t dev;
    drvStatus_t status = DRV_STATUS_WORK;
    aclError ret = snpu_dev_from_user("aclrtQueryDeviceStatus", deviceId, &dev);
    if (ret == ACL_SUCCESS && (ret = snpu_from_drv(drvDeviceStatus(dev, &status), "drvDeviceStatus")) == ACL_SUCCESS) {
        *deviceStatus = status == DRV_STATUS_WORK ? ACL_RT_DEVICE_STATUS_NORMAL : ACL_RT_DEVICE_STATUS_ABNORMAL;
    }
    return ret;
}

aclError aclrtGetDeviceUtilizationRateImpl(int32_t deviceId, aclrtUtilizationInfo *utilizationInfo)
{
    SNPU_ACL_NOT_NULL(utilizationInfo);
    int32_t busy = 0;
    aclError ret = snpu_device_busy_percent("aclrtGetDeviceUtilizationRate", deviceId, &busy);
    if (ret != ACL_SUCCESS) {
        return ret;
    }
    uint32_t dev = 0;
    struct MemInfo info = {0};
    snpu_dev_from_user("aclrtGetDeviceUtilizationRate", deviceId, &dev);
    halMemGetInfoEx(dev, MEM_INFO_TYPE_HBM_SIZE, &info);
    uint64_t total = info.phy_info.huge_total, left = info.phy_info.huge_free;
    utilizationInfo->cubeUtilization = busy;
    utilizationInfo->vectorUtilization = busy;
    utilizationInfo->aicpuUtilization = 0;
    utilizationInfo->memoryUtilization = total > 0 ? (int32_t)((total - left) * 100 / total) : 0;
    return ACL_SUCCESS;
}

aclError aclrtDeviceGetUuidImpl(int32_t deviceId, aclrtUuid *uuid)
{
    SNPU_ACL_NOT_NULL(uuid);
    uint32_t dev;
    aclError ret = snpu_dev_from_user("aclrtDeviceGetUuid", deviceId, &dev);
    if (ret != ACL_SUCCESS) {
        return ret;
    }
    /* The same machine and device number yield the same id in every process: FNV-1a over both. */
    const char *machine = getenv("SOFTNPU_MACHINE");
    char text[160];
    snprintf(text, sizeof(text), "softnpu/%.100s/%u", machine != NULL ? machine : "default", dev);
    for (int half = 0; half < 2; half++) {
        uint64_t hash = 0xcbf29ce484222325u + (uint64_t)half;
        for (const char *p = text; *p != '\0'; p++) {
            hash = (hash ^ (unsigned char)*p) * 0x100000001b3u;
        }
        memcpy(uuid->bytes + 8 * half, &hash, sizeof(hash));
    }
    uuid->bytes[6] = (char)((uuid->bytes[6] & 0x0f) | 0x50); /* version 5: derived from a name */
    uuid->bytes[8] = (char)((uuid->bytes[8] & 0x3f) | 0x80);
    return ACL_SUCCESS;
}

/* Bus addresses in a domain that no root port of the host uses. */
static void pci_address(uint32_t dev, char out[16])
{
    snprintf(out, 16, SNPU_PCI_BUS_FORMAT, SNPU_PCI_BUS_FIRST + dev);
}

aclError aclrtDeviceGetPCIBusIdImpl(int32_t deviceId, char *pciBusId, int32_t len)
{
    SNPU_ACL_NOT_NULL(pciBusId);
    uint32_t dev;
    char text[16];
    aclError ret = snpu_dev_from_user("aclrtDeviceGetPCIBusId", deviceId, &dev);
    if (ret != ACL_SUCCESS) {
        return ret;
    }
    pci_address(dev, text);
    if (len <= (int32_t)strlen(text)) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclrtDeviceGetPCIBusId: len %d is too short", len);
    }
    strcpy(pciBusId, text);
    return ACL_SUCCESS;
}

aclError aclrtDeviceGetByPCIBusIdImpl(const char *pciBusId, int32_t *deviceId)
{
    SNPU_ACL_NOT_NULL(pciBusId);
    SNPU_ACL_NOT_NULL(deviceId);
    for (uint32_t dev = 0; dev < snpu_hal_device_count(); dev++) {
        char text[16];
        pci_address(dev, text);
        if (strcasecmp(text, pciBusId) == 0) {
            return snpu_dev_to_user(dev, deviceId);
        }
    }
    return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclrtDeviceGetByPCIBusId: no device at %.32s", pciBusId);
}

aclError aclrtDeviceGetBareTgidImpl(int32_t *pid)
{
    SNPU_ACL_NOT_NULL(pid);
    *pid = drvDeviceGetBareTgid();
    return ACL_SUCCESS;
}

aclError aclrtDeviceGetStreamPriorityRangeImpl(int32_t *leastPriority, int32_t *greatestPriority)
{
    if (leastPriority != NULL) {
        *leastPriority = SNPU_PRIORITY_LEAST;
    }
    if (greatestPriority != NULL) {
        *greatestPriority = SNPU_PRIORITY_GREATEST;
    }
    return ACL_SUCCESS;
}

/* ---- numbering: user ids follow the list of visible devices; logic and phy ids are both the driver's ---- */

static aclError user_to_driver(const char *function, int32_t user, int32_t *out)
{
    uint32_t dev;
    if (out == NULL) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: the result pointer is NULL", function);
    }
    aclError ret = snpu_dev_from_user(function, user, &dev);
    if (ret == ACL_SUCCESS) {
        *out = (int32_t)dev;
    }
    return ret;
}

static aclError driver_to_user(const char *function, int32_t driver, int32_t *out)
{
    if (out == NULL) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: the result pointer is NULL", function);
    }
    return snpu_dev_to_user((uint32_t)driver, out);
}

static aclError same_id(const char *function, int32_t id, int32_t *out)
{
    if (out == NULL) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: the result pointer is NULL", function);
    }
    if (id < 0 || (uint32_t)id >= snpu_hal_device_count()) {
        return snpu_fail(ACL_ERROR_RT_INVALID_DEVICEID, "%s: no device %d", function, id);
    }
    *out = id;
    return ACL_SUCCESS;
}

aclError aclrtGetLogicDevIdByUserDevIdImpl(const int32_t userDevid, int32_t *const logicDevId)
{
    return user_to_driver("aclrtGetLogicDevIdByUserDevId", userDevid, logicDevId);
}

aclError aclrtGetUserDevIdByLogicDevIdImpl(const int32_t logicDevId, int32_t *const userDevid)
{
    return driver_to_user("aclrtGetUserDevIdByLogicDevId", logicDevId, userDevid);
}

aclError aclrtGetLogicDevIdByPhyDevIdImpl(const int32_t phyDevId, int32_t *const logicDevId)
{
    return same_id("aclrtGetLogicDevIdByPhyDevId", phyDevId, logicDevId);
}

aclError aclrtGetPhyDevIdByLogicDevIdImpl(const int32_t logicDevId, int32_t *const phyDevId)
{
    return same_id("aclrtGetPhyDevIdByLogicDevId", logicDevId, phyDevId);
}

aclError aclrtGetUserDevIdByPhyDevIdImpl(const int32_t phyDevId, int32_t *const userDevId)
{
    return driver_to_user("aclrtGetUserDevIdByPhyDevId", phyDevId, userDevId);
}

aclError aclrtGetPhyDevIdByUserDevIdImpl(const int32_t userDevId, int32_t *const phyDevId)
{
    return user_to_driver("aclrtGetPhyDevIdByUserDevId", userDevId, phyDevId);
}

/* ---- peers ---- */

aclError aclrtDeviceCanAccessPeerImpl(int32_t *canAccessPeer, int32_t deviceId, int32_t peerDeviceId)
{
    SNPU_ACL_NOT_NULL(canAccessPeer);
    uint32_t dev, peer;
    aclError ret = snpu_dev_from_user("aclrtDeviceCanAccessPeer", deviceId, &dev);
    if (ret == ACL_SUCCESS &&
        (ret = snpu_dev_from_user("aclrtDeviceCanAccessPeer", peerDeviceId, &peer)) == ACL_SUCCESS) {
        ret = snpu_from_drv(halDeviceCanAccessPeer(canAccessPeer, dev, peer), "halDeviceCanAccessPeer");
    }
    return ret;
}

aclError aclrtDeviceEnablePeerAccessImpl(int32_t peerDeviceId, uint32_t flags)
{
    if (flags != 0) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclrtDeviceEnablePeerAccess: invalid flags %u", flags);
    }
    return snpu_peer_set("aclrtDeviceEnablePeerAccess", peerDeviceId, true);
}

aclError aclrtDeviceDisablePeerAccessImpl(int32_t peerDeviceId)
{
    return snpu_peer_set("aclrtDeviceDisablePeerAccess", peerDeviceId, false);
}

aclError aclrtDevicePeerAccessStatusImpl(int32_t deviceId, int32_t peerDeviceId, int32_t *status)
{
    SNPU_ACL_NOT_NULL(status);
    bool on = false;
    aclError ret = snpu_peer_get("aclrtDevicePeerAccessStatus", deviceId, peerDeviceId, &on);
    if (ret == ACL_SUCCESS) {
        *status = on;
    }
    return ret;
}

aclError aclrtGetDevicesTopoImpl(uint32_t deviceId, uint32_t otherDeviceId, uint64_t *value)
{
    SNPU_ACL_NOT_NULL(value);
    uint32_t dev;
    aclError ret = driver_id("aclrtGetDevicesTopo", deviceId, &dev);
    if (ret == ACL_SUCCESS && (ret = driver_id("aclrtGetDevicesTopo", otherDeviceId, &dev)) == ACL_SUCCESS) {
        *value = ACL_RT_DEVS_TOPOLOGY_HCCS;
    }
    return ret;
}

static aclError atomic_capabilities(const char *function, uint32_t *capabilities,
                                    const aclrtAtomicOperation *operations, uint32_t count)
{
    static const uint32_t integers = ACL_RT_ATOMIC_CAPABILITY_SIGNED | ACL_RT_ATOMIC_CAPABILITY_UNSIGNED |
                                     ACL_RT_ATOMIC_CAPABILITY_SCALAR32 | ACL_RT_ATOMIC_CAPABILITY_SCALAR64;
    static const uint32_t floats = ACL_RT_ATOMIC_CAPABILITY_REDUCTION | ACL_RT_ATOMIC_CAPABILITY_SCALAR32;
    if (capabilities == NULL || operations == NULL || count == 0) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "%s: NULL argument or count 0", function);
    }
    for (uint32_t i = 0; i < count; i++) {
        capabilities[i] = operations[i] <= ACL_RT_ATOMIC_OPERATION_CAS         ? integers
                          : operations[i] <= ACL_RT_ATOMIC_OPERATION_FLOAT_MAX ? floats
                                                                               : 0;
    }
    return ACL_SUCCESS;
}

aclError aclrtDeviceGetHostAtomicCapabilitiesImpl(uint32_t *capabilities, const aclrtAtomicOperation *operations,
                                                  const uint32_t count, int32_t deviceId)
{
    uint32_t dev;
    aclError ret = snpu_dev_from_user("aclrtDeviceGetHostAtomicCapabilities", deviceId, &dev);
    return ret != ACL_SUCCESS
               ? ret
               : atomic_capabilities("aclrtDeviceGetHostAtomicCapabilities", capabilities, operations, count);
}

aclError aclrtDeviceGetP2PAtomicCapabilitiesImpl(uint32_t *capabilities, const aclrtAtomicOperation *operations,
                                                 const uint32_t count, int32_t srcDeviceId, int32_t dstDeviceId)
{
    uint32_t dev;
    aclError ret = snpu_dev_from_user("aclrtDeviceGetP2PAtomicCapabilities", srcDeviceId, &dev);
    if (ret == ACL_SUCCESS) {
        ret = snpu_dev_from_user("aclrtDeviceGetP2PAtomicCapabilities", dstDeviceId, &dev);
    }
    return ret != ACL_SUCCESS
               ? ret
               : atomic_capabilities("aclrtDeviceGetP2PAtomicCapabilities", capabilities, operations, count);
}
