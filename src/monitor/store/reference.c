/* SPDX-License-Identifier: Apache-2.0 */
/* Prints docs/reference/metrics.md from the metric table. */
#include "base/macros.h"
#include "monitor/store/series.h"

#include <stdio.h>

static const char *const types[] = {[MON_COUNTER] = "counter", [MON_GAUGE] = "gauge", [MON_HISTOGRAM] = "histogram"};

static void print_labels(uint32_t labels)
{
    for (unsigned i = 0, n = 0; i < MON_LABEL_COUNT; i++) {
        if ((labels & 1u << i) != 0) {
            printf("%s`%s`", n++ > 0 ? " " : "", mon_label_info[i].name);
        }
    }
}

int main(void)
{
    puts(
        "# Metrics of dynolog\n\n"
        "Generated from `src/monitor/store/metric_table.h` by `scripts/metrics-reference`; do not edit.\n\n"
        "Metrics are served to Prometheus (`--use_prometheus`, `GET /metrics`) and exported by OTLP (`--use_otlp`);\n"
        "`docs/guide/cluster.md` gives the number of series in a cluster. Every series has the label `host`. A scrape\n"
        "can select groups: `/metrics?collect[]=npu&collect[]=host`.\n\n"
        "A metric has at most `limit` series. Values for further series are added to a series in which the labels\n"
        "marked (m) below are `other`, so totals stay correct; `dynolog_series_merged_total` counts them, and\n"
        "`dynolog_series_refused_total` counts values that could not be stored at all. Series of a job are removed\n"
        "after `--metric_expire_s` without a value.\n");
    puts("## Labels\n\n| label | meaning |\n|---|---|\n| `host` | name of the node |");
    for (unsigned i = 0; i < MON_LABEL_COUNT; i++) {
        printf("| `%s`%s | %s |\n", mon_label_info[i].name, mon_label_info[i].merges ? " (m)" : "",
               mon_label_info[i].help);
    }
    for (unsigned group = 0; group < MON_METRIC_GROUPS; group++) {
        printf("\n## Group `%s`: %s\n\n| name | type | unit | labels | limit | meaning |\n|---|---|---|---|---|---|\n",
               mon_group_info[group].name, mon_group_info[group].help);
        for (unsigned i = 0; i < MON_METRIC_COUNT; i++) {
            const struct mon_metric_info *info = &mon_metric_info[i];
            if (info->group == group) {
                printf("| `%s` | %s | %s | ", info->name, types[info->type], info->unit);
                print_labels(info->labels);
                printf(" | %u | %s |\n", (unsigned)info->limit, info->help);
            }
        }
    }
    printf("\n## Histograms\n\nUpper bounds of the buckets in seconds:");
    for (size_t i = 0; i < MON_HISTOGRAM_BOUNDS; i++) {
        printf(" %.9g", mon_histogram_bound(i));
    }
    puts(", +Inf. They are powers of two in nanoseconds, so each of\n"
         "the finer buckets of `npuOpStats` messages (docs/format/opstats.md) falls into exactly one of them.");
    return 0;
}
