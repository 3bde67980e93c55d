/* SPDX-License-Identifier: Apache-2.0 */
/* The cells of a row as text: the contents of each column, once for all formats.
 *
 * A format's style says how texts are quoted; everything else is the same in all formats. The style is a constant and
 * everything here is inlined with it: a dump has millions of rows. */
#ifndef MS_EXPORT_CELLS_H
#define MS_EXPORT_CELLS_H

#include "memscope/export/dump_internal.h"

#define MS_CELL_INLINE static inline __attribute__((always_inline))

typedef void (*ms_cell_text_fn)(struct ms_buffer *buffer, const char *s, size_t length_b);

struct ms_cell_word {
    char s[32]; /* copied as a whole, which is faster than using the length */
    size_t length_b;
};
#define MS_CELL_WORD(literal)                                                                                          \
    {                                                                                                                  \
        literal, sizeof(literal) - 1                                                                                   \
    }

/* Attributes: every key starts with a comma; that of the first one is replaced by a brace. */
struct ms_cell_style {
    ms_cell_text_fn plain;  /* a text that fills the cell */
    ms_cell_text_fn quoted; /* a text that is quoted in every format */
    ms_cell_text_fn inside; /* a text within the attributes */
    struct ms_cell_word key[MS_ATTR_KEY_COUNT];
    struct ms_cell_word other_begin, other_end; /* around a key that is not in the table */
    struct ms_cell_word attrs_begin, value_end, attrs_end;
    struct ms_cell_word no_attrs; /* written instead of attributes */
};

MS_CELL_INLINE void ms__cell_word(struct ms_buffer *buffer, const struct ms_cell_word *word)
{
    if (word->length_b != 0 && ms_buffer_reserve(buffer, sizeof(word->s))) { /* most words are compile-time constants */
        memcpy(buffer->s + buffer->used, word->s, sizeof(word->s));
        buffer->used += word->length_b;
    }
}

MS_CELL_INLINE void ms__cell_event(struct ms_buffer *buffer, unsigned event)
{
    static const struct ms_cell_word words[MS_EV_COUNT + 1] = {
#define X(name, text) [MS_EV_##name] = MS_CELL_WORD(text),
        MS_EVENTS(X)
#undef X
            [MS_EV_COUNT] = MS_CELL_WORD("UNKNOWN"),
    };
    ms__cell_word(buffer, &words[event < MS_EV_COUNT ? event : MS_EV_COUNT]);
}

MS_CELL_INLINE void ms__cell_type(struct ms_buffer *buffer, unsigned type)
{
    static const struct ms_cell_word words[MS_TYPE_COUNT + 1] = {
#define X(event, name, text, meaning) [MS_TYPE_##name] = MS_CELL_WORD(text),
        MS_EVENT_TYPES(X)
#undef X
            [MS_TYPE_COUNT] = MS_CELL_WORD("UNKNOWN"),
    };
    ms__cell_word(buffer, &words[type < MS_TYPE_COUNT ? type : MS_TYPE_COUNT]);
}

MS_CELL_INLINE void ms__cell_attrs(struct ms_buffer *buffer, const struct ms_row *row,
                                   const struct ms_cell_style *style)
{
    if (row->attr_count == 0) {
        ms__cell_word(buffer, &style->no_attrs);
        return;
    }
    ms__cell_word(buffer, &style->attrs_begin);
    size_t brace = buffer->used; /* position of the first comma, replaced below */
    for (uint32_t i = 0; i < row->attr_count; i++) {
        const struct ms_attr *attr = &row->attr[i];
        if (attr->key < MS_ATTR_KEY_COUNT) {
            ms__cell_word(buffer, &style->key[attr->key]);
        } else {
            ms__cell_word(buffer, &style->other_begin);
            style->inside(buffer, attr->other_key, attr->other_key_b);
            ms__cell_word(buffer, &style->other_end);
        }
        switch (attr->form) {
        case MS_FORM_NUMBER:
            ms_buffer_u64(buffer, attr->number);
            break;
        case MS_FORM_ADDR:
            ms_buffer_hex16(buffer, attr->number);
            break;
        case MS_FORM_PTR:
            if (attr->number != 0) {
                ms_buffer_hex(buffer, attr->number);
            } else {
                MS_BUFFER_TEXT(buffer, "(nil)");
            }
            break;
        case MS_FORM_RATE:
            ms_buffer_fixed(buffer, attr->rate, 6);
            break;
        default:
            style->inside(buffer, attr->text.s, attr->text.length_b);
            break;
        }
        ms__cell_word(buffer, &style->value_end);
    }
    if (!buffer->failed) {
        buffer->s[brace] = '{';
    }
    ms__cell_word(buffer, &style->attrs_end);
}

/* The original writes stacks to databases with quotes, too, and readers strip them. */
MS_CELL_INLINE void ms__cell_stack(struct ms_buffer *buffer, const struct ms_dump *dump, bool python, uint32_t id,
                                   const struct ms_cell_style *style)
{
    if (id == 0) {
        return;
    }
    struct ms_text text = {.s = "NA", .length_b = 2};
    if (!python || id != MS_STACK_NO_GIL) {
        text = ms__dump_stack(dump, python, id);
    }
    if (text.length_b != 0) {
        style->quoted(buffer, text.s, text.length_b);
    }
}

/* Columns that hold a number in this row. */
MS_CELL_INLINE bool ms__cell_number(const struct ms_row *row, enum ms_dump_column column, uint64_t *number)
{
    switch (column) {
    case MS_COL_ID:
        *number = row->id;
        return true;
    case MS_COL_TIME:
        *number = row->time_ns;
        return true;
    case MS_COL_PID:
        *number = row->pid;
        return row->pid != MS_ID_NONE;
    case MS_COL_TID:
        *number = row->tid;
        return row->tid != MS_ID_NONE;
    default:
        return false;
    }
}

/* All other cells. */
MS_CELL_INLINE void ms__cell_text(struct ms_buffer *buffer, const struct ms_dump *dump, const struct ms_row *row,
                                  enum ms_dump_column column, const struct ms_cell_style *style)
{
    switch (column) {
    case MS_COL_EVENT:
        ms__cell_event(buffer, row->event);
        return;
    case MS_COL_TYPE:
        ms__cell_type(buffer, row->type);
        return;
    case MS_COL_NAME:
        if (row->event == MS_EV_MSTX) {
            style->quoted(buffer, row->name.s, row->name.length_b);
            return;
        }
        if (row->name.length_b != 0) {
            style->plain(buffer, row->name.s, row->name.length_b);
            return;
        }
        break;
    case MS_COL_DEVICE:
        if (row->device == MS_DEV_CPU) {
            MS_BUFFER_TEXT(buffer, "cpu");
            return;
        }
        if (row->device != MS_DEV_UNKNOWN) {
            ms_buffer_u64(buffer, row->device);
            return;
        }
        break;
    case MS_COL_PTR:
        if (row->has_addr) {
            ms_buffer_hex16(buffer, row->addr);
            return;
        }
        break;
    case MS_COL_ATTR:
        ms__cell_attrs(buffer, row, style);
        return;
    case MS_COL_PYTHON_STACK:
        ms__cell_stack(buffer, dump, true, row->python_stack, style);
        return;
    case MS_COL_C_STACK:
        ms__cell_stack(buffer, dump, false, row->c_stack, style);
        return;
    default:
        break;
    }
    MS_BUFFER_TEXT(buffer, "N/A");
}

/* Columns of a Python call that hold a number in every format. */
MS_CELL_INLINE bool ms__cell_slice_number(const struct ms_slice *slice, enum ms_slice_column column, uint64_t *number)
{
    *number = column == MS_SLICE_COL_TID ? slice->tid : slice->pid;
    return column == MS_SLICE_COL_TID || column == MS_SLICE_COL_PID;
}

/* All other cells of a call: the function, and times, which are texts because they may be missing. */
MS_CELL_INLINE void ms__cell_slice_text(struct ms_buffer *buffer, const struct ms_slice *slice,
                                        enum ms_slice_column column, const struct ms_cell_style *style)
{
    uint64_t time_ns = column == MS_SLICE_COL_START ? slice->start_ns : slice->end_ns;
    if (column == MS_SLICE_COL_FUNCTION) {
        style->plain(buffer, slice->function.s, slice->function.length_b);
    } else if (time_ns != 0) {
        ms_buffer_u64(buffer, time_ns);
    } else {
        MS_BUFFER_TEXT(buffer, "N/A");
    }
}

#endif
