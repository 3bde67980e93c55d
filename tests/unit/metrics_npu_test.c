/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of training processes: sums as JSON, statistics per operator; valid and invalid ones. */
#include "base/macros.h"
#include "monitor/metrics/npu.h"
#include "monitor/store/record.h"
#include "monitor/store/series.h"
#include "monitor/wire/opstats.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct mon_npu_source rank3 = {.job = 42, .rank = 3};
static char seen[512];

static void see(void *context, const struct mon_record *record)
{
    seen[0] = '\0';
    for (size_t i = 0; i < record->count; i++) {
        const struct mon_field *f = &record->field[i];
        size_t used = strlen(seen);
        if (f->type == MON_FIELD_TEXT) {
            snprintf(seen + used, sizeof(seen) - used, "%s=%s ", mon_record_key(record, f),
                     mon_record_string(record, f));
        } else {
            snprintf(seen + used, sizeof(seen) - used, "%s=%llu ", mon_record_key(record, f), (unsigned long long)f->u);
        }
    }
}

static int begin(void **state)
{
    seen[0] = '\0';
    mon_record_add_backend(&(struct mon_record_backend){.name = "test", .write = see, .context = seen});
    return mon_metrics_open("node1", 0);
}

static int end(void **state)
{
    mon_record_remove_backend(seen);
    mon_metrics_close();
    return 0;
}

static int data(const char *json)
{
    return mon_npu_data(&rank3, json, strlen(json));
}

static void sums_by_kind(void **state)
{
    assert_int_equal(
        data("{\"deviceId\":0,\"duration\":81234567,\"kind\":\"Kernel\",\"timestamp\":1735689600000000000}"), 0);
    assert_string_equal(seen, "deviceId=0 duration=81234567 kind=Kernel timestamp=1735689600000000000 ");
    assert_int_equal(data("{\"deviceId\":0,\"duration\":1000000000,\"kind\":\"Kernel\",\"timestamp\":2}"), 0);
    const union mon_labels *labels = MON_LABELS(.job = "42", .rank = "3", .device = "0", .kind = "Kernel");
    assert_true(fabs(mon_metric_value(MON_METRIC_ACTIVITY_TIME, labels) - 1.081234567) < 1e-12);
    assert_true(mon_metric_value(MON_METRIC_ACTIVITY_REPORTS, labels) == 2);
    assert_true(mon_metric_value(MON_METRIC_ACTIVITY_LAST, labels) == 1);
    static const char *const kinds[] = {"Marker", "API",    "AclAPI", "NodeAPI", "RuntimeAPI",
                                        "Hccl",   "Memory", "MemSet", "MemCpy",  "Communication"};
    for (size_t i = 0; i < MS_COUNT_OF(kinds); i++) {
        char json[256];
        snprintf(json, sizeof(json), "{\"kind\":\"%s\",\"deviceId\":-1,\"duration\":5,\"timestamp\":1}", kinds[i]);
        assert_int_equal(data(json), 0);
        labels = MON_LABELS(.job = "42", .rank = "3", .device = "host", .kind = kinds[i]);
        assert_true(mon_metric_value(MON_METRIC_ACTIVITY_REPORTS, labels) == 1);
    }
}

static void three_encodings_of_host(void **state)
{
    static const char *const hosts[] = {"-1", "4294967295", "18446744073709551615"};
    for (size_t i = 0; i < MS_COUNT_OF(hosts); i++) {
        char json[256];
        snprintf(json, sizeof(json),
                 "{\"kind\":\"Marker\",\"domain\":\"d\",\"name\":\"step\",\"deviceId\":%s,\"duration\":2000000,"
                 "\"timestamp\":7}",
                 hosts[i]);
        assert_int_equal(data(json), 0);
        assert_string_equal(seen, "deviceId=-1 domain=d duration=2000000 kind=Marker name=step timestamp=7 ");
    }
    assert_true(mon_metric_value(MON_METRIC_MARKER, MON_LABELS(.job = "42", .rank = "3", .device = "host",
                                                               .domain = "d", .name = "step")) == 3);
    assert_true(mon_metrics_first(MON_METRIC_MARKER)->histogram->bucket[6] == 3); /* 2 ms: up to 2^22 ns */
}

static void refused(void **state)
{
    static const struct {
        const char *json;
        int rc;
    } cases[] = {
        {"", -EBADMSG},
        {"{", -EBADMSG},
        {"[]", -EBADMSG},
        {"7", -EBADMSG},
        {"{\"a\":1}x", -EBADMSG},
        {"{\"a\":1,\"a\":2}", -EBADMSG},
        {"[[[[[[[[[[[]]]]]]]]]]]", -EBADMSG},
        {"{\"kind\":\"Kernel\",\"deviceId\":0,\"duration\":1,\"timestamp\":1,\"x\":[[[[[[[[[[]]]]]]]]]]}", -EBADMSG},
        {"{}", -EINVAL},
        {"{\"kind\":7,\"deviceId\":0,\"duration\":1,\"timestamp\":1}", -EINVAL},
        {"{\"kind\":\"\",\"deviceId\":0,\"duration\":1,\"timestamp\":1}", -EINVAL},
        {"{\"kind\":\"Kernel\",\"deviceId\":\"0\",\"duration\":1,\"timestamp\":1}", -EINVAL},
        {"{\"kind\":\"Kernel\",\"deviceId\":-2,\"duration\":1,\"timestamp\":1}", -EINVAL},
        {"{\"kind\":\"Kernel\",\"deviceId\":100000,\"duration\":1,\"timestamp\":1}", -EINVAL},
        {"{\"kind\":\"Kernel\",\"deviceId\":0,\"duration\":-1,\"timestamp\":1}", -EINVAL},
        {"{\"kind\":\"Kernel\",\"deviceId\":0,\"duration\":1e300,\"timestamp\":1}", -EINVAL},
        {"{\"kind\":\"Kernel\",\"deviceId\":0,\"timestamp\":1}", -EINVAL},
    };
    for (size_t i = 0; i < MS_COUNT_OF(cases); i++) {
        assert_int_equal(data(cases[i].json), cases[i].rc);
    }
    assert_int_equal(mon_npu_data(&rank3, "{\"kind\":\"Kernel\0", 17), -EBADMSG);
    assert_string_equal(seen, "");
    assert_null(mon_metrics_first(MON_METRIC_ACTIVITY_TIME));
    /* Brackets inside strings do not count as nesting. */
    assert_int_equal(
        data("{\"kind\":\"K\",\"name\":\"[[[[[[[[[[[[[[\\\"[[[\",\"deviceId\":0,\"duration\":1,\"timestamp\":1}"), 0);
}

static size_t message(unsigned char *out, size_t out_b, int device, unsigned operators)
{
    struct mon_opstats_head head = {.pid = 10, .rank = 5, .device = device, .job = 7, .kind = "Kernel", .lost = 9};
    struct mon_opstats_writer writer;
    assert_int_equal(mon_opstats_begin(&writer, out, out_b, &head), 0);
    for (unsigned i = 0; i < operators; i++) {
        char name[32];
        uint32_t counts[MON_OPSTATS_BUCKETS] = {0};
        snprintf(name, sizeof(name), "MatMul%u", i);
        counts[mon_opstats_bucket_of(1024)] = 2;    /* at a bound: in the bucket below it */
        counts[mon_opstats_bucket_of(1000000)] = 1; /* up to 2^20 */
        struct mon_opstats_operator op = {.name = name,
                                          .name_b = strlen(name),
                                          .count = 3,
                                          .sum_ns = 1002048,
                                          .min_ns = 1024,
                                          .max_ns = 1000000,
                                          .bytes_b = 4096};
        assert_int_equal(mon_opstats_add(&writer, &op, counts), 0);
    }
    return mon_opstats_end(&writer);
}

static void operators(void **state)
{
    unsigned char payload[4096];
    size_t size_b = message(payload, sizeof(payload), 1, 2);
    assert_int_equal(mon_npu_opstats(&rank3, payload, size_b), 0);
    assert_int_equal(mon_npu_opstats(&rank3, payload, size_b), 0);
    const union mon_labels *labels =
        MON_LABELS(.job = "42", .rank = "3", .device = "1", .kind = "Kernel", .name = "MatMul0");
    assert_true(mon_metric_value(MON_METRIC_OPERATOR, labels) == 6);
    const struct mon_histogram *h = mon_metrics_first(MON_METRIC_OPERATOR)->histogram;
    assert_int_equal(h->bucket[0], 4);
    assert_int_equal(h->bucket[5], 2);
    assert_true(fabs(h->sum - 2004096e-9) < 1e-12);
    assert_true(mon_metric_value(MON_METRIC_OPERATOR_MIN, labels) == 1024e-9);
    assert_true(mon_metric_value(MON_METRIC_OPERATOR_MAX, labels) == 1e-3);
    assert_true(mon_metric_value(MON_METRIC_OPERATOR_BYTES, labels) == 8192);
    assert_true(mon_metric_value(MON_METRIC_RECORDS_LOST, MON_LABELS(.job = "42", .rank = "3")) == 18);
    assert_string_equal(seen, "count=3 deviceId=1 kind=Kernel max=1000000 min=1024 name=MatMul1 sum=1002048 ");
    /* Without a registered process, job and rank come from the message. */
    size_b = message(payload, sizeof(payload), -1, 1);
    assert_int_equal(mon_npu_opstats(NULL, payload, size_b), 0);
    labels = MON_LABELS(.job = "7", .rank = "5", .device = "host", .kind = "Kernel", .name = "MatMul0");
    assert_true(mon_metric_value(MON_METRIC_OPERATOR, labels) == 3);
    size_b = message(payload, sizeof(payload), 100000, 1);
    assert_int_equal(mon_npu_opstats(NULL, payload, size_b), -EBADMSG);
}

/* Every truncation and many flipped bytes: either refused, or accepted with finite numbers. */
static void broken_messages(void **state)
{
    unsigned char good[4096], bad[4096];
    size_t size_b = message(good, sizeof(good), 1, 3);
    for (size_t cut = 0; cut < size_b; cut++) {
        unsigned char *exact = malloc(cut != 0 ? cut : 1); /* exact size, for sanitizers */
        memcpy(exact, good, cut);
        assert_int_equal(mon_npu_opstats(&rank3, exact, cut), -EBADMSG);
        free(exact);
    }
    unsigned seed = 1;
    for (int i = 0; i < 20000; i++) {
        memcpy(bad, good, size_b);
        for (int flips = 1 + rand_r(&seed) % 4; flips > 0; flips--) {
            bad[(size_t)rand_r(&seed) % size_b] = (unsigned char)rand_r(&seed);
        }
        mon_npu_opstats(&rank3, bad, size_b);
    }
    for (const struct mon_series *s = mon_metrics_first(MON_METRIC_OPERATOR); s != NULL; s = s->next) {
        assert_true(isfinite(s->histogram->sum));
    }
    assert_true(mon_metrics_series() < 5 * 700);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sums_by_kind, begin, end),
        cmocka_unit_test_setup_teardown(three_encodings_of_host, begin, end),
        cmocka_unit_test_setup_teardown(refused, begin, end),
        cmocka_unit_test_setup_teardown(operators, begin, end),
        cmocka_unit_test_setup_teardown(broken_messages, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
