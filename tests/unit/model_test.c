/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the cases of tests/model: the rows, reports and log lines that their events produce.
 *
 *     model_test                      all cases
 *     model_test --update FILE...     writes the output into the files; review the difference before committing
 *     model_test --dump FORMAT FILE DIR      leaves the dump (csv or db) in DIR, for other tests
 *
 * Each case is run once normally, and then once for each event with the model saved and restored before it, which
 * must change nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "model_case.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same(const char *case_path, const char *what, const char *expected, const char *actual)
{
    if (strcmp(expected, actual) == 0) {
        return true;
    }
    size_t at = 0, line = 1, line_start = 0;
    for (; expected[at] != 0 && expected[at] == actual[at]; at++) {
        if (expected[at] == '\n') {
            line++;
            line_start = at + 1;
        }
    }
    fprintf(stderr, "%s: %s differs in line %zu\n  expected: %.*s\n  actual:   %.*s\n", case_path, what, line,
            (int)strcspn(expected + line_start, "\n"), expected + line_start, (int)strcspn(actual + line_start, "\n"),
            actual + line_start);
    return false;
}

static void run_case(void **state)
{
    const char *path = *state;
    struct model_case c;
    assert_int_equal(case_read(path, &c), 0);
    assert_true(c.section_count != 0);
    struct case_result whole;
    assert_int_equal(case_run(&c, MS_DUMP_CSV, SIZE_MAX, &whole), 0);
    bool ok = true;
    for (size_t i = 0; i < c.section_count; i++) {
        char *actual = case_actual(&whole, c.sections[i].name);
        ok = same(path, c.sections[i].name, c.sections[i].text, actual != NULL ? actual : "") && ok;
        free(actual);
    }
    assert_true(ok);
    /* a dump that waits for late attributes queries the model that it was created for */
    bool late = (c.options.analysis & (MS_ANALYSIS_DECOMPOSE | MS_ANALYSIS_INEFFICIENT)) != 0;
    for (size_t split = 1; !late && split < c.event_count; split++) {
        struct case_result result;
        assert_int_equal(case_run(&c, MS_DUMP_CSV, split, &result), 0);
        for (size_t i = 0; i < c.section_count; i++) {
            if (strncmp(c.sections[i].name, "device_", 7) == 0) {
                char *actual = case_actual(&result, c.sections[i].name);
                char what[96];
                snprintf(what, sizeof(what), "%s, saved before event %zu,", c.sections[i].name, split);
                ok = same(path, what, c.sections[i].text, actual != NULL ? actual : "") && ok;
                free(actual);
            }
        }
        case_result_free(&result);
        assert_true(ok);
    }
    case_result_free(&whole);
    case_free(&c);
}

static int update(const char *path)
{
    struct model_case c;
    struct case_result result;
    if (case_read(path, &c) != 0 || case_run(&c, MS_DUMP_CSV, SIZE_MAX, &result) != 0) {
        fprintf(stderr, "%s: cannot be run\n", path);
        return 1;
    }
    FILE *f = fopen(path, "w");
    if (f == NULL) {
        perror(path);
        return 1;
    }
    fputs(c.head, f);
    for (size_t i = 0; i < c.section_count; i++) {
        char *actual = case_actual(&result, c.sections[i].name);
        fprintf(f, "--- %s\n%s", c.sections[i].name, actual != NULL ? actual : "");
        free(actual);
    }
    fclose(f);
    case_result_free(&result);
    case_free(&c);
    return 0;
}

static int leave_dump(const char *format, const char *path, const char *directory)
{
    struct model_case c;
    struct case_result result;
    setenv("TMPDIR", directory, 1);
    if (case_read(path, &c) != 0 ||
        case_run(&c, strcmp(format, "db") == 0 ? MS_DUMP_DB : MS_DUMP_CSV, SIZE_MAX, &result) != 0) {
        fprintf(stderr, "%s: cannot be run\n", path);
        return 1;
    }
    puts(result.dir);
    result.dir[0] = 0;
    case_result_free(&result);
    case_free(&c);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "--update") == 0) {
        int rc = 0;
        for (int i = 2; i < argc; i++) {
            rc |= update(argv[i]);
        }
        return rc;
    }
    if (argc == 5 && strcmp(argv[1], "--dump") == 0) {
        return leave_dump(argv[2], argv[3], argv[4]);
    }
    glob_t found;
    if (glob(MODEL_CASES "/*.txt", 0, NULL, &found) != 0) {
        fprintf(stderr, "no cases in %s\n", MODEL_CASES);
        return 1;
    }
    struct CMUnitTest *tests = calloc(found.gl_pathc, sizeof(*tests));
    for (size_t i = 0; i < found.gl_pathc; i++) {
        tests[i] = (struct CMUnitTest){
            .name = strrchr(found.gl_pathv[i], '/') + 1, .test_func = run_case, .initial_state = found.gl_pathv[i]};
    }
    int rc = _cmocka_run_group_tests("model cases", tests, found.gl_pathc, NULL, NULL);
    free(tests);
    globfree(&found);
    return rc;
}
