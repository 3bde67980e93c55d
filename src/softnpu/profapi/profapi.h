/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of libprofapi.so, and what it offers to the other libraries of the software NPU beyond the vendor's
 * interface. */
#ifndef SOFTNPU_PROFAPI_PROFAPI_H
#define SOFTNPU_PROFAPI_PROFAPI_H

#include "base/macros.h"
#include "toolchain/prof_api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SNPU_PROFAPI_OK = 0, SNPU_PROFAPI_ERROR = -1 };

/* ---- a second listener ----
 * Tools own the callback slots. libmsprofiler.so uses a tap instead, so that aclprofStart does not
 * replace a tool's callbacks. */
struct snpu_prof_tap {
    void (*api)(const struct MsprofApi *api);
    void (*compact)(const struct MsprofCompactInfo *info);
};
MS_EXPORT void snpu_profapi_tap(const struct snpu_prof_tap *tap); /* NULL: none; must stay valid forever */

/* Name registered for a type, or NULL. Never freed. */
MS_EXPORT const char *snpu_profapi_type_name(uint16_t level, uint32_t type);

/* ---- shared by the files of this library ---- */

/* Signatures of the callbacks by type. */
typedef int32_t (*snpu_profapi_api_fn)(uint32_t aging, const struct MsprofApi *api);
typedef int32_t (*snpu_profapi_event_fn)(uint32_t aging, const struct MsprofEvent *event);
typedef int32_t (*snpu_profapi_info_fn)(uint32_t aging, const void *data, uint32_t len);
typedef int32_t (*snpu_profapi_type_fn)(uint16_t level, uint32_t type, const char *name, size_t len);
typedef uint64_t (*snpu_profapi_hash_fn)(const char *text, size_t len);
typedef int8_t (*snpu_profapi_freq_fn)(void);
typedef int32_t (*snpu_profapi_device_fn)(void *para, uint32_t len);

/* The callback in a slot, or NULL. */
void *snpu_profapi_callback(enum ProfileCallbackType type);

/* Called after a callback was registered: replays what it missed. */
void snpu_profapi_replay_types(snpu_profapi_type_fn fn);
void snpu_profapi_replay_hashes(snpu_profapi_hash_fn fn);
void snpu_profapi_replay_devices(snpu_profapi_device_fn fn);

/* Forgets which clock MsprofSysCycleTime uses; the next call queries the host frequency callback again. */
void snpu_profapi_clock_reset(void);

/* The stored copy of a text, or NULL when the store is full. Never freed. */
const char *snpu_profapi_intern(const char *text, size_t len, uint64_t *id);

#endif
