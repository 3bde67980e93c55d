/* From producers through the drain into a trace and out again, all in one process, so that sanitizers see every side. */
#include "trace_rig.h"

static const uint32_t clocks[] = {
    MS_CLOCK_MONOTONIC,
#if defined(__x86_64__)
    MS_CLOCK_TSC,
#elif defined(__aarch64__)
    MS_CLOCK_CNTVCT,
#endif
};

/* ---- one thread ---- */

static void test_round_trip(void **state)
{
    (void)state;
    for (unsigned k = 0; k < MS_COUNT_OF(clocks); k++) {
        struct rig rig;
        struct ms_event e;
        rig_start(&rig, clocks[k]);
        assert_true(rig_alloc(0x1000, 4096));
        assert_true(rig_mark("hello", false));
        assert_true(rig_mark("hello", false));
        assert_true(rig_free(0x1000));
        rig_finish(&rig);

        struct ms_trace *t = rig_read(&rig, NULL);
        assert_int_equal(ms_trace_next(t, &e), MS_TRACE_EVENT);
        assert_int_equal(e.kind, MS_R_THREAD);
        assert_int_equal(e.tid, syscall(SYS_gettid));
        assert_int_equal(e.pid, getpid());
        uint64_t time_ns = e.time_ns;
        uint64_t now_ns = ms_clock_ns(CLOCK_REALTIME);
        assert_true(time_ns < now_ns && now_ns - time_ns < 10000000000u);
        assert_int_equal(ms_trace_next(t, &e), MS_TRACE_EVENT);
        assert_int_equal(e.kind, MS_R_HAL_ALLOC);
        assert_int_equal(e.order, MS_ORDER_ALLOC);
        assert_int_equal(e.addr, 0x1000);
        assert_int_equal(e.size_b, 4096);
        assert_int_equal(e.flag, 1);
        assert_int_equal(e.device, MS_DEV_UNKNOWN);
        assert_true(e.time_ns > time_ns);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(ms_trace_next(t, &e), MS_TRACE_EVENT);
            assert_int_equal(e.kind, MS_R_MARK);
            assert_int_equal(e.text.length_b, 5);
            assert_memory_equal(e.text.s, "hello", 5);
            assert_int_equal(e.text.id != 0, i == 1); /* inline when seen first */
            assert_int_equal(e.device, 3);
            assert_int_equal(e.stream_id, 5);
        }
        assert_int_equal(ms_trace_next(t, &e), MS_TRACE_EVENT);
        assert_int_equal(e.kind, MS_R_HAL_FREE);
        assert_int_equal(e.index, 4);
        assert_int_equal(ms_trace_next(t, &e), MS_TRACE_END);
        assert_int_equal(ms_trace_next(t, &e), MS_TRACE_END);
        struct ms_trace_stats stats;
        ms_trace_stats(t, &stats);
        assert_int_equal(stats.events, 5);
        assert_int_equal(stats.ending, MS_ENDING_PROCESS);
        assert_int_equal(stats.damages, 0);
        assert_int_equal(stats.bytes_read, stats.bytes_total);
        ms_trace_close(t);
        rig_end(&rig);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
