/* SPDX-License-Identifier: Apache-2.0 */
/* Processor time and memory of registered processes.
 *
 * Used only by the event loop thread. Reads one small file per process and round, about 15 us; callers with many
 * processes split the round. Failure policy: a process that cannot be read has ended or is hidden from us, and is
 * skipped. */
#include "monitor/metrics/process.h"

#include "base/macros.h"
#include "base/map.h"
#include "monitor/metrics/kernel_file.h"
#include "monitor/store/record.h"
#include "monitor/store/series.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Fields of /proc/PID/stat, numbered from 1 as in proc(5). */
enum { STATE = 3, PARENT = 4, UTIME = 14, STIME = 15, THREADS = 20, START = 22, VIRTUAL = 23, RESIDENT = 24 };

struct status {
    uint64_t parent, cpu_ticks, threads, start_ticks, virtual_b, resident_pages;
};

/* The program name may contain anything, including parentheses and blanks: fields are counted from the last ')'. */
static bool parse_stat(const char *text, struct status *out)
{
    const char *at = strrchr(text, ')');
    if (at == NULL) {
        return false;
    }
    uint64_t field[RESIDENT + 1] = {0};
    at++;
    at += strspn(at, " ");
    at += strcspn(at, " "); /* STATE is a letter */
    for (unsigned i = STATE + 1; i <= RESIDENT; i++) {
        at += strspn(at, " ");
        at += *at == '-'; /* tpgid, priority and nice may be negative; they are not used here */
        if (!mon_kernel_number(&at, &field[i])) {
            return false;
        }
    }
    *out = (struct status){.parent = field[PARENT],
                           .cpu_ticks = field[UTIME] + field[STIME],
                           .threads = field[THREADS],
                           .start_ticks = field[START],
                           .virtual_b = field[VIRTUAL],
                           .resident_pages = field[RESIDENT]};
    return true;
}

void mon_rank_text(int32_t rank, char out[16])
{
    out[0] = '\0';
    if (rank != INT32_MIN) {
        snprintf(out, 16, "%" PRId32, rank);
    }
}

static void report(const struct mon_process_target *target, const struct status *status)
{
    char job[24], rank[16], pid[16];
    double tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
    double page_b = (double)sysconf(_SC_PAGESIZE);
    snprintf(job, sizeof(job), "%" PRId64, target->job);
    snprintf(pid, sizeof(pid), "%" PRId32, target->pid);
    mon_rank_text(target->rank, rank);
    const union mon_labels *labels = MON_LABELS(.job = job, .rank = rank, .pid = pid);
    const struct {
        enum mon_metric metric;
        double value;
    } gauges[] = {{MON_METRIC_PROCESS_RESIDENT, (double)status->resident_pages * page_b},
                  {MON_METRIC_PROCESS_VIRTUAL, (double)status->virtual_b},
                  {MON_METRIC_PROCESS_THREADS, (double)status->threads}};
    struct mon_record record = {.source = MON_RECORD_PROCESS};
    double before_s = mon_metric_value(MON_METRIC_PROCESS_CPU, labels);
    double cpu_s = (double)status->cpu_ticks * tick_s;
    mon_metric_total(MON_METRIC_PROCESS_CPU, labels, cpu_s);
    mon_record_int(&record, "job_id", target->job);
    mon_record_int(&record, "pid", target->pid);
    if (target->rank != INT32_MIN) {
        mon_record_int(&record, "rank", target->rank);
    }
    mon_record_uint(&record, "process_cpu_ms",
                    before_s > 0 && cpu_s > before_s ? (uint64_t)((cpu_s - before_s) * 1e3) : 0);
    mon_record_uint(&record, "process_resident_bytes", (uint64_t)gauges[0].value);
    mon_record_uint(&record, "process_virtual_bytes", (uint64_t)gauges[1].value);
    mon_record_uint(&record, "process_threads", status->threads);
    for (size_t i = 0; i < MS_COUNT_OF(gauges); i++) {
        mon_metric_record(gauges[i].metric, labels, gauges[i].value);
    }
    mon_record_emit(&record);
    mon_record_free(&record);
}

static bool read_stat(const char *root, int32_t pid, struct ms_buffer *text, struct status *out)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%" PRId32 "/stat", pid);
    return pid > 0 && mon_kernel_file(root, path, text) == 0 && parse_stat(text->s, out);
}

static bool same_command(const char *root, int32_t one, int32_t other)
{
    char path[32];
    struct ms_buffer texts[2] = {{0}, {0}};
    snprintf(path, sizeof(path), "/proc/%" PRId32 "/cmdline", one);
    int rc = mon_kernel_file(root, path, &texts[0]);
    snprintf(path, sizeof(path), "/proc/%" PRId32 "/cmdline", other);
    rc = rc != 0 ? rc : mon_kernel_file(root, path, &texts[1]);
    bool same = rc == 0 && texts[0].used != 0 && texts[0].used == texts[1].used &&
                memcmp(texts[0].s, texts[1].s, texts[0].used) == 0;
    ms_buffer_free(&texts[0]);
    ms_buffer_free(&texts[1]);
    return same;
}

size_t mon_process_add_parents(const char *root, struct mon_process_target *targets, size_t count, size_t room)
{
    struct ms_buffer text = {0};
    struct ms_map children = {0}; /* pid -> number of helpers it is the parent of; a target counts as two */
    size_t with_parents = count;
    for (size_t i = 0; i < count; i++) {
        uint64_t *own = ms_map_at(&children, (uint64_t)targets[i].pid, 0, NULL);
        struct status status;
        if (own != NULL) {
            *own += 2;
        }
        if (targets[i].helper && read_stat(root, targets[i].pid, &text, &status)) {
            uint64_t *n = ms_map_at(&children, status.parent, 0, NULL);
            if (n != NULL) {
                ++*n;
            }
        }
    }
    for (size_t i = 0; i < count && with_parents < room; i++) {
        struct status status, parent;
        if (!targets[i].helper || !read_stat(root, targets[i].pid, &text, &status)) {
            continue;
        }
        const uint64_t *n = ms_map_get(&children, status.parent);
        int32_t pid = (int32_t)status.parent;
        if (n != NULL && *n == 1 && pid > 1 && same_command(root, targets[i].pid, pid) &&
            read_stat(root, pid, &text, &parent)) {
            targets[with_parents++] = (struct mon_process_target){
                .pid = pid, .start_ticks = parent.start_ticks, .job = targets[i].job, .rank = targets[i].rank};
        }
    }
    ms_map_free(&children);
    ms_buffer_free(&text);
    return with_parents;
}

size_t mon_process_sample(const char *root, const struct mon_process_target *targets, size_t count)
{
    struct ms_buffer text = {0};
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        struct status status;
        if (read_stat(root, targets[i].pid, &text, &status) &&
            (targets[i].start_ticks == 0 || targets[i].start_ticks == status.start_ticks)) {
            report(&targets[i], &status);
            found++;
        }
    }
    ms_buffer_free(&text);
    return found;
}

void mon_process_sweep(uint64_t mark)
{
    mon_metrics_sweep(MON_METRIC_PROCESS_CPU, mark);
    mon_metrics_sweep(MON_METRIC_PROCESS_RESIDENT, mark);
    mon_metrics_sweep(MON_METRIC_PROCESS_VIRTUAL, mark);
    mon_metrics_sweep(MON_METRIC_PROCESS_THREADS, mark);
}
