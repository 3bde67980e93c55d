/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing of dump contents, eight bytes at a time, compared with a plain implementation. Every text is in memory of its
 * exact size, so that a sanitizer sees any overrun. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/swar.h"
#include "memscope/source/words.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t seed = 1;

static unsigned random_below(unsigned limit)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(seed >> 33) % limit;
}

/* Mostly from the alphabet; now and then any byte. */
static char *random_text(const char *alphabet, size_t length_b)
{
    char *text = malloc(length_b != 0 ? length_b : 1);
    assert_non_null(text);
    bool clean = random_below(2) == 0;
    for (size_t i = 0; i < length_b; i++) {
        text[i] = clean || random_below(8) != 0 ? alphabet[random_below((unsigned)strlen(alphabet))]
                                                : (char)random_below(256);
    }
    return text;
}

static void test_bytes(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 20000; round++) {
        char *text = random_text(",-+*:;", MS_SWAR_B);
        uint64_t word = ms_swar_load(text), equal = ms_swar_equal(word, ','), first = ms_swar_first_equal(word, ',');
        const char *comma = memchr(text, ',', MS_SWAR_B);
        for (unsigned i = 0; i < MS_SWAR_B; i++) {
            assert_int_equal(equal >> 8 * i & 0xff, text[i] == ',' ? 0x80 : 0);
        }
        assert_int_equal(first != 0, comma != NULL);
        assert_true(comma == NULL || ms_swar_first(first) == (size_t)(comma - text));
        size_t part_b = random_below(MS_SWAR_B);
        assert_true(ms_swar_load_part(text, part_b) == (word & ((UINT64_C(1) << 8 * part_b) - 1)));
        free(text);
    }
}

/* With the C library: false if it is not a number of this base that fits. */
static bool number_of(const char *s, size_t length_b, int base, uint64_t *out)
{
    char text[64];
    const char *digits = base == 16 ? "0123456789abcdefABCDEF" : "0123456789";
    if (length_b == 0 || length_b >= sizeof(text)) {
        return false;
    }
    memcpy(text, s, length_b);
    text[length_b] = 0;
    errno = 0;
    *out = strtoull(text, NULL, base);
    return strspn(text, digits) == length_b && errno == 0;
}

static void test_numbers(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 50000; round++) {
        size_t length_b = random_below(23);
        char *text = random_text(round % 4 == 0 ? "9" : "0123456789", length_b);
        uint64_t expected = 0, number = 0;
        bool is_number = number_of(text, length_b, 10, &expected) && length_b <= 20;
        assert_int_equal(ms__parse_u64(text, length_b, &number), is_number);
        assert_true(!is_number || number == expected);
        free(text);
    }
    for (unsigned round = 0; round < 50000; round++) {
        size_t length_b = random_below(20);
        char *text = random_text("0123456789abcdefABCDEF", length_b);
        memcpy(text, round % 2 == 0 ? "0x" : "0X", length_b < 2 ? length_b : 2);
        uint64_t expected = 0, number = 0;
        bool is_number = length_b > 2 && length_b <= 18 && number_of(text + 2, length_b - 2, 16, &expected);
        assert_int_equal(ms__parse_hex(text, length_b, &number), is_number);
        assert_true(!is_number || number == expected);
        free(text);
    }
}

struct family {
    unsigned (*number_of)(const char *s, size_t length_b);
    const char *(*name_of)(unsigned number);
    unsigned count, none;
};

static unsigned find(const struct family *family, const char *s, size_t length_b)
{
    char *text = malloc(length_b != 0 ? length_b : 1);
    assert_non_null(text);
    memcpy(text, s, length_b);
    unsigned number = family->number_of(text, length_b);
    free(text);
    return number;
}

static void test_words(void **state)
{
    (void)state;
    static const struct family families[] = {{ms__event_of, ms_event_name, MS_EV_COUNT, MS_EV_COUNT},
                                             {ms__type_of, ms_type_name, MS_TYPE_COUNT, MS_TYPE_COUNT},
                                             {ms__attr_of, ms_attr_name, MS_ATTR_KEY_COUNT, MS_ATTR_OTHER}};
    for (const struct family *family = families; family < families + 3; family++) {
        assert_int_equal(find(family, "", 0), family->none);
        for (unsigned i = 0; i < family->count; i++) {
            char word[64];
            snprintf(word, sizeof(word), "%s ", family->name_of(i));
            size_t length_b = strlen(word) - 1;
            assert_int_equal(find(family, word, length_b), i);
            assert_int_equal(find(family, word, length_b + 1), family->none);
            for (size_t at = 0; at < length_b; at++) { /* one letter differs */
                word[at] ^= 1;
                assert_int_not_equal(find(family, word, length_b), i);
                word[at] ^= 1;
            }
        }
    }
    assert_int_equal(ms__type_of("MindSpore", 9), MS_TYPE_MINDSPORE);
    assert_int_equal(ms__attr_of("Inefficient", 11), MS_ATTR_INEFFICIENT_TYPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
