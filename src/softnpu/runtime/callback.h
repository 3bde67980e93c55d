/* SPDX-License-Identifier: Apache-2.0 */
/* Host functions in stream order.
 *
 * A callback (aclrtLaunchCallback) runs in a thread of the program that subscribed to the stream and calls
 * aclrtProcessReport; the stream waits only for blocking callbacks. A host function (aclrtLaunchHostFunc) runs in
 * the thread that subscribed to the stream's host functions, or else on the stream's own thread; the stream always
 * waits. */
#ifndef SOFTNPU_RUNTIME_CALLBACK_H
#define SOFTNPU_RUNTIME_CALLBACK_H

#include "base/macros.h"

#include <stdbool.h>
#include <stdint.h>

struct snpu_stream;

enum snpu_report_kind { SNPU_REPORT_CALLBACK, SNPU_REPORT_HOST_FUNC };

MS_EXPORT int32_t snpu_report_subscribe(const char *function, enum snpu_report_kind kind, uint64_t thread,
                                        void *stream);
MS_EXPORT int32_t snpu_report_unsubscribe(const char *function, enum snpu_report_kind kind, uint64_t thread,
                                          void *stream);
/* Runs what is due for the calling thread; 507012 if nothing arrives within timeout_ms (< 0: no timeout). */
MS_EXPORT int32_t snpu_report_process(const char *function, enum snpu_report_kind kind, int32_t timeout_ms);

MS_EXPORT int32_t snpu_callback_launch(const char *function, void (*fn)(void *), void *data, bool block, void *stream);
MS_EXPORT int32_t snpu_host_func_launch(const char *function, void (*fn)(void *), void *data, void *stream);

/* The stream is being closed: its subscriptions end. */
void snpu_report_forget(struct snpu_stream *stream);

#endif
