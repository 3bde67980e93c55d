/* SPDX-License-Identifier: Apache-2.0 */
/* See source.h. */
#include "memscope/source/internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROBLEMS_TOLD 100u

/* ---- problems and progress ---- */

void ms__problem(struct ms_source *source, const char *file, uint64_t line, uint64_t offset, bool lost,
                 const char *format, ...)
{
    source->stats.problems++;
    source->stats.partial = source->stats.partial || lost;
    if (source->options.problem == NULL || source->stats.problems > PROBLEMS_TOLD) {
        return;
    }
    char reason[512];
    va_list args;
    va_start(args, format);
    vsnprintf(reason, sizeof(reason), format, args);
    va_end(args);
    /* Text quoted from a file may contain anything, and is shown on a terminal. */
    for (char *s = reason; *s != '\0'; s++) {
        *s = (unsigned char)*s < ' ' || *s == '\x7f' ? '?' : *s;
    }
    struct ms_buffer shown = {0};
    ms_buffer_utf8(&shown, reason, strlen(reason));
    ms_buffer_add(&shown, "", 1);
    struct ms_problem problem = {
        .file = file, .line = line, .offset = offset, .reason = shown.failed ? "" : shown.s, .lost = lost};
    source->options.problem(source->options.argument, &problem);
    ms_buffer_free(&shown);
}

bool ms__is_new(struct ms_row_reader *rows, uint64_t position)
{
    if (rows->quiet || position < rows->reported_until) {
        return false;
    }
    rows->reported_until = position + 1;
    return true;
}

void ms__bad_row(struct ms_row_reader *rows, enum ms_parse why, const struct ms_cells *cells,
                 enum ms_dump_column column, uint64_t line, uint64_t position)
{
#define X(name, text, sql) text,
    static const char *const names[] = {MS_DUMP_COLUMNS(X)};
#undef X
    if (!ms__is_new(rows, position)) {
        return;
    }
    struct ms_text cell = cells->at[column];
    int shown = cell.length_b < 40 ? (int)cell.length_b : 40;
    struct ms_source *source = rows->source;
    if (why == MS_UNKNOWN) {
        if (source->stats.unknown_rows++ == 0) {
            ms__problem(source, rows->file->path, line, position, false,
                        "%s '%.*s' is unknown to this version; such rows are skipped", names[column], shown, cell.s);
        }
        return;
    }
    source->stats.bad_rows++;
    ms__problem(source, rows->file->path, line, position, true, "%s is not a number: '%.*s'", names[column], shown,
                cell.s != NULL ? cell.s : "");
}

void ms__progress(struct ms_source *source, uint64_t bytes_more)
{
    source->stats.bytes_read += bytes_more;
    if (source->options.progress != NULL) {
        uint64_t total =
            source->bytes_total > source->stats.bytes_read ? source->bytes_total : source->stats.bytes_read;
        source->options.progress(source->options.argument, source->stats.bytes_read, total);
    }
}

/* ---- call stacks of dumps ---- */

static struct ms_text interned(const struct ms_intern *texts, uint32_t id)
{
    struct ms_intern_text text = ms_intern_get(texts, id);
    return (struct ms_text){.s = text.s != NULL ? text.s : "", .length_b = text.length_b, .id = id};
}

static struct ms_text c_stack(void *self, uint32_t id)
{
    return interned(&((struct ms_source *)self)->stacks.c, id);
}

static struct ms_text python_stack(void *self, uint32_t id)
{
    return interned(&((struct ms_source *)self)->stacks.python, id);
}

static void begin_dump(struct ms_source *source)
{
    ms_intern_free(&source->stacks.c);
    ms_intern_free(&source->stacks.python);
    source->stack_source = (struct ms_stack_source){source, c_stack, python_stack};
}

/* A copy of this returns the stacks of the process being read. */
static struct ms_text current_c(void *self, uint32_t id)
{
    struct ms_source *source = self;
    return source->stack_source.c_stack != NULL ? source->stack_source.c_stack(source->stack_source.self, id)
                                                : (struct ms_text){.s = ""};
}

static struct ms_text current_python(void *self, uint32_t id)
{
    struct ms_source *source = self;
    return source->stack_source.python_stack != NULL ? source->stack_source.python_stack(source->stack_source.self, id)
                                                     : (struct ms_text){.s = ""};
}

struct ms_stack_source ms_source_stacks(struct ms_source *source)
{
    return (struct ms_stack_source){source, current_c, current_python};
}

/* ---- reading ---- */

int ms__rows_open(struct ms_source *source, const struct ms_source_file *file, bool quiet, struct ms_row_reader **out)
{
    return file->db ? ms__db_rows_open(source, file, quiet, out) : ms__csv_rows_open(source, file, quiet, out);
}

int ms_source_rows(struct ms_source *source, size_t at, enum ms_source_order order, const struct ms_consumer *consumer)
{
    if (at >= source->group_count) {
        return -EINVAL;
    }
    const struct ms_source_group *group = &source->groups[at];
    if (group->public.kind == MS_SOURCE_TRACE) {
        return ms__trace_rows(source, group, consumer);
    }
    begin_dump(source);
    source->wish = source->options.wish;
    return ms__merge(source, group, order, consumer);
}

int ms_source_feed(struct ms_source *source, size_t at, const struct ms_model_options *options,
                   const struct ms_source_listener *listener)
{
    if (at >= source->group_count) {
        return -EINVAL;
    }
    const struct ms_source_group *group = &source->groups[at];
    if (group->public.kind == MS_SOURCE_TRACE) {
        return ms__trace_feed(source, group, options, listener);
    }
    begin_dump(source);
    source->wish = NULL;
    struct ms_events *events = ms__events_new(options, listener);
    if (events == NULL) {
        return -ENOMEM;
    }
    struct ms_consumer consumer = ms__events_consumer(events);
    int rc = ms__merge(source, group, MS_ORDER_ID, &consumer);
    ms__events_free(events);
    return rc;
}

/* ---- opening and closing ---- */

void ms__group_free(struct ms_source_group *group)
{
    for (size_t i = 0; i < group->file_count; i++) {
        free(group->files[i].path);
    }
    free(group->files);
    free((char *)(uintptr_t)group->public.path);
    free(group->trace_dir);
    free(group->trace_name);
    free(group->command);
}

int ms_source_open(const char *path, const struct ms_source_options *options, struct ms_source **out)
{
    struct ms_source *source = calloc(1, sizeof(*source));
    if (source == NULL) {
        return -ENOMEM;
    }
    if (options != NULL) {
        source->options = *options;
    }
    int rc = ms__find(source, path);
    if (rc != 0) {
        ms_source_close(source);
        return rc;
    }
    for (size_t i = 0; i < source->group_count; i++) {
        source->bytes_total += source->groups[i].public.bytes;
    }
    *out = source;
    return 0;
}

void ms_source_close(struct ms_source *source)
{
    if (source == NULL) {
        return;
    }
    for (size_t i = 0; i < source->group_count; i++) {
        ms__group_free(&source->groups[i]);
    }
    free(source->groups);
    ms_intern_free(&source->stacks.c);
    ms_intern_free(&source->stacks.python);
    free(source);
}

size_t ms_source_count(const struct ms_source *source)
{
    return source->group_count;
}

const struct ms_source_process *ms_source_process(const struct ms_source *source, size_t at)
{
    return at < source->group_count ? &source->groups[at].public : NULL;
}

void ms_source_stats(const struct ms_source *source, struct ms_source_stats *out)
{
    *out = source->stats;
}
