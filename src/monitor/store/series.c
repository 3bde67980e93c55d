/* The store of series: a hash table over (metric, label values), and one list per metric.
 *
 * Invariants: a series is in exactly one chain and one list; live <= max_series but for the daemon's own; a metric
 * holds at most `limit` series of its own and limit / 4 + 1 merged ones. Memory is O(live): a series and its key are
 * one allocation, the table of chains is sized once. Threads: the event loop's alone, no locks. Failure: out of memory
 * counts as refused. */
#include "monitor/store/series.h"

#include "base/clock.h"
#include "base/macros.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEFAULT_MAX_SERIES 20000
#define KEY_MAX_B          ((size_t)MS_LABEL_COUNT * MS_LABEL_MAX_B)

#define L(name)            (1u << MS_LABEL_##name)
#define X(id, name, type, unit, group, labels, limit, help)                                                            \
    [MS_METRIC_##id] = {name, unit, help, MS_##type, MS_GROUP_##group, labels, limit},
const struct ms_metric_info ms_metric_info[MS_METRIC_COUNT] = {MS_METRIC_TABLE(X)};
#undef X
#define X(name, merges, help) {#name, help, merges},
const struct ms_label_info ms_label_info[MS_LABEL_COUNT] = {MS_LABEL_TABLE(X)};
#undef X
#define X(id, name, help) {name, help},
const struct ms_group_info ms_group_info[MS_METRIC_GROUPS] = {MS_METRIC_GROUP_TABLE(X)};
#undef X

static struct {
    struct ms_series **chain; /* NULL: not open */
    uint32_t chain_mask;
    size_t live, max_series, memory_b;
    uint64_t start_ns;
    char host[MS_LABEL_MAX_B];
    struct {
        struct ms_series *first, *last;
        size_t count, limit;
    } list[MS_METRIC_COUNT];
} store;

_Static_assert(MS_LABEL_COUNT <= 32, "labels of a metric are bits of a 32-bit word");

/* ---- histograms ---- */

double ms_histogram_bound(size_t bucket)
{
    return ldexp(1e-9, (int)(MS_HISTOGRAM_FIRST_LOG2 + MS_HISTOGRAM_STEP_LOG2 * bucket));
}

size_t ms_histogram_bucket_of_log2(unsigned log2_ns)
{
    if (log2_ns <= MS_HISTOGRAM_FIRST_LOG2) {
        return 0;
    }
    size_t bucket = (log2_ns - MS_HISTOGRAM_FIRST_LOG2 + MS_HISTOGRAM_STEP_LOG2 - 1) / MS_HISTOGRAM_STEP_LOG2;
    return bucket < MS_HISTOGRAM_BOUNDS ? bucket : MS_HISTOGRAM_BOUNDS;
}

void ms_histogram_observe(struct ms_histogram *h, double s)
{
    size_t bucket = 0;
    while (bucket < MS_HISTOGRAM_BOUNDS && s > ms_histogram_bound(bucket)) {
        bucket++;
    }
    h->bucket[bucket]++;
    h->count++;
    h->sum += s;
}

static void histogram_add(struct ms_histogram *h, const struct ms_histogram *more)
{
    h->count += more->count;
    h->sum += more->sum;
    for (size_t i = 0; i < MS_COUNT_OF(h->bucket); i++) {
        h->bucket[i] += more->bucket[i];
    }
}

/* ---- keys ---- */

/* Length of the UTF-8 character at s (which ends with NUL), 0 if it is none, or a control character. */
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

/* Copies a value, cut and cleaned; returns its length. */
static size_t copy_value(char *out, const char *value)
{
    const unsigned char *s = (const unsigned char *)value;
    size_t used = 0;
    while (*s != '\0') {
        size_t length = character(s);
        if (used + (length > 0 ? length : 1) >= MS_LABEL_MAX_B) {
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

static size_t make_key(enum ms_metric metric, const union ms_labels *labels, bool merged, char *key)
{
    size_t used = 0;
    for (unsigned i = 0; i < MS_LABEL_COUNT; i++) {
        if ((ms_metric_info[metric].labels & 1u << i) == 0) {
            continue;
        }
        const char *value = labels != NULL && labels->value[i] != NULL ? labels->value[i] : "";
        used += copy_value(key + used, merged && ms_label_info[i].merges ? "other" : value) + 1;
    }
    return used;
}

static uint32_t hash_key(enum ms_metric metric, const char *key, size_t key_b)
{
    uint32_t h = 2166136261u ^ (uint32_t)metric * 0x9e3779b1u; /* FNV-1a */
    for (size_t i = 0; i < key_b; i++) {
        h = (h ^ (unsigned char)key[i]) * 16777619u;
    }
    return h ^ h >> 15;
}

const char *ms_series_label(const struct ms_series *series, enum ms_label label)
{
    uint32_t mask = ms_metric_info[series->metric].labels;
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

static struct ms_series *find(enum ms_metric metric, uint32_t hash, const char *key, size_t key_b)
{
    struct ms_series *s = store.chain[hash & store.chain_mask];
    while (s != NULL &&
           (s->hash != hash || s->metric != metric || s->key_b != key_b || memcmp(s->key, key, key_b) != 0)) {
        s = s->chain;
    }
    return s;
}

static struct ms_series *create(enum ms_metric metric, uint32_t hash, const char *key, size_t key_b)
{
    /* The daemon's own must be able to tell that the store is full; their limits bound them. */
    if (store.live >= store.max_series && ms_metric_info[metric].group != MS_GROUP_DAEMON) {
        return NULL;
    }
    bool has_histogram = ms_metric_info[metric].type == MS_HISTOGRAM;
    size_t body_b = MS_ROUND_UP(sizeof(struct ms_series) + key_b, _Alignof(struct ms_histogram));
    size_t size_b = body_b + (has_histogram ? sizeof(struct ms_histogram) : 0);
    struct ms_series *s = calloc(1, size_b);
    if (s == NULL) {
        return NULL;
    }
    s->metric = metric;
    s->hash = hash;
    s->key_b = (uint32_t)key_b;
    memcpy(s->key, key, key_b);
    s->histogram = has_histogram ? (struct ms_histogram *)((char *)s + body_b) : NULL;
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

static void destroy(struct ms_series *s)
{
    struct ms_series **at = &store.chain[s->hash & store.chain_mask];
    while (*at != s) {
        at = &(*at)->chain;
    }
    *at = s->chain;
    *(s->previous != NULL ? &s->previous->next : &store.list[s->metric].first) = s->next;
    *(s->next != NULL ? &s->next->previous : &store.list[s->metric].last) = s->previous;
    store.list[s->metric].count--;
    store.live--;
    store.memory_b -= MS_ROUND_UP(sizeof(*s) + s->key_b, _Alignof(struct ms_histogram)) +
                      (s->histogram != NULL ? sizeof(struct ms_histogram) : 0);
    free(s);
}

/* The series for a value, made if there is room; NULL: refused. */
static struct ms_series *series_for(enum ms_metric metric, const union ms_labels *labels)
{
    char key[KEY_MAX_B];
    const struct ms_metric_info *info = &ms_metric_info[metric];
    size_t key_b = make_key(metric, labels, false, key);
    uint32_t hash = hash_key(metric, key, key_b);
    struct ms_series *s = find(metric, hash, key, key_b);
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
        /* The counters of these events have a limit above the number of metrics, so this ends. */
        if (metric != MS_METRIC_SERIES_REFUSED && metric != MS_METRIC_SERIES_MERGED) {
            ms_metric_record(s == NULL ? MS_METRIC_SERIES_REFUSED : MS_METRIC_SERIES_MERGED,
                              MS_LABELS(.name = info->name), 1);
        }
    }
    if (s != NULL) {
        s->updated_ns = ms_clock_ns(CLOCK_MONOTONIC);
    }
    return s;
}

/* ---- interface ---- */

int ms_metrics_open(const char *host, size_t max_series)
{
    ms_metrics_close();
    store.max_series = max_series != 0 ? max_series : DEFAULT_MAX_SERIES;
    size_t chains = 64;
    while (chains < store.max_series) {
        chains *= 2;
    }
    store.chain = calloc(chains, sizeof(struct ms_series *));
    if (store.chain == NULL) {
        return -ENOMEM;
    }
    store.chain_mask = (uint32_t)chains - 1;
    store.memory_b = chains * sizeof(struct ms_series *);
    char name[256] = "";
    if (host == NULL) {
        gethostname(name, sizeof(name) - 1);
        host = name;
    }
    copy_value(store.host, host);
    store.start_ns = ms_clock_ns(CLOCK_REALTIME);
    for (unsigned i = 0; i < MS_METRIC_COUNT; i++) {
        const struct ms_metric_info *info = &ms_metric_info[i];
        store.list[i].limit = info->limit;
        if (info->type == MS_COUNTER && info->labels == 0 && info->group == MS_GROUP_DAEMON) {
            series_for((enum ms_metric)i, NULL);
        }
    }
    ms_metric_record(MS_METRIC_START_TIME, NULL, (double)store.start_ns / 1e9);
    return 0;
}

void ms_metrics_close(void)
{
    for (unsigned i = 0; i < MS_METRIC_COUNT; i++) {
        while (store.list[i].first != NULL) {
            destroy(store.list[i].first);
        }
    }
    free(store.chain);
    memset(&store, 0, sizeof(store));
}

void ms_metrics_set_limit(enum ms_metric metric, uint32_t limit)
{
    store.list[metric].limit = limit;
}

const char *ms_metrics_host(void)
{
    return store.host;
}

uint64_t ms_metrics_start_ns(void)
{
    return store.start_ns;
}

void ms_metric_record(enum ms_metric metric, const union ms_labels *labels, double value)
{
    if (store.chain == NULL || (unsigned)metric >= MS_METRIC_COUNT) {
        return;
    }
    enum ms_metric_type type = ms_metric_info[metric].type;
    /* What is not a number, or would turn a counter back, comes from a broken source. */
    if (!isfinite(value) || (type != MS_GAUGE && value < 0)) {
        return;
    }
    struct ms_series *s = series_for(metric, labels);
    if (s == NULL) {
        return;
    }
    if (type == MS_HISTOGRAM) {
        ms_histogram_observe(s->histogram, value);
    } else {
        s->value = type == MS_COUNTER ? s->value + value : value;
    }
}

void ms_metric_total(enum ms_metric metric, const union ms_labels *labels, double total)
{
    if (store.chain == NULL || (unsigned)metric >= MS_METRIC_COUNT || ms_metric_info[metric].type != MS_COUNTER ||
        !isfinite(total) || total < 0) {
        return;
    }
    struct ms_series *s = series_for(metric, labels);
    if (s != NULL) {
        s->value = total;
    }
}

void ms_metric_merge(enum ms_metric metric, const union ms_labels *labels, const struct ms_histogram *more)
{
    if (store.chain == NULL || (unsigned)metric >= MS_METRIC_COUNT || ms_metric_info[metric].type != MS_HISTOGRAM ||
        !isfinite(more->sum) || more->sum < 0) {
        return;
    }
    struct ms_series *s = series_for(metric, labels);
    if (s != NULL) {
        histogram_add(s->histogram, more);
    }
}

const struct ms_series *ms_metrics_first(enum ms_metric metric)
{
    return store.list[metric].first;
}

double ms_metric_value(enum ms_metric metric, const union ms_labels *labels)
{
    char key[KEY_MAX_B];
    if (store.chain == NULL) {
        return 0;
    }
    size_t key_b = make_key(metric, labels, false, key);
    const struct ms_series *s = find(metric, hash_key(metric, key, key_b), key, key_b);
    if (s == NULL) {
        return 0;
    }
    return s->histogram != NULL ? (double)s->histogram->count : s->value;
}

size_t ms_metrics_series(void)
{
    return store.live;
}

size_t ms_metrics_memory_b(void)
{
    return store.memory_b;
}

uint64_t ms_metrics_mark(void)
{
    return ms_clock_ns(CLOCK_MONOTONIC);
}

void ms_metrics_sweep(enum ms_metric metric, uint64_t mark)
{
    for (struct ms_series *s = store.list[metric].first, *next; s != NULL; s = next) {
        next = s->next;
        if (s->updated_ns < mark) {
            destroy(s);
        }
    }
}

void ms_metrics_age(uint64_t older_than_ns)
{
    uint64_t now = ms_clock_ns(CLOCK_MONOTONIC);
    uint64_t mark = now > older_than_ns ? now - older_than_ns : 0;
    for (unsigned i = 0; i < MS_METRIC_COUNT; i++) {
        if ((ms_metric_info[i].labels & L(job)) != 0) {
            ms_metrics_sweep((enum ms_metric)i, mark);
        }
    }
}
