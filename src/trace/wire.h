/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in as few bytes as they need. Signed differences are folded so that small ones of either sign are short.
 *
 * Varints, for rare numbers: seven bits per byte, low bits first; the high bit is set if more follow.
 * Groups, for frequent numbers: the lengths (0 to 8 bytes) of all numbers of a group as half bytes, low half first,
 * then the numbers, low byte first. No branch depends on a number, which makes them fast. */
#ifndef MS_TRACE_WIRE_H
#define MS_TRACE_WIRE_H

#include "base/macros.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define MS_VARINT_MAX_B 10

static inline uint8_t *ms_put_varint(uint8_t *to, uint64_t value)
{
    while (value >= 0x80) {
        *to++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *to++ = (uint8_t)value;
    return to;
}

static inline uint64_t ms_fold(uint64_t difference)
{
    return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static inline uint64_t ms_unfold(uint64_t folded)
{
    return folded >> 1 ^ (0 - (folded & 1));
}

/* What is left to read. After an error `at` is NULL and everything reads 0. */
struct ms_bytes {
    const uint8_t *at, *end;
};

static inline void ms_bytes_fail(struct ms_bytes *b)
{
    b->at = b->end = NULL;
}

static inline bool ms_bytes_ok(const struct ms_bytes *b)
{
    return b->at != NULL;
}

static inline uint64_t ms_get_varint(struct ms_bytes *b)
{
    const uint8_t *at = b->at;
    if (MS_LIKELY(at < b->end && *at < 0x80)) {
        b->at = at + 1;
        return *at;
    }
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && at < b->end; shift += 7) {
        uint8_t byte = *at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            b->at = at;
            return value;
        }
    }
    ms_bytes_fail(b);
    return 0;
}

/* The next length_b bytes, NULL if there are fewer. */
static inline const uint8_t *ms_get_bytes(struct ms_bytes *b, uint64_t length_b)
{
    const uint8_t *at = b->at;
    if (at == NULL || length_b > (uint64_t)(b->end - at)) {
        ms_bytes_fail(b);
        return NULL;
    }
    b->at = at + length_b;
    return at;
}

/* ---- groups ---- */

#define MS_GROUP_MAX 12

static inline unsigned ms_length_b(uint64_t value)
{
    return value == 0 ? 0 : (71u - (unsigned)__builtin_clzll(value)) / 8;
}

/* Writes up to 8 bytes beyond what it returns. */
static inline uint8_t *ms_put_group(uint8_t *to, const uint64_t *value, unsigned count)
{
    uint64_t lengths = 0;
    for (unsigned i = 0; i < count; i++) {
        lengths |= (uint64_t)ms_length_b(value[i]) << 4 * i;
    }
    memcpy(to, &lengths, 8);
    to += (count + 1) / 2;
    for (unsigned i = 0; i < count; i++) {
        memcpy(to, &value[i], 8);
        to += ms_length_b(value[i]);
    }
    return to;
}

/* Reads up to 8 * (count + 1) bytes, whether they belong to the numbers or not: see MS_BLOCK_SLACK_B. */
static inline void ms_get_group(struct ms_bytes *b, uint64_t *value, unsigned count)
{
    const uint8_t *at = b->at;
    uint64_t lengths;
    if (MS_UNLIKELY(at == NULL || at >= b->end)) {
        memset(value, 0, count * sizeof(*value));
        if (count != 0) {
            ms_bytes_fail(b);
        }
        return;
    }
    memcpy(&lengths, at, 8);
    at += (count + 1) / 2;
    unsigned long_one = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned length_b = lengths & 15;
        uint64_t word;
        lengths >>= 4;
        memcpy(&word, at, 8);
        value[i] = length_b == 0 ? 0 : word & UINT64_MAX >> (64 - 8 * (length_b & 7)) % 64;
        at += length_b & 8 ? 8 : length_b;
        long_one |= length_b > 8;
    }
    if (MS_UNLIKELY(long_one || at > b->end)) {
        ms_bytes_fail(b);
    } else {
        b->at = at;
    }
}

#endif
