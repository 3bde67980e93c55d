/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/macros.h"
#include "base/bar.h"
#include "base/parse.h"

#include <errno.h>

static void numbers_must_be_whole_and_in_range(void **state)
{
    uint64_t u = 7;
    assert_int_equal(ms_parse_u64("42", 0, 100, &u), 0);
    assert_int_equal(u, 42);
    assert_int_equal(ms_parse_u64("0x10", 0, 100, &u), 0);
    assert_int_equal(u, 16);
    static const char *const bad[] = {"", " 1", "1 ", "-1", "+1", "1x", "0x", "x", NULL};
    for (size_t i = 0; i < MS_COUNT_OF(bad); i++) {
        assert_int_equal(ms_parse_u64(bad[i], 0, 100, &u), -EINVAL);
    }
    assert_int_equal(ms_parse_u64("101", 0, 100, &u), -ERANGE);
    assert_int_equal(ms_parse_u64("99999999999999999999999", 0, UINT64_MAX, &u), -ERANGE);
    assert_int_equal(u, 16);
    int64_t i = 5;
    assert_int_equal(ms_parse_i64("-3", -10, 10, &i), 0);
    assert_int_equal(i, -3);
    assert_int_equal(ms_parse_i64("11", -10, 10, &i), -ERANGE);
    assert_int_equal(ms_parse_i64("1e2", -10, 10, &i), -EINVAL);
    assert_int_equal(i, -3);
}

static void sizes_take_binary_letters(void **state)
{
    static const struct {
        const char *text;
        uint64_t size_b;
    } good[] = {
        {"0", 0},
        {"512", 512},
        {"1K", 1024},
        {"1k", 1024},
        {"64G", 64ull << 30},
        {"64GiB", 64ull << 30},
        {"64GB", 64ull << 30},
        {"1.5M", 3ull << 19},
        {"2T", 2ull << 40},
        {"7B", 7},
    };
    for (size_t i = 0; i < MS_COUNT_OF(good); i++) {
        uint64_t b = 1;
        assert_int_equal(ms_parse_size(good[i].text, &b), 0);
        assert_int_equal(b, good[i].size_b);
    }
    static const char *const bad[] = {"", "G", "-1G", "1X", "1GG", "1 G", "1e3", "0x10", "inf", "nan", "1iB", NULL};
    for (size_t i = 0; i < MS_COUNT_OF(bad); i++) {
        uint64_t b = 1;
        assert_int_equal(ms_parse_size(bad[i], &b), -EINVAL);
        assert_int_equal(b, 1);
    }
    uint64_t b;
    assert_int_equal(ms_parse_size("99999999P", &b), -ERANGE);
}

static void lists_are_strict(void **state)
{
    uint64_t v[3];
    size_t n = 0;
    assert_int_equal(ms_parse_list("0, 2 ,5", 63, v, 3, &n), 0);
    assert_int_equal(n, 3);
    assert_int_equal(v[2], 5);
    assert_int_equal(ms_parse_list("1,2,3,4", 63, v, 3, &n), -ERANGE);
    assert_int_equal(ms_parse_list("64", 63, v, 3, &n), -ERANGE);
    static const char *const bad[] = {"", ",", "1,", ",1", "1 2", "a", NULL};
    for (size_t i = 0; i < MS_COUNT_OF(bad); i++) {
        assert_int_equal(ms_parse_list(bad[i], 63, v, 3, &n), -EINVAL);
    }
}

static void sizes_print_short(void **state)
{
    char out[16];
    ms_format_size(640, out);
    assert_string_equal(out, "640 B");
    ms_format_size(1536, out);
    assert_string_equal(out, "1.5 KiB");
    ms_format_size(64ull << 30, out);
    assert_string_equal(out, "64 GiB");
    ms_format_size(UINT64_MAX, out);
    assert_string_equal(out, "16 EiB");
}

static void bars(void **state)
{
    (void)state;
    char bar[MS_BAR_B];
    ms_bar(bar, 0);
    assert_string_equal("[>                                       ]   0 %", bar);
    ms_bar(bar, 505);
    assert_string_equal("[====================>                   ]  50 %", bar);
    ms_bar(bar, 1000);
    assert_string_equal("[========================================] 100 %", bar);
    ms_bar(bar, 4000);
    assert_string_equal("[========================================] 100 %", bar);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bars),
        cmocka_unit_test(numbers_must_be_whole_and_in_range),
        cmocka_unit_test(sizes_take_binary_letters),
        cmocka_unit_test(lists_are_strict),
        cmocka_unit_test(sizes_print_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
