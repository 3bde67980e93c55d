/* SPDX-License-Identifier: Apache-2.0 */
/* Marks, ranges, operators and kernels: events that become one row each. Also interprets the texts that the Python API
 * sends through mstx marks. */
#include "memscope/model/model_internal.h"

#include "base/macros.h"
#include "trace/aten_mark.h"

#include <stdio.h>
#include <string.h>

static const char aten_begin[] = MS_ATEN_MARK "b:";
static const char aten_end[] = MS_ATEN_MARK "e:";
static const char aten_access[] = MS_ATEN_MARK "ac:";
static const char sanitizer_op[] = "sanitizer-op:";

static bool begins_with(struct ms_text text, const char *prefix, size_t prefix_b)
{
    return text.length_b >= prefix_b && memcmp(text.s, prefix, prefix_b) == 0;
}
#define BEGINS_WITH(text, prefix) begins_with(text, prefix, sizeof(prefix) - 1)

static bool is_step(struct ms_text text)
{
    if (text.length_b >= 2 && text.s[0] == '"' && text.s[text.length_b - 1] == '"') {
        text.s++;
        text.length_b -= 2;
    }
    return text.length_b == 10 && memcmp(text.s, "step start", 10) == 0;
}

/* A spreadsheet takes a cell that begins like this for a formula. */
static struct ms_text safe_text(struct ms_model *model, struct ms_text text)
{
    if (text.length_b != 0 && strchr("=+-@", text.s[0]) != NULL && text.s[0] != 0) {
        ms__note(model, 2, "mstx text begins with '%c' and is left out", text.s[0]);
        return (struct ms_text){.s = ""};
    }
    return text;
}

/* ---- operators ---- */

static void op_enter(struct ms_model *model, uint32_t tid, struct ms_text name)
{
    struct ms_thread_state *thread = ms__thread(model, tid, true);
    if (thread == NULL) {
        return;
    }
    if (thread->op_depth < MS_OP_DEPTH) {
        thread->ops[thread->op_depth] = ms_intern(&model->texts, name.s, name.length_b);
    }
    thread->op_depth++;
}

static void op_leave(struct ms_model *model, uint32_t tid)
{
    struct ms_thread_state *thread = ms__thread(model, tid, false);
    if (thread != NULL && thread->op_depth != 0) {
        thread->op_depth--;
    }
}

static bool wants_launch(const struct ms_model *model, uint32_t level)
{
    return (model->collect & MS_WANT_LAUNCH) != 0 && (model->options.levels & level) != 0;
}

static void notify_op(struct ms_model *model, const struct ms_event *event, bool begins, bool atb, struct ms_text name)
{
    struct ms_op_info op = {.device = event->device,
                            .tid = event->tid,
                            .begins = begins,
                            .atb = atb,
                            .time_ns = event->time_ns,
                            .name = name};
    MS__CALL(model, on_op, MS__SELF, &op);
}

/* The text after "name=", which comes first in marks of the Python API; others may have more before it. */
static struct ms_text aten_name(const char *s, size_t length_b)
{
    static const char first[] = " name=";
    const char *found = length_b >= sizeof(first) - 1 && memcmp(s, first, sizeof(first) - 1) == 0
                            ? s + 1
                            : memmem(s, length_b, first + 1, sizeof(first) - 2);
    const char *name = found != NULL ? found + sizeof(first) - 2 : NULL;
    return name != NULL ? (struct ms_text){.s = name, .length_b = (uint32_t)(s + length_b - name)}
                        : (struct ms_text){.s = ""};
}

static void aten_op(struct ms_model *model, const struct ms_event *event, bool begin, const char *s, size_t length_b)
{
    struct ms_text name = aten_name(s, length_b);
    if (begin) {
        op_enter(model, event->tid, name);
    } else {
        op_leave(model, event->tid);
    }
    if (ms__active(model, event->device) && wants_launch(model, MS_WANT_OP)) {
        notify_op(model, event, begin, false, name);
        ms__row(model, MS_EV_OP_LAUNCH, begin ? MS_TYPE_ATEN_START : MS_TYPE_ATEN_END, event, event->device)->name =
            name;
        ms__row_send(model, MS_WANT_LAUNCH);
    }
}

/* ---- marks and ranges ---- */

int ms__mark(struct ms_model *model, const struct ms_event *event)
{
    struct ms_text text = event->text;
    if (BEGINS_WITH(text, aten_begin)) {
        aten_op(model, event, true, text.s + sizeof(aten_begin) - 1, text.length_b - (sizeof(aten_begin) - 1));
        return 0;
    }
    if (BEGINS_WITH(text, aten_end)) {
        aten_op(model, event, false, text.s + sizeof(aten_end) - 1, text.length_b - (sizeof(aten_end) - 1));
        return 0;
    }
    if (BEGINS_WITH(text, aten_access)) {
        return ms__aten_access(model, event, text.s + sizeof(aten_access) - 1,
                               text.length_b - (sizeof(aten_access) - 1));
    }
    if (!BEGINS_WITH(text, sanitizer_op) && ms__active(model, event->device)) {
        ms__row(model, MS_EV_MSTX, MS_TYPE_MARK, event, event->device)->name = safe_text(model, text);
        ms__row_send(model, 0);
    }
    return 0;
}

int ms__range_start(struct ms_model *model, const struct ms_event *event)
{
    bool step = is_step(event->text) && model->tracing;
    if (step) {
        ms__step_begin(model, event);
    }
    if (ms__is_wanted(model, event->device)) { /* the start of a step belongs to the step */
        struct ms_row *row = ms__row(model, MS_EV_MSTX, MS_TYPE_RANGE_START, event, event->device);
        row->name = safe_text(model, event->text);
        row->range_id = event->range_id;
        ms__row_send(model, 0);
    }
    if (step) {
        ms__update_activity(model, event);
    }
    return 0;
}

int ms__range_end(struct ms_model *model, const struct ms_event *event)
{
    if (ms__active(model, event->device)) { /* the end of a step belongs to the step */
        int length_b = snprintf(model->scratch, sizeof(model->scratch), "Range end from id %llu",
                                (unsigned long long)event->range_id);
        struct ms_row *row = ms__row(model, MS_EV_MSTX, MS_TYPE_RANGE_END, event, event->device);
        row->name = (struct ms_text){.s = model->scratch, .length_b = (uint32_t)length_b};
        row->range_id = event->range_id;
        ms__row_send(model, 0);
    }
    if (ms__step_end(model, event)) {
        ms__update_activity(model, event);
    }
    return 0;
}

/* ---- launches ---- */

/* "…/0_AddF16Kernel/before" is the kernel 0_AddF16Kernel. */
static struct ms_text kernel_of_path(struct ms_text path)
{
    const char *slash = memrchr(path.s, '/', path.length_b);
    if (slash == NULL) {
        return path;
    }
    size_t length_b = (size_t)(slash - path.s);
    const char *before = memrchr(path.s, '/', length_b);
    const char *name = before != NULL ? before + 1 : path.s;
    return (struct ms_text){.s = name, .length_b = (uint32_t)(slash - name)};
}

struct launch_kind {
    bool known;
    uint8_t event, type, level;
};

static const struct launch_kind launch_kinds[MS_R_LIMIT] = {
    [MS_R_OP_START] = {true, MS_EV_OP_LAUNCH, MS_TYPE_ATB_START, MS_WANT_OP},
    [MS_R_OP_END] = {true, MS_EV_OP_LAUNCH, MS_TYPE_ATB_END, MS_WANT_OP},
    [MS_R_OP_KERNEL_START] = {true, MS_EV_KERNEL_LAUNCH, MS_TYPE_KERNEL_START, MS_WANT_KERNEL},
    [MS_R_OP_KERNEL_END] = {true, MS_EV_KERNEL_LAUNCH, MS_TYPE_KERNEL_END, MS_WANT_KERNEL},
    [MS_R_KERNEL_LAUNCH] = {true, MS_EV_KERNEL_LAUNCH, MS_TYPE_KERNEL_LAUNCH, MS_WANT_KERNEL},
    [MS_R_KERNEL_EXECUTE] = {true, MS_EV_KERNEL_LAUNCH, MS_TYPE_KERNEL_EXECUTE_START, MS_WANT_KERNEL},
};

int ms__launch(struct ms_model *model, const struct ms_event *event)
{
    struct launch_kind kind = launch_kinds[event->kind];
    if (!kind.known) {
        return 0;
    }
    if (event->kind == MS_R_OP_START) {
        op_enter(model, event->tid, event->text);
    } else if (event->kind == MS_R_OP_END) {
        op_leave(model, event->tid);
    }
    if (!wants_launch(model, kind.level) || !ms__active(model, event->device)) {
        return 0;
    }
    if (kind.event == MS_EV_OP_LAUNCH) {
        notify_op(model, event, event->kind == MS_R_OP_START, true, event->text);
    }
    struct ms_row *row = ms__row(model, kind.event, kind.type, event, event->device);
    row->name = event->text;
    switch (event->kind) {
    case MS_R_KERNEL_LAUNCH:
        model->kernel_index++;
        ms__attr_number(row, MS_ATTR_STREAM_ID, (uint64_t)event->stream_id);
        ms__attr_number(row, MS_ATTR_TASK_ID, event->task_id);
        break;
    case MS_R_KERNEL_EXECUTE:
        row->type = event->end != 0 ? MS_TYPE_KERNEL_EXECUTE_END : MS_TYPE_KERNEL_EXECUTE_START;
        row->time_ns = event->time_ns; /* of the device */
        row->tid = MS_ID_NONE;
        ms__attr_number(row, MS_ATTR_STREAM_ID, (uint64_t)event->stream_id);
        ms__attr_number(row, MS_ATTR_TASK_ID, event->task_id);
        break;
    case MS_R_OP_START:
    case MS_R_OP_END:
        ms__attr_text(row, MS_ATTR_PATH, event->path.s, event->path.length_b);
        ms__attr_form(row, MS_ATTR_WORKSPACE_PTR, MS_FORM_PTR, event->addr);
        ms__attr_number(row, MS_ATTR_WORKSPACE_SIZE, event->size_b);
        break;
    default:
        if (row->name.length_b == 0) {
            row->name = kernel_of_path(event->path);
        }
        ms__attr_text(row, MS_ATTR_PATH, event->path.s, event->path.length_b);
        break;
    }
    ms__row_send(model, MS_WANT_LAUNCH);
    return 0;
}
