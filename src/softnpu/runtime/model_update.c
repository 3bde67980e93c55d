/* SPDX-License-Identifier: Apache-2.0 */
/* Changing the tasks of models: re-recording groups, setting the parameters of single tasks, disabling tasks.
 *
 * A group is updated by submitting its tasks again, in order and of the same kinds, to a stream in update mode. The
 * exchange itself is a task of that stream: programs start a model first, let it wait for an external event before the
 * group, and update the group meanwhile.
 *
 * Threads and locks: the model's lock for the exchange; replaced tasks are kept until no run can read them.
 *
 * Failure policy: an update that does not match changes nothing and returns 107040. */
#include "softnpu/runtime/model_internal.h"

#include "softnpu/runtime/prof.h"
#include "base/slab.h"

#include <stdlib.h>
#include <string.h>

#define GROUPS_MAX 65536

static struct ms_slab groups = MS_SLAB_INIT(struct task_group, GROUPS_MAX);

int32_t snpu__group_add_locked(struct task_group *group, struct model_node *node)
{
    if (group->count == group->capacity) {
        uint32_t capacity = group->capacity == 0 ? 8 : group->capacity * 2;
        struct model_node **grown = realloc(group->nodes, capacity * sizeof(*grown));
        if (grown == NULL) {
            return ACL_ERROR_RT_RESOURCE_ALLOC_FAIL;
        }
        group->nodes = grown;
        group->capacity = capacity;
    }
    group->nodes[group->count++] = node;
    node->group = group;
    return 0;
}

void snpu__groups_free(struct snpu_model *model)
{
    while (model->groups != NULL) {
        struct task_group *group = model->groups;
        model->groups = group->next;
        free(group->nodes);
        ms_slab_free(&groups, group);
    }
}

int32_t snpu_group_begin(const char *function, void *handle)
{
    struct snpu_stream *stream;
    int32_t ret = snpu_stream_resolve(function, handle, &stream);
    if (ret != 0) {
        return ret;
    }
    pthread_mutex_lock(&stream->lock);
    struct snpu_route *route = stream->route;
    struct task_group *group = NULL;
    if (route == NULL || route->kind != SNPU_ROUTE_CAPTURE) {
        ret = snpu_fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED, "%s: stream %u is not being captured", function, stream->id);
    } else if (route->group != NULL) {
        ret = snpu_fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "%s: stream %u has an open group", function, stream->id);
    } else if ((group = ms_slab_alloc(&groups)) == NULL) {
        ret = snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: too many task groups", function);
    } else {
        group->model = route->model;
        group->open = true;
        pthread_mutex_lock(&route->model->lock);
        group->next = route->model->groups;
        route->model->groups = group;
        pthread_mutex_unlock(&route->model->lock);
        route->group = group;
    }
    pthread_mutex_unlock(&stream->lock);
    return ret;
}

int32_t snpu_group_end(const char *function, void *handle, void **out)
{
    struct snpu_stream *stream;
    int32_t ret = snpu_stream_resolve(function, handle, &stream);
    if (ret != 0) {
        return ret;
    }
    pthread_mutex_lock(&stream->lock);
    struct snpu_route *route = stream->route;
    if (route == NULL || route->kind != SNPU_ROUTE_CAPTURE) {
        ret = snpu_fail(ACL_ERROR_RT_STREAM_NOT_CAPTURED, "%s: stream %u is not being captured", function, stream->id);
    } else if (route->group == NULL) {
        ret = snpu_fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "%s: stream %u has no open group", function, stream->id);
    } else {
        route->group->open = false;
        *out = route->group;
        route->group = NULL;
    }
    pthread_mutex_unlock(&stream->lock);
    return ret;
}

/* ---- updating a group ---- */

struct update_task {
    struct snpu_model *model; /* one reference */
    struct model_node **nodes;
    struct task_rec **recs;
    uint32_t count;
};

static int32_t update_run(struct snpu_task *task)
{
    struct update_task *t = (struct update_task *)task->payload;
    pthread_mutex_lock(&t->model->lock);
    for (uint32_t i = 0; i < t->count; i++) {
        snpu__model_replace_locked(t->nodes[i], t->recs[i]);
        t->recs[i] = NULL;
    }
    pthread_mutex_unlock(&t->model->lock);
    return 0;
}

static void update_release(void *payload)
{
    struct update_task *t = payload;
    for (uint32_t i = 0; i < t->count; i++) {
        snpu__model_rec_free(t->recs[i]); /* NULL if it was moved into its node */
    }
    free(t->recs);
    free(t->nodes);
    snpu__model_put(t->model);
}

static const struct snpu_task_kind update_kind = {
    .name = "MODEL_MAINTAINCE",
    .prof_type = SNPU_TASK_MODEL_MAINTAINCE,
    .run = update_run,
    .release = update_release,
};

int32_t snpu_update_begin(const char *function, void *handle, void *group_handle)
{
    struct snpu_stream *stream;
    struct task_group *group = group_handle;
    int32_t ret = snpu_stream_resolve(function, handle, &stream);
    if (ret != 0) {
        return ret;
    }
    if (!ms_slab_check(&groups, group) || group->open || group->model->state != SNPU_MODEL_READY) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is not a task group of a finished model", function,
                         group_handle);
    }
    struct snpu_route *route = calloc(1, sizeof(*route));
    struct task_rec **updates = calloc(group->count + 1, sizeof(*updates));
    if (route == NULL || updates == NULL) {
        free(route);
        free(updates);
        return snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: out of host memory", function);
    }
    *route = (struct snpu_route){
        .kind = SNPU_ROUTE_UPDATE, .model = snpu__model_get(group->model), .group = group, .updates = updates};
    ret = snpu__route_set(function, stream, route);
    if (ret != 0) {
        snpu__model_put(route->model);
        free(updates);
        free(route);
    }
    return ret;
}

int32_t snpu__update_submit(struct snpu_stream *stream, struct snpu_route *route, const struct snpu_task_kind *kind,
                            const void *head, size_t head_b, const void *tail, size_t tail_b)
{
    struct task_group *group = route->group;
    if (route->update_count >= group->count || group->nodes[route->update_count]->rec->task.kind != kind) {
        route->failed = ACL_ERROR_RT_MODEL_UPDATE_FAILED;
        return snpu_fail(ACL_ERROR_RT_MODEL_UPDATE_FAILED, "%s does not match task %u of the group of %u tasks",
                         kind->name, route->update_count, group->count);
    }
    struct model_lane *lane = &route->model->lanes[group->nodes[route->update_count]->lane];
    struct task_rec *rec = snpu__model_rec_new(lane, kind, head, head_b, tail, tail_b);
    if (rec == NULL) {
        return snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: out of host memory", kind->name);
    }
    route->updates[route->update_count++] = rec;
    (void)stream;
    return 0;
}

void snpu__route_drop_updates(struct snpu_route *route)
{
    for (uint32_t i = 0; i < route->update_count; i++) {
        snpu__model_rec_free(route->updates[i]);
    }
    free(route->updates);
    route->updates = NULL;
    route->update_count = 0;
}

int32_t snpu_update_end(const char *function, void *handle)
{
    struct snpu_stream *stream;
    struct update_task t = {0};
    int32_t ret = snpu_stream_resolve(function, handle, &stream);
    if (ret != 0) {
        return ret;
    }
    pthread_mutex_lock(&stream->lock);
    struct snpu_route *route = stream->route;
    if (route == NULL || route->kind != SNPU_ROUTE_UPDATE) {
        ret =
            snpu_fail(ACL_ERROR_STREAM_TASK_GROUP_STATUS, "%s: stream %u is not in update mode", function, stream->id);
    } else if (route->failed != 0 || route->update_count != route->group->count) {
        ret = snpu_fail(ACL_ERROR_RT_MODEL_UPDATE_FAILED, "%s: only %u of %u tasks were submitted", function,
                        route->update_count, route->group->count);
    } else if ((t.nodes = malloc((route->update_count + 1) * sizeof(*t.nodes))) == NULL) {
        ret = snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: out of host memory", function);
    } else {
        t.model = snpu__model_get(route->model);
        t.count = route->update_count;
        t.recs = route->updates;
        memcpy(t.nodes, route->group->nodes, t.count * sizeof(*t.nodes));
        route->updates = NULL;
        route->update_count = 0;
    }
    pthread_mutex_unlock(&stream->lock);
    if (ret == ACL_ERROR_STREAM_TASK_GROUP_STATUS) {
        return ret;
    }
    snpu__route_clear(stream);
    if (ret == 0) {
        ret = snpu_stream_submit(stream, &update_kind, &t, sizeof(t), NULL, 0, NULL);
        if (ret != 0) {
            update_release(&t);
        }
    }
    return ret;
}

/* ---- single tasks ---- */

int32_t snpu_node_seq(const char *function, void *handle, uint32_t *seq)
{
    int32_t ret;
    struct model_node *node = snpu__node_resolve(function, handle, &ret);
    if (node != NULL) {
        *seq = node->seq;
    }
    return ret;
}

int32_t snpu_node_type(const char *function, void *handle, int *type)
{
    int32_t ret;
    struct model_node *node = snpu__node_resolve(function, handle, &ret);
    if (node != NULL) {
        *type = (int)node->rec->task.kind->ri_type;
    }
    return ret;
}

int32_t snpu_node_get(const char *function, void *handle, void *params)
{
    int32_t ret;
    struct model_node *node = snpu__node_resolve(function, handle, &ret);
    if (node == NULL) {
        return ret;
    }
    aclmdlRITaskParams *p = params;
    memset(p, 0, sizeof(*p));
    pthread_mutex_lock(&node->model->lock);
    const struct snpu_task *task = &node->rec->task;
    p->type = (aclmdlRITaskType)task->kind->ri_type;
    p->taskGrp = node->group;
    if (task->kind->ri_get != NULL) {
        ret = task->kind->ri_get(task->payload, p);
    } else if (task->kind->ri_type != ACL_MODEL_RI_TASK_DEFAULT) {
        ret = snpu_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT, "%s: tasks of type %s have no parameters", function,
                        task->kind->name);
    }
    pthread_mutex_unlock(&node->model->lock);
    return ret;
}

int32_t snpu_node_set(const char *function, void *handle, const void *params)
{
    int32_t ret;
    struct model_node *node = snpu__node_resolve(function, handle, &ret);
    if (node == NULL) {
        return ret;
    }
    const aclmdlRITaskParams *p = params;
    const struct snpu_task_kind *kind = node->rec->task.kind;
    if ((uint32_t)p->type != kind->ri_type) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: parameters of type %d for a task of type %u", function,
                         (int)p->type, kind->ri_type);
    }
    if (kind->ri_set == NULL) {
        return snpu_fail(ACL_ERROR_RT_FEATURE_NOT_SUPPORT_UPDATE_OP, "%s: tasks of type %s cannot be changed", function,
                         kind->name);
    }
    void *payload;
    size_t payload_b;
    pthread_mutex_lock(&node->model->lock);
    ret = kind->ri_set(node->rec->task.payload, params, &payload, &payload_b);
    if (ret == 0) {
        struct task_rec *rec = snpu__model_rec_new(&node->model->lanes[node->lane], kind, payload, payload_b, NULL, 0);
        if (rec == NULL) {
            ret = snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: out of host memory", function);
            if (kind->release != NULL) {
                kind->release(payload);
            }
        } else {
            snpu__model_rec_free(node->next);
            node->next = rec;
        }
        free(payload);
    }
    pthread_mutex_unlock(&node->model->lock);
    return ret;
}

int32_t snpu_node_disable(const char *function, void *handle)
{
    int32_t ret;
    struct model_node *node = snpu__node_resolve(function, handle, &ret);
    if (node != NULL) {
        __atomic_store_n(&node->disabled, 1, __ATOMIC_RELEASE);
    }
    return ret;
}

int32_t snpu_model_apply(const char *function, void *handle)
{
    struct snpu_model *model;
    int32_t ret = snpu__model_resolve(function, handle, &model);
    if (ret != 0) {
        return ret;
    }
    if (model->state != SNPU_MODEL_READY) {
        return snpu_fail(ACL_ERROR_RT_MODEL_CAPTURED, "%s: model %u is still being captured or built", function,
                         model->id);
    }
    if (__atomic_load_n(&model->queued, __ATOMIC_ACQUIRE) > 0) {
        return snpu_fail(ACL_ERROR_RT_MODEL_RUNNING, "%s: model %u is queued or running", function, model->id);
    }
    pthread_mutex_lock(&model->lock);
    for (uint32_t l = 0; l < model->lane_count; l++) {
        for (uint32_t i = 0; i < model->lanes[l].count; i++) {
            struct model_node *node = model->lanes[l].nodes[i];
            if (node->next != NULL) {
                snpu__model_replace_locked(node, node->next);
                node->next = NULL;
            }
        }
    }
    pthread_mutex_unlock(&model->lock);
    return 0;
}
