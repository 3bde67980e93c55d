/* SPDX-License-Identifier: Apache-2.0 */
/* Streams as programs use them, behind rt* and ACL functions: every function takes handles and names its caller. */
#ifndef SOFTNPU_RUNTIME_STREAM_API_H
#define SOFTNPU_RUNTIME_STREAM_API_H

#include "base/macros.h"

#include <stdbool.h>
#include <stdint.h>

#define SNPU_PRIORITY_LEAST    7
#define SNPU_PRIORITY_GREATEST 0

MS_EXPORT int32_t snpu_stream_create(const char *function, uint32_t priority, uint32_t flags, void **out);
MS_EXPORT int32_t snpu_stream_destroy(const char *function, void *handle, bool force);
/* timeout_ms below -1 is an error, -1 means no timeout. */
MS_EXPORT int32_t snpu_stream_wait_empty(const char *function, void *handle, int32_t timeout_ms);
MS_EXPORT int32_t snpu_device_wait_empty(const char *function, int32_t timeout_ms);
MS_EXPORT int32_t snpu_stream_busy(const char *function, void *handle, bool *busy);
MS_EXPORT int32_t snpu_stream_discard(const char *function, void *handle);   /* aclrtStreamAbort */
MS_EXPORT int32_t snpu_stream_interrupt(const char *function, void *handle); /* aclrtStreamStop */
MS_EXPORT int32_t snpu_device_task_abort(const char *function, int32_t user_dev, uint32_t timeout_ms);
MS_EXPORT int32_t snpu_streams_available(const char *function, uint32_t *count);

/* attr is an aclrtStreamAttr. */
MS_EXPORT int32_t snpu_stream_set_attr(const char *function, void *handle, int attr, uint64_t value);
MS_EXPORT int32_t snpu_stream_get_attr(const char *function, void *handle, int attr, uint64_t *value);

/* An aclrtStreamConfigHandle; the ACL layer itself is stateless. False: not such a handle, or already freed. */
MS_EXPORT void *snpu_stream_config_new(void);
MS_EXPORT bool snpu_stream_config_free(void *config);

struct snpu_stream_info {
    uint32_t id, priority, flags;
    uint64_t submitted;
};
MS_EXPORT int32_t snpu_stream_describe(const char *function, void *handle, struct snpu_stream_info *out);

#endif
