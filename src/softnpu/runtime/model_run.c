/* SPDX-License-Identifier: Apache-2.0 */
/* Running models.
 *
 * The task that runs a model executes lane 0 itself, hands the other lanes to the workers of their internal streams,
 * and waits for those. A lane publishes its progress; a task with an edge waits for the lane the edge comes from.
 *
 * Invariants: one run of a model at a time; a second one waits for its turn in its own stream. When a run ends, no
 * worker accesses the model any more.
 *
 * Threads and locks: none while tasks run; the model's words are futexes.
 *
 * Failure policy: a failed task does not stop the run; its code is the result. A cancelled run sets model->abort, which
 * ends the waits of all lanes, and ends when they have finished. */
#include "softnpu/runtime/model_internal.h"

#include "softnpu/runtime/futex.h"
#include "softnpu/runtime/prof.h"

#include <stdlib.h>

static __thread struct {
    struct snpu_model *model;
    uint32_t jump; /* where the lane continues, if not SNPU_NO_LANE */
} at;

void snpu__model_run_jump(uint32_t index)
{
    at.jump = index;
}

static void fail(struct snpu_model *model, int32_t code)
{
    int32_t none = 0;
    __atomic_compare_exchange_n(&model->code, &none, code, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static void give_up(struct snpu_model *model)
{
    __atomic_store_n(&model->abort, 1, __ATOMIC_SEQ_CST);
    snpu_wake_all(&model->abort);
    for (uint32_t i = 0; i < model->body_count; i++) {
        give_up(model->bodies[i]);
    }
}

/* 0, or a code if the run is cancelled. */
static int32_t wait_for_edge(struct snpu_task *task, struct snpu_model *model, const struct model_node *node)
{
    const uint32_t *progress = &model->lanes[node->wait_lane].progress;
    uint32_t have;
    while ((have = __atomic_load_n(progress, __ATOMIC_ACQUIRE)) <= node->wait_index) {
        if (snpu_task_wait(task, progress, have, -1) != 0) {
            return ACL_ERROR_RT_STREAM_ABORT;
        }
    }
    return 0;
}

/* A loop of jumps contains no wait, so the cancel words are checked here. */
static bool cancelled(struct snpu_task *task)
{
    static const uint32_t never = 1;
    return snpu_task_wait(task, &never, 0, 0) != 0;
}

static void lane_run(struct snpu_task *task, struct snpu_model *model, uint32_t index)
{
    struct model_lane *lane = &model->lanes[index];
    uint32_t i = 0;
    while (i < lane->count && !__atomic_load_n(&model->abort, __ATOMIC_ACQUIRE)) {
        struct model_node *node = lane->nodes[i];
        int32_t code = 0;
        at.jump = SNPU_NO_LANE;
        if (!__atomic_load_n(&node->disabled, __ATOMIC_ACQUIRE)) {
            if (node->wait_lane != SNPU_NO_LANE) {
                code = wait_for_edge(task, model, node);
            }
            if (code == 0) {
                code = snpu_task_execute(__atomic_load_n(&node->rec, __ATOMIC_ACQUIRE));
            }
        }
        if (code != 0) {
            fail(model, code);
            if (cancelled(task)) {
                give_up(model);
                break;
            }
        }
        if (at.jump != SNPU_NO_LANE) {
            if (cancelled(task)) {
                fail(model, ACL_ERROR_RT_STREAM_ABORT);
                give_up(model);
                break;
            }
            i = at.jump;
            continue;
        }
        i++;
        if (i > lane->progress) {
            __atomic_store_n(&lane->progress, i, __ATOMIC_RELEASE);
            if (model->lane_count > 1) {
                snpu_wake_all(&lane->progress);
            }
        }
    }
    /* Nothing may wait forever for a position that a cancelled lane never reached. */
    __atomic_store_n(&lane->progress, UINT32_MAX, __ATOMIC_RELEASE);
    snpu_wake_all(&lane->progress);
}

/* ---- lanes on their own workers ---- */

struct lane_task {
    struct snpu_model *model; /* kept alive by the run that waits for this task */
    uint32_t lane;
};

static int32_t lane_task_run(struct snpu_task *task)
{
    struct lane_task *t = (struct lane_task *)task->payload;
    at.model = t->model;
    snpu_worker_extra_cancel(&t->model->abort);
    lane_run(task, t->model, t->lane);
    snpu_worker_extra_cancel(NULL);
    at.model = NULL;
    return 0;
}

static void lane_task_release(void *payload)
{
    struct lane_task *t = payload;
    __atomic_store_n(&t->model->lanes[t->lane].progress, UINT32_MAX, __ATOMIC_RELEASE);
    snpu_wake_all(&t->model->lanes[t->lane].progress);
    if (__atomic_sub_fetch(&t->model->lanes_left, 1, __ATOMIC_ACQ_REL) == 0) {
        snpu_wake_all(&t->model->lanes_left);
    }
}

static const struct snpu_task_kind lane_kind = {
    .name = "MODEL_EXECUTE",
    .prof_type = SNPU_TASK_SILENT,
    .run = lane_task_run,
    .release = lane_task_release,
};

int32_t snpu__model_run_start_lane(struct snpu_model *model, uint32_t lane)
{
    if (__atomic_exchange_n(&model->lanes[lane].started, 1, __ATOMIC_ACQ_REL)) {
        return 0; /* already running */
    }
    struct lane_task t = {model, lane};
    __atomic_fetch_add(&model->lanes_left, 1, __ATOMIC_ACQ_REL);
    int32_t ret = snpu_stream_submit(model->lanes[lane].stream, &lane_kind, &t, sizeof(t), NULL, 0, NULL);
    if (ret != 0) {
        lane_task_release(&t);
        fail(model, ret);
    } else {
        snpu_worker_hurry(model->lanes[lane].stream);
    }
    return ret;
}

/* ---- runs ---- */

static int32_t take_turn(struct snpu_task *task, struct snpu_model *model)
{
    for (;;) {
        uint32_t idle = 0;
        if (__atomic_compare_exchange_n(&model->busy, &idle, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            return 0;
        }
        if (snpu_task_wait(task, &model->busy, 1, -1) != 0) {
            return ACL_ERROR_RT_STREAM_ABORT;
        }
    }
}

int32_t snpu__model_run(struct snpu_task *task, struct snpu_model *model, struct run_task *run)
{
    int32_t ret = take_turn(task, model);
    if (ret != 0) {
        return ret;
    }
    pthread_mutex_lock(&model->lock);
    snpu__model_collect_garbage_locked(model);
    pthread_mutex_unlock(&model->lock);
    model->run = run;
    __atomic_store_n(&model->code, 0, __ATOMIC_RELEASE);
    __atomic_store_n(&model->abort, 0, __ATOMIC_SEQ_CST);
    /* give_up sets the parent's word first, then those of the bodies: one of the two is seen here. */
    if (model->parent != NULL && __atomic_load_n(&model->parent->abort, __ATOMIC_SEQ_CST)) {
        __atomic_store_n(&model->abort, 1, __ATOMIC_SEQ_CST);
    }
    for (uint32_t i = 0; i < model->lane_count; i++) {
        __atomic_store_n(&model->lanes[i].progress, 0, __ATOMIC_RELEASE);
        __atomic_store_n(&model->lanes[i].started, i == 0, __ATOMIC_RELEASE);
    }
    snpu__conds_start(model);
    for (uint32_t i = 1; i < model->lane_count; i++) {
        if (model->lanes[i].head) {
            snpu__model_run_start_lane(model, i);
        }
    }
    struct snpu_model *outer = at.model;
    const uint32_t *outer_cancel = snpu_worker_extra_cancel(&model->abort);
    at.model = model;
    if (model->lane_count > 0) {
        lane_run(task, model, 0);
    }
    snpu_worker_extra_cancel(outer_cancel);
    at.model = outer;
    uint32_t left;
    while ((left = __atomic_load_n(&model->lanes_left, __ATOMIC_ACQUIRE)) != 0) {
        if (snpu_task_wait(task, &model->lanes_left, left, -1) != 0) {
            give_up(model); /* then wait regardless of cancellation: the lanes end soon */
            fail(model, ACL_ERROR_RT_STREAM_ABORT);
            futex_wait_shared(&model->lanes_left, left, 10000000);
        }
    }
    ret = __atomic_load_n(&model->code, __ATOMIC_ACQUIRE);
    model->run = NULL;
    __atomic_store_n(&model->busy, 0, __ATOMIC_RELEASE);
    snpu_wake_all(&model->busy);
    return ret;
}

/* A run requested by the program. Its records that are visible outside are promised when it is queued: later waits are
 * for this run. Bodies of conditional tasks might not run, so their records are not promised. */
struct promise {
    struct snpu_event *event; /* kept alive by the model's task that records it */
    struct event_mark *mark;  /* one reference; NULL: already taken */
};

struct run_task {
    struct snpu_model *model; /* one reference */
    struct promise *promises;
    uint32_t promise_count;
    bool good; /* ran to the end */
};

struct event_mark *snpu__model_promise_take(const struct snpu_event *event)
{
    struct run_task *run = at.model != NULL ? at.model->run : NULL;
    for (uint32_t i = 0; run != NULL && i < run->promise_count; i++) {
        struct event_mark *mark;
        if (run->promises[i].event == event &&
            (mark = __atomic_exchange_n(&run->promises[i].mark, NULL, __ATOMIC_ACQ_REL)) != NULL) {
            return mark;
        }
    }
    return NULL;
}

/* If memory is short nothing is promised: waits then refer to earlier records. */
static void make_promises(struct run_task *run)
{
    struct snpu_model *model = run->model;
    pthread_mutex_lock(&model->lock);
    for (uint32_t lane = 0; lane < model->lane_count; lane++) {
        for (uint32_t i = 0; i < model->lanes[lane].count; i++) {
            struct promise promise;
            promise.mark = snpu__event_promise(model->lanes[lane].nodes[i]->rec, &promise.event);
            struct promise *more = NULL;
            if (promise.mark != NULL) {
                more = realloc(run->promises, (run->promise_count + 1) * sizeof(*more));
            }
            if (more != NULL) {
                run->promises = more;
                run->promises[run->promise_count++] = promise;
            } else if (promise.mark != NULL) {
                snpu__event_promise_break(promise.mark, 0);
            }
        }
    }
    pthread_mutex_unlock(&model->lock);
}

static int32_t run_task_run(struct snpu_task *task)
{
    struct run_task *t = (struct run_task *)task->payload;
    int32_t code = snpu__model_run(task, t->model, t);
    t->good = code == 0;
    return code;
}

static void run_task_release(void *payload)
{
    struct run_task *t = payload;
    for (uint32_t i = 0; i < t->promise_count; i++) {
        if (t->promises[i].mark != NULL) { /* the run was cancelled, or the branch was not taken */
            snpu__event_promise_break(t->promises[i].mark, t->good ? 0 : snpu_worker_cancel_code());
        }
    }
    free(t->promises);
    __atomic_fetch_sub(&t->model->queued, 1, __ATOMIC_ACQ_REL);
    snpu__model_put(t->model);
}

static const struct snpu_task_kind run_kind = {
    .name = "MODEL_EXECUTE",
    .prof_type = SNPU_TASK_MODEL_EXECUTE,
    .run = run_task_run,
    .release = run_task_release,
};

/* On the model's own stream, whose task ids are those of lane 0. */
static const struct snpu_task_kind own_run_kind = {
    .name = "MODEL_EXECUTE",
    .prof_type = SNPU_TASK_SILENT,
    .run = run_task_run,
    .release = run_task_release,
};

static int32_t ready(const char *function, void *handle, struct snpu_model **model)
{
    int32_t ret = snpu__model_resolve(function, handle, model);
    if (ret != 0) {
        return ret;
    }
    if ((*model)->state != SNPU_MODEL_READY) {
        return snpu_fail(ACL_ERROR_RT_MODEL_CAPTURED, "%s: model %u is still being captured or built", function,
                         (*model)->id);
    }
    if ((*model)->parent != NULL) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: the body of a conditional task runs only with its model",
                         function);
    }
    if (!snpu_ctx_alive((*model)->ctx)) {
        return snpu_fail(ACL_ERROR_RT_MODEL_CONTEXT, "%s: the context of model %u was destroyed", function,
                         (*model)->id);
    }
    return 0;
}

static int32_t submit_run(struct snpu_model *model, struct snpu_stream *stream, const struct snpu_task_kind *kind)
{
    struct run_task t = {.model = snpu__model_get(model)};
    __atomic_fetch_add(&model->queued, 1, __ATOMIC_ACQ_REL);
    make_promises(&t);
    int32_t ret = snpu_stream_submit(stream, kind, &t, sizeof(t), NULL, 0, NULL);
    if (ret != 0) {
        run_task_release(&t);
    }
    return ret;
}

int32_t snpu_model_execute_async(const char *function, void *handle, void *stream_handle)
{
    struct snpu_model *model;
    struct snpu_stream *stream;
    int32_t ret = ready(function, handle, &model);
    if (ret != 0 || (ret = snpu_stream_resolve(function, stream_handle, &stream)) != 0) {
        return ret;
    }
    if (stream->ctx != model->ctx) {
        return snpu_fail(ACL_ERROR_RT_MODEL_CONTEXT, "%s: model %u belongs to another context", function, model->id);
    }
    return submit_run(model, stream, &run_kind);
}

int32_t snpu_model_execute(const char *function, void *handle, int32_t timeout_ms)
{
    struct snpu_model *model;
    int32_t ret = ready(function, handle, &model);
    if (ret != 0) {
        return ret;
    }
    if (timeout_ms < -1) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid timeout %d", function, timeout_ms);
    }
    if (model->lane_count == 0) {
        return 0;
    }
    /* On the model's own worker, so the program's streams are not blocked. */
    struct snpu_stream *stream = model->lanes[0].stream;
    ret = submit_run(model, stream, &own_run_kind);
    return ret != 0 ? ret : snpu_stream_synchronize(stream, timeout_ms);
}

int32_t snpu_model_abort(const char *function, void *handle)
{
    struct snpu_model *model;
    int32_t ret = snpu__model_resolve(function, handle, &model);
    if (ret == 0 && __atomic_load_n(&model->busy, __ATOMIC_ACQUIRE)) {
        fail(model, ACL_ERROR_RT_MODEL_ABORT_NORMAL);
        give_up(model);
    }
    return ret;
}
