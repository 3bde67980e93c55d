/* SPDX-License-Identifier: Apache-2.0 */
/* Result codes and the state of the destination after each kind of failure. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "securec.h"

#include <stdlib.h>

#define HUGE_LIMIT ((size_t)SECUREC_MEM_MAX_LEN + 1)

static void codes_have_the_documented_values(void **state)
{
    assert_int_equal(EINVAL, 22);
    assert_int_equal(ERANGE, 34);
    assert_int_equal(EINVAL_AND_RESET, 150);
    assert_int_equal(ERANGE_AND_RESET, 162);
    assert_int_equal(EOVERLAP_AND_RESET, 182);
}

static void memory(void **state)
{
    char d[8] = "xxxxxxx", zero[8] = {0};
    assert_int_equal(memcpy_s(d, 0, "ab", 2), ERANGE);
    assert_int_equal(memcpy_s(d, HUGE_LIMIT, "ab", 2), ERANGE);
    assert_int_equal(d[0], 'x'); /* an invalid limit: untouched */
    assert_int_equal(memcpy_s(NULL, 8, "ab", 2), EINVAL);
    assert_int_equal(memcpy_s(d, 8, NULL, 2), EINVAL_AND_RESET);
    assert_memory_equal(d, zero, 8);
    memset(d, 'x', 8);
    assert_int_equal(memcpy_s(d, 8, "0123456789", 9), ERANGE_AND_RESET);
    assert_memory_equal(d, zero, 8);
    memcpy(d, "1234567", 8);
    assert_int_equal(memcpy_s(d, 8, d + 2, 3), EOVERLAP_AND_RESET);
    assert_memory_equal(d, zero, 8);
    memcpy(d, "1234567", 8);
    assert_int_equal(memcpy_s(d, 4, d + 4, 4), EOK); /* adjacent is not overlapping */
    assert_memory_equal(d, "567", 4);
    assert_int_equal(memcpy_s(d, 8, d, 8), EOK);
    assert_int_equal(memcpy_s(d, 8, "abc", 0), EOK);
    assert_memory_equal(d, "567", 4);

    memcpy(d, "1234567", 8);
    assert_int_equal(memmove_s(d, 8, d + 2, 6), EOK);
    assert_string_equal(d, "34567");
    assert_int_equal(memmove_s(d, 4, "12345678", 5), ERANGE_AND_RESET);
    assert_memory_equal(d, zero, 4);
    assert_int_equal(d[4], '7');

    assert_int_equal(memset_s(d, 8, 'y', 3), EOK);
    assert_int_equal(memset_s(NULL, 8, 'y', 3), EINVAL);
    assert_int_equal(memset_s(d, 0, 'y', 0), ERANGE);
    assert_int_equal(memset_s(d, 4, 'z', 5), ERANGE_AND_RESET);
    assert_memory_equal(d, "zzzz7", 5);
}

static void copying_text(void **state)
{
    char d[8] = "old", long_src[] = "12345678";
    assert_int_equal(strcpy_s(d, 8, "1234567"), EOK);
    assert_string_equal(d, "1234567");
    assert_int_equal(strcpy_s(d, 8, long_src), ERANGE_AND_RESET);
    assert_string_equal(d, "");
    assert_int_equal(strcpy_s(d, 0, "a"), ERANGE);
    assert_int_equal(strcpy_s(NULL, 8, "a"), EINVAL);
    memcpy(d, "old", 4);
    assert_int_equal(strcpy_s(d, 8, NULL), EINVAL_AND_RESET);
    assert_string_equal(d, "");
    memcpy(d, "abcdef", 7);
    assert_int_equal(strcpy_s(d, 8, d + 2), EOVERLAP_AND_RESET);
    memcpy(d, "abc", 4);
    assert_int_equal(strcpy_s(d + 3, 5, d), EOVERLAP_AND_RESET); /* would overwrite the end of the source */
    memcpy(d, "same", 5);
    assert_int_equal(strcpy_s(d, 8, d), EOK);
    assert_string_equal(d, "same");

    assert_int_equal(strncpy_s(d, 8, long_src, 7), EOK);
    assert_string_equal(d, "1234567");
    assert_int_equal(strncpy_s(d, 8, long_src, 8), ERANGE_AND_RESET);
    assert_int_equal(strncpy_s(d, 8, "ab", 100), EOK);
    assert_string_equal(d, "ab");
    assert_int_equal(strncpy_s(d, 8, "ab", 0), EOK);
    assert_string_equal(d, "");
    assert_int_equal(strncpy_s(d, 8, "ab", HUGE_LIMIT), ERANGE_AND_RESET);
    memcpy(d, "abcdefg", 8);
    assert_int_equal(strncpy_s(d + 3, 5, d, 3), EOK); /* reads only a, b, c */
    assert_memory_equal(d, "abcabc", 7);
    assert_int_equal(strncpy_s(d, 8, d, 2), EOK);
    assert_string_equal(d, "ab");
}

static void appending_text(void **state)
{
    char d[8] = "abc";
    assert_int_equal(strcat_s(d, 8, "defg"), EOK);
    assert_string_equal(d, "abcdefg");
    assert_int_equal(strcat_s(d, 8, "h"), ERANGE_AND_RESET);
    assert_string_equal(d, "");
    memset(d, 'x', 8);
    assert_int_equal(strcat_s(d, 8, "a"), EINVAL_AND_RESET); /* not terminated */
    memcpy(d, "abc", 4);
    assert_int_equal(strcat_s(d, 8, d + 1), EOVERLAP_AND_RESET);
    memcpy(d, "abc", 4);
    assert_int_equal(strncat_s(d, 8, "defghi", 4), EOK);
    assert_string_equal(d, "abcdefg");
    assert_int_equal(strncat_s(d, 8, "h", HUGE_LIMIT), ERANGE_AND_RESET);
    assert_int_equal(strncat_s(d, 8, NULL, 1), EINVAL_AND_RESET);
}

static void tokens(void **state)
{
    char text[] = "a,b;;c", *at = NULL;
    assert_string_equal(strtok_s(text, ",;", &at), "a");
    assert_string_equal(strtok_s(NULL, ",;", &at), "b");
    assert_string_equal(strtok_s(NULL, ",;", &at), "c");
    assert_null(strtok_s(NULL, ",;", &at));
    at = NULL;
    assert_null(strtok_s(NULL, ",", &at));
    assert_null(strtok_s(text, NULL, &at));
    assert_null(strtok_s(text, ",", NULL));
}

static void printing(void **state)
{
    char d[8];
    const char *volatile none = NULL; /* volatile: the compiler would refuse a literal null format */
    assert_int_equal(sprintf_s(d, 8, "%d", 1234567), 7);
    assert_int_equal(sprintf_s(d, 8, "%d", 12345678), -1);
    assert_string_equal(d, "");
    assert_int_equal(sprintf_s(NULL, 8, "x"), -1);
    assert_int_equal(sprintf_s(d, 0, "x"), -1);
    assert_int_equal(sprintf_s(d, 8, none, 0), -1);

    assert_int_equal(snprintf_s(d, 8, 7, "%s", "1234567"), 7);
    assert_int_equal(snprintf_s(d, 8, 3, "%s", "1234567"), -1); /* truncated as requested */
    assert_string_equal(d, "123");
    assert_int_equal(snprintf_s(d, 8, 100, "%s", "123456789"), -1); /* does not fit */
    assert_string_equal(d, "");
    assert_int_equal(snprintf_s(d, 8, (size_t)-1, "%s", "123456789"), -1);
    assert_string_equal(d, "1234567");
    assert_int_equal(snprintf_s(d, 8, HUGE_LIMIT, "x"), -1);

    assert_int_equal(snprintf_truncated_s(d, 8, "%s", "123456789"), 7);
    assert_string_equal(d, "1234567");
    assert_int_equal(snprintf_truncated_s(d, 8, "%s", "12"), 2);
}

static void scanning(void **state)
{
    int n = 0, end = 0;
    char word[4], set[8], two[2], tail[8] = "old";
    assert_int_equal(
        sscanf_s("42 abc xyz9QR", "%d %s %[a-z]9%c%n", &n, word, sizeof(word), set, sizeof(set), two, 1, &end), 4);
    assert_int_equal(n, 42);
    assert_string_equal(word, "abc");
    assert_string_equal(set, "xyz");
    assert_int_equal(two[0], 'Q');
    assert_int_equal(end, 12);
    assert_int_equal(sscanf_s("abcd", "%s", word, sizeof(word)), -1); /* needs five bytes */
    assert_string_equal(word, "");
    assert_int_equal(sscanf_s("abcd", "%3s%1s", word, sizeof(word), two, sizeof(two)), 2);
    assert_string_equal(word, "abc");
    assert_string_equal(two, "d");
    assert_int_equal(sscanf_s("ab", "%2c", two, 1), -1); /* two characters into one byte */
    assert_int_equal(sscanf_s("7 %x", "%*d %%%s", word, sizeof(word)), 1);
    assert_string_equal(word, "x");
    assert_int_equal(sscanf_s("1 b", "%d %d %s", &n, &end, tail, sizeof(tail)), 1); /* stops at b */
    assert_string_equal(tail, "");
    assert_int_equal(sscanf_s("", "%d", &n), EOF);
    assert_int_equal(sscanf_s("1", "%d", (int *)NULL), -1);
    assert_int_equal(sscanf_s("a", "%s", NULL, (size_t)4), -1);
    assert_int_equal(sscanf_s("a", "%1$s", word, sizeof(word)), -1);
    assert_int_equal(sscanf_s("a", "%[a", word, sizeof(word)), -1);
    assert_int_equal(sscanf_s("a", "%", word, sizeof(word)), -1);
    assert_int_equal(sscanf_s(NULL, "%d", &n), -1);
    assert_int_equal(sscanf_s("1", NULL, &n), -1);

    FILE *f = tmpfile();
    assert_non_null(f);
    fputs("17 cd", f);
    rewind(f);
    assert_int_equal(fscanf_s(f, "%d%s", &n, word, sizeof(word)), 2);
    assert_int_equal(n, 17);
    assert_string_equal(word, "cd");
    fclose(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_have_the_documented_values),
        cmocka_unit_test(memory),
        cmocka_unit_test(copying_text),
        cmocka_unit_test(appending_text),
        cmocka_unit_test(tokens),
        cmocka_unit_test(printing),
        cmocka_unit_test(scanning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
