/* SPDX-License-Identifier: Apache-2.0 */
/* Events in their three flavours, notifies, counting notifies, values in memory. */
#include "rt_test.h"

static aclrtStream a, b;

static int two_streams(void **state)
{
    return aclrtCreateStream(&a) != ACL_SUCCESS || aclrtCreateStream(&b) != ACL_SUCCESS;
}

static int no_streams(void **state)
{
    return aclrtDestroyStreamForce(a) != ACL_SUCCESS || aclrtDestroyStreamForce(b) != ACL_SUCCESS;
}

static aclrtEventStatus query(aclrtEvent event)
{
    aclrtEventStatus status = ACL_EVENT_STATUS_RESERVED;
    OK(aclrtQueryEvent(event, &status));
    return status;
}

static aclrtEventRecordedStatus recorded(aclrtEvent event)
{
    aclrtEventRecordedStatus status = (aclrtEventRecordedStatus)7;
    OK(aclrtQueryEventStatus(event, &status));
    return status;
}

static aclrtEventWaitStatus waits(aclrtEvent event)
{
    aclrtEventWaitStatus status = ACL_EVENT_WAIT_STATUS_RESERVED;
    OK(aclrtQueryEventWaitStatus(event, &status));
    return status;
}

static void never_recorded_depends_on_the_flavour(void **state)
{
    aclrtEvent plain, sync, timeline, ex;
    uint64_t stamp;
    float ms;
    OK(aclrtCreateEvent(&plain));
    OK(aclrtCreateEventWithFlag(&sync, ACL_EVENT_SYNC));
    OK(aclrtCreateEventWithFlag(&timeline, ACL_EVENT_TIME_LINE));
    OK(aclrtCreateEventExWithFlag(&ex, ACL_EVENT_SYNC));
    assert_int_equal(query(plain), ACL_EVENT_STATUS_COMPLETE);
    assert_int_equal(query(ex), ACL_EVENT_STATUS_COMPLETE);
    assert_int_equal(recorded(plain), ACL_EVENT_RECORDED_STATUS_NOT_READY);
    assert_int_equal(recorded(sync), ACL_EVENT_RECORDED_STATUS_NOT_READY);
    assert_int_equal(recorded(ex), ACL_EVENT_RECORDED_STATUS_COMPLETE);
    OK(aclrtSynchronizeEvent(plain));
    FAILS(aclrtStreamWaitEvent(a, plain), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtStreamWaitEvent(a, timeline), ACL_ERROR_RT_PARAM_INVALID);
    OK(aclrtStreamWaitEvent(a, ex));
    OK(aclrtSynchronizeStream(a));
    FAILS(aclrtEventGetTimestamp(plain, &stamp), ACL_ERROR_RT_INTERNAL_ERROR);
    FAILS(aclrtEventElapsedTime(&ms, plain, ex), ACL_ERROR_RT_INTERNAL_ERROR);
    OK(aclrtDestroyEvent(plain));
    OK(aclrtDestroyEvent(sync));
    OK(aclrtDestroyEvent(timeline));
    OK(aclrtDestroyEvent(ex));
}

static void a_record_completes_when_the_stream_gets_there(void **state)
{
    aclrtEvent event;
    struct gate gate;
    OK(aclrtCreateEvent(&event));
    gate_close(&gate, a);
    OK(aclrtRecordEvent(event, a));
    assert_int_equal(query(event), ACL_EVENT_STATUS_NOT_READY);
    assert_int_equal(recorded(event), ACL_EVENT_RECORDED_STATUS_NOT_READY);
    FAILS(aclrtSynchronizeEventWithTimeout(event, 20), ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
    FAILS(aclrtSynchronizeEventWithTimeout(event, -2), ACL_ERROR_RT_PARAM_INVALID);
    gate_open(&gate);
    OK(aclrtSynchronizeEvent(event));
    assert_int_equal(query(event), ACL_EVENT_STATUS_COMPLETE);
    assert_int_equal(recorded(event), ACL_EVENT_RECORDED_STATUS_COMPLETE);
    OK(aclrtSynchronizeEventWithTimeout(event, 0));
    OK(aclrtDestroyEvent(event));
}

static void a_wait_blocks_the_other_stream(void **state)
{
    aclrtEvent event;
    struct gate gate;
    int done = 0;
    OK(aclrtCreateEvent(&event));
    gate_close(&gate, a);
    OK(aclrtRecordEvent(event, a));
    OK(aclrtStreamWaitEvent(b, event));
    OK(aclrtLaunchHostFunc(b, count_up, &done));
    assert_int_equal(waits(event), ACL_EVENT_WAIT_STATUS_NOT_READY);
    FAILS(aclrtSynchronizeStreamWithTimeout(b, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    assert_int_equal(count_of(&done), 0);
    OK(aclrtDestroyEvent(event)); /* with a record and a wait queued: they hold what they need */
    gate_open(&gate);
    OK(aclrtSynchronizeStream(b));
    assert_int_equal(count_of(&done), 1);
}

static void a_wait_is_for_the_record_latest_when_queued(void **state)
{
    aclrtEvent event;
    struct gate first, second;
    int done = 0;
    aclrtStream c;
    OK(aclrtCreateStream(&c));
    OK(aclrtCreateEvent(&event));
    gate_close(&first, a);
    OK(aclrtRecordEvent(event, a));
    OK(aclrtStreamWaitEvent(b, event));
    OK(aclrtLaunchHostFunc(b, count_up, &done));
    gate_close(&second, c);
    OK(aclrtRecordEvent(event, c)); /* a later record, on a stream that stays blocked */
    gate_open(&first);
    OK(aclrtSynchronizeStream(b)); /* does not wait for it */
    assert_int_equal(count_of(&done), 1);
    assert_int_equal(query(event), ACL_EVENT_STATUS_NOT_READY);
    gate_open(&second);
    OK(aclrtSynchronizeEvent(event));

    gate_close(&first, a);
    OK(aclrtRecordEvent(event, a));
    OK(aclrtStreamWaitEvent(b, event));
    OK(aclrtLaunchHostFunc(b, count_up, &done));
    OK(aclrtRecordEvent(event, c)); /* completes at once, and must not release b */
    OK(aclrtSynchronizeStream(c));
    FAILS(aclrtSynchronizeStreamWithTimeout(b, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    assert_int_equal(count_of(&done), 1);
    gate_open(&first);
    OK(aclrtSynchronizeStream(b));
    assert_int_equal(count_of(&done), 2);
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyStream(c));
}

static void sync_events_are_semaphores(void **state)
{
    aclrtEvent event;
    int done = 0;
    OK(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
    for (int round = 1; round <= 3; round++) {
        OK(aclrtStreamWaitEvent(b, event)); /* before any record: waits for a future one */
        OK(aclrtResetEvent(event, b));
        OK(aclrtLaunchHostFunc(b, count_up, &done));
        FAILS(aclrtSynchronizeStreamWithTimeout(b, 5), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
        assert_int_equal(count_of(&done), round - 1);
        OK(aclrtRecordEvent(event, a));
        OK(aclrtSynchronizeStream(b));
        assert_int_equal(count_of(&done), round);
        OK(aclrtResetEvent(event, a));
        OK(aclrtSynchronizeStream(a));
    }
    OK(aclrtDestroyEvent(event));
}

static void times_are_device_times(void **state)
{
    aclrtEvent start, end, silent;
    uint64_t t0 = 0, t1 = 0;
    float ms = -1;
    struct gate gate;
    OK(aclrtCreateEvent(&start));
    OK(aclrtCreateEventWithFlag(&end, ACL_EVENT_TIME_LINE));
    OK(aclrtCreateEventWithFlag(&silent, ACL_EVENT_SYNC));
    OK(aclrtRecordEvent(start, a));
    gate_close(&gate, a);
    OK(aclrtRecordEvent(end, a));
    OK(aclrtRecordEvent(silent, a));
    OK(aclrtSynchronizeEvent(start));
    FAILS(aclrtEventElapsedTime(&ms, start, end), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID); /* not recorded yet */
    struct timespec pause = {0, 20000000};
    nanosleep(&pause, NULL);
    gate_open(&gate);
    OK(aclrtSynchronizeStream(a));
    OK(aclrtEventElapsedTime(&ms, start, end));
    assert_true(ms >= 19.9f && ms < 5000.0f);
    OK(aclrtEventGetTimestamp(start, &t0));
    OK(aclrtEventGetTimestamp(end, &t1));
    assert_in_range((t1 - t0) / 1000, (uint64_t)ms - 1, (uint64_t)ms + 1);
    FAILS(aclrtEventElapsedTime(&ms, end, start), ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL);
    FAILS(aclrtEventGetTimestamp(silent, &t0), ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID);
    OK(aclrtDestroyEvent(start));
    OK(aclrtDestroyEvent(end));
    OK(aclrtDestroyEvent(silent));
}

static void waits_on_streams_time_out(void **state)
{
    aclrtEvent event;
    struct gate gate;
    int done = 0;
    OK(aclrtCreateEvent(&event));
    gate_close(&gate, a);
    OK(aclrtRecordEvent(event, a));
    double begin = now_ms();
    OK(aclrtStreamWaitEventWithTimeout(b, event, 1)); /* seconds */
    FAILS(aclrtSynchronizeStream(b), ACL_ERROR_RT_WAIT_TIMEOUT);
    assert_true(now_ms() - begin >= 999);
    OK(aclrtStreamWaitEventWithFlag(b, event, 1, ACL_EVENT_WAIT_DEFAULT));
    FAILS(aclrtSynchronizeStream(b), ACL_ERROR_RT_WAIT_TIMEOUT);
    OK(aclrtSetOpWaitTimeout(1));
    OK(aclrtStreamWaitEvent(b, event));
    FAILS(aclrtSynchronizeStream(b), ACL_ERROR_RT_WAIT_TIMEOUT);
    OK(aclrtSetOpWaitTimeout(0));
    FAILS(aclrtStreamWaitEventWithTimeout(b, event, -1), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtStreamWaitEventWithFlag(b, event, 0, 9), ACL_ERROR_RT_PARAM_INVALID);
    OK(aclrtLaunchHostFunc(b, count_up, &done));
    gate_open(&gate);
    OK(aclrtSynchronizeStream(b));
    assert_int_equal(count_of(&done), 1);
    OK(aclrtDestroyEvent(event));
}

static void a_discarded_record_wakes_waiters(void **state)
{
    aclrtEvent event, blocker;
    aclrtStream c;
    OK(aclrtCreateStream(&c));
    OK(aclrtCreateEvent(&event));
    OK(aclrtCreateEventWithFlag(&blocker, ACL_EVENT_SYNC));
    OK(aclrtStreamWaitEvent(c, blocker)); /* never recorded */
    OK(aclrtRecordEvent(event, c));
    OK(aclrtStreamWaitEvent(b, event));
    OK(aclrtDestroyStreamForce(c));
    FAILS(aclrtSynchronizeStream(b), ACL_ERROR_RT_STREAM_ABORT);
    FAILS(aclrtSynchronizeEvent(event), ACL_ERROR_RT_STREAM_ABORT);
    OK(aclrtDestroyEvent(event));
    OK(aclrtDestroyEvent(blocker));
}

static void wrong_events_are_refused(void **state)
{
    aclrtEvent event;
    aclrtEventStatus status;
    int local;
    FAILS(aclrtCreateEvent(NULL), ACL_ERROR_INVALID_PARAM);
    FAILS(aclrtCreateEventWithFlag(&event, 0x8000), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtDestroyEvent(NULL), ACL_ERROR_INVALID_PARAM);
    FAILS(aclrtDestroyEvent(&local), ACL_ERROR_RT_PARAM_INVALID);
    OK(aclrtCreateEvent(&event));
    FAILS(aclrtRecordEvent(event, &local), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtRecordEventWithFlag(event, a, 5), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtStreamWaitEvent(a, (aclrtEvent)a), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtQueryEvent(event, NULL), ACL_ERROR_INVALID_PARAM);
    OK(aclrtDestroyEvent(event));
    FAILS(aclrtDestroyEvent(event), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtRecordEvent(event, a), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtQueryEvent(event, &status), ACL_ERROR_RT_PARAM_INVALID);
}

static void events_run_out_at_65536(void **state)
{
    uint32_t left = 0, id = 0;
    OK(aclrtGetEventAvailNum(&left));
    assert_int_equal(left, 65536);
    aclrtEvent *events = calloc(left + 1, sizeof(*events));
    for (uint32_t i = 0; i < left; i++) {
        OK(aclrtCreateEvent(&events[i]));
    }
    OK(aclrtGetEventId(events[left - 1], &id));
    assert_in_range(id, 0, 65535);
    FAILS(aclrtCreateEvent(&events[left]), ACL_ERROR_RT_NO_EVENT_RESOURCE);
    for (uint32_t i = 0; i < left; i++) {
        OK(aclrtDestroyEvent(events[i]));
    }
    OK(aclrtGetEventAvailNum(&left));
    assert_int_equal(left, 65536);
    free(events);
}

/* ---- notifies ---- */

static void a_notify_releases_one_wait(void **state)
{
    aclrtNotify notify;
    int done = 0;
    OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
    for (int i = 0; i < 2; i++) {
        OK(aclrtWaitAndResetNotify(notify, b, 0));
        OK(aclrtLaunchHostFunc(b, count_up, &done));
    }
    OK(aclrtRecordNotify(notify, a));
    EVENTUALLY(count_of(&done) == 1);
    FAILS(aclrtSynchronizeStreamWithTimeout(b, 20), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    assert_int_equal(count_of(&done), 1);
    OK(aclrtRecordNotify(notify, a));
    OK(aclrtSynchronizeStream(b));
    assert_int_equal(count_of(&done), 2);
    OK(aclrtWaitAndResetNotify(notify, b, 1)); /* seconds */
    FAILS(aclrtSynchronizeStream(b), ACL_ERROR_RT_WAIT_TIMEOUT);
    OK(aclrtRecordNotify(notify, a));
    OK(aclrtSynchronizeStream(a));
    OK(aclrtNotifyBatchReset(&notify, 1));
    OK(aclrtWaitAndResetNotify(notify, b, 0));
    OK(aclrtDestroyNotify(notify));
    FAILS(aclrtSynchronizeStreamWithTimeout(b, 10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT); /* the reset cleared it */
    OK(aclrtStreamAbort(b));
    FAILS(aclrtRecordNotify(notify, a), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtCreateNotify(&notify, 0x10), ACL_ERROR_RT_PARAM_INVALID);
}

static void notifies_run_out_at_8192(void **state)
{
    aclrtNotify *all = calloc(8193, sizeof(*all));
    for (int i = 0; i < 8192; i++) {
        uint32_t id;
        OK(aclrtCreateNotify(&all[i], 0));
        OK(aclrtGetNotifyId(all[i], &id));
        assert_in_range(id, 0, 8191);
    }
    FAILS(aclrtCreateNotify(&all[8192], 0), ACL_ERROR_RT_NO_NOTIFY_RESOURCE);
    for (int i = 0; i < 8192; i++) {
        OK(aclrtDestroyNotify(all[i]));
    }
    free(all);
}

static void counting_notifies_compare(void **state)
{
    aclrtCntNotify cnt;
    int done = 0;
    OK(aclrtCntNotifyCreate(&cnt, 0));
    aclrtCntNotifyWaitInfo five = {.mode = ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE, .value = 5, .isClear = 1};
    aclrtCntNotifyRecordInfo two = {.mode = ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, .value = 2};
    OK(aclrtCntNotifyWaitWithTimeout(cnt, b, &five));
    OK(aclrtLaunchHostFunc(b, count_up, &done));
    OK(aclrtCntNotifyRecord(cnt, a, &two));
    OK(aclrtCntNotifyRecord(cnt, a, &two));
    OK(aclrtSynchronizeStream(a));
    FAILS(aclrtSynchronizeStreamWithTimeout(b, 10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    OK(aclrtCntNotifyRecord(cnt, a, &two));
    OK(aclrtSynchronizeStream(b));
    assert_int_equal(count_of(&done), 1);
    /* Cleared by the wait: below one again. */
    aclrtCntNotifyWaitInfo less = {.mode = ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE, .value = 1};
    OK(aclrtCntNotifyWaitWithTimeout(cnt, b, &less));
    OK(aclrtSynchronizeStream(b));
    aclrtCntNotifyRecordInfo bits = {.mode = ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE, .value = 6};
    aclrtCntNotifyWaitInfo mask = {.mode = ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE, .value = 2};
    OK(aclrtCntNotifyRecord(cnt, a, &bits));
    OK(aclrtCntNotifyWaitWithTimeout(cnt, b, &mask));
    OK(aclrtSynchronizeStream(b));
    OK(aclrtCntNotifyReset(cnt, a));
    OK(aclrtSynchronizeStream(a));
    aclrtCntNotifyWaitInfo timed = {.mode = ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, .value = 9, .timeout = 1};
    OK(aclrtCntNotifyWaitWithTimeout(cnt, b, &timed));
    FAILS(aclrtSynchronizeStream(b), ACL_ERROR_RT_WAIT_TIMEOUT);
    two.mode = (aclrtCntNotifyRecordMode)3;
    FAILS(aclrtCntNotifyRecord(cnt, a, &two), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtRecordNotify(cnt, a), ACL_ERROR_RT_PARAM_INVALID); /* not a plain notify */
    OK(aclrtCntNotifyDestroy(cnt));
    FAILS(aclrtCntNotifyDestroy(cnt), ACL_ERROR_RT_PARAM_INVALID);
}

/* ---- values ---- */

static void values_are_written_and_awaited(void **state)
{
    uint64_t *word;
    int done = 0;
    OK(aclrtMalloc((void **)&word, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    word[0] = 0;
    OK(aclrtValueWait(word, 7, ACL_STREAM_WAIT_VALUE_GEQ, b));
    OK(aclrtLaunchHostFunc(b, count_up, &done));
    OK(aclrtValueWrite(word, 6, 0, a));
    OK(aclrtSynchronizeStream(a));
    FAILS(aclrtSynchronizeStreamWithTimeout(b, 10), ACL_ERROR_RT_STREAM_SYNC_TIMEOUT);
    OK(aclrtValueWrite(word, 8, 0, a));
    OK(aclrtSynchronizeStream(b));
    assert_int_equal(count_of(&done), 1);
    OK(aclrtValueWait(word, 8, ACL_STREAM_WAIT_VALUE_EQ, b));
    OK(aclrtValueWait(word, 12, ACL_STREAM_WAIT_VALUE_AND, b));
    OK(aclrtValueWait(word, 1, ACL_STREAM_WAIT_VALUE_NOR, b));
    OK(aclrtSynchronizeStream(b));
    /* A plain store, as a kernel does it, is seen as well. */
    OK(aclrtValueWait(word, 99, ACL_STREAM_WAIT_VALUE_EQ, b));
    __atomic_store_n(word, 99, __ATOMIC_SEQ_CST);
    OK(aclrtSynchronizeStream(b));
    FAILS(aclrtValueWait(word, 0, 4, b), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtValueWrite((char *)word + 4, 0, 0, b), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtValueWrite(&done, 0, 0, b), ACL_ERROR_RT_PARAM_INVALID);
    FAILS(aclrtValueWrite(NULL, 0, 0, b), ACL_ERROR_INVALID_PARAM);
    OK(aclrtFree(word));
}

/* ---- several threads ---- */

struct ring {
    aclrtEvent event;
    aclrtStream stream;
    int failures;
};

static void *record_and_wait(void *arg)
{
    struct ring *ring = arg;
    if (aclrtSetDevice(0) != ACL_SUCCESS) {
        ring->failures++;
        return NULL;
    }
    for (int i = 0; i < 300; i++) {
        ring->failures += aclrtRecordEvent(ring->event, ring->stream) != ACL_SUCCESS;
        ring->failures += aclrtStreamWaitEvent(ring->stream, ring->event) != ACL_SUCCESS;
        if (i % 50 == 0) {
            ring->failures += aclrtSynchronizeEvent(ring->event) != ACL_SUCCESS;
        }
    }
    ring->failures += aclrtSynchronizeStream(ring->stream) != ACL_SUCCESS;
    ring->failures += aclrtResetDevice(0) != ACL_SUCCESS;
    return NULL;
}

static void threads_may_share_an_event(void **state)
{
    aclrtEvent event;
    OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC));
    struct ring rings[3] = {{event, a, 0}, {event, b, 0}, {event, NULL, 0}};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, record_and_wait, &rings[i]), 0);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(rings[i].failures, 0);
    }
    OK(aclrtDestroyEvent(event));
}

#define WITH_STREAMS(test) cmocka_unit_test_setup_teardown(test, two_streams, no_streams)

int main(void)
{
    own_machine();
    const struct CMUnitTest tests[] = {
        WITH_STREAMS(never_recorded_depends_on_the_flavour),
        WITH_STREAMS(a_record_completes_when_the_stream_gets_there),
        WITH_STREAMS(a_wait_blocks_the_other_stream),
        WITH_STREAMS(a_wait_is_for_the_record_latest_when_queued),
        WITH_STREAMS(sync_events_are_semaphores),
        WITH_STREAMS(times_are_device_times),
        WITH_STREAMS(waits_on_streams_time_out),
        WITH_STREAMS(a_discarded_record_wakes_waiters),
        WITH_STREAMS(wrong_events_are_refused),
        WITH_STREAMS(events_run_out_at_65536),
        WITH_STREAMS(a_notify_releases_one_wait),
        WITH_STREAMS(notifies_run_out_at_8192),
        WITH_STREAMS(counting_notifies_compare),
        WITH_STREAMS(values_are_written_and_awaited),
        WITH_STREAMS(threads_may_share_an_event),
    };
    return cmocka_run_group_tests(tests, on_device, off_device);
}
