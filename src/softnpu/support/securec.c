/* SPDX-License-Identifier: Apache-2.0 */
/* libc_sec.so: bounds-checked copying and printing (scanning is in securec_scan.c).
 *
 * Every function checks in the same order: the limit itself (0 or above 2^31-1: nothing is touched), then NULL
 * pointers, then whether the result fits, then overlap. From the second check on the destination is known to be
 * writable up to the limit and is cleared on failure, so that a caller who ignores the result never sees a partial
 * copy.
 *
 * Threads: no state. Failure: error codes only; nothing is printed and nothing aborts. */
#include "securec.h"

#include <stdbool.h>
#include <stdint.h>

static bool limit_ok(size_t max)
{
    return max != 0 && max <= SECUREC_STRING_MAX_LEN;
}

static bool overlap(const void *a, size_t a_b, const void *b, size_t b_b)
{
    uintptr_t pa = (uintptr_t)a, pb = (uintptr_t)b;
    return pa < pb ? pb - pa < a_b : pa - pb < b_b;
}

errno_t memset_s(void *dest, size_t destMax, int c, size_t count)
{
    if (!limit_ok(destMax)) {
        return ERANGE;
    }
    if (dest == NULL) {
        return EINVAL;
    }
    if (count > destMax) {
        memset(dest, c, destMax); /* as far as the limit allows */
        return ERANGE_AND_RESET;
    }
    memset(dest, c, count);
    return EOK;
}

static errno_t check_copy(void *dest, size_t max, const void *src, size_t count)
{
    if (!limit_ok(max)) {
        return ERANGE;
    }
    if (dest == NULL) {
        return EINVAL;
    }
    if (src == NULL) {
        memset(dest, 0, max);
        return EINVAL_AND_RESET;
    }
    if (count > max) {
        memset(dest, 0, max);
        return ERANGE_AND_RESET;
    }
    return EOK;
}

errno_t memcpy_s(void *dest, size_t destMax, const void *src, size_t count)
{
    errno_t rc = check_copy(dest, destMax, src, count);
    if (rc != EOK || dest == src) {
        return rc;
    }
    if (overlap(dest, count, src, count)) {
        memset(dest, 0, destMax);
        return EOVERLAP_AND_RESET;
    }
    memcpy(dest, src, count);
    return EOK;
}

errno_t memmove_s(void *dest, size_t destMax, const void *src, size_t count)
{
    errno_t rc = check_copy(dest, destMax, src, count);
    if (rc == EOK) {
        memmove(dest, src, count);
    }
    return rc;
}

static errno_t clear_text(char *dest, errno_t rc)
{
    dest[0] = '\0';
    return rc;
}

static errno_t check_text(char *dest, size_t max, const char *src)
{
    if (!limit_ok(max)) {
        return ERANGE;
    }
    if (dest == NULL) {
        return EINVAL;
    }
    return src == NULL ? clear_text(dest, EINVAL_AND_RESET) : EOK;
}

/* Appends src, or its first count characters, after the used characters of dest. */
static errno_t put_text(char *dest, size_t max, size_t used, const char *src, size_t count)
{
    /* A source that cannot fit need not be read to its end. */
    size_t room = max - used;
    size_t len = strnlen(src, count < room ? count : room);
    size_t src_b = len < count ? len + 1 : len; /* the terminator is part of the source unless count ends it first */
    if (overlap(dest, used + (len < room ? len + 1 : room), src, src_b)) {
        return clear_text(dest, EOVERLAP_AND_RESET);
    }
    if (len >= room) {
        return clear_text(dest, ERANGE_AND_RESET);
    }
    memcpy(dest + used, src, len);
    dest[used + len] = '\0';
    return EOK;
}

errno_t strcpy_s(char *strDest, size_t destMax, const char *strSrc)
{
    errno_t rc = check_text(strDest, destMax, strSrc);
    if (rc != EOK) {
        return rc;
    }
    if (strDest == strSrc) {
        return strnlen(strSrc, destMax) < destMax ? EOK : clear_text(strDest, ERANGE_AND_RESET);
    }
    return put_text(strDest, destMax, 0, strSrc, SIZE_MAX);
}

errno_t strncpy_s(char *strDest, size_t destMax, const char *strSrc, size_t count)
{
    errno_t rc = check_text(strDest, destMax, strSrc);
    if (rc != EOK) {
        return rc;
    }
    if (count > SECUREC_STRING_MAX_LEN) {
        return clear_text(strDest, ERANGE_AND_RESET);
    }
    if (count == 0) {
        return clear_text(strDest, EOK);
    }
    if (strDest == strSrc) {
        size_t len = strnlen(strSrc, count < destMax ? count : destMax);
        if (len >= destMax) {
            return clear_text(strDest, ERANGE_AND_RESET);
        }
        strDest[len] = '\0';
        return EOK;
    }
    return put_text(strDest, destMax, 0, strSrc, count);
}

static errno_t append(char *dest, size_t max, const char *src, size_t count)
{
    size_t used = strnlen(dest, max);
    if (used == max) {
        return clear_text(dest, EINVAL_AND_RESET); /* dest is not a terminated string */
    }
    return put_text(dest, max, used, src, count);
}

errno_t strcat_s(char *strDest, size_t destMax, const char *strSrc)
{
    errno_t rc = check_text(strDest, destMax, strSrc);
    return rc == EOK ? append(strDest, destMax, strSrc, SIZE_MAX) : rc;
}

errno_t strncat_s(char *strDest, size_t destMax, const char *strSrc, size_t count)
{
    errno_t rc = check_text(strDest, destMax, strSrc);
    if (rc != EOK) {
        return rc;
    }
    if (count > SECUREC_STRING_MAX_LEN) {
        return clear_text(strDest, ERANGE_AND_RESET);
    }
    return append(strDest, destMax, strSrc, count);
}

char *strtok_s(char *strToken, const char *strDelimit, char **context)
{
    if (strDelimit == NULL || context == NULL || (strToken == NULL && *context == NULL)) {
        return NULL;
    }
    return strtok_r(strToken, strDelimit, context);
}

/* True if printing may start; otherwise the destination, if there is one, is set to "". */
static bool may_print(char *dest, size_t max, const char *format)
{
    if (dest == NULL || !limit_ok(max)) {
        return false;
    }
    if (format == NULL) {
        dest[0] = '\0';
        return false;
    }
    return true;
}

int vsprintf_s(char *strDest, size_t destMax, const char *format, va_list argList)
{
    if (!may_print(strDest, destMax, format)) {
        return -1;
    }
    int n = vsnprintf(strDest, destMax, format, argList);
    if (n < 0 || (size_t)n >= destMax) {
        strDest[0] = '\0';
        return -1;
    }
    return n;
}

int vsnprintf_s(char *strDest, size_t destMax, size_t count, const char *format, va_list argList)
{
    if (!may_print(strDest, destMax, format)) {
        return -1;
    }
    if (count > SECUREC_STRING_MAX_LEN && count != (size_t)-1) {
        strDest[0] = '\0';
        return -1;
    }
    bool cut_is_wanted = count == (size_t)-1 || count < destMax;
    size_t room = count < destMax ? count + 1 : destMax;
    int n = vsnprintf(strDest, room, format, argList);
    if (n >= 0 && (size_t)n < room) {
        return n;
    }
    if (n < 0 || !cut_is_wanted) {
        strDest[0] = '\0';
    }
    return -1;
}

int vsnprintf_truncated_s(char *strDest, size_t destMax, const char *format, va_list argList)
{
    if (!may_print(strDest, destMax, format)) {
        return -1;
    }
    int n = vsnprintf(strDest, destMax, format, argList);
    if (n < 0) {
        strDest[0] = '\0';
        return -1;
    }
    return (size_t)n < destMax ? n : (int)(destMax - 1);
}

int sprintf_s(char *strDest, size_t destMax, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsprintf_s(strDest, destMax, format, args);
    va_end(args);
    return n;
}

int snprintf_s(char *strDest, size_t destMax, size_t count, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf_s(strDest, destMax, count, format, args);
    va_end(args);
    return n;
}

int snprintf_truncated_s(char *strDest, size_t destMax, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf_truncated_s(strDest, destMax, format, args);
    va_end(args);
    return n;
}

char *gets_s(char *buffer, size_t destMax)
{
    if (buffer == NULL || !limit_ok(destMax) || fgets(buffer, (int)destMax, stdin) == NULL) {
        return NULL;
    }
    size_t len = strlen(buffer);
    if (len > 0 && buffer[len - 1] == '\n') {
        buffer[len - 1] = '\0';
    } else if (len == destMax - 1) {
        buffer[0] = '\0'; /* the line is longer than the buffer */
        return NULL;
    }
    return buffer;
}
