/* SPDX-License-Identifier: Apache-2.0 */
/* Logging of the vendor's stack: libascendalog.so (names with ForC) and libunified_dlog.so (the others).
 *
 * ASCEND_GLOBAL_LOG_LEVEL (0 debug ... 3 error, 4 off; default 3) and ASCEND_GLOBAL_EVENT_ENABLE (default 1) select
 * messages, ASCEND_SLOG_PRINT_TO_STDOUT=1 prints them, ASCEND_PROCESS_LOG_PATH is the folder of the log files. */
#ifndef BASE_DLOG_PUB_H
#define BASE_DLOG_PUB_H

#include <stdarg.h>
#include <stdint.h>

#define DLOG_DEBUG 0
#define DLOG_INFO  1
#define DLOG_WARN  2
#define DLOG_ERROR 3
#define DLOG_NULL  4
#define DLOG_TRACE 5
#define DLOG_OPLOG 6
#define DLOG_EVENT 0x10

/* Module numbers that programs and tools use. */
enum {
    SLOG = 0,
    HCCL = 3,
    RUNTIME = 7,
    PROFILING = 31,
    APP = 33,
    AICPU = 36,
    FE = 39,
    GE = 45,
    ASCENDCL = 48,
    TBE = 57,
    OP = 63,
};

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* 1 if a message of this module and level would be logged, otherwise 0. */
int32_t CheckLogLevelForC(int32_t moduleId, int32_t logLevel);
int32_t DlogGetlevelForC(int32_t moduleId, int32_t *enableEvent);
int32_t DlogSetlevelForC(int32_t moduleId, int32_t level, int32_t enableEvent); /* moduleId -1: all modules */
void DlogInnerForC(int32_t moduleId, int32_t level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void DlogRecordForC(int32_t moduleId, int32_t level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void DlogFlushForC(void);

int32_t CheckLogLevel(int32_t moduleId, int32_t logLevel);
int32_t dlog_getlevel(int32_t moduleId, int32_t *enableEvent);
int32_t dlog_setlevel(int32_t moduleId, int32_t level, int32_t enableEvent);
void DlogRecord(int32_t moduleId, int32_t level, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void DlogVaList(int32_t moduleId, int32_t level, const char *fmt, va_list list) __attribute__((format(printf, 3, 0)));
void DlogFlush(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#define dlog_write_(moduleId, level, ...)                                                                              \
    do {                                                                                                               \
        if (CheckLogLevel((moduleId), (level)) == 1) {                                                                 \
            DlogRecord((moduleId), (level), __VA_ARGS__);                                                              \
        }                                                                                                              \
    } while (0)

#define dlog_error(moduleId, ...) dlog_write_(moduleId, DLOG_ERROR, __VA_ARGS__)
#define dlog_warn(moduleId, ...)  dlog_write_(moduleId, DLOG_WARN, __VA_ARGS__)
#define dlog_info(moduleId, ...)  dlog_write_(moduleId, DLOG_INFO, __VA_ARGS__)
#define dlog_debug(moduleId, ...) dlog_write_(moduleId, DLOG_DEBUG, __VA_ARGS__)
#define dlog_event(moduleId, ...) dlog_write_(moduleId, DLOG_EVENT, __VA_ARGS__)

#endif
