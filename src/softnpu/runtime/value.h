/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in device memory that streams write and wait for. */
#ifndef SOFTNPU_RUNTIME_VALUE_H
#define SOFTNPU_RUNTIME_VALUE_H

#include "base/macros.h"

#include <stdint.h>

MS_EXPORT int32_t snpu_value_write(const char *function, void *address, uint64_t value, uint32_t flag, void *stream);
/* flag: ACL_STREAM_WAIT_VALUE_*. */
MS_EXPORT int32_t snpu_value_wait(const char *function, void *address, uint64_t value, uint32_t flag, void *stream);

#endif
