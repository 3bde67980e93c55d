/* SPDX-License-Identifier: Apache-2.0 */
/* The store of series and records: identity, bounds, hostile label values. */
#include "base/macros.h"
#include "monitor/store/record.h"
#include "monitor/store/series.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int open_store(void **state)
{
    return mon_metrics_open("node1", 0);
}

static int close_store(void **state)
{
    mon_metrics_close();
    return 0;
}

static size_t count_of(enum mon_metric metric)
{
    size_t n = 0;
    for (const struct mon_series *s = mon_metrics_first(metric); s != NULL; s = s->next) {
        n++;
    }
    return n;
}

static void table_is_sound(void **state)
{
    for (unsigned i = 0; i < MON_METRIC_COUNT; i++) {
        const struct mon_metric_info *info = &mon_metric_info[i];
        assert_non_null(info->name);
        assert_true(info->limit > 0);
        assert_true(strlen(info->help) > 0 && info->help[strlen(info->help) - 1] == '.');
        for (unsigned j = 0; j < i; j++) {
            assert_string_not_equal(info->name, mon_metric_info[j].name);
        }
        if (info->group == MON_GROUP_LEGACY) {
            continue;
        }
        bool total = strlen(info->name) > 6 && strcmp(info->name + strlen(info->name) - 6, "_total") == 0;
        assert_int_equal(total, info->type == MON_COUNTER);
    }
    assert_true(mon_metric_info[MON_METRIC_SERIES_REFUSED].limit > MON_METRIC_COUNT);
    assert_true(mon_metric_info[MON_METRIC_SERIES_MERGED].limit > MON_METRIC_COUNT);
}

static void kinds_of_values(void **state)
{
    mon_metric_record(MON_METRIC_IPC_REFUSED, MON_LABELS(.reason = "short"), 1);
    mon_metric_record(MON_METRIC_IPC_REFUSED, MON_LABELS(.reason = "short"), 2);
    mon_metric_record(MON_METRIC_IPC_REFUSED, MON_LABELS(.reason = "type"), 1);
    assert_true(mon_metric_value(MON_METRIC_IPC_REFUSED, MON_LABELS(.reason = "short")) == 3);
    assert_true(mon_metric_value(MON_METRIC_IPC_REFUSED, MON_LABELS(.reason = "type")) == 1);
    assert_int_equal(count_of(MON_METRIC_IPC_REFUSED), 2);
    mon_metric_record(MON_METRIC_RPC_CONNECTIONS, MON_NO_LABELS, 7);
    mon_metric_record(MON_METRIC_RPC_CONNECTIONS, MON_NO_LABELS, 5);
    assert_true(mon_metric_value(MON_METRIC_RPC_CONNECTIONS, NULL) == 5);
    mon_metric_total(MON_METRIC_HOST_CPU, MON_LABELS(.mode = "user"), 100);
    mon_metric_total(MON_METRIC_HOST_CPU, MON_LABELS(.mode = "user"), 101.5);
    assert_true(mon_metric_value(MON_METRIC_HOST_CPU, MON_LABELS(.mode = "user")) == 101.5);
    /* Counters without labels exist from the start, as 0. */
    assert_non_null(mon_metrics_first(MON_METRIC_RPC_ACCEPTED));
    assert_null(mon_metrics_first(MON_METRIC_HOST_UPTIME));
    /* A label that the metric does not have creates no series; NaN and infinity are ignored. */
    mon_metric_record(MON_METRIC_RPC_CONNECTIONS, MON_LABELS(.job = "1"), 6);
    assert_int_equal(count_of(MON_METRIC_RPC_CONNECTIONS), 1);
    mon_metric_record(MON_METRIC_RPC_CONNECTIONS, NULL, NAN);
    mon_metric_record(MON_METRIC_RPC_ACCEPTED, NULL, -1);
    mon_metric_record(MON_METRIC_RPC_ACCEPTED, NULL, INFINITY);
    mon_metric_record((enum mon_metric)9999, NULL, 1);
    assert_true(mon_metric_value(MON_METRIC_RPC_CONNECTIONS, NULL) == 6);
    assert_true(mon_metric_value(MON_METRIC_RPC_ACCEPTED, NULL) == 0);
}

static void histograms_fold(void **state)
{
    const union mon_labels *labels = MON_LABELS(.name = "MatMul", .device = "0");
    mon_metric_record(MON_METRIC_OPERATOR, labels, 1024e-9); /* exactly at a bound: in the bucket below it */
    mon_metric_record(MON_METRIC_OPERATOR, labels, 1025e-9);
    mon_metric_record(MON_METRIC_OPERATOR, labels, 100);
    struct mon_histogram more = {.count = 2, .sum = 0.5, .bucket = {[3] = 2}};
    mon_metric_merge(MON_METRIC_OPERATOR, labels, &more);
    const struct mon_histogram *h = mon_metrics_first(MON_METRIC_OPERATOR)->histogram;
    assert_int_equal(h->count, 5);
    assert_int_equal(h->bucket[0], 1);
    assert_int_equal(h->bucket[1], 1);
    assert_int_equal(h->bucket[3], 2);
    assert_int_equal(h->bucket[MON_HISTOGRAM_BOUNDS], 1);
    assert_true(fabs(h->sum - 100.500002049) < 1e-9);
    /* Times in (2^(n-1), 2^n] are in the bucket with the smallest bound of at least 2^n. */
    for (unsigned n = 0; n < 64; n++) {
        size_t bucket = mon_histogram_bucket_of_log2(n);
        double top = ldexp(1e-9, (int)n);
        assert_true(bucket == MON_HISTOGRAM_BOUNDS || top <= mon_histogram_bound(bucket));
        assert_true(bucket == 0 || top > mon_histogram_bound(bucket - 1));
    }
    mon_metric_merge(MON_METRIC_RPC_ACCEPTED, NULL, &more); /* not a histogram: no effect */
    assert_true(mon_metric_value(MON_METRIC_RPC_ACCEPTED, NULL) == 0);
}

static void limits_merge_then_refuse(void **state)
{
    uint32_t limit = mon_metric_info[MON_METRIC_OPERATOR].limit;
    for (uint32_t i = 0; i < limit + 1000; i++) {
        char name[32];
        snprintf(name, sizeof(name), "op%u", i);
        mon_metric_record(MON_METRIC_OPERATOR, MON_LABELS(.device = "3", .kind = "Kernel", .name = name), 1e-3);
    }
    assert_int_equal(count_of(MON_METRIC_OPERATOR), limit + 1);
    /* No value is lost: the rest is in "other", for the device it came from. */
    assert_true(mon_metric_value(MON_METRIC_OPERATOR, MON_LABELS(.device = "3", .kind = "other", .name = "other")) ==
                1000);
    const char *name = mon_metric_info[MON_METRIC_OPERATOR].name;
    assert_true(mon_metric_value(MON_METRIC_SERIES_MERGED, MON_LABELS(.name = name)) == 1000);
    assert_true(mon_metric_value(MON_METRIC_SERIES_REFUSED, MON_LABELS(.name = name)) == 0);
    for (uint32_t i = 0; i < limit; i++) { /* labels that do not merge: refused at the limit */
        char job[32];
        snprintf(job, sizeof(job), "%u", i);
        mon_metric_record(MON_METRIC_OPERATOR, MON_LABELS(.job = job, .name = "x"), 1e-3);
    }
    assert_true(count_of(MON_METRIC_OPERATOR) <= limit + limit / 4 + 1);
    assert_true(mon_metric_value(MON_METRIC_SERIES_REFUSED, MON_LABELS(.name = name)) > 0);
    /* An existing series still accepts values. */
    mon_metric_record(MON_METRIC_OPERATOR, MON_LABELS(.device = "3", .kind = "Kernel", .name = "op0"), 1e-3);
    assert_true(mon_metric_value(MON_METRIC_OPERATOR, MON_LABELS(.device = "3", .kind = "Kernel", .name = "op0")) == 2);
}

static void limits_can_be_changed(void **state)
{
    mon_metrics_set_limit(MON_METRIC_OPERATOR, 0); /* no metric has its own series */
    for (int i = 0; i < 10; i++) {
        char name[16];
        snprintf(name, sizeof(name), "op%d", i);
        mon_metric_record(MON_METRIC_OPERATOR, MON_LABELS(.device = "3", .kind = "Kernel", .name = name), 1e-3);
    }
    assert_int_equal(count_of(MON_METRIC_OPERATOR), 1);
    assert_true(mon_metric_value(MON_METRIC_OPERATOR, MON_LABELS(.device = "3", .kind = "other", .name = "other")) ==
                10);
    assert_int_equal(mon_metrics_open("n", 0), 0); /* a new store has the limits of the table */
    mon_metric_record(MON_METRIC_OPERATOR, MON_LABELS(.name = "op"), 1e-3);
    assert_true(mon_metric_value(MON_METRIC_OPERATOR, MON_LABELS(.name = "op")) == 1);
}

static void store_has_a_limit(void **state)
{
    assert_int_equal(mon_metrics_open("node1", 100), 0);
    for (int i = 0; i < 500; i++) {
        char pid[16];
        snprintf(pid, sizeof(pid), "%d", i);
        mon_metric_record(MON_METRIC_PROCESS_RESIDENT, MON_LABELS(.pid = pid), 1);
    }
    assert_true(mon_metrics_series() <= 101);
    assert_true(mon_metric_value(MON_METRIC_SERIES_REFUSED, MON_LABELS(.name = "job_process_resident_bytes")) >= 400);
}

static void sweeping_and_ageing(void **state)
{
    size_t before = mon_metrics_series(), memory_b = mon_metrics_memory_b();
    mon_metric_record(MON_METRIC_PROCESS_RESIDENT, MON_LABELS(.job = "1", .pid = "10"), 1);
    mon_metric_record(MON_METRIC_PROCESS_RESIDENT, MON_LABELS(.job = "1", .pid = "11"), 1);
    mon_metric_record(MON_METRIC_PROCESS_RESIDENT, MON_LABELS(.job = "1", .pid = "12"), 1);
    uint64_t mark = mon_metrics_mark();
    mon_metric_record(MON_METRIC_PROCESS_RESIDENT, MON_LABELS(.job = "1", .pid = "11"), 2);
    mon_metrics_sweep(MON_METRIC_PROCESS_RESIDENT, mark);
    assert_int_equal(count_of(MON_METRIC_PROCESS_RESIDENT), 1);
    assert_string_equal(mon_series_label(mon_metrics_first(MON_METRIC_PROCESS_RESIDENT), MON_LABEL_pid), "11");
    mon_metrics_age(3600 * UINT64_C(1000000000));
    assert_int_equal(count_of(MON_METRIC_PROCESS_RESIDENT), 1);
    mon_metrics_age(0);
    assert_int_equal(mon_metrics_series(), before);
    assert_int_equal(mon_metrics_memory_b(), memory_b);
    assert_non_null(mon_metrics_first(MON_METRIC_RPC_ACCEPTED)); /* no job label: kept */
}

static void hostile_label_values(void **state)
{
    static const struct {
        const char *given, *kept;
    } cases[] = {
        {"plain", "plain"},           {"a\nb\tc\x7f", "a?b?c?"},
        {"\xc3\xa9", "\xc3\xa9"},     {"\xc3", "?"},
        {"\xc0\xaf", "??"},           {"\xed\xa0\x80", "???"},
        {"\xf4\x90\x80\x80", "????"}, {"\xe4\xb8\xad\xe6", "\xe4\xb8\xad?"},
        {"\xc2\x85", "??"},
    };
    for (size_t i = 0; i < MS_COUNT_OF(cases); i++) {
        assert_int_equal(mon_metrics_open("n", 0), 0);
        mon_metric_record(MON_METRIC_IPC_REFUSED, MON_LABELS(.reason = cases[i].given), 1);
        assert_string_equal(mon_series_label(mon_metrics_first(MON_METRIC_IPC_REFUSED), MON_LABEL_reason),
                            cases[i].kept);
    }
    char longest[2000];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    memcpy(longest + MON_LABEL_MAX_B - 2, "\xc3\xa9", 2); /* must not be split by truncation */
    assert_int_equal(mon_metrics_open(longest, 0), 0);
    assert_int_equal(strlen(mon_metrics_host()), MON_LABEL_MAX_B - 2);
}

static void closed_store_is_harmless(void **state)
{
    mon_metrics_close();
    mon_metric_record(MON_METRIC_RPC_ACCEPTED, NULL, 1);
    mon_metric_total(MON_METRIC_RPC_ACCEPTED, NULL, 1);
    assert_true(mon_metric_value(MON_METRIC_RPC_ACCEPTED, NULL) == 0);
    assert_null(mon_metrics_first(MON_METRIC_RPC_ACCEPTED));
    mon_metrics_age(0);
}

static char seen[256];
static void see(void *context, const struct mon_record *record)
{
    seen[0] = '\0';
    for (size_t i = 0; i < record->count; i++) {
        strncat(seen, mon_record_key(record, &record->field[i]), sizeof(seen) - strlen(seen) - 1);
        strncat(seen, " ", sizeof(seen) - strlen(seen) - 1);
    }
    assert_true(record->time_ns > UINT64_C(1500000000000000000));
}

static void records_arrive_sorted(void **state)
{
    struct mon_record_backend backend = {.name = "test", .write = see, .context = seen};
    assert_int_equal(mon_record_add_backend(&backend), 0);
    struct mon_record record = {.source = MON_RECORD_NPU};
    mon_record_uint(&record, "timestamp", 5);
    mon_record_text(&record, "deviceId", "0");
    mon_record_float(&record, "cpu_u", 1);
    mon_record_float(&record, "cpu_u", 2);
    mon_record_int(&record, "a", -1);
    mon_record_emit(&record);
    assert_string_equal(seen, "a cpu_u deviceId timestamp ");
    assert_true(mon_record_find(&record, "cpu_u")->f == 2);
    assert_string_equal(mon_record_string(&record, mon_record_find(&record, "deviceId")), "0");
    assert_null(mon_record_find(&record, "b"));
    assert_true(mon_metric_value(MON_METRIC_BACKEND_RECORDS, MON_LABELS(.sink = "test")) == 1);
    mon_record_free(&record);
    for (int i = 0; i < MON_RECORD_MAX_FIELDS + 10; i++) {
        mon_record_uint(&record, "k", 1);
    }
    assert_int_equal(record.count, MON_RECORD_MAX_FIELDS);
    assert_int_equal(record.left_out, 10);
    mon_record_free(&record);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(mon_record_add_backend(&backend), 0);
    }
    assert_int_equal(mon_record_add_backend(&backend), -ENOSPC);
    mon_record_remove_backend(seen);
    seen[0] = '\0';
    mon_record_int(&record, "a", 1);
    mon_record_emit(&record);
    assert_string_equal(seen, "");
    mon_record_free(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(table_is_sound, open_store, close_store),
        cmocka_unit_test_setup_teardown(kinds_of_values, open_store, close_store),
        cmocka_unit_test_setup_teardown(histograms_fold, open_store, close_store),
        cmocka_unit_test_setup_teardown(limits_merge_then_refuse, open_store, close_store),
        cmocka_unit_test_setup_teardown(limits_can_be_changed, open_store, close_store),
        cmocka_unit_test_setup_teardown(store_has_a_limit, open_store, close_store),
        cmocka_unit_test_setup_teardown(sweeping_and_ageing, open_store, close_store),
        cmocka_unit_test_setup_teardown(hostile_label_values, open_store, close_store),
        cmocka_unit_test_setup_teardown(closed_store_is_harmless, open_store, close_store),
        cmocka_unit_test_setup_teardown(records_arrive_sorted, open_store, close_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
