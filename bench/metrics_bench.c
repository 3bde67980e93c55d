/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's metrics: the cost of a value, of a report of a training process, of a Prometheus page and of an OTLP
 * request, and the memory of a full store. */
#include "base/macros.h"
#include "bench.h"
#include "monitor/metrics/npu.h"
#include "monitor/metrics/otlp_json.h"
#include "monitor/metrics/text_format.h"
#include "monitor/store/series.h"
#include "monitor/wire/opstats.h"

#include <stdlib.h>
#include <string.h>

#define VALUES    100000
#define REPORTS   10000
#define MESSAGES  1000
#define OPERATORS 32
#define SERIES    20000
#define REPEATS   5

static struct ms_buffer page;
static char *copy;
static size_t sent_b;

static void count_plain(void *argument)
{
    for (int i = 0; i < VALUES; i++) {
        mon_metric_record(MON_METRIC_RPC_ACCEPTED, MON_NO_LABELS, 1);
    }
}

static void count_labelled(void *argument)
{
    const union mon_labels *labels = MON_LABELS(.job = "123456", .rank = "1023", .device = "7", .kind = "Kernel");
    for (int i = 0; i < VALUES; i++) {
        mon_metric_record(MON_METRIC_ACTIVITY_TIME, labels, 1);
    }
}

static void take_reports(void *argument)
{
    static const char text[] =
        "{\"deviceId\":0,\"duration\":81234567,\"kind\":\"Kernel\",\"timestamp\":1735689600000000000}";
    const struct mon_npu_source source = {.job = 123456, .rank = 5};
    for (int i = 0; i < REPORTS; i++) {
        mon_npu_data(&source, text, sizeof(text) - 1);
    }
}

static size_t make_message(unsigned char *out, size_t out_b)
{
    struct mon_opstats_head head = {.device = 1, .kind = "Kernel"};
    struct mon_opstats_writer writer;
    mon_opstats_begin(&writer, out, out_b, &head);
    for (unsigned i = 0; i < OPERATORS; i++) {
        char name[32];
        uint32_t counts[MON_OPSTATS_BUCKETS] = {0};
        snprintf(name, sizeof(name), "aclnnOperator%u_Kernel", i);
        for (unsigned k = 0; k < 8; k++) {
            counts[mon_opstats_bucket_of(1000u << k)] = 1;
        }
        struct mon_opstats_operator op = {
            .name = name, .name_b = strlen(name), .count = 8, .sum_ns = 255000, .min_ns = 1000, .max_ns = 128000};
        mon_opstats_add(&writer, &op, counts);
    }
    return mon_opstats_end(&writer);
}

static void take_operators(void *argument)
{
    static unsigned char message[8192];
    static size_t size_b;
    size_b = size_b != 0 ? size_b : make_message(message, sizeof(message));
    const struct mon_npu_source source = {.job = 123456, .rank = 5};
    for (int i = 0; i < MESSAGES; i++) {
        mon_npu_opstats(&source, message, size_b);
    }
}

static void make_page(void *argument)
{
    page.used = 0;
    mon_text_format(MON_ALL_GROUPS, &page);
}

static void copy_page(void *argument)
{
    memcpy(copy, page.s, page.used);
}

static void drop_request(void *context, struct ms_buffer *request)
{
    sent_b += request->used;
}

static void make_requests(void *argument)
{
    const struct mon_otlp_source source = {"dynolog", "1", 1};
    sent_b = 0;
    mon_otlp_json(&source, drop_request, NULL);
}

int main(void)
{
    if (mon_metrics_open("node00001", SERIES) != 0) {
        return 1;
    }
    double plain_ns = bench_best_ns(count_plain, NULL, REPEATS) / VALUES;
    double labelled_ns = bench_best_ns(count_labelled, NULL, REPEATS) / VALUES;
    bench_figure("metrics: count without labels", plain_ns, "ns", NULL, 0, NULL);
    bench_figure("metrics: count with four labels", labelled_ns, "ns", "without labels", labelled_ns / plain_ns, NULL);
    bench_figure("metrics: report of a process (JSON)", bench_best_ns(take_reports, NULL, REPEATS) / REPORTS, "ns",
                 NULL, 0, NULL);
    bench_figure("metrics: operator of a report", bench_best_ns(take_operators, NULL, REPEATS) / MESSAGES / OPERATORS,
                 "ns", NULL, 0, NULL);
    for (int i = 0; mon_metrics_series() < SERIES && i < 2 * SERIES; i++) {
        char pid[16], rank[16];
        snprintf(pid, sizeof(pid), "%d", i % 4000);
        snprintf(rank, sizeof(rank), "%d", i / 4000);
        static const enum mon_metric spread[] = {MON_METRIC_PROCESS_CPU, MON_METRIC_PROCESS_RESIDENT,
                                                 MON_METRIC_PROCESS_VIRTUAL, MON_METRIC_PROCESS_THREADS,
                                                 MON_METRIC_NPU_PROCESS_MEMORY};
        mon_metric_record(spread[i / 4000 % MS_COUNT_OF(spread)], MON_LABELS(.job = "123456", .rank = rank, .pid = pid),
                          i + 0.25);
    }
    double series = (double)mon_metrics_series();
    double page_ns = bench_best_ns(make_page, NULL, REPEATS);
    copy = malloc(page.used);
    if (copy == NULL) {
        return 1;
    }
    double copy_ns = bench_best_ns(copy_page, NULL, REPEATS);
    bench_figure("metrics: page of a full store, per series", page_ns / series, "ns", "copy of the page",
                 page_ns / copy_ns, NULL);
    double otlp_ns = bench_best_ns(make_requests, NULL, REPEATS);
    bench_figure("metrics: OTLP of a full store, per series", otlp_ns / series, "ns", "page", otlp_ns / page_ns, NULL);
    bench_figure("metrics: memory of a full store", (double)mon_metrics_memory_b() / 1048576, "MiB", NULL, 0, "20 MiB");
    mon_metrics_close();
    return 0;
}
