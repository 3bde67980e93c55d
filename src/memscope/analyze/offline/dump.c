/* SPDX-License-Identifier: Apache-2.0 */
/* See offline.h. */
#include "memscope/analyze/offline/offline.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_MAX_B   4096u
#define FILE_MAX_B   (8ull << 30)
#define KEPT_EVENTS  (16u << 20)
#define OUT_OF_ORDER 1

uint32_t ms_analyze_version(void)
{
    return MS_ANALYZE_API_VERSION;
}

/* ---- messages ---- */

void ms_offline_line(const struct ms_offline *offline, const char *format, ...)
{
    char line[PATH_MAX_B + 256];
    if (offline->io.line != NULL) {
        va_list args;
        va_start(args, format);
        vsnprintf(line, sizeof(line), format, args);
        va_end(args);
        offline->io.line(offline->io.argument, line);
    }
}

int ms_offline_fail(const struct ms_offline *offline, int rc, const char *format, ...)
{
    if (offline->why != NULL && offline->why_b > 0) {
        va_list args;
        va_start(args, format);
        vsnprintf(offline->why, offline->why_b, format, args);
        va_end(args);
    }
    return rc;
}

static void report_problem(void *argument, const struct ms_problem *problem)
{
    struct ms_offline *offline = argument;
    char line[PATH_MAX_B + 256], place[32] = "";
    if (problem->line != 0) {
        snprintf(place, sizeof(place), "%llu:", (unsigned long long)problem->line);
    } else if (problem->offset != 0) {
        snprintf(place, sizeof(place), "at %llu:", (unsigned long long)problem->offset);
    }
    snprintf(line, sizeof(line), "%s:%s %s", problem->file, place, problem->reason);
    if (offline->problems == 0) {
        ms_offline_fail(offline, 0, "%s", line); /* the reason, should the call fail */
    }
    if (++offline->problems > offline->problems_reported) {
        offline->problems_reported = offline->problems;
        if (offline->io.problem != NULL) {
            offline->io.problem(offline->io.argument, line);
        }
    }
}

static void report_progress(void *argument, uint64_t done, uint64_t total)
{
    struct ms_offline *offline = argument;
    if (offline->io.progress != NULL && offline->io.progress(offline->io.argument, done, total) != 0) {
        offline->cancelled = true;
    }
}

/* ---- opening ---- */

static int open_source(struct ms_offline *offline)
{
    struct ms_source_options options = {.dumps = true,
                                        .wish = offline->wish,
                                        .problem = report_problem,
                                        .progress = offline->io.progress != NULL ? report_progress : NULL,
                                        .argument = offline};
    offline->problems = 0;
    return ms_source_open(offline->path, &options, &offline->source);
}

static bool has_suffix(const char *path, const char *suffix)
{
    size_t path_b = strlen(path), suffix_b = strlen(suffix);
    return path_b > suffix_b && strcmp(path + path_b - suffix_b, suffix) == 0;
}

int ms_offline_open(struct ms_offline *offline, const char *path, bool writable, const struct ms_source_wish *wish,
                    const struct ms_analyze_io *io, char *why, size_t why_b)
{
    *offline = (struct ms_offline){.path = path, .why = why, .why_b = why_b, .wish = wish};
    if (why != NULL && why_b > 0) {
        why[0] = '\0';
    }
    if (io != NULL) {
        if (io->sz != sizeof(*io)) {
            return ms_offline_fail(offline, -EINVAL, "unsupported version of struct ms_analyze_io");
        }
        offline->io = *io;
    }
    if (path == NULL || path[0] == '\0') {
        return ms_offline_fail(offline, -EINVAL, "no input file given");
    }
    if (strlen(path) > PATH_MAX_B) {
        return ms_offline_fail(offline, -ENAMETOOLONG, "the path is longer than %u characters", PATH_MAX_B);
    }
    const char *slash = strrchr(path, '/');
    offline->name = slash != NULL ? slash + 1 : path;
    struct stat st;
    if (stat(path, &st) != 0) {
        return ms_offline_fail(offline, -errno, "%s: %s", path, strerror(errno));
    }
    if (!S_ISREG(st.st_mode)) {
        return ms_offline_fail(offline, -ENOENT, "%s is not a regular file", path);
    }
    offline->db = has_suffix(path, ".db");
    if (!offline->db && !has_suffix(path, ".csv")) {
        return ms_offline_fail(offline, -EINVAL, "%s: the suffix must be .csv or .db", path);
    }
    if (access(path, writable ? R_OK | W_OK : R_OK) != 0) {
        return ms_offline_fail(offline, -EACCES, "cannot %s '%s': %s", writable ? "write" : "read", path,
                               strerror(errno));
    }
    if ((uint64_t)st.st_size > FILE_MAX_B) {
        return ms_offline_fail(offline, -EFBIG, "%s is too large. Max allowed size is 8.00GB", path);
    }
    return open_source(offline);
}

void ms_offline_close(struct ms_offline *offline)
{
    ms_source_close(offline->source);
    offline->source = NULL;
}

/* ---- rows in order ---- */

struct offline_reading {
    struct ms_offline *offline;
    const struct ms_offline_reader *reader;
    uint64_t last_id;
    bool keep; /* keep all rows for sorting */
    struct ms_offline_event *events;
    size_t count, room;
};

static int keep_event(struct offline_reading *reading, const struct ms_offline_event *event)
{
    if (reading->count == KEPT_EVENTS) {
        return OUT_OF_ORDER;
    }
    if (reading->count == reading->room) {
        size_t room = reading->room != 0 ? reading->room * 2 : 4096;
        struct ms_offline_event *events = realloc(reading->events, room * sizeof(*events));
        if (events == NULL) {
            return -ENOMEM;
        }
        reading->events = events;
        reading->room = room;
    }
    reading->events[reading->count++] = *event;
    return 0;
}

static int on_row(void *self, const struct ms_row *row)
{
    struct offline_reading *reading = self;
    struct ms_offline_event event = {.id = row->id, .pid = row->pid, .device = row->device};
    if (reading->offline->cancelled) {
        return -ECANCELED;
    }
    reading->offline->rows++;
    if (!reading->reader->choose(reading->reader->self, row, &event)) {
        return 0;
    }
    if (reading->keep) {
        return keep_event(reading, &event);
    }
    if (row->id < reading->last_id) {
        return OUT_OF_ORDER;
    }
    reading->last_id = row->id;
    return reading->reader->take(reading->reader->self, &event);
}

static int read_all(struct offline_reading *reading, enum ms_source_order order)
{
    struct ms_offline *offline = reading->offline;
    struct ms_consumer consumer = {.self = reading, .on_row = on_row};
    int rc = 0;
    reading->last_id = 0;
    offline->rows = 0;
    for (size_t i = 0; rc == 0 && i < ms_source_count(offline->source); i++) {
        rc = ms_source_rows(offline->source, i, order, &consumer);
    }
    return rc;
}

/* Starts over from the first row. Problems already reported are not reported again. */
static int read_again(struct offline_reading *reading, enum ms_source_order order)
{
    ms_offline_close(reading->offline);
    reading->reader->restart(reading->reader->self);
    int rc = open_source(reading->offline);
    return rc != 0 ? rc : read_all(reading, order);
}

static int by_id(const void *a, const void *b)
{
    const struct ms_offline_event *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int take_each(struct offline_reading *reading)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < reading->count; i++) {
        rc = reading->reader->take(reading->reader->self, &reading->events[i]);
    }
    return rc;
}

/* Ids are nearly dense, so each gets a slot: 4 bytes, and no comparison. Rows with equal ids, as in dumps of several
 * processes, keep their order in the dump: a slot is a list. If ids are too sparse, the rows are sorted
 * conventionally. */
static int take_sorted(struct offline_reading *reading)
{
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < reading->count; i++) {
        least = reading->events[i].id < least ? reading->events[i].id : least;
        most = reading->events[i].id > most ? reading->events[i].id : most;
    }
    bool dense = reading->count != 0 && (most - least) / 4 < reading->count;
    uint32_t *places = dense ? calloc((size_t)(most - least) + 1, sizeof(*places)) : NULL;
    if (places == NULL) {
        qsort(reading->events, reading->count, sizeof(*reading->events), by_id);
        return take_each(reading);
    }
    for (size_t i = reading->count; i-- > 0;) {
        uint32_t *place = &places[reading->events[i].id - least];
        reading->events[i].next = *place;
        *place = (uint32_t)i + 1;
    }
    int rc = 0;
    for (uint64_t i = 0; i <= most - least; i++) {
        for (uint32_t at = places[i]; rc == 0 && at != 0; at = reading->events[at - 1].next) {
            rc = reading->reader->take(reading->reader->self, &reading->events[at - 1]);
        }
    }
    free(places);
    return rc;
}

int ms_offline_read(struct ms_offline *offline, const struct ms_offline_reader *reader)
{
    struct offline_reading reading = {.offline = offline, .reader = reader};
    int rc = read_all(&reading, MS_ORDER_AS_WRITTEN);
    if (rc == OUT_OF_ORDER) {
        reading.keep = true;
        rc = read_again(&reading, MS_ORDER_AS_WRITTEN);
        rc = rc != 0 ? rc : take_sorted(&reading);
    }
    if (rc == OUT_OF_ORDER) { /* too many to keep */
        free(reading.events);
        reading = (struct offline_reading){.offline = offline, .reader = reader};
        rc = read_again(&reading, MS_ORDER_ID);
    }
    free(reading.events);
    if (offline->source != NULL) {
        struct ms_source_stats stats;
        ms_source_stats(offline->source, &stats);
        offline->left_out = stats.bad_rows;
    }
    if (rc == 0 && offline->rows == 0 && offline->problems != 0) {
        return -EPROTO; /* the problem reported is the reason */
    }
    if (rc == -ECANCELED) {
        return ms_offline_fail(offline, rc, "cancelled");
    }
    return rc == 0 || rc == -EPROTO ? rc : ms_offline_fail(offline, rc, "%s: %s", offline->path, strerror(-rc));
}
