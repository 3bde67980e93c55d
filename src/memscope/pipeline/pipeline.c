/* SPDX-License-Identifier: Apache-2.0 */
/* See pipeline.h. An output error (disk full) does not stop the pipeline, because reports are still correct; the first
 * error is returned at the end. */
#include "memscope/pipeline/pipeline.h"

#include "base/clock.h"
#include "memscope/analyze/analysis.h"
#include "memscope/export/exporter.h"
#include "memscope/export/watch.h"
#include "memscope/model/model.h"
#include "memscope/options/options.h"
#include "memscope/recording/frames.h"
#include "memscope/recording/model_options.h"
#include "trace/aux.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHOW_EVERY_NS 1000000000ull

struct running_analysis {
    const struct ms_analysis *analysis;
    void *self;
};

struct ms_pipeline {
    struct ms_pipeline_options options;
    struct ms_settings settings; /* as changed by CONFIG events */
    struct ms_trace *trace;
    struct ms_modules *modules; /* offline only; NULL: the recording has its own */
    struct ms_process_modules *files;
    struct ms_aux *aux; /* NULL: nothing is added to the trace */
    struct ms_frames *frames;
    struct ms_model *model; /* NULL: not needed */
    struct ms_checkpoints checkpoints;
    struct ms_export *dump;
    struct ms_watch_dump *watch_dump;
    struct running_analysis *analyses; /* capacity: all of ms_analyses */
    size_t analysis_count;
    FILE *report;
    char *report_text;
    size_t report_b;
    int error; /* first output error */
    bool ended;
    uint64_t shown_ns; /* when files were last flushed */
};

/* ---- callbacks ---- */

static void log_line(void *argument, int level, const char *line);

static void full_model_options(struct ms_pipeline *pipeline, struct ms_model_options *out)
{
    *out = (struct ms_model_options)MS_MODEL_OPTIONS_DEFAULT;
    ms_recording_model_options(&pipeline->settings, out);
    out->log = log_line;
    out->argument = pipeline;
}

static void log_line(void *argument, int level, const char *line)
{
    struct ms_pipeline *pipeline = argument;
    pipeline->options.log(pipeline->options.argument, level, line);
}

static void file_created(void *argument, const char *path, const char *table)
{
    struct ms_pipeline *pipeline = argument;
    char text[2 * MS_PATH_MAX_B];
    int n = table != NULL ? snprintf(text, sizeof(text), "[msmemscope] Info: create dbtable %s in %s.\n", table, path)
                          : snprintf(text, sizeof(text), "[msmemscope] Info: create %s %s.\n",
                                     strcmp(pipeline->options.format->name, "db") == 0 ? "dbfile" : "file", path);
    pipeline->options.print(pipeline->options.argument, 1, true, text,
                            (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

/* ---- starting from a checkpoint ---- */

static void MS_PRINTF(2, 3) warn(struct ms_pipeline *pipeline, const char *format, ...)
{
    char text[2 * MS_PATH_MAX_B];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    pipeline->options.print(pipeline->options.argument, 2, false, text,
                            (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

static uint64_t row_count(const struct ms_pipeline *pipeline)
{
    struct ms_model_stats stats;
    ms_model_stats(pipeline->model, &stats);
    return stats.rows;
}

/* Earlier segments were deleted: continues with the state saved in the checkpoint. */
static int restore_checkpoint(struct ms_pipeline *pipeline)
{
    struct ms_model_options options;
    uint64_t before = row_count(pipeline);
    full_model_options(pipeline, &options);
    if (ms_checkpoints_settings(pipeline->trace, &pipeline->settings)) {
        ms_recording_model_options(&pipeline->settings, &options);
    }
    int rc = ms_checkpoints_restore(pipeline->trace, pipeline->model, &options);
    uint64_t after = row_count(pipeline);
    if (rc == 0 && after > before && pipeline->options.format != NULL) {
        warn(pipeline,
             "[msmemscope] Warn: %s: the oldest part of the trace was deleted (--ring); rows %llu to %llu are not in "
             "it.\n",
             pipeline->options.out, (unsigned long long)before, (unsigned long long)after - 1);
    }
    return rc;
}

/* ---- opening ---- */

/* Attributes of rows that become known after their events: the rows wait for them. */
static bool has_late_attributes(const struct ms_pipeline *pipeline)
{
    return (pipeline->settings.analysis & (MS_ANALYSIS_DECOMPOSE | MS_ANALYSIS_INEFFICIENT)) != 0;
}

static int open_dump(struct ms_pipeline *pipeline)
{
    struct ms_export_target target = {
        .dirfd = pipeline->options.outfd,
        .dir = pipeline->options.out,
        .late = has_late_attributes(pipeline),
        .model = pipeline->model,
        .stacks = ms_frames_source(pipeline->frames),
        .replace = pipeline->options.replace,
        .created = file_created,
        .argument = pipeline,
    };
    int rc = ms_export_open(pipeline->options.format, &target, &pipeline->dump);
    return rc != 0 ? rc : ms_model_add(pipeline->model, ms_export_consumer(pipeline->dump));
}

static void watch_directory_created(void *argument, const char *path)
{
    struct ms_pipeline *pipeline = argument;
    char text[2 * MS_PATH_MAX_B];
    int n = snprintf(text, sizeof(text), "[msmemscope] Info: Created watch_dump directory at %s.\n", path);
    pipeline->options.print(pipeline->options.argument, 1, true, text, (size_t)n);
}

/* The program may watch tensors itself, so this does not depend on settings. */
static int open_watch_dump(struct ms_pipeline *pipeline)
{
    struct ms_watch_dump_options options = {.dirfd = pipeline->options.outfd,
                                            .dir = pipeline->options.out,
                                            .replace = pipeline->options.replace,
                                            .created = watch_directory_created,
                                            .argument = pipeline};
    int rc = ms_watch_dump_open(&options, &pipeline->watch_dump);
    if (rc != 0) {
        return rc;
    }
    struct ms_consumer consumer = ms_watch_dump_consumer(pipeline->watch_dump);
    return ms_model_add(pipeline->model, &consumer);
}

static void print_lines(void *argument, const char *text, size_t text_b)
{
    struct ms_pipeline *pipeline = argument;
    pipeline->options.print(pipeline->options.argument, 1, false, text, text_b);
}

static int open_analysis(struct ms_pipeline *pipeline, const struct ms_analysis *analysis)
{
    if ((analysis->when & MS_WHEN_REPORTS) != 0 && pipeline->report == NULL) {
        pipeline->report = open_memstream(&pipeline->report_text, &pipeline->report_b);
        if (pipeline->report == NULL) {
            return -ENOMEM;
        }
    }
    struct ms_analysis_context context = {
        .model = pipeline->model,
        .stacks = ms_frames_source(pipeline->frames),
        .immediate = pipeline->settings.collect_mode == MS_COLLECT_IMMEDIATE,
        .watch_start = pipeline->settings.watch.start,
        .report = pipeline->report,
        .print = print_lines,
        .log = log_line,
        .argument = pipeline,
    };
    struct running_analysis *running = &pipeline->analyses[pipeline->analysis_count];
    struct ms_consumer consumer;
    int rc = analysis->open(&context, &running->self, &consumer);
    if (rc != 0) {
        return rc;
    }
    running->analysis = analysis;
    pipeline->analysis_count++;
    return ms_model_add(pipeline->model, &consumer);
}

static bool is_running(const struct ms_pipeline *pipeline, const struct ms_analysis *analysis)
{
    size_t i = 0;
    while (i < pipeline->analysis_count && pipeline->analyses[i].analysis != analysis) {
        i++;
    }
    return i < pipeline->analysis_count;
}

/* Opens those that apply and do not run yet. */
static int open_analyses(struct ms_pipeline *pipeline)
{
    const struct ms_settings *s = &pipeline->settings;
    unsigned holds = (pipeline->options.format != NULL ? MS_WHEN_ROWS : 0u) |
                     (pipeline->options.reports ? MS_WHEN_REPORTS : 0u) | (s->step_count == 0 ? MS_WHEN_ALL_STEPS : 0u);
    size_t count = 0;
    while (ms_analyses[count] != NULL) {
        count++;
    }
    if (pipeline->analyses == NULL) {
        pipeline->analyses = calloc(count, sizeof(*pipeline->analyses));
    }
    int rc = pipeline->analyses != NULL ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && rc == 0; i++) {
        const struct ms_analysis *analysis = ms_analyses[i];
        bool requested = analysis->bits == 0 || (analysis->bits & s->analysis) != 0;
        if (requested && (analysis->when & ~holds) == 0 && !is_running(pipeline, analysis)) {
            rc = open_analysis(pipeline, analysis);
        }
    }
    return rc;
}

static void close_analyses(struct ms_pipeline *pipeline)
{
    for (size_t i = 0; i < pipeline->analysis_count; i++) {
        pipeline->analyses[i].analysis->close(pipeline->analyses[i].self);
    }
    free(pipeline->analyses);
    pipeline->analyses = NULL;
    pipeline->analysis_count = 0;
}

static int open_consumers(struct ms_pipeline *pipeline)
{
    int rc = pipeline->options.format != NULL ? open_dump(pipeline) : 0;
    rc = rc == 0 && pipeline->options.format != NULL ? open_watch_dump(pipeline) : rc;
    return rc != 0 ? rc : open_analyses(pipeline);
}

/* Where stack texts come from. An offline trace is only read; the files of its program may still exist. */
static int open_frames(struct ms_pipeline *pipeline)
{
    const struct ms_pipeline_options *options = &pipeline->options;
    pipeline->files = options->files;
    int rc = options->files != NULL || options->reclaim != NULL ? ms_aux_open(pipeline->trace, &pipeline->aux) : 0;
    if (rc != 0) {
        return rc;
    }
    if (options->files == NULL && (pipeline->modules = ms_modules_new()) != NULL &&
        (pipeline->files = ms_process_modules_new(pipeline->modules, 0, 0)) != NULL) {
        ms_process_modules_use_perf_map(pipeline->files, options->tracefd, ms_trace_process(pipeline->trace)->name);
    }
    return ms_frames_new(pipeline->trace, pipeline->files, pipeline->aux, &pipeline->frames);
}

static int open_model(struct ms_pipeline *pipeline)
{
    struct ms_model_options model;
    struct ms_checkpoint checkpoint;
    if (pipeline->options.format == NULL && pipeline->options.reclaim == NULL) {
        return 0;
    }
    full_model_options(pipeline, &model);
    int rc = ms_model_new(&model, &pipeline->model);
    if (rc == 0 && ms_trace_checkpoint(pipeline->trace, &checkpoint)) {
        rc = restore_checkpoint(pipeline);
        /* Existing files may contain rows that are no longer in the trace. */
        pipeline->options.replace = pipeline->options.replace && rc == 0 && row_count(pipeline) == 0;
    }
    if (pipeline->options.reclaim != NULL) {
        ms_checkpoints_init(&pipeline->checkpoints, pipeline->trace, pipeline->model, pipeline->aux,
                            pipeline->options.reclaim);
    }
    return rc != 0 ? rc : open_consumers(pipeline);
}

const struct ms_exporter *ms_pipeline_format(const struct ms_settings *settings)
{
    return ms_exporter_find(settings->format == MS_FORMAT_DB ? "db" : "csv");
}

int ms_pipeline_open(const struct ms_pipeline_options *options, struct ms_pipeline **out)
{
    struct ms_pipeline *pipeline = calloc(1, sizeof(*pipeline));
    if (pipeline == NULL) {
        return -ENOMEM;
    }
    pipeline->options = *options;
    pipeline->settings = *options->settings;
    struct ms_trace_options trace = {.live = options->writer != NULL,
                                     .overflow = options->writer != NULL ? ms_writer_overflow(options->writer) : NULL,
                                     .memory = options->memory};
    int rc = ms_trace_open(options->tracefd, options->name, &trace, &pipeline->trace);
    rc = rc != 0 ? rc : open_frames(pipeline);
    rc = rc != 0 ? rc : open_model(pipeline);
    if (rc != 0) {
        ms_pipeline_close(pipeline);
        return rc;
    }
    *out = pipeline;
    return 0;
}

int ms_pipeline_to_files(struct ms_pipeline *pipeline, const struct ms_pipeline_options *options)
{
    int rc = ms_trace_follow(pipeline->trace, options->tracefd);
    pipeline->options.tracefd = options->tracefd;
    pipeline->options.outfd = options->outfd;
    pipeline->options.out = options->out;
    pipeline->options.format = options->format;
    pipeline->options.reports = options->reports;
    pipeline->settings = *options->settings;
    return rc != 0 ? rc : open_consumers(pipeline);
}

/* ---- running ---- */

static void keep_error(struct ms_pipeline *pipeline, int rc)
{
    pipeline->error = pipeline->error == 0 && rc < 0 ? rc : pipeline->error;
}

static void log_damage(struct ms_pipeline *pipeline)
{
    struct ms_damage damage;
    while (ms_trace_next_damage(pipeline->trace, &damage)) {
        char line[512];
        snprintf(line, sizeof(line), "trace damaged: %s, offset %llu: %s", damage.file,
                 (unsigned long long)damage.offset, damage.reason);
        pipeline->options.log(pipeline->options.argument, MS_LOG_ERROR, line);
    }
}

static int finish(struct ms_pipeline *pipeline)
{
    pipeline->ended = true;
    if (pipeline->model != NULL) {
        keep_error(pipeline, ms_model_end(pipeline->model));
    }
    if (pipeline->dump != NULL) {
        keep_error(pipeline, ms_export_close(pipeline->dump));
        pipeline->dump = NULL;
    }
    if (pipeline->report != NULL) {
        fclose(pipeline->report);
        pipeline->report = NULL;
        if (pipeline->report_b > 0) {
            pipeline->options.print(pipeline->options.argument, 1, false, pipeline->report_text, pipeline->report_b);
        }
    }
    if (pipeline->aux != NULL) {
        ms_frames_complete(pipeline->frames);
        ms_process_modules_keep_perf_map(pipeline->files, pipeline->options.tracefd,
                                         ms_trace_process(pipeline->trace)->name);
        ms_aux_flush(pipeline->aux); /* on a full disk only these texts are lost */
    }
    return pipeline->error != 0 ? pipeline->error : MS_PIPELINE_END;
}

static void log_checkpoint_error(struct ms_pipeline *pipeline, int rc)
{
    if (rc != 0) {
        char line[256];
        snprintf(line, sizeof(line), "cannot write a checkpoint, so old segments of the trace are kept: %s",
                 strerror(-rc));
        pipeline->options.log(pipeline->options.argument, MS_LOG_WARN, line);
    }
}

void ms_pipeline_trace_closed(struct ms_pipeline *pipeline)
{
    ms_trace_writer_closed(pipeline->trace);
}

/* Called when the reader has caught up, so that readers of the files see recent rows. Rows with late attributes are
 * held back. */
static void show_rows(struct ms_pipeline *pipeline)
{
    uint64_t now_ns = ms_clock_raw_ns();
    if (pipeline->dump != NULL && !has_late_attributes(pipeline) && now_ns - pipeline->shown_ns > SHOW_EVERY_NS) {
        pipeline->shown_ns = now_ns;
        keep_error(pipeline, ms_export_flush(pipeline->dump));
    }
}

int ms_pipeline_run(struct ms_pipeline *pipeline, unsigned events)
{
    struct ms_event event;
    int rc = MS_TRACE_EVENT;
    for (unsigned i = 0; i < events && rc == MS_TRACE_EVENT; i++) {
        rc = ms_trace_next(pipeline->trace, &event);
        if (rc == MS_TRACE_EVENT && pipeline->model != NULL) {
            keep_error(pipeline, ms_model_feed(pipeline->model, &event));
            log_checkpoint_error(pipeline, ms_checkpoints_after(&pipeline->checkpoints, &event, &pipeline->settings));
        } else if (rc == MS_TRACE_JUMP) {
            int restored = pipeline->model != NULL ? restore_checkpoint(pipeline) : 0;
            rc = restored != 0 ? restored : MS_TRACE_EVENT;
        }
    }
    log_damage(pipeline);
    switch (rc) {
    case MS_TRACE_EVENT:
        return MS_PIPELINE_MORE;
    case MS_TRACE_AGAIN:
        if (pipeline->model != NULL) {
            keep_error(pipeline, ms_model_flush(pipeline->model));
        }
        show_rows(pipeline);
        if (pipeline->checkpoints.aux != NULL) { /* one may be due without a further event */
            log_checkpoint_error(pipeline, ms_checkpoints_make(&pipeline->checkpoints, &pipeline->settings));
        }
        if (pipeline->aux != NULL) {
            ms_aux_flush(pipeline->aux);
        }
        return MS_PIPELINE_AGAIN;
    case MS_TRACE_END:
        return finish(pipeline);
    default:
        return rc;
    }
}

const char *ms_pipeline_suspects(const struct ms_pipeline *pipeline, uint64_t *stops)
{
    *stops = 0;
    for (size_t i = 0; i < pipeline->analysis_count; i++) {
        const struct running_analysis *running = &pipeline->analyses[i];
        if (running->analysis->suspects != NULL) {
            return running->analysis->suspects(running->self, stops);
        }
    }
    return "";
}

void ms_pipeline_stats(const struct ms_pipeline *pipeline, struct ms_pipeline_stats *out)
{
    struct ms_trace_stats trace;
    struct ms_model_stats model = {0};
    ms_trace_stats(pipeline->trace, &trace);
    if (pipeline->model != NULL) {
        ms_model_stats(pipeline->model, &model);
    }
    *out = (struct ms_pipeline_stats){
        .events = trace.events,
        .rows = model.rows,
        .done_stamp = pipeline->ended ? UINT64_MAX : trace.released_below_stamp,
        .bytes_read = trace.bytes_read,
        .bytes_total = trace.bytes_total,
        .gaps = trace.gaps,
        .lost = trace.lost,
        .damages = trace.damages,
        .cuts = trace.cuts,
        .ending = trace.ending,
        .error = pipeline->error,
    };
}

void ms_pipeline_close(struct ms_pipeline *pipeline)
{
    if (pipeline->dump != NULL) {
        ms_export_close(pipeline->dump);
    }
    if (pipeline->model != NULL) {
        ms_model_free(pipeline->model);
    }
    close_analyses(pipeline);
    ms_watch_dump_close(pipeline->watch_dump);
    if (pipeline->report != NULL) {
        fclose(pipeline->report);
    }
    free(pipeline->report_text);
    if (pipeline->frames != NULL) {
        ms_frames_free(pipeline->frames);
    }
    ms_aux_close(pipeline->aux);
    if (pipeline->modules != NULL) {
        ms_process_modules_free(pipeline->files);
        ms_modules_free(pipeline->modules);
    }
    if (pipeline->trace != NULL) {
        ms_trace_close(pipeline->trace);
    }
    free(pipeline);
}
