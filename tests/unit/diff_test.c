/* SPDX-License-Identifier: Apache-2.0 */
/* The diff against a slow reference: the textbook dynamic-programming longest common subsequence. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "memscope/analyze/diff.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MOST 120u

static uint64_t seed = 88172645463325252ull;

static uint32_t next_random(uint32_t below)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)(seed >> 11) % below;
}

static size_t longest_common(const uint32_t *a, size_t a_count, const uint32_t *b, size_t b_count)
{
    static uint16_t table[MOST + 1][MOST + 1];
    for (size_t i = 0; i < a_count; i++) {
        for (size_t j = 0; j < b_count; j++) {
            uint16_t skip = table[i][j + 1] > table[i + 1][j] ? table[i][j + 1] : table[i + 1][j];
            table[i + 1][j + 1] = a[i] == b[j] ? (uint16_t)(table[i][j] + 1) : skip;
        }
    }
    return table[a_count][b_count];
}

/* Counts the matches, and checks that they are equal and in order. */
static size_t matches(const uint32_t *a, size_t a_count, const uint32_t *b, size_t b_count, uint32_t numbers)
{
    uint32_t *match = malloc((a_count + 1) * sizeof(*match));
    assert_non_null(match);
    assert_int_equal(ms_diff(a, a_count, b, b_count, numbers, match), 0);
    size_t count = 0;
    int64_t last = -1;
    for (size_t i = 0; i < a_count; i++) {
        if (match[i] == MS_DIFF_NONE) {
            continue;
        }
        assert_in_range(match[i], 0, b_count - 1);
        assert_int_equal(a[i], b[match[i]]);
        assert_true((int64_t)match[i] > last);
        last = match[i];
        count++;
    }
    free(match);
    return count;
}

static void test_known(void **state)
{
    (void)state;
    const uint32_t a[] = {1, 2, 3, 1, 2, 2, 1}, b[] = {3, 2, 1, 2, 1, 3};
    assert_int_equal(matches(a, 7, b, 6, 4), 4);
    assert_int_equal(matches(a, 7, a, 7, 4), 7);
    assert_int_equal(matches(a, 7, b, 0, 4), 0);
    assert_int_equal(matches(a, 0, b, 6, 4), 0);
    const uint32_t c[] = {7, 8, 9};
    assert_int_equal(matches(a, 7, c, 3, 10), 0);
}

/* As long as the reference: these inputs are too short for heuristics. */
static void test_longest(void **state)
{
    (void)state;
    for (int round = 0; round < 3000; round++) {
        uint32_t a[MOST], b[MOST], numbers = 1 + next_random(40);
        size_t a_count = next_random(MOST), b_count = next_random(MOST);
        for (size_t i = 0; i < a_count; i++) {
            a[i] = next_random(numbers);
        }
        for (size_t i = 0; i < b_count; i++) { /* often a modified copy */
            b[i] = i < a_count && round % 2 == 0 && next_random(4) != 0 ? a[i] : next_random(numbers);
        }
        assert_int_equal(matches(a, a_count, b, b_count, numbers), longest_common(a, a_count, b, b_count));
    }
}

/* Names inserted, deleted and changed, but never moved: all others are matched. */
static void test_edits(void **state)
{
    (void)state;
    for (int round = 0; round < 300; round++) {
        uint32_t a[MOST], b[2 * MOST], fresh = 1000;
        size_t a_count = MOST, b_count = 0, kept = 0;
        for (size_t i = 0; i < a_count; i++) {
            a[i] = (uint32_t)i;
            uint32_t what = next_random(10);
            if (what == 0) {
                b[b_count++] = fresh++;
            }
            if (what > 1) {
                b[b_count++] = a[i];
                kept++;
            }
        }
        assert_int_equal(matches(a, a_count, b, b_count, fresh), kept);
    }
}

/* Sequences of six names, a tenth of them replaced by rare names that occur on both sides in different places: these
 * are not anchors. */
static void test_rare_names(void **state)
{
    (void)state;
    const size_t count = 200000;
    uint32_t *a = malloc(count * sizeof(*a)), *b = malloc(count * sizeof(*b));
    assert_true(a != NULL && b != NULL);
    size_t equal = 0;
    for (size_t i = 0; i < count; i++) {
        a[i] = next_random(10) == 0 ? 6 + next_random(30000) : (uint32_t)(i % 6);
        b[i] = next_random(10) == 0 ? 6 + next_random(30000) : (uint32_t)(i % 6);
        equal += a[i] == b[i];
    }
    assert_true(matches(a, count, b, count, 30006) >= equal * 98 / 100);
    free(a);
    free(b);
}

/* Unique names, some of them moved, with too many changes for Myers: the anchors find the matches. */
static void test_anchors(void **state)
{
    (void)state;
    const size_t count = 100000;
    uint32_t *a = malloc(2 * count * sizeof(*a)), *b = malloc(2 * count * sizeof(*b));
    assert_true(a != NULL && b != NULL);
    size_t a_count = 0, b_count = 0, kept = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t what = next_random(10);
        a[a_count++] = what < 2 ? next_random(50) : 50 + (uint32_t)i;
        b[b_count++] = what == 2 ? next_random(50) : a[a_count - 1];
        kept += what != 2;
        if (what == 3) {
            b[b_count++] = next_random(50);
        }
    }
    assert_true(matches(a, a_count, b, b_count, 50 + (uint32_t)count) >= kept);
    free(a);
    free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_known), cmocka_unit_test(test_longest),
                                       cmocka_unit_test(test_edits), cmocka_unit_test(test_rare_names),
                                       cmocka_unit_test(test_anchors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
