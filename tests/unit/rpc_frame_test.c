/* SPDX-License-Identifier: Apache-2.0 */
/* Framing of the RPC: every prefix of a message, every kind of wrong length, nesting depth without parsing. */
#include "monitor/wire/frame.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* The request in the published dump: 19 bytes of JSON after their length. */
static const unsigned char get_version[] = {0x13, 0,    0,    0,    0x7b, 0x22, 0x66, 0x6e, 0x22, 0x3a, 0x22, 0x67,
                                            0x65, 0x74, 0x56, 0x65, 0x72, 0x73, 0x69, 0x6f, 0x6e, 0x22, 0x7d};

static void test_every_prefix(void **state)
{
    for (size_t have = 0; have < sizeof(get_version); have++) {
        /* An exact copy, so that a sanitizer detects a read past the end. */
        unsigned char *part = malloc(have + 1);
        memcpy(part, get_version, have);
        size_t body = 99;
        assert_int_equal(mon_frame_look(part, have, 8191, &body), MON_FRAME_MORE);
        assert_int_equal(body, have < 4 ? 0 : 19);
        free(part);
    }
    size_t body = 0;
    assert_int_equal(mon_frame_look(get_version, sizeof(get_version), 8191, &body), MON_FRAME_READY);
    assert_int_equal(body, 19);
    unsigned char header[MON_FRAME_HEADER_B];
    mon_frame_header(19, header);
    assert_memory_equal(header, get_version, sizeof(header));
}

static void test_wrong_lengths(void **state)
{
    static const struct {
        int32_t length;
        enum mon_frame_verdict verdict;
    } cases[] = {
        {0, MON_FRAME_EMPTY},         {-1, MON_FRAME_EMPTY},           {INT32_MIN, MON_FRAME_EMPTY},
        {101, MON_FRAME_TOO_LONG},    {INT32_MAX, MON_FRAME_TOO_LONG}, {100, MON_FRAME_MORE},
        {0x20544547, MON_FRAME_HTTP}, /* "GET " */
        {0x00010316, MON_FRAME_TLS},  /* a TLS record */
        {0x54534f50, MON_FRAME_HTTP}, /* "POST" */
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t body = 7;
        assert_int_equal(mon_frame_look(&cases[i].length, 4, 100, &body), cases[i].verdict);
        assert_int_equal(body, cases[i].verdict == MON_FRAME_MORE ? 100 : 7);
        assert_non_null(mon_frame_reason(cases[i].verdict));
    }
}

static void test_depth(void **state)
{
    static const struct {
        const char *text;
        unsigned depth;
    } cases[] = {
        {"", 0},
        {"{}", 1},
        {"{\"a\":[1,[2]]}", 3},
        {"\"[[[[\"", 0},
        {"{\"a\":\"\\\"[[[\"}", 1}, /* an escaped quote does not end the string */
        {"]]]]", 0},
        {"[][][]", 1},
        {"\"\\", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(mon_frame_depth(cases[i].text, strlen(cases[i].text)), cases[i].depth);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_prefix),
        cmocka_unit_test(test_wrong_lengths),
        cmocka_unit_test(test_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
