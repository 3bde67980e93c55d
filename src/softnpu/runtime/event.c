/* Events; what they mean stands in event.h.
 *
 * Invariants: event->latest holds one reference to its mark, each queued record or wait one more. A record that is
 * thrown away (abort, reset) turns its mark to DROPPED, so that nobody waits for it for ever. Threads and locks:
 * event->lock is a leaf and guards `latest` and `graph`. Marks are completed by workers with a release store and a
 * wake-up across processes, because a word may be waited for together with others. Failure policy: wrong handles give
 * 107000; a wait that times out on a stream is an error of that stream, 107019. */
#include "softnpu/runtime/event_internal.h"

#include "softnpu/runtime/futex.h"
#include "softnpu/runtime/ipc.h"
#include "softnpu/runtime/prof.h"
#include "base/slab.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define EVENTS_PER_DEVICE 65536u
#define MARKS_PER_CHUNK   4096u

static struct ms_slab events = MS_SLAB_INIT(struct snpu_event, EVENTS_PER_DEVICE * 16);

/* ---- marks ---- */

static pthread_mutex_t marks_lock = PTHREAD_MUTEX_INITIALIZER; /* leaf */
static struct event_mark *free_marks;

static struct event_mark *mark_new(uint32_t refs)
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
        __atomic_store_n(&mark->state, MARK_PENDING, __ATOMIC_RELAXED);
        __atomic_store_n(&mark->refs, refs, __ATOMIC_RELAXED);
    }
    return mark;
}

static void mark_put(struct event_mark *mark)
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

static struct event_mark *latest_get(struct snpu_event *event)
{
    pthread_mutex_lock(&event->lock);
    struct event_mark *mark = event->latest;
    if (mark != NULL) {
        __atomic_fetch_add(&mark->refs, 1, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&event->lock);
    return mark;
}

/* Takes over a reference of the new mark (NULL: never recorded again). */
static void latest_set(struct snpu_event *event, struct event_mark *mark)
{
    pthread_mutex_lock(&event->lock);
    struct event_mark *old = event->latest;
    event->latest = mark;
    __atomic_store_n(&event->graph.model, 0, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&event->lock);
    mark_put(old);
}

/* ---- life ---- */

static struct snpu_event *event_open(const char *function, uint32_t dev, enum snpu_event_flavour flavour,
                                     uint32_t flags)
{
    uint32_t *count = &snpu_devices[dev].events;
    struct snpu_event *event = NULL;
    if (__atomic_fetch_add(count, 1, __ATOMIC_RELAXED) < EVENTS_PER_DEVICE) {
        event = ms_slab_alloc(&events);
    }
    if (event == NULL) {
        __atomic_fetch_sub(count, 1, __ATOMIC_RELAXED);
        snpu_fail(ACL_ERROR_RT_NO_EVENT_RESOURCE, "%s: the device has %u events, the most it can have", function,
                  EVENTS_PER_DEVICE);
        return NULL;
    }
    event->flavour = flavour;
    event->flags = flags;
    event->dev = dev;
    event->refs = 1;
    pthread_mutex_init(&event->lock, NULL);
    return event;
}

int32_t snpu_event_create(const char *function, enum snpu_event_flavour flavour, uint32_t flags, void **out)
{
    static const uint32_t known = ACL_EVENT_SYNC | ACL_EVENT_CAPTURE_STREAM_PROGRESS | ACL_EVENT_TIME_LINE |
                                  ACL_EVENT_DEVICE_USE_ONLY | ACL_EVENT_EXTERNAL | ACL_EVENT_IPC;
    if (out == NULL || (flags & ~known) != 0 || (flavour != SNPU_EVENT_PLAIN && flags == 0)) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: event %p, flag 0x%x", function, (void *)out, flags);
    }
    struct snpu_ctx *ctx;
    int32_t ret = snpu_ctx_need(function, &ctx);
    if (ret != 0) {
        return ret;
    }
    struct snpu_event *event = event_open(function, ctx->dev, flavour, flags);
    if (event == NULL) {
        return ACL_ERROR_RT_NO_EVENT_RESOURCE;
    }
    if (flags & ACL_EVENT_IPC) {
        event->slot = ipc_alloc(IPC_EVENT, ctx->dev);
        if (event->slot == NULL) {
            event_put(event);
            return snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: no shared memory for an IPC event", function);
        }
        event->slot->open_to_all = 1;
    }
    *out = event;
    return 0;
}

struct snpu_event *event_get(struct snpu_event *event)
{
    __atomic_fetch_add(&event->refs, 1, __ATOMIC_RELAXED);
    return event;
}

void event_put(struct snpu_event *event)
{
    if (__atomic_fetch_sub(&event->refs, 1, __ATOMIC_ACQ_REL) != 1) {
        return;
    }
    mark_put(event->latest);
    if (event->peer != NULL) {
        ipc_close(event->peer);
    } else if (event->slot != NULL) {
        ipc_free(event->slot);
    }
    __atomic_fetch_sub(&snpu_devices[event->dev].events, 1, __ATOMIC_RELAXED);
    pthread_mutex_destroy(&event->lock);
    ms_slab_free(&events, event);
}

int32_t event_resolve(const char *function, void *handle, struct snpu_event **out)
{
    *out = NULL;
    int32_t ret = snpu_guard(function);
    if (ret != 0) {
        return ret;
    }
    struct snpu_event *event = handle;
    if (!ms_slab_check(&events, event) || __atomic_load_n(&event->dead, __ATOMIC_ACQUIRE)) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is not an event, or was destroyed", function, handle);
    }
    *out = event;
    return 0;
}

int32_t snpu_event_destroy(const char *function, void *handle)
{
    struct snpu_event *event;
    int32_t ret = event_resolve(function, handle, &event);
    if (ret != 0) {
        return ret;
    }
    if (__atomic_exchange_n(&event->dead, 1, __ATOMIC_ACQ_REL)) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p was destroyed by another thread", function, handle);
    }
    event_put(event);
    return 0;
}

/* ---- tasks ---- */

static void signal_event(struct snpu_event *event)
{
    __atomic_store_n(&event->signal, 1, __ATOMIC_RELEASE);
    snpu_wake_all(&event->signal);
}

/* Sequence numbers wrap; a later one is ahead of an earlier one by less than half the circle. */
static bool reached(uint32_t have, uint32_t want)
{
    return (int32_t)(have - want) >= 0;
}

static void slot_finish(struct ipc_slot *slot, uint32_t sequence, int32_t code)
{
    uint32_t have = __atomic_load_n(&slot->word, __ATOMIC_ACQUIRE);
    slot->counter = snpu_hal_counter();
    slot->code = code;
    while (!reached(have, sequence) &&
           !__atomic_compare_exchange_n(&slot->word, &have, sequence, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    }
    snpu_wake_all(&slot->word);
}

static int32_t record_run(struct snpu_task *task)
{
    struct event_task *t = (struct event_task *)task->payload;
    if (t->mark != NULL) {
        mark_finish(t->mark, MARK_DONE, 0);
    } else {
        slot_finish(t->event->slot, t->sequence, 0);
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
        if (__atomic_load_n(&t->mark->state, __ATOMIC_ACQUIRE) == MARK_PENDING) {
            mark_finish(t->mark, MARK_DROPPED, snpu_worker_cancel_code());
        }
        mark_put(t->mark);
    } else if (t->event->slot != NULL && !reached(t->event->slot->word, t->sequence)) {
        slot_finish(t->event->slot, t->sequence, snpu_worker_cancel_code());
    }
    event_put(t->event);
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

static int32_t wait_run(struct snpu_task *task)
{
    struct event_task *t = (struct event_task *)task->payload;
    int32_t ret = 0;
    if (t->mark != NULL) {
        while (ret == 0 && __atomic_load_n(&t->mark->state, __ATOMIC_ACQUIRE) == MARK_PENDING) {
            ret = wait_word(task, &t->mark->state, MARK_PENDING, t->timeout_ms);
        }
        return ret != 0 ? ret : t->mark->code;
    }
    if (t->event->slot != NULL) {
        uint32_t have;
        while (ret == 0 && !reached(have = __atomic_load_n(&t->event->slot->word, __ATOMIC_ACQUIRE), t->sequence)) {
            ret = wait_word(task, &t->event->slot->word, have, t->timeout_ms);
        }
        return ret;
    }
    while (ret == 0 && __atomic_load_n(&t->event->signal, __ATOMIC_ACQUIRE) == 0) {
        ret = wait_word(task, &t->event->signal, 0, t->timeout_ms);
    }
    return ret;
}

static void wait_release(void *payload)
{
    struct event_task *t = payload;
    mark_put(t->mark);
    __atomic_fetch_sub(&t->event->open_waits, 1, __ATOMIC_RELEASE);
    event_put(t->event);
}

static int32_t reset_run(struct snpu_task *task)
{
    struct event_task *t = (struct event_task *)task->payload;
    __atomic_store_n(&t->event->signal, 0, __ATOMIC_RELEASE);
    return 0;
}

static void reset_release(void *payload)
{
    event_put(((struct event_task *)payload)->event);
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

static const struct snpu_task_kind record_kind = {
    .name = "EVENT_RECORD",
    .prof_type = SNPU_TASK_EVENT_RECORD,
    .ri_type = ACL_MODEL_RI_TASK_EVENT_RECORD,
    .run = record_run,
    .release = record_release,
};

static const struct snpu_task_kind wait_kind = {
    .name = "EVENT_WAIT",
    .prof_type = SNPU_TASK_EVENT_WAIT,
    .ri_type = ACL_MODEL_RI_TASK_EVENT_WAIT,
    .captures = true,
    .run = wait_run,
    .release = wait_release,
    .ri_get = wait_ri_get,
};

static const struct snpu_task_kind reset_kind = {
    .name = "EVENT_RESET",
    .prof_type = SNPU_TASK_EVENT_RESET,
    .ri_type = ACL_MODEL_RI_TASK_EVENT_RESET,
    .captures = true,
    .run = reset_run,
    .release = reset_release,
    .ri_get = reset_ri_get,
};

/* A record inside a model makes a new mark at each replay; a wait takes the one that is there then. */
static int32_t replay_record_run(struct snpu_task *task)
{
    struct event_task *t = (struct event_task *)task->payload;
    if (t->event->slot != NULL) {
        uint32_t sequence = __atomic_add_fetch(&t->event->slot->recorded, 1, __ATOMIC_ACQ_REL);
        slot_finish(t->event->slot, sequence, 0);
    } else {
        struct event_mark *mark = mark_new(1);
        if (mark == NULL) {
            return ACL_ERROR_RT_RESOURCE_ALLOC_FAIL;
        }
        mark_finish(mark, MARK_DONE, 0);
        latest_set(t->event, mark);
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
    } else {
        now.mark = latest_get(t->event);
    }
    if (now.mark == NULL && now.sequence == 0 && !event_is_sync(t->event)) {
        return 0;
    }
    int32_t ret = 0;
    while (ret == 0 && now.mark != NULL && __atomic_load_n(&now.mark->state, __ATOMIC_ACQUIRE) == MARK_PENDING) {
        ret = wait_word(task, &now.mark->state, MARK_PENDING, now.timeout_ms);
    }
    uint32_t have;
    while (ret == 0 && t->event->slot != NULL &&
           !reached(have = __atomic_load_n(&t->event->slot->word, __ATOMIC_ACQUIRE), now.sequence)) {
        ret = wait_word(task, &t->event->slot->word, have, now.timeout_ms);
    }
    while (ret == 0 && now.mark == NULL && t->event->slot == NULL &&
           __atomic_load_n(&t->event->signal, __ATOMIC_ACQUIRE) == 0) {
        ret = wait_word(task, &t->event->signal, 0, now.timeout_ms);
    }
    mark_put(now.mark);
    return ret;
}

/* A place in a lane; waiting for it is done by the run, before the task starts. */
static int32_t graph_record_run(struct snpu_task *task)
{
    struct event_task *t = (struct event_task *)task->payload;
    if (event_is_sync(t->event)) {
        signal_event(t->event); /* for waits that are not part of the graph */
    }
    return 0;
}

static int32_t graph_wait_run(struct snpu_task *task)
{
    (void)task;
    return 0;
}

const struct snpu_task_kind event_graph_record_kind = {
    .name = "EVENT_RECORD",
    .prof_type = SNPU_TASK_CAPTURE_RECORD,
    .ri_type = ACL_MODEL_RI_TASK_EVENT_RECORD,
    .captures = true,
    .run = graph_record_run,
    .release = reset_release,
    .ri_get = record_ri_get,
};

const struct snpu_task_kind event_graph_wait_kind = {
    .name = "EVENT_WAIT",
    .prof_type = SNPU_TASK_CAPTURE_WAIT,
    .ri_type = ACL_MODEL_RI_TASK_EVENT_WAIT,
    .captures = true,
    .run = graph_wait_run,
    .release = reset_release,
    .ri_get = wait_ri_get,
};

const struct snpu_task_kind event_replay_record_kind = {
    .name = "EVENT_RECORD",
    .prof_type = SNPU_TASK_CAPTURE_RECORD,
    .ri_type = ACL_MODEL_RI_TASK_EVENT_RECORD,
    .captures = true,
    .run = replay_record_run,
    .release = reset_release,
    .ri_get = record_ri_get,
};

const struct snpu_task_kind event_replay_wait_kind = {
    .name = "EVENT_WAIT",
    .prof_type = SNPU_TASK_CAPTURE_WAIT,
    .ri_type = ACL_MODEL_RI_TASK_EVENT_WAIT,
    .captures = true,
    .run = replay_wait_run,
    .release = reset_release,
    .ri_get = wait_ri_get,
};

/* ---- calls ---- */

int32_t event_submit_replay(struct snpu_stream *stream, const struct snpu_task_kind *kind, struct snpu_event *event,
                            uint32_t flag)
{
    struct event_task t = {.event = event_get(event), .flag = flag, .timeout_ms = -1};
    int32_t ret = snpu_stream_submit(stream, kind, &t, sizeof(t), NULL, 0, NULL);
    if (ret != 0) {
        event_put(event);
    }
    return ret;
}

int32_t snpu_event_record(const char *function, void *handle, void *stream_handle, uint32_t record_flag)
{
    struct snpu_event *event;
    struct snpu_stream *stream;
    int32_t ret = event_resolve(function, handle, &event);
    if (ret != 0 || (ret = snpu_stream_resolve(function, stream_handle, &stream)) != 0) {
        return ret;
    }
    if (record_flag > ACL_EVENT_RECORD_EXTERNAL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: flag %u", function, record_flag);
    }
    if (snpu_stream_capturing(stream) && capture_event_record(function, stream, event, record_flag, &ret)) {
        return ret;
    }
    struct event_task t = {.event = event_get(event), .flag = record_flag};
    if (event->slot != NULL) {
        t.sequence = __atomic_add_fetch(&event->slot->recorded, 1, __ATOMIC_ACQ_REL);
    } else if ((t.mark = mark_new(2)) == NULL) {
        event_put(event);
        return snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: no memory for a record", function);
    }
    if (t.mark != NULL) {
        t.mark->stream = stream;
    }
    ret = snpu_stream_submit(stream, &record_kind, &t, sizeof(t), NULL, 0, NULL);
    if (ret != 0) {
        if (t.mark != NULL) {
            mark_put(t.mark);
            mark_put(t.mark);
        } else {
            slot_finish(event->slot, t.sequence, ret); /* nobody shall wait for what was not queued */
        }
        event_put(event);
        return ret;
    }
    if (t.mark != NULL) {
        latest_set(event, t.mark);
    }
    return 0;
}

int32_t snpu_event_reset(const char *function, void *handle, void *stream_handle)
{
    struct snpu_event *event;
    struct snpu_stream *stream;
    int32_t ret = event_resolve(function, handle, &event);
    if (ret != 0 || (ret = snpu_stream_resolve(function, stream_handle, &stream)) != 0) {
        return ret;
    }
    struct event_task t = {.event = event_get(event)};
    ret = snpu_stream_submit(stream, &reset_kind, &t, sizeof(t), NULL, 0, NULL);
    if (ret != 0) {
        event_put(event);
        return ret;
    }
    latest_set(event, NULL);
    return 0;
}

int32_t snpu_event_wait(const char *function, void *stream_handle, void *handle, int64_t timeout_ms, uint32_t wait_flag)
{
    struct snpu_event *event;
    struct snpu_stream *stream;
    int32_t ret = snpu_stream_resolve(function, stream_handle, &stream);
    if (ret != 0 || (ret = event_resolve(function, handle, &event)) != 0) {
        return ret;
    }
    if (wait_flag > ACL_EVENT_WAIT_EXTERNAL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: flag %u", function, wait_flag);
    }
    if (capture_event_wait(function, stream, event, wait_flag, &ret)) {
        return ret;
    }
    struct event_task t = {.event = event, .flag = wait_flag, .timeout_ms = timeout_ms};
    if (timeout_ms == 0) {
        uint64_t limit = snpu_op_wait_timeout_ms();
        t.timeout_ms = limit == 0 ? -1 : (int64_t)limit;
    }
    if (event->slot != NULL) {
        t.sequence = __atomic_load_n(&event->slot->recorded, __ATOMIC_ACQUIRE);
        if (t.sequence == 0) {
            return 0;
        }
    } else if ((t.mark = latest_get(event)) == NULL && !event_is_sync(event)) {
        if (event->flavour == SNPU_EVENT_EX) {
            return 0;
        }
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: event %p was never recorded", function, handle);
    }
    event_get(event);
    __atomic_fetch_add(&event->open_waits, 1, __ATOMIC_RELAXED);
    ret = snpu_stream_submit(stream, &wait_kind, &t, sizeof(t), NULL, 0, NULL);
    if (ret != 0) {
        wait_release(&t);
    }
    return ret;
}

/* ---- questions ---- */

int32_t snpu_event_state(const char *function, void *handle, struct snpu_event_state *out)
{
    struct snpu_event *event;
    int32_t ret = event_resolve(function, handle, &event);
    if (ret != 0) {
        return ret;
    }
    if (__atomic_load_n(&event->graph.model, __ATOMIC_ACQUIRE) != 0) {
        return snpu_fail(ACL_ERROR_RT_EVENT_CAPTURED, "%s: event %p was recorded into a model", function, handle);
    }
    *out = (struct snpu_event_state){
        .flavour = event->flavour,
        .open_waits = __atomic_load_n(&event->open_waits, __ATOMIC_ACQUIRE),
        .timed = event->flavour == SNPU_EVENT_PLAIN || (event->flags & (ACL_EVENT_TIME_LINE | ACL_EVENT_IPC)) != 0,
    };
    if (event->slot != NULL) {
        uint32_t recorded = __atomic_load_n(&event->slot->recorded, __ATOMIC_ACQUIRE);
        out->recorded = recorded != 0;
        out->complete = out->recorded && reached(__atomic_load_n(&event->slot->word, __ATOMIC_ACQUIRE), recorded);
        out->code = out->complete ? event->slot->code : 0;
        out->counter = out->complete ? event->slot->counter : 0;
        return 0;
    }
    struct event_mark *mark = latest_get(event);
    if (mark != NULL) {
        out->recorded = true;
        out->complete = __atomic_load_n(&mark->state, __ATOMIC_ACQUIRE) != MARK_PENDING;
        if (!out->complete && mark->stream != NULL) {
            snpu_worker_hurry(mark->stream); /* whoever asks is waiting */
        }
        out->code = out->complete ? mark->code : 0;
        out->counter = out->complete ? mark->counter : 0;
        mark_put(mark);
    }
    return 0;
}

int32_t snpu_event_synchronize(const char *function, void *handle, int32_t timeout_ms)
{
    struct snpu_event *event;
    struct snpu_event_state state;
    int32_t ret = snpu_event_state(function, handle, &state);
    if (ret != 0 || (ret = event_resolve(function, handle, &event)) != 0 || !state.recorded) {
        return ret;
    }
    int64_t deadline = deadline_after_ms(timeout_ms), left = -1;
    event_get(event);
    if (event->slot != NULL) {
        uint32_t want = __atomic_load_n(&event->slot->recorded, __ATOMIC_ACQUIRE), have;
        while (!reached(have = __atomic_load_n(&event->slot->word, __ATOMIC_ACQUIRE), want) &&
               (left = deadline_left_ns(deadline)) != 0) {
            futex_wait_shared(&event->slot->word, have, left);
        }
        ret = event->slot->code;
    } else {
        struct event_mark *mark = latest_get(event);
        while (mark != NULL && __atomic_load_n(&mark->state, __ATOMIC_ACQUIRE) == MARK_PENDING &&
               (left = deadline_left_ns(deadline)) != 0) {
            futex_wait_shared(&mark->state, MARK_PENDING, left);
        }
        ret = mark != NULL && __atomic_load_n(&mark->state, __ATOMIC_ACQUIRE) == MARK_DROPPED ? mark->code : 0;
        mark_put(mark);
    }
    event_put(event);
    if (left == 0) {
        return snpu_fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "%s: event %p did not happen within %d ms", function, handle,
                         timeout_ms);
    }
    return ret == 0 ? 0 : snpu_fail(ret, "%s: the stream that should record event %p was stopped", function, handle);
}

int32_t snpu_event_counter(const char *function, void *handle, uint64_t *counter)
{
    struct snpu_event_state state;
    int32_t ret = snpu_event_state(function, handle, &state);
    if (ret != 0) {
        return ret;
    }
    if (!state.recorded) {
        return snpu_fail(ACL_ERROR_RT_INTERNAL_ERROR, "%s: event %p was never recorded", function, handle);
    }
    if (!state.timed || !state.complete || state.code != 0) {
        return snpu_fail(ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID, "%s: event %p %s", function, handle,
                         state.timed ? "did not happen yet" : "keeps no time stamps (no ACL_EVENT_TIME_LINE)");
    }
    *counter = state.counter;
    return 0;
}

int32_t snpu_events_available(const char *function, uint32_t *count)
{
    struct snpu_ctx *ctx;
    int32_t ret = snpu_ctx_need(function, &ctx);
    if (ret == 0) {
        *count = EVENTS_PER_DEVICE - __atomic_load_n(&snpu_devices[ctx->dev].events, __ATOMIC_RELAXED);
    }
    return ret;
}

/* ---- between processes ---- */

int32_t snpu_event_export(const char *function, void *handle, void *key64)
{
    struct snpu_event *event;
    int32_t ret = event_resolve(function, handle, &event);
    if (ret != 0) {
        return ret;
    }
    if (event->slot == NULL || event->peer != NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: event %p was not created here with ACL_EVENT_IPC", function,
                         handle);
    }
    memset(key64, 0, ACL_IPC_EVENT_HANDLE_SIZE);
    ipc_key_of(event->slot, key64);
    return 0;
}

int32_t snpu_event_import(const char *function, const void *key64, void **out)
{
    struct snpu_ctx *ctx;
    struct ipc_key key;
    struct ipc_slot *slot;
    struct ipc_peer *peer;
    memcpy(&key, key64, sizeof(key));
    int32_t ret = snpu_ctx_need(function, &ctx);
    if (ret == 0 && key.kind != IPC_EVENT) {
        ret = snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: this is not the handle of an event", function);
    }
    if (ret == 0 && key.pid == getpid()) {
        ret = snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the event belongs to this process", function);
    }
    if (ret != 0 || (ret = ipc_open(function, &key, &slot, &peer)) != 0) {
        return ret;
    }
    struct snpu_event *event = event_open(function, ctx->dev, SNPU_EVENT_EX, ACL_EVENT_IPC);
    if (event == NULL) {
        ipc_close(peer);
        return ACL_ERROR_RT_NO_EVENT_RESOURCE;
    }
    event->slot = slot;
    event->peer = peer;
    *out = event;
    return 0;
}

int32_t snpu_event_id(const char *function, void *handle, uint32_t *id)
{
    struct snpu_event *event;
    int32_t ret = event_resolve(function, handle, &event);
    if (ret == 0) {
        *id = ms_slab_index(&events, event) % EVENTS_PER_DEVICE;
    }
    return ret;
}
