/* Metrics of the daemon: a bounded store of series, described by the one table in metric_table.h.
 *
 *     ms_metric_record(MS_METRIC_IPC_REFUSED, MS_LABELS(.reason = "short"), 1);
 *
 * A counter grows by the value, a gauge becomes it, a histogram counts it (all histograms are times in seconds).
 * A series exists from its first value on; the daemon's own counters without labels exist from the start, as 0.
 *
 * Bounds: each metric has a limit of series, the store has one over all. A value for a new series beyond its metric's
 * limit goes to the series whose merging labels say "other" (a quarter of the limit is kept for those), so totals stay
 * right; if there is no room for that either, it is counted as refused and lost. Label values are cut at
 * MS_LABEL_MAX_B - 1 bytes; what is not printable UTF-8 becomes '?'.
 *
 * Threads: one; the event loop's. Nothing here blocks. */
#ifndef MS_STORE_SERIES_H
#define MS_STORE_SERIES_H

#include "monitor/store/metric_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum ms_metric_type { MS_COUNTER, MS_GAUGE, MS_HISTOGRAM };

#define X(id, name, help) MS_GROUP_##id,
enum ms_metric_group { MS_METRIC_GROUP_TABLE(X) MS_METRIC_GROUPS };
#undef X

#define X(name, merges, help) MS_LABEL_##name,
enum ms_label { MS_LABEL_TABLE(X) MS_LABEL_COUNT };
#undef X

#define X(id, name, type, unit, group, labels, limit, help) MS_METRIC_##id,
enum ms_metric { MS_METRIC_TABLE(X) MS_METRIC_COUNT };
#undef X

#define MS_LABEL_MAX_B 128 /* of a value, with its end */

struct ms_metric_info {
    const char *name, *unit, *help;
    enum ms_metric_type type;
    enum ms_metric_group group;
    uint32_t labels; /* bit per enum ms_label */
    uint32_t limit;
};
struct ms_label_info {
    const char *name, *help;
    bool merges;
};
struct ms_group_info {
    const char *name, *help;
};
extern const struct ms_metric_info ms_metric_info[MS_METRIC_COUNT];
extern const struct ms_label_info ms_label_info[MS_LABEL_COUNT];
extern const struct ms_group_info ms_group_info[MS_METRIC_GROUPS];

/* Values of labels; NULL and what the metric does not have are left out. */
union ms_labels {
    struct {
#define X(name, merges, help) const char *name;
        MS_LABEL_TABLE(X)
#undef X
    };
    const char *value[MS_LABEL_COUNT];
};
#define MS_LABELS(...) (&(const union ms_labels){{__VA_ARGS__}})
#define MS_NO_LABELS   NULL

/* Buckets end at powers of four from 2^10 ns (1 us) to 2^32 ns (4.3 s); the last one takes the rest. Powers of two
 * nanoseconds, because what processes report is counted by powers of two and folds into these without guessing. */
#define MS_HISTOGRAM_FIRST_LOG2 10
#define MS_HISTOGRAM_STEP_LOG2  2
#define MS_HISTOGRAM_BOUNDS     12
struct ms_histogram {
    uint64_t count;
    double sum;
    uint64_t bucket[MS_HISTOGRAM_BOUNDS + 1]; /* not cumulative */
};
double ms_histogram_bound(size_t bucket);             /* upper end in seconds, itself included */
size_t ms_histogram_bucket_of_log2(unsigned log2_ns); /* for times in (2^(n-1), 2^n] ns */
void ms_histogram_observe(struct ms_histogram *h, double s);

struct ms_series {
    struct ms_series *next; /* of the same metric, in the order of creation */
    /* Internal. */
    struct ms_series *previous, *chain;
    uint64_t updated_ns;
    uint32_t hash, key_b;
    /* What it says. */
    enum ms_metric metric;
    double value;                    /* counter, gauge */
    struct ms_histogram *histogram; /* histogram */
    char key[];                      /* values of the metric's labels in the order of the table, each ended by NUL */
};
/* Value of a label of the series; "" where it has none. */
const char *ms_series_label(const struct ms_series *series, enum ms_label label);

/* The store is the process's own: counters are recorded from everywhere. Before open and after close, recording does
 * nothing. host: for the label of that name, NULL for the node's own name. max_series 0: the default. 0 or -ENOMEM. */
int ms_metrics_open(const char *host, size_t max_series);
void ms_metrics_close(void);
/* Another limit than the table's, until the store is closed. What exists stays. */
void ms_metrics_set_limit(enum ms_metric metric, uint32_t limit);
const char *ms_metrics_host(void);
uint64_t ms_metrics_start_ns(void); /* since the epoch: where cumulative values begin */

void ms_metric_record(enum ms_metric metric, const union ms_labels *labels, double value);
/* Adds a histogram, with as many values as it holds, to a series. */
void ms_metric_merge(enum ms_metric metric, const union ms_labels *labels, const struct ms_histogram *more);
/* A counter whose total somebody else keeps (the kernel): the series becomes it. */
void ms_metric_total(enum ms_metric metric, const union ms_labels *labels, double total);

/* First series of a metric, then ->next. Nothing may be recorded in between. */
const struct ms_series *ms_metrics_first(enum ms_metric metric);
/* The value of a counter or gauge, the count of a histogram; 0 if there is no such series. */
double ms_metric_value(enum ms_metric metric, const union ms_labels *labels);
size_t ms_metrics_series(void);   /* how many there are */
size_t ms_metrics_memory_b(void); /* what they take */

/* For collectors: mark = ms_metrics_mark(), record what is there, then sweep what was not recorded since the mark. */
uint64_t ms_metrics_mark(void);
void ms_metrics_sweep(enum ms_metric metric, uint64_t mark);
/* Removes the series that carry a job and got no value for so long: their job has ended. */
void ms_metrics_age(uint64_t older_than_ns);

#endif
