/* SPDX-License-Identifier: Apache-2.0 */
/* Types shared by the runtime headers. Results are the numbers of acl/error_codes/rt_error_codes.h. */
#ifndef RUNTIME_BASE_H
#define RUNTIME_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifndef __cplusplus
#include <stdbool.h>
#endif

typedef int32_t rtError_t;
typedef char char_t;
typedef float float32_t;

typedef void *rtStream_t;
typedef void *rtEvent_t;
typedef void *rtContext_t;
typedef void *rtNotify_t;
typedef void *rtFuncHandle;
typedef void *rtBinHandle;
typedef void *rtArgsHandle;
typedef void *rtLaunchArgsHandle;
typedef void *rtDrvMemHandle;

static const int32_t RT_ERROR_NONE = 0;

#endif
