/* SPDX-License-Identifier: Apache-2.0 */
/* libunified_dlog.so: the newer names of the log. Stateless; every call is forwarded to libascendalog.so. */
#include "base/dlog_pub.h"
#include "base/macros.h"

MS_EXPORT void snpu_log_write(int32_t module, int32_t level, const char *fmt, va_list args);

int32_t CheckLogLevel(int32_t moduleId, int32_t logLevel)
{
    return CheckLogLevelForC(moduleId, logLevel);
}

int32_t dlog_getlevel(int32_t moduleId, int32_t *enableEvent)
{
    return DlogGetlevelForC(moduleId, enableEvent);
}

int32_t dlog_setlevel(int32_t moduleId, int32_t level, int32_t enableEvent)
{
    return DlogSetlevelForC(moduleId, level, enableEvent);
}

void DlogVaList(int32_t moduleId, int32_t level, const char *fmt, va_list list)
{
    snpu_log_write(moduleId, level, fmt, list);
}

void DlogRecord(int32_t moduleId, int32_t level, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    snpu_log_write(moduleId, level, fmt, args);
    va_end(args);
}

void DlogFlush(void)
{
    DlogFlushForC();
}
