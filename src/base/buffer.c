/* SPDX-License-Identifier: Apache-2.0 */
/* See buffer.h. */
#include "base/buffer.h"

#include "base/swar.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool ms_buffer_grow(struct ms_buffer *buffer, size_t more)
{
    size_t room = (buffer->used + more) * 2;
    room = room < 256 ? 256 : room;
    char *s = buffer->failed ? NULL : realloc(buffer->s, room);
    if (s == NULL) {
        buffer->failed = true;
        return false;
    }
    buffer->s = s;
    buffer->room = room;
    return true;
}

void ms_buffer_free(struct ms_buffer *buffer)
{
    free(buffer->s);
    *buffer = (struct ms_buffer){0};
}

int ms_buffer_write(struct ms_buffer *buffer, int fd)
{
    size_t done = 0;
    int rc = buffer->failed ? -ENOMEM : 0;
    while (rc == 0 && done < buffer->used) {
        ssize_t n = write(fd, buffer->s + done, buffer->used - done);
        if (n > 0) {
            done += (size_t)n;
        } else if (n == 0 || errno != EINTR) {
            rc = n == 0 ? -EIO : -errno;
        }
    }
    buffer->used = 0;
    return rc;
}

/* Without leading zeros; returns the end. */
static char *first_digits(char *at, uint32_t number)
{
    uint64_t digits = ms_swar_digits(number);
    size_t zeros = digits != 0 ? ms_swar_first(digits) : MS_SWAR_B - 1;
    ms_swar_store(at, (digits | MS_SWAR_EACH('0')) >> 8 * zeros);
    return at + MS_SWAR_B - zeros;
}

static char *more_digits(char *at, uint32_t number)
{
    ms_swar_store(at, ms_swar_digits(number) | MS_SWAR_EACH('0'));
    return at + MS_SWAR_B;
}

void ms_buffer_u64(struct ms_buffer *buffer, uint64_t number)
{
    enum { EIGHT = 100000000, MOST = 3 * MS_SWAR_B };
    if (!ms_buffer_reserve(buffer, MOST)) {
        return;
    }
    char *at = buffer->s + buffer->used;
    if (number < 10) {
        *at++ = (char)('0' + number);
    } else if (number < EIGHT) {
        at = first_digits(at, (uint32_t)number);
    } else {
        uint64_t upper = number / EIGHT;
        if (upper < EIGHT) {
            at = first_digits(at, (uint32_t)upper);
        } else {
            at = first_digits(at, (uint32_t)(upper / EIGHT));
            at = more_digits(at, (uint32_t)(upper % EIGHT));
        }
        at = more_digits(at, (uint32_t)(number % EIGHT));
    }
    buffer->used = (size_t)(at - buffer->s);
}

static const char hex_digits[] = "0123456789abcdef";

void ms_buffer_hex16(struct ms_buffer *buffer, uint64_t number)
{
    if (!ms_buffer_reserve(buffer, 18)) {
        return;
    }
    char *text = buffer->s + buffer->used;
    buffer->used += 18;
    text[0] = '0';
    text[1] = 'x';
    /* Spread the bytes into nibbles, then turn all of them into digits at once: 9 becomes '9', 10 becomes 'a'. */
    for (unsigned half = 0; half < 2; half++) {
        uint64_t x = half == 0 ? number >> 32 : number & 0xffffffffu;
        x = (x | x << 16) & 0x0000ffff0000ffffull;
        x = (x | x << 8) & 0x00ff00ff00ff00ffull;
        x = (x | x << 4) & 0x0f0f0f0f0f0f0f0full;
        uint64_t letters = (x + 0x0606060606060606ull) >> 4 & 0x0101010101010101ull;
        x += 0x3030303030303030ull + letters * ('a' - '9' - 1);
        x = __builtin_bswap64(x);
        memcpy(text + 2 + 8 * half, &x, 8);
    }
}

void ms_buffer_hex(struct ms_buffer *buffer, uint64_t number)
{
    char text[18] = "0x";
    unsigned length = 2;
    for (int shift = 60; shift >= 0; shift -= 4) {
        if (shift == 0 || length > 2 || number >> shift != 0) {
            text[length++] = hex_digits[number >> shift & 0xf];
        }
    }
    ms_buffer_add(buffer, text, length);
}

void ms_buffer_fixed(struct ms_buffer *buffer, double number, unsigned decimals)
{
    char text[400]; /* the largest double has 309 digits before the point */
    int length = snprintf(text, sizeof(text), "%.*f", (int)decimals, number);
    ms_buffer_add(buffer, text, length > 0 ? (size_t)length : 0);
}

/* ---- escaping ---- */

/* Length of the UTF-8 sequence at s, 0 if it is not valid UTF-8. */
static size_t utf8_length(const unsigned char *s, size_t left)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = {{0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (unsigned i = 0; i < 3; i++) {
        if ((s[0] & forms[i].mask) != forms[i].lead) {
            continue;
        }
        size_t length = i + 2;
        if (length > left) {
            return 0;
        }
        uint32_t point = s[0] & (unsigned char)~forms[i].mask;
        for (size_t j = 1; j < length; j++) {
            if ((s[j] & 0xc0) != 0x80) {
                return 0;
            }
            point = point << 6 | (s[j] & 0x3f);
        }
        bool surrogate = point >= 0xd800 && point <= 0xdfff;
        return point >= forms[i].least && point <= 0x10ffff && !surrogate ? length : 0;
    }
    return 0;
}

void ms_buffer_utf8(struct ms_buffer *buffer, const char *s, size_t length_b)
{
    for (size_t at = 0, length; at < length_b; at += length) {
        unsigned char c = (unsigned char)s[at];
        length = c < 0x80 ? 1 : utf8_length((const unsigned char *)s + at, length_b - at);
        if (length != 0) {
            ms_buffer_add(buffer, s + at, length);
        } else {
            MS_BUFFER_TEXT(buffer, "\xef\xbf\xbd");
            length = 1;
        }
    }
}

void ms_buffer_json(struct ms_buffer *buffer, const char *s, size_t length_b)
{
    const unsigned char *at = (const unsigned char *)s, *end = at + length_b, *plain = at;
    while (at < end) {
        if (*at >= 0x20 && *at < 0x7f && *at != '"' && *at != '\\') {
            at++;
            continue;
        }
        size_t length = *at >= 0x80 ? utf8_length(at, (size_t)(end - at)) : 0;
        if (length != 0) {
            at += length;
            continue;
        }
        ms_buffer_add(buffer, (const char *)plain, (size_t)(at - plain));
        char escape[6] = {'\\', 0};
        switch (*at) {
        case '"':
        case '\\':
            escape[1] = (char)*at;
            break;
        case '\n':
            escape[1] = 'n';
            break;
        case '\t':
            escape[1] = 't';
            break;
        case '\r':
            escape[1] = 'r';
            break;
        default:
            break;
        }
        if (escape[1] != 0) {
            ms_buffer_add(buffer, escape, 2);
        } else if (*at < 0x80) {
            memcpy(escape + 1, "u00", 3);
            escape[4] = hex_digits[*at >> 4];
            escape[5] = hex_digits[*at & 0xf];
            ms_buffer_add(buffer, escape, 6);
        } else {
            MS_BUFFER_TEXT(buffer, "\xef\xbf\xbd");
        }
        plain = ++at;
    }
    ms_buffer_add(buffer, (const char *)plain, (size_t)(at - plain));
}

void ms_buffer_csv(struct ms_buffer *buffer, const char *s, size_t length_b)
{
    const char *quote;
    while (length_b != 0 && (quote = memchr(s, '"', length_b)) != NULL) {
        size_t upto = (size_t)(quote - s) + 1;
        ms_buffer_add(buffer, s, upto);
        ms_buffer_char(buffer, '"');
        s += upto;
        length_b -= upto;
    }
    ms_buffer_add(buffer, s, length_b);
}
