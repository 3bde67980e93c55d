/* SPDX-License-Identifier: Apache-2.0 */
/* Splits payload and tail of a record by its shape (records.h) and checks every length. For memory that only the caller
 * can change: a copy of a chunk, a block of a file. */
#ifndef MS_TRACE_PARTS_H
#define MS_TRACE_PARTS_H

#include "trace/records.h"

#include <stdbool.h>
#include <stddef.h>

#define MS_PART_TEXTS 2

struct ms_parts {
    struct ms_text_ref *ref[MS_PART_TEXTS]; /* in the payload */
    const char *text[MS_PART_TEXTS];        /* bytes of inline texts */
    uint32_t texts;
    uint32_t texts_b; /* total of inline bytes */
    struct ms_frame *frame;
    uint32_t frames;
    const uint8_t *bytes; /* a line table */
    uint32_t bytes_b;
    struct ms_stack_ids *stacks; /* NULL: none */
};

/* content: everything after the head. False: the lengths inside do not add up to content_b exactly. */
bool ms_parts(const struct ms_record_spec *spec, unsigned flags, void *content, size_t content_b, struct ms_parts *out);

/* The module in a definition; valid as long as the definition. */
struct ms_module;
void ms__module_of(const void *content, const struct ms_parts *parts, struct ms_module *out);

#endif
