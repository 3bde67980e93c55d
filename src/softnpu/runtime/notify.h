/* SPDX-License-Identifier: Apache-2.0 */
/* Notifies: a flag that one stream sets and another waits for and clears, in this process or another. Counting
 * notifies: a number that streams change and compare. */
#ifndef SOFTNPU_RUNTIME_NOTIFY_H
#define SOFTNPU_RUNTIME_NOTIFY_H

#include "base/macros.h"

#include <stddef.h>
#include <stdint.h>

/* user_dev < 0: the device of the current context. */
MS_EXPORT int32_t snpu_notify_create(const char *function, int32_t user_dev, uint64_t flags, void **out);
MS_EXPORT int32_t snpu_notify_destroy(const char *function, void *handle);
MS_EXPORT int32_t snpu_notify_record(const char *function, void *handle, void *stream);
/* timeout_s 0: no timeout. Expiry is an error of the stream, 107019. */
MS_EXPORT int32_t snpu_notify_wait(const char *function, void *handle, void *stream, uint32_t timeout_s);
MS_EXPORT int32_t snpu_notify_id(const char *function, void *handle, uint32_t *id);
MS_EXPORT int32_t snpu_notify_reset(const char *function, void *handle); /* immediately, not in stream order */

MS_EXPORT int32_t snpu_notify_export(const char *function, void *handle, char *key, size_t key_b, uint64_t flags);
MS_EXPORT int32_t snpu_notify_allow(const char *function, void *handle, const int32_t *pids, size_t count);
MS_EXPORT int32_t snpu_notify_import(const char *function, const char *key, uint64_t flags, void **out);

MS_EXPORT int32_t snpu_cnt_notify_create(const char *function, uint64_t flags, void **out);
MS_EXPORT int32_t snpu_cnt_notify_destroy(const char *function, void *handle);
MS_EXPORT int32_t snpu_cnt_notify_record(const char *function, void *handle, void *stream, uint32_t mode,
                                         uint32_t value);
MS_EXPORT int32_t snpu_cnt_notify_wait(const char *function, void *handle, void *stream, uint32_t mode, uint32_t value,
                                       uint32_t timeout_s, int clear);
MS_EXPORT int32_t snpu_cnt_notify_reset(const char *function, void *handle, void *stream);
MS_EXPORT int32_t snpu_cnt_notify_id(const char *function, void *handle, uint32_t *id);

#endif
