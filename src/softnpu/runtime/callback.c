/* SPDX-License-Identifier: Apache-2.0 */
/* Delivery of host functions to subscribed threads; see callback.h.
 *
 * Invariants: a mailbox exists while a stream is subscribed to it or its thread is inside aclrtProcessReport. An item
 * belongs to the mailbox until the thread takes it; the waiting stream watches its `state`.
 *
 * Threads and locks: one lock for mailboxes and their items, a leaf; the program's functions run without it.
 *
 * Failure policy: when a subscription ends, its items are dropped and a stream waiting for one continues. */
#include "softnpu/runtime/callback.h"

#include "softnpu/runtime/engine.h"
#include "softnpu/runtime/futex.h"
#include "softnpu/runtime/prof.h"

#include <stdlib.h>

enum callback_item_state { ITEM_QUEUED, ITEM_RUNNING, ITEM_DONE };

struct callback_item {
    struct callback_item *next;
    void (*fn)(void *);
    void *data;
    uint32_t stream_id;
    uint32_t state; /* enum callback_item_state; futex word of the waiting stream */
    bool block;     /* the item is on the waiting worker's stack */
};

struct callback_mailbox {
    struct callback_mailbox *next;
    enum snpu_report_kind kind;
    uint64_t thread;
    uint32_t streams; /* subscriptions */
    uint32_t readers;
    uint32_t bell; /* futex word of the reader */
    struct callback_item *first, **last;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct callback_mailbox *mailboxes;

static uint64_t *subscription(struct snpu_stream *stream, enum snpu_report_kind kind)
{
    return kind == SNPU_REPORT_CALLBACK ? &stream->report_thread : &stream->host_func_thread;
}

static struct callback_mailbox *find_locked(enum snpu_report_kind kind, uint64_t thread)
{
    struct callback_mailbox *box = mailboxes;
    while (box != NULL && (box->kind != kind || box->thread != thread)) {
        box = box->next;
    }
    return box;
}

static void drop_unused_locked(struct callback_mailbox *box)
{
    if (box->streams > 0 || box->readers > 0) {
        return;
    }
    struct callback_mailbox **link = &mailboxes;
    while (*link != box) {
        link = &(*link)->next;
    }
    *link = box->next;
    free(box);
}

static void finish_locked(struct callback_item *item)
{
    if (item->block) {
        __atomic_store_n(&item->state, ITEM_DONE, __ATOMIC_RELEASE);
        snpu_wake_all(&item->state);
    } else {
        free(item);
    }
}

/* Removes the stream's items, or just one item, that have not started. */
static void drop_items_locked(struct callback_mailbox *box, uint32_t stream_id, const struct callback_item *only)
{
    struct callback_item **link = &box->first;
    while (*link != NULL) {
        struct callback_item *item = *link;
        if (only != NULL ? item == only : item->stream_id == stream_id) {
            *link = item->next;
            finish_locked(item);
        } else {
            link = &item->next;
        }
    }
    box->last = link;
}

int32_t snpu_report_subscribe(const char *function, enum snpu_report_kind kind, uint64_t thread, void *handle)
{
    struct snpu_stream *stream;
    int32_t ret = snpu_stream_resolve(function, handle, &stream);
    if (ret != 0) {
        return ret;
    }
    if (thread == 0) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: thread id 0 is invalid", function);
    }
    pthread_mutex_lock(&lock);
    uint64_t *mine = subscription(stream, kind);
    struct callback_mailbox *box = find_locked(kind, thread);
    if (*mine != 0) {
        ret = snpu_fail(ACL_ERROR_RT_STREAM_SUBSCRIBE, "%s: stream %u already has a subscriber", function, stream->id);
    } else if (box == NULL && (box = calloc(1, sizeof(*box))) == NULL) {
        ret = snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: out of host memory", function);
    } else {
        if (box->thread == 0) {
            box->kind = kind;
            box->thread = thread;
            box->last = &box->first;
            box->next = mailboxes;
            mailboxes = box;
        }
        box->streams++;
        *mine = thread;
    }
    pthread_mutex_unlock(&lock);
    return ret;
}

static void unsubscribe_locked(struct snpu_stream *stream, enum snpu_report_kind kind)
{
    uint64_t *mine = subscription(stream, kind);
    struct callback_mailbox *box = *mine != 0 ? find_locked(kind, *mine) : NULL;
    *mine = 0;
    if (box != NULL) {
        drop_items_locked(box, stream->id, NULL);
        box->streams--;
        __atomic_fetch_add(&box->bell, 1, __ATOMIC_RELEASE);
        futex_wake_private(&box->bell, INT_MAX);
        drop_unused_locked(box);
    }
}

int32_t snpu_report_unsubscribe(const char *function, enum snpu_report_kind kind, uint64_t thread, void *handle)
{
    struct snpu_stream *stream;
    int32_t ret = snpu_stream_resolve(function, handle, &stream);
    if (ret != 0) {
        return ret;
    }
    pthread_mutex_lock(&lock);
    uint64_t mine = *subscription(stream, kind);
    if (mine == 0) {
        ret = snpu_fail(ACL_ERROR_RT_STREAM_SUBSCRIBE, "%s: stream %u has no subscriber", function, stream->id);
    } else if (mine != thread) {
        ret = snpu_fail(ACL_ERROR_RT_THREAD_SUBSCRIBE, "%s: another thread subscribed to stream %u", function,
                        stream->id);
    } else {
        unsubscribe_locked(stream, kind);
    }
    pthread_mutex_unlock(&lock);
    return ret;
}

void snpu_report_forget(struct snpu_stream *stream)
{
    pthread_mutex_lock(&lock);
    unsubscribe_locked(stream, SNPU_REPORT_CALLBACK);
    unsubscribe_locked(stream, SNPU_REPORT_HOST_FUNC);
    pthread_mutex_unlock(&lock);
}

int32_t snpu_report_process(const char *function, enum snpu_report_kind kind, int32_t timeout_ms)
{
    int32_t ret = snpu_guard(function);
    if (ret != 0) {
        return ret;
    }
    if (timeout_ms < -1) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: timeout %d", function, timeout_ms);
    }
    int64_t deadline = deadline_after_ms(timeout_ms);
    uint64_t self = (uint64_t)pthread_self();
    pthread_mutex_lock(&lock);
    struct callback_mailbox *box = find_locked(kind, self);
    if (box == NULL) {
        pthread_mutex_unlock(&lock);
        return snpu_fail(ACL_ERROR_RT_THREAD_SUBSCRIBE, "%s: this thread has not subscribed to a stream", function);
    }
    box->readers++;
    while (box->first == NULL) {
        int64_t left = deadline_left_ns(deadline);
        if (left == 0 || box->streams == 0) {
            ret = left == 0 ? snpu_fail(ACL_ERROR_RT_REPORT_TIMEOUT, "%s: no report within %d ms", function, timeout_ms)
                            : snpu_fail(ACL_ERROR_RT_THREAD_SUBSCRIBE, "%s: the subscription ended", function);
            break;
        }
        uint32_t bell = __atomic_load_n(&box->bell, __ATOMIC_RELAXED);
        pthread_mutex_unlock(&lock);
        futex_wait_private(&box->bell, bell, left);
        pthread_mutex_lock(&lock);
    }
    while (box->first != NULL) {
        struct callback_item *item = box->first;
        box->first = item->next;
        if (box->first == NULL) {
            box->last = &box->first;
        }
        __atomic_store_n(&item->state, ITEM_RUNNING, __ATOMIC_RELAXED);
        pthread_mutex_unlock(&lock);
        item->fn(item->data);
        pthread_mutex_lock(&lock);
        finish_locked(item);
    }
    box->readers--;
    drop_unused_locked(box);
    pthread_mutex_unlock(&lock);
    return ret;
}

/* ---- tasks ---- */

struct call_task {
    void (*fn)(void *);
    void *data;
    uint64_t thread; /* 0: the stream's worker */
    uint32_t stream_id;
    bool block;
    enum snpu_report_kind kind;
};

static int32_t deliver(struct snpu_task *task, const struct call_task *t)
{
    struct callback_item on_stack, *item = &on_stack;
    if (!t->block && (item = malloc(sizeof(*item))) == NULL) {
        return ACL_ERROR_RT_RESOURCE_ALLOC_FAIL;
    }
    *item = (struct callback_item){.fn = t->fn, .data = t->data, .stream_id = t->stream_id, .block = t->block};
    pthread_mutex_lock(&lock);
    struct callback_mailbox *box = find_locked(t->kind, t->thread);
    if (box == NULL || box->streams == 0) {
        pthread_mutex_unlock(&lock);
        if (!t->block) {
            free(item);
        }
        return 0; /* the subscription has ended meanwhile: same as if it had ended while the task was queued */
    }
    *box->last = item;
    box->last = &item->next;
    __atomic_fetch_add(&box->bell, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
    futex_wake_private(&box->bell, 1);
    if (!t->block) {
        return 0;
    }
    int waited = 0;
    uint32_t state;
    while (waited == 0 && (state = __atomic_load_n(&item->state, __ATOMIC_ACQUIRE)) != ITEM_DONE) {
        waited = snpu_task_wait(task, &item->state, state, -1);
    }
    /* Cancelled: take the item back, unless its function is running; then wait until it returns. */
    pthread_mutex_lock(&lock);
    if (waited != 0 && item->state == ITEM_QUEUED && (box = find_locked(t->kind, t->thread)) != NULL) {
        drop_items_locked(box, 0, item);
    }
    while (item->state == ITEM_RUNNING) {
        pthread_mutex_unlock(&lock);
        futex_wait_shared(&item->state, ITEM_RUNNING, -1);
        pthread_mutex_lock(&lock);
    }
    pthread_mutex_unlock(&lock);
    return waited == 0 ? 0 : ACL_ERROR_RT_STREAM_ABORT;
}

static int32_t call_run(struct snpu_task *task)
{
    struct call_task *t = (struct call_task *)task->payload;
    if (t->thread != 0) {
        return deliver(task, t);
    }
    t->fn(t->data);
    return 0;
}

static const struct snpu_task_kind call_kind = {
    .name = "HOSTFUNC_CALLBACK",
    .prof_type = SNPU_TASK_HOSTFUNC_CALLBACK,
    .captures = true,
    .run = call_run,
};

static int32_t launch(const char *function, struct call_task t, void *handle)
{
    struct snpu_stream *stream;
    int32_t ret = snpu_stream_resolve(function, handle, &stream);
    if (ret != 0) {
        return ret;
    }
    if (t.fn == NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the function is NULL", function);
    }
    t.stream_id = stream->id;
    t.thread = __atomic_load_n(subscription(stream, t.kind), __ATOMIC_ACQUIRE);
    if (t.kind == SNPU_REPORT_CALLBACK && t.thread == 0) {
        return snpu_fail(ACL_ERROR_RT_STREAM_NO_CB_REG, "%s: no thread has subscribed to stream %u", function,
                         stream->id);
    }
    return snpu_stream_submit(stream, &call_kind, &t, sizeof(t), NULL, 0, NULL);
}

int32_t snpu_callback_launch(const char *function, void (*fn)(void *), void *data, bool block, void *stream)
{
    return launch(function, (struct call_task){.fn = fn, .data = data, .block = block, .kind = SNPU_REPORT_CALLBACK},
                  stream);
}

int32_t snpu_host_func_launch(const char *function, void (*fn)(void *), void *data, void *stream)
{
    return launch(function, (struct call_task){.fn = fn, .data = data, .block = true, .kind = SNPU_REPORT_HOST_FUNC},
                  stream);
}
