/* SPDX-License-Identifier: Apache-2.0 */
/* Error codes and their messages. Every failing path of the runtime and of the ACL layer ends in
 *     return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMemcpy: count %zu exceeds destMax %zu", count, max);
 * so that aclGetRecentErrMsg can report what was wrong. Messages are per thread; nothing is allocated. */
#ifndef SOFTNPU_RUNTIME_ERROR_H
#define SOFTNPU_RUNTIME_ERROR_H

#include "base/macros.h"

#include <stdint.h>

/* Stores the message for this thread and returns the code. */
MS_EXPORT int32_t snpu_fail(int32_t code, const char *format, ...) MS_PRINTF(2, 3);

/* Returns and clears the stored message; NULL if there is none. Valid until this thread's next snpu_fail. */
MS_EXPORT const char *snpu_take_message(void);

/* Name of a code as in the vendor's headers ("ACL_ERROR_RT_PARAM_INVALID"), "unknown" if it has none. */
MS_EXPORT const char *snpu_code_name(int32_t code);

/* Translates a driver result (0 stays 0) and stores "<what>: driver error <n> (<name>)". */
MS_EXPORT int32_t snpu_from_drv(int drv_result, const char *what);

/* Last error of asynchronous work seen by this thread: aclrtGetLastError clears it, aclrtPeekAtLastError does not. */
MS_EXPORT void snpu_set_last_error(int32_t code);
MS_EXPORT int32_t snpu_get_last_error(int take);

#endif
