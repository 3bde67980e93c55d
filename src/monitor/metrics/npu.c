/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of training processes as series and records.
 *
 * All input comes from processes that are not trusted: sizes and ranges are checked here; the store truncates and
 * sanitises names and bounds the number of series. Used only by the event loop thread. */
#include "monitor/metrics/npu.h"

#include "base/macros.h"
#include "monitor/daemon/ipc.h"
#include "monitor/metrics/modules.h"
#include "monitor/metrics/process.h"
#include "monitor/store/record.h"
#include "monitor/store/series.h"
#include "monitor/wire/opstats.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define MAX_DEPTH  10
#define MAX_DEVICE 4095
#define NS         1e-9

const char *mon_npu_device_text(double device, char out[16])
{
    if (device == -1 || device == 4294967295.0 || device == 18446744073709551615.0) {
        return "host";
    }
    if (!(device >= 0 && device <= MAX_DEVICE)) {
        return NULL;
    }
    snprintf(out, 16, "%d", (int)device);
    return out;
}

/* ---- sums per kind ---- */

/* Checks nesting, objects and arrays together, before the text is parsed. */
static bool too_deep(const char *s, size_t length)
{
    unsigned depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        if (quoted) {
            i += s[i] == '\\';
            quoted = i >= length || s[i] != '"';
        } else if (s[i] == '"') {
            quoted = true;
        } else if (s[i] == '{' || s[i] == '[') {
            if (++depth > MAX_DEPTH) {
                return true;
            }
        } else if ((s[i] == '}' || s[i] == ']') && depth > 0) {
            depth--;
        }
    }
    return false;
}

static json_t *parse(const char *text, size_t length)
{
    json_error_t error;
    if (length == 0 || too_deep(text, length)) {
        return NULL;
    }
    json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (object == NULL && json_error_code(&error) == json_error_numeric_overflow) {
        object = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &error); /* 2^64 - 1 */
    }
    if (!json_is_object(object)) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* Reads a non-negative number; false if it is anything else. */
static bool get_count(const json_t *object, const char *key, uint64_t *out)
{
    const json_t *value = json_object_get(object, key);
    if (json_is_integer(value) && json_integer_value(value) >= 0) {
        *out = (uint64_t)json_integer_value(value);
        return true;
    }
    if (json_is_real(value) && json_real_value(value) >= 0 && json_real_value(value) < 18446744073709551616.0) {
        *out = (uint64_t)json_real_value(value);
        return true;
    }
    return false;
}

int mon_npu_data(const struct mon_npu_source *source, const void *payload, size_t payload_b)
{
    json_t *object = parse(payload, payload_b);
    if (object == NULL) {
        return -EBADMSG;
    }
    int rc = -EINVAL;
    uint64_t duration_ns, timestamp_ns;
    char device_number[16], job[24], rank[16];
    const char *kind = json_string_value(json_object_get(object, "kind"));
    const char *domain = json_string_value(json_object_get(object, "domain"));
    const char *name = json_string_value(json_object_get(object, "name"));
    const json_t *device_value = json_object_get(object, "deviceId");
    const char *device =
        json_is_number(device_value) ? mon_npu_device_text(json_number_value(device_value), device_number) : NULL;
    if (kind == NULL || kind[0] == '\0' || device == NULL || !get_count(object, "duration", &duration_ns) ||
        !get_count(object, "timestamp", &timestamp_ns)) {
        goto out;
    }
    snprintf(job, sizeof(job), "%" PRId64, source->job);
    mon_rank_text(source->rank, rank);
    const union mon_labels *labels = MON_LABELS(.job = job, .rank = rank, .device = device, .kind = kind,
                                                .domain = domain != NULL ? domain : "default", .name = name);
    double duration_s = (double)duration_ns * NS;
    mon_metric_record(MON_METRIC_ACTIVITY_TIME, labels, duration_s);
    mon_metric_record(MON_METRIC_ACTIVITY_REPORTS, labels, 1);
    mon_metric_record(MON_METRIC_ACTIVITY_LAST, labels, duration_s);
    if (strcmp(kind, "Marker") == 0) {
        mon_metric_record(MON_METRIC_MARKER, labels, duration_s);
    }
    struct mon_record record = {.source = MON_RECORD_NPU};
    mon_record_text(&record, "deviceId", strcmp(device, "host") == 0 ? "-1" : device);
    mon_record_uint(&record, "duration", duration_ns);
    mon_record_text(&record, "kind", kind);
    mon_record_uint(&record, "timestamp", timestamp_ns);
    if (domain != NULL) {
        mon_record_text(&record, "domain", domain);
    }
    if (name != NULL) {
        mon_record_text(&record, "name", name);
    }
    mon_record_emit(&record);
    mon_record_free(&record);
    rc = 0;
out:
    json_decref(object);
    return rc;
}

/* ---- statistics per operator ---- */

static void count_at(struct mon_histogram *h, uint64_t duration_ns, uint64_t count)
{
    unsigned log2_ns = duration_ns > 1 ? 64 - (unsigned)__builtin_clzll(duration_ns - 1) : 0;
    h->bucket[mon_histogram_bucket_of_log2(log2_ns)] += count;
    h->count += count;
}

/* Each bucket of a report falls into one of the store's buckets: the report's bounds are finer and include them. */
static struct mon_histogram fold(const struct mon_opstats_operator *op)
{
    struct mon_histogram h = {.sum = (double)op->sum_ns * NS};
    for (unsigned i = 0; i < op->bucket_count; i++) {
        unsigned bucket;
        uint32_t count;
        mon_opstats_bucket(op, i, &bucket, &count);
        count_at(&h, mon_opstats_bucket_limit(bucket), count);
    }
    if (op->bucket_count == 0) { /* no histogram: only the average is known */
        count_at(&h, op->sum_ns / op->count, op->count);
    }
    return h;
}

static void report_operator(const struct mon_opstats_operator *op, const union mon_labels *where)
{
    char name[MON_LABEL_MAX_B];
    size_t name_b = op->name_b < sizeof(name) - 1 ? op->name_b : sizeof(name) - 1;
    memcpy(name, op->name, name_b);
    name[name_b] = '\0';
    union mon_labels labels = *where;
    labels.name = name_b != 0 ? name : "other";
    struct mon_histogram h = fold(op);
    mon_metric_merge(MON_METRIC_OPERATOR, &labels, &h);
    mon_metric_record(MON_METRIC_OPERATOR_MIN, &labels, (double)op->min_ns * NS);
    mon_metric_record(MON_METRIC_OPERATOR_MAX, &labels, (double)op->max_ns * NS);
    if (op->bytes_b != 0) {
        mon_metric_record(MON_METRIC_OPERATOR_BYTES, &labels, (double)op->bytes_b);
    }
    struct mon_record record = {.source = MON_RECORD_OPERATOR};
    mon_record_text(&record, "deviceId", strcmp(where->device, "host") == 0 ? "-1" : where->device);
    mon_record_text(&record, "kind", where->kind);
    mon_record_text(&record, "name", labels.name);
    mon_record_uint(&record, "count", op->count);
    mon_record_uint(&record, "sum", op->sum_ns);
    mon_record_uint(&record, "min", op->min_ns);
    mon_record_uint(&record, "max", op->max_ns);
    mon_record_emit(&record);
    mon_record_free(&record);
}

int mon_npu_opstats(const struct mon_npu_source *source, const void *payload, size_t payload_b)
{
    struct mon_opstats_head head;
    struct mon_opstats_reader reader;
    struct mon_opstats_operator op;
    char device_number[16], job[24], rank[16];
    if (mon_opstats_open(payload, payload_b, &head, &reader) != 0) {
        return -EBADMSG;
    }
    const char *device = mon_npu_device_text(head.device, device_number);
    if (device == NULL) {
        return -EBADMSG;
    }
    int32_t reported = head.rank >= 0 ? head.rank : INT32_MIN;
    snprintf(job, sizeof(job), "%" PRId64, source != NULL ? source->job : head.job);
    mon_rank_text(source != NULL && source->rank != INT32_MIN ? source->rank : reported, rank);
    const union mon_labels *labels = MON_LABELS(.job = job, .rank = rank, .device = device, .kind = head.kind);
    while (mon_opstats_next(&reader, &op)) {
        report_operator(&op, labels);
    }
    mon_metric_record(MON_METRIC_RECORDS_LOST, labels, head.lost);
    return 0;
}

/* ---- as a module: messages arrive over the IPC fabric ---- */

/* Only NPU clients send these messages; the index in their context message is the rank. */
static struct mon_npu_source source_of(const struct mon_ipc_sender *sender)
{
    const struct mon_process *p = sender->process;
    struct mon_npu_source source = {.rank = INT32_MIN};
    if (p != NULL) {
        source.job = mon_job_label(p);
        source.rank = p->rank != MON_INDEX_UNKNOWN ? p->rank : p->index;
    }
    return source;
}

static int take_data(struct mon_daemon *daemon, const struct mon_ipc_sender *sender, const void *payload,
                     size_t payload_b)
{
    struct mon_npu_source source = source_of(sender);
    return mon_npu_data(&source, payload, payload_b);
}

static int take_opstats(struct mon_daemon *daemon, const struct mon_ipc_sender *sender, const void *payload,
                        size_t payload_b)
{
    struct mon_npu_source source = source_of(sender);
    return mon_npu_opstats(sender->process != NULL ? &source : NULL, payload, payload_b);
}

static int start(struct mon_daemon *daemon)
{
    mon_ipc_set_data_handler(MON_FABRIC_DATA, take_data);
    mon_ipc_set_data_handler(MON_FABRIC_OPSTATS, take_opstats);
    return 0;
}

static void stop(struct mon_daemon *daemon)
{
    mon_ipc_set_data_handler(MON_FABRIC_DATA, NULL);
    mon_ipc_set_data_handler(MON_FABRIC_OPSTATS, NULL);
}

const struct mon_daemon_module mon_module_npu = {.name = "NPU activity", .start = start, .stop = stop};
