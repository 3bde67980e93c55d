/* SPDX-License-Identifier: Apache-2.0 */
/* Between the files of libmsprofiler.so. */
#ifndef SOFTNPU_PROFAPI_ACLPROF_INTERNAL_H
#define SOFTNPU_PROFAPI_ACLPROF_INTERNAL_H

#include "acl/acl_prof.h"
#include "base/macros.h"

/* Texts for aclGetRecentErrMsg are kept by the runtime. This library stands beside it and must load without it. */
extern int32_t snpu_fail(int32_t code, const char *format, ...) MS_PRINTF(2, 3) __attribute__((weak));
#define PROF_FAIL(code, ...) (snpu_fail != NULL ? snpu_fail((code), __VA_ARGS__) : (code))

/* Makes this library the msprof side of libprofapi's mstx sharing; idempotent. */
void aclprof_listen_to_mstx(void);

#endif
