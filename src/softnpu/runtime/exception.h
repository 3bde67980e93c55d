/* SPDX-License-Identifier: Apache-2.0 */
/* What the program can learn about a task that failed on the device. */
#ifndef SOFTNPU_RUNTIME_EXCEPTION_H
#define SOFTNPU_RUNTIME_EXCEPTION_H

#include "base/macros.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Opaque to programs: they read it with the aclrtGet...FromExceptionInfo functions, inside the callback. */
struct rtExceptionInfo {
    struct rtExceptionInfo *next; /* list of the exceptions being reported to callbacks */
    uint32_t task_id, stream_id, thread_id, device_id, code;
    uint32_t args_b;
    void *args;
    void *func;
};

typedef void (*snpu_exception_fn)(struct rtExceptionInfo *info);

/* The callback of aclrtSetExceptionInfoCallback: replaced by the next call, removed by NULL. */
MS_EXPORT int32_t snpu_exception_set(snpu_exception_fn callback);
/* The callbacks of aclrtExceptionInfoCallbackRegister: any number, each once. */
MS_EXPORT int32_t snpu_exception_add(snpu_exception_fn callback);
MS_EXPORT int32_t snpu_exception_remove(snpu_exception_fn callback);

/* Is this exception being reported to a callback right now? Any pointer value is allowed. */
MS_EXPORT bool snpu_exception_active(const struct rtExceptionInfo *info);

/* Last failure of a device in this process, 0 if none since its last reset: aclrtGetErrorVerbose. */
MS_EXPORT int32_t snpu_exception_last(uint32_t dev);
/* The note (snpu_task_note) of the task that failed last; false if it failed with another code or left no note. */
bool snpu_exception_text(uint32_t dev, int32_t code, char *text, size_t text_b);

#endif
