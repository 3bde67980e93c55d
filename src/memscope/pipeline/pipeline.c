/* SPDX-License-Identifier: Apache-2.0 */
/* See replay.h. Errors of an output (disk full) do not stop the replay: reports are still right; the first one is told
 * at the end. */
#include "memscope/pipeline/pipeline.h"

#include "base/clock.h"
#include "memscope/analyze/gap.h"
#include "memscope/analyze/inefficient_marks.h"
#include "memscope/analyze/leaks.h"
#include "memscope/analyze/oom.h"
#include "memscope/analyze/watch.h"
#include "memscope/export/dump.h"
#include "memscope/export/watch.h"
#include "memscope/model/model.h"
#include "memscope/options/options.h"
#include "memscope/recording/frames.h"
#include "memscope/recording/model_options.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHOW_EVERY_NS 1000000000ull

struct ms_replay {
    struct ms_replay_options options;
    struct ms_settings settings; /* as the events have changed them */
    struct ms_trace *trace;
    struct ms_modules *modules; /* of a trace of the past; NULL: the recording's own */
    struct ms_view *view;
    struct ms_aux *aux; /* NULL: nothing is added to the trace */
    struct ms_frames *frames;
    struct ms_model *model; /* NULL: of no use */
    struct ms_checkpoints checkpoints;
    struct ms_dump *dump;
    struct ms_watch_dump *watch_dump;
    struct ms_watch_report *watch_report;
    struct ms_oom_report *oom;
    struct ms_leaks *leaks;
    struct ms_gap_analysis *gap;
    struct ms_inefficient_marks *marks;
    FILE *report;
    char *report_text;
    size_t report_b;
    int error; /* first one of an output */
    bool ended;
    uint64_t shown_ns; /* when files were last brought up to date */
};

/* ---- settings for the others ---- */

static bool parse_config(void *argument, const char *text, size_t length_b, struct ms_model_options *options)
{
    struct ms_replay *replay = argument;
    return ms_recording_config(&replay->settings, text, length_b, options);
}

static void log_line(void *argument, int level, const char *line);

static void full_model_options(struct ms_replay *replay, struct ms_model_options *out)
{
    *out = (struct ms_model_options)MS_MODEL_OPTIONS_DEFAULT;
    ms_recording_model_options(&replay->settings, out);
    out->parse_config = parse_config;
    out->log = log_line;
    out->argument = replay;
}

static void log_line(void *argument, int level, const char *line)
{
    struct ms_replay *replay = argument;
    replay->options.log(replay->options.argument, level, line);
}

static void file_created(void *argument, const char *path, const char *table)
{
    struct ms_replay *replay = argument;
    char text[2 * MS_PATH_MAX_B];
    int n = table != NULL ? snprintf(text, sizeof(text), "[msmemscope] Info: create dbtable %s in %s.\n", table, path)
                          : snprintf(text, sizeof(text), "[msmemscope] Info: create %s %s.\n",
                                     replay->options.output == MS_REPLAY_DB ? "dbfile" : "file", path);
    replay->options.print(replay->options.argument, 1, true, text,
                          (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

/* ---- going on in the middle ---- */

static void MS_PRINTF(2, 3) warn(struct ms_replay *replay, const char *format, ...)
{
    char text[2 * MS_PATH_MAX_B];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    replay->options.print(replay->options.argument, 2, false, text,
                          (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

static uint64_t rows_so_far(const struct ms_replay *replay)
{
    struct ms_model_stats stats;
    ms_model_stats(replay->model, &stats);
    return stats.rows;
}

/* Earlier segments were deleted: from here on with the state that was saved. */
static int go_on_from_checkpoint(struct ms_replay *replay)
{
    struct ms_model_options options;
    uint64_t before = rows_so_far(replay);
    full_model_options(replay, &options);
    if (ms_checkpoints_settings(replay->trace, &replay->settings)) {
        ms_recording_model_options(&replay->settings, &options);
    }
    int rc = ms_checkpoints_restore(replay->trace, replay->model, &options);
    uint64_t after = rows_so_far(replay);
    if (rc == 0 && after > before && replay->options.output != MS_REPLAY_SYMBOLS) {
        warn(replay,
             "[msmemscope] Warn: %s: the oldest part of the trace was deleted (--ring); rows %llu to %llu are not in "
             "it.\n",
             replay->options.out, (unsigned long long)before, (unsigned long long)after - 1);
    }
    return rc;
}

/* ---- opening ---- */

static int add(struct ms_replay *replay, struct ms_consumer consumer)
{
    return ms_model_add(replay->model, &consumer);
}

static int open_dump(struct ms_replay *replay)
{
    const uint32_t late = MS_ANALYSIS_DECOMPOSE | MS_ANALYSIS_INEFFICIENT;
    struct ms_dump_options options = {
        .dirfd = replay->options.outfd,
        .dir = replay->options.out,
        .format = replay->options.output == MS_REPLAY_DB ? MS_DUMP_DB : MS_DUMP_CSV,
        .late = (replay->settings.analysis & late) != 0,
        .model = replay->model,
        .stacks = ms_frames_source(replay->frames),
        .replace = replay->options.replace,
        .created = file_created,
        .argument = replay,
    };
    int rc = ms_dump_open(&options, &replay->dump);
    rc = rc != 0 ? rc : add(replay, ms_dump_consumer(replay->dump));
    if (rc == 0 && (replay->settings.analysis & MS_ANALYSIS_INEFFICIENT) != 0) {
        rc = ms_inefficient_marks_new(replay->model, &replay->marks);
        rc = rc != 0 ? rc : add(replay, ms_inefficient_marks_consumer(replay->marks));
    }
    return rc;
}

static void watch_directory_created(void *argument, const char *path)
{
    struct ms_replay *replay = argument;
    char text[2 * MS_PATH_MAX_B];
    int n = snprintf(text, sizeof(text), "[msmemscope] Info: Created watch_dump directory at %s.\n", path);
    replay->options.print(replay->options.argument, 1, true, text, (size_t)n);
}

static void print_watch(void *argument, const char *text, size_t text_b)
{
    struct ms_replay *replay = argument;
    replay->options.print(replay->options.argument, 1, false, text, text_b);
}

/* Tensors may be watched by the program alone, so this is not a question of settings. */
static int open_watch(struct ms_replay *replay)
{
    struct ms_watch_dump_options dump = {.dirfd = replay->options.outfd,
                                         .dir = replay->options.out,
                                         .replace = replay->options.replace,
                                         .created = watch_directory_created,
                                         .argument = replay};
    int rc = ms_watch_dump_open(&dump, &replay->watch_dump);
    rc = rc != 0 ? rc : add(replay, ms_watch_dump_consumer(replay->watch_dump));
    if (rc != 0 || !replay->options.reports) {
        return rc;
    }
    struct ms_watch_report_options report = {
        .model = replay->model, .start = replay->settings.watch.start, .print = print_watch, .argument = replay};
    rc = ms_watch_report_new(&report, &replay->watch_report);
    return rc != 0 ? rc : add(replay, ms_watch_report_consumer(replay->watch_report));
}

static int open_output(struct ms_replay *replay)
{
    if (replay->options.output == MS_REPLAY_SYMBOLS) {
        return 0;
    }
    int rc = open_dump(replay);
    return rc != 0 ? rc : open_watch(replay);
}

static int open_oom(struct ms_replay *replay)
{
    struct ms_oom_options oom = {
        .model = replay->model, .stacks = ms_frames_source(replay->frames), .out = replay->report};
    int rc = ms_oom_report_new(&oom, &replay->oom);
    return rc != 0 ? rc : add(replay, ms_oom_report_consumer(replay->oom));
}

static int open_steps(struct ms_replay *replay)
{
    struct ms_leaks_options leaks = {.model = replay->model,
                                     .stacks = ms_frames_source(replay->frames),
                                     .hal = replay->settings.collect_mode == MS_COLLECT_IMMEDIATE,
                                     .out = replay->report,
                                     .log = log_line,
                                     .argument = replay};
    struct ms_gap_options gap = {.model = replay->model, .out = replay->report, .log = log_line, .argument = replay};
    int rc = ms_leaks_new(&leaks, &replay->leaks);
    rc = rc != 0 ? rc : add(replay, ms_leaks_consumer(replay->leaks));
    rc = rc != 0 ? rc : ms_gap_new(&gap, &replay->gap);
    return rc != 0 ? rc : add(replay, ms_gap_consumer(replay->gap));
}

static int open_reports(struct ms_replay *replay)
{
    const struct ms_settings *s = &replay->settings;
    const uint32_t both = MS_WANT_ALLOC | MS_WANT_FREE;
    bool collected = replay->options.reports && (ms_settings_collected(s) & both) == both;
    bool oom = collected && (s->analysis & MS_ANALYSIS_OOM) != 0;
    bool steps = collected && (s->analysis & (MS_ANALYSIS_LEAKS | MS_ANALYSIS_OOM)) != 0 && s->step_count == 0;
    if (!oom && !steps) {
        return 0;
    }
    replay->report = open_memstream(&replay->report_text, &replay->report_b);
    if (replay->report == NULL) {
        return -ENOMEM;
    }
    int rc = oom ? open_oom(replay) : 0;
    return rc == 0 && steps ? open_steps(replay) : rc;
}

/* Where the text of stacks comes from. A trace of the past is only read; files of its program may still be here. */
static int open_frames(struct ms_replay *replay)
{
    const struct ms_replay_options *options = &replay->options;
    replay->view = options->view;
    int rc = options->view != NULL || options->marks != NULL ? ms_aux_open(replay->trace, &replay->aux) : 0;
    if (rc != 0) {
        return rc;
    }
    if (options->view == NULL && (replay->modules = ms_modules_new()) != NULL &&
        (replay->view = ms_view_new(replay->modules, 0, 0)) != NULL) {
        ms_view_use_perf_map(replay->view, options->tracefd, ms_trace_process(replay->trace)->name);
    }
    return ms_frames_new(replay->trace, replay->view, replay->aux, &replay->frames);
}

static int open_model(struct ms_replay *replay)
{
    struct ms_model_options model;
    struct ms_checkpoint checkpoint;
    if (replay->options.output == MS_REPLAY_SYMBOLS && replay->options.marks == NULL) {
        return 0;
    }
    full_model_options(replay, &model);
    int rc = ms_model_new(&model, &replay->model);
    if (rc == 0 && ms_trace_checkpoint(replay->trace, &checkpoint)) {
        rc = go_on_from_checkpoint(replay);
        /* Rows that are not in the trace any more may be in the files that are there. */
        replay->options.replace = replay->options.replace && rc == 0 && rows_so_far(replay) == 0;
    }
    if (replay->options.marks != NULL) {
        ms_checkpoints_init(&replay->checkpoints, replay->trace, replay->model, replay->aux, replay->options.marks);
    }
    rc = rc != 0 ? rc : open_output(replay);
    return rc != 0 ? rc : open_reports(replay);
}

int ms_replay_open(const struct ms_replay_options *options, struct ms_replay **out)
{
    struct ms_replay *replay = calloc(1, sizeof(*replay));
    if (replay == NULL) {
        return -ENOMEM;
    }
    replay->options = *options;
    replay->settings = *options->settings;
    struct ms_trace_options trace = {
        .live = options->writer != NULL, .writer = options->writer, .memory = options->memory};
    int rc = ms_trace_open(options->tracefd, options->name, &trace, &replay->trace);
    rc = rc != 0 ? rc : open_frames(replay);
    rc = rc != 0 ? rc : open_model(replay);
    if (rc != 0) {
        ms_replay_close(replay);
        return rc;
    }
    *out = replay;
    return 0;
}

int ms_replay_to_files(struct ms_replay *replay, const struct ms_replay_options *options)
{
    int rc = ms_trace_follow(replay->trace, options->tracefd);
    replay->options.tracefd = options->tracefd;
    replay->options.outfd = options->outfd;
    replay->options.out = options->out;
    replay->options.output = options->output;
    replay->options.reports = options->reports;
    replay->settings = *options->settings;
    rc = rc != 0 ? rc : open_output(replay);
    return rc != 0 ? rc : open_reports(replay);
}

/* ---- running ---- */

static void keep_error(struct ms_replay *replay, int rc)
{
    replay->error = replay->error == 0 && rc < 0 ? rc : replay->error;
}

static void tell_damage(struct ms_replay *replay)
{
    struct ms_damage damage;
    while (ms_trace_next_damage(replay->trace, &damage)) {
        char line[512];
        snprintf(line, sizeof(line), "trace damaged: %s, offset %llu: %s", damage.file,
                 (unsigned long long)damage.offset, damage.reason);
        replay->options.log(replay->options.argument, MS_LOG_ERROR, line);
    }
}

static int finish(struct ms_replay *replay)
{
    replay->ended = true;
    if (replay->model != NULL) {
        keep_error(replay, ms_model_end(replay->model));
    }
    if (replay->dump != NULL) {
        keep_error(replay, ms_dump_close(replay->dump));
        replay->dump = NULL;
    }
    if (replay->report != NULL) {
        fclose(replay->report);
        replay->report = NULL;
        if (replay->report_b > 0) {
            replay->options.print(replay->options.argument, 1, false, replay->report_text, replay->report_b);
        }
    }
    if (replay->aux != NULL) {
        ms_frames_complete(replay->frames);
        ms_view_keep_perf_map(replay->view, replay->options.tracefd, ms_trace_process(replay->trace)->name);
        ms_aux_flush(replay->aux); /* a full disk costs the texts alone */
    }
    return replay->error != 0 ? replay->error : MS_REPLAY_END;
}

static void make_checkpoint(struct ms_replay *replay, int rc)
{
    if (rc != 0) {
        char line[256];
        snprintf(line, sizeof(line), "a checkpoint cannot be written, so old segments of the trace stay: %s",
                 strerror(-rc));
        replay->options.log(replay->options.argument, MS_LOG_WARN, line);
    }
}

void ms_replay_trace_closed(struct ms_replay *replay)
{
    ms_trace_writer_closed(replay->trace);
}

/* Caught up: whoever looks at the files sees what has happened. Rows whose attributes come late stay back. */
static void show_rows(struct ms_replay *replay)
{
    uint64_t now_ns = ms_clock_raw_ns();
    bool late = (replay->settings.analysis & (MS_ANALYSIS_DECOMPOSE | MS_ANALYSIS_INEFFICIENT)) != 0;
    if (replay->dump != NULL && !late && now_ns - replay->shown_ns > SHOW_EVERY_NS) {
        replay->shown_ns = now_ns;
        keep_error(replay, ms_dump_flush(replay->dump));
    }
}

int ms_replay_run(struct ms_replay *replay, unsigned events)
{
    struct ms_event event;
    int rc = MS_TRACE_EVENT;
    for (unsigned i = 0; i < events && rc == MS_TRACE_EVENT; i++) {
        rc = ms_trace_next(replay->trace, &event);
        if (rc == MS_TRACE_EVENT && replay->model != NULL) {
            keep_error(replay, ms_model_feed(replay->model, &event));
            make_checkpoint(replay, ms_checkpoints_after(&replay->checkpoints, &event, &replay->settings));
        } else if (rc == MS_TRACE_JUMP) {
            int restored = replay->model != NULL ? go_on_from_checkpoint(replay) : 0;
            rc = restored != 0 ? restored : MS_TRACE_EVENT;
        }
    }
    tell_damage(replay);
    switch (rc) {
    case MS_TRACE_EVENT:
        return MS_REPLAY_MORE;
    case MS_TRACE_AGAIN:
        if (replay->model != NULL) {
            keep_error(replay, ms_model_flush(replay->model));
        }
        show_rows(replay);
        if (replay->checkpoints.aux != NULL) { /* without an event that would bring it about */
            make_checkpoint(replay, ms_checkpoints_make(&replay->checkpoints, &replay->settings));
        }
        if (replay->aux != NULL) {
            ms_aux_flush(replay->aux);
        }
        return MS_REPLAY_AGAIN;
    case MS_TRACE_END:
        return finish(replay);
    default:
        return rc;
    }
}

const char *ms_replay_suspects(const struct ms_replay *replay, uint64_t *stops)
{
    *stops = 0;
    return replay->leaks != NULL ? ms_leaks_suspects(replay->leaks, stops) : "";
}

void ms_replay_stats(const struct ms_replay *replay, struct ms_replay_stats *out)
{
    struct ms_trace_stats trace;
    struct ms_model_stats model = {0};
    ms_trace_stats(replay->trace, &trace);
    if (replay->model != NULL) {
        ms_model_stats(replay->model, &model);
    }
    *out = (struct ms_replay_stats){
        .events = trace.events,
        .rows = model.rows,
        .done_stamp = replay->ended ? UINT64_MAX : trace.released_below_stamp,
        .bytes_read = trace.bytes_read,
        .bytes_total = trace.bytes_total,
        .gaps = trace.gaps,
        .lost = trace.lost,
        .damages = trace.damages,
        .cuts = trace.cuts,
        .ending = trace.ending,
        .error = replay->error,
    };
}

void ms_replay_close(struct ms_replay *replay)
{
    if (replay->dump != NULL) {
        ms_dump_close(replay->dump);
    }
    if (replay->model != NULL) {
        ms_model_free(replay->model);
    }
    ms_oom_report_free(replay->oom);
    if (replay->leaks != NULL) {
        ms_leaks_free(replay->leaks);
    }
    if (replay->gap != NULL) {
        ms_gap_free(replay->gap);
    }
    ms_inefficient_marks_free(replay->marks);
    ms_watch_dump_close(replay->watch_dump);
    ms_watch_report_free(replay->watch_report);
    if (replay->report != NULL) {
        fclose(replay->report);
    }
    free(replay->report_text);
    if (replay->frames != NULL) {
        ms_frames_free(replay->frames);
    }
    ms_aux_close(replay->aux);
    if (replay->modules != NULL) {
        ms_view_free(replay->view);
        ms_modules_free(replay->modules);
    }
    if (replay->trace != NULL) {
        ms_trace_close(replay->trace);
    }
    free(replay);
}
