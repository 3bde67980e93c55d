/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of libmsprofiler.so. */
#ifndef SOFTNPU_PROFAPI_ACLPROF_INTERNAL_H
#define SOFTNPU_PROFAPI_ACLPROF_INTERNAL_H

#include "acl/acl_prof.h"
#include "base/macros.h"

/* The runtime keeps the messages for aclGetRecentErrMsg. This library does not depend on the runtime and must load
 * without it. */
extern int32_t snpu_fail(int32_t code, const char *format, ...) MS_PRINTF(2, 3) __attribute__((weak));
#define SNPU_PROF_FAIL(code, ...) (snpu_fail != NULL ? snpu_fail((code), __VA_ARGS__) : (code))

/* Registers this library as the msprof module of libprofapi's mstx multiplexer; idempotent. */
void snpu_aclprof_register_mstx(void);

#endif
