/* SPDX-License-Identifier: Apache-2.0 */
/* Models (aclmdlRI): tasks recorded once and run many times.
 *
 * A model is a set of lanes, one per stream that took part in building it, each an ordered list of tasks. Edges between
 * lanes come from events: a recorded event is a position in a lane; a wait for it is a task that may not start before
 * that lane has passed the position. Each lane has an internal stream: profilers see its id, and its worker runs the
 * lane.
 *
 * This header serves the rt* functions and the ACL layer; handles are void *, and `function` names the caller. */
#ifndef SOFTNPU_RUNTIME_MODEL_H
#define SOFTNPU_RUNTIME_MODEL_H

#include "base/macros.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- capture ---- */
/* model NULL: into a new one; otherwise into the body of a conditional task. mode is an aclmdlRICaptureMode. */
MS_EXPORT int32_t snpu_capture_begin(const char *function, void *stream, void *model, int mode);
MS_EXPORT int32_t snpu_capture_end(const char *function, void *stream, void **model);
/* status is an aclmdlRICaptureStatus; model may be NULL. */
MS_EXPORT int32_t snpu_capture_info(const char *function, void *stream, int *status, void **model);
MS_EXPORT int32_t snpu_capture_exchange_mode(const char *function, int *mode);

/* ---- groups of tasks that can be replaced later ---- */
MS_EXPORT int32_t snpu_group_begin(const char *function, void *stream);
MS_EXPORT int32_t snpu_group_end(const char *function, void *stream, void **group);
MS_EXPORT int32_t snpu_update_begin(const char *function, void *stream, void *group);
MS_EXPORT int32_t snpu_update_end(const char *function, void *stream);

/* ---- models built by binding streams ---- */
MS_EXPORT int32_t snpu_model_build_begin(const char *function, void **model);
MS_EXPORT int32_t snpu_model_bind(const char *function, void *model, void *stream, bool head);
MS_EXPORT int32_t snpu_model_end_task(const char *function, void *model, void *stream);
MS_EXPORT int32_t snpu_model_build_end(const char *function, void *model);
MS_EXPORT int32_t snpu_model_unbind(const char *function, void *model, void *stream);

/* ---- running, destruction ---- */
MS_EXPORT int32_t snpu_model_execute(const char *function, void *model, int32_t timeout_ms);
MS_EXPORT int32_t snpu_model_execute_async(const char *function, void *model, void *stream);
MS_EXPORT int32_t snpu_model_abort(const char *function, void *model);
MS_EXPORT int32_t snpu_model_apply(const char *function, void *model); /* aclmdlRIUpdate */
MS_EXPORT int32_t snpu_model_destroy(const char *function, void *model);
MS_EXPORT int32_t snpu_model_on_destroy(const char *function, void *model, void (*fn)(void *), void *data, bool add);

/* ---- queries ---- */
MS_EXPORT int32_t snpu_model_set_name(const char *function, void *model, const char *name);
MS_EXPORT int32_t snpu_model_get_name(const char *function, void *model, uint32_t max_b, char *name);
MS_EXPORT int32_t snpu_model_id(const char *function, void *model, uint32_t *id);
/* list NULL: only the count. *count is the capacity on entry and the count on return; 107039 if the capacity is too
 * small. */
MS_EXPORT int32_t snpu_model_streams(const char *function, void *model, void **list, uint32_t *count);
MS_EXPORT int32_t snpu_model_tasks(const char *function, void *stream, void **list, uint32_t *count);
/* path NULL: into the log. */
MS_EXPORT int32_t snpu_model_print(const char *function, void *model, const char *path, bool verbose);

/* ---- tasks ---- */
MS_EXPORT int32_t snpu_node_seq(const char *function, void *task, uint32_t *seq);
MS_EXPORT int32_t snpu_node_type(const char *function, void *task, int *type);
/* params is an aclmdlRITaskParams. */
MS_EXPORT int32_t snpu_node_get(const char *function, void *task, void *params);
MS_EXPORT int32_t snpu_node_set(const char *function, void *task, const void *params);
MS_EXPORT int32_t snpu_node_disable(const char *function, void *task);

/* ---- conditional bodies, branches ---- */
MS_EXPORT int32_t snpu_cond_create(const char *function, void *model, uint32_t value, bool assign, void **handle);
MS_EXPORT int32_t snpu_cond_pointer(const char *function, void *handle, uint64_t **pointer);
/* type is an aclmdlRICondTaskType; bodies receives `count` models to capture into. */
MS_EXPORT int32_t snpu_cond_add(const char *function, void *handle, int type, uint32_t count, void **bodies,
                                void *stream);
MS_EXPORT int32_t snpu_stream_activate(const char *function, void *target, void *stream);
struct snpu_switch {
    const void *left, *right;
    int condition; /* aclrtCondition */
    int type;      /* aclrtCompareDataType */
};
MS_EXPORT int32_t snpu_stream_switch(const char *function, const struct snpu_switch *what, void *if_true,
                                     void *if_false, void *stream);
MS_EXPORT int32_t snpu_label_create(const char *function, void **label);
MS_EXPORT int32_t snpu_label_destroy(const char *function, void *label);
MS_EXPORT int32_t snpu_label_set(const char *function, void *label, void *stream);
MS_EXPORT int32_t snpu_label_list_create(const char *function, void **labels, size_t count, void **list);
MS_EXPORT int32_t snpu_label_list_destroy(const char *function, void *list);
MS_EXPORT int32_t snpu_label_switch(const char *function, const void *index, uint32_t max, void *list, void *stream);

#endif
