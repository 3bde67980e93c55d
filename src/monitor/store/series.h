/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's metrics: a bounded store of series. metric_table.h lists the metrics.
 *
 *     mon_metric_record(MON_METRIC_IPC_REFUSED, MON_LABELS(.reason = "short"), 1);
 *
 * A counter is increased by the value, a gauge is set to it, a histogram counts it (all histograms are times in
 * seconds). A series exists from its first value on; the daemon's own counters without labels exist from the start, as
 * 0.
 *
 * Bounds: the number of series is limited per metric and for the whole store. A value for a new series beyond the limit
 * of its metric is added to the series whose merging labels are "other" (a quarter of the limit is reserved for these),
 * so totals stay correct; if that is impossible too, the value is lost and counted as refused. Label values are
 * truncated to MON_LABEL_MAX_B - 1 bytes; bytes that are not printable UTF-8 become '?'.
 *
 * Used only by the event loop thread. No function blocks. */
#ifndef MON_STORE_SERIES_H
#define MON_STORE_SERIES_H

#include "monitor/store/metric_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mon_metric_type { MON_COUNTER, MON_GAUGE, MON_HISTOGRAM };

#define X(id, name, help) MON_GROUP_##id,
enum mon_metric_group { MON_METRIC_GROUP_TABLE(X) MON_METRIC_GROUPS };
#undef X

#define X(name, merges, help) MON_LABEL_##name,
enum mon_label { MON_LABEL_TABLE(X) MON_LABEL_COUNT };
#undef X

#define X(id, name, type, unit, group, labels, limit, help) MON_METRIC_##id,
enum mon_metric { MON_METRIC_TABLE(X) MON_METRIC_COUNT };
#undef X

#define MON_LABEL_MAX_B 128 /* of a label value, including the NUL */

struct mon_metric_info {
    const char *name, *unit, *help;
    enum mon_metric_type type;
    enum mon_metric_group group;
    uint32_t labels; /* one bit per enum mon_label */
    uint32_t limit;
};
struct mon_label_info {
    const char *name, *help;
    bool merges;
};
struct mon_group_info {
    const char *name, *help;
};
extern const struct mon_metric_info mon_metric_info[MON_METRIC_COUNT];
extern const struct mon_label_info mon_label_info[MON_LABEL_COUNT];
extern const struct mon_group_info mon_group_info[MON_METRIC_GROUPS];

/* Label values; NULL values and labels that the metric does not have are ignored. */
union mon_labels {
    struct {
#define X(name, merges, help) const char *name;
        MON_LABEL_TABLE(X)
#undef X
    };
    const char *value[MON_LABEL_COUNT];
};
#define MON_LABELS(...) (&(const union mon_labels){{__VA_ARGS__}})
#define MON_NO_LABELS   NULL

/* Bucket bounds are powers of four from 2^10 ns (1 us) to 2^32 ns (4.3 s); the last bucket has no upper bound. The
 * bounds are powers of two in nanoseconds, because processes report counts per power of two, which then map to one
 * bucket each. */
#define MON_HISTOGRAM_FIRST_LOG2 10
#define MON_HISTOGRAM_STEP_LOG2  2
#define MON_HISTOGRAM_BOUNDS     12
struct mon_histogram {
    uint64_t count;
    double sum;
    uint64_t bucket[MON_HISTOGRAM_BOUNDS + 1]; /* not cumulative */
};
double mon_histogram_bound(size_t bucket);             /* inclusive upper bound in seconds */
size_t mon_histogram_bucket_of_log2(unsigned log2_ns); /* for times in (2^(n-1), 2^n] ns */
void mon_histogram_observe(struct mon_histogram *h, double s);

struct mon_series {
    struct mon_series *next; /* next series of the same metric, in order of creation */
    /* Internal. */
    struct mon_series *previous, *chain;
    uint64_t updated_ns;
    uint32_t hash, key_b;
    /* Contents. */
    enum mon_metric metric;
    double value;                    /* counter or gauge */
    struct mon_histogram *histogram; /* NULL unless the metric is a histogram */
    char key[];                      /* values of the metric's labels in table order, each NUL-terminated */
};
/* Value of a label; "" if the metric does not have it. */
const char *mon_series_label(const struct mon_series *series, enum mon_label label);

/* There is one store per process. Before open and after close, recording has no effect. host: value of the label
 * `host`; NULL: the node's name. max_series: 0 for the default. 0 or -ENOMEM. */
int mon_metrics_open(const char *host, size_t max_series);
void mon_metrics_close(void);
/* Overrides the limit of the table until the store is closed. Existing series are kept. */
void mon_metrics_set_limit(enum mon_metric metric, uint32_t limit);
const char *mon_metrics_host(void);
uint64_t mon_metrics_start_ns(void); /* since the epoch: start of cumulative values */

void mon_metric_record(enum mon_metric metric, const union mon_labels *labels, double value);
/* Adds all values of a histogram to a series. */
void mon_metric_merge(enum mon_metric metric, const union mon_labels *labels, const struct mon_histogram *more);
/* Sets a counter whose total is maintained elsewhere (by the kernel). */
void mon_metric_total(enum mon_metric metric, const union mon_labels *labels, double total);

/* First series of a metric; follow ->next. Do not record during the iteration. */
const struct mon_series *mon_metrics_first(enum mon_metric metric);
/* The value of a counter or gauge, or the count of a histogram; 0 if the series does not exist. */
double mon_metric_value(enum mon_metric metric, const union mon_labels *labels);
size_t mon_metrics_series(void);   /* number of series */
size_t mon_metrics_memory_b(void); /* memory used by the store */

/* For collectors: mark = mon_metrics_mark(), record everything present, then sweep: series without a value since the
 * mark are removed. */
uint64_t mon_metrics_mark(void);
void mon_metrics_sweep(enum mon_metric metric, uint64_t mark);
/* Removes series with a job label that got no value for this long: their job has ended. */
void mon_metrics_age(uint64_t older_than_ns);

#endif
