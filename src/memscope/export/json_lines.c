/* SPDX-License-Identifier: Apache-2.0 */
/* See json_lines.h. Lines are final when written: a block is written when it ends, with what is known by then, and
 * never corrected. Memory is O(distinct call stacks). */
#include "memscope/export/json_lines.h"

#include "base/buffer.h"
#include "base/intern.h"
#include "memscope/export/sites.h"

#include <errno.h>
#include <stdlib.h>

#define BUFFER_B (64u * 1024)

struct stack_key {
    uint32_t c_stack, python_stack;
};

struct ms_json_lines {
    int fd, error;
    bool complete;
    struct ms_buffer out;
    struct ms_stack_source stacks;
    struct ms_model *model;
    struct ms_intern stack_keys; /* number n is stack n */
    uint64_t events, blocks, slices;
};

/* ---- members ---- */

static void add_key(struct ms_buffer *out, const char *key)
{
    MS_BUFFER_TEXT(out, ",\"");
    ms_buffer_add(out, key, strlen(key));
    MS_BUFFER_TEXT(out, "\":");
}

static void add_string(struct ms_buffer *out, const char *s, size_t length_b)
{
    ms_buffer_char(out, '"');
    ms_buffer_json(out, s, length_b);
    ms_buffer_char(out, '"');
}

static void add_number(struct ms_buffer *out, const char *key, uint64_t number)
{
    add_key(out, key);
    ms_buffer_u64(out, number);
}

static void add_text(struct ms_buffer *out, const char *key, struct ms_text text)
{
    add_key(out, key);
    add_string(out, text.s, text.length_b);
}

static void add_word(struct ms_buffer *out, const char *key, const char *word)
{
    add_text(out, key, (struct ms_text){.s = word, .length_b = (uint32_t)strlen(word)});
}

static void add_address(struct ms_buffer *out, const char *key, uint64_t addr)
{
    add_key(out, key);
    ms_buffer_char(out, '"');
    ms_buffer_hex(out, addr);
    ms_buffer_char(out, '"');
}

/* A number, "cpu", or nothing. */
static void add_device(struct ms_buffer *out, uint32_t device)
{
    if (device == MS_DEV_CPU) {
        add_word(out, "device", "cpu");
    } else if (device != MS_DEV_UNKNOWN) {
        add_number(out, "device", device);
    }
}

/* ---- lines ---- */

static void begin_line(struct ms_json_lines *json, const char *kind)
{
    MS_BUFFER_TEXT(&json->out, "{\"kind\":\"");
    ms_buffer_add(&json->out, kind, strlen(kind));
    ms_buffer_char(&json->out, '"');
}

static int end_line(struct ms_json_lines *json)
{
    MS_BUFFER_TEXT(&json->out, "}\n");
    int rc = json->out.failed ? -ENOMEM : 0;
    if (rc == 0 && json->out.used >= BUFFER_B) {
        rc = ms_buffer_write(&json->out, json->fd);
    }
    json->error = json->error != 0 ? json->error : rc;
    return json->error;
}

static void add_frames(struct ms_buffer *out, struct ms_text stack, bool python)
{
    bool any = false;
    add_key(out, python ? "python" : "c");
    ms_buffer_char(out, '[');
    for (struct ms_text line; ms_stack_line(&stack, &line); any = true) {
        struct ms_call call = ms_call_parse(line, python);
        if (any) {
            ms_buffer_char(out, ',');
        }
        MS_BUFFER_TEXT(out, "{\"function\":");
        add_string(out, call.function.s, call.function.length_b);
        if (call.file.length_b != 0) {
            add_text(out, "file", call.file);
        }
        if (call.line != 0) {
            add_number(out, "line", call.line);
        }
        ms_buffer_char(out, '}');
    }
    ms_buffer_char(out, ']');
}

/* The number of a stack, whose line is written before the first reference; 0: none. */
static uint32_t stack_number(struct ms_json_lines *json, uint32_t c_stack, uint32_t python_stack)
{
    struct stack_key key = {c_stack, python_stack == MS_STACK_NO_GIL ? 0 : python_stack};
    if (key.c_stack == 0 && key.python_stack == 0) {
        return 0;
    }
    uint32_t known = json->stack_keys.count;
    uint32_t number = ms_intern(&json->stack_keys, (const char *)&key, sizeof(key));
    json->error = number == 0 && json->error == 0 ? -ENOMEM : json->error;
    if (number <= known) {
        return number;
    }
    begin_line(json, "stack");
    add_number(&json->out, "id", number);
    if (key.python_stack != 0 && json->stacks.python_stack != NULL) {
        add_frames(&json->out, json->stacks.python_stack(json->stacks.self, key.python_stack), true);
    }
    if (key.c_stack != 0 && json->stacks.c_stack != NULL) {
        add_frames(&json->out, json->stacks.c_stack(json->stacks.self, key.c_stack), false);
    }
    end_line(json);
    return number;
}

static void add_stack(struct ms_buffer *out, uint32_t stack)
{
    if (stack != 0) {
        add_number(out, "stack", stack);
    }
}

static void add_attr(struct ms_buffer *out, const struct ms_attr *attr)
{
    if (attr->key < MS_ATTR_KEY_COUNT) {
        const char *name = ms_attr_name(attr->key);
        add_string(out, name, strlen(name));
    } else {
        add_string(out, attr->other_key, attr->other_key_b);
    }
    ms_buffer_char(out, ':');
    switch (attr->form) {
    case MS_FORM_NUMBER:
        ms_buffer_u64(out, attr->number);
        return;
    case MS_FORM_RATE:
        ms_buffer_fixed(out, attr->rate, 6);
        return;
    case MS_FORM_ADDR:
    case MS_FORM_PTR:
        ms_buffer_char(out, '"');
        ms_buffer_hex(out, attr->number);
        ms_buffer_char(out, '"');
        return;
    default:
        add_string(out, attr->text.s, attr->text.length_b);
        return;
    }
}

void ms_json_attrs(struct ms_buffer *out, const struct ms_row *row)
{
    ms_buffer_char(out, '{');
    for (uint32_t i = 0; i < row->attr_count; i++) {
        if (i != 0) {
            ms_buffer_char(out, ',');
        }
        add_attr(out, &row->attr[i]);
    }
    ms_buffer_char(out, '}');
}

/* ---- consumer ---- */

static int on_row(void *self, const struct ms_row *row)
{
    struct ms_json_lines *json = self;
    struct ms_buffer *out = &json->out;
    uint32_t stack = stack_number(json, row->c_stack, row->python_stack);
    begin_line(json, "event");
    add_number(out, "id", row->id);
    add_number(out, "time_ns", row->time_ns);
    add_word(out, "event", ms_event_name(row->event));
    add_word(out, "type", ms_type_name(row->type));
    if (row->name.length_b != 0) {
        add_text(out, "name", row->name);
    }
    if (row->pid != MS_ID_NONE) {
        add_number(out, "pid", row->pid);
    }
    if (row->tid != MS_ID_NONE) {
        add_number(out, "tid", row->tid);
    }
    add_device(out, row->device);
    if (row->has_addr) {
        add_address(out, "addr", row->addr);
    }
    if (row->range_id != 0) {
        add_number(out, "range", row->range_id);
    }
    if (row->attr_count != 0) {
        add_key(out, "attr");
        ms_json_attrs(out, row);
    }
    add_stack(out, stack);
    json->events++;
    return end_line(json);
}

static int on_slice(void *self, const struct ms_slice *slice)
{
    struct ms_json_lines *json = self;
    struct ms_buffer *out = &json->out;
    begin_line(json, "call");
    add_text(out, "function", slice->function);
    if (slice->start_ns != 0) {
        add_number(out, "start_ns", slice->start_ns);
    }
    if (slice->end_ns != 0) {
        add_number(out, "end_ns", slice->end_ns);
    }
    add_number(out, "pid", slice->pid);
    add_number(out, "tid", slice->tid);
    add_device(out, slice->device);
    json->slices++;
    return end_line(json);
}

static int on_free(void *self, const struct ms_block *block, enum ms_block_end how, const struct ms_pool_state *pool,
                   uint64_t time_ns)
{
    static const char *const ends[] = {[MS_END_FREE] = "freed",
                                       [MS_END_SHADOW] = "freed while not tracing",
                                       [MS_END_RESIDUAL] = "address was allocated again",
                                       [MS_END_EXIT] = "live"};
    (void)pool;
    struct ms_json_lines *json = self;
    struct ms_buffer *out = &json->out;
    uint32_t stack = stack_number(json, block->c_stack, block->python_stack);
    begin_line(json, "block");
    add_number(out, "allocation_id", block->allocation_id);
    add_word(out, "pool", ms_type_name(block->type));
    add_device(out, block->device);
    add_address(out, "addr", block->addr);
    add_number(out, "size", block->size_b);
    add_number(out, "malloc_ns", block->malloc_ns);
    if (how != MS_END_EXIT) {
        add_number(out, "free_ns", time_ns);
    }
    add_word(out, "end", ends[how]);
    add_number(out, "tid", block->tid);
    add_number(out, "step", block->step);
    if (block->op != 0) {
        add_text(out, "operator", ms_model_text(json->model, block->op));
    }
    add_text(out, "owner", ms_model_owner(json->model, block->owner));
    if (block->accesses != 0) {
        add_number(out, "accesses", block->accesses);
        add_number(out, "first_access_ns", block->first_access_ns);
        add_number(out, "last_access_ns", block->last_access_ns);
    }
    add_stack(out, stack);
    json->blocks++;
    return end_line(json);
}

static int on_step(void *self, const struct ms_step_info *step)
{
    struct ms_json_lines *json = self;
    begin_line(json, "step");
    add_number(&json->out, "step", step->step);
    add_device(&json->out, step->device);
    add_word(&json->out, "stage", step->begins ? "begin" : "end");
    add_number(&json->out, "time_ns", step->time_ns);
    return end_line(json);
}

static int on_gap(void *self, const struct ms_event *event)
{
    struct ms_json_lines *json = self;
    begin_line(json, "gap");
    add_number(&json->out, "since_ns", event->gap.since_ns);
    add_number(&json->out, "time_ns", event->time_ns);
    add_number(&json->out, "lost", event->gap.lost);
    return end_line(json);
}

static int on_close(void *self)
{
    struct ms_json_lines *json = self;
    begin_line(json, "end");
    add_number(&json->out, "events", json->events);
    add_number(&json->out, "blocks", json->blocks);
    add_number(&json->out, "calls", json->slices);
    int rc = end_line(json);
    rc = rc != 0 ? rc : ms_buffer_write(&json->out, json->fd);
    json->error = json->error != 0 ? json->error : rc;
    json->complete = rc == 0;
    return rc;
}

struct ms_consumer ms_json_lines_consumer(struct ms_json_lines *json)
{
    return (struct ms_consumer){.self = json,
                                .on_row = on_row,
                                .on_slice = on_slice,
                                .on_free = on_free,
                                .on_step = on_step,
                                .on_gap = on_gap,
                                .on_close = on_close};
}

/* ---- interface ---- */

int ms_json_lines_open(const struct ms_json_lines_options *options, struct ms_json_lines **out)
{
    struct ms_json_lines *json = calloc(1, sizeof(*json));
    if (json == NULL) {
        return -ENOMEM;
    }
    *json = (struct ms_json_lines){.fd = options->fd, .stacks = options->stacks, .model = options->model};
    begin_line(json, "npuscope");
    add_number(&json->out, "version", 1);
    add_number(&json->out, "pid", options->pid);
    if (options->process != NULL) {
        add_word(&json->out, "process", options->process);
    }
    end_line(json);
    *out = json;
    return 0;
}

int ms_json_lines_close(struct ms_json_lines *json)
{
    int rc = json->complete ? 0 : json->error != 0 ? json->error : -EIO;
    ms_buffer_free(&json->out);
    ms_intern_free(&json->stack_keys);
    free(json);
    return rc;
}
