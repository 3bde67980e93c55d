/* SPDX-License-Identifier: Apache-2.0 */
/* Argument lists that a program builds piece by piece (aclrtKernelArgs*).
 *
 * The list is one buffer: parameters first, each on an 8-byte boundary, then the data that placeholders point to. No
 * parameter can be added once data has been allocated, so addresses stay fixed. A launch copies the buffer in its
 * current state. */
#ifndef SOFTNPU_RUNTIME_ARGS_H
#define SOFTNPU_RUNTIME_ARGS_H

#include "base/macros.h"

#include <stddef.h>
#include <stdint.h>

#define SNPU_MAX_PARAMS 128

struct snpu_launch;
struct snpu_patch;

MS_EXPORT int32_t snpu_args_new(void *func, void **list);
MS_EXPORT int32_t snpu_args_in_memory(void *func, void *list, void *buffer, size_t buffer_b);
MS_EXPORT int32_t snpu_args_sizes(void *func, size_t params_b, size_t *buffer_b, size_t *list_b);
MS_EXPORT int32_t snpu_args_append(void *list, const void *value, size_t value_b, void **param);
MS_EXPORT int32_t snpu_args_append_placeholder(void *list, void **param);
MS_EXPORT int32_t snpu_args_placeholder_buffer(void *list, void *param, size_t size_b, void **buffer);
MS_EXPORT int32_t snpu_args_update(void *list, void *param, const void *value, size_t value_b);
MS_EXPORT int32_t snpu_args_finish(void *list);

/* Sets args, args_b and patches of a launch from a finished list; `patches` has space for SNPU_MAX_PARAMS entries. */
int32_t snpu__args_for_launch(const char *function, void *list, struct snpu_launch *launch, struct snpu_patch *patches);

#endif
