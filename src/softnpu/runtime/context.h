/* SPDX-License-Identifier: Apache-2.0 */
/* Devices as the user numbers them, and contexts. A thread has at most one current context. A device has one primary
 * context (aclrtSetDevice, reference counted) and any number of explicit ones. */
#ifndef SOFTNPU_RUNTIME_CONTEXT_H
#define SOFTNPU_RUNTIME_CONTEXT_H

#include "base/macros.h"

#include <stdbool.h>
#include <stdint.h>

struct snpu_stream;

struct snpu_ctx {
    uint32_t dev;                       /* driver id, as in HAL flags and profiling records */
    int32_t user_dev;                   /* number used by the program (ASCEND_RT_VISIBLE_DEVICES) */
    struct snpu_stream *default_stream; /* stream NULL */
    bool primary;
    struct snpu_ctx_private *priv;
};

/* The calling thread's context, or NULL. */
MS_EXPORT struct snpu_ctx *snpu_ctx_current(void);

/* 0 and the current context, or 107002 with a message that names the function. */
MS_EXPORT int32_t snpu_ctx_get(const char *function, struct snpu_ctx **out);

/* The same, but a thread without a context gets that of the default device, as if it had called aclrtSetDevice. */
MS_EXPORT int32_t snpu_ctx_need(const char *function, struct snpu_ctx **out);

/* Converts between user and driver numbers; 107001 with a message if the device does not exist. */
MS_EXPORT int32_t snpu_dev_from_user(const char *function, int32_t user_dev, uint32_t *dev);
MS_EXPORT int32_t snpu_dev_to_user(uint32_t dev, int32_t *user_dev); /* 107001 if the device is not visible */
MS_EXPORT uint32_t snpu_dev_visible_count(void);

/* Waits until every stream of the device in this process is empty. timeout_ms < 0: no timeout. */
MS_EXPORT int32_t snpu_dev_synchronize(uint32_t dev, int32_t timeout_ms);

#endif
