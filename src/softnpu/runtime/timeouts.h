/* SPDX-License-Identifier: Apache-2.0 */
/* Task timeouts: how long a stream may wait for an event, how long a kernel may run. */
#ifndef SOFTNPU_RUNTIME_TIMEOUTS_H
#define SOFTNPU_RUNTIME_TIMEOUTS_H

#include "base/macros.h"

#include <stdint.h>

/* Milliseconds, 0 = no limit. The wait limit applies to event waits on streams that have no limit of their own; expiry
 * is an error of the stream, 107019. The execute limit applies to kernels: one that took longer fails with 507014. */
MS_EXPORT void snpu_set_op_wait_timeout_ms(uint64_t ms);
MS_EXPORT void snpu_set_op_execute_timeout_ms(uint64_t ms);
MS_EXPORT uint64_t snpu_op_wait_timeout_ms(void);
MS_EXPORT uint64_t snpu_op_execute_timeout_ms(void);

#endif
