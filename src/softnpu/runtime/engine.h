/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the execution engine: what streams, contexts, devices, events and models of the runtime know of each other.
 * Nobody outside libruntime.so includes this.
 *
 * Locks, in the order in which they may be taken:
 *   1. snpu_rt_lock     devices, contexts, the lists of streams. Never held while waiting for a worker or calling a
 * user.
 *   2. stream->lock     submitting side of one stream.
 *   3. model->lock      a graph under construction.
 *   4. event lock, stream->wait_lock, slab locks: leaves.
 * A worker holds none of them while a task runs.
 *
 * Life of a stream: the handle is valid until it is closed; the memory stays as long as someone holds a reference (its
 * worker does). Slab memory is never unmapped, so even a racing use after destroy meets an object, not a hole. */
#ifndef SOFTNPU_RUNTIME_ENGINE_H
#define SOFTNPU_RUNTIME_ENGINE_H

#include "softnpu/hal/hal_ext.h"
#include "softnpu/runtime/context.h"
#include "softnpu/runtime/error.h"
#include "softnpu/runtime/timeouts.h"
#include "softnpu/runtime/task.h"

#include "acl/acl.h"

#include <pthread.h>

#define STREAM_DEPTH       2048u /* tasks in a queue */
#define STREAM_ID_LIMIT    2048u /* ids of a device */
#define STREAMS_PER_DEVICE 1984u
#define ARENA_B            (256u * 1024)
#define ARENA_TASK_MAX_B   8192u /* larger tasks are allocated one by one */

/* A task with what only the engine knows of it. */
struct task_rec {
    uint32_t tid; /* thread that submitted it */
    uint32_t prof_type;
    bool on_heap;
    struct task_rec *next; /* lists of models */
    struct snpu_task task;
};

struct task_slot {
    struct task_rec *rec;
    uint32_t arena_off; /* where the arena stood before this task: everything behind it is free once it is the oldest */
};

struct stream_queue {
    struct stream_queue *next_free;
    struct task_slot slots[STREAM_DEPTH];
    char arena[ARENA_B] __attribute__((aligned(64)));
};

struct snpu_model;
struct snpu_route;

enum worker_end { WORKER_RUNS, WORKER_GONE, WORKER_ABANDONED };

struct snpu_stream {
    struct snpu_ctx *ctx;
    uint32_t dev;
    uint32_t id;
    uint32_t flags;
    uint32_t priority;
    bool is_default;
    bool internal; /* belongs to a model: not reached through a user's handle list */
    uint32_t refs;
    struct snpu_stream *next, **prev_link; /* list of the device; snpu_rt_lock */
    struct snpu_activity *activity;
    struct snpu_model *model; /* of an internal stream: whose lane it is */
    uint32_t lane;

    /* Submitting side. */
    pthread_mutex_t lock;
    bool closing;        /* no further tasks; lock */
    bool worker_started; /* lock */
    uint32_t arena_head; /* lock */
    struct stream_queue *queue;
    struct snpu_route *route; /* capture, build or update: tasks go into a model instead; lock */
    uint32_t capturing;       /* a copy of (route != NULL) that may be read without the lock */

    /* Shared with the worker. */
    uint64_t submitted __attribute__((aligned(64)));
    uint32_t sleeping; /* the worker sleeps or dozes on doorbell, or is about to: worker.c */
    uint32_t doorbell;
    uint32_t cancel;       /* an ACL code: tasks are thrown away instead of run. Futex word of snpu_task_wait */
    uint32_t stop;         /* interrupts the task that runs now, and no other: aclrtStreamStop */
    uint32_t give_up_lost; /* a lost task may end: the stream is being destroyed */
    uint32_t exit_when_empty;
    uint32_t waiting;     /* the running task sleeps in snpu_task_wait */
    uint32_t worker_gone; /* enum worker_end; futex word of the closer */
    int32_t error;        /* first failure since the last synchronise */
    int32_t failure_mode;
    uint64_t drop_before; /* tasks below this sequence number were aborted */
    uint32_t abort_epoch; /* counts aborts: those who wait across one are told ... */
    int32_t abort_code;   /* ... this */

    uint64_t done __attribute__((aligned(64)));
    uint64_t sync_min; /* smallest target somebody waits for; UINT64_MAX: nobody */
    uint32_t sync_word;
    pthread_mutex_t wait_lock; /* sync_min changes */
    pthread_t worker;

    /* Attributes without influence on execution, kept for their getters. */
    uint32_t overflow_switch;
    uint32_t custom_tag;
    uint32_t cache_op_info;
    uint32_t res_limit[2];
    uint32_t res_limit_set[2];

    /* Callback delivery, see callback.c. */
    uint64_t report_thread;
    uint64_t host_func_thread;
};

/* One device as this process uses it. Guarded by snpu_rt_lock unless noted. */
struct rt_device {
    struct snpu_ctx *primary;
    uint64_t primary_refs;
    uint32_t contexts; /* primary included */
    struct snpu_stream *streams;
    uint32_t stream_count;
    uint64_t stream_ids[STREAM_ID_LIMIT / 64];
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
    int32_t stop_code; /* a stream in stop-on-failure mode failed: atomic */
    int32_t stop_on_failure;
    void *scratch[2]; /* device memory for addresses that kernels ask for: settings.h; snpu_rt_lock */
    bool sys_param_set[8];
    int64_t sys_param[8];
};

/* ---- process (context.c) ---- */
/* 0, or an error in a child that was forked while the parent used a device: worker threads and device state stayed
 * behind, and any lock may be held for ever. First thing in every function that takes a lock. */
int32_t snpu_guard(const char *function);
/* The process has device state from now on: a later fork makes the child refuse. */
void snpu_mark_active(void);

/* ---- contexts ---- */
bool snpu_ctx_alive(const struct snpu_ctx *ctx);
void snpu_ctx_set_current(struct snpu_ctx *ctx);

/* ---- streams (stream.c) ---- */
int32_t snpu_stream_open(const char *function, struct snpu_ctx *ctx, uint32_t priority, uint32_t flags, bool internal,
                         struct snpu_stream **out);
/* Ends the handle and waits for the worker: force = false after everything queued has run, force = true after throwing
 * it away (a task that cannot be interrupted is left behind after a bounded wait). */
void snpu_stream_close(struct snpu_stream *stream, bool force);
/* The forced kind for many streams under one deadline. */
void snpu_stream_close_by(struct snpu_stream *stream, int64_t deadline);
/* Takes a stream out of its device's list; false if somebody else did before. Then snpu_stream_close. */
bool snpu_stream_unlink_locked(struct snpu_stream *stream);
void snpu_stream_put(struct snpu_stream *stream);
/* Throws queued tasks away and interrupts the running one with this code, until cleared with 0. */
void snpu_stream_cancel(struct snpu_stream *stream, int32_t code);
int32_t snpu_stream_abort(struct snpu_stream *stream);
/* The same in two steps, for many streams at once; end gets what begin returned. */
bool snpu_stream_abort_begin(struct snpu_stream *stream, int32_t code);
int32_t snpu_stream_abort_end(struct snpu_stream *stream, bool mine, int64_t deadline);
int32_t snpu_stream_stop(struct snpu_stream *stream);
/* Reports and clears what failed since the last call. */
int32_t snpu_stream_take_error(struct snpu_stream *stream);
/* True on the thread that runs this stream's tasks: waiting for it there would never end. */
bool snpu_stream_is_mine(const struct snpu_stream *stream);
int32_t snpu_stream_wait_seq(struct snpu_stream *stream, uint64_t target, int64_t deadline);
/* All streams of a device (ctx NULL) or of one context, each with a reference; returns how many, *list is malloced. */
size_t snpu_streams_snapshot(uint32_t dev, const struct snpu_ctx *ctx, struct snpu_stream ***list);

/* ---- worker (worker.c) ---- */
/* Why tasks of the calling worker are thrown away; for release functions that must say so. */
int32_t snpu_worker_cancel_code(void);
int snpu_worker_start(struct snpu_stream *stream);
void snpu_worker_wake(struct snpu_stream *stream);  /* there is work */
void snpu_worker_hurry(struct snpu_stream *stream); /* there is work, and somebody waits for it */

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
/* A second word that ends waits of this thread, for models; returns the one before. */
const uint32_t *snpu_worker_extra_cancel(const uint32_t *word);

/* The stream is being closed: a capture or a model that it takes part in learns of it. */
void snpu_route_forget(struct snpu_stream *stream);
/* 0, or 107027 (and the capture becomes invalid) if the stream is being captured: it cannot be waited for. */
int32_t snpu_capture_check_sync(struct snpu_stream *stream);

/* ---- tasks ---- */
void snpu_task_fill(struct task_rec *rec, struct snpu_stream *stream, const struct snpu_task_kind *kind,
                    const void *head, size_t head_b, const void *tail, size_t tail_b);
void snpu_last_task_set(uint32_t task_id, uint32_t stream_id);
/* prof_type of tasks that profilers do not see: they only carry others. */
#define SNPU_TASK_SILENT UINT32_MAX
/* Tells profilers about a task that will run as (stream id, task id). */
void snpu_task_track(const struct task_rec *rec, bool captured);

/* ---- models (model.c): called by submit with stream->lock held while stream->route is set ---- */
int32_t snpu_route_submit(struct snpu_stream *stream, const struct snpu_task_kind *kind, const void *head,
                          size_t head_b, const void *tail, size_t tail_b, uint32_t *task_id);

/* ---- exceptions (exception.c) ---- */
void snpu_exception_task_failed(const struct task_rec *rec, int32_t code);
void snpu_exception_forget(uint32_t dev);

#endif
