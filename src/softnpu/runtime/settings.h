/* SPDX-License-Identifier: Apache-2.0 */
/* Values that programs set and read back: options, limits, peers; and device utilisation. They do not affect how tasks
 * run here: a software device has as many cores as the machine. */
#ifndef SOFTNPU_RUNTIME_SETTINGS_H
#define SOFTNPU_RUNTIME_SETTINGS_H

#include "base/macros.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* aclSysParamOpt, of the process or of the current context. 107021 if it was never set. */
MS_EXPORT int32_t snpu_sys_param_set(const char *function, bool of_context, int opt, int64_t value);
MS_EXPORT int32_t snpu_sys_param_get(const char *function, bool of_context, int opt, int64_t *value);

/* aclrtFloatOverflowMode of the current device. */
MS_EXPORT int32_t snpu_sat_mode_set(const char *function, int mode);
MS_EXPORT int32_t snpu_sat_mode_get(const char *function, int *mode);

/* Core limits (aclrtDevResLimitType). A device's default is all its cores, a stream's the limit of its device. */
MS_EXPORT int32_t snpu_res_limit_get(const char *function, int32_t user_dev, int type, uint32_t *value);
MS_EXPORT int32_t snpu_res_limit_set(const char *function, int32_t user_dev, int type, uint32_t value);
MS_EXPORT int32_t snpu_res_limit_reset(const char *function, int32_t user_dev);
MS_EXPORT int32_t snpu_stream_res_limit_get(const char *function, void *stream, int type, uint32_t *value);
MS_EXPORT int32_t snpu_stream_res_limit_set(const char *function, void *stream, int type, uint32_t value);
MS_EXPORT int32_t snpu_stream_res_limit_reset(const char *function, void *stream);
/* From now on the calling thread uses the limits of a stream. */
MS_EXPORT int32_t snpu_thread_res_use(const char *function, void *stream, bool use);
MS_EXPORT int32_t snpu_thread_res_get(const char *function, int type, uint32_t *value);

/* aclrtDeviceLimit of the current device. */
MS_EXPORT int32_t snpu_device_limit_set(const char *function, int limit, size_t value);
MS_EXPORT int32_t snpu_device_limit_get(const char *function, int limit, size_t *value);

/* Access of the current device to another device's memory. */
MS_EXPORT int32_t snpu_peer_set(const char *function, int32_t user_peer, bool on);
MS_EXPORT int32_t snpu_peer_get(const char *function, int32_t user_dev, int32_t user_peer, bool *on);

/* Percentage of the time since the last query (at least 10 ms ago) in which streams of this process were executing. */
MS_EXPORT int32_t snpu_device_busy_percent(const char *function, int32_t user_dev, int32_t *percent);

/* Device memory of the current context, zeroed, allocated on first use and freed with the context: where cores latch
 * overflows, and where they synchronise. */
enum snpu_scratch { SNPU_SCRATCH_OVERFLOW, SNPU_SCRATCH_SYNC };
MS_EXPORT int32_t snpu_scratch_address(const char *function, enum snpu_scratch which, void **address);

MS_EXPORT int32_t snpu_primary_state(const char *function, int32_t user_dev, bool *active);

#endif
