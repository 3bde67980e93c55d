/* SPDX-License-Identifier: Apache-2.0 */
/* The few macros that every file may use. */
#ifndef MS_BASE_MACROS_H
#define MS_BASE_MACROS_H

#define MS_EXPORT                          __attribute__((visibility("default")))
#define MS_PRINTF(fmt, args)               __attribute__((format(printf, fmt, args)))
#define MS_LIKELY(x)                       __builtin_expect(!!(x), 1)
#define MS_UNLIKELY(x)                     __builtin_expect(!!(x), 0)
#define MS_COUNT_OF(array)                 (sizeof(array) / sizeof((array)[0]))
#define MS_CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr) - __builtin_offsetof(type, member)))
#define MS_ROUND_UP(x, unit)               ((((x) + (unit)-1) / (unit)) * (unit))

/* For what every process reads or writes in which the agent is loaded, whether it records or not: beside the words that
 * the loader has relocated, instead of on a page of its own that must come first. */
#define MS_EARLY __attribute__((section(".data.early")))

#endif
