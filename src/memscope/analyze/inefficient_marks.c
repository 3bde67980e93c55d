/* SPDX-License-Identifier: Apache-2.0 */
/* See inefficient_marks.h. */
#include "memscope/analyze/inefficient_marks.h"

#include "base/map.h"
#include "memscope/analyze/analysis.h"

#include <errno.h>
#include <stdlib.h>

struct ms_inefficient_marks {
    struct ms_model *model;
    struct ms_inefficient counters;
    struct ms_map of; /* allocation id -> index in stamps */
    struct ms_stamps *stamps;
    size_t count, room;
    size_t free_head; /* index + 1 of the first free entry; entries are linked through malloc_api */
};

static struct ms_stamps *stamps_of(struct ms_inefficient_marks *marks, uint64_t allocation_id)
{
    const uint64_t *at = ms_map_get(&marks->of, allocation_id);
    return at != NULL ? &marks->stamps[*at] : NULL;
}

static int on_malloc(void *self, const struct ms_block *block, const struct ms_pool_state *pool)
{
    (void)pool;
    struct ms_inefficient_marks *marks = self;
    unsigned framework = ms_inefficient_framework(block->space);
    if (framework == MS_FRAMEWORK_NONE || block->shadow) {
        return 0; /* allocated while tracing was off: no event */
    }
    size_t at = marks->free_head != 0 ? marks->free_head - 1 : marks->count;
    if (at == marks->room) {
        size_t room = marks->room != 0 ? marks->room * 2 : 256;
        struct ms_stamps *stamps = realloc(marks->stamps, room * sizeof(*stamps));
        if (stamps == NULL) {
            return -ENOMEM;
        }
        marks->stamps = stamps;
        marks->room = room;
    }
    bool added;
    if (ms_map_at(&marks->of, block->allocation_id, at, &added) == NULL) {
        return -ENOMEM;
    }
    if (!added) { /* its free failed: the block lives on */
        return 0;
    }
    if (marks->free_head != 0) {
        marks->free_head = (size_t)marks->stamps[at].malloc_api;
    } else {
        marks->count++;
    }
    ms_inefficient_malloc(&marks->counters, framework, &marks->stamps[at]);
    return 0;
}

static int on_access(void *self, const struct ms_block *block, const struct ms_event *event)
{
    (void)event;
    struct ms_inefficient_marks *marks = self;
    unsigned framework = ms_inefficient_framework(block->space);
    struct ms_stamps unknown = {0}; /* counted, but not judged */
    if (framework == MS_FRAMEWORK_NONE) {
        return 0;
    }
    struct ms_stamps *stamps = stamps_of(marks, block->allocation_id);
    if (ms_inefficient_access(&marks->counters, framework, stamps != NULL ? stamps : &unknown) != 0) {
        ms_model_inefficient(marks->model, block, stamps->found);
    }
    return 0;
}

static int on_free(void *self, const struct ms_block *block, enum ms_block_end how, const struct ms_pool_state *pool,
                   uint64_t time_ns)
{
    (void)pool;
    (void)time_ns;
    struct ms_inefficient_marks *marks = self;
    unsigned framework = ms_inefficient_framework(block->space);
    struct ms_stamps unknown = {0};
    uint64_t at;
    if (framework == MS_FRAMEWORK_NONE) {
        return 0;
    }
    if (!ms_map_remove(&marks->of, block->allocation_id, &at)) {
        if (how == MS_END_FREE) {
            ms_inefficient_free(&marks->counters, framework, &unknown);
        }
        return 0;
    }
    if (how == MS_END_FREE && ms_inefficient_free(&marks->counters, framework, &marks->stamps[at]) != 0) {
        ms_model_inefficient(marks->model, block, marks->stamps[at].found);
    }
    marks->stamps[at].malloc_api = marks->free_head;
    marks->free_head = (size_t)at + 1;
    return 0;
}

static int on_op(void *self, const struct ms_op_info *op)
{
    struct ms_inefficient_marks *marks = self;
    ms_inefficient_op(&marks->counters, op->atb ? (op->begins ? MS_TYPE_ATB_START : MS_TYPE_ATB_END)
                                                : (op->begins ? MS_TYPE_ATEN_START : MS_TYPE_ATEN_END));
    return 0;
}

int ms_inefficient_marks_new(struct ms_model *model, struct ms_inefficient_marks **out)
{
    struct ms_inefficient_marks *marks = calloc(1, sizeof(*marks));
    if (marks == NULL) {
        return -ENOMEM;
    }
    marks->model = model;
    marks->counters.threshold = MS_IDLE_THRESHOLD;
    *out = marks;
    return 0;
}

struct ms_consumer ms_inefficient_marks_consumer(struct ms_inefficient_marks *marks)
{
    return (struct ms_consumer){
        .self = marks, .on_op = on_op, .on_malloc = on_malloc, .on_access = on_access, .on_free = on_free};
}

void ms_inefficient_marks_free(struct ms_inefficient_marks *marks)
{
    if (marks != NULL) {
        ms_map_free(&marks->of);
        free(marks->stamps);
        free(marks);
    }
}

static int open_analysis(const struct ms_analysis_context *context, void **self, struct ms_consumer *consumer)
{
    struct ms_inefficient_marks *marks;
    int rc = ms_inefficient_marks_new(context->model, &marks);
    if (rc == 0) {
        *self = marks;
        *consumer = ms_inefficient_marks_consumer(marks);
    }
    return rc;
}

static void close_analysis(void *self)
{
    ms_inefficient_marks_free(self);
}

const struct ms_analysis ms_inefficient_marks_analysis = {
    .bits = MS_ANALYSIS_INEFFICIENT, .when = MS_WHEN_ROWS, .open = open_analysis, .close = close_analysis};
