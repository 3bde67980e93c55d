/* SPDX-License-Identifier: Apache-2.0 */
/* Streams and tasks: the engine that runs all asynchronous work.
 *
 * A stream is an in-order queue with one worker thread, which is started by the first task and sleeps when there is
 * nothing to do. A task is a kind (a constant table of functions) and a payload that the engine copies. The engine does
 * not know what tasks do; memory copies, kernels, events and collectives each define their own kinds next to their
 * code.
 *
 * Capture: while a stream is being captured, submit appends the task to the model being built instead of queueing it. A
 * captured task is run many times and released once, when the model is destroyed. */
#ifndef SOFTNPU_RUNTIME_TASK_H
#define SOFTNPU_RUNTIME_TASK_H

#include "base/macros.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct snpu_ctx;
struct snpu_stream;
struct snpu_task;
struct rtExceptionInfo;

struct snpu_task_kind {
    const char *name;   /* as announced to profilers: "KERNEL_AICORE", "MEMCPY_ASYNC", "EVENT_RECORD" ... */
    uint32_t prof_type; /* task type of the track record; a kernel payload may override it, see track */
    uint32_t ri_type;   /* aclmdlRITaskType */
    bool captures;      /* may be recorded into a model */

    /* Runs on the stream's thread. Returns 0 or an ACL code; an error is recorded in the stream and context. May run
     * several times (model replay), but never concurrently. */
    int32_t (*run)(struct snpu_task *task);

    /* Frees what the payload owns. Called exactly once: after run, or when the task is discarded (abort, reset, model
     * destroyed). NULL if there is nothing to free. */
    void (*release)(void *payload);

    /* Name and numbers for the task track of kernels; NULL: the task is reported under the kind's name. */
    void (*track)(const void *payload, const char **kernel_name, uint32_t *prof_type, uint16_t *blocks,
                  uint16_t *args_b);

    /* What the exception callback may query about a failed kernel: its arguments and function handle. NULL: nothing. */
    void (*describe)(const void *payload, void **args, uint32_t *args_b, void **func);

    /* Called on a failure, after the program's own callbacks; info is struct rtExceptionInfo. NULL: not needed. */
    void (*failed)(const void *payload, struct rtExceptionInfo *info);

    /* aclmdlRITaskGetParams: fills the member of aclmdlRITaskParams that belongs to ri_type. NULL: not supported. */
    int32_t (*ri_get)(const void *payload, void *params);
    /* aclmdlRITaskSetParams: builds a payload with malloc (*out_b bytes) that replaces the old one at the next
     * aclmdlRIUpdate; the old one is then released. NULL: not supported. */
    int32_t (*ri_set)(const void *payload, const void *params, void **out, size_t *out_b);
};

struct snpu_task {
    const struct snpu_task_kind *kind;
    struct snpu_stream *stream; /* the stream it runs on now */
    uint32_t id;                /* per stream; profilers see 16 bits */
    uint32_t payload_b;
    uint64_t payload[]; /* 8-byte aligned */
};

/* Largest payload: a kernel's arguments plus its head. */
#define SNPU_PAYLOAD_MAX (256 * 1024)

/* Resolves a handle: NULL is the default stream of the current context (107002 without one); a handle that is not a
 * live stream returns 107000, one of another context 107003. `function` names the caller in messages. */
MS_EXPORT int32_t snpu_stream_resolve(const char *function, void *handle, struct snpu_stream **out);

/* The same for calls that accept streams of other contexts (queries, waits). */
MS_EXPORT int32_t snpu_stream_resolve_any(const char *function, void *handle, struct snpu_stream **out);

MS_EXPORT uint32_t snpu_stream_dev(const struct snpu_stream *stream); /* driver id */
MS_EXPORT uint32_t snpu_stream_id(const struct snpu_stream *stream);  /* < 2048, unique per device */
MS_EXPORT struct snpu_ctx *snpu_stream_ctx(const struct snpu_stream *stream);
MS_EXPORT bool snpu_stream_capturing(struct snpu_stream *stream);

/* Queues a task whose payload is head followed directly by tail (tail may be empty). The payload is copied. Waits while
 * the queue is full (2048 tasks), like the hardware queue. On failure (stream aborted, device lost, out of memory, kind
 * not allowed while capturing) nothing was taken over and release is not called. task_id may be NULL. */
MS_EXPORT int32_t snpu_stream_submit(struct snpu_stream *stream, const struct snpu_task_kind *kind, const void *head,
                                     size_t head_b, const void *tail, size_t tail_b, uint32_t *task_id);

/* For run functions that must wait: sleeps while *word == expected (word may be in memory shared between processes), at
 * most timeout_ms (< 0: no timeout). 0 when woken or changed (check again), -ETIMEDOUT, -ECANCELED when the stream is
 * being aborted or forcibly destroyed, or the device was lost: then return promptly. */
MS_EXPORT int snpu_task_wait(struct snpu_task *task, const uint32_t *word, uint32_t expected, int32_t timeout_ms);
/* Wakes all sleepers on a word, in this and other processes. */
MS_EXPORT void snpu_wake_all(const uint32_t *word);

/* For run functions that fail: the cause, for the message that synchronising returns. */
MS_EXPORT void snpu_task_note(const char *format, ...) MS_PRINTF(1, 2);

/* For injected faults. A lost task: returns only when the stream is aborted or destroyed, the device is reset or lost,
 * or the execution timeout has passed; the run function returns this result. */
MS_EXPORT int32_t snpu_task_lose(struct snpu_task *task);
/* The device stops responding: all queued work fails with 507010 and new work is refused until
 * aclrtResetDeviceForce. */
MS_EXPORT void snpu_dev_lose(uint32_t dev);

/* Waits until everything queued so far is done; returns the stream's error state. timeout_ms < 0: no timeout; expiry
 * returns 507046. */
MS_EXPORT int32_t snpu_stream_synchronize(struct snpu_stream *stream, int32_t timeout_ms);

/* Calls that wait for the device, or access it outside any stream (synchronous copies), are not allowed while a thread
 * captures in a mode that forbids them: 107030, and the capture becomes invalid. */
MS_EXPORT int32_t snpu_capture_check_unsafe(const char *function);

/* The "AI cores": runs fn(args, b, blocks) for b = 0 .. blocks-1 on the calling thread and idle compute threads of this
 * process, and returns when all have finished. False: a block faulted, and others might not have run. */
typedef void (*snpu_block_fn)(void *args, uint32_t block, uint32_t blocks);
MS_EXPORT bool snpu_cores_run(snpu_block_fn fn, void *args, uint32_t blocks);

/* Id of the last task this thread queued: aclrtGetThreadLastTaskId, rtGetTaskIdAndStreamID. */
MS_EXPORT void snpu_last_task(uint32_t *task_id, uint32_t *stream_id);

#endif
