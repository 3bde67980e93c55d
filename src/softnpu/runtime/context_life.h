/* SPDX-License-Identifier: Apache-2.0 */
/* Setting and resetting devices, creating and destroying contexts: the basis of the rt* functions and the ACL layer. */
#ifndef SOFTNPU_RUNTIME_CONTEXT_LIFE_H
#define SOFTNPU_RUNTIME_CONTEXT_LIFE_H

#include "softnpu/runtime/context.h"

MS_EXPORT int32_t snpu_device_set(const char *function, int32_t user_dev);
/* The device of threads that have set none; user_dev < 0: such threads have no device. */
MS_EXPORT int32_t snpu_device_set_default(const char *function, int32_t user_dev);
MS_EXPORT int32_t snpu_device_reset(const char *function, int32_t user_dev, bool force);
MS_EXPORT int32_t snpu_ctx_create(const char *function, int32_t user_dev, struct snpu_ctx **out);
MS_EXPORT int32_t snpu_ctx_destroy(const char *function, void *handle);
MS_EXPORT int32_t snpu_ctx_select(const char *function, void *handle);

/* Calls the callbacks of aclrtRegDeviceStateCallback; state is an aclrtDeviceState. */
void snpu_device_notify(int32_t user_dev, int state);

#endif
