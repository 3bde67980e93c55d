/* SPDX-License-Identifier: Apache-2.0 */
/* msmemscope info DIR: what was recorded. Reads every event once. Prints text, or JSON with --json. */
#include "cli/msmemscope/recordings.h"

#include "base/buffer.h"
#include "base/macros.h"
#include "base/parse.h"
#include "memscope/model/columns.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEVICES_MAX 64

struct counts {
    uint64_t kinds[MS_R_LIMIT];
    uint64_t devices[DEVICES_MAX]; /* events by device */
    uint64_t shadow;
    uint64_t first_ns, last_ns;
    uint64_t lost_by_cause[MS_GAP_CAUSES];
    uint64_t lost_memory;
    struct ms_trace_stats stats;
    uint64_t damages;
    uint64_t stacks;               /* events with a call stack */
    struct ms_event_recorder cost; /* all 0: unknown */
    uint64_t begins_at, jumps;     /* deleted parts: before this event; in the middle */
};

static const char *const endings[] = {[MS_ENDING_OPEN] = "open: being recorded, or the recorder was killed",
                                      [MS_ENDING_PROCESS] = "complete: the process ended",
                                      [MS_ENDING_STOPPED] = "stopped on request",
                                      [MS_ENDING_DISK] = "cut: the disk was full",
                                      [MS_ENDING_LIMIT] = "cut: size limit"};

static void count_event(struct counts *counts, const struct ms_event *event)
{
    counts->kinds[event->kind < MS_R_LIMIT ? event->kind : 0]++;
    counts->stacks += event->c_stack != 0 || event->python_stack != 0;
    if (event->kind == MS_R_RECORDER) {
        counts->cost = event->recorder;
    }
    counts->shadow += (event->flags & MS_RECORD_SHADOW) != 0;
    if (event->device < DEVICES_MAX) {
        counts->devices[event->device]++;
    }
    counts->first_ns = counts->first_ns != 0 ? counts->first_ns : event->time_ns;
    counts->last_ns = event->time_ns > counts->last_ns ? event->time_ns : counts->last_ns;
    if (event->kind == MS_R_GAP) {
        counts->lost_by_cause[event->gap.cause < MS_GAP_CAUSES ? event->gap.cause : 0] += event->gap.lost;
        uint64_t memory = event->gap.lost_alloc + event->gap.lost_free;
        counts->lost_memory += memory < event->gap.lost ? memory : event->gap.lost;
    }
}

static int read_trace(const struct recording *recording, struct counts *counts)
{
    struct ms_trace *trace;
    int rc = ms_trace_open(recording->tracefd, recording->process->name, NULL, &trace);
    if (rc != 0) {
        return rc;
    }
    struct ms_event event;
    struct ms_checkpoint checkpoint;
    if (ms_trace_checkpoint(trace, &checkpoint)) {
        counts->begins_at = checkpoint.position.index;
    }
    for (uint64_t n = 0; (rc = ms_trace_next(trace, &event)) == MS_TRACE_EVENT || rc == MS_TRACE_JUMP; n++) {
        if (rc == MS_TRACE_JUMP) {
            counts->jumps++;
            continue;
        }
        count_event(counts, &event);
        if (n % 65536 == 0) {
            ms_trace_stats(trace, &counts->stats);
            progress_show("reading", counts->stats.bytes_read, counts->stats.bytes_total);
        }
    }
    progress_end();
    ms_trace_stats(trace, &counts->stats);
    struct ms_damage damage;
    while (ms_trace_next_damage(trace, &damage)) {
        fprintf(stderr, "msmemscope: %s/trace/%s: offset %llu: %s\n", recording->path, damage.file,
                (unsigned long long)damage.offset, damage.reason);
        counts->damages++;
    }
    ms_trace_close(trace);
    return rc < 0 ? rc : 0;
}

static const char *kind_name(unsigned kind)
{
    const struct ms_record_spec *spec = ms_record_spec(kind);
    return spec != NULL ? spec->name : "UNKNOWN";
}

static void print_string(const char *text)
{
    struct ms_buffer json = {0};
    ms_buffer_json(&json, text, strlen(text));
    printf("\"%.*s\"", (int)json.used, json.s != NULL ? json.s : "");
    ms_buffer_free(&json);
}

static void print_json(const struct recording *recording, const struct counts *counts)
{
    const struct ms_process *process = recording->process;
    printf("{\"pid\": %u, \"ppid\": %u, \"exec_count\": %u, \"path\": ", process->pid, process->ppid,
           process->exec_count);
    print_string(recording->path);
    printf(", \"exe\": ");
    print_string(process->exe);
    printf(", \"command\": ");
    print_string(process->command);
    printf(
        ", \"events\": %llu, \"shadow\": %llu, \"gaps\": %llu, \"lost\": %llu, \"damages\": %llu, \"ending\": %u, "
        "\"bytes\": %llu, \"segments\": %u, \"streams\": %u, \"unmatched\": %llu, \"left_out\": %llu, \"begins_at\": %llu, "
        "\"jumps\": %llu, ",
        (unsigned long long)counts->stats.events, (unsigned long long)counts->shadow,
        (unsigned long long)counts->stats.gaps, (unsigned long long)counts->stats.lost,
        (unsigned long long)counts->stats.damages, counts->stats.ending, (unsigned long long)counts->stats.bytes_total,
        counts->stats.segments, counts->stats.streams, (unsigned long long)counts->stats.counted[MS_GAP_UNMATCHED],
        (unsigned long long)counts->stats.counted[MS_GAP_DISK], (unsigned long long)counts->begins_at,
        (unsigned long long)counts->jumps);
    printf(
        "\"overhead\": {\"buffers\": %llu, \"drain_ns\": %llu, \"record_ps\": %llu, \"collector\": %llu}, \"kinds\": {",
        (unsigned long long)counts->cost.buffers_b, (unsigned long long)counts->cost.drain_ns,
        (unsigned long long)counts->cost.record_ps, (unsigned long long)counts->cost.collector_b);
    const char *comma = "";
    for (unsigned i = 0; i < MS_R_LIMIT; i++) {
        if (counts->kinds[i] != 0) {
            printf("%s\"%s\": %llu", comma, kind_name(i), (unsigned long long)counts->kinds[i]);
            comma = ", ";
        }
    }
    printf("}, \"devices\": {");
    comma = "";
    for (unsigned i = 0; i < DEVICES_MAX; i++) {
        if (counts->devices[i] != 0) {
            printf("%s\"%u\": %llu", comma, i, (unsigned long long)counts->devices[i]);
            comma = ", ";
        }
    }
    printf("}}");
}

/* The overhead of recording. Time in hooks is an estimate: number of events times the cost of one event, as measured by
 * the collector on that machine. */
static void print_cost(const struct counts *counts)
{
    const struct ms_event_recorder *cost = &counts->cost;
    char buffers[16], collector[16];
    if (cost->buffers_b == 0) {
        return;
    }
    ms_format_size(cost->buffers_b, buffers);
    ms_format_size(cost->collector_b, collector);
    printf("  overhead    ");
    if (cost->record_ps != 0) {
        printf("about %.3f ms in the program (%.1f ns per event%s), ",
               (double)counts->stats.events * (double)cost->record_ps / 1e9, (double)cost->record_ps / 1e3,
               counts->stacks != 0 ? ", call stacks not counted" : "");
    }
    printf("%.3f ms draining; buffers %s, collector %s\n", (double)cost->drain_ns / 1e6, buffers, collector);
}

/* A trace that ended before its process. */
static void print_cut(const struct counts *counts)
{
    if (counts->stats.ending != MS_ENDING_DISK && counts->stats.ending != MS_ENDING_LIMIT) {
        return;
    }
    char when[32] = "";
    struct tm tm;
    time_t second = (time_t)(counts->stats.end_ns / 1000000000);
    localtime_r(&second, &tm);
    strftime(when, sizeof(when), "%H:%M:%S", &tm);
    printf("  cut         %llu events since %s.%06llu are not in the trace\n",
           (unsigned long long)counts->stats.counted[MS_GAP_DISK], when,
           (unsigned long long)(counts->stats.end_ns / 1000 % 1000000));
}

static void print_text(const struct recording *recording, const struct counts *counts)
{
    const struct ms_process *process = recording->process;
    char size[16], when[32] = "";
    struct tm tm;
    time_t begin = (time_t)(process->start_ns / 1000000000);
    localtime_r(&begin, &tm);
    strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
    ms_format_size(counts->stats.bytes_total, size);
    printf("process %u  %s\n", process->pid, process->command[0] != '\0' ? process->command : process->exe);
    printf("  directory   %s\n  recorded    %s, %.3f s, on %s\n", recording->path, when,
           (double)(counts->last_ns - counts->first_ns) / 1e9, process->host);
    printf("  trace       %s in %u segment%s, %.1f B per event, %u thread stream%s; %s\n", size, counts->stats.segments,
           counts->stats.segments == 1 ? "" : "s",
           counts->stats.events > 0 ? (double)counts->stats.bytes_total / (double)counts->stats.events : 0.0,
           counts->stats.streams, counts->stats.streams == 1 ? "" : "s",
           counts->stats.ending < MS_COUNT_OF(endings) ? endings[counts->stats.ending] : "?");
    printf("  events      %llu", (unsigned long long)counts->stats.events);
    if (counts->shadow > 0) {
        printf(" (%llu while not tracing)", (unsigned long long)counts->shadow);
    }
    if (counts->begins_at > 0) {
        printf(", from number %llu on: older ones were not traced, or discarded (--ring)",
               (unsigned long long)counts->begins_at);
    }
    if (counts->jumps > 0) {
        printf(", without %llu part%s in which nothing was traced", (unsigned long long)counts->jumps,
               counts->jumps == 1 ? "" : "s");
    }
    putchar('\n');
    for (unsigned i = 0; i < MS_R_LIMIT; i++) {
        if (counts->kinds[i] != 0) {
            printf("    %-22s %llu\n", kind_name(i), (unsigned long long)counts->kinds[i]);
        }
    }
    for (unsigned i = 0; i < DEVICES_MAX; i++) {
        if (counts->devices[i] != 0) {
            printf("  device %-4u %llu events\n", i, (unsigned long long)counts->devices[i]);
        }
    }
    if (counts->stats.counted[MS_GAP_UNMATCHED] != 0) {
        printf("  device log  %llu tasks without a recorded launch (copies, events, or launched before recording)\n",
               (unsigned long long)counts->stats.counted[MS_GAP_UNMATCHED]);
    }
    print_cost(counts);
    print_cut(counts);
    if (counts->stats.gaps == 0 && counts->damages == 0) {
        puts("  gaps        none");
        return;
    }
    printf("  gaps        %llu, %llu events lost, %llu of them allocations and frees\n",
           (unsigned long long)counts->stats.gaps, (unsigned long long)counts->stats.lost,
           (unsigned long long)counts->lost_memory);
    for (unsigned i = 0; i < MS_GAP_CAUSES; i++) {
        if (counts->lost_by_cause[i] != 0) {
            printf("    %-22s %llu\n", ms_gap_cause_name(i), (unsigned long long)counts->lost_by_cause[i]);
        }
    }
}

struct show {
    bool json;
    int count, failures;
};

static int show_one(void *argument, const struct recording *recording)
{
    struct show *show = argument;
    static struct counts counts;
    memset(&counts, 0, sizeof(counts));
    int rc = read_trace(recording, &counts);
    if (rc != 0) {
        fprintf(stderr, "msmemscope: %s: %s\n", recording->path, strerror(-rc));
        show->failures++;
        return 0;
    }
    show->failures += counts.stats.damages > counts.stats.cuts;
    fputs(show->json ? (show->count > 0 ? ",\n " : "[") : (show->count > 0 ? "\n" : ""), stdout);
    show->count++;
    (show->json ? print_json : print_text)(recording, &counts);
    return 0;
}

int cmd_info(int argc, char **argv)
{
    struct show show = {0};
    const char *dir = NULL;
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            puts("usage: msmemscope info DIR [--json]\n\n"
                 "Shows the processes recorded in DIR: events by kind and device, gaps and losses, size of the trace.");
            return 0;
        }
        if (strcmp(argv[i], "--json") == 0) {
            show.json = true;
        } else if (argv[i][0] != '-' && dir == NULL) {
            dir = argv[i];
        } else {
            fprintf(stderr, "msmemscope info: unexpected '%s'; see msmemscope info --help\n", argv[i]);
            return 2;
        }
    }
    if (dir == NULL) {
        fputs("msmemscope info: no directory given; see msmemscope info --help\n", stderr);
        return 2;
    }
    bool all = recordings_each(dir, show_one, &show) >= 0;
    if (show.json) {
        fputs(show.count > 0 ? "]\n" : "[]\n", stdout);
    }
    return !all || show.failures > 0;
}
