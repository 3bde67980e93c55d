/* SPDX-License-Identifier: Apache-2.0 */
/* Models as text: JSON into a file for people and tools, one line per task into the log.
 *
 * Threads and locks: the model's lock while it is printed.
 *
 * Failure policy: 107009 if the file cannot be opened, 107010 if it cannot be written. */
#include "softnpu/runtime/model_internal.h"

#include "base/dlog_pub.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *type_name(uint32_t type)
{
    static const char *const names[] = {"DEFAULT",     "KERNEL",      "EVENT_RECORD", "EVENT_WAIT",
                                        "EVENT_RESET", "VALUE_WRITE", "VALUE_WAIT"};
    return type < MS_COUNT_OF(names) ? names[type] : "UNKNOWN";
}

/* Escapes names, which come from programs. */
static void put_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (const unsigned char *p = (const unsigned char *)text; *p != '\0'; p++) {
        if (*p == '"' || *p == '\\') {
            fprintf(out, "\\%c", *p);
        } else if (*p < 0x20) {
            fprintf(out, "\\u%04x", *p);
        } else {
            fputc(*p, out);
        }
    }
    fputc('"', out);
}

static void describe_task(const struct model_node *node, const char **name, uint16_t *blocks, uint16_t *args_b)
{
    const struct snpu_task *task = &node->rec->task;
    uint32_t prof_type;
    *name = task->kind->name;
    *blocks = *args_b = 0;
    if (task->kind->track != NULL) {
        task->kind->track(task->payload, name, &prof_type, blocks, args_b);
    }
}

static void put_task(FILE *out, const struct model_node *node, bool verbose)
{
    const char *name;
    uint16_t blocks, args_b;
    describe_task(node, &name, &blocks, &args_b);
    fprintf(out, "{\"seq\": %u, \"id\": %u, \"type\": \"%s\", \"name\": ", node->seq, node->index,
            type_name(node->rec->task.kind->ri_type));
    put_string(out, name);
    if (node->disabled) {
        fputs(", \"disabled\": true", out);
    }
    if (node->wait_lane != SNPU_NO_LANE) {
        fprintf(out, ", \"after\": {\"stream\": %u, \"id\": %u}", node->model->lanes[node->wait_lane].stream->id,
                node->wait_index);
    }
    if (verbose) {
        fprintf(out, ", \"kind\": \"%s\", \"blocks\": %u, \"args\": %u, \"payload\": %u, \"group\": %s",
                node->rec->task.kind->name, blocks, args_b, node->rec->task.payload_b,
                node->group != NULL ? "true" : "false");
    }
    fputc('}', out);
}

static void put_model(FILE *out, struct snpu_model *model, bool verbose)
{
    pthread_mutex_lock(&model->lock);
    fprintf(out, "{\"model\": %u, \"name\": ", model->id);
    put_string(out, model->name);
    fprintf(out, ", \"device\": %d, \"streams\": [", model->ctx->user_dev);
    for (uint32_t l = 0; l < model->lane_count; l++) {
        const struct model_lane *lane = &model->lanes[l];
        fprintf(out, "%s\n  {\"stream\": %u, \"tasks\": [", l > 0 ? "," : "", lane->stream->id);
        for (uint32_t i = 0; i < lane->count; i++) {
            fputs(i > 0 ? ",\n    " : "\n    ", out);
            put_task(out, lane->nodes[i], verbose);
        }
        fputs("]}", out);
    }
    fputs("], \"bodies\": [", out);
    for (uint32_t i = 0; i < model->body_count; i++) {
        fputs(i > 0 ? ", " : "", out);
        put_model(out, model->bodies[i], verbose);
    }
    fputs("]}", out);
    pthread_mutex_unlock(&model->lock);
}

static void log_model(struct snpu_model *model)
{
    pthread_mutex_lock(&model->lock);
    for (uint32_t l = 0; l < model->lane_count; l++) {
        const struct model_lane *lane = &model->lanes[l];
        for (uint32_t i = 0; i < lane->count; i++) {
            const char *name;
            uint16_t blocks, args_b;
            describe_task(lane->nodes[i], &name, &blocks, &args_b);
            DlogInnerForC(RUNTIME, DLOG_INFO, "model %u (%s) stream %u task %u: %s %s", model->id, model->name,
                          lane->stream->id, i, type_name(lane->nodes[i]->rec->task.kind->ri_type), name);
        }
    }
    pthread_mutex_unlock(&model->lock);
}

int32_t snpu_model_print(const char *function, void *handle, const char *path, bool verbose)
{
    struct snpu_model *model;
    int32_t ret = snpu__model_resolve(function, handle, &model);
    if (ret != 0) {
        return ret;
    }
    if (path == NULL) {
        log_model(model);
        return 0;
    }
    FILE *out = fopen(path, "we");
    if (out == NULL) {
        return snpu_fail(ACL_ERROR_RT_FILE_OPEN, "%s: %s: %s", function, path, strerror(errno));
    }
    put_model(out, model, verbose);
    fputc('\n', out);
    bool bad = ferror(out) != 0;
    bad |= fclose(out) != 0;
    return bad ? snpu_fail(ACL_ERROR_RT_FILE_WRITE, "%s: %s: %s", function, path, strerror(errno)) : 0;
}
