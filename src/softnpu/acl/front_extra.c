/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of libascendcl.so and libacl_rt.so without an Impl function: stream configurations, host function
 * threads and the application log. They build on the public interface and hold no state either.
 *
 * Threads: a configuration belongs to its caller; nothing else is shared. */
#include "acl/acl.h"
#include "base/dlog_pub.h"
#include "softnpu/runtime/callback.h"
#include "softnpu/runtime/error.h"
#include "softnpu/runtime/stream_api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- stream configurations ---- */
aclrtStreamConfigHandle *aclrtCreateStreamConfigHandle(void)
{
    aclrtStreamConfigHandle *handle = snpu_stream_config_new();
    if (!handle) {
        snpu_fail(ACL_ERROR_BAD_ALLOC, "aclrtCreateStreamConfigHandle: out of host memory");
    }
    return handle;
}

aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle *handle)
{
    if (!snpu_stream_config_free(handle)) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM,
                         "aclrtDestroyStreamConfigHandle: %p was not created by aclrtCreateStreamConfigHandle",
                         (void *)handle);
    }
    return ACL_SUCCESS;
}

/* Callers pass options as 32-bit or 64-bit numbers. */
static int read_number(const void *value, size_t size_b, uint64_t max, uint64_t *out)
{
    uint32_t narrow;
    uint64_t wide;
    if (size_b == sizeof(narrow)) {
        memcpy(&narrow, value, sizeof(narrow));
        wide = narrow;
    } else if (size_b == sizeof(wide)) {
        memcpy(&wide, value, sizeof(wide));
    } else {
        return -1;
    }
    if (wide > max) {
        return -1;
    }
    *out = wide;
    return 0;
}

aclError aclrtSetStreamConfigOpt(aclrtStreamConfigHandle *handle, aclrtStreamConfigAttr attr, const void *attrValue,
                                 size_t valueSize)
{
    uint64_t number;
    if (!handle || !attrValue) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclrtSetStreamConfigOpt: %s is NULL",
                         handle ? "attrValue" : "handle");
    }
    switch (attr) {
    case ACL_RT_STREAM_WORK_ADDR_PTR:
        if (valueSize != sizeof(handle->workptr)) {
            break;
        }
        memcpy(&handle->workptr, attrValue, sizeof(handle->workptr));
        return ACL_SUCCESS;
    case ACL_RT_STREAM_WORK_SIZE:
        if (read_number(attrValue, valueSize, SIZE_MAX, &number) != 0) {
            break;
        }
        handle->workSize = number;
        return ACL_SUCCESS;
    case ACL_RT_STREAM_FLAG:
        if (read_number(attrValue, valueSize, UINT32_MAX, &number) != 0) {
            break;
        }
        handle->flag = number;
        return ACL_SUCCESS;
    case ACL_RT_STREAM_PRIORITY:
        if (read_number(attrValue, valueSize, UINT32_MAX, &number) != 0) {
            break;
        }
        handle->priority = (uint32_t)number;
        return ACL_SUCCESS;
    }
    return snpu_fail(ACL_ERROR_INVALID_PARAM,
                     "aclrtSetStreamConfigOpt: unknown attribute %d, or invalid value (%zu bytes)", (int)attr,
                     valueSize);
}

aclError aclrtCreateStreamV2(aclrtStream *stream, const aclrtStreamConfigHandle *handle)
{
    if (!stream || !handle) {
        return snpu_fail(ACL_ERROR_INVALID_PARAM, "aclrtCreateStreamV2: %s is NULL", stream ? "handle" : "stream");
    }
    return aclrtCreateStreamWithConfig(stream, handle->priority, (uint32_t)handle->flag);
}

/* ---- host function threads ---- */
aclError aclrtSubscribeHostFunc(uint64_t hostFuncThreadId, aclrtStream exeStream)
{
    return snpu_report_subscribe("aclrtSubscribeHostFunc", SNPU_REPORT_HOST_FUNC, hostFuncThreadId, exeStream);
}

aclError aclrtProcessHostFunc(int32_t timeout)
{
    return snpu_report_process("aclrtProcessHostFunc", SNPU_REPORT_HOST_FUNC, timeout);
}

aclError aclrtUnSubscribeHostFunc(uint64_t hostFuncThreadId, aclrtStream exeStream)
{
    return snpu_report_unsubscribe("aclrtUnSubscribeHostFunc", SNPU_REPORT_HOST_FUNC, hostFuncThreadId, exeStream);
}

/* ---- application log ---- */
void aclAppLogWithArgs(aclLogLevel level, const char *func, const char *file, uint32_t line, const char *fmt,
                       va_list args)
{
    char text[1024];
    if (!fmt || level < ACL_DEBUG || level > ACL_ERROR || CheckLogLevelForC(APP, (int32_t)level) != 1) {
        return;
    }
    vsnprintf(text, sizeof(text), fmt, args);
    DlogInnerForC(APP, (int32_t)level, "[%s:%u][%s] %s", file ? file : "?", line, func ? func : "?", text);
}

void aclAppLog(aclLogLevel level, const char *func, const char *file, uint32_t line, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    aclAppLogWithArgs(level, func, file, line, fmt, args);
    va_end(args);
}
