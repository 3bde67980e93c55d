/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "monitor/daemon/logger.h"
#include "monitor/store/series.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char directory[] = "/tmp/logger_test_XXXXXX", path[64];

static char *content(const char *file)
{
    static char text[1 << 20];
    FILE *in = fopen(file, "r");
    size_t n = in != NULL ? fread(text, 1, sizeof(text) - 1, in) : 0;
    if (in != NULL) {
        fclose(in);
    }
    text[n] = '\0';
    return text;
}

static int setup(void **state)
{
    strcpy(directory + strlen(directory) - 6, "XXXXXX");
    snprintf(path, sizeof(path), "%s/log", mkdtemp(directory));
    return 0;
}

static int teardown(void **state)
{
    char command[128];
    mon_log_close();
    snprintf(command, sizeof(command), "rm -rf %s", directory);
    return system(command);
}

static void lines_have_glog_format(void **state)
{
    regex_t line;
    struct stat st;
    assert_int_equal(mon_log_open(&(struct mon_log_options){.file = path}), 0);
    mon_log_started();
    MON_LOG_INFO("text %d", 5);
    assert_int_equal(
        regcomp(&line,
                "^I[0-9]{8} [0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{6} [0-9]+ monitor_logger_test\\.c:[0-9]+\\] "
                "text 5\n$",
                REG_EXTENDED | REG_NOSUB),
        0);
    assert_int_equal(regexec(&line, content(path), 0, NULL, 0), 0);
    regfree(&line);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 027, 0);
    assert_string_equal(mon_log_path(), path);
}

static void lines_cannot_be_forged(void **state)
{
    assert_int_equal(mon_log_open(&(struct mon_log_options){.file = path}), 0);
    mon_log_started();
    MON_LOG_INFO("%s", "a\nE20260101 forged\r\x1b[2J");
    char *text = content(path);
    assert_non_null(strstr(text, "a?E20260101 forged??[2J\n"));
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
}

static void long_lines_are_truncated(void **state)
{
    static char huge[100000];
    memset(huge, 'h', sizeof(huge) - 1);
    assert_int_equal(mon_log_open(&(struct mon_log_options){.file = path}), 0);
    mon_log_started();
    MON_LOG_INFO("%s", huge);
    MON_LOG_INFO("after");
    char *text = content(path);
    assert_true(strlen(text) < 20000);
    assert_non_null(strstr(text, "after\n"));
}

static void levels_below_the_minimum_are_not_logged(void **state)
{
    assert_int_equal(mon_log_open(&(struct mon_log_options){.file = path, .min_level = MON_LEVEL_WARNING}), 0);
    mon_log_started();
    MON_LOG_INFO("no");
    MON_LOG_WARNING("yes");
    assert_null(strstr(content(path), "no"));
    assert_non_null(strstr(content(path), "yes"));
}

static void files_rotate_and_old_ones_are_removed(void **state)
{
    char name[80];
    assert_int_equal(mon_log_open(&(struct mon_log_options){.file = path, .max_b = 2000, .keep = 2}), 0);
    mon_log_started();
    for (int i = 0; i < 200; i++) {
        MON_LOG_INFO("line %d of many, with some text to fill the file up", i);
    }
    struct stat st;
    for (int i = 0; i <= 2; i++) {
        snprintf(name, sizeof(name), i == 0 ? "%s" : "%s.%d", path, i);
        assert_int_equal(stat(name, &st), 0);
        assert_true(st.st_size > 0 && st.st_size <= 2000);
    }
    snprintf(name, sizeof(name), "%s.3", path);
    assert_int_equal(stat(name, &st), -1);
    assert_non_null(strstr(content(path), "line 199 "));
    /* No line is lost between files. */
    snprintf(name, sizeof(name), "%s.1", path);
    char *old = strdup(content(name));
    char *last = strrchr(old, ']') + 7, *first = strstr(content(path), "line ") + 5;
    assert_int_equal(atoi(last) + 1, atoi(first));
    free(old);
}

static void logrotate_may_rename_the_file(void **state)
{
    char moved[80];
    snprintf(moved, sizeof(moved), "%s.moved", path);
    assert_int_equal(mon_log_open(&(struct mon_log_options){.file = path}), 0);
    mon_log_started();
    MON_LOG_INFO("before");
    assert_int_equal(rename(path, moved), 0);
    MON_LOG_INFO("between");
    assert_int_equal(mon_log_reopen(), 0);
    MON_LOG_INFO("after");
    assert_non_null(strstr(content(moved), "between"));
    assert_null(strstr(content(moved), "after"));
    assert_non_null(strstr(content(path), "after"));
}

static void unwritable_file_is_an_error(void **state)
{
    assert_int_equal(mon_log_open(&(struct mon_log_options){.file = "/does/not/exist/log"}), -ENOENT);
    assert_int_equal(mon_log_open(&(struct mon_log_options){.file = directory}), -EISDIR);
}

static void flood_logs_five_lines(void **state)
{
    assert_int_equal(mon_metrics_open("node", 0), 0);
    assert_int_equal(mon_log_open(&(struct mon_log_options){.file = path}), 0);
    mon_log_started();
    for (int i = 0; i < 10000; i++) {
        MON_LOG_LIMITED(MON_LEVEL_WARNING, "flood %d", i);
    }
    int lines = 0;
    for (char *at = content(path); (at = strchr(at, '\n')) != NULL; at++) {
        lines++;
    }
    assert_int_equal(lines, 5);
    assert_int_equal((int)mon_metric_value(MON_METRIC_LOG_SUPPRESSED, MON_NO_LABELS), 9995);
    mon_metrics_close();
    /* The next period starts with the number of suppressed lines. */
    struct mon_log_limit limit = {.period_start_ns = 1, .lines = 5, .suppressed = 17};
    assert_true(mon_log_allowed(&limit, __FILE__, __LINE__));
    assert_non_null(strstr(content(path), "17 more lines"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lines_have_glog_format, setup, teardown),
        cmocka_unit_test_setup_teardown(lines_cannot_be_forged, setup, teardown),
        cmocka_unit_test_setup_teardown(long_lines_are_truncated, setup, teardown),
        cmocka_unit_test_setup_teardown(levels_below_the_minimum_are_not_logged, setup, teardown),
        cmocka_unit_test_setup_teardown(files_rotate_and_old_ones_are_removed, setup, teardown),
        cmocka_unit_test_setup_teardown(logrotate_may_rename_the_file, setup, teardown),
        cmocka_unit_test_setup_teardown(unwritable_file_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(flood_logs_five_lines, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
