/* SPDX-License-Identifier: Apache-2.0 */
/* Capturing: streams whose tasks go into a model instead of their queue.
 *
 * Invariants: a stream has at most one route; while it has one, nothing is queued. A captured stream is the origin
 * (lane 0), or joined the capture by waiting for an event recorded in it. At the end each joined stream must have been
 * joined back: its last work must precede a record that the origin waited for, directly or through other streams.
 *
 * Threads and locks: captures_lock guards the list of active captures, a leaf. Routes are guarded by their stream's
 * lock.
 *
 * Failure policy: a forbidden call during a capture invalidates it; all further calls return 507903 until the capture
 * is ended, which releases its streams. */
#include "softnpu/runtime/model_internal.h"

#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t captures_lock = PTHREAD_MUTEX_INITIALIZER;
static struct snpu_model *captures;
static uint32_t capture_count; /* read without the lock: usually 0 */

static __thread int thread_mode = ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;

static void capture_list_add(struct snpu_model *model)
{
    pthread_mutex_lock(&captures_lock);
    model->next_capture = captures;
    captures = model;
    __atomic_fetch_add(&capture_count, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&captures_lock);
}

static void capture_list_remove(struct snpu_model *model)
{
    pthread_mutex_lock(&captures_lock);
    for (struct snpu_model **link = &captures; *link != NULL; link = &(*link)->next_capture) {
        if (*link == model) {
            *link = model->next_capture;
            __atomic_fetch_sub(&capture_count, 1, __ATOMIC_RELEASE);
            break;
        }
    }
    pthread_mutex_unlock(&captures_lock);
}

/* The active capture with this serial number, with a reference. */
static struct snpu_model *capture_find(uint64_t serial)
{
    if (serial == 0 || __atomic_load_n(&capture_count, __ATOMIC_ACQUIRE) == 0) {
        return NULL;
    }
    pthread_mutex_lock(&captures_lock);
    struct snpu_model *model = captures;
    while (model != NULL && model->serial != serial) {
        model = model->next_capture;
    }
    if (model != NULL) {
        snpu__model_get(model);
    }
    pthread_mutex_unlock(&captures_lock);
    return model;
}

void snpu__capture_invalidate(struct snpu_model *model, int32_t code)
{
    if (model->state == SNPU_MODEL_CAPTURING) {
        int32_t valid = 0;
        __atomic_compare_exchange_n(&model->invalid, &valid, code, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
    }
}

static int32_t fail_invalid(const char *function, const struct snpu_model *model)
{
    return snpu_fail(ACL_ERROR_RT_STREAM_CAPTURE_INVALIDATED, "%s: the capture became invalid because of %s", function,
                     snpu_code_name(__atomic_load_n(&model->invalid, __ATOMIC_ACQUIRE)));
}

/* ---- routes ---- */

int32_t snpu__route_set(const char *function, struct snpu_stream *stream, struct snpu_route *route)
{
    int32_t ret = 0;
    pthread_mutex_lock(&stream->lock);
    if (stream->closing) {
        ret = snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: stream %u is being destroyed", function, stream->id);
    } else if (stream->route != NULL) {
        ret = snpu_fail(stream->route->kind == SNPU_ROUTE_BUILD ? ACL_ERROR_RT_STREAM_MODEL
                                                                : ACL_ERROR_RT_STREAM_CAPTURED,
                        "%s: stream %u is already captured, updated or bound", function, stream->id);
    } else {
        stream->route = route;
        __atomic_store_n(&stream->capturing, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&stream->lock);
    return ret;
}

void snpu__route_clear(struct snpu_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    struct snpu_route *route = stream->route;
    stream->route = NULL;
    __atomic_store_n(&stream->capturing, 0, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&stream->lock);
    if (route != NULL) {
        snpu__route_drop_updates(route);
        snpu__model_put(route->model);
        free(route);
    }
}

struct snpu_model *snpu__route_model(struct snpu_stream *stream, int kind, uint32_t *lane)
{
    if (!snpu_stream_capturing(stream)) {
        return NULL;
    }
    struct snpu_model *model = NULL;
    pthread_mutex_lock(&stream->lock);
    if (stream->route != NULL && (int)stream->route->kind == kind) {
        model = snpu__model_get(stream->route->model);
        if (lane != NULL) {
            *lane = stream->route->lane;
        }
    }
    pthread_mutex_unlock(&stream->lock);
    return model;
}

void snpu_route_forget(struct snpu_stream *stream)
{
    if (!snpu_stream_capturing(stream)) {
        return;
    }
    uint32_t lane;
    struct snpu_model *model = snpu__route_model(stream, SNPU_ROUTE_CAPTURE, &lane);
    if (model == NULL) {
        model = snpu__route_model(stream, SNPU_ROUTE_BUILD, &lane);
    }
    if (model != NULL) {
        snpu__capture_invalidate(model, ACL_ERROR_RT_STREAM_ABORT);
        pthread_mutex_lock(&model->lock);
        model->lanes[lane].source = NULL;
        pthread_mutex_unlock(&model->lock);
        if (lane == 0 && model->state == SNPU_MODEL_CAPTURING) { /* this capture can no longer be ended */
            capture_list_remove(model);
            model->state = SNPU_MODEL_READY;
            if (model->parent == NULL) {
                snpu__model_kill(model);
            }
        }
        snpu__model_put(model);
    }
    snpu__route_clear(stream);
}

int32_t snpu_route_submit(struct snpu_stream *stream, const struct snpu_task_kind *kind, const void *head,
                          size_t head_b, const void *tail, size_t tail_b, uint32_t *task_id)
{
    struct snpu_route *route = stream->route;
    struct snpu_model *model = route->model;
    if (route->kind == SNPU_ROUTE_UPDATE) {
        return snpu__update_submit(stream, route, kind, head, head_b, tail, tail_b);
    }
    if (__atomic_load_n(&model->invalid, __ATOMIC_ACQUIRE) != 0) {
        return fail_invalid(kind->name, model);
    }
    if (!kind->captures) {
        snpu__capture_invalidate(model, ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT);
        return snpu_fail(ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT, "%s cannot be recorded into a model", kind->name);
    }
    pthread_mutex_lock(&model->lock);
    struct model_lane *lane = &model->lanes[route->lane];
    int32_t ret = 0;
    struct task_rec *rec = NULL;
    struct model_node *node = NULL;
    if (lane->ended || model->state == SNPU_MODEL_READY) {
        ret = snpu_fail(ACL_ERROR_RT_STREAM_MODEL, "%s: stream %u of model %u has ended and takes no more tasks",
                        kind->name, stream->id, model->id);
    } else if ((rec = snpu__model_rec_new(lane, kind, head, head_b, tail, tail_b)) == NULL) {
        ret = snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: out of host memory", kind->name);
    } else if ((ret = snpu__model_append_locked(model, route->lane, rec, &node)) != 0) {
        free(rec); /* nothing was taken over: the caller releases the payload */
    } else {
        if (route->group != NULL && snpu__group_add_locked(route->group, node) != 0) {
            snpu__capture_invalidate(model, ACL_ERROR_RT_RESOURCE_ALLOC_FAIL);
        }
        snpu_last_task_set(node->index, lane->stream->id);
        if (task_id != NULL) {
            *task_id = node->index;
        }
    }
    pthread_mutex_unlock(&model->lock);
    return ret;
}

/* ---- beginning and end ---- */

static int32_t join(const char *function, struct snpu_model *model, struct snpu_stream *stream, uint32_t *lane)
{
    if (stream->is_default) {
        return snpu_fail(ACL_ERROR_RT_STREAM_CAPTURE_IMPLICIT, "%s: the default stream cannot be captured", function);
    }
    if (stream->ctx != model->ctx) {
        return snpu_fail(ACL_ERROR_RT_MODEL_CONTEXT, "%s: stream %u belongs to a different context from the model",
                         function, stream->id);
    }
    struct snpu_route *route = calloc(1, sizeof(*route));
    if (route == NULL) {
        return snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: out of host memory", function);
    }
    int32_t ret = snpu__model_lane_add(function, model, stream, true, lane);
    if (ret == 0) {
        *route = (struct snpu_route){.kind = SNPU_ROUTE_CAPTURE, .model = snpu__model_get(model), .lane = *lane};
        ret = snpu__route_set(function, stream, route);
        if (ret != 0) {
            model->lanes[*lane].source = NULL; /* an empty lane is harmless */
            snpu__model_put(model);
        }
    }
    if (ret != 0) {
        free(route);
    }
    return ret;
}

int32_t snpu_capture_begin(const char *function, void *handle, void *into, int mode)
{
    struct snpu_stream *stream;
    struct snpu_model *model = NULL;
    int32_t ret = snpu_stream_resolve(function, handle, &stream);
    if (ret != 0 || (into != NULL && (ret = snpu__model_resolve(function, into, &model)) != 0)) {
        return ret;
    }
    if (mode < ACL_MODEL_RI_CAPTURE_MODE_GLOBAL || mode > ACL_MODEL_RI_CAPTURE_MODE_RELAXED) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid mode %d", function, mode);
    }
    if (model != NULL && model->state != SNPU_MODEL_BODY) {
        return snpu_fail(model->state == SNPU_MODEL_CAPTURING ? ACL_ERROR_RT_SUB_ACLGRAPH_IS_CAPTURING
                                                              : ACL_ERROR_RT_MODEL_CAPTURED,
                         "%s: model %u is not the empty body of a conditional task", function, model->id);
    }
    bool fresh = model == NULL;
    if (fresh && (model = snpu__model_create(function, stream->ctx, SNPU_MODEL_CAPTURING)) == NULL) {
        return ACL_ERROR_RT_NO_MODEL_RESOURCE;
    }
    model->mode = mode;
    model->owner = (uint32_t)gettid();
    uint32_t lane;
    ret = join(function, model, stream, &lane);
    if (ret != 0) {
        if (fresh) {
            snpu__model_kill(model);
        }
        return ret;
    }
    model->state = SNPU_MODEL_CAPTURING;
    capture_list_add(model);
    return 0;
}

/* Does the origin wait for all work in joined streams? It covers the first reach[l] tasks of lane l. */
static bool all_joined(const struct snpu_model *model)
{
    uint32_t *reach = calloc(model->lane_count, sizeof(*reach));
    if (reach == NULL) {
        return false;
    }
    reach[0] = model->lanes[0].count;
    bool grew = true;
    while (grew) {
        grew = false;
        for (uint32_t l = 0; l < model->lane_count; l++) {
            for (uint32_t i = 0; i < reach[l]; i++) {
                const struct model_node *node = model->lanes[l].nodes[i];
                if (node->wait_lane != SNPU_NO_LANE && reach[node->wait_lane] <= node->wait_index) {
                    reach[node->wait_lane] = node->wait_index + 1;
                    grew = true;
                }
            }
        }
    }
    bool joined = true;
    for (uint32_t l = 1; l < model->lane_count; l++) {
        for (uint32_t i = reach[l]; i < model->lanes[l].count; i++) {
            uint32_t type = model->lanes[l].nodes[i]->rec->task.kind->ri_type;
            /* Records and waits after the last joined point are not work. */
            joined &= type == ACL_MODEL_RI_TASK_EVENT_RECORD || type == ACL_MODEL_RI_TASK_EVENT_WAIT;
        }
    }
    free(reach);
    return joined;
}

static int32_t check_end(const char *function, const struct snpu_model *model, uint32_t lane)
{
    if (lane != 0) {
        return snpu_fail(ACL_ERROR_RT_STREAM_CAPTURE_UNMATCHED, "%s: the capture began on another stream", function);
    }
    if (model->mode != ACL_MODEL_RI_CAPTURE_MODE_RELAXED && model->owner != (uint32_t)gettid()) {
        return snpu_fail(ACL_ERROR_RT_STREAM_CAPTURE_WRONG_THREAD, "%s: the capture began in another thread", function);
    }
    for (uint32_t i = 0; i < model->body_count; i++) {
        if (model->bodies[i]->state == SNPU_MODEL_CAPTURING) {
            return snpu_fail(ACL_ERROR_RT_SUB_ACLGRAPH_IS_CAPTURING, "%s: a conditional body is still being captured",
                             function);
        }
    }
    return 0;
}

int32_t snpu_capture_end(const char *function, void *handle, void **out)
{
    struct snpu_stream *stream;
    uint32_t lane = 0;
    int32_t ret = snpu_stream_resolve(function, handle, &stream);
    if (ret != 0) {
        return ret;
    }
    struct snpu_model *model = snpu__route_model(stream, SNPU_ROUTE_CAPTURE, &lane);
    if (model == NULL) {
        return snpu_fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED, "%s: stream %u is not being captured", function, stream->id);
    }
    ret = check_end(function, model, lane);
    if (ret != 0) {
        snpu__model_put(model);
        return ret;
    }
    bool open_group = false;
    pthread_mutex_lock(&stream->lock);
    open_group = stream->route != NULL && stream->route->group != NULL;
    pthread_mutex_unlock(&stream->lock);
    capture_list_remove(model);
    for (uint32_t i = 0; i < model->lane_count; i++) {
        struct snpu_stream *source = model->lanes[i].source;
        model->lanes[i].source = NULL;
        if (source != NULL) {
            snpu__route_clear(source);
        }
    }
    if (__atomic_load_n(&model->invalid, __ATOMIC_ACQUIRE) != 0) {
        ret = fail_invalid(function, model);
    } else if (open_group) {
        ret = snpu_fail(ACL_ERROR_STREAM_TASK_GROUP_INTR, "%s: a task group was not ended", function);
    } else if (!all_joined(model)) {
        ret = snpu_fail(ACL_ERROR_RT_STREAM_UNJOINED, "%s: a stream that joined the capture was not joined back",
                        function);
    }
    model->state = SNPU_MODEL_READY;
    if (ret == 0) {
        *out = model;
    } else {
        *out = NULL;
        if (model->parent == NULL) {
            snpu__model_kill(model);
        }
    }
    snpu__model_put(model);
    return ret;
}

int32_t snpu_capture_info(const char *function, void *handle, int *status, void **out)
{
    struct snpu_stream *stream;
    int32_t ret = snpu_stream_resolve(function, handle, &stream);
    if (ret != 0) {
        return ret;
    }
    struct snpu_model *model = snpu__route_model(stream, SNPU_ROUTE_CAPTURE, NULL);
    *status = model == NULL                                             ? ACL_MODEL_RI_CAPTURE_STATUS_NONE
              : __atomic_load_n(&model->invalid, __ATOMIC_ACQUIRE) == 0 ? ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE
                                                                        : ACL_MODEL_RI_CAPTURE_STATUS_INVALIDATED;
    if (out != NULL) {
        *out = model;
    }
    if (model != NULL) {
        snpu__model_put(model);
    }
    return 0;
}

/* ---- restrictions during a capture ---- */

int32_t snpu_capture_exchange_mode(const char *function, int *mode)
{
    if (*mode < ACL_MODEL_RI_CAPTURE_MODE_GLOBAL || *mode > ACL_MODEL_RI_CAPTURE_MODE_RELAXED) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid mode %d", function, *mode);
    }
    int before = thread_mode;
    thread_mode = *mode;
    *mode = before;
    return 0;
}

static bool forbids(const struct snpu_model *model, uint32_t self)
{
    if (model->mode == ACL_MODEL_RI_CAPTURE_MODE_RELAXED || thread_mode == ACL_MODEL_RI_CAPTURE_MODE_RELAXED) {
        return false;
    }
    if (model->owner == self) {
        return true;
    }
    return model->mode == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL && thread_mode == ACL_MODEL_RI_CAPTURE_MODE_GLOBAL;
}

int32_t snpu_capture_check_unsafe(const char *function)
{
    if (MS_LIKELY(__atomic_load_n(&capture_count, __ATOMIC_ACQUIRE) == 0)) {
        return 0;
    }
    bool forbidden = false;
    uint32_t self = (uint32_t)gettid();
    pthread_mutex_lock(&captures_lock);
    for (struct snpu_model *model = captures; model != NULL; model = model->next_capture) {
        if (forbids(model, self)) {
            snpu__capture_invalidate(model, ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT);
            forbidden = true;
        }
    }
    pthread_mutex_unlock(&captures_lock);
    if (!forbidden) {
        return 0;
    }
    return snpu_fail(ACL_ERROR_RT_CAPTURE_MODE_NOT_SUPPORT,
                     "%s: not allowed while a capture is active unless this thread's capture mode is relaxed",
                     function);
}

int32_t snpu_capture_check_sync(struct snpu_stream *stream)
{
    if (MS_LIKELY(!snpu_stream_capturing(stream))) {
        return 0;
    }
    struct snpu_model *model = snpu__route_model(stream, SNPU_ROUTE_CAPTURE, NULL);
    if (model == NULL) {
        return 0; /* bound to a model, or updating one: nothing is queued */
    }
    snpu__capture_invalidate(model, ACL_ERROR_RT_STREAM_CAPTURED);
    snpu__model_put(model);
    return snpu_fail(ACL_ERROR_RT_STREAM_CAPTURED, "stream %u is being captured and cannot be waited for", stream->id);
}

/* ---- events ---- */

static int32_t append_event(const char *function, struct snpu_model *model, uint32_t lane,
                            const struct snpu_task_kind *kind, struct snpu_event *event, struct model_node **out)
{
    if (__atomic_load_n(&model->invalid, __ATOMIC_ACQUIRE) != 0) {
        return fail_invalid(function, model);
    }
    struct event_task payload = {.event = event, .timeout_ms = -1};
    pthread_mutex_lock(&model->lock);
    struct task_rec *rec = model->state == SNPU_MODEL_READY
                               ? NULL
                               : snpu__model_rec_new(&model->lanes[lane], kind, &payload, sizeof(payload), NULL, 0);
    int32_t ret = rec == NULL
                      ? snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: cannot add a task to the model", function)
                      : snpu__model_append_locked(model, lane, rec, out);
    if (ret == 0) {
        snpu__event_get(event); /* now held by the task */
    } else {
        free(rec);
    }
    pthread_mutex_unlock(&model->lock);
    return ret;
}

bool snpu__capture_event_record(const char *function, struct snpu_stream *stream, struct snpu_event *event,
                                uint32_t record_flag, int32_t *ret)
{
    uint32_t lane;
    struct snpu_model *model = snpu__route_model(stream, SNPU_ROUTE_CAPTURE, &lane);
    if (model == NULL && (model = snpu__route_model(stream, SNPU_ROUTE_BUILD, &lane)) == NULL) {
        return false;
    }
    struct model_node *node;
    if (record_flag == ACL_EVENT_RECORD_EXTERNAL || event_is_external(event)) {
        *ret = snpu__event_submit_replay(stream, &snpu__event_replay_record_kind, event, record_flag);
    } else if ((*ret = append_event(function, model, lane, &snpu__event_graph_record_kind, event, &node)) == 0) {
        pthread_mutex_lock(&event->lock);
        event->graph.lane = lane;
        event->graph.index = node->index;
        __atomic_store_n(&event->graph.model, model->serial, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&event->lock);
    }
    snpu__model_put(model);
    return true;
}

static int32_t append_wait(const char *function, struct snpu_model *model, uint32_t lane, struct snpu_event *event,
                           uint32_t wait_lane, uint32_t wait_index)
{
    struct model_node *node;
    int32_t ret = append_event(function, model, lane, &snpu__event_graph_wait_kind, event, &node);
    if (ret == 0) {
        node->wait_lane = wait_lane;
        node->wait_index = wait_index;
    }
    return ret;
}

/* A captured or bound stream waits for an event that was recorded outside its own model. */
static bool wait_for_outside(const char *function, struct snpu_model *model, struct snpu_stream *stream,
                             struct snpu_event *event, uint64_t recorded_in, int32_t *ret)
{
    if (recorded_in != 0) {
        struct snpu_model *other = capture_find(recorded_in);
        if (other != NULL) {
            snpu__capture_invalidate(other, ACL_ERROR_STREAM_CAPTURE_CONFLICT);
            snpu__model_put(other);
        }
        snpu__capture_invalidate(model, ACL_ERROR_STREAM_CAPTURE_CONFLICT);
        *ret = snpu_fail(ACL_ERROR_STREAM_CAPTURE_CONFLICT, "%s: the event was recorded in another capture", function);
        return true;
    }
    pthread_mutex_lock(&event->lock);
    bool recorded = event->latest != NULL || event->slot != NULL;
    pthread_mutex_unlock(&event->lock);
    if (!recorded && event_is_sync(event)) {
        *ret = snpu__event_submit_replay(stream, &snpu__event_replay_wait_kind, event, ACL_EVENT_WAIT_DEFAULT);
        return true;
    }
    if (recorded && model->state == SNPU_MODEL_CAPTURING) {
        snpu__capture_invalidate(model, ACL_ERROR_RT_CAPTURE_DEPENDENCY);
        *ret = snpu_fail(ACL_ERROR_RT_CAPTURE_DEPENDENCY,
                         "%s: the event was recorded outside the capture and is not an external event", function);
        return true;
    }
    return false; /* as without a model: the task is recorded, or the call is refused */
}

bool snpu__capture_event_wait(const char *function, struct snpu_stream *stream, struct snpu_event *event,
                              uint32_t wait_flag, int32_t *ret)
{
    uint64_t recorded_in = __atomic_load_n(&event->graph.model, __ATOMIC_ACQUIRE);
    if (MS_LIKELY(recorded_in == 0 && !snpu_stream_capturing(stream))) {
        return false;
    }
    pthread_mutex_lock(&event->lock);
    recorded_in = event->graph.model;
    uint32_t from_lane = event->graph.lane, from_index = event->graph.index;
    pthread_mutex_unlock(&event->lock);
    uint32_t lane;
    struct snpu_model *model = snpu__route_model(stream, SNPU_ROUTE_CAPTURE, &lane);
    if (model == NULL) {
        model = snpu__route_model(stream, SNPU_ROUTE_BUILD, &lane);
    }
    bool done = true;
    if (model == NULL) {
        model = capture_find(recorded_in);
        if (model == NULL) {
            if (recorded_in == 0) {
                return false;
            }
            *ret = snpu_fail(ACL_ERROR_RT_EVENT_CAPTURED, "%s: the event was recorded into a model", function);
            return true;
        }
        if ((*ret = join(function, model, stream, &lane)) == 0) {
            *ret = append_wait(function, model, lane, event, from_lane, from_index);
        }
    } else if (wait_flag == ACL_EVENT_WAIT_EXTERNAL || event_is_external(event)) {
        *ret = snpu__event_submit_replay(stream, &snpu__event_replay_wait_kind, event, wait_flag);
    } else if (recorded_in == model->serial) {
        *ret = append_wait(function, model, lane, event, from_lane, from_index);
    } else {
        done = wait_for_outside(function, model, stream, event, recorded_in, ret);
    }
    snpu__model_put(model);
    return done;
}

/* ---- models built by binding streams ---- */

int32_t snpu_model_build_begin(const char *function, void **out)
{
    struct snpu_ctx *ctx;
    int32_t ret = snpu_ctx_need(function, &ctx);
    if (ret != 0) {
        return ret;
    }
    struct snpu_model *model = snpu__model_create(function, ctx, SNPU_MODEL_BUILDING);
    if (model == NULL) {
        return ACL_ERROR_RT_NO_MODEL_RESOURCE;
    }
    *out = model;
    return 0;
}

static int32_t building(const char *function, void *handle, struct snpu_model **model)
{
    int32_t ret = snpu__model_resolve(function, handle, model);
    if (ret == 0 && (*model)->state != SNPU_MODEL_BUILDING) {
        ret = snpu_fail(ACL_ERROR_RT_MODEL_CAPTURED, "%s: model %u is not being built", function, (*model)->id);
    }
    return ret;
}

int32_t snpu_model_bind(const char *function, void *handle, void *stream_handle, bool head)
{
    struct snpu_model *model;
    struct snpu_stream *stream;
    int32_t ret = building(function, handle, &model);
    if (ret != 0 || (ret = snpu_stream_resolve(function, stream_handle, &stream)) != 0) {
        return ret;
    }
    if (stream->is_default || stream->ctx != model->ctx) {
        return snpu_fail(stream->is_default ? ACL_ERROR_RT_PARAM_INVALID : ACL_ERROR_RT_MODEL_CONTEXT,
                         "%s: stream %u cannot be bound to model %u", function, stream->id, model->id);
    }
    struct snpu_route *route = calloc(1, sizeof(*route));
    uint32_t lane;
    if (route == NULL) {
        return snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: out of host memory", function);
    }
    if (snpu_stream_capturing(stream)) { /* checked before creating a lane */
        free(route);
        return snpu_fail(ACL_ERROR_RT_STREAM_MODEL, "%s: stream %u is already bound or captured", function, stream->id);
    }
    ret = snpu__model_lane_add(function, model, stream, head, &lane);
    if (ret == 0) {
        *route = (struct snpu_route){.kind = SNPU_ROUTE_BUILD, .model = snpu__model_get(model), .lane = lane};
        ret = snpu__route_set(function, stream, route);
        if (ret != 0) {
            model->lanes[lane].source = NULL;
            snpu__model_put(model);
        }
    }
    if (ret != 0) {
        free(route);
    }
    return ret;
}

static int32_t bound(const char *function, void *handle, void *stream_handle, struct snpu_model **model,
                     struct snpu_stream **stream, uint32_t *lane)
{
    int32_t ret = snpu__model_resolve(function, handle, model);
    if (ret != 0 || (ret = snpu_stream_resolve(function, stream_handle, stream)) != 0) {
        return ret;
    }
    pthread_mutex_lock(&(*model)->lock);
    *lane = snpu__model_lane_of(*model, *stream);
    pthread_mutex_unlock(&(*model)->lock);
    if (*lane == SNPU_NO_LANE || (*model)->state == SNPU_MODEL_CAPTURING) {
        ret = snpu_fail(ACL_ERROR_RT_STREAM_MODEL, "%s: stream %u is not bound to model %u", function, (*stream)->id,
                        (*model)->id);
    }
    return ret;
}

int32_t snpu_model_end_task(const char *function, void *handle, void *stream_handle)
{
    struct snpu_model *model;
    struct snpu_stream *stream;
    uint32_t lane;
    int32_t ret = bound(function, handle, stream_handle, &model, &stream, &lane);
    if (ret == 0) {
        pthread_mutex_lock(&model->lock);
        model->lanes[lane].ended = true;
        pthread_mutex_unlock(&model->lock);
    }
    return ret;
}

int32_t snpu_model_build_end(const char *function, void *handle)
{
    struct snpu_model *model;
    int32_t ret = building(function, handle, &model);
    if (ret == 0) {
        pthread_mutex_lock(&model->lock);
        model->state = SNPU_MODEL_READY;
        pthread_mutex_unlock(&model->lock);
    }
    return ret;
}

int32_t snpu_model_unbind(const char *function, void *handle, void *stream_handle)
{
    struct snpu_model *model;
    struct snpu_stream *stream;
    uint32_t lane;
    int32_t ret = bound(function, handle, stream_handle, &model, &stream, &lane);
    if (ret == 0 && __atomic_load_n(&model->queued, __ATOMIC_ACQUIRE) > 0) {
        ret = snpu_fail(ACL_ERROR_RT_MODEL_RUNNING, "%s: model %u is queued or running", function, model->id);
    }
    if (ret == 0) {
        model->lanes[lane].source = NULL;
        snpu__route_clear(stream);
    }
    return ret;
}
