/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks by name: aclrtRegDeviceStateCallback, aclrtRegStreamStateCallback, aclrtSetDeviceTaskAbortCallback. */
#ifndef SOFTNPU_RUNTIME_REGISTRY_H
#define SOFTNPU_RUNTIME_REGISTRY_H

#include "base/macros.h"

#include <stdint.h>

struct snpu_stream;

enum snpu_registry_kind { SNPU_REG_DEVICE_STATE, SNPU_REG_STREAM_STATE, SNPU_REG_TASK_ABORT, SNPU_REG_KINDS };

/* callback is cast from the kind's function type. */
MS_EXPORT int32_t snpu_registry_set(const char *function, enum snpu_registry_kind kind, const char *name,
                                    void (*callback)(void), void *args);

void snpu_stream_notify(struct snpu_stream *stream, int state);
int32_t snpu_task_abort_notify(int32_t user_dev, int stage, uint32_t timeout_ms);

#endif
