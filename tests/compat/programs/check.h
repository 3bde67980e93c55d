/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the programs: a call that must succeed, one that must fail with a given code, a condition that must
 * hold. The first failure ends the program with a message. */
#ifndef CHECK_H
#define CHECK_H

#include "acl/acl.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void fail_at(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
static inline void fail_at(const char *file, int line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    fflush(NULL);
    _Exit(1);
}

#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fail_at(__FILE__, __LINE__, "%s", #condition);                                                             \
        }                                                                                                              \
    } while (0)

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        int code_ = (int)(call);                                                                                       \
        if (code_ != 0) {                                                                                              \
            const char *text_ = aclGetRecentErrMsg();                                                                  \
            fail_at(__FILE__, __LINE__, "%s: %d, %s", #call, code_, text_ != NULL ? text_ : "no message");             \
        }                                                                                                              \
    } while (0)

#define FAILS(expected, call)                                                                                          \
    do {                                                                                                               \
        int code_ = (int)(call);                                                                                       \
        if (code_ != (int)(expected)) {                                                                                \
            fail_at(__FILE__, __LINE__, "%s: %d instead of %d", #call, code_, (int)(expected));                        \
        }                                                                                                              \
        if (aclGetRecentErrMsg() == NULL) {                                                                            \
            fail_at(__FILE__, __LINE__, "%s: no message", #call);                                                      \
        }                                                                                                              \
    } while (0)

#endif
