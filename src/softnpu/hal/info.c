/* SPDX-License-Identifier: Apache-2.0 */
/* Device numbers, states, versions, counters. Driver ids, physical ids and indices are the same numbers, and each
 * chip carries one device. */
#include "softnpu/hal/process.h"

#include "base/clock.h"
#include "base/macros.h"
#include "softnpu/hal/soc.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define API_VERSION     0x071905 /* the first version that reports the host counter's frequency */
#define PLATFORM_HOST   1
#define CHIP_SUBVERSION 0x01

static const struct snpu_soc *soc(void)
{
    const struct snpu_soc *s = snpu_soc_find(snpu_hal_soc_name());
    return s != NULL ? s : snpu_soc_find("Ascend910B3"); /* the machine was created by a version that knows other
                                                          * chips */
}

uint64_t snpu_hal_l2_b(void)
{
    return (uint64_t)soc()->l2_mib << 20;
}

/* ---- numbers ---- */

drvError_t drvGetDevNum(uint32_t *num_dev)
{
    if (num_dev == NULL) {
        return DRV_ERROR_INVALID_VALUE;
    }
    *num_dev = snpu_hal_device_count();
    return DRV_ERROR_NONE;
}

drvError_t drvGetDevIDs(uint32_t *devices, uint32_t len)
{
    if (devices == NULL || len == 0) {
        return DRV_ERROR_INVALID_VALUE;
    }
    for (uint32_t i = 0; i < len && i < snpu_hal_device_count(); i++) {
        devices[i] = i;
    }
    return DRV_ERROR_NONE;
}

static drvError_t same_number(uint32_t dev, uint32_t *out)
{
    if (out == NULL) {
        return DRV_ERROR_INVALID_VALUE;
    }
    if (!snpu__device_exists(dev)) {
        return DRV_ERROR_INVALID_DEVICE;
    }
    *out = dev;
    return DRV_ERROR_NONE;
}

drvError_t drvGetDevIDByLocalDevID(uint32_t localDevId, uint32_t *devId)
{
    return same_number(localDevId, devId);
}

drvError_t drvGetLocalDevIDByHostDevID(uint32_t host_dev_id, uint32_t *local_dev_id)
{
    return same_number(host_dev_id, local_dev_id);
}

drvError_t drvDeviceGetPhyIdByIndex(uint32_t devIndex, uint32_t *phyId)
{
    return same_number(devIndex, phyId);
}

drvError_t drvDeviceGetIndexByPhyId(uint32_t phyId, uint32_t *devIndex)
{
    return same_number(phyId, devIndex);
}

drvError_t halGetDeviceCountFromChip(int chip_id, int *device_count)
{
    uint32_t dev;
    drvError_t rc = chip_id < 0 ? DRV_ERROR_INVALID_DEVICE : same_number((uint32_t)chip_id, &dev);
    if (device_count == NULL) {
        return DRV_ERROR_INVALID_VALUE;
    }
    if (rc == DRV_ERROR_NONE) {
        *device_count = 1;
    }
    return rc;
}

pid_t drvDeviceGetBareTgid(void)
{
    return getpid();
}

drvError_t drvGetPlatformInfo(uint32_t *info)
{
    if (info == NULL) {
        return DRV_ERROR_INVALID_VALUE;
    }
    *info = PLATFORM_HOST;
    return DRV_ERROR_NONE;
}

/* ---- state ---- */

drvError_t drvDeviceStatus(uint32_t devId, drvStatus_t *status)
{
    if (status == NULL) {
        return DRV_ERROR_INVALID_VALUE;
    }
    if (!snpu__device_exists(devId)) {
        return DRV_ERROR_INVALID_DEVICE;
    }
    *status = snpu_hal_lost(devId) ? DRV_STATUS_EXCEPTION : DRV_STATUS_WORK;
    return DRV_ERROR_NONE;
}

drvError_t halDeviceOpen(uint32_t devid, halDevOpenIn *in, halDevOpenOut *out)
{
    if (!snpu__device_exists(devid)) {
        return DRV_ERROR_INVALID_DEVICE;
    }
    if (out != NULL) {
        memset(out, 0, sizeof(*out));
    }
    return snpu__device_open(devid);
}

drvError_t halDeviceClose(uint32_t devid, halDevCloseIn *in)
{
    if (!snpu__device_exists(devid)) {
        return DRV_ERROR_INVALID_DEVICE;
    }
    snpu_hal_release_device(devid);
    return DRV_ERROR_NONE;
}

drvError_t drvDeviceOpen(void **devInfo, uint32_t devId)
{
    drvError_t rc = halDeviceOpen(devId, NULL, NULL);
    if (rc == DRV_ERROR_NONE && devInfo != NULL) {
        *devInfo = NULL; /* no contents that a caller could use */
    }
    return rc;
}

drvError_t drvDeviceClose(uint32_t devId)
{
    return halDeviceClose(devId, NULL);
}

/* ---- peers: every device can access every other, so enabling only checks the numbers ---- */

static drvError_t peers(uint32_t dev, uint32_t peer_dev)
{
    if (!snpu__device_exists(dev) || !snpu__device_exists(peer_dev)) {
        return DRV_ERROR_INVALID_DEVICE;
    }
    return dev != peer_dev ? DRV_ERROR_NONE : DRV_ERROR_INVALID_VALUE;
}

drvError_t halDeviceCanAccessPeer(int *can_access_peer, uint32_t dev, uint32_t peer_dev)
{
    drvError_t rc = peers(dev, peer_dev);
    if (can_access_peer == NULL || rc == DRV_ERROR_INVALID_DEVICE) {
        return can_access_peer == NULL ? DRV_ERROR_INVALID_VALUE : rc;
    }
    *can_access_peer = rc == DRV_ERROR_NONE;
    return DRV_ERROR_NONE;
}

drvError_t halDeviceEnableP2P(uint32_t dev, uint32_t peer_dev, uint32_t flag)
{
    return peers(dev, peer_dev);
}

drvError_t halDeviceDisableP2P(uint32_t dev, uint32_t peer_dev, uint32_t flag)
{
    return peers(dev, peer_dev);
}

/* ---- device information ---- */

static int64_t info_zero(uint32_t dev)
{
    return 0;
}

static int64_t info_one(uint32_t dev)
{
    return 1;
}

static int64_t info_version(uint32_t dev)
{
    return (int64_t)soc()->chip_type << 8 | CHIP_SUBVERSION;
}

static int64_t info_counter(uint32_t dev)
{
    return (int64_t)snpu_hal_counter();
}

static int64_t info_raw_ns(uint32_t dev)
{
    return (int64_t)ms_clock_raw_ns();
}

static int64_t info_host_khz(uint32_t dev)
{
    return 1000000; /* the host counter is CLOCK_MONOTONIC_RAW: one tick per nanosecond */
}

static int64_t info_device_khz(uint32_t dev)
{
    return 50000; /* snpu_hal_counter */
}

static int64_t info_number(uint32_t dev)
{
    return dev;
}

static int64_t info_aicpu(uint32_t dev)
{
    return soc()->aicpu_cores;
}

static int64_t info_ctrl(uint32_t dev)
{
    return soc()->ctrl_cores;
}

static int64_t info_cube(uint32_t dev)
{
    return soc()->cube_cores;
}

static int64_t info_vector(uint32_t dev)
{
    return soc()->vector_cores;
}

static const struct {
    int32_t module, info;
    int64_t (*value)(uint32_t dev);
} device_infos[] = {
    {MODULE_TYPE_SYSTEM, INFO_TYPE_ENV, info_zero},
    {MODULE_TYPE_SYSTEM, INFO_TYPE_VERSION, info_version},
    {MODULE_TYPE_SYSTEM, INFO_TYPE_CORE_NUM, info_one},
    {MODULE_TYPE_SYSTEM, INFO_TYPE_SYS_COUNT, info_counter},
    {MODULE_TYPE_SYSTEM, INFO_TYPE_MONOTONIC_RAW, info_raw_ns},
    {MODULE_TYPE_SYSTEM, INFO_TYPE_HOST_OSC_FREQUE, info_host_khz},
    {MODULE_TYPE_SYSTEM, INFO_TYPE_DEV_OSC_FREQUE, info_device_khz},
    {MODULE_TYPE_SYSTEM, INFO_TYPE_SDID, info_number},
    {MODULE_TYPE_AICPU, INFO_TYPE_CORE_NUM, info_aicpu},
    {MODULE_TYPE_CCPU, INFO_TYPE_CORE_NUM, info_ctrl},
    {MODULE_TYPE_DCPU, INFO_TYPE_CORE_NUM, info_zero},
    {MODULE_TYPE_AICORE, INFO_TYPE_VERSION, info_version},
    {MODULE_TYPE_AICORE, INFO_TYPE_CORE_NUM, info_cube},
    {MODULE_TYPE_TSCPU, INFO_TYPE_CORE_NUM, info_one},
    {MODULE_TYPE_VECTOR_CORE, INFO_TYPE_CORE_NUM, info_vector},
    {MODULE_TYPE_HOST_AICPU, INFO_TYPE_CORE_NUM, info_zero},
};

drvError_t halGetDeviceInfo(uint32_t devId, int32_t moduleType, int32_t infoType, int64_t *value)
{
    if (value == NULL) {
        return DRV_ERROR_INVALID_VALUE;
    }
    if (!snpu__device_exists(devId)) {
        return DRV_ERROR_INVALID_DEVICE;
    }
    for (size_t i = 0; i < MS_COUNT_OF(device_infos); i++) {
        if (device_infos[i].module == moduleType && device_infos[i].info == infoType) {
            *value = device_infos[i].value(devId);
            return DRV_ERROR_NONE;
        }
    }
    return DRV_ERROR_NOT_SUPPORT;
}

drvError_t halGetPhyDeviceInfo(uint32_t phyId, int32_t moduleType, int32_t infoType, int64_t *value)
{
    return halGetDeviceInfo(phyId, moduleType, infoType, value);
}

drvError_t halGetDeviceInfoByBuff(uint32_t devId, int32_t moduleType, int32_t infoType, void *buf, int32_t *size)
{
    int64_t value;
    if (buf == NULL || size == NULL || *size < (int32_t)sizeof(value)) {
        return DRV_ERROR_INVALID_VALUE;
    }
    drvError_t rc = halGetDeviceInfo(devId, moduleType, infoType, &value);
    if (rc == DRV_ERROR_NONE) {
        memcpy(buf, &value, sizeof(value));
        *size = sizeof(value);
    }
    return rc;
}

drvError_t halGetChipInfo(unsigned int devId, halChipInfo *chipInfo)
{
    if (chipInfo == NULL) {
        return DRV_ERROR_INVALID_VALUE;
    }
    if (!snpu__device_exists(devId)) {
        return DRV_ERROR_INVALID_DEVICE;
    }
    static const char family[] = "Ascend";
    memset(chipInfo, 0, sizeof(*chipInfo));
    snprintf((char *)chipInfo->type, sizeof(chipInfo->type), "%s", family);
    snprintf((char *)chipInfo->name, sizeof(chipInfo->name), "%s", soc()->name + sizeof(family) - 1);
    snprintf((char *)chipInfo->version, sizeof(chipInfo->version), "V%d", CHIP_SUBVERSION);
    return DRV_ERROR_NONE;
}

drvError_t halGetSocVersion(uint32_t devId, char *socVersion, uint32_t len)
{
    const char *name = snpu_hal_soc_name();
    if (socVersion == NULL || len <= strlen(name)) {
        return DRV_ERROR_INVALID_VALUE;
    }
    if (!snpu__device_exists(devId)) {
        return DRV_ERROR_INVALID_DEVICE;
    }
    strcpy(socVersion, name);
    return DRV_ERROR_NONE;
}

drvError_t halGetAPIVersion(int *halAPIVersion)
{
    if (halAPIVersion == NULL) {
        return DRV_ERROR_INVALID_VALUE;
    }
    *halAPIVersion = API_VERSION;
    return DRV_ERROR_NONE;
}
