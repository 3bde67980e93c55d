/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks that events submit to streams: records, waits and resets, and the marks that records leave.
 *
 * Invariants: a mark changes from pending to done or dropped, once. Discarding a record drops its mark with the reason,
 * so no waiter waits forever.
 *
 * Threads and locks: marks come from chunks that are never freed, under a leaf lock, so a late wake-up on a recycled
 * mark only causes a spurious check. Workers complete marks with a release store and a cross-process wake-up, because a
 * word may be waited for together with others.
 *
 * Failure policy: a wait that times out is an error of its stream, 107019. */
#include "softnpu/runtime/event_internal.h"

#include "softnpu/runtime/ipc.h"
#include "softnpu/runtime/prof.h"

#include <errno.h>
#include <sys/mman.h>

#define MARKS_PER_CHUNK 4096u

/* ---- marks ---- */

static pthread_mutex_t marks_lock = PTHREAD_MUTEX_INITIALIZER; /* leaf */
static struct event_mark *free_marks;

struct event_mark *snpu__event_mark_new(uint32_t refs)
{
    pthread_mutex_lock(&marks_lock);
    if (free_marks == NULL) {
        struct event_mark *chunk =
            mmap(NULL, MARKS_PER_CHUNK * sizeof(*chunk), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        for (uint32_t i = 0; chunk != MAP_FAILED && i < MARKS_PER_CHUNK; i++) {
            chunk[i].next_free = free_marks;
            free_marks = &chunk[i];
        }
    }
    struct event_mark *mark = free_marks;
    if (mark != NULL) {
        free_marks = mark->next_free;
    }
    pthread_mutex_unlock(&marks_lock);
    if (mark != NULL) {
        mark->code = 0;
        mark->counter = 0;
        mark->stream = NULL;
        __atomic_store_n(&mark->state, SNPU_MARK_PENDING, __ATOMIC_RELAXED);
        __atomic_store_n(&mark->refs, refs, __ATOMIC_RELAXED);
    }
    return mark;
}

void snpu__event_mark_put(struct event_mark *mark)
{
    if (mark == NULL || __atomic_fetch_sub(&mark->refs, 1, __ATOMIC_ACQ_REL) != 1) {
        return;
    }
    pthread_mutex_lock(&marks_lock);
    mark->next_free = free_marks;
    free_marks = mark;
    pthread_mutex_unlock(&marks_lock);
}

static void mark_finish(struct event_mark *mark, enum mark_state state, int32_t code)
{
    mark->counter = snpu_hal_counter();
    mark->code = code;
    __atomic_store_n(&mark->state, state, __ATOMIC_RELEASE);
    snpu_wake_all(&mark->state);
}

struct event_mark *snpu__event_latest_get(struct snpu_event *event)
{
    pthread_mutex_lock(&event->lock);
    struct event_mark *mark = event->latest;
    if (mark != NULL) {
        __atomic_fetch_add(&mark->refs, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&event->lock);
    return mark;
}

void snpu__event_latest_set(struct snpu_event *event, struct event_mark *mark)
{
    pthread_mutex_lock(&event->lock);
    struct event_mark *old = event->latest;
    event->latest = mark;
    __atomic_store_n(&event->graph.model, 0, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&event->lock);
    snpu__event_mark_put(old);
}

/* ---- tasks ---- */

static void signal_event(struct snpu_event *event)
{
    __atomic_store_n(&event->signal, 1, __ATOMIC_RELEASE);
    snpu_wake_all(&event->signal);
}

void snpu__event_slot_finish(struct ipc_slot *slot, uint32_t sequence, int32_t code)
{
    uint32_t have = __atomic_load_n(&slot->word, __ATOMIC_ACQUIRE);
    slot->counter = snpu_hal_counter();
    slot->code = code;
    while (!event_reached(have, sequence) &&
           !__atomic_compare_exchange_n(&slot->word, &have, sequence, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    }
    snpu_wake_all(&slot->word);
}

static int32_t record_run(struct snpu_task *task)
{
    struct event_task *t = (struct event_task *)task->payload;
    if (t->mark != NULL) {
        mark_finish(t->mark, SNPU_MARK_DONE, 0);
    } else {
        snpu__event_slot_finish(t->event->slot, t->sequence, 0);
    }
    if (event_is_sync(t->event)) {
        signal_event(t->event);
    }
    return 0;
}

static void record_release(void *payload)
{
    struct event_task *t = payload;
    if (t->mark != NULL) {
        if (__atomic_load_n(&t->mark->state, __ATOMIC_ACQUIRE) == SNPU_MARK_PENDING) {
            mark_finish(t->mark, SNPU_MARK_DROPPED, snpu_worker_cancel_code());
        }
        snpu__event_mark_put(t->mark);
    } else if (t->event->slot != NULL && !event_reached(t->event->slot->word, t->sequence)) {
        snpu__event_slot_finish(t->event->slot, t->sequence, snpu_worker_cancel_code());
    }
    snpu__event_put(t->event);
}

static int32_t wait_word(struct snpu_task *task, const uint32_t *word, uint32_t busy, int64_t timeout_ms)
{
    int32_t limit = timeout_ms < 0 || timeout_ms > INT32_MAX ? -1 : (int32_t)timeout_ms;
    switch (snpu_task_wait(task, word, busy, limit)) {
    case 0:
        return 0;
    case -ETIMEDOUT:
        return ACL_ERROR_RT_WAIT_TIMEOUT;
    default:
        return ACL_ERROR_RT_STREAM_ABORT;
    }
}

/* Waits for the mark, the IPC sequence number or the semaphore, whichever the task has. */
static int32_t wait_for(struct snpu_task *task, const struct event_task *t)
{
    int32_t ret = 0;
    if (t->mark != NULL) {
        while (ret == 0 && __atomic_load_n(&t->mark->state, __ATOMIC_ACQUIRE) == SNPU_MARK_PENDING) {
            ret = wait_word(task, &t->mark->state, SNPU_MARK_PENDING, t->timeout_ms);
        }
        return ret != 0 ? ret : t->mark->code;
    }
    if (t->event->slot != NULL) {
        uint32_t have;
        while (ret == 0 &&
               !event_reached(have = __atomic_load_n(&t->event->slot->word, __ATOMIC_ACQUIRE), t->sequence)) {
            ret = wait_word(task, &t->event->slot->word, have, t->timeout_ms);
        }
        return ret;
    }
    while (ret == 0 && __atomic_load_n(&t->event->signal, __ATOMIC_ACQUIRE) == 0) {
        ret = wait_word(task, &t->event->signal, 0, t->timeout_ms);
    }
    return ret;
}

static int32_t wait_run(struct snpu_task *task)
{
    return wait_for(task, (const struct event_task *)task->payload);
}

void snpu__event_wait_release(void *payload)
{
    struct event_task *t = payload;
    snpu__event_mark_put(t->mark);
    __atomic_fetch_sub(&t->event->open_waits, 1, __ATOMIC_RELEASE);
    snpu__event_put(t->event);
}

static int32_t reset_run(struct snpu_task *task)
{
    struct event_task *t = (struct event_task *)task->payload;
    __atomic_store_n(&t->event->signal, 0, __ATOMIC_RELEASE);
    return 0;
}

static void reset_release(void *payload)
{
    snpu__event_put(((struct event_task *)payload)->event);
}

static int32_t record_ri_get(const void *payload, void *params)
{
    const struct event_task *t = payload;
    aclmdlRITaskParams *p = params;
    p->eventRecordTaskParams = (aclmdlRIEventRecordTaskParams){t->event, t->event->flags, t->flag};
    return 0;
}

static int32_t wait_ri_get(const void *payload, void *params)
{
    const struct event_task *t = payload;
    aclmdlRITaskParams *p = params;
    p->eventWaitTaskParams = (aclmdlRIEventWaitTaskParams){t->event, t->event->flags, t->flag};
    return 0;
}

static int32_t reset_ri_get(const void *payload, void *params)
{
    const struct event_task *t = payload;
    aclmdlRITaskParams *p = params;
    p->eventResetTaskParams = (aclmdlRIEventResetTaskParams){t->event, t->event->flags, 0};
    return 0;
}

const struct snpu_task_kind snpu__event_record_kind = {
    .name = "EVENT_RECORD",
    .prof_type = SNPU_TASK_EVENT_RECORD,
    .ri_type = ACL_MODEL_RI_TASK_EVENT_RECORD,
    .run = record_run,
    .release = record_release,
};

const struct snpu_task_kind snpu__event_wait_kind = {
    .name = "EVENT_WAIT",
    .prof_type = SNPU_TASK_EVENT_WAIT,
    .ri_type = ACL_MODEL_RI_TASK_EVENT_WAIT,
    .captures = true,
    .run = wait_run,
    .release = snpu__event_wait_release,
    .ri_get = wait_ri_get,
};

const struct snpu_task_kind snpu__event_reset_kind = {
    .name = "EVENT_RESET",
    .prof_type = SNPU_TASK_EVENT_RESET,
    .ri_type = ACL_MODEL_RI_TASK_EVENT_RESET,
    .run = reset_run,
    .release = reset_release,
};

/* A record inside a model fulfils the promise made when the run was queued, or creates a new mark; a wait uses the mark
 * that is current when it runs. */
static int32_t replay_record_run(struct snpu_task *task)
{
    struct event_task *t = (struct event_task *)task->payload;
    struct event_mark *mark = snpu__model_promise_take(t->event);
    if (mark != NULL) {
        mark_finish(mark, SNPU_MARK_DONE, 0);
        snpu__event_mark_put(mark);
    } else if (t->event->slot != NULL) {
        uint32_t sequence = __atomic_add_fetch(&t->event->slot->recorded, 1, __ATOMIC_ACQ_REL);
        snpu__event_slot_finish(t->event->slot, sequence, 0);
    } else if ((mark = snpu__event_mark_new(1)) != NULL) {
        mark_finish(mark, SNPU_MARK_DONE, 0);
        snpu__event_latest_set(t->event, mark);
    } else {
        return ACL_ERROR_RT_RESOURCE_ALLOC_FAIL;
    }
    signal_event(t->event);
    return 0;
}

static int32_t replay_wait_run(struct snpu_task *task)
{
    struct event_task *t = (struct event_task *)task->payload;
    struct event_task now = {.event = t->event, .timeout_ms = t->timeout_ms};
    if (t->event->slot != NULL) {
        now.sequence = __atomic_load_n(&t->event->slot->recorded, __ATOMIC_ACQUIRE);
    } else if (!event_is_sync(t->event) && (now.mark = snpu__event_latest_get(t->event)) == NULL) {
        return 0; /* never recorded */
    }
    int32_t ret = wait_for(task, &now);
    snpu__event_mark_put(now.mark);
    return ret;
}

static int32_t replay_reset_run(struct snpu_task *task)
{
    struct event_task *t = (struct event_task *)task->payload;
    snpu__event_latest_set(t->event, NULL);
    return reset_run(task);
}

struct event_mark *snpu__event_promise(const struct task_rec *rec, struct snpu_event **event)
{
    const struct event_task *t = (const struct event_task *)rec->task.payload;
    if (rec->task.kind != &snpu__event_replay_record_kind || t->event->slot != NULL) {
        return NULL;
    }
    struct event_mark *mark = snpu__event_mark_new(2);
    if (mark != NULL) {
        snpu__event_latest_set(t->event, mark);
        *event = t->event;
    }
    return mark;
}

void snpu__event_promise_break(struct event_mark *mark, int32_t code)
{
    mark_finish(mark, SNPU_MARK_DROPPED, code);
    snpu__event_mark_put(mark);
}

/* A position in a lane; the run waits for it before the task starts. */
static int32_t graph_record_run(struct snpu_task *task)
{
    struct event_task *t = (struct event_task *)task->payload;
    if (event_is_sync(t->event)) {
        signal_event(t->event); /* for waits outside the graph */
    }
    return 0;
}

static int32_t graph_wait_run(struct snpu_task *task)
{
    (void)task;
    return 0;
}

const struct snpu_task_kind snpu__event_graph_record_kind = {
    .name = "EVENT_RECORD",
    .prof_type = SNPU_TASK_CAPTURE_RECORD,
    .ri_type = ACL_MODEL_RI_TASK_EVENT_RECORD,
    .captures = true,
    .run = graph_record_run,
    .release = reset_release,
    .ri_get = record_ri_get,
};

const struct snpu_task_kind snpu__event_graph_wait_kind = {
    .name = "EVENT_WAIT",
    .prof_type = SNPU_TASK_CAPTURE_WAIT,
    .ri_type = ACL_MODEL_RI_TASK_EVENT_WAIT,
    .captures = true,
    .run = graph_wait_run,
    .release = reset_release,
    .ri_get = wait_ri_get,
};

const struct snpu_task_kind snpu__event_replay_record_kind = {
    .name = "EVENT_RECORD",
    .prof_type = SNPU_TASK_CAPTURE_RECORD,
    .ri_type = ACL_MODEL_RI_TASK_EVENT_RECORD,
    .captures = true,
    .run = replay_record_run,
    .release = reset_release,
    .ri_get = record_ri_get,
};

const struct snpu_task_kind snpu__event_replay_wait_kind = {
    .name = "EVENT_WAIT",
    .prof_type = SNPU_TASK_CAPTURE_WAIT,
    .ri_type = ACL_MODEL_RI_TASK_EVENT_WAIT,
    .captures = true,
    .run = replay_wait_run,
    .release = reset_release,
    .ri_get = wait_ri_get,
};

const struct snpu_task_kind snpu__event_replay_reset_kind = {
    .name = "EVENT_RESET",
    .prof_type = SNPU_TASK_EVENT_RESET,
    .ri_type = ACL_MODEL_RI_TASK_EVENT_RESET,
    .captures = true,
    .run = replay_reset_run,
    .release = reset_release,
    .ri_get = reset_ri_get,
};
