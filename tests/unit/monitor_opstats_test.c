/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "monitor/wire/opstats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct mon_opstats_head sample_head = {.pid = 42,
                                                    .rank = 3,
                                                    .device = 1,
                                                    .job = 7,
                                                    .kind = "Kernel",
                                                    .start_ns = 100,
                                                    .end_ns = 200,
                                                    .folded = 2,
                                                    .lost = 9};

/* One operator with durations 1000, 1000 and 5000 ns, one without a histogram. */
static size_t sample(unsigned char *out, size_t out_b)
{
    struct mon_opstats_writer writer;
    uint32_t counts[MON_OPSTATS_BUCKETS] = {0};
    struct mon_opstats_operator op = {
        .name = "MatMulV2", .name_b = 8, .count = 3, .sum_ns = 7000, .min_ns = 1000, .max_ns = 5000, .bytes_b = 64};
    counts[mon_opstats_bucket_of(1000)] = 2;
    counts[mon_opstats_bucket_of(5000)] = 1;
    assert_int_equal(mon_opstats_begin(&writer, out, out_b, &sample_head), 0);
    assert_int_equal(mon_opstats_add(&writer, &op, counts), 0);
    op = (struct mon_opstats_operator){.name = "", .name_b = 0, .count = 1, .sum_ns = 5, .min_ns = 5, .max_ns = 5};
    assert_int_equal(mon_opstats_add(&writer, &op, NULL), 0);
    return mon_opstats_end(&writer);
}

static void messages_round_trip(void **state)
{
    unsigned char bytes[1024];
    struct mon_opstats_head head;
    struct mon_opstats_reader reader;
    struct mon_opstats_operator op;
    unsigned bucket;
    uint32_t count;
    size_t length = sample(bytes, sizeof(bytes));
    assert_int_equal(length, 88 + (48 + 8 + 16) + 48);
    assert_int_equal(mon_opstats_open(bytes, length, &head, &reader), 0);
    assert_int_equal(head.pid, 42);
    assert_int_equal(head.rank, 3);
    assert_int_equal(head.device, 1);
    assert_int_equal(head.job, 7);
    assert_int_equal(head.folded, 2);
    assert_int_equal(head.lost, 9);
    assert_int_equal(head.operators, 2);
    assert_string_equal(head.kind, "Kernel");
    assert_int_equal(mon_opstats_next(&reader, &op), 1);
    assert_memory_equal(op.name, "MatMulV2", op.name_b);
    assert_int_equal(op.count, 3);
    assert_int_equal(op.sum_ns, 7000);
    assert_int_equal(op.bytes_b, 64);
    assert_int_equal(op.bucket_count, 2);
    mon_opstats_bucket(&op, 0, &bucket, &count);
    assert_int_equal(bucket, mon_opstats_bucket_of(1000));
    assert_int_equal(count, 2);
    assert_int_equal(mon_opstats_next(&reader, &op), 1);
    assert_int_equal(op.name_b, 0);
    assert_int_equal(mon_opstats_next(&reader, &op), 0);
}

/* The bytes shown in docs/format/opstats.md. */
static void layout_matches_the_documentation(void **state)
{
    unsigned char bytes[1024];
    uint32_t u32;
    uint64_t u64;
    uint16_t u16;
    sample(bytes, sizeof(bytes));
    assert_memory_equal(bytes, "NPOS\x01\x00\x02\x00\x2a\x00\x00\x00", 12);
    memcpy(&u32, bytes + 16, 4);
    assert_int_equal(u32, 1);
    memcpy(&u64, bytes + 24, 8);
    assert_int_equal(u64, 7);
    assert_string_equal((char *)bytes + 32, "Kernel");
    memcpy(&u64, bytes + 64, 8);
    assert_int_equal(u64, 200);
    memcpy(&u16, bytes + 88, 2);
    assert_int_equal(u16, 8);
    assert_memory_equal(bytes + 88 + 48, "MatMulV2", 8);
    memcpy(&u16, bytes + 88 + 48 + 8, 2);
    assert_int_equal(u16, mon_opstats_bucket_of(1000));
}

static void buckets_end_at_powers_of_two(void **state)
{
    for (unsigned n = 3; n < 63; n++) {
        unsigned bucket = mon_opstats_bucket_of(1ull << n);
        assert_int_equal(mon_opstats_bucket_limit(bucket), 1ull << n);
        assert_int_equal(mon_opstats_bucket_of((1ull << n) + 1), bucket + 1);
    }
    assert_int_equal(mon_opstats_bucket_of(0), 0);
    assert_int_equal(mon_opstats_bucket_of(UINT64_MAX), MON_OPSTATS_BUCKETS - 1);
    assert_true(mon_opstats_bucket_limit(MON_OPSTATS_BUCKETS - 1) == UINT64_MAX);
    for (unsigned b = 0; b + 1 < MON_OPSTATS_BUCKETS; b++) {
        uint64_t limit = mon_opstats_bucket_limit(b);
        assert_int_equal(mon_opstats_bucket_of(limit), b);
        assert_int_equal(mon_opstats_bucket_of(limit + 1), b + 1);
    }
}

static void truncated_and_inconsistent_messages_are_refused(void **state)
{
    unsigned char good[1024];
    struct mon_opstats_head head;
    struct mon_opstats_reader reader;
    size_t length = sample(good, sizeof(good));
    for (size_t cut = 0; cut < length; cut++) {
        unsigned char *bytes = malloc(cut + 1); /* exact size, so that a sanitizer detects a read past the end */
        memcpy(bytes, good, cut);
        assert_int_equal(mon_opstats_open(bytes, cut, &head, &reader), -EBADMSG);
        free(bytes);
    }
    static const struct {
        size_t at;
        unsigned char value;
    } changes[] = {
        {0, 'X'},       /* magic */
        {4, 2},         /* version */
        {6, 1},         /* fewer operators than bytes */
        {6, 3},         /* more */
        {7, 0xff},      /* far more */
        {57, 0xff},     /* start after end */
        {88, 9},        /* longer name */
        {90, 1},        /* fewer buckets */
        {90, 0xff},     /* more buckets */
        {96, 4},        /* count differs from the histogram */
        {88 + 24, 0},   /* valid: min 768 */
        {88 + 33, 0},   /* max below min */
        {88 + 56, 251}, /* buckets out of order */
    };
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        unsigned char bytes[1024];
        memcpy(bytes, good, length);
        bytes[changes[i].at] = changes[i].value;
        int expected = changes[i].at == 88 + 24 ? 0 : -EBADMSG;
        assert_int_equal(mon_opstats_open(bytes, length, &head, &reader), expected);
    }
    memset(good + 32, 'k', 24); /* unterminated kind */
    assert_int_equal(mon_opstats_open(good, length, &head, &reader), -EBADMSG);
}

static void full_message_returns_enospc(void **state)
{
    unsigned char bytes[88 + 48 + 8];
    struct mon_opstats_writer writer;
    struct mon_opstats_operator op = {.name = "Add", .name_b = 3, .count = 1, .min_ns = 1, .max_ns = 1};
    assert_int_equal(mon_opstats_begin(&writer, bytes, 87, &sample_head), -EINVAL);
    assert_int_equal(mon_opstats_begin(&writer, bytes, sizeof(bytes), &sample_head), 0);
    assert_int_equal(mon_opstats_add(&writer, &op, NULL), 0);
    assert_int_equal(mon_opstats_add(&writer, &op, NULL), -ENOSPC);
    assert_int_equal(mon_opstats_end(&writer), sizeof(bytes));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_round_trip),
        cmocka_unit_test(layout_matches_the_documentation),
        cmocka_unit_test(buckets_end_at_powers_of_two),
        cmocka_unit_test(truncated_and_inconsistent_messages_are_refused),
        cmocka_unit_test(full_message_returns_enospc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
