/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of models: shared by capture.c, model.c, model_run.c, model_update.c, model_branch.c and model_print.c. */
#ifndef SOFTNPU_RUNTIME_MODEL_INTERNAL_H
#define SOFTNPU_RUNTIME_MODEL_INTERNAL_H

#include "softnpu/runtime/engine.h"
#include "softnpu/runtime/event_internal.h"
#include "softnpu/runtime/model.h"

#define SNPU_NO_LANE UINT32_MAX

struct task_group;

/* One task of a model; the handle aclmdlRITask. */
struct model_node {
    struct snpu_model *model;
    uint32_t lane, index; /* position in the lane */
    uint32_t seq;         /* submission order */
    uint32_t disabled;    /* atomic */
    uint32_t wait_lane;   /* SNPU_NO_LANE, or the lane that must pass wait_index before this task starts */
    uint32_t wait_index;
    struct task_rec *rec;  /* model->lock */
    struct task_rec *next; /* parameters that take effect at aclmdlRIUpdate; model->lock */
    struct task_group *group;
};

struct model_lane {
    struct snpu_stream *stream; /* internal; one reference */
    struct snpu_stream *source; /* the program's, while it is captured or bound */
    struct model_node **nodes;
    uint32_t count, capacity;
    bool head;         /* starts with the model; other lanes are started by a task */
    bool ended;        /* aclmdlRIEndTask */
    uint32_t progress; /* tasks passed in the current run; futex word */
    uint32_t started;  /* in the current run */
};

enum model_state {
    SNPU_MODEL_BODY,      /* body of a conditional task, nothing captured yet */
    SNPU_MODEL_CAPTURING, /* routes lead into it */
    SNPU_MODEL_BUILDING,
    SNPU_MODEL_READY,
};

struct destroy_callback {
    void (*fn)(void *);
    void *data;
};

struct snpu_model {
    uint64_t serial;
    uint32_t id;
    uint32_t refs;
    uint32_t dead;
    struct snpu_ctx *ctx;
    pthread_mutex_t lock; /* lanes and nodes while the model is built, and fields marked so */
    enum model_state state;
    int32_t invalid;                 /* why the capture cannot become a model, or 0; atomic */
    int mode;                        /* aclmdlRICaptureMode */
    uint32_t owner;                  /* thread that began the capture */
    struct snpu_model *next_capture; /* list of captures, capture.c */
    struct snpu_model *parent;       /* of a conditional body */
    struct snpu_model **bodies;
    uint32_t body_count;
    struct cond_handle *conds;
    struct task_group *groups;
    struct model_lane *lanes;
    uint32_t lane_count;
    uint32_t seq;
    struct task_rec *garbage; /* replaced tasks that a run may still read; linked through model_garbage */
    struct destroy_callback *callbacks;
    uint32_t callback_count;
    char name[128];

    /* Execution. */
    uint32_t queued;      /* runs queued or active */
    uint32_t busy;        /* a run is active; futex word of the next one */
    uint32_t abort;       /* ends the waits of the current run */
    uint32_t lanes_left;  /* lanes on other workers that have not finished; futex word */
    int32_t code;         /* first failure of the run */
    struct run_task *run; /* the active run and its promises, if the program requested it */
};

struct task_group {
    struct snpu_model *model;
    struct task_group *next;
    struct model_node **nodes;
    uint32_t count, capacity;
    bool open;
};

struct cond_handle {
    struct snpu_model *model;
    struct cond_handle *next;
    uint64_t *pointer; /* device memory */
    uint32_t value;    /* at the start of a run, if `assign` */
    bool assign;
};

/* Where a stream's tasks go instead of its queue. Guarded by the stream's lock; holds a reference to the model. */
struct snpu_route {
    enum { SNPU_ROUTE_CAPTURE, SNPU_ROUTE_BUILD, SNPU_ROUTE_UPDATE } kind;
    struct snpu_model *model;
    uint32_t lane;
    struct task_group *group;  /* open group of a capture, or the one being updated */
    struct task_rec **updates; /* one per task of the group */
    uint32_t update_count;
    int32_t failed; /* a mismatched update */
};

/* ---- model.c ---- */
int32_t snpu__model_resolve(const char *function, void *handle, struct snpu_model **out);
struct snpu_model *snpu__model_create(const char *function, struct snpu_ctx *ctx, enum model_state state);
struct snpu_model *snpu__model_get(struct snpu_model *model);
void snpu__model_put(struct snpu_model *model);
/* Invalidates the handle, removes routes and drops the handle's reference. */
void snpu__model_kill(struct snpu_model *model);
int32_t snpu__model_lane_add(const char *function, struct snpu_model *model, struct snpu_stream *source, bool head,
                             uint32_t *lane);
struct task_rec *snpu__model_rec_new(struct model_lane *lane, const struct snpu_task_kind *kind, const void *head,
                                     size_t head_b, const void *tail, size_t tail_b);
void snpu__model_rec_free(struct task_rec *rec);
/* Appends a task; takes over the rec on success. model->lock held. */
int32_t snpu__model_append_locked(struct snpu_model *model, uint32_t lane, struct task_rec *rec,
                                  struct model_node **out);
/* Puts a new task into a node; the old one is freed when no run can read it. model->lock held. */
void snpu__model_replace_locked(struct model_node *node, struct task_rec *rec);
void snpu__model_collect_garbage_locked(struct snpu_model *model);
struct model_node *snpu__node_resolve(const char *function, void *handle, int32_t *ret);
/* The model's lane for one of the program's streams; SNPU_NO_LANE if none. */
uint32_t snpu__model_lane_of(const struct snpu_model *model, const struct snpu_stream *source);

/* ---- capture.c ---- */
void snpu__capture_invalidate(struct snpu_model *model, int32_t code);
/* Sets and clears stream->route; both take the stream's lock. */
int32_t snpu__route_set(const char *function, struct snpu_stream *stream, struct snpu_route *route);
void snpu__route_clear(struct snpu_stream *stream);
/* The model of a stream's route, with a reference, if the route is of this kind; NULL otherwise. */
struct snpu_model *snpu__route_model(struct snpu_stream *stream, int kind, uint32_t *lane);

/* ---- model_run.c ---- */
/* Runs a whole model on the calling worker. Conditional tasks call it for their bodies, with run = NULL. */
int32_t snpu__model_run(struct snpu_task *task, struct snpu_model *model, struct run_task *run);
/* For tasks of a running model: starts a lane; jumps to another task of the lane. */
int32_t snpu__model_run_start_lane(struct snpu_model *model, uint32_t lane);
void snpu__model_run_jump(uint32_t index);

/* ---- model_update.c, model_branch.c ---- */
int32_t snpu__update_submit(struct snpu_stream *stream, struct snpu_route *route, const struct snpu_task_kind *kind,
                            const void *head, size_t head_b, const void *tail, size_t tail_b);
int32_t snpu__group_add_locked(struct task_group *group, struct model_node *node);
void snpu__groups_free(struct snpu_model *model);
void snpu__route_drop_updates(struct snpu_route *route);
void snpu__conds_start(struct snpu_model *model);
void snpu__conds_free(struct snpu_model *model);

#endif
