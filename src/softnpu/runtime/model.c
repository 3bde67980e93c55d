/* SPDX-License-Identifier: Apache-2.0 */
/* Models: life cycle, lanes, tasks. See model.h for what they are.
 *
 * Invariants: lanes and nodes only grow while a model is built and are fixed afterwards, so runs read them without a
 * lock. What may change later (a node's task) is exchanged under the lock, and the old one is freed when no run is
 * active. A model is held by its handle, by each queued run, by each route into it, and by the parent of a body.
 *
 * Threads and locks: model->lock, taken after a stream's lock.
 *
 * Failure policy: a task that cannot be recorded makes a capture invalid; the end of the capture reports it. */
#include "softnpu/runtime/model_internal.h"

#include "softnpu/runtime/prof.h"
#include "base/slab.h"

#include <stdlib.h>
#include <string.h>

#define MODELS_MAX 4096
#define NODES_MAX  (4u << 20)

static struct ms_slab models = MS_SLAB_INIT(struct snpu_model, MODELS_MAX);
static struct ms_slab nodes = MS_SLAB_INIT(struct model_node, NODES_MAX);
static uint64_t next_serial;

int32_t snpu__model_resolve(const char *function, void *handle, struct snpu_model **out)
{
    *out = NULL;
    int32_t ret = snpu_guard(function);
    if (ret != 0) {
        return ret;
    }
    struct snpu_model *model = handle;
    if (!ms_slab_check(&models, model) || __atomic_load_n(&model->dead, __ATOMIC_ACQUIRE)) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is not a model or was destroyed", function, handle);
    }
    *out = model;
    return 0;
}

struct snpu_model *snpu__model_create(const char *function, struct snpu_ctx *ctx, enum model_state state)
{
    struct snpu_model *model = ms_slab_alloc(&models);
    if (model == NULL) {
        snpu_fail(ACL_ERROR_RT_NO_MODEL_RESOURCE, "%s: the limit of %d models is reached", function, MODELS_MAX);
        return NULL;
    }
    model->serial = __atomic_add_fetch(&next_serial, 1, __ATOMIC_RELAXED);
    model->id = ms_slab_index(&models, model);
    model->refs = 1;
    model->ctx = ctx;
    model->state = state;
    pthread_mutex_init(&model->lock, NULL);
    return model;
}

struct snpu_model *snpu__model_get(struct snpu_model *model)
{
    __atomic_fetch_add(&model->refs, 1, __ATOMIC_RELAXED);
    return model;
}

/* ---- tasks ---- */

struct task_rec *snpu__model_rec_new(struct model_lane *lane, const struct snpu_task_kind *kind, const void *head,
                                     size_t head_b, const void *tail, size_t tail_b)
{
    struct task_rec *rec = malloc(sizeof(*rec) + head_b + tail_b);
    if (rec != NULL) {
        snpu_task_fill(rec, lane->stream, kind, head, head_b, tail, tail_b);
        rec->on_heap = true;
        rec->next = NULL;
    }
    return rec;
}

void snpu__model_rec_free(struct task_rec *rec)
{
    if (rec != NULL) {
        if (rec->task.kind->release != NULL) {
            rec->task.kind->release(rec->task.payload);
        }
        free(rec);
    }
}

int32_t snpu__model_append_locked(struct snpu_model *model, uint32_t lane_index, struct task_rec *rec,
                                  struct model_node **out)
{
    struct model_lane *lane = &model->lanes[lane_index];
    if (lane->count == lane->capacity) {
        uint32_t capacity = lane->capacity == 0 ? 16 : lane->capacity * 2;
        struct model_node **grown = realloc(lane->nodes, capacity * sizeof(*grown));
        if (grown == NULL) {
            return snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: out of host memory", rec->task.kind->name);
        }
        lane->nodes = grown;
        lane->capacity = capacity;
    }
    struct model_node *node = ms_slab_alloc(&nodes);
    if (node == NULL) {
        return snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: too many tasks in models", rec->task.kind->name);
    }
    node->model = model;
    node->lane = lane_index;
    node->index = lane->count;
    node->seq = model->seq++;
    node->wait_lane = SNPU_NO_LANE;
    node->rec = rec;
    rec->task.id = lane->count;
    lane->nodes[lane->count++] = node;
    if (snpu_prof_tracks_on(lane->stream->dev)) {
        snpu_task_track(rec, true);
    }
    *out = node;
    return 0;
}

void snpu__model_replace_locked(struct model_node *node, struct task_rec *rec)
{
    struct task_rec *old = node->rec;
    rec->task.id = old->task.id;
    __atomic_store_n(&node->rec, rec, __ATOMIC_RELEASE);
    old->next = node->model->garbage;
    node->model->garbage = old;
}

void snpu__model_collect_garbage_locked(struct snpu_model *model)
{
    while (model->garbage != NULL) {
        struct task_rec *rec = model->garbage;
        model->garbage = rec->next;
        snpu__model_rec_free(rec);
    }
}

struct model_node *snpu__node_resolve(const char *function, void *handle, int32_t *ret)
{
    *ret = snpu_guard(function);
    if (*ret == 0 && !ms_slab_check(&nodes, handle)) {
        *ret = snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is not a task of a model", function, handle);
    }
    return *ret == 0 ? handle : NULL;
}

/* ---- lanes ---- */

int32_t snpu__model_lane_add(const char *function, struct snpu_model *model, struct snpu_stream *source, bool head,
                             uint32_t *out)
{
    struct snpu_stream *stream;
    int32_t ret = snpu_stream_open(function, model->ctx, 0, 0, true, &stream);
    if (ret != 0) {
        return ret;
    }
    pthread_mutex_lock(&model->lock);
    struct model_lane *grown = realloc(model->lanes, (model->lane_count + 1) * sizeof(*grown));
    if (grown != NULL) {
        model->lanes = grown;
        stream->model = model;
        stream->lane = model->lane_count;
        __atomic_fetch_add(&stream->refs, 1, __ATOMIC_RELAXED);
        *out = model->lane_count;
        grown[model->lane_count++] = (struct model_lane){.stream = stream, .source = source, .head = head};
    }
    pthread_mutex_unlock(&model->lock);
    if (grown == NULL) {
        pthread_mutex_lock(&snpu_rt_lock);
        snpu_stream_unlink_locked(stream);
        pthread_mutex_unlock(&snpu_rt_lock);
        snpu_stream_close(stream, true);
        return snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: out of host memory", function);
    }
    return 0;
}

uint32_t snpu__model_lane_of(const struct snpu_model *model, const struct snpu_stream *source)
{
    for (uint32_t i = 0; i < model->lane_count; i++) {
        if (model->lanes[i].source == source) {
            return i;
        }
    }
    return SNPU_NO_LANE;
}

static void lane_free(struct model_lane *lane)
{
    for (uint32_t i = 0; i < lane->count; i++) {
        snpu__model_rec_free(lane->nodes[i]->rec);
        snpu__model_rec_free(lane->nodes[i]->next);
        ms_slab_free(&nodes, lane->nodes[i]);
    }
    free(lane->nodes);
    pthread_mutex_lock(&snpu_rt_lock);
    bool mine = snpu_stream_unlink_locked(lane->stream); /* false if its context was destroyed before */
    pthread_mutex_unlock(&snpu_rt_lock);
    lane->stream->model = NULL;
    if (mine) {
        snpu_stream_close(lane->stream, true);
    }
    snpu_stream_put(lane->stream);
}

/* ---- destruction ---- */

void snpu__model_put(struct snpu_model *model)
{
    if (__atomic_fetch_sub(&model->refs, 1, __ATOMIC_ACQ_REL) != 1) {
        return;
    }
    for (uint32_t i = 0; i < model->callback_count; i++) {
        model->callbacks[i].fn(model->callbacks[i].data);
    }
    for (uint32_t i = 0; i < model->body_count; i++) {
        snpu__model_kill(model->bodies[i]);
    }
    for (uint32_t i = 0; i < model->lane_count; i++) {
        lane_free(&model->lanes[i]);
    }
    snpu__model_collect_garbage_locked(model);
    snpu__groups_free(model);
    snpu__conds_free(model);
    free(model->bodies);
    free(model->lanes);
    free(model->callbacks);
    pthread_mutex_destroy(&model->lock);
    ms_slab_free(&models, model);
}

void snpu__model_kill(struct snpu_model *model)
{
    if (__atomic_exchange_n(&model->dead, 1, __ATOMIC_ACQ_REL)) {
        return;
    }
    for (uint32_t i = 0; i < model->lane_count; i++) {
        struct snpu_stream *source = model->lanes[i].source;
        if (source != NULL) {
            model->lanes[i].source = NULL;
            snpu__route_clear(source);
        }
    }
    snpu__model_put(model);
}

int32_t snpu_model_destroy(const char *function, void *handle)
{
    struct snpu_model *model;
    int32_t ret = snpu__model_resolve(function, handle, &model);
    if (ret != 0) {
        return ret;
    }
    if (model->parent != NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the body of a conditional task is destroyed with its model",
                         function);
    }
    if (model->state == SNPU_MODEL_CAPTURING) {
        return snpu_fail(ACL_ERROR_RT_MODEL_CAPTURED, "%s: model %u is being captured", function, model->id);
    }
    if (__atomic_load_n(&model->queued, __ATOMIC_ACQUIRE) > 0) {
        return snpu_fail(ACL_ERROR_RT_MODEL_RUNNING, "%s: model %u is queued or running", function, model->id);
    }
    snpu__model_kill(model);
    return 0;
}

int32_t snpu_model_on_destroy(const char *function, void *handle, void (*fn)(void *), void *data, bool add)
{
    struct snpu_model *model;
    int32_t ret = snpu__model_resolve(function, handle, &model);
    if (ret != 0) {
        return ret;
    }
    pthread_mutex_lock(&model->lock);
    uint32_t i = 0;
    while (!add && i < model->callback_count && model->callbacks[i].fn != fn) {
        i++;
    }
    if (add) {
        struct destroy_callback *grown = realloc(model->callbacks, (model->callback_count + 1) * sizeof(*grown));
        if (grown == NULL) {
            ret = snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: out of host memory", function);
        } else {
            model->callbacks = grown;
            grown[model->callback_count++] = (struct destroy_callback){fn, data};
        }
    } else if (i == model->callback_count) {
        ret = snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the function is not registered", function);
    } else {
        model->callback_count--;
        memmove(&model->callbacks[i], &model->callbacks[i + 1],
                (model->callback_count - i) * sizeof(model->callbacks[0]));
    }
    pthread_mutex_unlock(&model->lock);
    return ret;
}

/* ---- names and lists ---- */

int32_t snpu_model_set_name(const char *function, void *handle, const char *name)
{
    struct snpu_model *model;
    int32_t ret = snpu__model_resolve(function, handle, &model);
    if (ret != 0) {
        return ret;
    }
    if (strlen(name) >= sizeof(model->name)) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the name must be shorter than %zu characters", function,
                         sizeof(model->name));
    }
    pthread_mutex_lock(&model->lock);
    strcpy(model->name, name);
    pthread_mutex_unlock(&model->lock);
    return 0;
}

int32_t snpu_model_get_name(const char *function, void *handle, uint32_t max_b, char *name)
{
    struct snpu_model *model;
    int32_t ret = snpu__model_resolve(function, handle, &model);
    if (ret != 0) {
        return ret;
    }
    pthread_mutex_lock(&model->lock);
    if (strlen(model->name) < max_b) {
        strcpy(name, model->name);
    } else {
        ret = snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the name does not fit into %u bytes", function, max_b);
    }
    pthread_mutex_unlock(&model->lock);
    return ret;
}

int32_t snpu_model_id(const char *function, void *handle, uint32_t *id)
{
    struct snpu_model *model;
    int32_t ret = snpu__model_resolve(function, handle, &model);
    if (ret == 0) {
        *id = model->id;
    }
    return ret;
}

static int32_t check_capacity(const char *function, void **list, uint32_t *capacity, uint32_t count)
{
    bool fits = list == NULL || *capacity >= count;
    uint32_t had = *capacity;
    *capacity = count;
    return fits ? 0
                : snpu_fail(ACL_ERROR_RT_INSUFFICIENT_INPUT_ARRAY, "%s: the array has %u elements, %u are needed",
                            function, had, count);
}

int32_t snpu_model_streams(const char *function, void *handle, void **list, uint32_t *count)
{
    struct snpu_model *model;
    int32_t ret = snpu__model_resolve(function, handle, &model);
    if (ret != 0) {
        return ret;
    }
    pthread_mutex_lock(&model->lock);
    ret = check_capacity(function, list, count, model->lane_count);
    for (uint32_t i = 0; ret == 0 && list != NULL && i < model->lane_count; i++) {
        list[i] = model->lanes[i].stream;
    }
    pthread_mutex_unlock(&model->lock);
    return ret;
}

int32_t snpu_model_tasks(const char *function, void *handle, void **list, uint32_t *count)
{
    struct snpu_stream *stream;
    int32_t ret = snpu_stream_resolve_any(function, handle, &stream);
    if (ret != 0) {
        return ret;
    }
    struct snpu_model *model = stream->model;
    uint32_t lane = stream->lane;
    struct snpu_model *held = NULL;
    if (model == NULL) {
        held = model = snpu__route_model(stream, SNPU_ROUTE_BUILD, &lane);
    }
    if (model == NULL) {
        held = model = snpu__route_model(stream, SNPU_ROUTE_CAPTURE, &lane);
    }
    if (model == NULL) {
        return snpu_fail(ACL_ERROR_RT_STREAM_MODEL, "%s: stream %u does not belong to a model", function, stream->id);
    }
    pthread_mutex_lock(&model->lock);
    ret = check_capacity(function, list, count, model->lanes[lane].count);
    for (uint32_t i = 0; ret == 0 && list != NULL && i < model->lanes[lane].count; i++) {
        list[i] = model->lanes[lane].nodes[i];
    }
    pthread_mutex_unlock(&model->lock);
    if (held != NULL) {
        snpu__model_put(held);
    }
    return ret;
}
