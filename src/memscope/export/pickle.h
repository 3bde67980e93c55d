/* SPDX-License-Identifier: Apache-2.0 */
/* Python's pickle protocol 4, limited to numbers, texts, lists and dictionaries: a program for a stack machine, written
 * sequentially. It uses only opcodes that the viewer at pytorch.org/memory_viz supports, and no classes, so restricted
 * unpicklers accept it as well.
 *
 * The caller numbers the memo: `put` assigns a number to the object on top of the stack, `get` pushes it again. A
 * number may be reassigned, so objects that are referenced only for a while do not occupy the reader's memory
 * afterwards. */
#ifndef MS_EXPORT_PICKLE_H
#define MS_EXPORT_PICKLE_H

#include "base/buffer.h"

enum ms_pickle_op {
    MS_PICKLE_MARK = '(',
    MS_PICKLE_STOP = '.',
    MS_PICKLE_APPENDS = 'e',  /* list, mark, items: appends them; some readers accept 1000 items at most */
    MS_PICKLE_SETITEM = 's',  /* dictionary, key, value: sets it */
    MS_PICKLE_SETITEMS = 'u', /* dictionary, mark, keys and values */
    MS_PICKLE_DICT = '}',     /* an empty one */
    MS_PICKLE_LIST = ']',
    MS_PICKLE_NONE = 'N',
    MS_PICKLE_TUPLE2 = 0x86, /* of the two on top */
    MS_PICKLE_TRUE = 0x88,
    MS_PICKLE_FALSE = 0x89,
};

static inline void ms_pickle_op(struct ms_buffer *out, enum ms_pickle_op op)
{
    ms_buffer_char(out, (char)op);
}

static inline void ms_pickle_bool(struct ms_buffer *out, bool value)
{
    ms_pickle_op(out, value ? MS_PICKLE_TRUE : MS_PICKLE_FALSE);
}

void ms_pickle_begin(struct ms_buffer *out);
void ms_pickle_u64(struct ms_buffer *out, uint64_t number);
void ms_pickle_text(struct ms_buffer *out, const char *s, size_t length_b); /* invalid UTF-8 is replaced */
void ms_pickle_put(struct ms_buffer *out, uint32_t number);
void ms_pickle_get(struct ms_buffer *out, uint32_t number);

#endif
