/* SPDX-License-Identifier: Apache-2.0 */
/* Operators for --watch: begin, accesses, end; announced by ATen marks, by accesses, or by ATB paths. Called from
 * hooks; takes the lock of watch.c.
 *
 * Invariant: an open operator belongs to one thread; a thread's innermost one is its last in the array. */
#include "agent/watch_internal.h"

#include "agent/agent.h"
#include "trace/aten_mark.h"

#include <string.h>

#define OPEN_MAX 64u

static struct ms_watch_op open_ops[OPEN_MAX]; /* the first open_count */
static uint32_t open_count;

/* ---- operators ---- */

uint32_t ms__watch_others(uint32_t tid)
{
    uint32_t flags = 0, own = 0;
    for (uint32_t i = 0; i < open_count; i++) {
        own += open_ops[i].tid == tid;
        flags |= open_ops[i].tid != tid ? MS_WATCH_CONCURRENT : 0u;
    }
    return flags | (own > 1 ? MS_WATCH_IN_OP : 0u);
}

struct ms_watch_op *ms__watch_open_op(uint32_t tid)
{
    for (uint32_t i = open_count; i-- > 0;) {
        if (open_ops[i].tid == tid) {
            return &open_ops[i];
        }
    }
    return NULL;
}

static void close_op(struct ms_watch_op *op)
{
    size_t behind = (size_t)(open_ops + open_count - (op + 1));
    memmove(op, op + 1, behind * sizeof(*op));
    open_count--;
}

/* The operator of this name that ends; those nested in it have lost their ends. NULL: it has no beginning. */
static struct ms_watch_op *find_ending(uint32_t tid, const char *name, size_t name_b)
{
    struct ms_watch_op *op = NULL;
    for (uint32_t i = open_count; i-- > 0 && op == NULL;) {
        bool same = open_ops[i].tid == tid && ms__is_named(&open_ops[i].point, name, name_b);
        op = same ? &open_ops[i] : NULL;
    }
    for (struct ms_watch_op *inner; op != NULL && (inner = ms__watch_open_op(tid)) != op;) {
        close_op(inner);
    }
    return op;
}

static void begin(const struct ms_watch_text *point, uint32_t tid, enum ms_watch_counter counter, void *stream)
{
    uint32_t count = ms__watch_count(counter, point);
    if (open_count == OPEN_MAX) {
        close_op(&open_ops[0]); /* its end was probably lost */
    }
    struct ms_watch_op *op = &open_ops[open_count++];
    op->tid = tid;
    op->count = count;
    op->point = *point;
    memset(op->written, 0, sizeof(op->written));
    op->output_count = 0;
    ms__watch_dump(point, count, 0, NULL, stream);
}

/* The operator accesses this range. */
static void touch(struct ms_watch_op *op, struct ms_agent_range range, bool writes, bool output)
{
    for (uint32_t i = 0; writes && i < MS_WATCHED_MAX; i++) {
        const struct ms_watched *w = &ms__watched[i];
        if (w->size_b != 0 && range.addr < w->addr + w->size_b && w->addr < range.addr + range.size_b) {
            op->written[i / 64] |= 1ull << (i % 64);
        }
    }
    for (uint32_t i = 0; output && i < op->output_count; i++) {
        output = op->outputs[i].addr != range.addr; /* named twice: as argument and result, by access and by the end */
    }
    if (output && op->output_count < MS_WATCH_OUTPUTS && range.addr != 0 && range.size_b != 0) {
        op->outputs[op->output_count++] = range;
    }
}

static void watch_outputs(struct ms_watch_op *op)
{
    static uint32_t logged;
    if (ms__watch_config.output != UINT32_MAX && ms__watch_config.output >= op->output_count) {
        ms__watch_config.output = UINT32_MAX; /* no such output: all of them, from now on */
    }
    for (uint32_t i = 0; i < op->output_count; i++) {
        if (ms__watch_config.output != UINT32_MAX && ms__watch_config.output != i) {
            continue;
        }
        const struct ms_watched *w = ms__watch_put(op->outputs[i].addr, op->outputs[i].size_b, ms__watch_config.start,
                                                   ms__watch_config.start_b, i, false);
        if (w != NULL) {
            op->written[(w - ms__watched) / 64] |= 1ull << ((w - ms__watched) % 64);
        } else {
            ms__watch_log_once(&logged, "--watch: too many tensors; some are not watched");
        }
    }
}

static void end(struct ms_watch_op *op, void *stream)
{
    bool starts = ms__is_named(&op->point, ms__watch_config.start, ms__watch_config.start_b) &&
                  !ms__watch_config.active && (ms__watch_config.call == 0 || ms__watch_config.call == op->count);
    bool ends = !starts && ms__is_named(&op->point, ms__watch_config.end, ms__watch_config.end_b);
    if (starts) {
        ms__watch_config.active = true;
        ms__watch_config.starts++;
        watch_outputs(op);
    }
    ms__watch_dump(&op->point, starts ? ms__watch_config.starts : op->count,
                   MS_WATCH_AFTER | (ends ? MS_WATCH_LAST : 0u), op, stream);
    if (ends) {
        ms__watch_drop_outputs();
    }
    close_op(op);
}

/* ---- ATen: marks ---- */

bool ms_watch_mark_is_end(const char *message)
{
    return message != NULL && strncmp(message, MS_ATEN_MARK, MS_ATEN_MARK_B) == 0 && message[MS_ATEN_MARK_B] == 'e';
}

void ms_watch_mark(const char *message, void *stream)
{
    if (message == NULL || strncmp(message, MS_ATEN_MARK, MS_ATEN_MARK_B) != 0) {
        return;
    }
    const char *kind = message + MS_ATEN_MARK_B, *colon = strchr(kind, ':');
    int error;
    if (colon == NULL || !ms__watch_enter(&error)) {
        return;
    }
    uint32_t tid = ms__watch_tid();
    struct ms_watch_op *op = *kind == 'a' ? ms__watch_open_op(tid) : NULL;
    struct ms_agent_text name = {NULL, 0};
    const char *named = strstr(colon, "name=");
    if (named != NULL) {
        name = (struct ms_agent_text){named + 5, strnlen(named + 5, MS_WATCH_OP_B)};
    }
    if (*kind == 'b' && named != NULL) {
        struct ms_watch_text point;
        ms__put_torch_point(&point, tid, name.text, name.length_b);
        begin(&point, tid, MS_WATCH_NAMES, stream);
    } else if (*kind == 'a' && op != NULL) {
        const char *values = colon + 1;
        size_t values_b = strlen(values);
        struct ms_agent_range range = {ms_aten_number(values, values_b, "ptr"),
                                       ms_aten_number(values, values_b, "tensor_size")};
        touch(op, range, ms_aten_is_true(values, values_b, "is_write"), ms_aten_is_true(values, values_b, "is_output"));
    } else if (*kind == 'e' && named != NULL && (op = find_ending(tid, name.text, name.length_b)) != NULL) {
        end(op, stream);
    }
    ms__watch_leave(error);
}

void ms_watch_text(const char *text, size_t length_b, bool ends)
{
    char copy[1024];
    if (text != NULL && length_b < sizeof(copy)) {
        memcpy(copy, text, length_b);
        copy[length_b] = '\0';
        if (ms_watch_mark_is_end(copy) == ends) {
            ms_watch_mark(copy, NULL);
        }
    }
}

void ms_watch_access(uint64_t addr, uint64_t size_b, bool writes)
{
    int error;
    if (!writes || !ms__watch_enter(&error)) {
        return;
    }
    struct ms_watch_op *op = ms__watch_open_op(ms__watch_tid());
    if (op != NULL) {
        touch(op, (struct ms_agent_range){addr, size_b}, true, true);
    }
    ms__watch_leave(error);
}

/* ---- ATB: paths ---- */

static void set_text(struct ms_watch_text *t, struct ms_agent_text from)
{
    t->length_b = 0;
    ms__put(t, from.text, from.length_b < MS_WATCH_OP_B + 32 ? from.length_b : MS_WATCH_OP_B + 32);
}

void ms_watch_begin(struct ms_agent_text path, void *stream)
{
    int error;
    if (!ms_watching() || !ms__watch_enter(&error)) {
        return;
    }
    struct ms_watch_text point;
    set_text(&point, path);
    if (memchr(point.bytes, '/', point.length_b) != NULL) { /* without a name in its path it would never end */
        begin(&point, ms__watch_tid(), MS_WATCH_PATHS, stream);
    }
    ms__watch_leave(error);
}

void ms_watch_end(struct ms_agent_text path, void *stream, const struct ms_agent_range *outputs, size_t count)
{
    int error;
    if (!ms_watching() || !ms__watch_enter(&error)) {
        return;
    }
    struct ms_watch_text point;
    set_text(&point, path);
    const char *slash = memchr(point.bytes, '/', point.length_b);
    struct ms_watch_op *op =
        slash != NULL ? find_ending(ms__watch_tid(), slash + 1, (size_t)(point.bytes + point.length_b - slash - 1))
                      : NULL;
    if (op != NULL) {
        for (size_t i = 0; i < count; i++) {
            touch(op, outputs[i], true, true);
        }
        end(op, stream);
    }
    ms__watch_leave(error);
}

void ms__watch_forget_ops(void)
{
    open_count = 0;
}
