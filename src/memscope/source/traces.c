/* SPDX-License-Identifier: Apache-2.0 */
/* Traces as a source: the reader and the model of one process. Rows use the settings of the recording, so they equal
 * those of its dump; events use the caller's options. */
#include "memscope/source/internal.h"

#include "memscope/options/options.h"
#include "memscope/recording/checkpoints.h"
#include "memscope/recording/frames.h"
#include "memscope/recording/model_options.h"
#include "trace/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRESS_EVENTS 8192u

struct opened {
    int dirfd;
    struct ms_trace *trace;
    struct ms_modules *modules; /* files of the program, if they still exist */
    struct ms_process_modules *files;
    struct ms_frames *frames;
    struct ms_settings settings; /* as recorded, and changed by CONFIG events */
    struct ms_model *model;
};

static void close_trace(struct ms_source *source, struct opened *opened)
{
    ms_model_free(opened->model);
    source->stack_source = (struct ms_stack_source){0};
    if (opened->frames != NULL) {
        ms_frames_free(opened->frames);
    }
    if (opened->files != NULL) {
        ms_process_modules_free(opened->files);
    }
    if (opened->modules != NULL) {
        ms_modules_free(opened->modules);
    }
    if (opened->trace != NULL) {
        ms_trace_close(opened->trace);
    }
    if (opened->dirfd >= 0) {
        close(opened->dirfd);
    }
}

static int open_frames(struct opened *opened)
{
    opened->modules = ms_modules_new();
    opened->files = opened->modules != NULL ? ms_process_modules_new(opened->modules, 0, 0) : NULL;
    if (opened->files == NULL) {
        return -ENOMEM;
    }
    ms_process_modules_use_perf_map(opened->files, opened->dirfd, ms_trace_process(opened->trace)->name);
    return ms_frames_new(opened->trace, opened->files, NULL, &opened->frames);
}

static int open_trace(struct ms_source *source, const struct ms_source_group *group, struct opened *opened)
{
    memset(opened, 0, sizeof(*opened));
    opened->dirfd = open(group->trace_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = opened->dirfd >= 0 ? 0 : -errno;
    rc = rc != 0 ? rc : ms_trace_open(opened->dirfd, group->trace_name, NULL, &opened->trace);
    rc = rc != 0 ? rc : open_frames(opened);
    if (rc != 0) {
        ms__problem(source, group->trace_dir, 0, 0, true, "%s",
                    rc == -EPROTO ? "not a trace, or of a later version" : strerror(-rc));
        return rc;
    }
    struct ms_why why;
    ms_settings_init(&opened->settings);
    ms_options_apply_text(&opened->settings, ms_trace_process(opened->trace)->settings, &why);
    ms_checkpoints_settings(opened->trace, &opened->settings);
    source->stack_source = ms_frames_source(opened->frames);
    return 0;
}

/* A ring discards its beginning, and a program that starts its own recording has a beginning that was never written:
 * the state at the oldest existing part comes from a checkpoint. Reported if there were rows before it. */
static int new_model(struct ms_source *source, const struct ms_source_group *group, struct opened *opened,
                     const struct ms_model_options *options)
{
    struct ms_checkpoint checkpoint;
    int rc = ms_model_new(options, &opened->model);
    if (rc == 0 && ms_trace_checkpoint(opened->trace, &checkpoint)) {
        struct ms_model_stats stats;
        rc = ms_checkpoints_restore(opened->trace, opened->model, options);
        ms_model_stats(opened->model, &stats);
        if (rc != 0 || stats.rows > 0) {
            ms__problem(source, group->trace_dir, 0, 0, true, "the oldest part of the trace was deleted (--ring)");
        }
    }
    return rc;
}

static void report_damage(struct ms_source *source, const struct ms_source_group *group, struct ms_trace *trace)
{
    struct ms_damage damage;
    while (ms_trace_next_damage(trace, &damage)) {
        char path[4096 + sizeof(damage.file)];
        snprintf(path, sizeof(path), "%s/%s", group->trace_dir, damage.file);
        ms__problem(source, path, 0, damage.offset, true, "%s", damage.reason);
    }
}

static int run(struct ms_source *source, const struct ms_source_group *group, struct opened *opened)
{
    struct ms_event event;
    struct ms_trace_stats stats;
    uint64_t reported_b = 0;
    int rc, failed = 0;
    while (failed == 0 && (rc = ms_trace_next(opened->trace, &event)) == MS_TRACE_EVENT) {
        failed = ms_model_feed(opened->model, &event);
        if (event.index % PROGRESS_EVENTS == 0) {
            ms_trace_stats(opened->trace, &stats);
            ms__progress(source, stats.bytes_read - reported_b);
            reported_b = stats.bytes_read;
        }
    }
    report_damage(source, group, opened->trace);
    if (failed != 0 || rc < 0) {
        return failed != 0 ? failed : rc;
    }
    ms_trace_stats(opened->trace, &stats);
    if (stats.lost != 0) {
        ms__problem(source, group->trace_dir, 0, 0, true, "%llu events were lost while recording",
                    (unsigned long long)stats.lost);
    }
    if (stats.ending == MS_ENDING_OPEN) {
        ms__problem(source, group->trace_dir, 0, 0, false,
                    "the recording has no end: it is still running, or was killed");
    }
    return ms_model_end(opened->model);
}

struct rows_only { /* counts, and hides callbacks that are not promised */
    const struct ms_consumer *consumer;
    struct ms_source *source;
};

static int on_row(void *self, const struct ms_row *row)
{
    struct rows_only *only = self;
    only->source->stats.rows++;
    return only->consumer->on_row != NULL ? only->consumer->on_row(only->consumer->self, row) : 0;
}

static int on_slice(void *self, const struct ms_slice *slice)
{
    struct rows_only *only = self;
    only->source->stats.slices++;
    return only->consumer->on_slice != NULL ? only->consumer->on_slice(only->consumer->self, slice) : 0;
}

static int on_close(void *self)
{
    struct rows_only *only = self;
    return only->consumer->on_close != NULL ? only->consumer->on_close(only->consumer->self) : 0;
}

int ms__trace_rows(struct ms_source *source, const struct ms_source_group *group, const struct ms_consumer *consumer)
{
    struct opened opened;
    int rc = open_trace(source, group, &opened);
    if (rc == 0) {
        struct ms_model_options options = MS_MODEL_OPTIONS_DEFAULT;
        struct rows_only only = {consumer, source};
        struct ms_consumer inner = {.self = &only, .on_row = on_row, .on_slice = on_slice, .on_close = on_close};
        ms_recording_model_options(&opened.settings, &options);
        rc = new_model(source, group, &opened, &options);
        rc = rc != 0 ? rc : ms_model_add(opened.model, &inner);
        rc = rc != 0 ? rc : run(source, group, &opened);
    }
    close_trace(source, &opened);
    return rc;
}

int ms__trace_feed(struct ms_source *source, const struct ms_source_group *group,
                   const struct ms_model_options *options, const struct ms_source_listener *listener)
{
    struct opened opened;
    int rc = open_trace(source, group, &opened);
    if (rc == 0) {
        struct ms_model_options wide = *options;
        wide.deferred = opened.settings.collect_mode == MS_COLLECT_DEFERRED;
        uint32_t pid = ms_trace_process(opened.trace)->pid;
        rc = new_model(source, group, &opened, &wide);
        rc = rc != 0 ? rc : listener->begin(listener->argument, pid, opened.model);
        rc = rc != 0 ? rc : run(source, group, &opened);
        if (rc == 0 && listener->end != NULL) {
            rc = listener->end(listener->argument, pid, opened.model);
        }
    }
    close_trace(source, &opened);
    return rc;
}
