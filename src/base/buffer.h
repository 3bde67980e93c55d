/* SPDX-License-Identifier: Apache-2.0 */
/* A growing text buffer, with number formatting fast enough for writing millions of rows.
 *
 * All zeros is an empty buffer. Running out of memory sets `failed` and makes further appends do nothing; check it once
 * at the end. */
#ifndef MS_BASE_BUFFER_H
#define MS_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct ms_buffer {
    char *s;
    size_t used, room;
    bool failed;
};

bool ms_buffer_grow(struct ms_buffer *buffer, size_t more); /* reserves `more` bytes; false: out of memory */
void ms_buffer_free(struct ms_buffer *buffer);
/* Writes everything to fd and empties the buffer, also on error. 0 or -errno. */
int ms_buffer_write(struct ms_buffer *buffer, int fd);

static inline bool ms_buffer_reserve(struct ms_buffer *buffer, size_t more)
{
    return buffer->room - buffer->used >= more || ms_buffer_grow(buffer, more);
}

static inline void ms_buffer_add(struct ms_buffer *buffer, const char *s, size_t length_b)
{
    if (length_b != 0 && ms_buffer_reserve(buffer, length_b)) {
        memcpy(buffer->s + buffer->used, s, length_b);
        buffer->used += length_b;
    }
}

static inline void ms_buffer_char(struct ms_buffer *buffer, char c)
{
    if (ms_buffer_reserve(buffer, 1)) {
        buffer->s[buffer->used++] = c;
    }
}

/* MS_BUFFER_TEXT(b, "literal") */
#define MS_BUFFER_TEXT(buffer, literal) ms_buffer_add(buffer, literal, sizeof(literal) - 1)

void ms_buffer_u64(struct ms_buffer *buffer, uint64_t number);
void ms_buffer_hex16(struct ms_buffer *buffer, uint64_t number); /* 0x and 16 digits */
void ms_buffer_hex(struct ms_buffer *buffer, uint64_t number);   /* 0x and as many digits as needed */
void ms_buffer_fixed(struct ms_buffer *buffer, double number, unsigned decimals);

/* The inside of a JSON string: escapes quotes, backslashes and control characters, replaces invalid UTF-8. */
void ms_buffer_json(struct ms_buffer *buffer, const char *s, size_t length_b);
/* Replaces invalid UTF-8, copies the rest unchanged. */
void ms_buffer_utf8(struct ms_buffer *buffer, const char *s, size_t length_b);
/* The inside of a quoted CSV cell: doubles quotes. */
void ms_buffer_csv(struct ms_buffer *buffer, const char *s, size_t length_b);

#endif
