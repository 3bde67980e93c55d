/* SPDX-License-Identifier: Apache-2.0 */
/* The model's interface: options, devices, tracing state, and dispatch of events. */
#include "memscope/model/model_internal.h"

#include "base/macros.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- options ---- */

static bool device_wanted(const struct ms_model_options *options, uint32_t device)
{
    if (device == MS_DEV_UNKNOWN) {
        return true;
    }
    if (device == MS_DEV_CPU) {
        return options->cpu;
    }
    return options->all_npu || (device < 64 && (options->npu_mask >> device & 1) != 0);
}

static void use_options(struct ms_model *model)
{
    struct ms_model_options *options = &model->options;
    if (options->step_count > MS_MODEL_STEPS_MAX) {
        options->step_count = MS_MODEL_STEPS_MAX;
    }
    model->collect = ms_events_implied(options->events, options->analysis);
    model->dump = options->events_only ? options->events : model->collect;
    for (uint32_t i = 0; i < model->device_count; i++) {
        model->devices[i]->wanted = device_wanted(options, model->devices[i]->device);
    }
}

static int apply_config(struct ms_model *model, const struct ms_event *event)
{
    struct ms_model_options options = model->options;
    if (options.parse_config != NULL &&
        options.parse_config(options.config_argument, event->text.s, event->text.length_b, &options)) {
        model->options = options;
        use_options(model);
        ms__update_activity(model, event);
    }
    return 0;
}

/* ---- devices ---- */

bool ms__is_wanted(struct ms_model *model, uint32_t device)
{
    struct ms_device *entry = ms__device(model, device);
    return entry != NULL && entry->wanted && model->tracing && ms__step_wanted(model, device);
}

struct ms_device *ms__device(struct ms_model *model, uint32_t device)
{
    if (model->device_count != 0 && model->devices[model->device_last]->device == device) {
        return model->devices[model->device_last];
    }
    for (uint32_t i = 0; i < model->device_count; i++) {
        if (model->devices[i]->device == device) {
            model->device_last = i;
            return model->devices[i];
        }
    }
    struct ms_device *entry = calloc(1, sizeof(*entry));
    struct ms_device **devices = realloc(model->devices, (model->device_count + 1) * sizeof(struct ms_device *));
    if (devices != NULL) {
        model->devices = devices;
    }
    if (entry == NULL || devices == NULL) {
        free(entry);
        return NULL;
    }
    entry->device = device;
    entry->wanted = device_wanted(&model->options, device);
    devices[model->device_count] = entry;
    model->device_last = model->device_count++;
    entry->active = ms__is_wanted(model, device);
    if (device < 64) {
        model->stats.devices |= 1ull << device;
    }
    return entry;
}

bool ms__active(struct ms_model *model, uint32_t device)
{
    struct ms_device *entry = ms__device(model, device);
    return entry != NULL && entry->active;
}

void ms__update_activity(struct ms_model *model, const struct ms_event *event)
{
    for (uint32_t i = 0; i < model->device_count; i++) {
        struct ms_device *entry = model->devices[i];
        bool active = ms__is_wanted(model, entry->device);
        bool rises = active && !entry->active;
        entry->active = active;
        if (rises) {
            ms__promote(model, entry->device, event);
        }
    }
}

static int usage(struct ms_model *model, const struct ms_event *event)
{
    struct ms_device *entry = ms__device(model, event->device);
    if (entry == NULL) {
        return -ENOMEM;
    }
    entry->usage_known = true;
    entry->usage_device_b = event->device_used_b;
    entry->usage_process_b = event->process_used_b;
    entry->usage_total_b = event->total_b;
    return 0;
}

/* ---- system ---- */

static void system_row(struct ms_model *model, const struct ms_event *event, enum ms_row_type type)
{
    ms__row(model, MS_EV_SYSTEM, type, event, MS_DEV_UNKNOWN);
    if (type == MS_TYPE_START_TRACE) {
        const struct ms_device *first = NULL; /* the one with the smallest number whose memory is known */
        for (uint32_t i = 0; i < model->device_count; i++) {
            const struct ms_device *entry = model->devices[i];
            if (entry->usage_known && entry->device < MS_DEV_UNKNOWN &&
                (first == NULL || entry->device < first->device)) {
                first = entry;
            }
        }
        if (first != NULL && first->usage_total_b >= first->usage_device_b) {
            ms__attr_number(&model->row, MS_ATTR_FREE, first->usage_total_b - first->usage_device_b);
            ms__attr_number(&model->row, MS_ATTR_TOTAL, first->usage_total_b);
        }
    } else if (type == MS_TYPE_STEP) {
        int length_b = snprintf(model->scratch, sizeof(model->scratch), "%llu", (unsigned long long)event->value);
        model->row.name = (struct ms_text){.s = model->scratch, .length_b = (uint32_t)length_b};
    }
    ms__row_send(model, 0);
}

static int start(struct ms_model *model, const struct ms_event *event)
{
    model->tracing = true;
    system_row(model, event, MS_TYPE_START_TRACE);
    ms__update_activity(model, event);
    return 0;
}

static int stop(struct ms_model *model, const struct ms_event *event)
{
    if (event->value == MS_STOP_GOES_ON) {
        MS__CALL(model, on_stop, MS__SELF);
        return 0;
    }
    if (model->tracing) {
        system_row(model, event, MS_TYPE_STOP_TRACE);
    }
    model->tracing = false;
    model->stop_ns = event->time_ns;
    for (uint32_t i = 0; i < model->thread_count; i++) {
        model->threads[i].op_depth = 0; /* the ends of running operators will not be recorded */
    }
    ms__update_activity(model, event);
    MS__CALL(model, on_stop, MS__SELF);
    return 0;
}

static int gap(struct ms_model *model, const struct ms_event *event)
{
    model->stats.gaps++;
    model->stats.lost += event->gap.lost;
    uint64_t lost_memory = event->gap.lost_alloc + event->gap.lost_free; /* an upper bound if the kinds are unknown */
    model->stats.lost_memory += lost_memory < event->gap.lost ? lost_memory : event->gap.lost;
    bool memory = event->gap.lost_alloc != 0 || event->gap.lost_free != 0 || event->gap.lost == 0;
    if (memory && model->stats.uncertain_since_ns == 0) {
        model->stats.uncertain_since_ns = event->gap.since_ns;
    }
    MS__CALL(model, on_gap, MS__SELF, event);
    return 0;
}

static int slice(struct ms_model *model, const struct ms_event *event)
{
    if (!model->tracing) {
        return 0;
    }
    struct ms_slice s = {
        .start_ns = event->slice_start_ns,
        .end_ns = event->slice_end_ns,
        .pid = model->pid,
        .tid = event->tid,
        .device = event->device,
        .function = event->text,
    };
    MS__CALL(model, on_slice, MS__SELF, &s);
    return 0;
}

static int acl(struct ms_model *model, const struct ms_event *event)
{
    if (ms__active(model, MS_DEV_UNKNOWN)) {
        system_row(model, event, event->kind == MS_R_ACL_INIT ? MS_TYPE_ACL_INIT : MS_TYPE_ACL_FINI);
    }
    return 0;
}

static int step(struct ms_model *model, const struct ms_event *event)
{
    if (model->tracing) {
        system_row(model, event, MS_TYPE_STEP);
        ms__step_api(model, event);
        ms__update_activity(model, event);
    }
    return 0;
}

static int watch(struct ms_model *model, const struct ms_event *event)
{
    if (ms__active(model, event->device)) {
        MS__CALL(model, on_watch, MS__SELF, event);
    }
    return 0;
}

/* The agent logs only what it could not record: a warning. */
static int log_line(struct ms_model *model, const struct ms_event *event)
{
    ms__note(model, 2, "%.*s", (int)event->text.length_b, event->text.s);
    return 0;
}

static int access_of_pool(struct ms_model *model, const struct ms_event *event)
{
    return ms__access(model, event, ms__space_of_pool(event->pool), event->type);
}

/* ---- dispatch ---- */

/* NULL: the model ignores the kind. */
static int (*const handlers[MS_R_LIMIT])(struct ms_model *model, const struct ms_event *event) = {
    [MS_R_HAL_ALLOC] = ms__memory_event,
    [MS_R_HAL_FREE] = ms__memory_event,
    [MS_R_HAL_FREE_FAILED] = ms__memory_event,
    [MS_R_HAL_CREATE] = ms__memory_event,
    [MS_R_HAL_RELEASE] = ms__memory_event,
    [MS_R_HAL_RELEASE_FAILED] = ms__memory_event,
    [MS_R_HOST_REGISTER] = ms__memory_event,
    [MS_R_HOST_UNREGISTER] = ms__memory_event,
    [MS_R_HOST_UNREGISTER_FAILED] = ms__memory_event,
    [MS_R_POOL_ALLOC] = ms__memory_event,
    [MS_R_POOL_FREE] = ms__memory_event,
    [MS_R_POOL_TOTAL] = ms__pool_total,
    [MS_R_HEAP_ADD] = ms__pool_heap,
    [MS_R_HEAP_SUB] = ms__pool_heap,
    [MS_R_RESERVE] = ms__segment_event,
    [MS_R_ADDRESS_FREE] = ms__segment_event,
    [MS_R_ADDRESS_FREE_FAILED] = ms__segment_event,
    [MS_R_MAP] = ms__segment_event,
    [MS_R_UNMAP] = ms__segment_event,
    [MS_R_UNMAP_FAILED] = ms__segment_event,
    [MS_R_ACCESS] = access_of_pool,
    [MS_R_MARK] = ms__mark,
    [MS_R_RANGE_START] = ms__range_start,
    [MS_R_RANGE_END] = ms__range_end,
    [MS_R_KERNEL_LAUNCH] = ms__launch,
    [MS_R_KERNEL_EXECUTE] = ms__launch,
    [MS_R_OP_START] = ms__launch,
    [MS_R_OP_END] = ms__launch,
    [MS_R_OP_KERNEL_START] = ms__launch,
    [MS_R_OP_KERNEL_END] = ms__launch,
    [MS_R_LABEL_PUSH] = ms__label_event,
    [MS_R_LABEL_POP] = ms__label_event,
    [MS_R_ADDR_LABEL] = ms__label_event,
    [MS_R_SNAPSHOT] = ms__snapshot,
    [MS_R_OOM] = ms__oom,
    [MS_R_ACL_INIT] = acl,
    [MS_R_ACL_FINI] = acl,
    [MS_R_STEP] = step,
    [MS_R_START] = start,
    [MS_R_STOP] = stop,
    [MS_R_CONFIG] = apply_config,
    [MS_R_SLICE] = slice,
    [MS_R_WATCH] = watch,
    [MS_R_USAGE] = usage,
    [MS_R_GAP] = gap,
    [MS_R_LOG] = log_line,
};

int ms__process(struct ms_model *model, const struct ms_event *event)
{
    return event->kind < MS_R_LIMIT && handlers[event->kind] != NULL ? handlers[event->kind](model, event) : 0;
}

int ms_model_feed(struct ms_model *model, const struct ms_event *event)
{
    if (model->ended) {
        return -EINVAL;
    }
    model->error = 0;
    model->stats.events++;
    model->pid = event->pid;
    int rc;
    if (MS_LIKELY(model->held_end == 0)) {
        rc = ms__process(model, event);
        if (rc == MS_HOLD) {
            rc = ms__hold(model, event);
        }
    } else {
        rc = ms__hold(model, event);
        if (rc == 0) { /* STOP completes the files in any case */
            rc = ms__release(model, event->order != MS_ORDER_DEVICE ? event->time_ns : 0, event->kind == MS_R_STOP);
        }
    }
    return rc != 0 ? rc : model->error;
}

/* Events that wait for their free go on waiting: releasing them because the reader has caught up would make live rows
 * differ from those of a later reading. */
int ms_model_flush(struct ms_model *model)
{
    model->error = 0;
    int rc = ms__release(model, 0, false);
    return rc != 0 ? rc : model->error;
}

int ms_model_end(struct ms_model *model)
{
    if (model->ended) {
        return -EINVAL;
    }
    model->error = 0;
    int rc = ms__release(model, 0, true);
    MS__CALL(model, on_end, MS__SELF);
    ms__end_blocks(model);
    MS__CALL(model, on_close, MS__SELF);
    model->ended = true;
    return rc != 0 ? rc : model->error;
}

/* ---- creation and destruction ---- */

static void free_state(struct ms_model *model)
{
    ms__held_free(model);
    ms__blocks_free(&model->blocks);
    ms__segments_free(&model->segments);
    for (uint32_t i = 0; i < model->device_count; i++) {
        free(model->devices[i]);
    }
    free(model->devices);
    free(model->pools);
    ms_intern_free(&model->texts);
    ms_intern_free(&model->owner_sets);
    free(model->owner_texts);
    ms_map_free(&model->thread_of_tid);
    free(model->threads);
    ms_map_free(&model->heap_of_addr);
    free(model->heaps);
    free(model->freed);
}

void ms__clear(struct ms_model *model, const struct ms_model_options *options)
{
    struct ms_consumer *consumers = model->consumers;
    unsigned count = model->consumer_count;
    struct ms_model_options kept = options != NULL ? *options : model->options;
    free_state(model);
    memset(model, 0, sizeof(*model));
    model->consumers = consumers;
    model->consumer_count = count;
    model->options = kept;
    model->tracing = !kept.deferred;
    model->step_leader = MS_DEV_UNKNOWN;
    use_options(model);
}

int ms_model_new(const struct ms_model_options *options, struct ms_model **out)
{
    static const struct ms_model_options initial = MS_MODEL_OPTIONS_DEFAULT;
    struct ms_model *model = calloc(1, sizeof(*model));
    if (model == NULL) {
        return -ENOMEM;
    }
    ms__clear(model, options != NULL ? options : &initial);
    *out = model;
    return 0;
}

void ms_model_free(struct ms_model *model)
{
    if (model != NULL) {
        free_state(model);
        free(model->consumers);
        free(model);
    }
}

int ms_model_add(struct ms_model *model, const struct ms_consumer *consumer)
{
    struct ms_consumer *more = realloc(model->consumers, (model->consumer_count + 1) * sizeof(*more));
    if (more == NULL) {
        return -ENOMEM;
    }
    model->consumers = more;
    model->consumers[model->consumer_count++] = *consumer;
    return 0;
}

void ms__keep_error(struct ms_model *model, int rc)
{
    if (rc != 0 && model->error == 0) {
        model->error = rc;
    }
}

void ms__note(struct ms_model *model, int level, const char *format, ...)
{
    if (model->options.log == NULL) {
        return;
    }
    char line[512];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    model->options.log(model->options.argument, level, line);
}

/* ---- queries ---- */

bool ms_model_active(struct ms_model *model)
{
    bool active = model->tracing && ms__step_wanted(model, MS_DEV_UNKNOWN);
    for (uint32_t i = 0; i < model->device_count; i++) {
        active = active || model->devices[i]->active;
    }
    return active;
}

void ms_model_stats(const struct ms_model *model, struct ms_model_stats *out)
{
    *out = model->stats;
    out->rows = model->next_row;
    out->blocks = model->last_allocation;
    out->live = model->blocks.count;
    out->last_ns = model->last_ns;
    out->pid = model->pid;
    out->steps_by_mstx = model->step_source == MS_STEPS_MSTX;
    out->steps_by_api = model->step_source == MS_STEPS_API;
    out->memory_b = sizeof(*model) + ms__blocks_memory(&model->blocks) + model->texts.memory_b +
                    model->owner_sets.memory_b + model->thread_room * sizeof(struct ms_thread_state) +
                    ms_map_memory(&model->thread_of_tid) + ms_btree_memory(&model->segments.map_tree) +
                    ms_btree_memory(&model->segments.reserve_tree) +
                    model->segments.map_room * sizeof(struct ms_map_entry) +
                    model->segments.reserve_room * sizeof(struct ms_reserve_entry) +
                    (model->freed != NULL ? MS_FREED_KEPT * sizeof(struct ms_block) : 0);
}

bool ms_model_usage(const struct ms_model *model, uint32_t device, struct ms_usage *out)
{
    for (uint32_t i = 0; i < model->device_count; i++) {
        const struct ms_device *entry = model->devices[i];
        if (entry->device == device && entry->usage_known) {
            *out = (struct ms_usage){entry->usage_device_b, entry->usage_process_b, entry->usage_total_b};
            return true;
        }
    }
    return false;
}

void ms_model_set_inefficient(struct ms_model *model, uint64_t allocation_id, uint8_t found)
{
    struct ms_block *block = model->reported;
    if (block != NULL && block->allocation_id == allocation_id) {
        block->inefficient = found;
        MS__CALL(model, on_late, MS__SELF, block);
    }
}

int ms_model_blocks(const struct ms_model *model, bool newest_first, ms_block_fn fn, void *argument)
{
    uint32_t n = newest_first ? model->blocks.newest : model->blocks.oldest;
    while (n != 0) {
        const struct ms_block *block = ms__block(&model->blocks, n);
        int rc = fn(argument, block);
        if (rc != 0) {
            return rc;
        }
        n = newest_first ? block->older : block->newer;
    }
    return 0;
}

const struct ms_block *ms_model_find(struct ms_model *model, enum ms_space space, uint32_t device, uint64_t addr)
{
    uint32_t number = ms__blocks_containing(&model->blocks, space, device, addr);
    return number != 0 ? ms__block(&model->blocks, number) : NULL;
}
