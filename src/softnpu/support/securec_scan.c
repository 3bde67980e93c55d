/* SPDX-License-Identifier: Apache-2.0 */
/* libc_sec.so: scanning with destination sizes.
 *
 * The C library does the scanning, but %s, %c and %[ here have the size of their destination as an additional
 * argument. So the argument list is first converted to plain pointers and a format with explicit widths: a text
 * conversion into n bytes becomes one of width n into a temporary buffer of n + 1 bytes, and a result of exactly n
 * characters means that the field did not fit. All arguments of scanf are pointers, so the plain list is an array.
 *
 * Threads: no state. Failure: -1, and every text destination of the call is set to "". */
#include "securec.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

enum { MAX_FIELDS = 32, MAX_FORMAT = 4096 };

struct scan_field {
    void *target; /* what the C library writes to */
    char *dest;   /* text only: the caller's buffer of dest_b bytes, filled from target afterwards */
    size_t dest_b;
    bool counts; /* part of scanf's result (%n is not) */
};

struct plan {
    struct scan_field fields[MAX_FIELDS];
    int count;
    char format[MAX_FORMAT];
    size_t len;
};

static bool emit(struct plan *plan, const char *text, size_t len)
{
    if (len >= MAX_FORMAT - plan->len) {
        return false;
    }
    memcpy(plan->format + plan->len, text, len);
    plan->len += len;
    plan->format[plan->len] = '\0';
    return true;
}

/* One past the closing bracket of a scan set that starts after '['; NULL if there is none. */
static const char *end_of_set(const char *p)
{
    if (*p == '^') {
        p++;
    }
    if (*p == ']') {
        p++;
    }
    p = strchr(p, ']');
    return p == NULL ? NULL : p + 1;
}

/* A text conversion: [spec, end) is "s", "c", "[...]" or one of them after 'l'. */
static bool plan_text(struct plan *plan, struct scan_field *f, size_t width, bool single, const char *spec,
                      const char *end, void *dest, size_t dest_b)
{
    char number[24];
    if (dest == NULL || dest_b == 0 || dest_b > SECUREC_STRING_MAX_LEN) {
        return false;
    }
    if (single) { /* %c: no terminator, so the width must simply fit */
        width = width == 0 ? 1 : width;
        f->target = dest;
        int n = snprintf(number, sizeof(number), "%zu", width);
        return width <= dest_b && emit(plan, number, (size_t)n) && emit(plan, spec, (size_t)(end - spec));
    }
    f->dest = dest;
    f->dest_b = dest_b;
    f->dest[0] = '\0';
    f->target = calloc(1, dest_b + 1);
    int n = snprintf(number, sizeof(number), "%zu", width != 0 && width < dest_b ? width : dest_b);
    return f->target != NULL && emit(plan, number, (size_t)n) && emit(plan, spec, (size_t)(end - spec));
}

/* Parses one conversion after '%'. Returns the rest of the format, or NULL if the conversion cannot be done safely. */
static const char *plan_conversion(struct plan *plan, const char *p, va_list *args)
{
    bool assigns = true;
    if (*p == '*') {
        assigns = false;
        p++;
    }
    size_t width = 0;
    const char *digits = p;
    while (isdigit((unsigned char)*p)) {
        width = width < SECUREC_STRING_MAX_LEN ? width * 10 + (size_t)(*p - '0') : width;
        p++;
    }
    const char *modifier = p;
    p += strspn(p, "hljztLq");
    const char *spec = p;
    if (*p == '\0' || strchr("sc[diouxXaAeEfFgGpn", *p) == NULL) {
        return NULL; /* positions (1$), allocation (m) and unknown letters */
    }
    const char *end = *p == '[' ? end_of_set(p + 1) : p + 1;
    if (end == NULL || !emit(plan, "%", 1)) {
        return NULL;
    }
    if (!assigns) {
        return emit(plan, "*", 1) && emit(plan, digits, (size_t)(end - digits)) ? end : NULL;
    }
    if (plan->count == MAX_FIELDS) {
        return NULL;
    }
    struct scan_field *f = &plan->fields[plan->count++];
    f->counts = *spec != 'n';
    void *dest = va_arg(*args, void *);
    if (strchr("sc[", *spec) != NULL) {
        if (spec != modifier) {
            return NULL; /* wide strings are not supported */
        }
        /* Callers pass an int or a size_t; the low half is correct for both, and larger sizes are refused anyway. */
        size_t dest_b = va_arg(*args, unsigned int);
        return plan_text(plan, f, width, *spec == 'c', spec, end, dest, dest_b) ? end : NULL;
    }
    f->target = dest;
    return dest != NULL && emit(plan, digits, (size_t)(end - digits)) ? end : NULL;
}

static bool make_plan(struct plan *plan, const char *format, va_list *args)
{
    for (const char *p = format; *p != '\0';) {
        if (*p != '%' || p[1] == '%') {
            size_t n = *p == '%' ? 2 : 1;
            if (!emit(plan, p, n)) {
                return false;
            }
            p += n;
        } else if ((p = plan_conversion(plan, p + 1, args)) == NULL) {
            return false;
        }
    }
    return true;
}

/* Copies the first `converted` fields to their destinations; false if one of them does not fit. */
static bool deliver(struct plan *plan, int converted)
{
    for (int i = 0; i < plan->count && converted > 0; i++) {
        struct scan_field *f = &plan->fields[i];
        converted -= f->counts;
        if (f->dest == NULL) {
            continue;
        }
        size_t len = strlen(f->target);
        if (len >= f->dest_b) {
            return false;
        }
        memcpy(f->dest, f->target, len + 1);
    }
    return true;
}

/* Scans a text or, if it is NULL, a stream. */
static int scan(const char *text, FILE *stream, const char *format, va_list args)
{
    if ((text == NULL && stream == NULL) || format == NULL) {
        return -1;
    }
    struct plan *plan = calloc(1, sizeof(*plan));
    if (plan == NULL) {
        return -1;
    }
    int result = -1;
    va_list copy;
    va_copy(copy, args);
    if (make_plan(plan, format, &copy)) {
        void *p[MAX_FIELDS];
        for (int i = 0; i < MAX_FIELDS; i++) {
            p[i] = plan->fields[i].target;
        }
#define ALL_FIELDS                                                                                                     \
    p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11], p[12], p[13], p[14], p[15], p[16],       \
        p[17], p[18], p[19], p[20], p[21], p[22], p[23], p[24], p[25], p[26], p[27], p[28], p[29], p[30], p[31]
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        result = text != NULL ? sscanf(text, plan->format, ALL_FIELDS) : fscanf(stream, plan->format, ALL_FIELDS);
#pragma GCC diagnostic pop
#undef ALL_FIELDS
        if (!deliver(plan, result)) {
            result = -1;
        }
    }
    va_end(copy);
    for (int i = 0; i < plan->count; i++) {
        if (plan->fields[i].dest != NULL) {
            if (result < 0) {
                plan->fields[i].dest[0] = '\0';
            }
            free(plan->fields[i].target);
        }
    }
    free(plan);
    return result;
}

int vsscanf_s(const char *buffer, const char *format, va_list argList)
{
    return buffer == NULL ? -1 : scan(buffer, NULL, format, argList);
}

int vfscanf_s(FILE *stream, const char *format, va_list argList)
{
    return scan(NULL, stream, format, argList);
}

int vscanf_s(const char *format, va_list argList)
{
    return scan(NULL, stdin, format, argList);
}

int sscanf_s(const char *buffer, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsscanf_s(buffer, format, args);
    va_end(args);
    return n;
}

int fscanf_s(FILE *stream, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vfscanf_s(stream, format, args);
    va_end(args);
    return n;
}

int scanf_s(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vscanf_s(format, args);
    va_end(args);
    return n;
}
