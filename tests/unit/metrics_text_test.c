/* SPDX-License-Identifier: Apache-2.0 */
/* Formats: JSON lines, Prometheus text, OTLP requests, event files; byte for byte where other programs read them. */
#include "base/macros.h"
#include "monitor/metrics/otlp_json.h"
#include "monitor/metrics/backend_json.h"
#include "monitor/metrics/text_format.h"
#include "monitor/metrics/tfevents.h"
#include "monitor/store/series.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int begin(void **state)
{
    return mon_metrics_open("node\"1", 0);
}

static int end(void **state)
{
    mon_metrics_close();
    return 0;
}

static void json_lines(void **state)
{
    setenv("TZ", "UTC-2", 1);
    tzset();
    struct mon_record record = {.time_ns = UINT64_C(1772615707250999999)}; /* 2026-03-04 09:15:07.250 UTC */
    struct ms_buffer line = {0};
    mon_record_float(&record, "cpu_u", 88.1254);
    mon_record_float(&record, "bad", NAN);
    mon_record_int(&record, "uptime", -5);
    mon_record_uint(&record, "timestamp", UINT64_MAX);
    mon_record_text(&record, "name", "a\"\\\n\x01");
    mon_record_sort(&record);
    assert_int_equal(mon_json_line(&record, 0, &line), 5);
    ms_buffer_char(&line, '\0');
    assert_string_equal(line.s, "time = 2026-03-04T11:15:07.250Z data = {\"bad\":\"0.000\",\"cpu_u\":\"88.125\","
                                "\"name\":\"a\\\"\\\\\\n\\u0001\",\"timestamp\":18446744073709551615,\"uptime\":-5}");
    unsetenv("TZ");
    tzset();
    mon_record_free(&record);
    /* A record that exceeds the log's line limit becomes several lines, each of them valid JSON. */
    for (int i = 0; i < 1000; i++) {
        char key[64];
        snprintf(key, sizeof(key), "rx_bytes.interface%04d", i);
        mon_record_uint(&record, key, 1234567890);
    }
    size_t first = 0, lines = 0;
    while (first < record.count) {
        line.used = 0;
        first = mon_json_line(&record, first, &line);
        assert_true(line.used <= MON_JSON_LINE_MAX_B);
        const char *data = memchr(line.s, '{', line.used);
        json_t *object = json_loadb(data, line.used - (size_t)(data - line.s), 0, NULL);
        assert_non_null(object);
        json_decref(object);
        lines++;
    }
    assert_int_equal(lines, 3);
    mon_record_free(&record);
    ms_buffer_free(&line);
}

static char *text_of(uint32_t groups)
{
    struct ms_buffer out = {0};
    mon_text_format(groups, &out);
    ms_buffer_char(&out, '\0');
    assert_false(out.failed);
    return out.s;
}

static void prometheus_text(void **state)
{
    mon_metric_record(MON_METRIC_HOST_UPTIME, NULL, 12.5);
    mon_metric_record(MON_METRIC_NPU_TEMPERATURE, MON_LABELS(.device = "0"), -3);
    mon_metric_record(MON_METRIC_L_RX_BYTES, MON_LABELS(.net = "eth0"), 1e16);
    mon_metric_record(MON_METRIC_IPC_REFUSED, MON_LABELS(.reason = "a\\b\"c"), 0.1);
    char *text = text_of(1u << MON_GROUP_HOST | 1u << MON_GROUP_NPU | 1u << MON_GROUP_LEGACY);
    assert_string_equal(text, "# HELP host_uptime_seconds Time since the node started.\n"
                              "# TYPE host_uptime_seconds gauge\n"
                              "host_uptime_seconds{host=\"node\\\"1\"} 12.5\n"
                              "# HELP npu_temperature_celsius Chip temperature.\n"
                              "# TYPE npu_temperature_celsius gauge\n"
                              "npu_temperature_celsius{host=\"node\\\"1\",device=\"0\"} -3\n"
                              "# HELP rx_bytes Bytes received in the last period.\n"
                              "# TYPE rx_bytes gauge\n"
                              "rx_bytes{host_name=\"node\\\"1\",net=\"eth0\"} 1e+16\n");
    free(text);
    text = text_of(1u << MON_GROUP_DAEMON);
    assert_non_null(strstr(text, "dynolog_ipc_refused_total{host=\"node\\\"1\",reason=\"a\\\\b\\\"c\"} 0.1\n"));
    assert_non_null(strstr(text, "dynolog_rpc_accepted_total{host=\"node\\\"1\"} 0\n"));
    free(text);
}

static void numbers(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {1, "1"},
        {-1, "-1"},
        {0.1, "0.1"},
        {-12.5, "-12.5"},
        {69.46, "69.46"},
        {1e15, "1000000000000000"},
        {1e16, "1e+16"},
        {1e-9, "0.000000001"},
        {1e-10, "1e-10"},
        {0.005, "0.005"},
        {1735689600.25, "1735689600.25"},
        {1.024e-06, "0.000001024"},
        {4.294967296, "4.294967296"},
        {1.0 / 3, "0.33333333333333331"},
    };
    struct ms_buffer out = {0};
    for (size_t i = 0; i < MS_COUNT_OF(cases); i++) {
        out.used = 0;
        mon_text_number(&out, cases[i].value);
        ms_buffer_char(&out, '\0');
        assert_string_equal(out.s, cases[i].text);
    }
    unsigned seed = 1;
    for (int i = 0; i < 200000; i++) { /* every number must round-trip */
        double value = ldexp((double)rand_r(&seed) + 1, rand_r(&seed) % 200 - 120);
        value = i % 3 == 0 ? floor(value * 1000) / 1000 : i % 3 == 1 ? -value : value;
        out.used = 0;
        mon_text_number(&out, value);
        ms_buffer_char(&out, '\0');
        assert_true(strtod(out.s, NULL) == value);
    }
    ms_buffer_free(&out);
}

static void prometheus_histogram(void **state)
{
    struct mon_histogram h = {.count = 6, .sum = 4.25, .bucket = {1, 0, 2, [MON_HISTOGRAM_BOUNDS] = 3}};
    mon_metric_merge(MON_METRIC_OPERATOR,
                     MON_LABELS(.job = "1", .rank = "0", .device = "0", .kind = "Kernel", .name = "Add"), &h);
    char *text = text_of(1u << MON_GROUP_OPERATOR);
#define LINE(suffix, le, value)                                                                                        \
    "npu_operator_duration_seconds" suffix                                                                             \
    "{host=\"node\\\"1\",job=\"1\",rank=\"0\",device=\"0\",kind=\"Kernel\",name=\"Add\"" le "} " value "\n"
    assert_non_null(strstr(text, LINE("_bucket", ",le=\"1.024e-06\"", "1")));
    assert_non_null(strstr(text, LINE("_bucket", ",le=\"4.096e-06\"", "1")));
    assert_non_null(strstr(text, LINE("_bucket", ",le=\"1.6384e-05\"", "3")));
    assert_non_null(strstr(text, LINE("_bucket", ",le=\"4.294967296\"", "3")));
    assert_non_null(strstr(text, LINE("_bucket", ",le=\"+Inf\"", "6")));
    assert_non_null(strstr(text, LINE("_sum", "", "4.25") LINE("_count", "", "6")));
    free(text);
}

static size_t requests, points;
static void check_request(void *context, struct ms_buffer *request)
{
    json_error_t error;
    json_t *object = json_loadb(request->s, request->used, 0, &error);
    assert_non_null(object);
    json_t *resource = json_array_get(json_object_get(object, "resourceMetrics"), 0);
    json_t *scope = json_array_get(json_object_get(resource, "scopeMetrics"), 0);
    size_t i, in_request = 0;
    json_t *metric;
    json_array_foreach(json_object_get(scope, "metrics"), i, metric)
    {
        const char *kinds[] = {"sum", "gauge", "histogram"};
        json_t *body = NULL;
        for (size_t k = 0; k < MS_COUNT_OF(kinds) && body == NULL; k++) {
            body = json_object_get(metric, kinds[k]);
        }
        assert_non_null(body);
        in_request += json_array_size(json_object_get(body, "dataPoints"));
        assert_true(json_array_size(json_object_get(body, "dataPoints")) > 0);
    }
    assert_true(in_request > 0 && in_request <= MON_OTLP_POINTS);
    points += in_request;
    requests++;
    json_decref(object);
}

static void otlp_requests(void **state)
{
    requests = points = 0;
    for (int i = 0; i < 2500; i++) {
        char pid[16];
        snprintf(pid, sizeof(pid), "%d", i);
        mon_metric_record(MON_METRIC_PROCESS_RESIDENT, MON_LABELS(.job = "1", .pid = pid), i);
    }
    mon_metric_record(MON_METRIC_OPERATOR, MON_LABELS(.name = "Add\"\n"), 1e-6);
    mon_metric_record(MON_METRIC_L_UPTIME, NULL, 1);
    size_t expected = mon_metrics_series() - 1; /* upstream's names are not sent */
    struct mon_otlp_source source = {"dyno\"log", "1", UINT64_C(1772615707250999999)};
    assert_int_equal(mon_otlp_json(&source, check_request, NULL), 3);
    assert_int_equal(requests, 3);
    assert_int_equal(points, expected);
}

/* Vectors of RFC 3720, B.4, and the common check value. */
static void checksums(void **state)
{
    unsigned char bytes[32];
    memset(bytes, 0, sizeof(bytes));
    assert_int_equal(mon_crc32c(bytes, 32), 0x8a9136aau);
    memset(bytes, 0xff, sizeof(bytes));
    assert_int_equal(mon_crc32c(bytes, 32), 0x62a8ab43u);
    for (unsigned i = 0; i < 32; i++) {
        bytes[i] = (unsigned char)i;
    }
    assert_int_equal(mon_crc32c(bytes, 32), 0x46dd794eu);
    assert_int_equal(mon_crc32c("123456789", 9), 0xe3069283u);
}

static void event_bytes(void **state)
{
    struct ms_buffer out = {0};
    mon_tfevents_scalar(&out, 1.5, 300, "Kernel", 2.0f);
    static const unsigned char payload[] = {
        0x09, 0,    0,    0,    0,    0,   0,   0xf8, 0x3f, /* 1: 1.5 */
        0x10, 0xac, 0x02,                                   /* 2: 300 */
        0x2a, 0x0f, 0x0a, 0x0d,                             /* 5: summary, 1: value */
        0x0a, 0x06, 'K',  'e',  'r',  'n', 'e', 'l',        /* 1: tag */
        0x15, 0,    0,    0,    0x40,                       /* 2: 2.0 */
    };
    assert_int_equal(out.used, 12 + sizeof(payload) + 4);
    assert_int_equal(out.s[0], sizeof(payload));
    assert_memory_equal(out.s + 12, payload, sizeof(payload));
    ms_buffer_free(&out);
    char longest[4096];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    mon_tfevents_scalar(&out, 1e300, -1, longest, 0);
    assert_true(out.used < 800);
    ms_buffer_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(json_lines, begin, end),
        cmocka_unit_test_setup_teardown(prometheus_text, begin, end),
        cmocka_unit_test_setup_teardown(numbers, begin, end),
        cmocka_unit_test_setup_teardown(prometheus_histogram, begin, end),
        cmocka_unit_test_setup_teardown(otlp_requests, begin, end),
        cmocka_unit_test_setup_teardown(checksums, begin, end),
        cmocka_unit_test_setup_teardown(event_bytes, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
