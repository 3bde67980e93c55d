/* See frames.h. Texts are kept in a table by id for the life of the trace: memory is bounded by the definitions, which
 * the reader keeps as well. */
#include "collect/frames.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct texts {
    struct ms_text *by_id;
    uint32_t count;
};

struct ms_frames {
    struct ms_trace *trace;
    struct texts c, python;
};

int ms_frames_new(struct ms_trace *trace, struct ms_frames **out)
{
    struct ms_frames *frames = calloc(1, sizeof(*frames));
    if (frames == NULL) {
        return -ENOMEM;
    }
    frames->trace = trace;
    *out = frames;
    return 0;
}

static void free_texts(struct texts *texts)
{
    for (uint32_t i = 0; i < texts->count; i++) {
        free((void *)(uintptr_t)texts->by_id[i].s);
    }
    free(texts->by_id);
}

void ms_frames_free(struct ms_frames *frames)
{
    free_texts(&frames->c);
    free_texts(&frames->python);
    free(frames);
}

/* Place of an id in the table; NULL without memory. Ids are given one after the other. */
static struct ms_text *slot_of(struct texts *texts, uint32_t id)
{
    if (id >= texts->count) {
        uint32_t count = texts->count > 0 ? texts->count : 256;
        while (count <= id && count < UINT32_MAX / 2) {
            count *= 2;
        }
        struct ms_text *grown = count > id ? realloc(texts->by_id, count * sizeof(*grown)) : NULL;
        if (grown == NULL) {
            return NULL;
        }
        memset(grown + texts->count, 0, (count - texts->count) * sizeof(*grown));
        texts->by_id = grown;
        texts->count = count;
    }
    return &texts->by_id[id];
}

static void put_c_frame(FILE *out, const struct ms_trace *trace, const struct ms_frame *frame)
{
    struct ms_module module;
    struct ms_text symbol;
    if (frame->in == 0 || !ms_trace_module(trace, frame->in, &module)) {
        fprintf(out, "[0x%llx]\n", (unsigned long long)frame->offset);
    } else if (ms_trace_symbol(trace, frame->in, frame->offset, &symbol)) {
        fprintf(out, "%.*s(%.*s) [0x%llx]\n", (int)module.path.length_b, module.path.s, (int)symbol.length_b, symbol.s,
                (unsigned long long)(module.base + frame->offset));
    } else {
        fprintf(out, "%.*s(+0x%llx) [0x%llx]\n", (int)module.path.length_b, module.path.s,
                (unsigned long long)frame->offset, (unsigned long long)(module.base + frame->offset));
    }
}

static void put_python_frame(FILE *out, const struct ms_trace *trace, const struct ms_frame *frame)
{
    struct ms_code code;
    if (ms_trace_code(trace, frame->in, &code)) {
        fprintf(out, "%.*s(%u): %.*s\n", (int)code.file.length_b, code.file.s, code.first_line, (int)code.name.length_b,
                code.name.s);
    }
}

static struct ms_text stack_text(struct ms_frames *frames, struct texts *texts, uint32_t id, bool python)
{
    struct ms_text none = {"", 0, 0};
    struct ms_text *slot = id != 0 && id != MS_STACK_NO_GIL ? slot_of(texts, id) : NULL;
    if (slot == NULL || slot->s != NULL) {
        return slot == NULL ? none : *slot;
    }
    const struct ms_frame *list;
    uint32_t count = python ? ms_trace_python_stack(frames->trace, id, &list, NULL)
                            : ms_trace_c_stack(frames->trace, id, &list, NULL);
    char *text = NULL;
    size_t text_b = 0;
    FILE *out = open_memstream(&text, &text_b);
    for (uint32_t i = 0; out != NULL && i < count; i++) {
        (python ? put_python_frame : put_c_frame)(out, frames->trace, &list[i]);
    }
    if (out == NULL || fclose(out) != 0) {
        return none;
    }
    *slot = (struct ms_text){text, (uint32_t)text_b, id};
    return *slot;
}

static struct ms_text c_stack(void *self, uint32_t id)
{
    struct ms_frames *frames = self;
    return stack_text(frames, &frames->c, id, false);
}

static struct ms_text python_stack(void *self, uint32_t id)
{
    struct ms_frames *frames = self;
    return stack_text(frames, &frames->python, id, true);
}

struct ms_stack_source ms_frames_source(struct ms_frames *frames)
{
    return (struct ms_stack_source){frames, c_stack, python_stack};
}
