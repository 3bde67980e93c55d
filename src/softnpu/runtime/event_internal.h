/* SPDX-License-Identifier: Apache-2.0 */
/* Events as capture, models and event tasks see them. */
#ifndef SOFTNPU_RUNTIME_EVENT_INTERNAL_H
#define SOFTNPU_RUNTIME_EVENT_INTERNAL_H

#include "softnpu/runtime/engine.h"
#include "softnpu/runtime/event.h"

struct ipc_slot;
struct ipc_peer;

/* One recording. Kept while it is the event's latest record or a task refers to it. */
struct event_mark {
    uint32_t refs;
    uint32_t state; /* enum mark_state; futex word */
    int32_t code;
    uint64_t counter;
    struct snpu_stream *stream; /* where it is recorded: only to wake its worker */
    struct event_mark *next_free;
};

enum mark_state { SNPU_MARK_PENDING, SNPU_MARK_DONE, SNPU_MARK_DROPPED };

struct snpu_event {
    enum snpu_event_flavour flavour;
    uint32_t flags;
    uint32_t dev;
    uint32_t refs;
    uint32_t dead; /* the handle is no longer valid; tasks still hold the object */
    uint32_t open_waits;
    uint32_t signal;      /* SYNC: 1 after a record ran, until a reset runs; futex word */
    pthread_mutex_t lock; /* latest, graph */
    struct event_mark *latest;
    struct ipc_slot *slot; /* state of an IPC event, kept here instead */
    struct ipc_peer *peer;
    /* Where it was recorded into a model. model 0: it was not. */
    struct {
        uint64_t model; /* serial number */
        uint32_t lane;
        uint32_t index; /* the record is complete when the lane has passed this task */
    } graph;
};

/* Payload of all event tasks. */
struct event_task {
    struct snpu_event *event; /* one reference */
    struct event_mark *mark;  /* one reference; NULL: IPC, or the semaphore of a SYNC event */
    uint32_t sequence;        /* IPC: which record */
    uint32_t flag;
    int64_t timeout_ms;
};

/* Behaves like a semaphore: a wait may be for a future record; a reset re-arms it. */
static inline bool event_is_sync(const struct snpu_event *event)
{
    return event->flavour == SNPU_EVENT_FLAGGED && (event->flags & (ACL_EVENT_SYNC | ACL_EVENT_EXTERNAL));
}

static inline bool event_is_external(const struct snpu_event *event)
{
    return (event->flags & ACL_EVENT_EXTERNAL) != 0;
}

int32_t snpu__event_resolve(const char *function, void *handle, struct snpu_event **out);
struct snpu_event *snpu__event_get(struct snpu_event *event);
void snpu__event_put(struct snpu_event *event);

/* ---- event_task.c ---- */
/* Takes over no reference; NULL if out of memory. */
struct event_mark *snpu__event_mark_new(uint32_t refs);
void snpu__event_mark_put(struct event_mark *mark); /* NULL is allowed */
/* The latest record with a reference, NULL if there is none. */
struct event_mark *snpu__event_latest_get(struct snpu_event *event);
/* Takes over a reference to the new mark (NULL: as if never recorded) and detaches the event from any model. */
void snpu__event_latest_set(struct snpu_event *event, struct event_mark *mark);
void snpu__event_slot_finish(struct ipc_slot *slot, uint32_t sequence, int32_t code);
void snpu__event_wait_release(void *payload);

/* Sequence numbers wrap: `have` has reached `want` if it is ahead by less than half the range. */
static inline bool event_reached(uint32_t have, uint32_t want)
{
    return (int32_t)(have - want) >= 0;
}

/* Queued records, waits and resets; payload struct event_task. */
extern const struct snpu_task_kind snpu__event_record_kind;
extern const struct snpu_task_kind snpu__event_wait_kind;
extern const struct snpu_task_kind snpu__event_reset_kind;
/* The two ends of an edge between two lanes of a model. */
extern const struct snpu_task_kind snpu__event_graph_record_kind;
extern const struct snpu_task_kind snpu__event_graph_wait_kind;
/* Model tasks that record, wait for or reset real events at every replay. */
extern const struct snpu_task_kind snpu__event_replay_record_kind;
extern const struct snpu_task_kind snpu__event_replay_wait_kind;
extern const struct snpu_task_kind snpu__event_replay_reset_kind;
int32_t snpu__event_submit_replay(struct snpu_stream *stream, const struct snpu_task_kind *kind,
                                  struct snpu_event *event, uint32_t flag);

/* Starting a model promises the records in it: waits queued from now on are for this run. NULL: the event needs no
 * promise, or out of memory. The promise is one reference, dropped by whichever code keeps or breaks it. */
struct event_mark *snpu__event_promise(const struct task_rec *rec, struct snpu_event **event);
void snpu__event_promise_break(struct event_mark *mark, int32_t code);
/* model_run.c: the promise of the run this thread is part of; NULL if none is left. */
struct event_mark *snpu__model_promise_take(const struct snpu_event *event);

/* ---- capture.c; both with no lock held ---- */
/* False: the call does not concern a capture, continue. True: handled, *ret is the result. */
bool snpu__capture_event_record(const char *function, struct snpu_stream *stream, struct snpu_event *event,
                                uint32_t record_flag, int32_t *ret);
bool snpu__capture_event_wait(const char *function, struct snpu_stream *stream, struct snpu_event *event,
                              uint32_t wait_flag, int32_t *ret);

#endif
