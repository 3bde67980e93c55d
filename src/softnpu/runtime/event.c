/* SPDX-License-Identifier: Apache-2.0 */
/* Events; see event.h for their semantics.
 *
 * Invariants: event->latest holds one reference to its mark, each queued record or wait one more. A record that is
 * discarded (abort, reset) sets its mark to DROPPED, so no waiter waits forever.
 *
 * Threads and locks: event->lock is a leaf and guards `latest` and `graph`. Workers complete marks with a release
 * store and a cross-process wake-up, because a word may be waited for together with others.
 *
 * Failure policy: invalid handles return 107000; a wait that times out on a stream is an error of that stream,
 * 107019. */
#include "softnpu/runtime/event_internal.h"

#include "softnpu/runtime/futex.h"
#include "softnpu/runtime/ipc.h"
#include "base/slab.h"

#include <string.h>

#define EVENTS_PER_DEVICE 65536u

static struct ms_slab events = MS_SLAB_INIT(struct snpu_event, EVENTS_PER_DEVICE * 16);

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
        snpu_fail(ACL_ERROR_RT_NO_EVENT_RESOURCE, "%s: the device has reached its limit of %u events", function,
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
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid argument: event %p, flag 0x%x", function, (void *)out,
                         flags);
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
        event->slot = snpu__ipc_alloc(SNPU_IPC_EVENT, ctx->dev);
        if (event->slot == NULL) {
            snpu__event_put(event);
            return snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: no shared memory for an IPC event", function);
        }
        event->slot->open_to_all = 1;
    }
    *out = event;
    return 0;
}

struct snpu_event *snpu__event_get(struct snpu_event *event)
{
    __atomic_fetch_add(&event->refs, 1, __ATOMIC_RELAXED);
    return event;
}

void snpu__event_put(struct snpu_event *event)
{
    if (__atomic_fetch_sub(&event->refs, 1, __ATOMIC_ACQ_REL) != 1) {
        return;
    }
    snpu__event_mark_put(event->latest);
    if (event->peer != NULL) {
        snpu__ipc_close(event->peer);
    } else if (event->slot != NULL) {
        snpu__ipc_free(event->slot);
    }
    __atomic_fetch_sub(&snpu_devices[event->dev].events, 1, __ATOMIC_RELAXED);
    pthread_mutex_destroy(&event->lock);
    ms_slab_free(&events, event);
}

int32_t snpu__event_resolve(const char *function, void *handle, struct snpu_event **out)
{
    *out = NULL;
    int32_t ret = snpu_guard(function);
    if (ret != 0) {
        return ret;
    }
    struct snpu_event *event = handle;
    if (!ms_slab_check(&events, event) || __atomic_load_n(&event->dead, __ATOMIC_ACQUIRE)) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is not an event or was destroyed", function, handle);
    }
    *out = event;
    return 0;
}

int32_t snpu_event_destroy(const char *function, void *handle)
{
    struct snpu_event *event;
    int32_t ret = snpu__event_resolve(function, handle, &event);
    if (ret != 0) {
        return ret;
    }
    if (__atomic_exchange_n(&event->dead, 1, __ATOMIC_ACQ_REL)) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p was destroyed by another thread", function, handle);
    }
    snpu__event_put(event);
    return 0;
}

/* ---- calls ---- */

int32_t snpu__event_submit_replay(struct snpu_stream *stream, const struct snpu_task_kind *kind,
                                  struct snpu_event *event, uint32_t flag)
{
    struct event_task t = {.event = snpu__event_get(event), .flag = flag, .timeout_ms = -1};
    int32_t ret = snpu_stream_submit(stream, kind, &t, sizeof(t), NULL, 0, NULL);
    if (ret != 0) {
        snpu__event_put(event);
    }
    return ret;
}

int32_t snpu_event_record(const char *function, void *handle, void *stream_handle, uint32_t record_flag)
{
    struct snpu_event *event;
    struct snpu_stream *stream;
    int32_t ret = snpu__event_resolve(function, handle, &event);
    if (ret != 0 || (ret = snpu_stream_resolve(function, stream_handle, &stream)) != 0) {
        return ret;
    }
    if (record_flag > ACL_EVENT_RECORD_EXTERNAL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid flag %u", function, record_flag);
    }
    if (snpu_stream_capturing(stream) && snpu__capture_event_record(function, stream, event, record_flag, &ret)) {
        return ret;
    }
    struct event_task t = {.event = snpu__event_get(event), .flag = record_flag};
    if (event->slot != NULL) {
        t.sequence = __atomic_add_fetch(&event->slot->recorded, 1, __ATOMIC_ACQ_REL);
    } else if ((t.mark = snpu__event_mark_new(2)) == NULL) {
        snpu__event_put(event);
        return snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: out of host memory for a record", function);
    }
    if (t.mark != NULL) {
        t.mark->stream = stream;
    }
    ret = snpu_stream_submit(stream, &snpu__event_record_kind, &t, sizeof(t), NULL, 0, NULL);
    if (ret != 0) {
        if (t.mark != NULL) {
            snpu__event_mark_put(t.mark);
            snpu__event_mark_put(t.mark);
        } else {
            snpu__event_slot_finish(event->slot, t.sequence, ret); /* nothing was queued: release waiters */
        }
        snpu__event_put(event);
        return ret;
    }
    if (t.mark != NULL) {
        snpu__event_latest_set(event, t.mark);
    }
    return 0;
}

int32_t snpu_event_reset(const char *function, void *handle, void *stream_handle)
{
    struct snpu_event *event;
    struct snpu_stream *stream;
    int32_t ret = snpu__event_resolve(function, handle, &event);
    if (ret != 0 || (ret = snpu_stream_resolve(function, stream_handle, &stream)) != 0) {
        return ret;
    }
    if (snpu_stream_capturing(stream)) {
        return snpu__event_submit_replay(stream, &snpu__event_replay_reset_kind, event, 0);
    }
    struct event_task t = {.event = snpu__event_get(event)};
    ret = snpu_stream_submit(stream, &snpu__event_reset_kind, &t, sizeof(t), NULL, 0, NULL);
    if (ret != 0) {
        snpu__event_put(event);
        return ret;
    }
    snpu__event_latest_set(event, NULL);
    return 0;
}

int32_t snpu_event_wait(const char *function, void *stream_handle, void *handle, int64_t timeout_ms, uint32_t wait_flag)
{
    struct snpu_event *event;
    struct snpu_stream *stream;
    int32_t ret = snpu_stream_resolve(function, stream_handle, &stream);
    if (ret != 0 || (ret = snpu__event_resolve(function, handle, &event)) != 0) {
        return ret;
    }
    if (wait_flag > ACL_EVENT_WAIT_EXTERNAL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid flag %u", function, wait_flag);
    }
    if (snpu__capture_event_wait(function, stream, event, wait_flag, &ret)) {
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
    } else if ((t.mark = snpu__event_latest_get(event)) == NULL && !event_is_sync(event)) {
        if (event->flavour == SNPU_EVENT_EX) {
            return 0;
        }
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: event %p was never recorded", function, handle);
    }
    snpu__event_get(event);
    __atomic_fetch_add(&event->open_waits, 1, __ATOMIC_RELAXED);
    ret = snpu_stream_submit(stream, &snpu__event_wait_kind, &t, sizeof(t), NULL, 0, NULL);
    if (ret != 0) {
        snpu__event_wait_release(&t);
    }
    return ret;
}

/* ---- queries ---- */

int32_t snpu_event_state(const char *function, void *handle, struct snpu_event_state *out)
{
    struct snpu_event *event;
    int32_t ret = snpu__event_resolve(function, handle, &event);
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
        out->complete = out->recorded && event_reached(__atomic_load_n(&event->slot->word, __ATOMIC_ACQUIRE), recorded);
        out->code = out->complete ? event->slot->code : 0;
        out->counter = out->complete ? event->slot->counter : 0;
        return 0;
    }
    struct event_mark *mark = snpu__event_latest_get(event);
    if (mark != NULL) {
        out->recorded = true;
        out->complete = __atomic_load_n(&mark->state, __ATOMIC_ACQUIRE) != SNPU_MARK_PENDING;
        if (!out->complete && mark->stream != NULL) {
            snpu_worker_hurry(mark->stream); /* a caller that polls is waiting */
        }
        out->code = out->complete ? mark->code : 0;
        out->counter = out->complete ? mark->counter : 0;
        snpu__event_mark_put(mark);
    }
    return 0;
}

int32_t snpu_event_synchronize(const char *function, void *handle, int32_t timeout_ms)
{
    struct snpu_event *event;
    struct snpu_event_state state;
    int32_t ret = snpu_event_state(function, handle, &state);
    if (ret != 0 || (ret = snpu__event_resolve(function, handle, &event)) != 0 || !state.recorded) {
        return ret;
    }
    int64_t deadline = deadline_after_ms(timeout_ms), left = -1;
    snpu__event_get(event);
    if (event->slot != NULL) {
        uint32_t want = __atomic_load_n(&event->slot->recorded, __ATOMIC_ACQUIRE), have;
        while (!event_reached(have = __atomic_load_n(&event->slot->word, __ATOMIC_ACQUIRE), want) &&
               (left = deadline_left_ns(deadline)) != 0) {
            futex_wait_shared(&event->slot->word, have, left);
        }
        ret = event->slot->code;
    } else {
        struct event_mark *mark = snpu__event_latest_get(event);
        while (mark != NULL && __atomic_load_n(&mark->state, __ATOMIC_ACQUIRE) == SNPU_MARK_PENDING &&
               (left = deadline_left_ns(deadline)) != 0) {
            futex_wait_shared(&mark->state, SNPU_MARK_PENDING, left);
        }
        ret = mark != NULL && __atomic_load_n(&mark->state, __ATOMIC_ACQUIRE) == SNPU_MARK_DROPPED ? mark->code : 0;
        snpu__event_mark_put(mark);
    }
    snpu__event_put(event);
    if (left == 0) {
        return snpu_fail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT, "%s: event %p did not complete within %d ms", function,
                         handle, timeout_ms);
    }
    return ret == 0 ? 0 : snpu_fail(ret, "%s: the stream recording event %p was stopped", function, handle);
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
                         state.timed ? "has not completed yet"
                                     : "has no time stamps (created without ACL_EVENT_TIME_LINE)");
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
    int32_t ret = snpu__event_resolve(function, handle, &event);
    if (ret != 0) {
        return ret;
    }
    if (event->slot == NULL || event->peer != NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: event %p was not created here with ACL_EVENT_IPC", function,
                         handle);
    }
    memset(key64, 0, ACL_IPC_EVENT_HANDLE_SIZE);
    snpu__ipc_key_of(event->slot, key64);
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
    if (ret == 0 && key.kind != SNPU_IPC_EVENT) {
        ret = snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: not an IPC event handle", function);
    }
    if (ret == 0 && key.pid == getpid()) {
        ret = snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the event belongs to this process", function);
    }
    if (ret != 0 || (ret = snpu__ipc_open(function, &key, &slot, &peer)) != 0) {
        return ret;
    }
    struct snpu_event *event = event_open(function, ctx->dev, SNPU_EVENT_EX, ACL_EVENT_IPC);
    if (event == NULL) {
        snpu__ipc_close(peer);
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
    int32_t ret = snpu__event_resolve(function, handle, &event);
    if (ret == 0) {
        *id = ms_slab_index(&events, event) % EVENTS_PER_DEVICE;
    }
    return ret;
}
