/* SPDX-License-Identifier: Apache-2.0 */
/* See report_read.h. */
#include "cli/msmemscope/report_read.h"

#include "cli/msmemscope/inputs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BUILDERS  2u
#define ALL_SITES 100000u

/* The process that is being read, for one or two builders. */
struct report_reading {
    struct ms_report_builder *builders[BUILDERS];
    struct ms_source *source;
    size_t path, at;
    struct report_origins *origins; /* NULL: not needed */
};

static int begin(void *argument, uint32_t pid, struct ms_model *model)
{
    struct report_reading *reading = argument;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < BUILDERS; i++) {
        rc = reading->builders[i] != NULL ? ms_report_process_begin(reading->builders[i], pid, model) : 0;
    }
    return rc;
}

static int remember(struct report_origins *origins, size_t path, size_t at)
{
    if (origins->count == origins->room) {
        size_t room = origins->room != 0 ? origins->room * 2 : 16;
        struct report_origin *list = realloc(origins->list, room * sizeof(*list));
        if (list == NULL) {
            return -ENOMEM;
        }
        origins->list = list;
        origins->room = room;
    }
    origins->list[origins->count++] = (struct report_origin){path, at};
    return 0;
}

static int end(void *argument, uint32_t pid, struct ms_model *model)
{
    static const char *const kinds[] = {[MS_SOURCE_TRACE] = "trace", [MS_SOURCE_CSV] = "csv", [MS_SOURCE_DB] = "db"};
    (void)pid;
    struct report_reading *reading = argument;
    const struct ms_source_process *process = ms_source_process(reading->source, reading->at);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < BUILDERS; i++) {
        if (reading->builders[i] == NULL) {
            continue;
        }
        rc = ms_report_process_end(reading->builders[i], model, ms_source_stacks(reading->source), process->name,
                                   process->path, kinds[process->kind]);
        if (rc == 0) {
            ms_report_process_command(reading->builders[i], process->command);
        }
    }
    return rc == 0 && reading->origins != NULL ? remember(reading->origins, reading->path, reading->at) : rc;
}

static int feed(struct report_reading *reading, const struct ms_model_options *model)
{
    struct ms_source_listener listener = {.argument = reading, .begin = begin, .end = end};
    return ms_source_feed(reading->source, reading->at, model, &listener);
}

/* ---- the report ---- */

static int read_input(const struct report_inputs *inputs, struct report_reading *reading)
{
    struct ms_report_builder *builder = reading->builders[0];
    const char *path = inputs->paths[reading->path];
    int rc = input_open(path, false, &reading->source);
    if (rc != 0) {
        return rc;
    }
    for (reading->at = 0; rc == 0 && reading->at < ms_source_count(reading->source); reading->at++) {
        int failed = feed(reading, &inputs->model);
        if (failed == -ENOMEM) {
            rc = failed;
        } else if (failed != 0) { /* others may be readable */
            bool reported = failed == -EPROTO || failed == -ENODATA;
            ms_report_note(builder, MS_NOTE_PARTIAL, "partial: %s could not be read: %s",
                           ms_source_process(reading->source, reading->at)->path,
                           reported ? "not a dump or trace, or nothing in it" : strerror(-failed));
        }
    }
    struct ms_source_stats stats;
    ms_source_stats(reading->source, &stats);
    if (stats.partial) {
        ms_report_note(builder, MS_NOTE_PARTIAL,
                       "partial: the input is damaged or cut (%llu rows left out); the messages above say where",
                       (unsigned long long)stats.bad_rows);
    }
    input_close(reading->source, path);
    return rc;
}

int report_read(const struct report_inputs *inputs, struct ms_report_builder *builder, struct report_origins *origins)
{
    struct report_reading reading = {.builders = {builder}, .origins = origins};
    size_t failed = 0;
    int rc = 0, last = 0;
    for (; rc == 0 && reading.path < inputs->count; reading.path++) {
        rc = read_input(inputs, &reading);
        if (rc == -ENOENT || rc == -EPROTO) { /* was reported */
            ms_report_note(builder, MS_NOTE_PARTIAL, "partial: nothing could be read from %s",
                           inputs->paths[reading.path]);
            last = rc;
            failed++;
            rc = 0;
        }
    }
    return failed == inputs->count ? last : rc;
}

/* ---- ranks ---- */

/* Reads one process again, with builders for one step each. */
static int read_again(const struct report_inputs *inputs, struct report_origin origin,
                      struct ms_report_builder *builders[BUILDERS])
{
    struct report_reading reading = {.path = origin.path, .at = origin.at};
    memcpy(reading.builders, builders, sizeof(reading.builders));
    struct ms_source_options quiet = {0}; /* problems were reported the first time */
    int rc = ms_source_open(inputs->paths[origin.path], &quiet, &reading.source);
    if (rc == 0) {
        rc = origin.at < ms_source_count(reading.source) ? feed(&reading, &inputs->model) : -ESTALE;
        ms_source_close(reading.source);
    }
    return rc;
}

/* The live set of a rank that a builder has seen; false: no longer available. */
static bool find_set(struct ms_report_builder *builder, const struct ms_report *report, const struct ms_rank *rank,
                     struct ms_rank_set *out)
{
    const struct ms_report *seen = ms_report_finish(builder);
    for (size_t p = 0; seen != NULL && p < seen->process_count; p++) {
        const struct ms_report_process *process = &seen->processes[p];
        for (size_t d = 0; process->pid == report->processes[rank->process].pid && d < process->device_count; d++) {
            if (process->devices[d].device == rank->number) {
                *out = (struct ms_rank_set){process, &process->devices[d].peak};
                return true;
            }
        }
    }
    return false;
}

static int explain(const struct report_inputs *inputs, const struct report_origins *origins,
                   const struct ms_report *report, struct ms_ranks *ranks, struct ms_report_builder *again[BUILDERS])
{
    const struct ms_rank *here = &ranks->ranks[ranks->rank], *there = &ranks->ranks[ranks->reference];
    struct ms_report_options options = inputs->options;
    int rc = 0;
    options.inefficient = NULL;
    options.top = ALL_SITES;
    for (size_t i = 0; rc == 0 && i < BUILDERS; i++) {
        options.peak_step = i == 0 ? ranks->step : ranks->reference_step;
        rc = ms_report_begin(&options, &again[i]);
    }
    if (rc != 0 || here->process >= origins->count || there->process >= origins->count) {
        return rc;
    }
    if (here->process == there->process) {
        rc = read_again(inputs, origins->list[here->process], again);
    } else {
        struct ms_report_builder *first[BUILDERS] = {again[0]}, *second[BUILDERS] = {again[1]};
        rc = read_again(inputs, origins->list[here->process], first);
        rc = rc != 0 ? rc : read_again(inputs, origins->list[there->process], second);
    }
    struct ms_rank_set set, reference;
    if (rc == 0 && find_set(again[0], report, here, &set) && find_set(again[1], report, there, &reference)) {
        rc = ms_ranks_explain(ranks, set, reference);
    }
    return rc;
}

int report_ranks(const struct report_inputs *inputs, const struct report_origins *origins,
                 const struct ms_report *report, struct ms_ranks **out, struct ms_report_builder *again[BUILDERS])
{
    int rc = ms_ranks_find(report, out);
    if (rc == 0 && *out != NULL && (*out)->diverges) {
        int why = explain(inputs, origins, report, *out, again);
        rc = why == -ENOMEM ? why : 0; /* still being recorded, or deleted: the figures are valid, but without causes */
    }
    return rc;
}
