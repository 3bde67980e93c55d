/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams of the fabric, compared with bytes captured from real clients. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/macros.h"
#include "monitor/wire/fabric.h"

#include <string.h>

/* clang-format off */
static const unsigned char context_bytes[] = { /* index 0, pid 4242, job 0 */
    0x10, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  0x63, 0x74, 0x78, 0x74, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00, 0x92, 0x10, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};
static const unsigned char request_bytes[] = { /* mask 2, pids 4242 4200 4100 */
    0x1c, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  0x72, 0x65, 0x71, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  0x02, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  0x92, 0x10, 0x00, 0x00, 0x68, 0x10, 0x00, 0x00,
    0x04, 0x10, 0x00, 0x00,
};
static const unsigned char status_bytes[] = { /* Idle, no steps, pid 4242 */
    0x20, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  0x6e, 0x70, 0x75, 0x54, 0x72, 0x61, 0x63, 0x65,
    0x53, 0x74, 0x61, 0x74, 0x75, 0x73, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,  0x92, 0x10, 0x00, 0x00, 0xde, 0xad, 0xbe, 0xef,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
};
static const unsigned char context_reply_bytes[] = {
    0x04, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  0x63, 0x74, 0x78, 0x74, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,  0x01, 0x00, 0x00, 0x00,
};
/* clang-format on */

static void captured_messages_are_parsed(void **state)
{
    struct mon_fabric_message m;
    assert_int_equal(mon_fabric_parse(context_bytes, sizeof(context_bytes), &m), MON_FABRIC_FAULT_NONE);
    assert_int_equal(m.type, MON_FABRIC_CONTEXT);
    assert_int_equal(m.context.index, 0);
    assert_int_equal(m.context.pid, 4242);
    assert_int_equal(m.context.job, 0);

    assert_int_equal(mon_fabric_parse(request_bytes, sizeof(request_bytes), &m), MON_FABRIC_FAULT_NONE);
    assert_int_equal(m.type, MON_FABRIC_REQUEST);
    assert_int_equal(m.request.mask, 2);
    assert_int_equal(m.request.count, 3);
    assert_int_equal(m.request.pids[0], 4242);
    assert_int_equal(m.request.pids[2], 4100);

    assert_int_equal(mon_fabric_parse(status_bytes, sizeof(status_bytes), &m), MON_FABRIC_FAULT_NONE);
    assert_int_equal(m.type, MON_FABRIC_TRACE_STATUS);
    assert_int_equal(m.status.status, 0);
    assert_int_equal(m.status.current_step, -1);
    assert_int_equal(m.status.pid, 4242);
    assert_true(m.status.steps);
}

static void written_messages_have_the_captured_bytes(void **state)
{
    unsigned char out[256];
    struct mon_fabric_context context = {0, 4242, 0};
    assert_int_equal(mon_fabric_write_context(out, &context), sizeof(context_bytes));
    assert_memory_equal(out, context_bytes, sizeof(context_bytes));

    struct mon_fabric_request request = {2, 0, 3, {4242, 4200, 4100}};
    assert_int_equal(mon_fabric_write_request(out, &request), sizeof(request_bytes));
    assert_memory_equal(out, request_bytes, sizeof(request_bytes));

    struct mon_fabric_status status = {0, -1, -1, -1, 4242, 0, true};
    assert_int_equal(mon_fabric_write_status(out, MON_FABRIC_TRACE_STATUS, &status), sizeof(status_bytes));
    memcpy(out + 60, status_bytes + 60, 4); /* padding is undefined */
    assert_memory_equal(out, status_bytes, sizeof(status_bytes));

    const int32_t one = 1;
    mon_fabric_head(out, MON_FABRIC_CONTEXT, sizeof(one));
    memcpy(out + MON_FABRIC_HEAD_B, &one, sizeof(one));
    assert_memory_equal(out, context_reply_bytes, sizeof(context_reply_bytes));

    unsigned char empty[40] = {0};
    memcpy(empty + 8, "req", 3);
    mon_fabric_head(out, MON_FABRIC_REQUEST, 0);
    assert_memory_equal(out, empty, sizeof(empty));
}

static void short_status_messages_are_an_older_version(void **state)
{
    unsigned char out[128];
    struct mon_fabric_message m;
    struct mon_fabric_status status = {1, -1, -1, -1, 77, 5, false};
    size_t length = mon_fabric_write_status(out, MON_FABRIC_MONITOR_STATUS, &status);
    assert_int_equal(length, MON_FABRIC_HEAD_B + 16);
    assert_int_equal(mon_fabric_parse(out, length, &m), MON_FABRIC_FAULT_NONE);
    assert_int_equal(m.type, MON_FABRIC_MONITOR_STATUS);
    assert_int_equal(m.status.status, 1);
    assert_int_equal(m.status.pid, 77);
    assert_int_equal(m.status.job, 5);
    assert_int_equal(m.status.current_step, -1);
    assert_false(m.status.steps);
}

/* One modified field, and the expected result. */
static void invalid_messages_are_refused_with_a_reason(void **state)
{
    static const struct {
        size_t at, value_b;
        uint64_t value;
        size_t length;
        enum mon_fabric_fault fault;
    } cases[] = {
        {0, 0, 0, 0, MON_FABRIC_FAULT_SHORT},
        {0, 0, 0, 39, MON_FABRIC_FAULT_SHORT},
        {0, 0, 0, 40, MON_FABRIC_FAULT_SIZE},
        {0, 0, 0, 67, MON_FABRIC_FAULT_SIZE},
        {0, 8, UINT64_MAX, 68, MON_FABRIC_FAULT_SIZE},
        {0, 8, 0x1b, 68, MON_FABRIC_FAULT_SIZE},
        {8, 1, 'R', 68, MON_FABRIC_FAULT_TYPE},
        {11, 1, '2', 68, MON_FABRIC_FAULT_TYPE}, /* the whole name is compared */
        {44, 4, 0, 68, MON_FABRIC_FAULT_PIDS},
        {44, 4, 4, 68, MON_FABRIC_FAULT_PIDS},
        {44, 4, 0xffffffff, 68, MON_FABRIC_FAULT_PIDS},
        {44, 4, 0x40000000, 68, MON_FABRIC_FAULT_PIDS}, /* 4 * n + 16 wraps in 32 bits */
        {56, 4, 0, 68, MON_FABRIC_FAULT_VALUE},
        {56, 4, 0x80000000, 68, MON_FABRIC_FAULT_VALUE},
        {60, 4, 0, 68, MON_FABRIC_FAULT_NONE}, /* ancestors are not checked */
    };
    for (size_t i = 0; i < MS_COUNT_OF(cases); i++) {
        unsigned char bytes[sizeof(request_bytes)];
        struct mon_fabric_message m;
        memcpy(bytes, request_bytes, sizeof(bytes));
        memcpy(bytes + cases[i].at, &cases[i].value, cases[i].value_b);
        assert_int_equal(mon_fabric_parse(bytes, cases[i].length, &m), cases[i].fault);
    }
    unsigned char bytes[sizeof(request_bytes)];
    struct mon_fabric_message m;
    memcpy(bytes, request_bytes, sizeof(bytes));
    memset(bytes + 8, 'r', MON_FABRIC_TYPE_B);
    assert_int_equal(mon_fabric_parse(bytes, sizeof(bytes), &m), MON_FABRIC_FAULT_UNTERMINATED);
}

static void long_ancestries_keep_the_nearest_pids(void **state)
{
    unsigned char out[MON_FABRIC_HEAD_B + 16 + 4 * 40] = {0};
    struct mon_fabric_message m;
    mon_fabric_head(out, MON_FABRIC_REQUEST, 16 + 4 * 40);
    int32_t count = 40;
    memcpy(out + 44, &count, 4);
    for (int32_t i = 0; i < count; i++) {
        int32_t pid = 1000 - i;
        memcpy(out + 56 + 4 * i, &pid, 4);
    }
    assert_int_equal(mon_fabric_parse(out, sizeof(out), &m), MON_FABRIC_FAULT_NONE);
    assert_int_equal(m.request.count, MON_FABRIC_PIDS_MAX);
    assert_int_equal(m.request.pids[MON_FABRIC_PIDS_MAX - 1], 1000 - MON_FABRIC_PIDS_MAX + 1);
}

static void addresses_match_those_of_the_clients(void **state)
{
    struct sockaddr_un address;
    assert_int_equal(mon_fabric_abstract(&address, "dynolog"), 11);
    assert_memory_equal(address.sun_path, "\0dynolog\0", 9);
    assert_int_equal(mon_fabric_abstract(&address, "dynoconfigclient01234567-89ab-4cde-8fab-0123456789ab"), 56);
    assert_int_equal(mon_fabric_path(&address, "/home/u", "dynolog.sock"), 2 + 20 + 1);
    assert_string_equal(address.sun_path, "/home/u/dynolog.sock");

    char name[120];
    memset(name, 'x', sizeof(name));
    name[106] = '\0';
    assert_int_equal(mon_fabric_abstract(&address, name), 110);
    name[106] = 'x';
    name[107] = '\0';
    assert_int_equal(mon_fabric_abstract(&address, name), 0);
    assert_int_equal(mon_fabric_abstract(&address, ""), 0);
    name[95] = '\0';
    assert_int_equal(mon_fabric_path(&address, name, "dynolog.sock"), 0);
    name[93] = '\0'; /* 93 + 1 + 12 = 106 */
    assert_int_equal(mon_fabric_path(&address, name, "dynolog.sock"), 109);
}

static void addresses_cannot_forge_log_lines(void **state)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char text[64];
    memcpy(address.sun_path, "\0a\nb\x1b\xff", 6);
    mon_fabric_address_text(&address, 2 + 6, text, sizeof(text));
    assert_string_equal(text, "@a?b??");
    mon_fabric_address_text(&address, 2, text, sizeof(text));
    assert_string_equal(text, "(unnamed)");
    mon_fabric_address_text(&address, 2 + 6, text, 3);
    assert_string_equal(text, "@a");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captured_messages_are_parsed),
        cmocka_unit_test(written_messages_have_the_captured_bytes),
        cmocka_unit_test(short_status_messages_are_an_older_version),
        cmocka_unit_test(invalid_messages_are_refused_with_a_reason),
        cmocka_unit_test(long_ancestries_keep_the_nearest_pids),
        cmocka_unit_test(addresses_match_those_of_the_clients),
        cmocka_unit_test(addresses_cannot_forge_log_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
