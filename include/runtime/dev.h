/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_DEV_H
#define RUNTIME_DEV_H

#include "base.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

typedef enum tagRtRunMode {
    RT_RUN_MODE_OFFLINE,
    RT_RUN_MODE_ONLINE,
    RT_RUN_MODE_AICPU_SCHED,
} rtRunMode;

rtError_t rtSetDevice(int32_t devId);
rtError_t rtDeviceReset(int32_t devId);
rtError_t rtGetDevice(int32_t *devId);
rtError_t rtGetDeviceCount(int32_t *cnt);
rtError_t rtDeviceSynchronize(void);
/** @brief Timeout in milliseconds; -1 waits forever. */
rtError_t rtDeviceSynchronizeWithTimeout(int32_t timeout);
rtError_t rtGetRunMode(rtRunMode *runMode);
rtError_t rtGetSocVersion(char_t *ver, const uint32_t maxLen);
rtError_t rtGetSocSpec(const char *label, const char *key, char *val, const uint32_t maxLen);
/** @brief Module and info numbers are the driver's (halGetDeviceInfo). */
rtError_t rtGetDeviceInfo(uint32_t deviceId, int32_t moduleType, int32_t infoType, int64_t *val);
rtError_t rtGetDevicePhyIdByIndex(uint32_t devIndex, uint32_t *phyId);
rtError_t rtGetVisibleDeviceIdByLogicDeviceId(const int32_t logicDeviceId, int32_t *const visibleDeviceId);
/** @brief The area through which the cores of a device synchronise; address and length are 0 on chips without one. */
rtError_t rtGetC2cCtrlAddr(uint64_t *addr, uint32_t *len);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
