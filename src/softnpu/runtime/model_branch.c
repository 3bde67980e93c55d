/* SPDX-License-Identifier: Apache-2.0 */
/* Control flow inside models: conditional bodies, lanes started by a task, labels.
 *
 * A conditional task runs bodies, which are models of their own, on its lane's worker. Activating a stream starts its
 * lane; a label is a position in a lane that a switch in the same lane jumps to.
 *
 * Invariants: conditions are read from device memory when the task runs.
 *
 * Threads and locks: those of models.
 *
 * Failure policy: an unreadable address is 107000, a jump to a label that is not in the lane 507031. */
#include "softnpu/runtime/model_internal.h"

#include "softnpu/runtime/prof.h"
#include "base/slab.h"

#include "runtime/rt.h"

#include <stdlib.h>
#include <string.h>

#define CONDS_MAX  65536
#define LABELS_MAX 65536
#define BODIES_MAX 1024

struct label {
    uint64_t model; /* serial of the model it was set in; 0: not set */
    uint32_t lane, index;
};

struct label_list {
    uint32_t count;
    struct label **labels;
};

static struct ms_slab conds = MS_SLAB_INIT(struct cond_handle, CONDS_MAX);
static struct ms_slab labels = MS_SLAB_INIT(struct label, LABELS_MAX);
static struct ms_slab lists = MS_SLAB_INIT(struct label_list, LABELS_MAX);

/* ---- conditions ---- */

int32_t snpu_cond_create(const char *function, void *handle, uint32_t value, bool assign, void **out)
{
    struct snpu_model *model;
    int32_t ret = snpu__model_resolve(function, handle, &model);
    if (ret != 0) {
        return ret;
    }
    if (model->state == SNPU_MODEL_READY) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: model %u is finished", function, model->id);
    }
    struct cond_handle *cond = ms_slab_alloc(&conds);
    if (cond == NULL) {
        return snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: too many condition handles", function);
    }
    ret = rtMalloc((void **)&cond->pointer, sizeof(*cond->pointer), 0, 0);
    if (ret != 0) {
        ms_slab_free(&conds, cond);
        return ret;
    }
    *cond->pointer = value;
    cond->model = model;
    cond->value = value;
    cond->assign = assign;
    pthread_mutex_lock(&model->lock);
    cond->next = model->conds;
    model->conds = cond;
    pthread_mutex_unlock(&model->lock);
    *out = cond;
    return 0;
}

int32_t snpu_cond_pointer(const char *function, void *handle, uint64_t **pointer)
{
    struct cond_handle *cond = handle;
    int32_t ret = snpu_guard(function);
    if (ret == 0 && !ms_slab_check(&conds, cond)) {
        ret = snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is not a condition handle", function, handle);
    }
    if (ret == 0) {
        *pointer = cond->pointer;
    }
    return ret;
}

static bool readable(const void *address, size_t size_b)
{
    return address != NULL && snpu_hal_accessible(address, size_b);
}

void snpu__conds_start(struct snpu_model *model)
{
    for (struct cond_handle *cond = model->conds; cond != NULL; cond = cond->next) {
        if (cond->assign && readable(cond->pointer, sizeof(*cond->pointer))) {
            __atomic_store_n(cond->pointer, cond->value, __ATOMIC_RELEASE);
        }
    }
}

void snpu__conds_free(struct snpu_model *model)
{
    while (model->conds != NULL) {
        struct cond_handle *cond = model->conds;
        model->conds = cond->next;
        struct snpu_range range;
        /* A device reset may already have freed it. */
        if (snpu_hal_lookup(cond->pointer, &range) && range.kind == SNPU_RANGE_DEVICE) {
            rtFree(cond->pointer);
        }
        ms_slab_free(&conds, cond);
    }
}

struct cond_task {
    struct cond_handle *cond;
    int type;
    uint32_t count;
    struct snpu_model *bodies[]; /* held by the model */
};

static int32_t cond_run(struct snpu_task *task)
{
    struct cond_task *t = (struct cond_task *)task->payload;
    int32_t ret = 0;
    do {
        if (!readable(t->cond->pointer, sizeof(*t->cond->pointer))) {
            return ACL_ERROR_RT_PARAM_INVALID;
        }
        uint64_t value = __atomic_load_n(t->cond->pointer, __ATOMIC_ACQUIRE);
        uint64_t chosen = t->type == ACL_MODEL_RI_COND_TYPE_SWITCH ? value : value != 0 ? 0 : 1;
        if (chosen >= t->count || (t->type == ACL_MODEL_RI_COND_TYPE_WHILE && chosen != 0)) {
            break;
        }
        struct snpu_model *body = t->bodies[chosen];
        ret = body->state == SNPU_MODEL_READY ? snpu__model_run(task, body, NULL)
                                              : 0; /* otherwise nothing was captured into it */
    } while (ret == 0 && t->type == ACL_MODEL_RI_COND_TYPE_WHILE && t->bodies[0]->state == SNPU_MODEL_READY);
    return ret;
}

static const struct snpu_task_kind cond_kind = {
    .name = "COND_TASK",
    .prof_type = SNPU_TASK_STREAM_SWITCH,
    .captures = true,
    .run = cond_run,
};

static int32_t make_bodies(const char *function, struct snpu_model *model, uint32_t count, struct cond_task *t)
{
    pthread_mutex_lock(&model->lock);
    struct snpu_model **grown = realloc(model->bodies, (model->body_count + count) * sizeof(*grown));
    int32_t ret = 0;
    if (grown == NULL) {
        ret = snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: out of host memory", function);
    } else {
        model->bodies = grown;
    }
    for (uint32_t i = 0; ret == 0 && i < count; i++) {
        struct snpu_model *body = snpu__model_create(function, model->ctx, SNPU_MODEL_BODY);
        if (body == NULL) {
            ret = ACL_ERROR_RT_NO_MODEL_RESOURCE;
            break;
        }
        body->parent = model;
        t->bodies[i] = body;
        model->bodies[model->body_count++] = body; /* the model owns them from now on, whatever happens below */
    }
    pthread_mutex_unlock(&model->lock);
    return ret;
}

int32_t snpu_cond_add(const char *function, void *handle, int type, uint32_t count, void **bodies, void *stream_handle)
{
    static const struct {
        uint32_t min, max;
    } counts[] = {[ACL_MODEL_RI_COND_TYPE_IF] = {1, 2},
                  [ACL_MODEL_RI_COND_TYPE_WHILE] = {1, 1},
                  [ACL_MODEL_RI_COND_TYPE_SWITCH] = {1, BODIES_MAX}};
    struct snpu_stream *stream;
    uint64_t *pointer;
    int32_t ret = snpu_cond_pointer(function, handle, &pointer);
    if (ret != 0 || (ret = snpu_stream_resolve(function, stream_handle, &stream)) != 0) {
        return ret;
    }
    if (type < 0 || type >= (int)MS_COUNT_OF(counts) || count < counts[type].min || count > counts[type].max) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid type %d with %u bodies", function, type, count);
    }
    struct cond_handle *cond = handle;
    struct snpu_model *model = snpu__route_model(stream, SNPU_ROUTE_CAPTURE, NULL);
    if (model == NULL || model != cond->model) {
        ret = snpu_fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED, "%s: stream %u is not being captured into the handle's model",
                        function, stream->id);
        if (model != NULL) {
            snpu__model_put(model);
        }
        return ret;
    }
    size_t size_b = sizeof(struct cond_task) + count * sizeof(struct snpu_model *);
    struct cond_task *t = calloc(1, size_b);
    if (t == NULL) {
        ret = snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: out of host memory", function);
    } else {
        t->cond = cond;
        t->type = type;
        t->count = count;
        ret = make_bodies(function, model, count, t);
    }
    if (ret == 0 && (ret = snpu_stream_submit(stream, &cond_kind, t, size_b, NULL, 0, NULL)) == 0) {
        memcpy(bodies, t->bodies, count * sizeof(*bodies));
    }
    free(t);
    snpu__model_put(model);
    return ret;
}

/* ---- starting lanes ---- */

struct start_task {
    struct snpu_switch what;
    uint32_t lane_true, lane_false; /* SNPU_NO_LANE: none */
    bool always;
};

static bool compare(const struct snpu_switch *what)
{
    int64_t left, right;
    if (what->type == ACL_RT_SWITCH_INT32) {
        left = *(const int32_t *)what->left;
        right = *(const int32_t *)what->right;
    } else {
        left = *(const int64_t *)what->left;
        right = *(const int64_t *)what->right;
    }
    switch (what->condition) {
    case ACL_RT_EQUAL:
        return left == right;
    case ACL_RT_NOT_EQUAL:
        return left != right;
    case ACL_RT_GREATER:
        return left > right;
    case ACL_RT_GREATER_OR_EQUAL:
        return left >= right;
    case ACL_RT_LESS:
        return left < right;
    default:
        return left <= right;
    }
}

static int32_t start_run(struct snpu_task *task)
{
    struct start_task *t = (struct start_task *)task->payload;
    uint32_t lane = t->lane_true;
    if (!t->always) {
        if (!readable(t->what.left, sizeof(int64_t)) || !readable(t->what.right, sizeof(int64_t))) {
            return ACL_ERROR_RT_PARAM_INVALID;
        }
        lane = compare(&t->what) ? t->lane_true : t->lane_false;
    }
    return lane == SNPU_NO_LANE ? 0 : snpu__model_run_start_lane(task->stream->model, lane);
}

static const struct snpu_task_kind activate_kind = {
    .name = "STREAM_ACTIVE",
    .prof_type = SNPU_TASK_STREAM_ACTIVE,
    .captures = true,
    .run = start_run,
};

static const struct snpu_task_kind switch_kind = {
    .name = "STREAM_SWITCH",
    .prof_type = SNPU_TASK_STREAM_SWITCH,
    .captures = true,
    .run = start_run,
};

static int32_t submit_start(const char *function, const struct snpu_task_kind *kind, struct start_task t,
                            void *target_true, void *target_false, void *stream_handle)
{
    struct snpu_stream *stream;
    int32_t ret = snpu_stream_resolve(function, stream_handle, &stream);
    if (ret != 0) {
        return ret;
    }
    struct snpu_model *model = snpu__route_model(stream, SNPU_ROUTE_BUILD, NULL);
    if (model == NULL) {
        return snpu_fail(ACL_ERROR_RT_STREAM_MODEL, "%s: stream %u is not bound to a model", function, stream->id);
    }
    pthread_mutex_lock(&model->lock);
    t.lane_true = snpu__model_lane_of(model, target_true);
    t.lane_false = target_false == NULL ? SNPU_NO_LANE : snpu__model_lane_of(model, target_false);
    pthread_mutex_unlock(&model->lock);
    if (t.lane_true == SNPU_NO_LANE || (target_false != NULL && t.lane_false == SNPU_NO_LANE)) {
        ret = snpu_fail(ACL_ERROR_RT_STREAM_MODEL, "%s: the stream to start is not bound to the same model", function);
    } else {
        ret = snpu_stream_submit(stream, kind, &t, sizeof(t), NULL, 0, NULL);
    }
    snpu__model_put(model);
    return ret;
}

int32_t snpu_stream_activate(const char *function, void *target, void *stream)
{
    return submit_start(function, &activate_kind, (struct start_task){.always = true}, target, NULL, stream);
}

int32_t snpu_stream_switch(const char *function, const struct snpu_switch *what, void *if_true, void *if_false,
                           void *stream)
{
    if (what->condition < ACL_RT_EQUAL || what->condition > ACL_RT_LESS_OR_EQUAL ||
        (what->type != ACL_RT_SWITCH_INT32 && what->type != ACL_RT_SWITCH_INT64)) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid condition %d or type %d", function, what->condition,
                         what->type);
    }
    return submit_start(function, &switch_kind, (struct start_task){.what = *what}, if_true, if_false, stream);
}

/* ---- labels ---- */

static int32_t check_label(const char *function, const struct ms_slab *slab, const void *handle)
{
    int32_t ret = snpu_guard(function);
    if (ret == 0 && !ms_slab_check(slab, handle)) {
        ret = snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is not a label or a label list", function, handle);
    }
    return ret;
}

int32_t snpu_label_create(const char *function, void **out)
{
    struct snpu_ctx *ctx;
    int32_t ret = snpu_ctx_need(function, &ctx);
    if (ret != 0) {
        return ret;
    }
    struct label *label = ms_slab_alloc(&labels);
    if (label == NULL) {
        return snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: too many labels", function);
    }
    *out = label;
    return 0;
}

int32_t snpu_label_destroy(const char *function, void *handle)
{
    int32_t ret = check_label(function, &labels, handle);
    if (ret == 0) {
        ms_slab_free(&labels, handle);
    }
    return ret;
}

static int32_t nothing_run(struct snpu_task *task)
{
    (void)task;
    return 0;
}

static const struct snpu_task_kind label_kind = {
    .name = "LABEL_SET",
    .prof_type = SNPU_TASK_LABEL_SET,
    .captures = true,
    .run = nothing_run,
};

int32_t snpu_label_set(const char *function, void *handle, void *stream_handle)
{
    struct snpu_stream *stream;
    uint32_t lane, index;
    int32_t ret = check_label(function, &labels, handle);
    if (ret != 0 || (ret = snpu_stream_resolve(function, stream_handle, &stream)) != 0) {
        return ret;
    }
    struct snpu_model *model = snpu__route_model(stream, SNPU_ROUTE_BUILD, &lane);
    if (model == NULL) {
        return snpu_fail(ACL_ERROR_RT_STREAM_MODEL, "%s: stream %u is not bound to a model", function, stream->id);
    }
    ret = snpu_stream_submit(stream, &label_kind, NULL, 0, NULL, 0, &index);
    if (ret == 0) {
        *(struct label *)handle = (struct label){model->serial, lane, index};
    }
    snpu__model_put(model);
    return ret;
}

int32_t snpu_label_list_create(const char *function, void **handles, size_t count, void **out)
{
    int32_t ret = 0;
    for (size_t i = 0; i < count && ret == 0; i++) {
        ret = check_label(function, &labels, handles[i]);
    }
    if (ret != 0) {
        return ret;
    }
    struct label **copy = calloc(count + 1, sizeof(*copy));
    struct label_list *list = copy != NULL ? ms_slab_alloc(&lists) : NULL;
    if (list == NULL) {
        free(copy);
        return snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: out of host memory for a label list", function);
    }
    memcpy(copy, handles, count * sizeof(*copy));
    list->labels = copy;
    list->count = (uint32_t)count;
    *out = list;
    return 0;
}

int32_t snpu_label_list_destroy(const char *function, void *handle)
{
    int32_t ret = check_label(function, &lists, handle);
    if (ret == 0) {
        free(((struct label_list *)handle)->labels);
        ms_slab_free(&lists, handle);
    }
    return ret;
}

struct jump_task {
    const uint32_t *index;
    uint32_t max;
    struct label_list *list;
};

static int32_t jump_run(struct snpu_task *task)
{
    struct jump_task *t = (struct jump_task *)task->payload;
    if (!readable(t->index, sizeof(*t->index))) {
        return ACL_ERROR_RT_PARAM_INVALID;
    }
    if (!ms_slab_check(&lists, t->list)) {
        return ACL_ERROR_RT_LABEL_CONTEXT;
    }
    uint32_t index = __atomic_load_n(t->index, __ATOMIC_ACQUIRE);
    index = index < t->max ? index : t->max - 1; /* out of range selects the last label */
    const struct label *label = t->list->labels[index];
    const struct snpu_stream *stream = task->stream;
    if (!ms_slab_check(&labels, label) || label->model != stream->model->serial || label->lane != stream->lane) {
        return ACL_ERROR_RT_LABEL_CONTEXT;
    }
    snpu__model_run_jump(label->index);
    return 0;
}

static const struct snpu_task_kind jump_kind = {
    .name = "LABEL_SWITCH",
    .prof_type = SNPU_TASK_LABEL_SWITCH,
    .captures = true,
    .run = jump_run,
};

int32_t snpu_label_switch(const char *function, const void *index, uint32_t max, void *list_handle, void *stream_handle)
{
    struct snpu_stream *stream;
    int32_t ret = check_label(function, &lists, list_handle);
    if (ret != 0 || (ret = snpu_stream_resolve(function, stream_handle, &stream)) != 0) {
        return ret;
    }
    struct label_list *list = list_handle;
    struct snpu_model *model = snpu__route_model(stream, SNPU_ROUTE_BUILD, NULL);
    if (model == NULL) {
        return snpu_fail(ACL_ERROR_RT_STREAM_MODEL, "%s: stream %u is not bound to a model", function, stream->id);
    }
    snpu__model_put(model);
    if (max == 0 || max > list->count) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: maxValue %u is invalid for %u labels", function, max,
                         list->count);
    }
    struct jump_task t = {index, max, list};
    return snpu_stream_submit(stream, &jump_kind, &t, sizeof(t), NULL, 0, NULL);
}
