/* SPDX-License-Identifier: Apache-2.0 */
/* See inefficient_online.h. */
#include "memscope/analyze/inefficient_online.h"

#include "base/map.h"
#include "memscope/analyze/analysis.h"

#include <errno.h>
#include <stdlib.h>

struct ms_inefficient_online {
    struct ms_model *model;
    struct ms_inefficient counters;
    struct ms_map of; /* allocation id -> index in stamps */
    struct ms_stamps *stamps;
    size_t count, room;
    size_t free_head; /* index + 1 of the first free entry; entries are linked through malloc_api */
};

static struct ms_stamps *stamps_of(struct ms_inefficient_online *online, uint64_t allocation_id)
{
    const uint64_t *at = ms_map_get(&online->of, allocation_id);
    return at != NULL ? &online->stamps[*at] : NULL;
}

static int on_malloc(void *self, const struct ms_block *block, const struct ms_pool_state *pool)
{
    (void)pool;
    struct ms_inefficient_online *online = self;
    unsigned framework = ms_inefficient_framework(block->space);
    if (framework == MS_FRAMEWORK_NONE || block->shadow) {
        return 0; /* allocated while tracing was off: no event */
    }
    size_t at = online->free_head != 0 ? online->free_head - 1 : online->count;
    if (at == online->room) {
        size_t room = online->room != 0 ? online->room * 2 : 256;
        struct ms_stamps *stamps = realloc(online->stamps, room * sizeof(*stamps));
        if (stamps == NULL) {
            return -ENOMEM;
        }
        online->stamps = stamps;
        online->room = room;
    }
    bool added;
    if (ms_map_at(&online->of, block->allocation_id, at, &added) == NULL) {
        return -ENOMEM;
    }
    if (!added) { /* its free failed: the block lives on */
        return 0;
    }
    if (online->free_head != 0) {
        online->free_head = (size_t)online->stamps[at].malloc_api;
    } else {
        online->count++;
    }
    ms_inefficient_malloc(&online->counters, framework, &online->stamps[at]);
    return 0;
}

static int on_access(void *self, const struct ms_block *block, const struct ms_event *event)
{
    (void)event;
    struct ms_inefficient_online *online = self;
    unsigned framework = ms_inefficient_framework(block->space);
    struct ms_stamps unknown = {0}; /* counted, but not judged */
    if (framework == MS_FRAMEWORK_NONE) {
        return 0;
    }
    struct ms_stamps *stamps = stamps_of(online, block->allocation_id);
    if (ms_inefficient_access(&online->counters, framework, stamps != NULL ? stamps : &unknown) != 0) {
        ms_model_set_inefficient(online->model, block->allocation_id, stamps->found);
    }
    return 0;
}

static int on_free(void *self, const struct ms_block *block, enum ms_block_end how, const struct ms_pool_state *pool,
                   uint64_t time_ns)
{
    (void)pool;
    (void)time_ns;
    struct ms_inefficient_online *online = self;
    unsigned framework = ms_inefficient_framework(block->space);
    struct ms_stamps unknown = {0};
    uint64_t at;
    if (framework == MS_FRAMEWORK_NONE) {
        return 0;
    }
    if (!ms_map_remove(&online->of, block->allocation_id, &at)) {
        if (how == MS_END_FREE) {
            ms_inefficient_free(&online->counters, framework, &unknown);
        }
        return 0;
    }
    if (how == MS_END_FREE && ms_inefficient_free(&online->counters, framework, &online->stamps[at]) != 0) {
        ms_model_set_inefficient(online->model, block->allocation_id, online->stamps[at].found);
    }
    online->stamps[at].malloc_api = online->free_head;
    online->free_head = (size_t)at + 1;
    return 0;
}

static int on_op(void *self, const struct ms_op_info *op)
{
    struct ms_inefficient_online *online = self;
    ms_inefficient_op(&online->counters, op->atb ? (op->begins ? MS_TYPE_ATB_START : MS_TYPE_ATB_END)
                                                 : (op->begins ? MS_TYPE_ATEN_START : MS_TYPE_ATEN_END));
    return 0;
}

int ms_inefficient_online_new(struct ms_model *model, struct ms_inefficient_online **out)
{
    struct ms_inefficient_online *online = calloc(1, sizeof(*online));
    if (online == NULL) {
        return -ENOMEM;
    }
    online->model = model;
    online->counters.threshold = MS_IDLE_THRESHOLD;
    *out = online;
    return 0;
}

struct ms_consumer ms_inefficient_online_consumer(struct ms_inefficient_online *online)
{
    return (struct ms_consumer){
        .self = online, .on_op = on_op, .on_malloc = on_malloc, .on_access = on_access, .on_free = on_free};
}

void ms_inefficient_online_free(struct ms_inefficient_online *online)
{
    if (online != NULL) {
        ms_map_free(&online->of);
        free(online->stamps);
        free(online);
    }
}

static int open_analysis(const struct ms_analysis_context *context, void **self, struct ms_consumer *consumer)
{
    struct ms_inefficient_online *online;
    int rc = ms_inefficient_online_new(context->model, &online);
    if (rc == 0) {
        *self = online;
        *consumer = ms_inefficient_online_consumer(online);
    }
    return rc;
}

static void close_analysis(void *self)
{
    ms_inefficient_online_free(self);
}

const struct ms_analysis ms_inefficient_online_analysis = {
    .bits = MS_ANALYSIS_INEFFICIENT, .when = MS_WHEN_ROWS, .open = open_analysis, .close = close_analysis};
