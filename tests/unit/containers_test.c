/* SPDX-License-Identifier: Apache-2.0 */
/* Maps, ordered maps, interned texts and text buffers, compared with the simplest equivalent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/btree.h"
#include "base/buffer.h"
#include "base/intern.h"
#include "base/map.h"

#include <stdio.h>
#include <stdlib.h>

#define KEYS 700u

static uint64_t seed = 88172645463325252ull;

static uint64_t next_random(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static void map_is_a_map(void **state)
{
    (void)state;
    struct ms_map map = {0};
    uint64_t values[KEYS] = {0}; /* 0: not present */
    size_t count = 0;
    for (unsigned i = 0; i < 60000; i++) {
        uint64_t key = next_random() % KEYS;
        uint64_t spread = key * 0x400000; /* like addresses */
        if (next_random() % 2 == 0) {
            count += values[key] == 0;
            values[key] = i + 1;
            assert_non_null(ms_map_put(&map, spread, i + 1));
        } else {
            uint64_t value = 0;
            assert_int_equal(ms_map_remove(&map, spread, &value), values[key] != 0);
            assert_int_equal(value, values[key]);
            count -= values[key] != 0;
            values[key] = 0;
        }
        uint64_t *there = ms_map_get(&map, key * 0x400000);
        assert_int_equal(there != NULL ? *there : 0, values[key]);
        assert_int_equal(map.count, count);
    }
    ms_map_free(&map);
}

static void check_tree(const struct ms_btree *tree, const uint32_t *values)
{
    struct ms_btree_place place;
    bool there = ms_btree_ceiling(tree, 0, &place);
    for (unsigned key = 0; key < KEYS; key++) {
        if (values[key] != 0) {
            assert_true(there);
            assert_int_equal(place.key, key * 16);
            assert_int_equal(place.value, values[key]);
            there = ms_btree_next(&place);
        }
    }
    assert_false(there);
}

static void tree_is_ordered(void **state)
{
    (void)state;
    struct ms_btree tree = {0};
    uint32_t values[KEYS] = {0};
    for (unsigned i = 0; i < 60000; i++) {
        unsigned key = (unsigned)(next_random() % KEYS);
        unsigned phase = i / 10000 % 3; /* grow, shrink, mixed */
        if (next_random() % 4 < (phase == 0 ? 3u : phase == 1 ? 1u : 2u)) {
            values[key] = i + 1;
            assert_true(ms_btree_put(&tree, key * 16ull, i + 1));
        } else {
            assert_int_equal(ms_btree_remove(&tree, key * 16ull), values[key] != 0);
            values[key] = 0;
        }
        unsigned ask = (unsigned)(next_random() % (KEYS * 16));
        int below = (int)(ask / 16);
        while (below >= 0 && values[below] == 0) {
            below--;
        }
        struct ms_btree_place place;
        assert_int_equal(ms_btree_floor(&tree, ask, &place), below >= 0);
        if (below >= 0) {
            assert_int_equal(place.key, below * 16);
        }
        if (i % 997 == 0) {
            check_tree(&tree, values);
        }
    }
    ms_btree_free(&tree);
}

static void equal_texts_have_equal_numbers(void **state)
{
    (void)state;
    struct ms_intern intern = {0};
    char text[32];
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 1; i <= 5000; i++) {
            size_t length = (size_t)snprintf(text, sizeof(text), "text %u", i);
            assert_int_equal(ms_intern(&intern, text, length), i);
        }
    }
    assert_string_equal(ms_intern_get(&intern, 4711).s, "text 4711");
    assert_int_equal(ms_intern(&intern, "", 0), 0);
    assert_int_equal(ms_intern_get(&intern, 9999999).length_b, 0);
    size_t big_b = 300000;
    char *big = malloc(big_b);
    memset(big, 'x', big_b);
    uint32_t id = ms_intern(&intern, big, big_b);
    assert_int_equal(ms_intern_get(&intern, id).length_b, big_b);
    free(big);
    ms_intern_free(&intern);
}

static void numbers_are_written_as_printf_does(void **state)
{
    (void)state;
    struct ms_buffer buffer = {0};
    uint64_t power = 1;
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t number = next_random() >> next_random() % 64;
        if (i < 60) { /* where the number of digits changes */
            number = power - 1 + i % 3;
            power *= i % 3 == 2 ? 10 : 1;
        }
        char expected[128];
        snprintf(expected, sizeof(expected), "%llu 0x%016llx 0x%llx", (unsigned long long)number,
                 (unsigned long long)number, (unsigned long long)number);
        buffer.used = 0;
        ms_buffer_u64(&buffer, number);
        ms_buffer_char(&buffer, ' ');
        ms_buffer_hex16(&buffer, number);
        ms_buffer_char(&buffer, ' ');
        ms_buffer_hex(&buffer, number);
        ms_buffer_char(&buffer, 0);
        assert_string_equal(buffer.s, expected);
    }
    buffer.used = 0;
    ms_buffer_u64(&buffer, UINT64_MAX);
    ms_buffer_u64(&buffer, 0);
    ms_buffer_fixed(&buffer, 12.5, 6);
    ms_buffer_char(&buffer, 0);
    assert_string_equal(buffer.s, "18446744073709551615012.500000");
    ms_buffer_free(&buffer);
}

/* Any bytes in a quoted cell are restored when the quotes are removed. */
static void quoting_loses_nothing(void **state)
{
    (void)state;
    struct ms_buffer buffer = {0};
    for (unsigned i = 0; i < 5000; i++) {
        char text[64], back[64];
        size_t length = next_random() % sizeof(text), back_b = 0;
        for (size_t j = 0; j < length; j++) {
            text[j] = "\"\"\",\n\r a\xc3"[next_random() % 9];
        }
        buffer.used = 0;
        ms_buffer_csv(&buffer, text, length);
        for (size_t j = 0; j < buffer.used; j++) {
            if (buffer.s[j] == '"') {
                assert_true(++j < buffer.used && buffer.s[j] == '"');
            }
            back[back_b++] = buffer.s[j];
        }
        assert_int_equal(back_b, length);
        assert_memory_equal(back, text, length);
    }
    ms_buffer_free(&buffer);
}

static void json_is_always_valid(void **state)
{
    (void)state;
    struct ms_buffer buffer = {0};
    ms_buffer_json(&buffer, "a\"b\\c\nd\x01\xff\xc3\xa9\xed\xa0\x80\xc3", 15);
    ms_buffer_char(&buffer, 0);
    assert_string_equal(buffer.s,
                        "a\\\"b\\\\c\\nd\\u0001\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    ms_buffer_free(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(map_is_a_map),
        cmocka_unit_test(tree_is_ordered),
        cmocka_unit_test(equal_texts_have_equal_numbers),
        cmocka_unit_test(numbers_are_written_as_printf_does),
        cmocka_unit_test(quoting_loses_nothing),
        cmocka_unit_test(json_is_always_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
