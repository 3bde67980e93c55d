/* SPDX-License-Identifier: Apache-2.0 */
/* See watch.h. */
#include "memscope/analyze/watch.h"

#include "base/buffer.h"
#include "base/macros.h"
#include "memscope/analyze/analysis.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct suspicion {
    bool held;
    uint64_t before, after; /* hashes */
    uint32_t step;
    char *how; /* a sentence */
};

struct tensor {
    uint64_t addr, size_b;
    uint32_t device, index;
    char *name;
    uint64_t hash;
    bool known;    /* hash is valid: from the last check */
    bool reported; /* no longer checked (also after a free) */
    bool gone;     /* no longer watched */
    char *point;   /* of the last check */
    char *op;      /* of the last check at an operator */
    bool was_after;
    uint64_t notes, unreadable;
    struct suspicion suspicion;
};

struct ms_watch_report {
    struct ms_watch_report_options options;
    struct tensor *tensors;
    size_t count;
    uint64_t found;
};

/* ---- tensors ---- */

static struct tensor *tensor_of(struct ms_watch_report *report, const struct ms_event *event)
{
    for (size_t i = 0; i < report->count; i++) {
        struct tensor *t = &report->tensors[i];
        if (!t->gone && t->addr == event->addr && t->size_b == event->size_b && t->index == event->output &&
            t->device == event->device && strlen(t->name) == event->watched.length_b &&
            memcmp(t->name, event->watched.s, event->watched.length_b) == 0) {
            return t;
        }
    }
    struct tensor *tensors = realloc(report->tensors, (report->count + 1) * sizeof(*tensors));
    if (tensors == NULL) {
        return NULL;
    }
    report->tensors = tensors;
    struct tensor *t = &tensors[report->count];
    *t = (struct tensor){.addr = event->addr,
                         .size_b = event->size_b,
                         .device = event->device,
                         .index = event->output,
                         .name = strndup(event->watched.s, event->watched.length_b)};
    if (t->name == NULL) {
        return NULL;
    }
    report->count++;
    return t;
}

static void set_point(struct tensor *t, const struct ms_event *event)
{
    free(t->point);
    t->point = strndup(event->text.s, event->text.length_b);
    if ((event->watch_flags & MS_WATCH_KERNEL) == 0) {
        free(t->op);
        t->op = strndup(event->text.s, event->text.length_b);
    }
    t->was_after = (event->watch_flags & MS_WATCH_AFTER) != 0;
}

/* ---- reports ---- */

static void print(const struct ms_watch_report *report, struct ms_buffer *text)
{
    if (!text->failed && text->used != 0 && report->options.print != NULL) {
        report->options.print(report->options.argument, text->s, text->used);
    }
    ms_buffer_free(text);
}

static void MS_PRINTF(2, 3) add(struct ms_buffer *text, const char *format, ...)
{
    char line[1024];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    ms_buffer_add(text, line, n > 0 ? ((size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1) : 0);
}

static void report_change(struct ms_watch_report *report, struct tensor *t)
{
    struct suspicion *s = &t->suspicion;
    struct ms_buffer text = {0};
    add(&text, "====== WATCH: output %u of %s was overwritten ======\n", t->index, t->name);
    add(&text, "%" PRIu64 " bytes at 0x%" PRIx64 " on device %u", t->size_b, t->addr, t->device);
    if (s->step != 0) {
        add(&text, ", in step %u", s->step);
    }
    add(&text, ", hash %016" PRIx64 " -> %016" PRIx64 ".\n%s\n", s->before, s->after, s->how != NULL ? s->how : "");
    print(report, &text);
    report->found++;
    t->reported = true;
}

static void clear_suspicion(struct tensor *t)
{
    free(t->suspicion.how);
    t->suspicion = (struct suspicion){0};
}

/* The first change counts, until it is cleared. */
static void suspect(struct ms_watch_report *report, struct tensor *t, const struct ms_event *event)
{
    bool after = (event->watch_flags & MS_WATCH_AFTER) != 0, kernel = (event->watch_flags & MS_WATCH_KERNEL) != 0;
    const char *point = t->point != NULL ? t->point : "", *op = t->op != NULL ? t->op : "";
    char here[512], how[1600];
    snprintf(here, sizeof(here), "%.*s", (int)event->text.length_b, event->text.s);
    if (t->suspicion.held) {
        return;
    }
    if (after && kernel) {
        bool inside = (event->watch_flags & MS_WATCH_IN_OP) != 0;
        snprintf(how, sizeof(how), "It changed while kernel %s ran, %s %s%s.", here,
                 inside ? "inside operator" : "outside of any operator, after", op,
                 inside ? ", which does not write it" : "");
    } else if (after) {
        snprintf(how, sizeof(how), "It changed while operator %s ran, which does not write it.", here);
    } else {
        snprintf(how, sizeof(how),
                 "It changed after %s %s and before %s began: the write was not announced by any operator.", point,
                 t->was_after ? "had ended" : "had begun", here);
    }
    t->suspicion = (struct suspicion){.held = true,
                                      .before = t->hash,
                                      .after = event->hash,
                                      .step = ms_model_step(report->options.model, t->device),
                                      .how = strdup(how)};
}

static int on_watch(void *self, const struct ms_event *event)
{
    struct ms_watch_report *report = self;
    struct tensor *t = tensor_of(report, event);
    uint64_t flags = event->watch_flags;
    if (t == NULL) {
        return -ENOMEM;
    }
    if ((flags & MS_WATCH_FIRST) != 0) {
        t->known = t->reported = false;
        clear_suspicion(t);
    }
    t->notes++;
    t->gone = (flags & MS_WATCH_LAST) != 0;
    if ((flags & MS_WATCH_UNREADABLE) != 0) {
        t->unreadable++;
        t->known = false;
        clear_suspicion(t);
        return 0;
    }
    if (!t->reported) {
        bool op_end = (flags & MS_WATCH_AFTER) != 0 && (flags & MS_WATCH_KERNEL) == 0;
        if (op_end && (flags & MS_WATCH_WRITTEN) != 0) {
            clear_suspicion(t);
        } else if (t->known && t->hash != event->hash) {
            suspect(report, t, event);
        }
        /* A change inside an operator is judged once the operator has declared its outputs. */
        bool open = (flags & MS_WATCH_CONCURRENT) != 0 || (flags & MS_WATCH_IN_OP) != 0;
        if (t->suspicion.held && !open) {
            report_change(report, t);
            clear_suspicion(t);
        }
    }
    t->hash = event->hash;
    t->known = true;
    set_point(t, event);
    return 0;
}

static int on_free(void *self, const struct ms_block *block, enum ms_block_end how, const struct ms_pool_state *pool,
                   uint64_t time_ns)
{
    (void)how;
    (void)pool;
    (void)time_ns;
    struct ms_watch_report *report = self;
    for (size_t i = 0; i < report->count; i++) {
        struct tensor *t = &report->tensors[i];
        if (!t->gone && block->device == t->device && t->addr >= block->addr && t->addr - block->addr < block->size_b &&
            block->space != MS_SPACE_HANDLE) {
            t->gone = true; /* the next owner of the memory may write it */
            clear_suspicion(t);
        }
    }
    return 0;
}

static int on_end(void *self)
{
    struct ms_watch_report *report = self;
    struct ms_buffer text = {0};
    for (size_t i = 0; i < report->count; i++) {
        struct tensor *t = &report->tensors[i];
        if (t->suspicion.held && !t->reported) {
            report_change(report, t);
        }
        if (!t->reported) {
            add(&text,
                "[msmemscope] Info: watched output %u of %s, %" PRIu64 " bytes: %" PRIu64
                " checks, no unannounced change.\n",
                t->index, t->name, t->size_b, t->notes - t->unreadable);
        }
        if (t->unreadable != 0) {
            add(&text, "[msmemscope] Warn: watched output %u of %s could not be read %" PRIu64 " times.\n", t->index,
                t->name, t->unreadable);
        }
    }
    if (report->count == 0 && report->options.start != NULL && report->options.start[0] != '\0') {
        add(&text,
            "[msmemscope] Warn: nothing was watched: no operator %s with an output ended while tracing was "
            "on.\n",
            report->options.start);
    }
    print(report, &text);
    return 0;
}

/* ---- interface ---- */

int ms_watch_report_new(const struct ms_watch_report_options *options, struct ms_watch_report **out)
{
    if (options->model == NULL) {
        return -EINVAL;
    }
    struct ms_watch_report *report = calloc(1, sizeof(*report));
    if (report == NULL) {
        return -ENOMEM;
    }
    report->options = *options;
    *out = report;
    return 0;
}

struct ms_consumer ms_watch_report_consumer(struct ms_watch_report *report)
{
    return (struct ms_consumer){.self = report, .on_watch = on_watch, .on_free = on_free, .on_end = on_end};
}

uint64_t ms_watch_report_count(const struct ms_watch_report *report)
{
    return report->found;
}

void ms_watch_report_free(struct ms_watch_report *report)
{
    if (report == NULL) {
        return;
    }
    for (size_t i = 0; i < report->count; i++) {
        free(report->tensors[i].name);
        free(report->tensors[i].point);
        free(report->tensors[i].op);
        clear_suspicion(&report->tensors[i]);
    }
    free(report->tensors);
    free(report);
}

/* The program may watch tensors itself, so no setting says whether there is anything to do. */
static int open_analysis(const struct ms_analysis_context *context, void **self, struct ms_consumer *consumer)
{
    struct ms_watch_report_options options = {
        .model = context->model, .start = context->watch_start, .print = context->print, .argument = context->argument};
    struct ms_watch_report *report;
    int rc = ms_watch_report_new(&options, &report);
    if (rc == 0) {
        *self = report;
        *consumer = ms_watch_report_consumer(report);
    }
    return rc;
}

static void close_analysis(void *self)
{
    ms_watch_report_free(self);
}

const struct ms_analysis ms_watch_analysis = {
    .when = MS_WHEN_ROWS | MS_WHEN_REPORTS, .open = open_analysis, .close = close_analysis};
