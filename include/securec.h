/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds-checked C library functions under the names that CANN programs use (libc_sec.so).
 *
 * Copying functions return EOK or one of the codes below; a code with "_AND_RESET" means that the destination was
 * cleared (memory: filled with zero bytes, text: set to ""). Printing functions return the number of characters or
 * -1, scanning functions the number of converted fields or -1. For %s, %c and %[ the scanning functions take the
 * size of the destination as an additional argument after its address. */
#ifndef SECUREC_H
#define SECUREC_H

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#ifndef EOK
#define EOK 0
#endif
#ifndef EINVAL_AND_RESET
#define EINVAL_AND_RESET (22 | 0x80)
#endif
#ifndef ERANGE_AND_RESET
#define ERANGE_AND_RESET (34 | 0x80)
#endif
#ifndef EOVERLAP_AND_RESET
#define EOVERLAP_AND_RESET (54 | 0x80)
#endif

#define SECUREC_MEM_MAX_LEN    0x7fffffffUL
#define SECUREC_STRING_MAX_LEN 0x7fffffffUL

#ifndef errno_t
typedef int errno_t;
#endif

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

errno_t memset_s(void *dest, size_t destMax, int c, size_t count);
errno_t memcpy_s(void *dest, size_t destMax, const void *src, size_t count);
errno_t memmove_s(void *dest, size_t destMax, const void *src, size_t count);

errno_t strcpy_s(char *strDest, size_t destMax, const char *strSrc);
errno_t strncpy_s(char *strDest, size_t destMax, const char *strSrc, size_t count);
errno_t strcat_s(char *strDest, size_t destMax, const char *strSrc);
errno_t strncat_s(char *strDest, size_t destMax, const char *strSrc, size_t count);
char *strtok_s(char *strToken, const char *strDelimit, char **context);

int sprintf_s(char *strDest, size_t destMax, const char *format, ...) __attribute__((format(printf, 3, 4)));
int vsprintf_s(char *strDest, size_t destMax, const char *format, va_list argList)
    __attribute__((format(printf, 3, 0)));
/* At most count characters: a longer text is truncated, and the result is -1. */
int snprintf_s(char *strDest, size_t destMax, size_t count, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
int vsnprintf_s(char *strDest, size_t destMax, size_t count, const char *format, va_list argList)
    __attribute__((format(printf, 4, 0)));
/* A text that does not fit is truncated, and the result is destMax - 1. */
int snprintf_truncated_s(char *strDest, size_t destMax, const char *format, ...) __attribute__((format(printf, 3, 4)));
int vsnprintf_truncated_s(char *strDest, size_t destMax, const char *format, va_list argList)
    __attribute__((format(printf, 3, 0)));

int sscanf_s(const char *buffer, const char *format, ...);
int vsscanf_s(const char *buffer, const char *format, va_list argList);
int fscanf_s(FILE *stream, const char *format, ...);
int vfscanf_s(FILE *stream, const char *format, va_list argList);
int scanf_s(const char *format, ...);
int vscanf_s(const char *format, va_list argList);
char *gets_s(char *buffer, size_t destMax);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
