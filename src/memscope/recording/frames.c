/* SPDX-License-Identifier: Apache-2.0 */
/* See frames.h. Texts stay in a table by id as long as the trace is open: memory is bounded by the number of
 * definitions, which the reader keeps too. */
#include "memscope/recording/frames.h"

#include "memscope/symbols/python_lines.h"

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
    struct ms_process_modules *files;
    struct ms_aux *aux;
    struct texts c, python;
};

int ms_frames_new(struct ms_trace *trace, struct ms_process_modules *files, struct ms_aux *aux, struct ms_frames **out)
{
    struct ms_frames *frames = calloc(1, sizeof(*frames));
    if (frames == NULL) {
        return -ENOMEM;
    }
    frames->trace = trace;
    frames->files = files;
    frames->aux = aux;
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

/* Entry of an id in the table; NULL: no memory. Ids are consecutive. */
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

/* ---- C ---- */

/* The text of an address: from the trace, or else, once, from the files. False: unknown. */
static bool known(struct ms_frames *frames, const struct ms_frame *frame, const struct ms_module *module,
                  struct ms_text *out)
{
    uint32_t id = module != NULL ? frame->in : MS_MODULE_NONE;
    if (ms_trace_symbol(frames->trace, id, frame->offset, out)) {
        return out->length_b > 0;
    }
    size_t text_b = 0;
    char *text = frames->files == NULL ? NULL
                 : module != NULL      ? ms_process_modules_text(frames->files, module, frame->offset, &text_b)
                                       : ms_process_modules_generated_text(frames->files, frame->offset, &text_b);
    /* An unknown address is not stored in the trace: the file may be found another time. */
    if (text != NULL && frames->aux != NULL) {
        ms_aux_symbol(frames->aux, id, frame->offset, text, text_b);
    } else {
        ms_trace_add_symbol(frames->trace, id, frame->offset, text != NULL ? text : "", text_b);
    }
    free(text);
    return text_b > 0 && ms_trace_symbol(frames->trace, id, frame->offset, out);
}

static void put_generated(FILE *out, struct ms_frames *frames, const struct ms_frame *frame)
{
    struct ms_text text;
    if (known(frames, frame, NULL, &text)) {
        fprintf(out, "%.*s ", (int)text.length_b, text.s);
    }
    fprintf(out, "[0x%llx]\n", (unsigned long long)frame->offset);
}

/* The text has a line per function: name and file separated by a tab, either may be missing. */
static void put_functions(FILE *out, const struct ms_module *module, const struct ms_frame *frame,
                          const struct ms_text *text)
{
    const char *at = text->s, *end = at + text->length_b;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = newline != NULL ? newline : end;
        const char *tab = memchr(at, '\t', (size_t)(line_end - at));
        const char *name_end = tab != NULL ? tab : line_end;
        fprintf(out, "%.*s(", (int)module->path.length_b, module->path.s);
        if (name_end > at) {
            fwrite(at, 1, (size_t)(name_end - at), out);
        } else {
            fprintf(out, "+0x%llx", (unsigned long long)frame->offset);
        }
        fprintf(out, ") [0x%llx]", (unsigned long long)module->base + frame->offset);
        if (tab != NULL) {
            fprintf(out, " at %.*s", (int)(line_end - tab - 1), tab + 1);
        }
        fputc('\n', out);
        at = line_end + 1;
    }
}

static void put_c_frame(FILE *out, struct ms_frames *frames, const struct ms_frame *frame)
{
    struct ms_module module;
    struct ms_text text;
    if (frame->in == 0 || !ms_trace_module(frames->trace, frame->in, &module)) {
        put_generated(out, frames, frame);
    } else if (known(frames, frame, &module, &text)) {
        put_functions(out, &module, frame, &text);
    } else {
        fprintf(out, "%.*s(+0x%llx) [0x%llx]\n", (int)module.path.length_b, module.path.s,
                (unsigned long long)frame->offset, (unsigned long long)module.base + frame->offset);
    }
}

static void complete_stack(void *argument, uint32_t id)
{
    struct ms_frames *frames = argument;
    const struct ms_frame *list;
    uint32_t count = ms_trace_c_stack(frames->trace, id, &list, NULL);
    for (uint32_t i = 0; i < count; i++) {
        struct ms_module module;
        struct ms_text text;
        bool in_module = list[i].in != 0 && ms_trace_module(frames->trace, list[i].in, &module);
        known(frames, &list[i], in_module ? &module : NULL, &text);
    }
}

void ms_frames_complete(struct ms_frames *frames)
{
    ms_trace_each_c_stack(frames->trace, complete_stack, frames);
}

/* ---- Python ---- */

static void put_python_frame(FILE *out, struct ms_frames *frames, const struct ms_frame *frame)
{
    struct ms_code code;
    if (ms_trace_code(frames->trace, frame->in, &code)) {
        uint32_t line =
            ms_python_line(code.version, code.line_table, code.line_table_b, code.first_line, frame->offset);
        fprintf(out, "%.*s(%u): %.*s\n", (int)code.file.length_b, code.file.s, line, (int)code.name.length_b,
                code.name.s);
    }
}

/* ---- stacks ---- */

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
        (python ? put_python_frame : put_c_frame)(out, frames, &list[i]);
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
