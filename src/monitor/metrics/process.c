/* Processor time and memory of registered processes.
 *
 * Threads: the event loop's. One small file per process and round: 16 ranks cost some 200 us. Failure: a process that
 * cannot be read has ended, or is hidden from us; it is left out. */
#include "monitor/metrics/process.h"

#include "base/macros.h"
#include "monitor/metrics/kernel_file.h"
#include "monitor/metrics/record.h"
#include "monitor/metrics/series.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Fields of /proc/PID/stat, counted from 1 as proc(5) does. */
enum { STATE = 3, UTIME = 14, STIME = 15, THREADS = 20, START = 22, VIRTUAL = 23, RESIDENT = 24 };

struct status {
    uint64_t cpu_ticks, threads, start_ticks, virtual_b, resident_pages;
};

/* The name of the program may contain anything, also brackets and blanks: fields count from the last bracket. */
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
        at += *at == '-'; /* tpgid, priority and nice may be negative; nothing of ours */
        if (!ms_kernel_number(&at, &field[i])) {
            return false;
        }
    }
    *out = (struct status){.cpu_ticks = field[UTIME] + field[STIME],
                           .threads = field[THREADS],
                           .start_ticks = field[START],
                           .virtual_b = field[VIRTUAL],
                           .resident_pages = field[RESIDENT]};
    return true;
}

void ms_rank_text(int32_t rank, char out[16])
{
    out[0] = '\0';
    if (rank != INT32_MIN) {
        snprintf(out, 16, "%" PRId32, rank);
    }
}

static void report(const struct ms_process_target *target, const struct status *status)
{
    char job[24], rank[16], pid[16];
    double tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
    double page_b = (double)sysconf(_SC_PAGESIZE);
    snprintf(job, sizeof(job), "%" PRId64, target->job);
    snprintf(pid, sizeof(pid), "%" PRId32, target->pid);
    ms_rank_text(target->rank, rank);
    const union ms_labels *labels = MS_LABELS(.job = job, .rank = rank, .pid = pid);
    const struct {
        enum ms_metric metric;
        double value;
    } gauges[] = {{MS_METRIC_PROCESS_RESIDENT, (double)status->resident_pages * page_b},
                  {MS_METRIC_PROCESS_VIRTUAL, (double)status->virtual_b},
                  {MS_METRIC_PROCESS_THREADS, (double)status->threads}};
    struct ms_record record = {.source = MS_RECORD_PROCESS};
    double before_s = ms_metric_value(MS_METRIC_PROCESS_CPU, labels);
    double cpu_s = (double)status->cpu_ticks * tick_s;
    ms_metric_total(MS_METRIC_PROCESS_CPU, labels, cpu_s);
    ms_record_int(&record, "job_id", target->job);
    ms_record_int(&record, "pid", target->pid);
    if (target->rank != INT32_MIN) {
        ms_record_int(&record, "rank", target->rank);
    }
    ms_record_uint(&record, "process_cpu_ms",
                   before_s > 0 && cpu_s > before_s ? (uint64_t)((cpu_s - before_s) * 1e3) : 0);
    ms_record_uint(&record, "process_resident_bytes", (uint64_t)gauges[0].value);
    ms_record_uint(&record, "process_virtual_bytes", (uint64_t)gauges[1].value);
    ms_record_uint(&record, "process_threads", status->threads);
    for (size_t i = 0; i < MS_COUNT_OF(gauges); i++) {
        ms_metric_record(gauges[i].metric, labels, gauges[i].value);
    }
    ms_record_emit(&record);
    ms_record_free(&record);
}

size_t ms_process_sample(const char *root, const struct ms_process_target *targets, size_t count)
{
    struct ms_buffer text = {0};
    uint64_t mark = ms_metrics_mark();
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        char path[32];
        struct status status;
        snprintf(path, sizeof(path), "/proc/%" PRId32 "/stat", targets[i].pid);
        if (targets[i].pid > 0 && ms_kernel_file(root, path, &text) == 0 && parse_stat(text.s, &status) &&
            (targets[i].start_ticks == 0 || targets[i].start_ticks == status.start_ticks)) {
            report(&targets[i], &status);
            found++;
        }
    }
    ms_buffer_free(&text);
    ms_metrics_sweep(MS_METRIC_PROCESS_CPU, mark);
    ms_metrics_sweep(MS_METRIC_PROCESS_RESIDENT, mark);
    ms_metrics_sweep(MS_METRIC_PROCESS_VIRTUAL, mark);
    ms_metrics_sweep(MS_METRIC_PROCESS_THREADS, mark);
    return found;
}
