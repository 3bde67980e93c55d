/* SPDX-License-Identifier: Apache-2.0 */
/* See fluctuation.h. A pool's allocated bytes are checked after each allocation and free within a step; at the end of
 * the step, the minimum divided by the maximum is its ratio. Memory: one entry per device and pool. */
#include "memscope/analyze/fluctuation.h"

#include "memscope/analyze/analysis.h"
#include "memscope/analyze/note.h"
#include "memscope/analyze/pools.h"

#include <errno.h>
#include <stdlib.h>

struct extreme {
    double ratio;
    uint64_t least_b;
    uint32_t step; /* 0: none yet */
};

struct pool_fluctuation {
    uint32_t device;
    uint8_t space;
    bool touched; /* in this step */
    uint64_t least_b, most_b, start_b, used_b;
    struct extreme smallest, largest;
};

struct ms_fluctuation {
    struct ms_fluctuation_options options;
    struct pool_fluctuation *pools;
    uint32_t pool_count, pool_last;
};

static struct pool_fluctuation *pool_of(struct ms_fluctuation *fluctuation, uint32_t device, uint8_t space)
{
    if (fluctuation->pool_count != 0) {
        struct pool_fluctuation *last = &fluctuation->pools[fluctuation->pool_last];
        if (last->device == device && last->space == space) {
            return last;
        }
    }
    for (uint32_t i = 0; i < fluctuation->pool_count; i++) {
        if (fluctuation->pools[i].device == device && fluctuation->pools[i].space == space) {
            fluctuation->pool_last = i;
            return &fluctuation->pools[i];
        }
    }
    struct pool_fluctuation *pools = realloc(fluctuation->pools, (fluctuation->pool_count + 1) * sizeof(*pools));
    if (pools == NULL) {
        return NULL;
    }
    fluctuation->pools = pools;
    pools[fluctuation->pool_count] = (struct pool_fluctuation){.device = device, .space = space};
    fluctuation->pool_last = fluctuation->pool_count;
    return &pools[fluctuation->pool_count++];
}

static int look(struct ms_fluctuation *fluctuation, const struct ms_block *block, const struct ms_pool_state *state)
{
    if (ms_step_pool_name(block->space) == NULL) {
        return 0;
    }
    struct pool_fluctuation *pool = pool_of(fluctuation, block->device, block->space);
    if (pool == NULL) {
        return -ENOMEM;
    }
    pool->used_b = state->used_b;
    if (ms_model_step(fluctuation->options.model, block->device) <= 1) {
        return 0;
    }
    if (!pool->touched || state->used_b < pool->least_b) {
        pool->least_b = state->used_b;
    }
    if (!pool->touched || state->used_b > pool->most_b) {
        pool->most_b = state->used_b;
    }
    pool->touched = true;
    return 0;
}

static int on_malloc(void *self, const struct ms_block *block, const struct ms_pool_state *pool)
{
    return look(self, block, pool);
}

static int on_free(void *self, const struct ms_block *block, enum ms_block_end how, const struct ms_pool_state *pool,
                   uint64_t time_ns)
{
    (void)time_ns;
    return how == MS_END_EXIT ? 0 : look(self, block, pool);
}

static void end_step(struct ms_fluctuation *fluctuation, struct pool_fluctuation *pool, uint32_t step)
{
    const char *name = ms_step_pool_name(pool->space);
    ms_note(fluctuation->options.log, fluctuation->options.argument, 1,
            "[%s][step %u][end]: ------End totalAllocated (%s): %llu------", ms_device_text("npu ", pool->device).s,
            step, name, (unsigned long long)pool->used_b);
    if (step <= 1) {
        return;
    }
    ms_note(fluctuation->options.log, fluctuation->options.argument, 1, "------%s (%s)------",
            pool->used_b == pool->start_b ? "No leaks" : "leaks", name);
    if (!pool->touched || pool->most_b == 0) {
        ms_note(fluctuation->options.log, fluctuation->options.argument, 2,
                "[%s][step %u]: nothing was allocated in %s, the step is skipped",
                ms_device_text("npu ", pool->device).s, step, name);
    } else {
        struct extreme now = {
            .ratio = (double)pool->least_b / (double)pool->most_b, .least_b = pool->least_b, .step = step};
        if (pool->largest.step == 0 || now.ratio > pool->largest.ratio) {
            ms_note(fluctuation->options.log, fluctuation->options.argument, 2,
                    "[%s][step %u]: Min/Max Allocated memory largest gap increases to %f, last is %f",
                    ms_device_text("npu ", pool->device).s, step, now.ratio, pool->largest.ratio);
            pool->largest = now;
        }
        if (pool->smallest.step == 0 || now.ratio < pool->smallest.ratio) {
            ms_note(fluctuation->options.log, fluctuation->options.argument, 2,
                    "[%s][step %u]: Min/Max Allocated memory smallest gap decreases to %f, last is %f",
                    ms_device_text("npu ", pool->device).s, step, now.ratio, pool->smallest.ratio);
            pool->smallest = now;
        }
    }
    pool->touched = false;
}

static int on_step(void *self, const struct ms_step_info *step)
{
    struct ms_fluctuation *fluctuation = self;
    for (uint32_t i = 0; i < fluctuation->pool_count; i++) {
        struct pool_fluctuation *pool = &fluctuation->pools[i];
        if (pool->device != step->device) {
            continue;
        }
        if (step->begins) {
            pool->start_b = pool->used_b;
            ms_note(fluctuation->options.log, fluctuation->options.argument, 1,
                    "[%s][step %u][start]: ------Start totalAllocated (%s): %llu------",
                    ms_device_text("npu ", pool->device).s, step->step, ms_step_pool_name(pool->space),
                    (unsigned long long)pool->used_b);
        } else {
            end_step(fluctuation, pool, step->step);
        }
    }
    return 0;
}

static void print_line(FILE *out, const char *name, const struct extreme *extreme)
{
    fprintf(out, "%s\t%-25.4f%-25.4f%-25u\n", name, extreme->ratio * 100.0, MS_MB(extreme->least_b), extreme->step);
}

static int on_end(void *self)
{
    struct ms_fluctuation *fluctuation = self;
    FILE *out = fluctuation->options.out;
    for (uint32_t i = 0; out != NULL && i < fluctuation->pool_count; i++) {
        const struct pool_fluctuation *pool = &fluctuation->pools[i];
        if (pool->smallest.step != 0) {
            fprintf(out, "======= %s Gap Analysis of Device %s =======\n", ms_step_pool_name(pool->space),
                    ms_device_text("", pool->device).s);
            fprintf(out, "\t%-25s%-25s%-25s\n", "MinAlloc/MaxAlloc(%)", "MinAllocMem(MB)", "StepId");
            print_line(out, "MinGap", &pool->smallest);
            print_line(out, "MaxGap", &pool->largest);
        }
    }
    return out != NULL && fflush(out) != 0 ? -errno : 0;
}

int ms_fluctuation_new(const struct ms_fluctuation_options *options, struct ms_fluctuation **out)
{
    if (options->model == NULL) {
        return -EINVAL;
    }
    struct ms_fluctuation *fluctuation = calloc(1, sizeof(*fluctuation));
    if (fluctuation == NULL) {
        return -ENOMEM;
    }
    fluctuation->options = *options;
    *out = fluctuation;
    return 0;
}

struct ms_consumer ms_fluctuation_consumer(struct ms_fluctuation *fluctuation)
{
    return (struct ms_consumer){
        .self = fluctuation, .on_malloc = on_malloc, .on_free = on_free, .on_step = on_step, .on_end = on_end};
}

void ms_fluctuation_free(struct ms_fluctuation *fluctuation)
{
    if (fluctuation != NULL) {
        free(fluctuation->pools);
        free(fluctuation);
    }
}

static int open_analysis(const struct ms_analysis_context *context, void **self, struct ms_consumer *consumer)
{
    struct ms_fluctuation_options options = {
        .model = context->model, .out = context->report, .log = context->log, .argument = context->argument};
    struct ms_fluctuation *fluctuation;
    int rc = ms_fluctuation_new(&options, &fluctuation);
    if (rc == 0) {
        *self = fluctuation;
        *consumer = ms_fluctuation_consumer(fluctuation);
    }
    return rc;
}

static void close_analysis(void *self)
{
    ms_fluctuation_free(self);
}

const struct ms_analysis ms_fluctuation_analysis = {.bits = MS_ANALYSIS_LEAKS | MS_ANALYSIS_OOM,
                                                    .when = MS_WHEN_REPORTS | MS_WHEN_ALL_STEPS,
                                                    .open = open_analysis,
                                                    .close = close_analysis};
