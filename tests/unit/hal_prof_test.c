/* SPDX-License-Identifier: Apache-2.0 */
#include "hal_test.h"

#include <pthread.h>

static struct prof_start_para para = {.sample_period = 20};

static void channels_are_listed(void **state)
{
    static channel_list_t list;
    assert_int_equal(prof_drv_get_channels(0, &list), 0);
    assert_int_equal(list.chip_type, 5);
    assert_int_equal(list.channel_num, 2);
    assert_int_equal(list.channel[0].channel_id, 44);
    assert_int_equal(list.channel[1].channel_id, 50);
    assert_true(prof_drv_get_channels(0, NULL) < 0);
    assert_true(prof_drv_get_channels(9, &list) < 0);
}

static void records_pass_only_while_started(void **state)
{
    char buffer[1000];
    uint64_t record[8] = {1, 2, 3};
    unsigned waiting;
    assert_false(snpu_hal_prof_on(0, 50));
    snpu_hal_prof_push(0, 50, record, sizeof(record));
    assert_true(prof_channel_read(0, 50, buffer, sizeof(buffer)) < 0); /* never started */
    assert_int_equal(prof_drv_start(0, 50, &para), 0);
    assert_true(snpu_hal_prof_on(0, 50));
    assert_false(snpu_hal_prof_on(0, 44));
    assert_false(snpu_hal_prof_on(1, 50));
    assert_int_equal(prof_channel_read(0, 50, buffer, sizeof(buffer)), 0); /* after a short wait */
    snpu_hal_prof_push(0, 50, record, sizeof(record));
    record[0] = 9;
    snpu_hal_prof_push(0, 50, record, sizeof(record));
    snpu_hal_prof_push(1, 50, record, sizeof(record));
    snpu_hal_prof_push(0, 44, record, sizeof(record));
    assert_int_equal(halProfDataFlush(0, 50, &waiting), 0);
    assert_int_equal(waiting, 128);
    /* Whole records only. */
    assert_int_equal(prof_channel_read(0, 50, buffer, 127), 64);
    assert_int_equal(((uint64_t *)(void *)buffer)[0], 1);
    assert_int_equal(prof_stop(0, 50), 0);
    snpu_hal_prof_push(0, 50, record, sizeof(record));
    assert_int_equal(prof_channel_read(0, 50, buffer, sizeof(buffer)), 64); /* records from before the stop */
    assert_int_equal(((uint64_t *)(void *)buffer)[0], 9);
    assert_true(prof_channel_read(0, 50, buffer, sizeof(buffer)) < 0);
    assert_true(prof_stop(0, 50) < 0);
    assert_int_equal(prof_drv_start(0, 50, &para), 0);
    assert_int_equal(halProfDataFlush(0, 50, &waiting), 0);
    assert_int_equal(waiting, 0);
    snpu_hal_prof_push(0, 50, record, sizeof(record));
    assert_true(prof_channel_read(0, 50, buffer, 10) < 0); /* too small for a record */
    assert_int_equal(prof_channel_read(0, 50, buffer, sizeof(buffer)), 64);
    assert_int_equal(prof_stop(0, 50), 0);
}

static void a_full_channel_drops_and_counts(void **state)
{
    static char buffer[1 << 20];
    uint64_t record[5] = {0}, pushed = 0, read = 0;
    assert_int_equal(prof_drv_start(1, 44, &para), 0);
    while (snpu_hal_prof_dropped(1, 44) < 10) {
        record[0] = pushed++;
        snpu_hal_prof_push(1, 44, record, sizeof(record));
    }
    assert_int_equal(prof_stop(1, 44), 0);
    for (int n; (n = prof_channel_read(1, 44, buffer, sizeof(buffer))) > 0;) {
        assert_int_equal(n % 40, 0);
        for (int at = 0; at < n; at += 40, read++) {
            uint64_t number;
            memcpy(&number, buffer + at, sizeof(number));
            assert_int_equal(number, read);
        }
    }
    assert_int_equal(read + 10, pushed);
    assert_true(read > 50000);
}

static void wrong_arguments_are_refused(void **state)
{
    char buffer[64];
    unsigned waiting;
    struct prof_poll_info info;
    assert_true(prof_drv_start(0, 45, &para) < 0);
    assert_true(prof_drv_start(9, 50, &para) < 0);
    assert_true(prof_drv_start(0, 50, NULL) < 0);
    assert_true(prof_stop(0, 1) < 0);
    assert_true(prof_channel_read(0, 50, NULL, 64) < 0);
    assert_true(prof_channel_read(0, 50, buffer, 0) < 0);
    assert_true(prof_channel_read(99, 50, buffer, 64) < 0);
    assert_true(prof_channel_poll(NULL, 1, 0) < 0);
    assert_true(prof_channel_poll(&info, 0, 0) < 0);
    assert_true(halProfDataFlush(0, 50, NULL) < 0);
    assert_true(halProfDataFlush(0, 1, &waiting) < 0);
    assert_false(snpu_hal_prof_on(1000000, 50));
    snpu_hal_prof_push(1000000, 50, buffer, 64);
    snpu_hal_prof_push(0, 50, NULL, 64);
}

/* ---- threads ---- */

enum { WRITERS = 4, EACH = 20000 };

static void *write_records(void *arg)
{
    for (uint64_t i = 0; i < EACH; i++) {
        uint64_t record[8] = {(uintptr_t)arg, i};
        unsigned waiting;
        /* Half full: wait for the reader, so that nothing is lost in this test. */
        while (halProfDataFlush(0, 50, &waiting) == 0 && waiting > (2 << 20)) {
            sched_yield();
        }
        snpu_hal_prof_push(0, 50, record, sizeof(record));
    }
    return NULL;
}

static void poll_and_read_get_everything_in_order(void **state)
{
    static char buffer[65536];
    pthread_t t[WRITERS];
    uint64_t next[WRITERS] = {0}, total = 0;
    struct prof_poll_info info[4];
    assert_int_equal(prof_channel_poll(info, 4, 0), 0);
    assert_int_equal(prof_drv_start(0, 50, &para), 0);
    for (uintptr_t i = 0; i < WRITERS; i++) {
        pthread_create(&t[i], NULL, write_records, (void *)i);
    }
    while (total < WRITERS * EACH) {
        assert_int_equal(prof_channel_poll(info, 4, 20), 1); /* far below 20 s */
        assert_int_equal(info[0].device_id, 0);
        assert_int_equal(info[0].channel_id, 50);
        int n = prof_channel_read(0, 50, buffer, sizeof(buffer));
        assert_true(n > 0);
        for (int at = 0; at < n; at += 64, total++) {
            uint64_t record[2];
            memcpy(record, buffer + at, sizeof(record));
            assert_int_equal(record[1], next[record[0]]++);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(t[i], NULL);
    }
    assert_int_equal(snpu_hal_prof_dropped(0, 50), 0);
    assert_int_equal(prof_stop(0, 50), 0);
}

int main(void)
{
    hal_use_machine("2", "256M");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(channels_are_listed),
        cmocka_unit_test(records_pass_only_while_started),
        cmocka_unit_test(a_full_channel_drops_and_counts),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(poll_and_read_get_everything_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
