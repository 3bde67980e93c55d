/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the execution engine: what the runtime's streams, contexts, devices, events and models share. Included
 * only inside libruntime.so.
 *
 * Locks, in the order in which they may be taken:
 *   1. snpu_rt_lock     devices, contexts, the lists of streams. Never held while waiting for a worker or calling user
 *                       code.
 *   2. stream->lock     submitting side of one stream.
 *   3. model->lock      a graph under construction.
 *   4. event lock, stream->wait_lock, slab locks: leaves.
 * A worker holds none of them while a task runs.
 *
 * Life of a stream: the handle is valid until the stream is closed; the memory stays while there are references (its
 * worker holds one). Slab memory is never unmapped, so even a racing use after destroy finds an object, not unmapped
 * memory. */
#ifndef SOFTNPU_RUNTIME_ENGINE_H
#define SOFTNPU_RUNTIME_ENGINE_H

#include "softnpu/hal/hal_ext.h"
#include "softnpu/runtime/context.h"
#include "softnpu/runtime/error.h"
#include "softnpu/runtime/timeouts.h"
#include "softnpu/runtime/task.h"

#include "acl/acl.h"

#include <pthread.h>

#define SNPU_STREAM_DEPTH       2048u /* tasks in a queue */
#define SNPU_STREAM_ID_LIMIT    2048u /* stream ids per device */
#define SNPU_STREAMS_PER_DEVICE 1984u
#define SNPU_ARENA_B            (256u * 1024)
#define SNPU_ARENA_TASK_MAX_B   8192u /* larger tasks are allocated individually */

/* A task and the engine's private data about it. */
struct task_rec {
    uint32_t tid; /* thread that submitted it */
    uint32_t prof_type;
    bool on_heap;
    struct task_rec *next; /* lists of models */
    struct snpu_task task;
};

struct task_slot {
    struct task_rec *rec;
    uint32_t arena_off; /* arena position before this task; everything behind it is free once this is the oldest task */
};

struct stream_queue {
    struct stream_queue *next_free;
    struct task_slot slots[SNPU_STREAM_DEPTH];
    char arena[SNPU_ARENA_B] __attribute__((aligned(64)));
};

struct snpu_model;
struct snpu_route;

enum worker_end { SNPU_WORKER_RUNS, SNPU_WORKER_GONE, SNPU_WORKER_ABANDONED };

struct snpu_stream {
    struct snpu_ctx *ctx;
    uint32_t dev;
    uint32_t id;
    uint32_t flags;
    uint32_t priority;
    bool is_default;
    bool internal; /* belongs to a model: not in any list of user handles */
    uint32_t refs;
    struct snpu_stream *next, **prev_link; /* device list; snpu_rt_lock */
    struct snpu_activity *activity;
    struct snpu_model *model; /* the model whose lane this internal stream is */
    uint32_t lane;

    /* Submitting side. */
    pthread_mutex_t lock;
    bool closing;        /* no further tasks; lock */
    bool worker_started; /* lock */
    uint32_t arena_head; /* lock */
    struct stream_queue *queue;
    struct snpu_route *route; /* capture, build or update: tasks go into a model instead; lock */
    uint32_t capturing;       /* copy of (route != NULL) that may be read without the lock */

    /* Shared with the worker. */
    uint64_t submitted __attribute__((aligned(64)));
    uint32_t sleeping; /* the worker sleeps or dozes on doorbell, or is about to: worker.c */
    uint32_t doorbell;
    uint32_t cancel;       /* ACL code: tasks are discarded instead of run. Futex word of snpu_task_wait */
    uint32_t stop;         /* interrupts only the task that is running: aclrtStreamStop */
    uint32_t give_up_lost; /* a lost task may end: the stream is being destroyed */
    uint32_t exit_when_empty;
    uint32_t waiting;     /* the running task sleeps in snpu_task_wait */
    uint32_t worker_gone; /* enum worker_end; futex word of the closer */
    int32_t error;        /* first failure since the last synchronise */
    int32_t failure_mode;
    uint64_t drop_before; /* tasks below this sequence number were aborted */
    uint32_t abort_epoch; /* counts aborts: waiters across an abort get ... */
    int32_t abort_code;   /* ... this code */

    uint64_t done __attribute__((aligned(64)));
    uint64_t sync_min; /* smallest target that is waited for; UINT64_MAX: none */
    uint32_t sync_word;
    pthread_mutex_t wait_lock; /* sync_min changes */
    pthread_t worker;

    /* Attributes that do not affect execution, kept for their getters. */
    uint32_t overflow_switch;
    uint32_t custom_tag;
    uint32_t cache_op_info;
    uint32_t res_limit[2];
    uint32_t res_limit_set[2];

    /* Callback delivery, see callback.c. */
    uint64_t report_thread;
    uint64_t host_func_thread;
};

/* One device as used by this process. Guarded by snpu_rt_lock unless noted. */
struct rt_device {
    struct snpu_ctx *primary;
    uint64_t primary_refs;
    uint32_t contexts; /* including the primary one */
    struct snpu_stream *streams;
    uint32_t stream_count;
    uint64_t stream_ids[SNPU_STREAM_ID_LIMIT / 64];
    uint32_t next_stream_id;
    uint32_t lost; /* atomic: work fails with 507010 until a forced reset */
    uint32_t events, notifies;
    bool peer[SNPU_MAX_DEVICES];
    uint32_t res_limit[2];
    bool res_limit_set[2];
    int32_t sat_mode;
    uint64_t util_busy_ns, util_at_ns; /* last sample of the utilisation rate */
    uint32_t util_rate;
};

extern pthread_mutex_t snpu_rt_lock;
extern struct rt_device snpu_devices[SNPU_MAX_DEVICES];

struct snpu_ctx_private {
    uint64_t serial;   /* 0: destroyed. A thread's current context is (pointer, serial) */
    int32_t stop_code; /* atomic; set when a stream in stop-on-failure mode failed */
    int32_t stop_on_failure;
    void *scratch[2]; /* device memory for addresses that kernels request: settings.h; snpu_rt_lock */
    bool sys_param_set[8];
    int64_t sys_param[8];
};

/* ---- process (context.c) ---- */
/* 0, or an error in a child that was forked while the parent used a device: it has no worker threads or device state,
 * and any lock may be held forever. Must be the first call in every function that takes a lock. */
int32_t snpu_guard(const char *function);
/* The process has device state from now on: children forked later refuse device calls. */
void snpu_mark_active(void);

/* ---- contexts ---- */
bool snpu_ctx_alive(const struct snpu_ctx *ctx);
void snpu_ctx_set_current(struct snpu_ctx *ctx);

/* ---- streams (stream.c) ---- */
int32_t snpu_stream_open(const char *function, struct snpu_ctx *ctx, uint32_t priority, uint32_t flags, bool internal,
                         struct snpu_stream **out);
/* Invalidates the handle and waits for the worker. force = false: after all queued tasks have run; force = true: after
 * discarding them (a task that cannot be interrupted is abandoned after a bounded wait). */
void snpu_stream_close(struct snpu_stream *stream, bool force);
/* Forced close of many streams under one deadline. */
void snpu_stream_close_by(struct snpu_stream *stream, int64_t deadline);
/* Removes a stream from its device's list; false if it was already removed. Call snpu_stream_close next. */
bool snpu_stream_unlink_locked(struct snpu_stream *stream);
void snpu_stream_put(struct snpu_stream *stream);
/* Discards queued tasks and interrupts the running one with this code, until cleared with 0. */
void snpu_stream_cancel(struct snpu_stream *stream, int32_t code);
int32_t snpu_stream_abort(struct snpu_stream *stream);
/* The same in two steps, for many streams at once; pass the result of begin to end. */
bool snpu_stream_abort_begin(struct snpu_stream *stream, int32_t code);
int32_t snpu_stream_abort_end(struct snpu_stream *stream, bool mine, int64_t deadline);
int32_t snpu_stream_stop(struct snpu_stream *stream);
/* Returns and clears the first failure since the last call. */
int32_t snpu_stream_take_error(struct snpu_stream *stream);
/* True on the thread that runs this stream's tasks: it must not wait for the stream. */
bool snpu_stream_is_mine(const struct snpu_stream *stream);
int32_t snpu_stream_wait_seq(struct snpu_stream *stream, uint64_t target, int64_t deadline);
/* All streams of a device (ctx NULL) or of one context, each with a reference; returns the count, *list is malloced. */
size_t snpu_streams_snapshot(uint32_t dev, const struct snpu_ctx *ctx, struct snpu_stream ***list);

/* ---- worker (worker.c) ---- */
/* Why the calling worker discards tasks; for release functions that must report it. */
int32_t snpu_worker_cancel_code(void);
int snpu_worker_start(struct snpu_stream *stream);
void snpu_worker_wake(struct snpu_stream *stream);  /* there is work */
void snpu_worker_hurry(struct snpu_stream *stream); /* there is work that a caller is waiting for */

static inline void snpu_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

/* Runs one task on the calling worker thread, reports its begin and end, and handles a failure. */
int32_t snpu_task_execute(struct task_rec *rec);
/* Sets a second word that ends this thread's waits, for models; returns the previous one. */
const uint32_t *snpu_worker_extra_cancel(const uint32_t *word);

/* The stream is being closed: notifies the capture or model it takes part in. */
void snpu_route_forget(struct snpu_stream *stream);
/* 0, or 107027 if the stream is being captured and so cannot be waited for; the capture becomes invalid. */
int32_t snpu_capture_check_sync(struct snpu_stream *stream);

/* ---- tasks ---- */
void snpu_task_fill(struct task_rec *rec, struct snpu_stream *stream, const struct snpu_task_kind *kind,
                    const void *head, size_t head_b, const void *tail, size_t tail_b);
void snpu_last_task_set(uint32_t task_id, uint32_t stream_id);
/* prof_type of tasks hidden from profilers: they only carry other tasks. */
#define SNPU_TASK_SILENT UINT32_MAX
/* Reports to profilers a task that will run as (stream id, task id). */
void snpu_task_track(const struct task_rec *rec, bool captured);

/* ---- models (model.c): called by submit with stream->lock held while stream->route is set ---- */
int32_t snpu_route_submit(struct snpu_stream *stream, const struct snpu_task_kind *kind, const void *head,
                          size_t head_b, const void *tail, size_t tail_b, uint32_t *task_id);

/* ---- exceptions (exception.c) ---- */
void snpu_exception_task_failed(const struct task_rec *rec, int32_t code);
void snpu_exception_forget(uint32_t dev);

#endif
