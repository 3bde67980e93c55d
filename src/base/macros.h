/* SPDX-License-Identifier: Apache-2.0 */
/* Macros that any file may use. */
#ifndef MS_BASE_MACROS_H
#define MS_BASE_MACROS_H

#define MS_EXPORT                          __attribute__((visibility("default")))
#define MS_PRINTF(fmt, args)               __attribute__((format(printf, fmt, args)))
#define MS_LIKELY(x)                       __builtin_expect(!!(x), 1)
#define MS_UNLIKELY(x)                     __builtin_expect(!!(x), 0)
#define MS_COUNT_OF(array)                 (sizeof(array) / sizeof((array)[0]))
#define MS_CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr) - __builtin_offsetof(type, member)))
#define MS_ROUND_UP(x, unit)               ((((x) + (unit)-1) / (unit)) * (unit))

/* For variables that every process with the agent loaded reads or writes, whether it records or not: places them next
 * to words that the loader relocates, so they cost no page fault of their own. */
#define MS_EARLY __attribute__((section(".data.early")))

#endif
