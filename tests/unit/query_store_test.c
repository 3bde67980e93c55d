/* SPDX-License-Identifier: Apache-2.0 */
/* Records of queries: unchanged when a table moves from memory to a file, and new ones are zero. */
#include "memscope/query/store.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>

static void test_records_move_into_a_file(void **state)
{
    (void)state;
    enum { COUNT = 300000, RECORD_B = 400 }; /* 120 MB: exceeds the memory limit */
    struct ms_records records = {0};
    for (uint64_t i = 0; i < COUNT; i++) {
        uint64_t *record = ms_records_add(&records, RECORD_B);
        assert_non_null(record);
        assert_int_equal(record[0], 0);
        assert_int_equal(record[RECORD_B / sizeof(*record) - 1], 0);
        record[0] = i;
        record[RECORD_B / sizeof(*record) - 1] = ~i;
    }
    assert_int_not_equal(records.fd, 0);
    for (uint64_t i = 0; i < COUNT; i++) {
        const uint64_t *record = (const uint64_t *)(records.base + i * RECORD_B);
        assert_int_equal(record[0], i);
        assert_int_equal(record[RECORD_B / sizeof(*record) - 1], ~i);
    }
    ms_records_free(&records);
    assert_null(records.base);
}

static void test_record_larger_than_all_previous(void **state)
{
    (void)state;
    struct ms_records records = {0};
    assert_non_null(ms_records_add(&records, 1));
    char *large = ms_records_add(&records, 90u << 20);
    assert_non_null(large);
    large[(90u << 20) - 1] = 1;
    assert_int_equal(records.used_b, (90u << 20) + 1);
    ms_records_free(&records);
}

/* A full disk is an error, not a signal. */
static void test_full_disk(void **state)
{
    (void)state;
    struct rlimit limit, none = {.rlim_cur = 1u << 20};
    getrlimit(RLIMIT_FSIZE, &limit);
    none.rlim_max = limit.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &none);
    struct ms_records records = {0};
    void *record;
    size_t count = 0;
    while ((record = ms_records_add(&records, 1u << 20)) != NULL && count < 1000) {
        count++;
    }
    int error = errno;
    setrlimit(RLIMIT_FSIZE, &limit);
    assert_null(record);
    assert_int_equal(error, EFBIG);
    assert_true(count >= 60);
    ms_records_free(&records);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_move_into_a_file),
        cmocka_unit_test(test_record_larger_than_all_previous),
        cmocka_unit_test(test_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
