/* SPDX-License-Identifier: Apache-2.0 */
/* Line tables of real interpreters, with the lines the interpreters report (printed by tests/unit/python_tables.py),
 * and damaged tables. */
#include "memscope/symbols/python_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs the headers above
#include <cmocka.h>

struct table {
    uint32_t version, first_line;
    const char *bytes; /* hexadecimal */
    const char *lines; /* instruction:line ... */
};

static const struct table tables[] = {
#include "python_tables.h"
};

static size_t parse(const char *hex, uint8_t out[1024])
{
    size_t n = strlen(hex) / 2;
    assert_true(n <= 1024);
    for (size_t i = 0; i < n; i++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        out[i] = (uint8_t)byte;
    }
    return n;
}

static void as_the_interpreters_say(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        const struct table *t = &tables[i];
        uint8_t bytes[1024];
        size_t bytes_b = parse(t->bytes, bytes);
        unsigned count = 0;
        for (const char *at = t->lines; at != NULL; at = strchr(at, ' ')) {
            unsigned long instruction, line;
            at += *at == ' ';
            assert_int_equal(sscanf(at, "%lu:%lu", &instruction, &line), 2);
            uint32_t got = ms_python_line(t->version, bytes, bytes_b, t->first_line, instruction);
            if (got != line) {
                fail_msg("version %x, instruction %lu: line %u, not %lu", t->version, instruction, got, line);
            }
            count++;
        }
        assert_true(count > 40);
    }
}

static void damaged(void **state)
{
    (void)state;
    uint8_t bytes[1024];
    assert_int_equal(ms_python_line(0x030b, NULL, 0, 17, 4), 17);
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
        size_t bytes_b = parse(tables[i].bytes, bytes);
        for (size_t cut = 0; cut <= bytes_b; cut++) {
            uint8_t *exact = malloc(cut + (cut == 0)); /* exact size: the sanitizer detects reads beyond the end */
            memcpy(exact, bytes, cut);
            for (uint64_t instruction = 0; instruction < 300; instruction += 2) {
                assert_true(ms_python_line(tables[i].version, exact, cut, 5, instruction) > 0);
            }
            free(exact);
        }
    }
    memset(bytes, 0xff, sizeof(bytes));
    assert_true(ms_python_line(0x030e, bytes, sizeof(bytes), 5, UINT64_MAX) > 0);
    memset(bytes, 0xf4, sizeof(bytes)); /* long forms whose numbers never end */
    assert_true(ms_python_line(0x030e, bytes, sizeof(bytes), 5, UINT64_MAX) > 0);
    memset(bytes, 0x80, sizeof(bytes));
    assert_true(ms_python_line(0x0309, bytes, sizeof(bytes), 5, UINT64_MAX) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_the_interpreters_say), cmocka_unit_test(damaged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
