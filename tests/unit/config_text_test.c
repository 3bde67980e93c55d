/* SPDX-License-Identifier: Apache-2.0 */
/* Configuration strings, byte for byte as existing clients and command lines expect them, and boundary values of
 * options. */
#include "monitor/wire/config_text.h"
#include "base/macros.h"

#include <errno.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KEEP 32

struct filled {
    struct mon_option_values values;
    struct ms_buffer text[KEEP];
    size_t used;
};

/* Sets options as a command line would: name, value, ..., NULL. The value of a switch is "". */
static void fill(const struct mon_config_command *command, struct filled *out, ...)
{
    va_list args;
    memset(out, 0, sizeof(*out));
    va_start(args, out);
    for (const char *name; (name = va_arg(args, const char *)) != NULL;) {
        const char *value = va_arg(args, const char *);
        const struct mon_option *option = mon_option_find(command->options, command->option_count, name, strlen(name));
        char why[MON_CONFIG_WHY_B];
        assert_non_null(option);
        if (option->argument == NULL) {
            out->values.value[option - command->options] = "true";
            continue;
        }
        struct ms_buffer *text = &out->text[out->used++];
        assert_int_equal(option->check(option, value, text, why), 0);
        ms_buffer_char(text, '\0');
        out->values.value[option - command->options] = text->s;
    }
    va_end(args);
}

static void expect(const struct mon_config_command *command, struct filled *filled, const char *text)
{
    struct ms_buffer written = {0};
    mon_config_write(command, &filled->values, &written);
    ms_buffer_char(&written, '\0');
    assert_string_equal(written.s, text);
    assert_ptr_equal(mon_config_recognise(written.s, written.used - 1), command);
    ms_buffer_free(&written);
    for (size_t i = 0; i < filled->used; i++) {
        ms_buffer_free(&filled->text[i]);
    }
}

static void test_nputrace(void **state)
{
    struct filled filled;
    fill(&mon_config_nputrace, &filled, "log-file", "/tmp/profile_data", "start-step", "10", "iterations", "2",
         "activities", "CPU,NPU", "analyse", "", "data-simplification", "false", NULL);
    expect(&mon_config_nputrace, &filled,
           "ACTIVITIES_LOG_FILE=/tmp/profile_data\nPROFILE_START_ITERATION=0\nPROFILE_START_STEP=10\n"
           "ACTIVITIES_ITERATIONS=2\nPROFILE_RECORD_SHAPES=false\nPROFILE_PROFILE_MEMORY=false\n"
           "PROFILE_WITH_STACK=false\nPROFILE_WITH_FLOPS=false\nPROFILE_WITH_MODULES=false\n"
           "PROFILE_ACTIVITIES=CPU,NPU\nPROFILE_ANALYSE=true\nPROFILE_ASYNC_MODE=false\n"
           "PROFILE_PROFILER_LEVEL=Level0\nPROFILE_AIC_METRICS=AiCoreNone\nPROFILE_L2_CACHE=false\n"
           "PROFILE_OP_ATTR=false\nPROFILE_MSPROF_TX=false\nPROFILE_GC_DETECT_THRESHOLD=None\n"
           "PROFILE_DATA_SIMPLIFICATION=false\nPROFILE_EXPORT_TYPE=Text\nPROFILE_HOST_SYS=None\n"
           "PROFILE_SYS_IO=false\nPROFILE_SYS_INTERCONNECTION=false\nPROFILE_MSTX_DOMAIN_INCLUDE=None\n"
           "PROFILE_MSTX_DOMAIN_EXCLUDE=None\nPROFILE_IS_RANK=false\nPROFILE_RANK_LIST=None");
}

static void test_nputrace_everything(void **state)
{
    struct filled filled;
    fill(&mon_config_nputrace, &filled, "log-file", "/d", "start-step", "-1", "iterations", "+1", "record-shapes", "",
         "profile-memory", "", "with-stack", "", "with-flops", "", "with-modules", "", "activities", "NPU",
         "async-mode", "", "profiler-level", "Level_none", "aic-metrics", "MemoryUB", "l2-cache", "", "op-attr", "",
         "msprof-tx", "", "gc-detect-threshold", "1.50", "export-type", "Db", "host-sys", "cpu, mem ,osrt", "sys-io",
         "", "sys-interconnection", "", "mstx-domain-include", "a,b", "mstx-domain-exclude", "c", "rank-list", "0,7",
         NULL);
    expect(&mon_config_nputrace, &filled,
           "ACTIVITIES_LOG_FILE=/d\nPROFILE_START_ITERATION=0\nPROFILE_START_STEP=-1\nACTIVITIES_ITERATIONS=1\n"
           "PROFILE_RECORD_SHAPES=true\nPROFILE_PROFILE_MEMORY=true\nPROFILE_WITH_STACK=true\n"
           "PROFILE_WITH_FLOPS=true\nPROFILE_WITH_MODULES=true\nPROFILE_ACTIVITIES=NPU\nPROFILE_ANALYSE=false\n"
           "PROFILE_ASYNC_MODE=true\nPROFILE_PROFILER_LEVEL=Level_none\nPROFILE_AIC_METRICS=MemoryUB\n"
           "PROFILE_L2_CACHE=true\nPROFILE_OP_ATTR=true\nPROFILE_MSPROF_TX=true\nPROFILE_GC_DETECT_THRESHOLD=1.5\n"
           "PROFILE_DATA_SIMPLIFICATION=true\nPROFILE_EXPORT_TYPE=Db\nPROFILE_HOST_SYS=cpu,mem,osrt\n"
           "PROFILE_SYS_IO=true\nPROFILE_SYS_INTERCONNECTION=true\nPROFILE_MSTX_DOMAIN_INCLUDE=a,b\n"
           "PROFILE_MSTX_DOMAIN_EXCLUDE=c\nPROFILE_IS_RANK=true\nPROFILE_RANK_LIST=0,7");
}

static void test_npu_monitor(void **state)
{
    struct filled filled;
    fill(&mon_config_npu_monitor, &filled, "npu-monitor-start", "", "report-interval-s", "30", "mspti-activity-kind",
         "Marker,Kernel", NULL);
    expect(&mon_config_npu_monitor, &filled,
           "NPU_MONITOR_START=true\nNPU_MONITOR_STOP=false\nREPORT_INTERVAL_S=30\nDURATION=0\n"
           "MSPTI_ACTIVITY_KIND=Marker,Kernel\nNPU_MONITOR_LOG_FILE=\nNPU_MONITOR_EXPORT_TYPE=DB\n"
           "JSONL_ROTATE_LOG_LINES=\nJSONL_ROTATE_LOG_FILES=\nNPU_MONITOR_FILTER=");
    fill(&mon_config_npu_monitor, &filled, "npu-monitor-stop", "", "duration", "0.5", "log-file", "/x", "export-type",
         "Jsonl", "json-rotate-log-lines", "100", "json-rotate-log-files", "-1", "filter", "Kernel:Mul", NULL);
    expect(&mon_config_npu_monitor, &filled,
           "NPU_MONITOR_START=false\nNPU_MONITOR_STOP=true\nREPORT_INTERVAL_S=60\nDURATION=0.5\n"
           "MSPTI_ACTIVITY_KIND=Marker\nNPU_MONITOR_LOG_FILE=/x\nNPU_MONITOR_EXPORT_TYPE=Jsonl\n"
           "JSONL_ROTATE_LOG_LINES=100\nJSONL_ROTATE_LOG_FILES=-1\nNPU_MONITOR_FILTER=Kernel:Mul");
}

static void test_gputrace(void **state)
{
    struct filled filled;
    fill(&mon_config_gputrace, &filled, "log-file", "/tmp/t.json", NULL);
    expect(&mon_config_gputrace, &filled,
           "ACTIVITIES_LOG_FILE=/tmp/t.json\nPROFILE_START_TIME=0\nACTIVITIES_DURATION_MSECS=500\n"
           "PROFILE_REPORT_INPUT_SHAPES=false\nPROFILE_PROFILE_MEMORY=false\nPROFILE_WITH_STACK=false\n"
           "PROFILE_WITH_FLOPS=false\nPROFILE_WITH_MODULES=false");
    fill(&mon_config_gputrace, &filled, "log-file", "t.json", "iterations", "3", "profile-start-iteration-roundup",
         "10", "profile-memory", "", "with-stacks", "", NULL);
    expect(&mon_config_gputrace, &filled,
           "ACTIVITIES_LOG_FILE=t.json\nPROFILE_START_ITERATION=0\nPROFILE_START_ITERATION_ROUNDUP=10\n"
           "ACTIVITIES_ITERATIONS=3\nPROFILE_REPORT_INPUT_SHAPES=false\nPROFILE_PROFILE_MEMORY=true\n"
           "PROFILE_WITH_STACK=true\nPROFILE_WITH_FLOPS=false\nPROFILE_WITH_MODULES=false");
    fill(&mon_config_gputrace, &filled, "log-file", "t.json", "duration-ms", "2000", "profile-start-time",
         "1767225600000", "profile-memory", "", NULL);
    expect(&mon_config_gputrace, &filled,
           "ACTIVITIES_LOG_FILE=t.json\nPROFILE_START_TIME=1767225600000\nACTIVITIES_DURATION_MSECS=2000\n"
           "PROFILE_REPORT_INPUT_SHAPES=false\nPROFILE_PROFILE_MEMORY=true\nPROFILE_MEMORY=true\n"
           "PROFILE_MEMORY_DURATION_MSECS=2000\nPROFILE_WITH_STACK=false\nPROFILE_WITH_FLOPS=false\n"
           "PROFILE_WITH_MODULES=false");
}

static void test_values(void **state)
{
    char longest[MON_CONFIG_VALUE_MAX_B + 2];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    static const char *const refused = "?";
    const struct {
        const struct mon_config_command *command;
        const char *name, *value, *canonical; /* refused: the value is rejected */
        const char *why;                      /* NULL: any */
    } cases[] = {
        {&mon_config_nputrace, "iterations", "0", refused, "Must be a positive integer"},
        {&mon_config_nputrace, "iterations", "-1", refused, "Must be a positive integer"},
        {&mon_config_nputrace, "iterations", "x", refused, "Must be a positive integer"},
        {&mon_config_nputrace, "iterations", "", refused, NULL},
        {&mon_config_nputrace, "iterations", "9223372036854775807", "9223372036854775807", NULL},
        {&mon_config_nputrace, "iterations", "9223372036854775808", refused, NULL},
        {&mon_config_nputrace, "iterations", "007", "7", NULL},
        {&mon_config_nputrace, "iterations", "0x7", refused, NULL},
        {&mon_config_nputrace, "iterations", " 7", refused, NULL},
        {&mon_config_nputrace, "start-step", "-1", "-1", NULL},
        {&mon_config_nputrace, "start-step", "-2", refused, "Must be non-negative integer or -1"},
        {&mon_config_nputrace, "job-id", "18446744073709551615", "18446744073709551615", NULL},
        {&mon_config_nputrace, "job-id", "18446744073709551616", refused, NULL},
        {&mon_config_nputrace, "job-id", "-1", refused, NULL},
        {&mon_config_nputrace, "process-limit", "4294967295", "4294967295", NULL},
        {&mon_config_nputrace, "process-limit", "4294967296", refused, NULL},
        {&mon_config_nputrace, "pids", "1, 2,3", "1,2,3", NULL},
        {&mon_config_nputrace, "pids", "1,,3", refused, NULL},
        {&mon_config_nputrace, "pids", "1,2]", refused, NULL},
        {&mon_config_nputrace, "pids", "", refused, NULL},
        {&mon_config_nputrace, "activities", "CPU, NPU", refused, NULL},
        {&mon_config_nputrace, "profiler-level", "level0", refused, NULL},
        {&mon_config_nputrace, "profiler-level", "", refused, NULL},
        {&mon_config_nputrace, "host-sys", "cpu,gpu", refused, NULL},
        {&mon_config_nputrace, "host-sys", "None", "None", NULL},
        {&mon_config_nputrace, "rank-list", "0,a", refused, NULL},
        {&mon_config_nputrace, "mstx-domain-include", longest, refused,
         "The input string is too long, max allowed: 1024"},
        {&mon_config_nputrace, "mstx-domain-include", longest + 1, longest + 1, NULL},
        {&mon_config_nputrace, "mstx-domain-include", "a\nACTIVITIES_LOG_FILE=/etc", refused, NULL},
        {&mon_config_nputrace, "log-file", "/a\n/b", refused, NULL},
        {&mon_config_nputrace, "log-file", "/a=b", refused, NULL},
        {&mon_config_nputrace, "gc-detect-threshold", "1e10", "10000000000", NULL},
        {&mon_config_nputrace, "gc-detect-threshold", "nan", refused, NULL},
        {&mon_config_npu_monitor, "duration", "10.0", "10", NULL},
        {&mon_config_npu_monitor, "duration", "0.1", "0.1", NULL},
        {&mon_config_npu_monitor, "duration", "1e-7", "0.0000001", NULL},
        {&mon_config_npu_monitor, "duration", "16777216", "16777216", NULL},
        {&mon_config_npu_monitor, "duration", "3.4e38", "340000000000000000000000000000000000000", NULL},
        {&mon_config_npu_monitor, "duration", "-1", refused, NULL},
        {&mon_config_npu_monitor, "duration", "-0", "0", NULL},
        {&mon_config_npu_monitor, "duration", "1e39", refused, NULL},
        {&mon_config_npu_monitor, "duration", "5s", refused, NULL},
        {&mon_config_npu_monitor, "report-interval-s", "0", "0", NULL},
        {&mon_config_npu_monitor, "mspti-activity-kind", "Kernel,Nothing", refused, NULL},
        {&mon_config_npu_monitor, "json-rotate-log-lines", "99", refused, NULL},
        {&mon_config_npu_monitor, "json-rotate-log-lines", "500000", "500000", NULL},
        {&mon_config_npu_monitor, "json-rotate-log-lines", "500001", refused, NULL},
        {&mon_config_npu_monitor, "json-rotate-log-lines", "", "", NULL},
        {&mon_config_npu_monitor, "json-rotate-log-files", "1", refused, NULL},
        {&mon_config_npu_monitor, "json-rotate-log-files", "2", "2", NULL},
    };
    for (size_t i = 0; i < MS_COUNT_OF(cases); i++) {
        const struct mon_config_command *command = cases[i].command;
        const struct mon_option *option =
            mon_option_find(command->options, command->option_count, cases[i].name, strlen(cases[i].name));
        struct ms_buffer out = {0};
        char why[MON_CONFIG_WHY_B] = "";
        int rc = option->check(option, cases[i].value, &out, why);
        ms_buffer_char(&out, '\0');
        if (cases[i].canonical == refused) {
            assert_int_equal(rc, -EINVAL);
            assert_true(why[0] != '\0');
            if (cases[i].why != NULL) {
                assert_string_equal(why, cases[i].why);
            }
        } else {
            assert_int_equal(rc, 0);
            assert_string_equal(out.s, cases[i].canonical);
        }
        ms_buffer_free(&out);
    }
}

/* Processes receive texts with blanks before each line. */
static void test_find(void **state)
{
    static const char text[] = "\n            A_KEY=1\n    KEY = some value  \nKEY2=\n  EMPTY\n REQUEST_TRACE_ID=12";
    size_t n = 0;
    const char *value = mon_config_find(text, strlen(text), "KEY", &n);
    assert_non_null(value);
    assert_int_equal(n, 10);
    assert_memory_equal(value, "some value", 10);
    value = mon_config_find(text, strlen(text), "KEY2", &n);
    assert_non_null(value);
    assert_int_equal(n, 0);
    assert_null(mon_config_find(text, strlen(text), "EMPTY", &n));
    assert_null(mon_config_find(text, strlen(text), "EY", &n));
    assert_null(mon_config_find(text, 0, "KEY", &n));
    value = mon_config_find(text, strlen(text), "REQUEST_TRACE_ID", &n);
    assert_int_equal(n, 2);
    assert_memory_equal(value, "12", 2);
}

static void test_recognise(void **state)
{
    static const struct {
        const char *text;
        const struct mon_config_command *command;
    } cases[] = {
        {"", &mon_config_gputrace},
        {"NPU_MONITOR_START=true", &mon_config_npu_monitor},
        {" NPU_MONITOR_START=true", &mon_config_gputrace}, /* only at the very beginning, as in the original */
        {"ACTIVITIES_LOG_FILE=x\nPROFILE_ACTIVITIES=CPU", &mon_config_nputrace},
        {"PROFILE_RECORD_SHAPES=false", &mon_config_nputrace},
        {"ACTIVITIES_LOG_FILE=/PROFILE_ACTIVITIES", &mon_config_gputrace},
    };
    for (size_t i = 0; i < MS_COUNT_OF(cases); i++) {
        assert_ptr_equal(mon_config_recognise(cases[i].text, strlen(cases[i].text)), cases[i].command);
    }
    assert_null(mon_config_unsafe("A=1\n\tB=2\n", 9));
    assert_non_null(mon_config_unsafe("A=\x1b[2J", 6));
    assert_non_null(mon_config_unsafe("A\0B", 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nputrace),    cmocka_unit_test(test_nputrace_everything),
        cmocka_unit_test(test_npu_monitor), cmocka_unit_test(test_gputrace),
        cmocka_unit_test(test_values),      cmocka_unit_test(test_find),
        cmocka_unit_test(test_recognise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
