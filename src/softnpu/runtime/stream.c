/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: opening and closing, the submitting side of the queue, waiting for it, discarding work.
 *
 * Invariants: done <= submitted <= done + SNPU_STREAM_DEPTH. slots[n % DEPTH] belongs to the submitter until
 * `submitted` passes n, then to the worker until `done` passes n. Small tasks are in the queue's arena, in ring order;
 * the arena restarts from the beginning whenever the queue is empty, which keeps a lightly used stream within a few
 * cache lines.
 *
 * Threads and locks: see engine.h. Queue memory is returned to a pool and never unmapped, so a use after destroy finds
 * mapped memory.
 *
 * Failure policy: nothing is queued unless 0 is returned. */
#include "softnpu/runtime/engine.h"
#include "softnpu/runtime/exception.h"

#include "softnpu/runtime/callback.h"
#include "softnpu/runtime/futex.h"
#include "softnpu/runtime/prof.h"
#include "base/slab.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define FORCED_CLOSE_MS 2000 /* how long a forced close waits for a task that ignores cancellation */
#define SYNC_SPINS      200u /* 5 to 10 us */
#define FULL_WAIT_NS    200000

static struct ms_slab streams = MS_SLAB_INIT(struct snpu_stream, SNPU_STREAMS_PER_DEVICE *SNPU_MAX_DEVICES);
static __thread struct {
    uint32_t task_id, stream_id;
    uint32_t tid;
    struct snpu_stream *tracking; /* a task of this stream is being reported to a profiler, with the stream's lock
                                   * held */
} last;

/* ---- queue memory ---- */

static pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER; /* leaf */
static struct stream_queue *pool;

static struct stream_queue *queue_get(void)
{
    pthread_mutex_lock(&pool_lock);
    struct stream_queue *queue = pool;
    if (queue != NULL) {
        pool = queue->next_free;
    }
    pthread_mutex_unlock(&pool_lock);
    if (queue == NULL) {
        queue = mmap(NULL, sizeof(*queue), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (queue == MAP_FAILED) {
            return NULL;
        }
    }
    return queue;
}

static void queue_put(struct stream_queue *queue)
{
    madvise(queue, sizeof(*queue), MADV_DONTNEED);
    pthread_mutex_lock(&pool_lock);
    queue->next_free = pool;
    pool = queue;
    pthread_mutex_unlock(&pool_lock);
}

/* ---- life ---- */

static bool take_id_locked(struct rt_device *device, uint32_t *id)
{
    /* Ids are allocated round robin, so a destroyed stream's id is reused as late as possible: profilers identify
     * streams by it. */
    for (uint32_t n = 0; n < SNPU_STREAM_ID_LIMIT; n++) {
        uint32_t i = (device->next_stream_id + n) % SNPU_STREAM_ID_LIMIT;
        if (!(device->stream_ids[i / 64] >> (i % 64) & 1)) {
            device->stream_ids[i / 64] |= 1ull << (i % 64);
            device->next_stream_id = i + 1;
            *id = i;
            return true;
        }
    }
    return false;
}

int32_t snpu_stream_open(const char *function, struct snpu_ctx *ctx, uint32_t priority, uint32_t flags, bool internal,
                         struct snpu_stream **out)
{
    struct rt_device *device = &snpu_devices[ctx->dev];
    if (__atomic_load_n(&device->lost, __ATOMIC_ACQUIRE)) {
        return snpu_fail(ACL_ERROR_RT_LOST_HEARTBEAT, "%s: device %d is lost; call aclrtResetDeviceForce", function,
                         ctx->user_dev);
    }
    struct snpu_stream *stream = ms_slab_alloc(&streams);
    struct stream_queue *queue = stream != NULL ? queue_get() : NULL;
    if (queue == NULL) {
        if (stream != NULL) {
            ms_slab_free(&streams, stream);
        }
        return snpu_fail(ACL_ERROR_RT_NO_STREAM_RESOURCE, "%s: out of host memory for another stream", function);
    }
    stream->ctx = ctx;
    stream->dev = ctx->dev;
    stream->flags = flags;
    stream->priority = priority;
    stream->internal = internal;
    stream->queue = queue;
    stream->refs = 1;
    stream->sync_min = UINT64_MAX;
    stream->activity = snpu_hal_activity(ctx->dev);
    stream->cancel = (uint32_t)__atomic_load_n(&ctx->priv->stop_code, __ATOMIC_ACQUIRE);
    pthread_mutex_init(&stream->lock, NULL);
    pthread_mutex_init(&stream->wait_lock, NULL);

    pthread_mutex_lock(&snpu_rt_lock);
    bool ok = device->stream_count < SNPU_STREAMS_PER_DEVICE && take_id_locked(device, &stream->id);
    if (ok) {
        device->stream_count++;
        stream->next = device->streams;
        stream->prev_link = &device->streams;
        if (stream->next != NULL) {
            stream->next->prev_link = &stream->next;
        }
        device->streams = stream;
    }
    pthread_mutex_unlock(&snpu_rt_lock);
    if (!ok) {
        queue_put(queue);
        ms_slab_free(&streams, stream);
        return snpu_fail(ACL_ERROR_RT_NO_STREAM_RESOURCE, "%s: device %d has reached its limit of %u streams", function,
                         ctx->user_dev, SNPU_STREAMS_PER_DEVICE);
    }
    __atomic_fetch_add(&stream->activity->streams, 1, __ATOMIC_RELAXED);
    *out = stream;
    return 0;
}

bool snpu_stream_unlink_locked(struct snpu_stream *stream)
{
    if (stream->prev_link == NULL) {
        return false;
    }
    *stream->prev_link = stream->next;
    if (stream->next != NULL) {
        stream->next->prev_link = stream->prev_link;
    }
    stream->prev_link = NULL;
    stream->next = NULL;
    return true;
}

void snpu_stream_put(struct snpu_stream *stream)
{
    if (__atomic_fetch_sub(&stream->refs, 1, __ATOMIC_ACQ_REL) != 1) {
        return;
    }
    struct rt_device *device = &snpu_devices[stream->dev];
    pthread_mutex_lock(&snpu_rt_lock);
    device->stream_ids[stream->id / 64] &= ~(1ull << (stream->id % 64));
    device->stream_count--;
    pthread_mutex_unlock(&snpu_rt_lock);
    __atomic_fetch_sub(&stream->activity->streams, 1, __ATOMIC_RELAXED);
    queue_put(stream->queue);
    pthread_mutex_destroy(&stream->lock);
    pthread_mutex_destroy(&stream->wait_lock);
    ms_slab_free(&streams, stream);
}

static void close_stream(struct snpu_stream *stream, bool force, int64_t deadline)
{
    snpu_route_forget(stream);
    pthread_mutex_lock(&stream->lock);
    stream->closing = true;
    bool started = stream->worker_started;
    pthread_mutex_unlock(&stream->lock);
    if (force) {
        if (__atomic_load_n(&stream->cancel, __ATOMIC_ACQUIRE) == 0) {
            snpu_stream_cancel(stream, ACL_ERROR_RT_STREAM_ABORT);
        }
        snpu_report_forget(stream);
    }
    __atomic_store_n(&stream->give_up_lost, 1, __ATOMIC_RELEASE);
    snpu_wake_all(&stream->give_up_lost);
    __atomic_store_n(&stream->exit_when_empty, 1, __ATOMIC_SEQ_CST);
    if (started) {
        snpu_worker_hurry(stream);
        int64_t left = 0;
        /* A callback may close the stream it runs on; it must not wait for itself. */
        while (!snpu_stream_is_mine(stream) &&
               __atomic_load_n(&stream->worker_gone, __ATOMIC_ACQUIRE) == SNPU_WORKER_RUNS &&
               (left = deadline_left_ns(deadline)) != 0) {
            futex_wait_private(&stream->worker_gone, SNPU_WORKER_RUNS, left);
        }
        if (__atomic_exchange_n(&stream->worker_gone, SNPU_WORKER_ABANDONED, __ATOMIC_ACQ_REL) == SNPU_WORKER_GONE) {
            snpu_stream_put(stream); /* the worker's reference */
        }
    }
    snpu_report_forget(stream);
    snpu_stream_put(stream);
}

void snpu_stream_close(struct snpu_stream *stream, bool force)
{
    close_stream(stream, force, deadline_after_ms(force ? FORCED_CLOSE_MS : -1));
}

void snpu_stream_close_by(struct snpu_stream *stream, int64_t deadline)
{
    close_stream(stream, true, deadline);
}

size_t snpu_streams_snapshot(uint32_t dev, const struct snpu_ctx *ctx, struct snpu_stream ***list)
{
    size_t count = 0;
    *list = NULL;
    pthread_mutex_lock(&snpu_rt_lock);
    struct rt_device *device = &snpu_devices[dev];
    if (device->stream_count > 0) {
        *list = malloc(device->stream_count * sizeof(**list));
    }
    for (struct snpu_stream *s = device->streams; s != NULL && *list != NULL; s = s->next) {
        if (ctx == NULL || s->ctx == ctx) {
            __atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED);
            (*list)[count++] = s;
        }
    }
    pthread_mutex_unlock(&snpu_rt_lock);
    return count;
}

/* ---- handles ---- */

static bool stream_alive(const struct snpu_stream *stream)
{
    return ms_slab_check(&streams, stream) && !__atomic_load_n(&stream->exit_when_empty, __ATOMIC_RELAXED);
}

int32_t snpu_stream_resolve(const char *function, void *handle, struct snpu_stream **out)
{
    struct snpu_ctx *ctx;
    int32_t ret = snpu_ctx_need(function, &ctx);
    if (ret != 0) {
        return ret;
    }
    if (handle == NULL) {
        *out = ctx->default_stream;
        return 0;
    }
    struct snpu_stream *stream = handle;
    if (MS_UNLIKELY(!stream_alive(stream))) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is not a stream or was destroyed", function, handle);
    }
    if (MS_UNLIKELY(stream->ctx != ctx)) {
        return snpu_fail(ACL_ERROR_RT_STREAM_CONTEXT, "%s: stream %p belongs to another context (device %d)", function,
                         handle, stream->ctx->user_dev);
    }
    *out = stream;
    return 0;
}

int32_t snpu_stream_resolve_any(const char *function, void *handle, struct snpu_stream **out)
{
    if (handle == NULL) {
        return snpu_stream_resolve(function, NULL, out);
    }
    int32_t ret = snpu_guard(function);
    if (ret == 0 && !stream_alive(handle)) {
        ret = snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is not a stream or was destroyed", function, handle);
    }
    if (ret == 0) {
        *out = handle;
    }
    return ret;
}

uint32_t snpu_stream_dev(const struct snpu_stream *stream)
{
    return stream->dev;
}

uint32_t snpu_stream_id(const struct snpu_stream *stream)
{
    return stream->id;
}

struct snpu_ctx *snpu_stream_ctx(const struct snpu_stream *stream)
{
    return stream->ctx;
}

bool snpu_stream_capturing(struct snpu_stream *stream)
{
    return __atomic_load_n(&stream->capturing, __ATOMIC_ACQUIRE) != 0;
}

/* ---- submitting ---- */

static struct task_rec *arena_alloc(struct snpu_stream *stream, uint64_t seq, uint64_t done, size_t size, uint32_t *off)
{
    struct stream_queue *queue = stream->queue;
    if (done == seq) {
        stream->arena_head = 0;
    }
    uint32_t head = stream->arena_head;
    uint32_t tail = done == seq ? 0 : queue->slots[done % SNPU_STREAM_DEPTH].arena_off;
    uint32_t at = head;
    if (size > SNPU_ARENA_TASK_MAX_B) {
        return NULL;
    }
    if (head >= tail) {
        if (head + size > SNPU_ARENA_B) {
            if (size >= tail) {
                return NULL;
            }
            at = 0;
        }
    } else if (head + size >= tail) {
        return NULL;
    }
    stream->arena_head = at + (uint32_t)size;
    *off = at;
    return (struct task_rec *)(queue->arena + at);
}

void snpu_task_fill(struct task_rec *rec, struct snpu_stream *stream, const struct snpu_task_kind *kind,
                    const void *head, size_t head_b, const void *tail, size_t tail_b)
{
    if (last.tid == 0) {
        last.tid = (uint32_t)gettid();
    }
    rec->tid = last.tid;
    rec->task.kind = kind;
    rec->task.stream = stream;
    rec->task.payload_b = (uint32_t)(head_b + tail_b);
    rec->prof_type = kind->prof_type;
    if (head_b > 0) {
        memcpy(rec->task.payload, head, head_b);
    }
    if (tail_b > 0) {
        memcpy((char *)rec->task.payload + head_b, tail, tail_b);
    }
    if (kind->track != NULL) {
        const char *name;
        uint16_t blocks, args_b;
        kind->track(rec->task.payload, &name, &rec->prof_type, &blocks, &args_b);
    }
}

void snpu_task_track(const struct task_rec *rec, bool captured)
{
    const struct snpu_task *task = &rec->task;
    const char *name = task->kind->name;
    uint32_t type = task->kind->prof_type;
    uint16_t blocks = 0, args_b = 0;
    if (task->kind->track != NULL) {
        task->kind->track(task->payload, &name, &type, &blocks, &args_b);
    }
    const struct snpu_stream *s = task->stream;
    (captured ? snpu_prof_task_track_captured : snpu_prof_task_track)(s->dev, s->id, task->id, type, name, blocks,
                                                                      args_b);
}

/* The queue is full: waits, without the lock, until half of it is free or FULL_WAIT_NS have passed. */
static void wait_for_place(struct snpu_stream *stream)
{
    uint64_t target = stream->submitted - SNPU_STREAM_DEPTH / 2;
    pthread_mutex_unlock(&stream->lock);
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    snpu_stream_wait_seq(stream, target, (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec + FULL_WAIT_NS);
    pthread_mutex_lock(&stream->lock);
}

static int32_t may_submit_locked(struct snpu_stream *stream, const struct snpu_task_kind *kind)
{
    if (MS_UNLIKELY(stream->closing)) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: stream %u is being destroyed", kind->name, stream->id);
    }
    int32_t cancel = (int32_t)__atomic_load_n(&stream->cancel, __ATOMIC_ACQUIRE);
    if (MS_UNLIKELY(cancel != 0)) {
        return snpu_fail(cancel, "%s: stream %u accepts no tasks: it was aborted or stopped by a failure", kind->name,
                         stream->id);
    }
    if (MS_UNLIKELY(!stream->worker_started)) {
        int err = snpu_worker_start(stream);
        if (err != 0) {
            return snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: cannot start a thread for stream %u: %s",
                             kind->name, stream->id, strerror(-err));
        }
        stream->worker_started = true;
    }
    return 0;
}

int32_t snpu_stream_submit(struct snpu_stream *stream, const struct snpu_task_kind *kind, const void *head,
                           size_t head_b, const void *tail, size_t tail_b, uint32_t *task_id)
{
    if (MS_UNLIKELY(head_b > SNPU_PAYLOAD_MAX || tail_b > SNPU_PAYLOAD_MAX - head_b)) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: a task of %zu bytes is too large", kind->name,
                         head_b + tail_b);
    }
    if (MS_UNLIKELY(last.tracking == stream)) {
        return snpu_fail(ACL_ERROR_RT_PROFILING_ERROR,
                         "%s: a profiler cannot submit to the stream whose task is being reported", kind->name);
    }
    pthread_mutex_lock(&stream->lock);
    if (MS_UNLIKELY(stream->route != NULL)) {
        int32_t ret = snpu_route_submit(stream, kind, head, head_b, tail, tail_b, task_id);
        pthread_mutex_unlock(&stream->lock);
        return ret;
    }
    uint64_t seq, done;
    for (;;) {
        int32_t ret = may_submit_locked(stream, kind);
        if (MS_UNLIKELY(ret != 0)) {
            pthread_mutex_unlock(&stream->lock);
            return ret;
        }
        seq = stream->submitted;
        done = __atomic_load_n(&stream->done, __ATOMIC_ACQUIRE);
        if (MS_LIKELY(seq - done < SNPU_STREAM_DEPTH)) {
            break;
        }
        if (snpu_stream_is_mine(stream)) {
            pthread_mutex_unlock(&stream->lock);
            return snpu_fail(ACL_ERROR_RT_STREAM_TASK_FULL, "%s: stream %u is full, and its own callback submits to it",
                             kind->name, stream->id);
        }
        wait_for_place(stream);
    }
    size_t size = MS_ROUND_UP(sizeof(struct task_rec) + head_b + tail_b, 16);
    uint32_t off = stream->arena_head;
    struct task_rec *rec = arena_alloc(stream, seq, done, size, &off);
    bool on_heap = rec == NULL;
    if (on_heap && (rec = malloc(size)) == NULL) {
        pthread_mutex_unlock(&stream->lock);
        return snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: out of host memory for a task of %zu bytes", kind->name,
                         size);
    }
    snpu_task_fill(rec, stream, kind, head, head_b, tail, tail_b);
    rec->on_heap = on_heap;
    uint32_t id = (uint32_t)seq;
    rec->task.id = id;
    stream->queue->slots[seq % SNPU_STREAM_DEPTH] = (struct task_slot){.rec = rec, .arena_off = off};
    last.task_id = id;
    last.stream_id = stream->id;
    /* Before the worker can see it: profilers must know the task when its begin arrives. */
    if (snpu_prof_tracks_on(stream->dev) && rec->prof_type != SNPU_TASK_SILENT) {
        last.tracking = stream; /* the lock fixes the id and keeps the order; tools only record it */
        snpu_task_track(rec, false);
        last.tracking = NULL;
    }
    __atomic_store_n(&stream->submitted, seq + 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&stream->lock);
    snpu_worker_wake(stream);
    if (task_id != NULL) {
        *task_id = id;
    }
    return 0;
}

void snpu_last_task_set(uint32_t task_id, uint32_t stream_id)
{
    last.task_id = task_id;
    last.stream_id = stream_id;
}

void snpu_last_task(uint32_t *task_id, uint32_t *stream_id)
{
    if (task_id != NULL) {
        *task_id = last.task_id;
    }
    if (stream_id != NULL) {
        *stream_id = last.stream_id;
    }
}

/* ---- waiting ---- */

/* 0 when `done` has reached the target, -ETIMEDOUT. */
int32_t snpu_stream_wait_seq(struct snpu_stream *stream, uint64_t target, int64_t deadline)
{
    /* Short tasks end while we spin; sleeping and waking takes longer than most kernels. */
    for (unsigned i = 0; i < SYNC_SPINS; i++) {
        if (__atomic_load_n(&stream->done, __ATOMIC_ACQUIRE) >= target) {
            return 0;
        }
        if (i == 0) {
            snpu_worker_hurry(stream);
        }
        snpu_cpu_relax();
    }
    int32_t ret = 0;
    pthread_mutex_lock(&stream->wait_lock);
    for (;;) {
        uint32_t word = __atomic_load_n(&stream->sync_word, __ATOMIC_ACQUIRE);
        if (target < stream->sync_min) {
            __atomic_store_n(&stream->sync_min, target, __ATOMIC_SEQ_CST);
        }
        if (__atomic_load_n(&stream->done, __ATOMIC_SEQ_CST) >= target) {
            break;
        }
        int64_t left = deadline_left_ns(deadline);
        if (left == 0) {
            ret = -ETIMEDOUT;
            break;
        }
        pthread_mutex_unlock(&stream->wait_lock);
        futex_wait_private(&stream->sync_word, word, left);
        pthread_mutex_lock(&stream->wait_lock);
    }
    pthread_mutex_unlock(&stream->wait_lock);
    return ret;
}

int32_t snpu_stream_take_error(struct snpu_stream *stream)
{
    int32_t code = __atomic_exchange_n(&stream->error, 0, __ATOMIC_ACQ_REL);
    int32_t cancel = (int32_t)__atomic_load_n(&stream->cancel, __ATOMIC_ACQUIRE);
    if (code == 0 && cancel != 0) {
        code = cancel; /* a stopped stream stays failed */
    }
    if (code != 0) {
        char why[192] = "";
        bool known = snpu_exception_text(stream->dev, code, why, sizeof(why));
        return snpu_fail(code, "a task of stream %u on device %d failed%s%s", stream->id, stream->ctx->user_dev,
                         known ? ": " : "", why);
    }
    return 0;
}

int32_t snpu_stream_synchronize(struct snpu_stream *stream, int32_t timeout_ms)
{
    if (MS_UNLIKELY(snpu_stream_is_mine(stream))) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "a callback of stream %u cannot wait for its own stream",
                         stream->id);
    }
    int32_t ret = snpu_capture_check_sync(stream);
    if (MS_UNLIKELY(ret != 0)) {
        return ret;
    }
    uint32_t epoch = __atomic_load_n(&stream->abort_epoch, __ATOMIC_ACQUIRE);
    uint64_t target = __atomic_load_n(&stream->submitted, __ATOMIC_ACQUIRE);
    if (snpu_stream_wait_seq(stream, target, deadline_after_ms(timeout_ms)) != 0) {
        return snpu_fail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT, "stream %u was not empty after %d ms", stream->id,
                         timeout_ms);
    }
    ret = snpu_stream_take_error(stream);
    if (__atomic_load_n(&stream->abort_epoch, __ATOMIC_ACQUIRE) != epoch) {
        ret = snpu_fail(__atomic_load_n(&stream->abort_code, __ATOMIC_RELAXED), "stream %u was aborted during the wait",
                        stream->id);
    }
    return ret;
}

/* ---- discarding work ---- */

void snpu_stream_cancel(struct snpu_stream *stream, int32_t code)
{
    __atomic_store_n(&stream->cancel, (uint32_t)code, __ATOMIC_SEQ_CST);
    if (code != 0) {
        snpu_wake_all(&stream->cancel);
        snpu_worker_hurry(stream);
    }
}

bool snpu_stream_abort_begin(struct snpu_stream *stream, int32_t code)
{
    pthread_mutex_lock(&stream->lock);
    /* A permanently stopped stream stays stopped. */
    bool mine = __atomic_load_n(&stream->cancel, __ATOMIC_ACQUIRE) == 0;
    __atomic_store_n(&stream->drop_before, stream->submitted, __ATOMIC_RELEASE);
    __atomic_store_n(&stream->abort_code, code, __ATOMIC_RELAXED);
    __atomic_fetch_add(&stream->abort_epoch, 1, __ATOMIC_RELEASE);
    if (mine) {
        snpu_stream_cancel(stream, code);
    }
    pthread_mutex_unlock(&stream->lock);
    return mine;
}

int32_t snpu_stream_abort_end(struct snpu_stream *stream, bool mine, int64_t deadline)
{
    int32_t late = 0;
    if (!snpu_stream_is_mine(stream)) {
        late = snpu_stream_wait_seq(stream, __atomic_load_n(&stream->drop_before, __ATOMIC_ACQUIRE), deadline);
    }
    if (mine) {
        __atomic_store_n(&stream->error, 0, __ATOMIC_RELEASE);
        snpu_stream_cancel(stream, 0);
    }
    if (late != 0) {
        return snpu_fail(ACL_ERROR_RT_TASK_TIMEOUT, "stream %u: the running task does not stop", stream->id);
    }
    return 0;
}

int32_t snpu_stream_abort(struct snpu_stream *stream)
{
    bool mine = snpu_stream_abort_begin(stream, ACL_ERROR_RT_STREAM_ABORT);
    return snpu_stream_abort_end(stream, mine, deadline_after_ms(FORCED_CLOSE_MS));
}

int32_t snpu_stream_stop(struct snpu_stream *stream)
{
    if (snpu_stream_is_mine(stream)) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "a callback of stream %u cannot stop its own stream", stream->id);
    }
    uint64_t running = __atomic_load_n(&stream->done, __ATOMIC_ACQUIRE);
    if (running == __atomic_load_n(&stream->submitted, __ATOMIC_ACQUIRE)) {
        return 0;
    }
    __atomic_store_n(&stream->stop, 1, __ATOMIC_SEQ_CST);
    snpu_wake_all(&stream->stop);
    int32_t late = snpu_stream_wait_seq(stream, running + 1, deadline_after_ms(FORCED_CLOSE_MS));
    __atomic_store_n(&stream->stop, 0, __ATOMIC_SEQ_CST);
    if (late != 0) {
        return snpu_fail(ACL_ERROR_RT_TASK_TIMEOUT, "stream %u: the running task does not stop", stream->id);
    }
    return 0;
}
