/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics of the daemon: a bounded store of series, described by the one table in metric_table.h.
 *
 *     mon_metric_record(MON_METRIC_IPC_REFUSED, MON_LABELS(.reason = "short"), 1);
 *
 * A counter grows by the value, a gauge becomes it, a histogram counts it (all histograms are times in seconds).
 * A series exists from its first value on; the daemon's own counters without labels exist from the start, as 0.
 *
 * Bounds: each metric has a limit of series, the store has one over all. A value for a new series beyond its metric's
 * limit goes to the series whose merging labels say "other" (a quarter of the limit is kept for those), so totals stay
 * right; if there is no room for that either, it is counted as refused and lost. Label values are cut at
 * MON_LABEL_MAX_B - 1 bytes; what is not printable UTF-8 becomes '?'.
 *
 * Threads: one; the event loop's. Nothing here blocks. */
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

#define MON_LABEL_MAX_B 128 /* of a value, with its end */

struct mon_metric_info {
    const char *name, *unit, *help;
    enum mon_metric_type type;
    enum mon_metric_group group;
    uint32_t labels; /* bit per enum mon_label */
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

/* Values of labels; NULL and what the metric does not have are left out. */
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

/* Buckets end at powers of four from 2^10 ns (1 us) to 2^32 ns (4.3 s); the last one takes the rest. Powers of two
 * nanoseconds, because what processes report is counted by powers of two and folds into these without guessing. */
#define MON_HISTOGRAM_FIRST_LOG2 10
#define MON_HISTOGRAM_STEP_LOG2  2
#define MON_HISTOGRAM_BOUNDS     12
struct mon_histogram {
    uint64_t count;
    double sum;
    uint64_t bucket[MON_HISTOGRAM_BOUNDS + 1]; /* not cumulative */
};
double mon_histogram_bound(size_t bucket);             /* upper end in seconds, itself included */
size_t mon_histogram_bucket_of_log2(unsigned log2_ns); /* for times in (2^(n-1), 2^n] ns */
void mon_histogram_observe(struct mon_histogram *h, double s);

struct mon_series {
    struct mon_series *next; /* of the same metric, in the order of creation */
    /* Internal. */
    struct mon_series *previous, *chain;
    uint64_t updated_ns;
    uint32_t hash, key_b;
    /* What it says. */
    enum mon_metric metric;
    double value;                    /* counter, gauge */
    struct mon_histogram *histogram; /* histogram */
    char key[];                      /* values of the metric's labels in the order of the table, each ended by NUL */
};
/* Value of a label of the series; "" where it has none. */
const char *mon_series_label(const struct mon_series *series, enum mon_label label);

/* The store is the process's own: counters are recorded from everywhere. Before open and after close, recording does
 * nothing. host: for the label of that name, NULL for the node's own name. max_series 0: the default. 0 or -ENOMEM. */
int mon_metrics_open(const char *host, size_t max_series);
void mon_metrics_close(void);
/* Another limit than the table's, until the store is closed. What exists stays. */
void mon_metrics_set_limit(enum mon_metric metric, uint32_t limit);
const char *mon_metrics_host(void);
uint64_t mon_metrics_start_ns(void); /* since the epoch: where cumulative values begin */

void mon_metric_record(enum mon_metric metric, const union mon_labels *labels, double value);
/* Adds a histogram, with as many values as it holds, to a series. */
void mon_metric_merge(enum mon_metric metric, const union mon_labels *labels, const struct mon_histogram *more);
/* A counter whose total somebody else keeps (the kernel): the series becomes it. */
void mon_metric_total(enum mon_metric metric, const union mon_labels *labels, double total);

/* First series of a metric, then ->next. Nothing may be recorded in between. */
const struct mon_series *mon_metrics_first(enum mon_metric metric);
/* The value of a counter or gauge, the count of a histogram; 0 if there is no such series. */
double mon_metric_value(enum mon_metric metric, const union mon_labels *labels);
size_t mon_metrics_series(void);   /* how many there are */
size_t mon_metrics_memory_b(void); /* what they take */

/* For collectors: mark = mon_metrics_mark(), record what is there, then sweep what was not recorded since the mark. */
uint64_t mon_metrics_mark(void);
void mon_metrics_sweep(enum mon_metric metric, uint64_t mark);
/* Removes the series that carry a job and got no value for so long: their job has ended. */
void mon_metrics_age(uint64_t older_than_ns);

#endif
