/* The store of series and the records: identity, bounds, hostile label values. */
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
    return ms_metrics_open("node1", 0);
}

static int close_store(void **state)
{
    ms_metrics_close();
    return 0;
}

static size_t count_of(enum ms_metric metric)
{
    size_t n = 0;
    for (const struct ms_series *s = ms_metrics_first(metric); s != NULL; s = s->next) {
        n++;
    }
    return n;
}

static void table_is_sound(void **state)
{
    for (unsigned i = 0; i < MS_METRIC_COUNT; i++) {
        const struct ms_metric_info *info = &ms_metric_info[i];
        assert_non_null(info->name);
        assert_true(info->limit > 0);
        assert_true(strlen(info->help) > 0 && info->help[strlen(info->help) - 1] == '.');
        for (unsigned j = 0; j < i; j++) {
            assert_string_not_equal(info->name, ms_metric_info[j].name);
        }
        if (info->group == MS_GROUP_LEGACY) {
            continue;
        }
        bool total = strlen(info->name) > 6 && strcmp(info->name + strlen(info->name) - 6, "_total") == 0;
        assert_int_equal(total, info->type == MS_COUNTER);
    }
    assert_true(ms_metric_info[MS_METRIC_SERIES_REFUSED].limit > MS_METRIC_COUNT);
    assert_true(ms_metric_info[MS_METRIC_SERIES_MERGED].limit > MS_METRIC_COUNT);
}

static void kinds_of_values(void **state)
{
    ms_metric_record(MS_METRIC_IPC_REFUSED, MS_LABELS(.reason = "short"), 1);
    ms_metric_record(MS_METRIC_IPC_REFUSED, MS_LABELS(.reason = "short"), 2);
    ms_metric_record(MS_METRIC_IPC_REFUSED, MS_LABELS(.reason = "type"), 1);
    assert_true(ms_metric_value(MS_METRIC_IPC_REFUSED, MS_LABELS(.reason = "short")) == 3);
    assert_true(ms_metric_value(MS_METRIC_IPC_REFUSED, MS_LABELS(.reason = "type")) == 1);
    assert_int_equal(count_of(MS_METRIC_IPC_REFUSED), 2);
    ms_metric_record(MS_METRIC_RPC_CONNECTIONS, MS_NO_LABELS, 7);
    ms_metric_record(MS_METRIC_RPC_CONNECTIONS, MS_NO_LABELS, 5);
    assert_true(ms_metric_value(MS_METRIC_RPC_CONNECTIONS, NULL) == 5);
    ms_metric_total(MS_METRIC_HOST_CPU, MS_LABELS(.mode = "user"), 100);
    ms_metric_total(MS_METRIC_HOST_CPU, MS_LABELS(.mode = "user"), 101.5);
    assert_true(ms_metric_value(MS_METRIC_HOST_CPU, MS_LABELS(.mode = "user")) == 101.5);
    /* Counters without labels are there, as 0. */
    assert_non_null(ms_metrics_first(MS_METRIC_RPC_ACCEPTED));
    assert_null(ms_metrics_first(MS_METRIC_HOST_UPTIME));
    /* A label that the metric has not does not make another series; what is no number is not taken. */
    ms_metric_record(MS_METRIC_RPC_CONNECTIONS, MS_LABELS(.job = "1"), 6);
    assert_int_equal(count_of(MS_METRIC_RPC_CONNECTIONS), 1);
    ms_metric_record(MS_METRIC_RPC_CONNECTIONS, NULL, NAN);
    ms_metric_record(MS_METRIC_RPC_ACCEPTED, NULL, -1);
    ms_metric_record(MS_METRIC_RPC_ACCEPTED, NULL, INFINITY);
    ms_metric_record((enum ms_metric)9999, NULL, 1);
    assert_true(ms_metric_value(MS_METRIC_RPC_CONNECTIONS, NULL) == 6);
    assert_true(ms_metric_value(MS_METRIC_RPC_ACCEPTED, NULL) == 0);
}

static void histograms_fold(void **state)
{
    const union ms_labels *labels = MS_LABELS(.name = "MatMul", .device = "0");
    ms_metric_record(MS_METRIC_OPERATOR, labels, 1024e-9); /* exactly at a bound: belongs below it */
    ms_metric_record(MS_METRIC_OPERATOR, labels, 1025e-9);
    ms_metric_record(MS_METRIC_OPERATOR, labels, 100);
    struct ms_histogram more = {.count = 2, .sum = 0.5, .bucket = {[3] = 2}};
    ms_metric_merge(MS_METRIC_OPERATOR, labels, &more);
    const struct ms_histogram *h = ms_metrics_first(MS_METRIC_OPERATOR)->histogram;
    assert_int_equal(h->count, 5);
    assert_int_equal(h->bucket[0], 1);
    assert_int_equal(h->bucket[1], 1);
    assert_int_equal(h->bucket[3], 2);
    assert_int_equal(h->bucket[MS_HISTOGRAM_BOUNDS], 1);
    assert_true(fabs(h->sum - 100.500002049) < 1e-9);
    /* Times in (2^(n-1), 2^n] lie in the bucket whose bound is the next one at or above 2^n. */
    for (unsigned n = 0; n < 64; n++) {
        size_t bucket = ms_histogram_bucket_of_log2(n);
        double top = ldexp(1e-9, (int)n);
        assert_true(bucket == MS_HISTOGRAM_BOUNDS || top <= ms_histogram_bound(bucket));
        assert_true(bucket == 0 || top > ms_histogram_bound(bucket - 1));
    }
    ms_metric_merge(MS_METRIC_RPC_ACCEPTED, NULL, &more); /* not a histogram: nothing */
    assert_true(ms_metric_value(MS_METRIC_RPC_ACCEPTED, NULL) == 0);
}

static void limits_merge_then_refuse(void **state)
{
    uint32_t limit = ms_metric_info[MS_METRIC_OPERATOR].limit;
    for (uint32_t i = 0; i < limit + 1000; i++) {
        char name[32];
        snprintf(name, sizeof(name), "op%u", i);
        ms_metric_record(MS_METRIC_OPERATOR, MS_LABELS(.device = "3", .kind = "Kernel", .name = name), 1e-3);
    }
    assert_int_equal(count_of(MS_METRIC_OPERATOR), limit + 1);
    /* No value is lost: the rest is in "other", under the device it came from. */
    assert_true(ms_metric_value(MS_METRIC_OPERATOR, MS_LABELS(.device = "3", .kind = "other", .name = "other")) ==
                1000);
    const char *name = ms_metric_info[MS_METRIC_OPERATOR].name;
    assert_true(ms_metric_value(MS_METRIC_SERIES_MERGED, MS_LABELS(.name = name)) == 1000);
    assert_true(ms_metric_value(MS_METRIC_SERIES_REFUSED, MS_LABELS(.name = name)) == 0);
    for (uint32_t i = 0; i < limit; i++) { /* labels that do not merge: no room in the end */
        char job[32];
        snprintf(job, sizeof(job), "%u", i);
        ms_metric_record(MS_METRIC_OPERATOR, MS_LABELS(.job = job, .name = "x"), 1e-3);
    }
    assert_true(count_of(MS_METRIC_OPERATOR) <= limit + limit / 4 + 1);
    assert_true(ms_metric_value(MS_METRIC_SERIES_REFUSED, MS_LABELS(.name = name)) > 0);
    /* A series that exists still takes values. */
    ms_metric_record(MS_METRIC_OPERATOR, MS_LABELS(.device = "3", .kind = "Kernel", .name = "op0"), 1e-3);
    assert_true(ms_metric_value(MS_METRIC_OPERATOR, MS_LABELS(.device = "3", .kind = "Kernel", .name = "op0")) == 2);
}

static void limits_can_be_changed(void **state)
{
    ms_metrics_set_limit(MS_METRIC_OPERATOR, 0); /* nothing has a series of its own */
    for (int i = 0; i < 10; i++) {
        char name[16];
        snprintf(name, sizeof(name), "op%d", i);
        ms_metric_record(MS_METRIC_OPERATOR, MS_LABELS(.device = "3", .kind = "Kernel", .name = name), 1e-3);
    }
    assert_int_equal(count_of(MS_METRIC_OPERATOR), 1);
    assert_true(ms_metric_value(MS_METRIC_OPERATOR, MS_LABELS(.device = "3", .kind = "other", .name = "other")) ==
                10);
    assert_int_equal(ms_metrics_open("n", 0), 0); /* a new store has the table's limits */
    ms_metric_record(MS_METRIC_OPERATOR, MS_LABELS(.name = "op"), 1e-3);
    assert_true(ms_metric_value(MS_METRIC_OPERATOR, MS_LABELS(.name = "op")) == 1);
}

static void the_store_has_a_limit(void **state)
{
    assert_int_equal(ms_metrics_open("node1", 100), 0);
    for (int i = 0; i < 500; i++) {
        char pid[16];
        snprintf(pid, sizeof(pid), "%d", i);
        ms_metric_record(MS_METRIC_PROCESS_RESIDENT, MS_LABELS(.pid = pid), 1);
    }
    assert_true(ms_metrics_series() <= 101);
    assert_true(ms_metric_value(MS_METRIC_SERIES_REFUSED, MS_LABELS(.name = "job_process_resident_bytes")) >= 400);
}

static void sweeping_and_ageing(void **state)
{
    size_t before = ms_metrics_series(), memory_b = ms_metrics_memory_b();
    ms_metric_record(MS_METRIC_PROCESS_RESIDENT, MS_LABELS(.job = "1", .pid = "10"), 1);
    ms_metric_record(MS_METRIC_PROCESS_RESIDENT, MS_LABELS(.job = "1", .pid = "11"), 1);
    ms_metric_record(MS_METRIC_PROCESS_RESIDENT, MS_LABELS(.job = "1", .pid = "12"), 1);
    uint64_t mark = ms_metrics_mark();
    ms_metric_record(MS_METRIC_PROCESS_RESIDENT, MS_LABELS(.job = "1", .pid = "11"), 2);
    ms_metrics_sweep(MS_METRIC_PROCESS_RESIDENT, mark);
    assert_int_equal(count_of(MS_METRIC_PROCESS_RESIDENT), 1);
    assert_string_equal(ms_series_label(ms_metrics_first(MS_METRIC_PROCESS_RESIDENT), MS_LABEL_pid), "11");
    ms_metrics_age(3600 * UINT64_C(1000000000));
    assert_int_equal(count_of(MS_METRIC_PROCESS_RESIDENT), 1);
    ms_metrics_age(0);
    assert_int_equal(ms_metrics_series(), before);
    assert_int_equal(ms_metrics_memory_b(), memory_b);
    assert_non_null(ms_metrics_first(MS_METRIC_RPC_ACCEPTED)); /* carries no job: stays */
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
        assert_int_equal(ms_metrics_open("n", 0), 0);
        ms_metric_record(MS_METRIC_IPC_REFUSED, MS_LABELS(.reason = cases[i].given), 1);
        assert_string_equal(ms_series_label(ms_metrics_first(MS_METRIC_IPC_REFUSED), MS_LABEL_reason),
                            cases[i].kept);
    }
    char longest[2000];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    memcpy(longest + MS_LABEL_MAX_B - 2, "\xc3\xa9", 2); /* the cut must not split it */
    assert_int_equal(ms_metrics_open(longest, 0), 0);
    assert_int_equal(strlen(ms_metrics_host()), MS_LABEL_MAX_B - 2);
}

static void closed_store_is_harmless(void **state)
{
    ms_metrics_close();
    ms_metric_record(MS_METRIC_RPC_ACCEPTED, NULL, 1);
    ms_metric_total(MS_METRIC_RPC_ACCEPTED, NULL, 1);
    assert_true(ms_metric_value(MS_METRIC_RPC_ACCEPTED, NULL) == 0);
    assert_null(ms_metrics_first(MS_METRIC_RPC_ACCEPTED));
    ms_metrics_age(0);
}

static char seen[256];
static void see(void *context, const struct ms_record *record)
{
    seen[0] = '\0';
    for (size_t i = 0; i < record->count; i++) {
        strncat(seen, ms_record_key(record, &record->field[i]), sizeof(seen) - strlen(seen) - 1);
        strncat(seen, " ", sizeof(seen) - strlen(seen) - 1);
    }
    assert_true(record->time_ns > UINT64_C(1500000000000000000));
}

static void records_arrive_sorted(void **state)
{
    struct ms_record_sink sink = {.name = "test", .write = see, .context = seen};
    assert_int_equal(ms_record_add_sink(&sink), 0);
    struct ms_record record = {.source = MS_RECORD_NPU};
    ms_record_uint(&record, "timestamp", 5);
    ms_record_text(&record, "deviceId", "0");
    ms_record_float(&record, "cpu_u", 1);
    ms_record_float(&record, "cpu_u", 2);
    ms_record_int(&record, "a", -1);
    ms_record_emit(&record);
    assert_string_equal(seen, "a cpu_u deviceId timestamp ");
    assert_true(ms_record_find(&record, "cpu_u")->f == 2);
    assert_string_equal(ms_record_string(&record, ms_record_find(&record, "deviceId")), "0");
    assert_null(ms_record_find(&record, "b"));
    assert_true(ms_metric_value(MS_METRIC_SINK_RECORDS, MS_LABELS(.sink = "test")) == 1);
    ms_record_free(&record);
    for (int i = 0; i < MS_RECORD_MAX_FIELDS + 10; i++) {
        ms_record_uint(&record, "k", 1);
    }
    assert_int_equal(record.count, MS_RECORD_MAX_FIELDS);
    assert_int_equal(record.left_out, 10);
    ms_record_free(&record);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ms_record_add_sink(&sink), 0);
    }
    assert_int_equal(ms_record_add_sink(&sink), -ENOSPC);
    ms_record_remove_sink(seen);
    seen[0] = '\0';
    ms_record_int(&record, "a", 1);
    ms_record_emit(&record);
    assert_string_equal(seen, "");
    ms_record_free(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(table_is_sound, open_store, close_store),
        cmocka_unit_test_setup_teardown(kinds_of_values, open_store, close_store),
        cmocka_unit_test_setup_teardown(histograms_fold, open_store, close_store),
        cmocka_unit_test_setup_teardown(limits_merge_then_refuse, open_store, close_store),
        cmocka_unit_test_setup_teardown(limits_can_be_changed, open_store, close_store),
        cmocka_unit_test_setup_teardown(the_store_has_a_limit, open_store, close_store),
        cmocka_unit_test_setup_teardown(sweeping_and_ageing, open_store, close_store),
        cmocka_unit_test_setup_teardown(hostile_label_values, open_store, close_store),
        cmocka_unit_test_setup_teardown(closed_store_is_harmless, open_store, close_store),
        cmocka_unit_test_setup_teardown(records_arrive_sorted, open_store, close_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
