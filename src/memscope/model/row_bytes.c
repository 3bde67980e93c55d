/* SPDX-License-Identifier: Apache-2.0 */
/* See row_bytes.h. */
#include "memscope/model/row_bytes.h"

#include <string.h>

/* A row without its attributes. */
#define HEAD_B offsetof(struct ms_row, attr)

void ms_row_pack(struct ms_buffer *buffer, const struct ms_row *row)
{
    size_t attrs_b = row->attr_count * sizeof(row->attr[0]);
    size_t texts_b = row->name.length_b;
    for (uint32_t i = 0; i < row->attr_count; i++) {
        texts_b += row->attr[i].form == MS_FORM_TEXT ? row->attr[i].text.length_b : 0;
        texts_b += row->attr[i].key == MS_ATTR_OTHER ? row->attr[i].other_key_b : 0;
    }
    uint32_t length_b = (uint32_t)(sizeof(length_b) + HEAD_B + attrs_b + texts_b);
    ms_buffer_reserve(buffer, length_b);
    ms_buffer_add(buffer, (const char *)&length_b, sizeof(length_b));
    ms_buffer_add(buffer, (const char *)row, HEAD_B);
    ms_buffer_add(buffer, (const char *)row->attr, attrs_b);
    ms_buffer_add(buffer, row->name.s, row->name.length_b);
    for (uint32_t i = 0; i < row->attr_count; i++) {
        if (row->attr[i].form == MS_FORM_TEXT) {
            ms_buffer_add(buffer, row->attr[i].text.s, row->attr[i].text.length_b);
        }
        if (row->attr[i].key == MS_ATTR_OTHER) {
            ms_buffer_add(buffer, row->attr[i].other_key, row->attr[i].other_key_b);
        }
    }
}

size_t ms_row_packed_b(const char *bytes, size_t bytes_b)
{
    uint32_t length_b;
    if (bytes_b < sizeof(length_b)) {
        return 0;
    }
    memcpy(&length_b, bytes, sizeof(length_b));
    return length_b <= bytes_b ? length_b : 0;
}

static const char *take_text(struct ms_text *text, const char *at)
{
    text->s = at;
    return at + text->length_b;
}

void ms_row_unpack(const char *bytes, struct ms_row *row)
{
    const char *at = bytes + sizeof(uint32_t);
    memcpy(row, at, HEAD_B);
    at += HEAD_B;
    memcpy(row->attr, at, row->attr_count * sizeof(row->attr[0]));
    at = take_text(&row->name, at + row->attr_count * sizeof(row->attr[0]));
    for (uint32_t i = 0; i < row->attr_count; i++) {
        if (row->attr[i].form == MS_FORM_TEXT) {
            at = take_text(&row->attr[i].text, at);
        }
        if (row->attr[i].key == MS_ATTR_OTHER) {
            row->attr[i].other_key = at;
            at += row->attr[i].other_key_b;
        }
    }
}
