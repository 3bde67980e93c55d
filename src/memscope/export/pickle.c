/* SPDX-License-Identifier: Apache-2.0 */
/* See pickle.h. Every value is written in its shortest form, as Python's pickler does. */
#include "memscope/export/pickle.h"

enum {
    OP_PROTO = 0x80,
    OP_INT1 = 'K',        /* one byte */
    OP_INT2 = 'M',        /* two bytes */
    OP_INT = 'J',         /* four bytes, signed */
    OP_LONG1 = 0x8a,      /* length, then that many bytes, signed */
    OP_SHORT_TEXT = 0x8c, /* length in one byte, UTF-8 */
    OP_TEXT = 'X',        /* length in four bytes */
    OP_PUT1 = 'q',
    OP_PUT = 'r',
    OP_GET1 = 'h',
    OP_GET = 'j',
};

static void add_bytes(struct ms_buffer *out, uint64_t number, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++) {
        ms_buffer_char(out, (char)(number >> (8 * i)));
    }
}

static void add_op(struct ms_buffer *out, unsigned op, uint64_t number, unsigned bytes)
{
    ms_buffer_char(out, (char)op);
    add_bytes(out, number, bytes);
}

void ms_pickle_begin(struct ms_buffer *out)
{
    add_op(out, OP_PROTO, 4, 1);
}

void ms_pickle_u64(struct ms_buffer *out, uint64_t number)
{
    if (number <= UINT8_MAX) {
        add_op(out, OP_INT1, number, 1);
    } else if (number <= UINT16_MAX) {
        add_op(out, OP_INT2, number, 2);
    } else if (number <= INT32_MAX) {
        add_op(out, OP_INT, number, 4);
    } else {
        unsigned bits = 64 - (unsigned)__builtin_clzll(number);
        unsigned bytes = bits / 8 + 1; /* the top bit is the sign */
        add_op(out, OP_LONG1, bytes, 1);
        add_bytes(out, number, bytes < 8 ? bytes : 8);
        if (bytes == 9) {
            ms_buffer_char(out, 0);
        }
    }
}

void ms_pickle_text(struct ms_buffer *out, const char *s, size_t length_b)
{
    /* The length precedes the text and counts replaced bytes: filled in when it is known. */
    size_t start = out->used;
    add_op(out, OP_TEXT, 0, 4);
    ms_buffer_utf8(out, s, length_b);
    if (out->failed) {
        return;
    }
    size_t text_b = out->used - start - 5;
    if (text_b <= UINT8_MAX) {
        out->s[start] = (char)OP_SHORT_TEXT;
        out->s[start + 1] = (char)text_b;
        memmove(out->s + start + 2, out->s + start + 5, text_b);
        out->used -= 3;
        return;
    }
    for (unsigned i = 0; i < 4; i++) {
        out->s[start + 1 + i] = (char)(text_b >> (8 * i));
    }
}

void ms_pickle_put(struct ms_buffer *out, uint32_t number)
{
    add_op(out, number <= UINT8_MAX ? OP_PUT1 : OP_PUT, number, number <= UINT8_MAX ? 1 : 4);
}

void ms_pickle_get(struct ms_buffer *out, uint32_t number)
{
    add_op(out, number <= UINT8_MAX ? OP_GET1 : OP_GET, number, number <= UINT8_MAX ? 1 : 4);
}
