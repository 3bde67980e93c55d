/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of call stacks as parts: function, file and line. */
#ifndef MS_MODEL_CALLS_H
#define MS_MODEL_CALLS_H

#include "trace/event.h"

#include <stddef.h>

/* A line of a call stack; texts point into the text of the stack. */
struct ms_call {
    struct ms_text function; /* or, if unknown, the best available: library(+0x12), [0x7f0012345678] */
    struct ms_text file;     /* source file, else the module; may be empty */
    uint32_t line;           /* 0: unknown */
};

struct ms_calls {
    struct ms_call *calls;
    size_t count, room;
};

struct ms_call ms_call_parse(struct ms_text line, bool python);
/* Takes the next line, which is never empty, off the text of a stack, innermost call first; false: there is none. */
bool ms_stack_line(struct ms_text *stack, struct ms_text *line);
void ms_calls_free(struct ms_calls *calls);
/* Adds one call; or all calls of a stack's text, the last line first. */
int ms__calls_push(struct ms_calls *calls, struct ms_call call);
int ms__calls_add(struct ms_calls *calls, struct ms_text stack, bool python);

/* Whether this line of a C stack (from the name of its library on) belongs to an allocator or the recorder. All memory
 * comes through them, so these lines say nothing about a block. */
bool ms_call_is_plumbing(const char *s, size_t length_b);

#endif
