/* Numbers in as few bytes as they need: seven bits per byte, low bits first, the high bit says that more follow. Signed
 * differences are folded so that small ones of either sign are short. Readers check every byte against the end. */
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

/* length_b bytes that stand there, NULL if there are not so many. */
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

#endif
