/* SPDX-License-Identifier: Apache-2.0 */
/* The producing side: threads that start and end, signals, fork, lack of space. Results are checked through drain and
 * reader. */
#include "trace_tally.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/time.h>

/* ---- attaching ---- */

static int attach_calls;
static bool attach_recorded;

static struct ms_shm *attach_nothing(void)
{
    attach_calls++;
    attach_recorded |= rig_number(1); /* as a hook called by the attach function */
    attach_recorded |= ms_rec_state() != MS_STATE_OFF;
    errno = ENOTTY;
    return NULL;
}

/* First of all tests: the process has no recorder yet. */
static void test_refused(void **state)
{
    (void)state;
    assert_int_equal(ms_rec_state(), MS_STATE_OFF);
    assert_false(rig_number(1));
    assert_int_equal(ms_def_text("x", 1), 0);
    assert_int_equal(ms_producer_setup(attach_nothing), 0);
    errno = 4711;
    assert_int_equal(ms_rec_state(), MS_STATE_OFF);
    assert_int_equal(errno, 4711);
    for (int i = 0; i < 3; i++) {
        assert_false(rig_number(1));
        assert_int_equal(ms_rec_state(), MS_STATE_OFF);
    }
    assert_int_equal(attach_calls, 1);
    assert_false(attach_recorded);
}

/* The attach function of this process was attach_nothing; from now on it is the rig's. */
static void test_attach_later(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, MS_CLOCK_MONOTONIC);
    assert_int_equal(ms_rec_state(), MS_STATE_ON);
    assert_true(rig_number(1));
    assert_int_equal(ms_producer_pid(), getpid());
    assert_int_equal(finish_and_read(&rig, NULL).steps, 1);
    rig_end(&rig);
}

static void test_errno_is_preserved(void **state)
{
    (void)state;
    struct rig rig;
    rig_begin(&rig, MS_CLOCK_MONOTONIC, 16u << 20);
    rig_open_trace(&rig, NULL);
    rig.shm->backlog_max = 4;
    rig.shm->full_wait_ms = 1;
    errno = 4711;
    for (int i = 0; i < 5000; i++) { /* new chunks, then a wait that times out, then drops */
        rig_alloc((uint64_t)i, 1);
        ms_def_text("a text", 6);
        assert_int_equal(errno, 4711);
    }
    assert_true(rig.shm->lost_total[MS_GAP_FULL] > 0);
    rig_finish(&rig);
    rig_end(&rig);
}

/* ---- threads ---- */

static void *record_some(void *argument)
{
    uint64_t n = (uint64_t)(uintptr_t)argument;
    for (uint64_t i = 0; i < n; i++) {
        require(rig_number(i));
    }
    return NULL;
}

#define SHORT_THREADS 3000
#define AT_ONCE       20

static void test_thousands_of_threads(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, MS_CLOCK_MONOTONIC);
    for (int i = 0; i < SHORT_THREADS / AT_ONCE; i++) {
        pthread_t thread[AT_ONCE];
        for (int k = 0; k < AT_ONCE; k++) {
            assert_int_equal(pthread_create(&thread[k], NULL, record_some, (void *)3), 0);
        }
        for (int k = 0; k < AT_ONCE; k++) {
            pthread_join(thread[k], NULL);
        }
        if (i % 16 == 0) {
            assert_true(ms_drain_sweep(rig.drain) >= 0);
        }
    }
    assert_in_range(rig.shm->streams_used, 1, AT_ONCE + 1);
    struct tally tally = finish_and_read(&rig, NULL);
    assert_int_equal(tally.steps, SHORT_THREADS * 3);
    assert_int_equal(tally.threads, SHORT_THREADS);
    assert_int_equal(tally.gaps, 0);
    rig_end(&rig);
}

static pthread_key_t late_key;
static void late(void *argument)
{
    uintptr_t round = (uintptr_t)argument;
    require(rig_number(round));
    if (round < 3) {
        pthread_setspecific(late_key, (void *)(round + 1));
    }
}

static void *with_late_destructor(void *argument)
{
    (void)argument;
    require(rig_number(0));
    pthread_setspecific(late_key, (void *)1);
    return NULL;
}

/* Other destructors run after the recorder's and record. */
static void test_records_after_the_recorders_destructor(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, MS_CLOCK_MONOTONIC);
    assert_int_equal(pthread_key_create(&late_key, late), 0);
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, with_late_destructor, NULL), 0);
        pthread_join(thread, NULL);
    }
    pthread_key_delete(late_key);
    assert_true(rig.shm->streams_used < 10);
    assert_int_equal(finish_and_read(&rig, NULL).steps, 400);
    rig_end(&rig);
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) /* they do not support threads that end like this */
#define ABRUPT_THREADS
static void *end_abruptly(void *argument)
{
    (void)argument;
    require(rig_number(1));
    struct ms_slot slot;
    require(ms_rec_begin(&slot, 8, MS_ORDER_PLAIN) != NULL); /* and in flight */
    syscall(SYS_exit, 0);
    return NULL;
}

static void test_thread_without_destructors(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, MS_CLOCK_MONOTONIC);
    for (int i = 0; i < 300; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, end_abruptly, NULL), 0);
        pthread_join(thread, NULL);
    }
    assert_true(rig.shm->streams_used < 100); /* vanished threads are searched for from 64 on */
    assert_int_equal(finish_and_read(&rig, NULL).steps, 300);
    rig_end(&rig);
}
#endif

/* ---- signals ---- */

static uint64_t handler_runs, handler_recorded;

static void record_in_handler(int signal)
{
    (void)signal;
    __atomic_fetch_add(&handler_runs, 1, __ATOMIC_RELAXED);
    if (rig_free(1)) {
        __atomic_fetch_add(&handler_recorded, 1, __ATOMIC_RELAXED);
    }
    ms_def_text("in handler", 10);
}

/* A timer interrupts at any instruction, and equally often on a busy machine: no other thread has to be scheduled for
 * it. */
static void interrupt_every(long us)
{
    struct itimerval interval = {.it_interval.tv_usec = us, .it_value.tv_usec = us};
    assert_int_equal(setitimer(ITIMER_REAL, &interval, NULL), 0);
}

#define INTERRUPTIONS 5000

static void test_signals(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, MS_CLOCK_MONOTONIC);
    struct sigaction action = {.sa_handler = record_in_handler}, before;
    sigaction(SIGALRM, &action, &before);
    handler_runs = handler_recorded = 0;
    interrupt_every(20);
    uint64_t recorded = 0, offered = 0;
    while (__atomic_load_n(&handler_runs, __ATOMIC_ACQUIRE) < INTERRUPTIONS) {
        char text[24];
        snprintf(text, sizeof(text), "text %d", (int)(offered % 7));
        ms_def_text(text, strlen(text));
        recorded += rig_alloc(offered, 1);
        offered++;
        if (offered % 512 == 0) {
            assert_true(ms_drain_sweep(rig.drain) >= 0);
        }
    }
    interrupt_every(0);
    sigaction(SIGALRM, &before, NULL);
    assert_true(rig_number(1)); /* reports what was not reported yet */
    struct tally tally = finish_and_read(&rig, NULL);
    assert_int_equal(tally.allocs, recorded);
    assert_int_equal(recorded, offered);
    assert_int_equal(tally.frees, handler_recorded);
    /* Each of a handler's two attempts is recorded or counted. */
    assert_int_equal(tally.lost_free, handler_runs - handler_recorded);
    if (tally.lost != 0) {
        assert_int_equal(tally.cause, MS_GAP_REENTERED);
    }
    rig_end(&rig);
}

/* ---- no space ---- */

static void test_dropping_is_counted(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, MS_CLOCK_MONOTONIC);
    rig.shm->backlog_max = 2;
    rig.shm->full_wait_ms = 0;
    uint64_t recorded[2] = {0}, offered[2] = {0};
    for (int round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < 3000; i++) {
            offered[i & 1]++;
            recorded[i & 1] += i & 1 ? rig_free(i) : rig_alloc(i, 1);
        }
        assert_true(rig.shm->lost_total[MS_GAP_FULL] > 0);
        assert_true(ms_drain_sweep(rig.drain) > 0);
    }
    assert_true(recorded[0] < offered[0]);
    assert_true(rig_number(1)); /* the collector made progress: recording continues, after a gap record */
    struct tally tally = finish_and_read(&rig, NULL);
    assert_int_equal(tally.allocs, recorded[0]);
    assert_int_equal(tally.frees, recorded[1]);
    assert_int_equal(tally.gaps, 3);
    assert_int_equal(tally.cause, MS_GAP_FULL);
    assert_int_equal(tally.lost_alloc, offered[0] - recorded[0]);
    assert_int_equal(tally.lost_free, offered[1] - recorded[1]);
    assert_int_equal(tally.lost, tally.lost_alloc + tally.lost_free);
    rig_end(&rig);
}

/* A loss that the thread itself never reports is in the trace at the end. */
static void test_loss_at_the_end(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, MS_CLOCK_MONOTONIC);
    rig.shm->backlog_max = 1;
    rig.shm->full_wait_ms = 0;
    uint64_t lost = 0;
    for (uint64_t i = 0; i < 2000; i++) {
        lost += !rig_alloc(i, 1);
    }
    struct tally tally = finish_and_read(&rig, NULL);
    assert_true(lost > 0);
    assert_int_equal(tally.gaps, 1);
    assert_int_equal(tally.lost_alloc, lost);
    rig_end(&rig);
}

static void *sweep_until_stopped(void *argument)
{
    struct rig *rig = argument;
    while (__atomic_load_n(&rig->shm->reserved, __ATOMIC_ACQUIRE) == 0) {
        require(ms_drain_sweep(rig->drain) >= 0);
        ms_drain_sleep(&rig->drain, 1, 100); /* woken by the producer that waits */
    }
    return NULL;
}

static void test_waiting_for_space(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, MS_CLOCK_MONOTONIC);
    rig.shm->backlog_max = 2;
    rig.shm->full_wait_ms = 60000;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, sweep_until_stopped, &rig), 0);
    for (uint64_t i = 0; i < 20000; i++) {
        assert_true(rig_number(i));
    }
    __atomic_store_n(&rig.shm->reserved, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    struct tally tally = finish_and_read(&rig, NULL);
    assert_int_equal(tally.steps, 20000);
    assert_int_equal(tally.gaps, 0);
    rig_end(&rig);
}

static void test_memory_is_used_up(void **state)
{
    (void)state;
    struct rig rig;
    rig_begin(&rig, MS_CLOCK_MONOTONIC, MS_SHM_MIN_B);
    rig_open_trace(&rig, NULL);
    rig.shm->backlog_max = MS_CHUNKS_MAX;
    uint64_t recorded = 0, offered = 0;
    while (rig.shm->lost_total[MS_GAP_NO_ROOM] < 10) {
        recorded += rig_alloc(offered++, 1);
    }
    struct ms_slot slot;
    assert_true(ms_drain_sweep(rig.drain) > 0);
    assert_null(ms_rec_begin(&slot, MS_RECORD_MAX_B, MS_ORDER_PLAIN));
    assert_int_equal(rig.shm->lost_total[MS_GAP_TOO_LONG], 1);
    assert_true(rig_number(1));
    struct tally tally = finish_and_read(&rig, NULL);
    assert_int_equal(tally.allocs, recorded);
    assert_int_equal(tally.lost, offered - recorded + 1);
    rig_end(&rig);
}

/* ---- fork ---- */

static int raw_fork(void)
{
    return (int)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

/* In the child: it has its own memory, and everything recorded is there. Exit status 0 if so. */
static void child_of_fork(struct rig *parent)
{
    struct rig rig;
    uint64_t parent_committed = ms_shm_stream(parent->shm, 0)->committed;
    memset(&rig, 0, sizeof(rig));
    rig.clock_kind = MS_CLOCK_MONOTONIC;
    rig.shm = ms_shm_create(16u << 20, (uint32_t)getpid(), MS_CLOCK_MONOTONIC, &rig.memfd);
    if (rig.shm == NULL) {
        _exit(2);
    }
    rig.shm->state = MS_STATE_ON;
    rig_current = &rig;
    bool ok = rig_number(1) && rig_mark("child", true) && rig_number(2);
    ok = ok && ms_producer_pid() == (uint32_t)getpid();
    ok = ok && ms_shm_stream(rig.shm, 0)->committed == 5; /* thread, step, text, mark, step */
    ok = ok && ms_shm_stream(parent->shm, 0)->committed == parent_committed;
    _exit(ok ? 0 : 1);
}

static void test_fork(void **state)
{
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        struct rig rig;
        rig_start(&rig, MS_CLOCK_MONOTONIC);
        assert_true(rig_number(0));
        assert_true(rig_mark("child", true));
        int pid = kind == 0 ? fork() : raw_fork();
        if (pid == 0) {
            child_of_fork(&rig);
        }
        assert_true(pid > 0);
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        assert_true(rig_number(1));
        assert_int_equal(finish_and_read(&rig, NULL).steps, 2);
        rig_end(&rig);
    }
}

/* A vfork child shares everything; its records belong to its parent. */
static void test_vfork(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, MS_CLOCK_MONOTONIC);
    for (int i = 0; i < 200; i++) {
        pid_t pid = vfork();
        if (pid == 0) {
            rig_number(1);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
        assert_true(rig_number(2));
    }
    assert_int_equal(finish_and_read(&rig, NULL).steps, 400);
    rig_end(&rig);
}

static int forked_in_handler;
static void fork_in_handler(int signal)
{
    (void)signal;
    forked_in_handler = fork();
}

/* The worst moment: between begin and commit. Both processes continue from there. */
static void test_fork_within_a_record(void **state)
{
    (void)state;
    struct rig rig;
    rig_start(&rig, MS_CLOCK_MONOTONIC);
    struct sigaction action = {.sa_handler = fork_in_handler}, before;
    sigaction(SIGUSR1, &action, &before);
    assert_true(rig_number(0));
    struct ms_slot slot = {0};
    struct ms_p_number *p = ms_rec_begin(&slot, sizeof(*p), MS_ORDER_PLAIN);
    assert_non_null(p);
    raise(SIGUSR1);
    if (forked_in_handler == 0) {
        struct rig mine = {.memfd = -1};
        mine.shm = ms_shm_create(16u << 20, 1, MS_CLOCK_MONOTONIC, &mine.memfd);
        mine.shm->state = MS_STATE_ON;
        rig_current = &mine;
        bool ok = rig_number(7); /* attaches while the parent's record is still open */
        p->value = 1;
        ms_rec_commit(&slot, MS_R_STEP, 0, 0, ms_rec_stamp(&slot));
        ok = ok && rig_number(8) && ms_shm_stream(mine.shm, 0)->committed == 3;
        _exit(ok ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(forked_in_handler, &status, 0), forked_in_handler);
    assert_int_equal(status, 0);
    p->value = 1;
    ms_rec_commit(&slot, MS_R_STEP, 0, 0, ms_rec_stamp(&slot));
    assert_true(rig_number(2));
    sigaction(SIGUSR1, &before, NULL);
    assert_int_equal(finish_and_read(&rig, NULL).steps, 3);
    rig_end(&rig);
}

/* ---- clocks ---- */

static uint64_t last_time_ns, last_value;
static void look_order(struct ms_trace *t, const struct ms_event *e)
{
    (void)t;
    assert_true(e->time_ns > last_time_ns);
    last_time_ns = e->time_ns;
    if (e->kind == MS_R_STEP) {
        assert_int_equal(e->value, last_value + 1);
        last_value = e->value;
    }
}

static void *record_one(void *argument)
{
    require(rig_number((uint64_t)(uintptr_t)argument));
    return NULL;
}

/* The collector abandons the counter: streams follow at their own pace, the order stays. */
static void test_clock_changes(void **state)
{
    (void)state;
    struct rig rig;
    uint32_t counter = ms_clock_choose();
    rig_start(&rig, counter);
    last_time_ns = last_value = 0;
    uint64_t value = 1;
    for (int round = 0; round < 6; round++) {
        for (int i = 0; i < 700; i++) { /* more than a chunk: the change is noticed within it */
            assert_true(rig_number(value++));
            if (i % 100 == 0) {
                pthread_t thread;
                assert_int_equal(pthread_create(&thread, NULL, record_one, (void *)(uintptr_t)value++), 0);
                pthread_join(thread, NULL);
            }
        }
        uint64_t end_ns = ms_clock_ns(CLOCK_MONOTONIC) + 2000000; /* so that the sweep's mark is after them all */
        while (ms_clock_ns(CLOCK_MONOTONIC) < end_ns) {
        }
        assert_true(ms_drain_sweep(rig.drain) >= 0);
        rig.shm->clock_kind = round % 2 == 0 ? (uint32_t)MS_CLOCK_MONOTONIC : counter;
    }
    struct tally tally = finish_and_read(&rig, look_order);
    assert_int_equal(tally.steps, value - 1);
    rig_end(&rig);
}

/* ---- memory ---- */

static void test_file_limits(void **state)
{
    (void)state;
    static const rlim_t limits[] = {1 << 20, 64 << 20};
    for (unsigned i = 0; i < MS_COUNT_OF(limits); i++) {
        pid_t pid = fork();
        if (pid == 0) { /* beyond the limit the kernel would kill with SIGXFSZ */
            struct rlimit limit = {.rlim_cur = limits[i], .rlim_max = limits[i]};
            int fd = -1;
            setrlimit(RLIMIT_FSIZE, &limit);
            struct ms_shm *shm = ms_shm_create(MS_SHM_USUAL_B, 1, MS_CLOCK_MONOTONIC, &fd);
            bool ok = limits[i] < MS_SHM_MIN_B ? shm == NULL : shm != NULL && shm->size_b <= limits[i];
            _exit(ok ? 0 : 1);
        }
        int status;
        waitpid(pid, &status, 0);
        assert_int_equal(status, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_attach_later),
        cmocka_unit_test(test_errno_is_preserved),
        cmocka_unit_test(test_thousands_of_threads),
        cmocka_unit_test(test_records_after_the_recorders_destructor),
#ifdef ABRUPT_THREADS
        cmocka_unit_test(test_thread_without_destructors),
#endif
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_dropping_is_counted),
        cmocka_unit_test(test_loss_at_the_end),
        cmocka_unit_test(test_waiting_for_space),
        cmocka_unit_test(test_memory_is_used_up),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_vfork),
        cmocka_unit_test(test_fork_within_a_record),
        cmocka_unit_test(test_clock_changes),
        cmocka_unit_test(test_file_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
