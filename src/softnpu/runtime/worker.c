/* SPDX-License-Identifier: Apache-2.0 */
/* The thread behind a stream: takes tasks in order, runs them, publishes its progress.
 *
 * Invariants: `done` only grows, by one per task, after the task's memory is no longer needed. A task is run or
 * discarded (stream->cancel), and released in both cases.
 *
 * Threads and locks: one detached thread per stream, started by the first task; it holds a reference to the stream.
 * When the queue is empty it spins for a few microseconds, then dozes for about a millisecond (short timed sleeps),
 * then sleeps. Waking a sleeping thread is the most expensive part of a launch (9 us in a virtual machine), so a launch
 * leaves a dozing worker alone: the worker checks again within 50 us, and any caller that waits for the stream wakes it
 * at once. An idle stream costs nothing.
 *
 * Failure policy: a task's error code is kept in the stream until a caller synchronises. */
#include "softnpu/runtime/engine.h"

#include "softnpu/runtime/futex.h"
#include "softnpu/runtime/prof.h"
#include "softnpu/runtime/trap.h"
#include "base/clock.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>

#define SPIN_ROUNDS       100u /* 3 to 5 us */
#define DOZE_NS           50000
#define DOZE_ROUNDS       20u
#define BUSY_REPORT_TASKS 64u
#define WAIT_SLICE_NS     10000000
#define WORKER_STACK_B    (8u << 20)

static __thread struct {
    struct snpu_stream *stream;
    const uint32_t *extra_cancel;
    uint64_t waited_ns; /* inside snpu_task_wait since the last report: not busy */
} me;

bool snpu_stream_is_mine(const struct snpu_stream *stream)
{
    return me.stream == stream;
}

const uint32_t *snpu_worker_extra_cancel(const uint32_t *word)
{
    const uint32_t *before = me.extra_cancel;
    me.extra_cancel = word;
    return before;
}

/* Values of `sleeping`. */
enum { AWAKE, ASLEEP, DOZING };

static void ring(struct snpu_stream *stream)
{
    if (__atomic_exchange_n(&stream->sleeping, AWAKE, __ATOMIC_ACQ_REL) != AWAKE) {
        __atomic_fetch_add(&stream->doorbell, 1, __ATOMIC_RELEASE);
        futex_wake_private(&stream->doorbell, 1);
    }
}

void snpu_worker_wake(struct snpu_stream *stream)
{
    /* What the worker must see was stored before, sequentially consistent like all accesses between the two. */
    if (MS_UNLIKELY(__atomic_load_n(&stream->sleeping, __ATOMIC_SEQ_CST) == ASLEEP)) {
        ring(stream);
    }
}

void snpu_worker_hurry(struct snpu_stream *stream)
{
    if (__atomic_load_n(&stream->sleeping, __ATOMIC_SEQ_CST) != AWAKE) {
        ring(stream);
    }
}

int32_t snpu_worker_cancel_code(void)
{
    int32_t code = me.stream != NULL ? (int32_t)__atomic_load_n(&me.stream->cancel, __ATOMIC_ACQUIRE) : 0;
    return code != 0 ? code : ACL_ERROR_RT_STREAM_ABORT;
}

static bool has_work(const struct snpu_stream *stream, uint64_t seq)
{
    return __atomic_load_n(&stream->submitted, __ATOMIC_SEQ_CST) != seq ||
           __atomic_load_n(&stream->exit_when_empty, __ATOMIC_SEQ_CST);
}

/* One sleep on the doorbell, announced as `how`; returns true if there is work. */
static bool sleep_once(struct snpu_stream *stream, uint64_t seq, uint32_t how, int64_t timeout_ns)
{
    uint32_t bell = __atomic_load_n(&stream->doorbell, __ATOMIC_ACQUIRE);
    __atomic_store_n(&stream->sleeping, how, __ATOMIC_SEQ_CST);
    if (!has_work(stream, seq)) {
        futex_wait_private(&stream->doorbell, bell, timeout_ns);
    }
    __atomic_store_n(&stream->sleeping, AWAKE, __ATOMIC_RELAXED);
    return has_work(stream, seq);
}

static void sleep_until_work(struct snpu_stream *stream, uint64_t seq)
{
    for (unsigned i = 0; snpu_hal_cores() > 1 && i < SPIN_ROUNDS; i++) {
        if (has_work(stream, seq)) {
            return;
        }
        snpu_cpu_relax();
    }
    for (unsigned i = 0; i < DOZE_ROUNDS; i++) {
        if (sleep_once(stream, seq, DOZING, DOZE_NS)) {
            return;
        }
    }
    while (!sleep_once(stream, seq, ASLEEP, -1)) {
    }
}

static void publish_done(struct snpu_stream *stream, uint64_t seq)
{
    __atomic_store_n(&stream->done, seq, __ATOMIC_SEQ_CST);
    if (MS_LIKELY(seq < __atomic_load_n(&stream->sync_min, __ATOMIC_SEQ_CST))) {
        return;
    }
    pthread_mutex_lock(&stream->wait_lock);
    __atomic_store_n(&stream->sync_min, UINT64_MAX, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&stream->sync_word, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&stream->wait_lock);
    futex_wake_private(&stream->sync_word, INT_MAX);
}

static void report_busy(struct snpu_stream *stream, uint64_t *since, uint64_t tasks)
{
    uint64_t now = ms_clock_raw_ns();
    uint64_t span = now - *since;
    uint64_t busy = span > me.waited_ns ? span - me.waited_ns : 0;
    __atomic_fetch_add(&stream->activity->busy_ns, busy, __ATOMIC_RELAXED);
    __atomic_fetch_add(&stream->activity->tasks, tasks, __ATOMIC_RELAXED);
    me.waited_ns = 0;
    *since = now;
}

static void remember_failure(struct snpu_stream *stream, int32_t code)
{
    int32_t none = 0;
    __atomic_compare_exchange_n(&stream->error, &none, code, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Stop-on-failure applies to all streams of the context. */
static void stop_context(struct snpu_stream *stream, int32_t code)
{
    __atomic_store_n(&stream->ctx->priv->stop_code, code, __ATOMIC_RELEASE);
    struct snpu_stream **list;
    size_t count = snpu_streams_snapshot(stream->dev, stream->ctx, &list);
    for (size_t i = 0; i < count; i++) {
        snpu_stream_cancel(list[i], code);
        snpu_stream_put(list[i]);
    }
    free(list);
}

static bool cancelled(void)
{
    return (me.stream != NULL && (__atomic_load_n(&me.stream->cancel, __ATOMIC_ACQUIRE) != 0 ||
                                  __atomic_load_n(&me.stream->stop, __ATOMIC_ACQUIRE) != 0)) ||
           (me.extra_cancel != NULL && __atomic_load_n(me.extra_cancel, __ATOMIC_ACQUIRE) != 0);
}

int32_t snpu_task_execute(struct task_rec *rec)
{
    struct snpu_task *task = &rec->task;
    struct snpu_stream *stream = task->stream;
    bool seen = rec->prof_type != SNPU_TASK_SILENT;
    if (seen) {
        snpu_prof_task_begin(stream->dev, stream->id, task->id, rec->prof_type);
    }
    uint64_t limit_ms = task->kind->ri_type == ACL_MODEL_RI_TASK_KERNEL ? snpu_op_execute_timeout_ms() : 0;
    uint64_t start_ns = limit_ms != 0 ? ms_clock_raw_ns() : 0;
    int32_t code = task->kind->run(task);
    if (limit_ms != 0 && code == 0 && ms_clock_raw_ns() - start_ns > limit_ms * 1000000) {
        code = ACL_ERROR_RT_AICORE_TIMEOUT;
    }
    if (seen) {
        snpu_prof_task_end(stream->dev, stream->id, task->id, rec->prof_type);
    }
    /* A task that ends early because its stream or model was cancelled did not itself fail, and a task that runs others
     * only passes on their failures. */
    if (MS_UNLIKELY(code != 0) && seen && !cancelled()) {
        snpu_exception_task_failed(rec, code);
    }
    return code;
}

static void process(struct snpu_stream *stream, struct task_rec *rec, uint64_t seq)
{
    int32_t code = (int32_t)__atomic_load_n(&stream->cancel, __ATOMIC_ACQUIRE);
    if (MS_UNLIKELY(seq < __atomic_load_n(&stream->drop_before, __ATOMIC_ACQUIRE))) {
        code = __atomic_load_n(&stream->abort_code, __ATOMIC_RELAXED);
    }
    if (MS_LIKELY(code == 0)) {
        code = snpu_task_execute(rec);
        int32_t reason = (int32_t)__atomic_load_n(&stream->cancel, __ATOMIC_ACQUIRE);
        if (MS_UNLIKELY(code != 0)) {
            code = reason != 0 ? reason : code;
            __atomic_store_n(&stream->stop, 0, __ATOMIC_RELEASE); /* aimed at this task, not at the next */
        }
    }
    if (MS_UNLIKELY(code != 0)) {
        remember_failure(stream, code);
        if (__atomic_load_n(&stream->ctx->priv->stop_on_failure, __ATOMIC_ACQUIRE) &&
            __atomic_load_n(&stream->cancel, __ATOMIC_ACQUIRE) == 0) {
            stop_context(stream, code);
        }
    }
    if (rec->task.kind->release != NULL) {
        rec->task.kind->release(rec->task.payload);
    }
    if (rec->on_heap) {
        free(rec);
    }
}

static void *worker_main(void *arg)
{
    struct snpu_stream *stream = arg;
    me.stream = stream;
    prctl(PR_SET_TIMERSLACK, 1000); /* keeps dozes of 50 us from lasting 100 */
    snpu_ctx_set_current(stream->ctx);
    void *trap_stack = snpu__trap_stack_begin();
    uint64_t seq = 0, since = ms_clock_raw_ns(), tasks = 0;
    for (;;) {
        if (__atomic_load_n(&stream->submitted, __ATOMIC_ACQUIRE) == seq) {
            if (__atomic_load_n(&stream->exit_when_empty, __ATOMIC_ACQUIRE) &&
                __atomic_load_n(&stream->submitted, __ATOMIC_ACQUIRE) == seq) {
                break;
            }
            sleep_until_work(stream, seq);
            since = ms_clock_raw_ns();
            continue;
        }
        process(stream, stream->queue->slots[seq % SNPU_STREAM_DEPTH].rec, seq);
        seq++;
        /* Before the last task counts as done: a caller that synchronised and then queries the utilisation sees it. */
        if (++tasks == BUSY_REPORT_TASKS || __atomic_load_n(&stream->submitted, __ATOMIC_RELAXED) == seq) {
            report_busy(stream, &since, tasks);
            tasks = 0;
        }
        publish_done(stream, seq);
    }
    snpu__trap_stack_end(trap_stack);
    /* The closer gets the reference, so the stream is free when its destruction returns; a closer that did not wait
     * leaves it here. */
    if (__atomic_exchange_n(&stream->worker_gone, SNPU_WORKER_GONE, __ATOMIC_ACQ_REL) == SNPU_WORKER_ABANDONED) {
        snpu_stream_put(stream);
    } else {
        futex_wake_private(&stream->worker_gone, INT_MAX);
    }
    return NULL;
}

int snpu_worker_start(struct snpu_stream *stream)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, WORKER_STACK_B);
    sigset_t all, before;
    snpu__mask_but_faults(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    __atomic_fetch_add(&stream->refs, 1, __ATOMIC_RELAXED);
    int err = pthread_create(&stream->worker, &attr, worker_main, stream);
    if (err != 0) {
        __atomic_fetch_sub(&stream->refs, 1, __ATOMIC_RELAXED);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attr);
    return -err;
}

/* ---- waiting inside a task ---- */

/* Sleeps on the word and on the cancel words at once; on kernels before 5.16, which cannot, polls them every few
 * milliseconds. */
static int wait_any(const uint32_t *word, uint32_t expected, int64_t deadline)
{
    static uint32_t no_waitv;
    int64_t left = deadline_left_ns(deadline);
    if (left == 0) {
        return -ETIMEDOUT;
    }
    if (!__atomic_load_n(&no_waitv, __ATOMIC_RELAXED)) {
        struct futex_waitv words[4] = {{.val = expected, .uaddr = (uintptr_t)word, .flags = FUTEX_32}};
        unsigned count = 1;
        if (me.stream != NULL) {
            words[count++] = (struct futex_waitv){.uaddr = (uintptr_t)&me.stream->cancel, .flags = FUTEX_32};
            words[count++] = (struct futex_waitv){.uaddr = (uintptr_t)&me.stream->stop, .flags = FUTEX_32};
        }
        if (me.extra_cancel != NULL) {
            words[count++] = (struct futex_waitv){.uaddr = (uintptr_t)me.extra_cancel, .flags = FUTEX_32};
        }
        struct timespec until = {.tv_sec = deadline / 1000000000, .tv_nsec = deadline % 1000000000};
        long r = syscall(SYS_futex_waitv, words, count, 0, deadline == INT64_MAX ? NULL : &until, CLOCK_MONOTONIC);
        if (r >= 0 || errno == EAGAIN || errno == EINTR) {
            return 0;
        }
        if (errno == ETIMEDOUT) {
            return -ETIMEDOUT;
        }
        __atomic_store_n(&no_waitv, 1, __ATOMIC_RELAXED);
    }
    futex_wait_shared(word, expected, left < 0 || left > WAIT_SLICE_NS ? WAIT_SLICE_NS : left);
    return 0;
}

int snpu_task_wait(struct snpu_task *task, const uint32_t *word, uint32_t expected, int32_t timeout_ms)
{
    (void)task;
    if (cancelled()) {
        return -ECANCELED;
    }
    if (__atomic_load_n(word, __ATOMIC_ACQUIRE) != expected) {
        return 0;
    }
    uint64_t begin = ms_clock_raw_ns();
    int64_t deadline = deadline_after_ms(timeout_ms);
    int result = 0;
    if (me.stream != NULL) {
        __atomic_store_n(&me.stream->waiting, 1, __ATOMIC_RELAXED);
    }
    do {
        result = wait_any(word, expected, deadline);
        if (cancelled()) {
            result = -ECANCELED;
        }
    } while (result == 0 && __atomic_load_n(word, __ATOMIC_ACQUIRE) == expected);
    if (me.stream != NULL) {
        __atomic_store_n(&me.stream->waiting, 0, __ATOMIC_RELAXED);
    }
    me.waited_ns += ms_clock_raw_ns() - begin;
    return result;
}

void snpu_wake_all(const uint32_t *word)
{
    futex_wake_shared(word, INT_MAX);
}

int32_t snpu_task_lose(struct snpu_task *task)
{
    struct snpu_stream *stream = me.stream != NULL ? me.stream : task->stream;
    uint64_t limit_ms = snpu_op_execute_timeout_ms();
    int32_t timeout = limit_ms == 0 || limit_ms > INT32_MAX ? -1 : (int32_t)limit_ms;
    switch (snpu_task_wait(task, &stream->give_up_lost, 0, timeout)) {
    case -ETIMEDOUT:
        return ACL_ERROR_RT_AICORE_TIMEOUT;
    case -ECANCELED:
        return ACL_ERROR_RT_STREAM_ABORT;
    default:
        return ACL_ERROR_RT_AICORE_EXCEPTION;
    }
}
