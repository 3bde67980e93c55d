/* SPDX-License-Identifier: Apache-2.0 */
/* The store of series: a hash table over (metric, label values), and one list per metric.
 *
 * Invariants: a series is in exactly one chain and one list; live <= max_series, not counting the daemon's own series;
 * a metric has at most `limit` regular and limit / 4 + 1 merged series. Memory is O(live): a series and its key are one
 * allocation, and the table of chains is sized once. Used only by the event loop thread; no locks. Failure policy: out
 * of memory counts as refused. */
#include "monitor/store/series.h"

#include "base/clock.h"
#include "base/macros.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_MAX_SERIES 20000
#define KEY_MAX_B          ((size_t)MON_LABEL_COUNT * MON_LABEL_MAX_B)

#define L(name)            (1u << MON_LABEL_##name)
#define X(id, name, type, unit, group, labels, limit, help)                                                            \
    [MON_METRIC_##id] = {name, unit, help, MON_##type, MON_GROUP_##group, labels, limit},
const struct mon_metric_info mon_metric_info[MON_METRIC_COUNT] = {MON_METRIC_TABLE(X)};
#undef X
#define X(name, merges, help) {#name, help, merges},
const struct mon_label_info mon_label_info[MON_LABEL_COUNT] = {MON_LABEL_TABLE(X)};
#undef X
#define X(id, name, help) {name, help},
const struct mon_group_info mon_group_info[MON_METRIC_GROUPS] = {MON_METRIC_GROUP_TABLE(X)};
#undef X

static struct {
    struct mon_series **chain; /* NULL: not open */
    uint32_t chain_mask;
    size_t live, max_series, memory_b;
    uint64_t start_ns;
    char host[MON_LABEL_MAX_B];
    struct {
        struct mon_series *first, *last;
        size_t count, limit;
    } list[MON_METRIC_COUNT];
} store;

_Static_assert(MON_LABEL_COUNT <= 32, "labels of a metric are bits of a 32-bit word");

/* ---- histograms ---- */

double mon_histogram_bound(size_t bucket)
{
    return ldexp(1e-9, (int)(MON_HISTOGRAM_FIRST_LOG2 + MON_HISTOGRAM_STEP_LOG2 * bucket));
}

size_t mon_histogram_bucket_of_log2(unsigned log2_ns)
{
    if (log2_ns <= MON_HISTOGRAM_FIRST_LOG2) {
        return 0;
    }
    size_t bucket = (log2_ns - MON_HISTOGRAM_FIRST_LOG2 + MON_HISTOGRAM_STEP_LOG2 - 1) / MON_HISTOGRAM_STEP_LOG2;
    return bucket < MON_HISTOGRAM_BOUNDS ? bucket : MON_HISTOGRAM_BOUNDS;
}

void mon_histogram_observe(struct mon_histogram *h, double s)
{
    size_t bucket = 0;
    while (bucket < MON_HISTOGRAM_BOUNDS && s > mon_histogram_bound(bucket)) {
        bucket++;
    }
    h->bucket[bucket]++;
    h->count++;
    h->sum += s;
}

static void histogram_add(struct mon_histogram *h, const struct mon_histogram *more)
{
    h->count += more->count;
    h->sum += more->sum;
    for (size_t i = 0; i < MS_COUNT_OF(h->bucket); i++) {
        h->bucket[i] += more->bucket[i];
    }
}

/* ---- keys ---- */

/* Length of the UTF-8 character at s (NUL-terminated); 0 if it is invalid or a control character. */
static size_t character(const unsigned char *s)
{
    static const struct {
        unsigned char mask, lead;
        uint32_t least;
    } forms[] = {{0x80, 0x00, 0x20}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (size_t more = 0; more < MS_COUNT_OF(forms); more++) {
        if ((s[0] & forms[more].mask) != forms[more].lead) {
            continue;
        }
        uint32_t code = s[0] & (unsigned char)~forms[more].mask;
        for (size_t i = 1; i <= more; i++) {
            if ((s[i] & 0xc0) != 0x80) {
                return 0;
            }
            code = code << 6 | (s[i] & 0x3f);
        }
        bool good = code >= forms[more].least && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) &&
                    (code < 0x7f || code > 0x9f);
        return good ? more + 1 : 0;
    }
    return 0;
}

/* Copies a value, truncated and sanitised; returns its length. */
static size_t copy_value(char *out, const char *value)
{
    const unsigned char *s = (const unsigned char *)value;
    size_t used = 0;
    while (*s != '\0') {
        size_t length = character(s);
        if (used + (length > 0 ? length : 1) >= MON_LABEL_MAX_B) {
            break;
        }
        if (length == 0) {
            out[used++] = '?';
            s++;
        } else {
            memcpy(out + used, s, length);
            used += length;
            s += length;
        }
    }
    out[used] = '\0';
    return used;
}

static size_t make_key(enum mon_metric metric, const union mon_labels *labels, bool merged, char *key)
{
    size_t used = 0;
    for (unsigned i = 0; i < MON_LABEL_COUNT; i++) {
        if ((mon_metric_info[metric].labels & 1u << i) == 0) {
            continue;
        }
        const char *value = labels != NULL && labels->value[i] != NULL ? labels->value[i] : "";
        used += copy_value(key + used, merged && mon_label_info[i].merges ? "other" : value) + 1;
    }
    return used;
}

static uint32_t hash_key(enum mon_metric metric, const char *key, size_t key_b)
{
    uint32_t h = 2166136261u ^ (uint32_t)metric * 0x9e3779b1u; /* FNV-1a */
    for (size_t i = 0; i < key_b; i++) {
        h = (h ^ (unsigned char)key[i]) * 16777619u;
    }
    return h ^ h >> 15;
}

const char *mon_series_label(const struct mon_series *series, enum mon_label label)
{
    uint32_t mask = mon_metric_info[series->metric].labels;
    if ((mask & 1u << label) == 0) {
        return "";
    }
    const char *value = series->key;
    for (uint32_t before = mask & ((1u << label) - 1); before != 0; before &= before - 1) {
        value += strlen(value) + 1;
    }
    return value;
}

/* ---- the table ---- */

static struct mon_series *find(enum mon_metric metric, uint32_t hash, const char *key, size_t key_b)
{
    struct mon_series *s = store.chain[hash & store.chain_mask];
    while (s != NULL &&
           (s->hash != hash || s->metric != metric || s->key_b != key_b || memcmp(s->key, key, key_b) != 0)) {
        s = s->chain;
    }
    return s;
}

static struct mon_series *create(enum mon_metric metric, uint32_t hash, const char *key, size_t key_b)
{
    /* The daemon's own series must be able to report that the store is full; their limits bound them. */
    if (store.live >= store.max_series && mon_metric_info[metric].group != MON_GROUP_DAEMON) {
        return NULL;
    }
    bool has_histogram = mon_metric_info[metric].type == MON_HISTOGRAM;
    size_t body_b = MS_ROUND_UP(sizeof(struct mon_series) + key_b, _Alignof(struct mon_histogram));
    size_t size_b = body_b + (has_histogram ? sizeof(struct mon_histogram) : 0);
    struct mon_series *s = calloc(1, size_b);
    if (s == NULL) {
        return NULL;
    }
    s->metric = metric;
    s->hash = hash;
    s->key_b = (uint32_t)key_b;
    memcpy(s->key, key, key_b);
    s->histogram = has_histogram ? (struct mon_histogram *)((char *)s + body_b) : NULL;
    s->chain = store.chain[hash & store.chain_mask];
    store.chain[hash & store.chain_mask] = s;
    s->previous = store.list[metric].last;
    *(s->previous != NULL ? &s->previous->next : &store.list[metric].first) = s;
    store.list[metric].last = s;
    store.list[metric].count++;
    store.live++;
    store.memory_b += size_b;
    return s;
}

static void destroy(struct mon_series *s)
{
    struct mon_series **at = &store.chain[s->hash & store.chain_mask];
    while (*at != s) {
        at = &(*at)->chain;
    }
    *at = s->chain;
    *(s->previous != NULL ? &s->previous->next : &store.list[s->metric].first) = s->next;
    *(s->next != NULL ? &s->next->previous : &store.list[s->metric].last) = s->previous;
    store.list[s->metric].count--;
    store.live--;
    store.memory_b -= MS_ROUND_UP(sizeof(*s) + s->key_b, _Alignof(struct mon_histogram)) +
                      (s->histogram != NULL ? sizeof(struct mon_histogram) : 0);
    free(s);
}

/* The series for a value, created if the limits allow it; NULL: refused. */
static struct mon_series *series_for(enum mon_metric metric, const union mon_labels *labels)
{
    char key[KEY_MAX_B];
    const struct mon_metric_info *info = &mon_metric_info[metric];
    size_t key_b = make_key(metric, labels, false, key);
    uint32_t hash = hash_key(metric, key, key_b);
    struct mon_series *s = find(metric, hash, key, key_b);
    if (s == NULL && store.list[metric].count < store.list[metric].limit) {
        s = create(metric, hash, key, key_b);
    }
    if (s == NULL) {
        key_b = make_key(metric, labels, true, key);
        hash = hash_key(metric, key, key_b);
        s = find(metric, hash, key, key_b);
        if (s == NULL && store.list[metric].count <= store.list[metric].limit + store.list[metric].limit / 4) {
            s = create(metric, hash, key, key_b);
        }
        /* The limit of these two counters exceeds the number of metrics, so the recursion ends. */
        if (metric != MON_METRIC_SERIES_REFUSED && metric != MON_METRIC_SERIES_MERGED) {
            mon_metric_record(s == NULL ? MON_METRIC_SERIES_REFUSED : MON_METRIC_SERIES_MERGED,
                              MON_LABELS(.name = info->name), 1);
        }
    }
    if (s != NULL) {
        s->updated_ns = ms_clock_ns(CLOCK_MONOTONIC);
    }
    return s;
}

/* ---- interface ---- */

int mon_metrics_open(const char *host, size_t max_series)
{
    mon_metrics_close();
    store.max_series = max_series != 0 ? max_series : DEFAULT_MAX_SERIES;
    size_t chains = 64;
    while (chains < store.max_series) {
        chains *= 2;
    }
    store.chain = calloc(chains, sizeof(struct mon_series *));
    if (store.chain == NULL) {
        return -ENOMEM;
    }
    store.chain_mask = (uint32_t)chains - 1;
    store.memory_b = chains * sizeof(struct mon_series *);
    char name[256] = "";
    if (host == NULL) {
        gethostname(name, sizeof(name) - 1);
        host = name;
    }
    copy_value(store.host, host);
    store.start_ns = ms_clock_ns(CLOCK_REALTIME);
    for (unsigned i = 0; i < MON_METRIC_COUNT; i++) {
        const struct mon_metric_info *info = &mon_metric_info[i];
        store.list[i].limit = info->limit;
        if (info->type == MON_COUNTER && info->labels == 0 && info->group == MON_GROUP_DAEMON) {
            series_for((enum mon_metric)i, NULL);
        }
    }
    mon_metric_record(MON_METRIC_START_TIME, NULL, (double)store.start_ns / 1e9);
    return 0;
}

void mon_metrics_close(void)
{
    for (unsigned i = 0; i < MON_METRIC_COUNT; i++) {
        while (store.list[i].first != NULL) {
            destroy(store.list[i].first);
        }
    }
    free(store.chain);
    memset(&store, 0, sizeof(store));
}

void mon_metrics_set_limit(enum mon_metric metric, uint32_t limit)
{
    store.list[metric].limit = limit;
}

const char *mon_metrics_host(void)
{
    return store.host;
}

uint64_t mon_metrics_start_ns(void)
{
    return store.start_ns;
}

void mon_metric_record(enum mon_metric metric, const union mon_labels *labels, double value)
{
    if (store.chain == NULL || (unsigned)metric >= MON_METRIC_COUNT) {
        return;
    }
    enum mon_metric_type type = mon_metric_info[metric].type;
    /* NaN, infinity or a negative counter increment: the source is broken. */
    if (!isfinite(value) || (type != MON_GAUGE && value < 0)) {
        return;
    }
    struct mon_series *s = series_for(metric, labels);
    if (s == NULL) {
        return;
    }
    if (type == MON_HISTOGRAM) {
        mon_histogram_observe(s->histogram, value);
    } else {
        s->value = type == MON_COUNTER ? s->value + value : value;
    }
}

void mon_metric_total(enum mon_metric metric, const union mon_labels *labels, double total)
{
    if (store.chain == NULL || (unsigned)metric >= MON_METRIC_COUNT || mon_metric_info[metric].type != MON_COUNTER ||
        !isfinite(total) || total < 0) {
        return;
    }
    struct mon_series *s = series_for(metric, labels);
    if (s != NULL) {
        s->value = total;
    }
}

void mon_metric_merge(enum mon_metric metric, const union mon_labels *labels, const struct mon_histogram *more)
{
    if (store.chain == NULL || (unsigned)metric >= MON_METRIC_COUNT || mon_metric_info[metric].type != MON_HISTOGRAM ||
        !isfinite(more->sum) || more->sum < 0) {
        return;
    }
    struct mon_series *s = series_for(metric, labels);
    if (s != NULL) {
        histogram_add(s->histogram, more);
    }
}

const struct mon_series *mon_metrics_first(enum mon_metric metric)
{
    return store.list[metric].first;
}

double mon_metric_value(enum mon_metric metric, const union mon_labels *labels)
{
    char key[KEY_MAX_B];
    if (store.chain == NULL) {
        return 0;
    }
    size_t key_b = make_key(metric, labels, false, key);
    const struct mon_series *s = find(metric, hash_key(metric, key, key_b), key, key_b);
    if (s == NULL) {
        return 0;
    }
    return s->histogram != NULL ? (double)s->histogram->count : s->value;
}

size_t mon_metrics_series(void)
{
    return store.live;
}

size_t mon_metrics_memory_b(void)
{
    return store.memory_b;
}

uint64_t mon_metrics_mark(void)
{
    return ms_clock_ns(CLOCK_MONOTONIC);
}

void mon_metrics_sweep(enum mon_metric metric, uint64_t mark)
{
    for (struct mon_series *s = store.list[metric].first, *next; s != NULL; s = next) {
        next = s->next;
        if (s->updated_ns < mark) {
            destroy(s);
        }
    }
}

void mon_metrics_age(uint64_t older_than_ns)
{
    uint64_t now = ms_clock_ns(CLOCK_MONOTONIC);
    uint64_t mark = now > older_than_ns ? now - older_than_ns : 0;
    for (unsigned i = 0; i < MON_METRIC_COUNT; i++) {
        if ((mon_metric_info[i].labels & L(job)) != 0) {
            mon_metrics_sweep((enum mon_metric)i, mark);
        }
    }
}
