/* SPDX-License-Identifier: Apache-2.0 */
/* From producers through the drain into a trace and back, all in one process, so that sanitizers see every side. */
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
            assert_int_equal(e.text.id != 0, i == 1); /* inline the first time */
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

/* ---- many threads ---- */

#define THREADS 6
#define EVENTS  20000

/* Each thread passes addresses to the next one through a mailbox: it frees the address it finds there and puts in one
 * that it allocates. The stamps must order the blocks at each address. */
struct mailbox {
    pthread_mutex_t lock;
    uint64_t addr; /* 0: empty */
};
static struct mailbox mailboxes[4];
static uint32_t stamp_clock;

/* Passing an address to another processor takes longer than a tick of the counter, except for emulated counters. */
static void next_tick(void)
{
    for (uint64_t before = ms_stamp(stamp_clock); ms_stamp(stamp_clock) == before;) {
    }
}

static void *hand_over(void *argument)
{
    uint64_t seed = 88172645463325252u + (uintptr_t)argument * 7919;
    for (uint64_t i = 0; i < EVENTS; i++) {
        struct mailbox *box = &mailboxes[rig_random(&seed) % MS_COUNT_OF(mailboxes)];
        pthread_mutex_lock(&box->lock);
        if (box->addr != 0) { /* a free is recorded before the real one ... */
            require(rig_free(box->addr));
            box->addr = 0;
        } else {
            box->addr = 0x10000 + (uint64_t)(box - mailboxes); /* ... an allocation after it */
            require(rig_alloc(box->addr, i));
        }
        next_tick();
        pthread_mutex_unlock(&box->lock);
        if (i % 64 == 0) {
            char text[32];
            snprintf(text, sizeof(text), "mark %d", (int)(rig_random(&seed) % 100));
            require(rig_mark(text, false));
        }
    }
    return NULL;
}

struct seen {
    uint64_t stamp, seq;
    uint32_t stream;
    uint8_t order;
};

struct reading {
    struct rig *rig;
    struct seen *seen;
    uint64_t count, last_ns;
    bool live[MS_COUNT_OF(mailboxes)];
    uint64_t next_seq[THREADS + 2];
    uint64_t marks;
};

static uint8_t rank(uint8_t order)
{
    return order == MS_ORDER_FREE ? 0 : order == MS_ORDER_ALLOC ? 2 : 1;
}

static void check_event(struct reading *r, const struct ms_event *e)
{
    require(e->index == r->count);
    require(e->time_ns > r->last_ns);
    r->last_ns = e->time_ns;
    require(e->stream < THREADS + 1);
    require(e->seq >= r->next_seq[e->stream]);
    r->next_seq[e->stream] = e->seq + 1;
    if (e->kind == MS_R_HAL_ALLOC || e->kind == MS_R_HAL_FREE) {
        uint64_t box = e->addr - 0x10000;
        require(box < MS_COUNT_OF(mailboxes));
        require(r->live[box] == (e->kind == MS_R_HAL_FREE));
        r->live[box] = e->kind == MS_R_HAL_ALLOC;
    }
    r->marks += e->kind == MS_R_MARK;
    r->seen[r->count++] = (struct seen){.stamp = e->stamp, .seq = e->seq, .stream = e->stream, .order = rank(e->order)};
}

static void *drain_until_stopped(void *argument)
{
    struct rig *rig = argument;
    while (__atomic_load_n(&rig->shm->reserved, __ATOMIC_ACQUIRE) == 0) { /* a word with no other user */
        require(ms_drain_sweep(rig->drain) >= 0);
        ms_drain_sleep(&rig->drain, 1, 1);
    }
    return NULL;
}

static void *read_live(void *argument)
{
    struct reading *r = argument;
    struct ms_trace_options options = {.live = true, .cache_b = 1};
    struct ms_trace *t = NULL;
    require(ms_trace_open(r->rig->dir, "p", &options, &t) == 0);
    struct ms_event e;
    int rc;
    while ((rc = ms_trace_next(t, &e)) != MS_TRACE_END) {
        require(rc >= 0);
        if (rc == MS_TRACE_EVENT) {
            check_event(r, &e);
        } else {
            sched_yield();
        }
    }
    struct ms_trace_stats stats;
    ms_trace_stats(t, &stats);
    require(stats.late == 0);
    require(stats.damages == 0);
    require(stats.lost == 0);
    ms_trace_close(t);
    return NULL;
}

/* The order by definition: repeatedly the smallest among the first remaining records of all streams. */
static void check_against_reference(const struct seen *seen, uint64_t count, uint32_t streams)
{
    uint64_t *at = calloc(streams, sizeof(*at)), *length = calloc(streams, sizeof(*length));
    const struct seen ***stream = calloc(streams, sizeof(*stream));
    for (uint64_t i = 0; i < count; i++) {
        length[seen[i].stream]++;
    }
    for (uint32_t s = 0; s < streams; s++) {
        stream[s] = calloc(length[s] + 1, sizeof(**stream));
        length[s] = 0;
    }
    for (uint64_t i = 0; i < count; i++) {
        stream[seen[i].stream][length[seen[i].stream]++] = &seen[i];
    }
    for (uint64_t i = 0; i < count; i++) {
        const struct seen *best = NULL;
        for (uint32_t s = 0; s < streams; s++) {
            const struct seen *x = at[s] < length[s] ? stream[s][at[s]] : NULL;
            if (x != NULL &&
                (best == NULL || x->stamp < best->stamp || (x->stamp == best->stamp && x->order < best->order))) {
                best = x;
            }
        }
        assert_ptr_equal(best, &seen[i]);
        at[best->stream]++;
    }
    for (uint32_t s = 0; s < streams; s++) {
        free(stream[s]);
    }
    free(stream);
    free(at);
    free(length);
}

static void run_many(uint32_t clock_kind, size_t segment_b)
{
    struct rig rig;
    struct ms_writer_options options = {.segment_b = segment_b};
    const uint64_t room = (uint64_t)THREADS * (EVENTS + EVENTS / 64 + 2) + 16;
    struct reading live = {.rig = &rig, .seen = calloc(room, sizeof(struct seen))};
    struct reading again = {.rig = &rig, .seen = calloc(room, sizeof(struct seen))};
    pthread_t producer[THREADS], drainer, reader;
    for (unsigned i = 0; i < MS_COUNT_OF(mailboxes); i++) {
        mailboxes[i] = (struct mailbox){.lock = PTHREAD_MUTEX_INITIALIZER};
    }
    stamp_clock = clock_kind;
    rig_begin(&rig, clock_kind, 64u << 20);
    rig.shm->full_wait_ms = 10000; /* lossless, however slow the machine is */
    rig_open_trace(&rig, &options);
    assert_int_equal(pthread_create(&drainer, NULL, drain_until_stopped, &rig), 0);
    assert_int_equal(pthread_create(&reader, NULL, read_live, &live), 0);
    for (uintptr_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&producer[i], NULL, hand_over, (void *)(i + 1)), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(producer[i], NULL);
    }
    __atomic_store_n(&rig.shm->reserved, 1, __ATOMIC_RELEASE);
    pthread_join(drainer, NULL);
    struct ms_drain_stats stats;
    ms_drain_stats(rig.drain, &stats);
    for (unsigned i = 0; i < MS_DAMAGE_CAUSES; i++) {
        assert_int_equal(stats.damage[i], 0);
    }
    rig_finish(&rig);
    pthread_join(reader, NULL);
    const uint64_t expected = (uint64_t)THREADS * (EVENTS + (EVENTS + 63) / 64);
    assert_in_range(live.count, expected + 1, expected + THREADS); /* and the THREAD records */
    assert_int_equal(live.marks, THREADS * ((EVENTS + 63) / 64));
    check_against_reference(live.seen, live.count, THREADS + 1);

    /* Reading it again yields the same. */
    struct ms_trace *t = rig_read(&rig, NULL);
    struct ms_event e;
    while (ms_trace_next(t, &e) == MS_TRACE_EVENT) {
        check_event(&again, &e);
    }
    ms_trace_close(t);
    assert_int_equal(again.count, live.count);
    assert_int_equal(again.last_ns, live.last_ns);
    assert_memory_equal(again.seen, live.seen, live.count * sizeof(struct seen));
    free(live.seen);
    free(again.seen);
    rig_end(&rig);
}

static void test_many_threads(void **state)
{
    (void)state;
    for (unsigned k = 0; k < MS_COUNT_OF(clocks); k++) {
        run_many(clocks[k], 0);
        run_many(clocks[k], 64 << 10); /* many segments */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
