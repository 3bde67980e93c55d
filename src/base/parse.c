/* SPDX-License-Identifier: Apache-2.0 */
#include "base/parse.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int ms_parse_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
    if (text == NULL || !isdigit((unsigned char)*text)) {
        return -EINVAL;
    }
    int base = (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) ? 16 : 10;
    char *end;
    errno = 0;
    unsigned long long v = strtoull(text, &end, base);
    if (*end != '\0') {
        return -EINVAL;
    }
    if (errno == ERANGE || v < min || v > max) {
        return -ERANGE;
    }
    *out = v;
    return 0;
}

int ms_parse_i64(const char *text, int64_t min, int64_t max, int64_t *out)
{
    if (text == NULL || *text == '\0' || isspace((unsigned char)*text)) {
        return -EINVAL;
    }
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (end == text || *end != '\0') {
        return -EINVAL;
    }
    if (errno == ERANGE || v < min || v > max) {
        return -ERANGE;
    }
    *out = v;
    return 0;
}

int ms_parse_size(const char *text, uint64_t *out_b)
{
    if (text == NULL || !isdigit((unsigned char)*text)) {
        return -EINVAL;
    }
    char *end;
    double v = strtod(text, &end);
    if (strspn(text, "0123456789.") != (size_t)(end - text)) {
        return -EINVAL; /* strtod also accepts exponents, hexadecimal and infinities */
    }
    static const char letters[] = "KMGTP";
    int shift = 0;
    if (*end != '\0' && *end != 'B' && *end != 'b') {
        const char *at = strchr(letters, toupper((unsigned char)*end));
        if (at == NULL) {
            return -EINVAL;
        }
        shift = 10 * (int)(at - letters + 1);
        end++;
        if (*end == 'i') {
            end++;
        }
    }
    if (*end == 'B' || *end == 'b') {
        end++;
    }
    if (*end != '\0') {
        return -EINVAL;
    }
    v = ldexp(v, shift);
    if (!(v < 18446744073709551615.0)) {
        return -ERANGE;
    }
    *out_b = (uint64_t)v;
    return 0;
}

int ms_parse_list(const char *text, uint64_t limit, uint64_t *out, size_t max, size_t *count)
{
    size_t n = 0;
    const char *p = text;
    if (text == NULL) {
        return -EINVAL;
    }
    for (;;) {
        while (isspace((unsigned char)*p)) {
            p++;
        }
        if (!isdigit((unsigned char)*p)) {
            return -EINVAL;
        }
        char *end;
        errno = 0;
        unsigned long long v = strtoull(p, &end, 10);
        if (errno == ERANGE || v > limit || n == max) {
            return -ERANGE;
        }
        out[n++] = v;
        while (isspace((unsigned char)*end)) {
            end++;
        }
        if (*end == '\0') {
            break;
        }
        if (*end != ',') {
            return -EINVAL;
        }
        p = end + 1;
    }
    *count = n;
    return 0;
}

void ms_format_size(uint64_t size_b, char out[16])
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double v = (double)size_b;
    size_t u = 0;
    while (v >= 1024.0 && u + 1 < sizeof(units) / sizeof(units[0])) {
        v /= 1024.0;
        u++;
    }
    if (u == 0 || v == floor(v)) {
        snprintf(out, 16, "%.0f %s", v, units[u]);
    } else {
        snprintf(out, 16, "%.1f %s", v, units[u]);
    }
}
