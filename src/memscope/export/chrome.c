/* SPDX-License-Identifier: Apache-2.0 */
/* See chrome.h. Times are microseconds since shortly before the first event, so that a double can represent
 * nanoseconds; baseTimeNanoseconds is the origin. Begin and end of ranges, operators and kernels are joined into
 * complete events ("X"), which every viewer can nest; those without an end last until the end of the file.
 *
 * Memory is O(open ranges, operators and kernels). */
#include "memscope/export/chrome.h"

#include "base/buffer.h"
#include "base/map.h"
#include "memscope/export/sites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER_B     (64u * 1024)
#define OP_DEPTH     64
#define DEVICE_PID   900000000u  /* device lanes: no real process has such a number */
#define STEPS_LANE   0x7fffffffu /* next to the streams of a device */
#define BASE_LEAD_NS 1000u

struct open_slice {
    uint64_t start_ns;
    uint32_t tid;
    char *name; /* NULL: free */
};

struct chrome_ops {
    uint32_t tid, depth;
    struct open_slice ops[OP_DEPTH];
};

struct ms_chrome {
    int fd, error;
    struct ms_buffer buffer;
    bool any;
    uint64_t base_ns, last_ns;
    uint32_t pid;
    struct ms_map ranges, kernels; /* range id; device, stream and task -> open slice (pointer) */
    struct ms_map op_stacks;       /* tid -> its stack (pointer) */
    struct ms_map steps;           /* device -> open slice of its step (pointer) */
    struct ms_map lanes;           /* device and stream (0: the device itself) that have a name */
    char *process;
};

/* ---- writing ---- */

static void add_name(struct ms_chrome *chrome, const char *what, const char *name, uint64_t time_ns, uint32_t pid,
                     uint64_t tid);

static void begin(struct ms_chrome *chrome, uint64_t time_ns)
{
    if (chrome->base_ns == 0) {
        chrome->base_ns = time_ns > BASE_LEAD_NS ? time_ns - BASE_LEAD_NS : 1;
        MS_BUFFER_TEXT(&chrome->buffer, "{\"displayTimeUnit\":\"ns\",\"baseTimeNanoseconds\":");
        ms_buffer_u64(&chrome->buffer, chrome->base_ns);
        MS_BUFFER_TEXT(&chrome->buffer, ",\"traceEvents\":[");
        if (chrome->process != NULL) {
            add_name(chrome, "process_name", chrome->process, time_ns, chrome->pid, 0);
        }
    }
    if (time_ns > chrome->last_ns) {
        chrome->last_ns = time_ns;
    }
    if (chrome->any) {
        ms_buffer_char(&chrome->buffer, ',');
    }
    chrome->any = true;
    ms_buffer_char(&chrome->buffer, '\n');
}

static int end(struct ms_chrome *chrome)
{
    int rc = chrome->buffer.failed ? -ENOMEM : 0;
    if (rc == 0 && chrome->buffer.used >= BUFFER_B) {
        rc = ms_buffer_write(&chrome->buffer, chrome->fd);
    }
    if (rc != 0 && chrome->error == 0) {
        chrome->error = rc;
        return rc;
    }
    return 0;
}

static void add_us(struct ms_buffer *buffer, uint64_t ns)
{
    ms_buffer_u64(buffer, ns / 1000);
    char fraction[4] = {'.', (char)('0' + ns / 100 % 10), (char)('0' + ns / 10 % 10), (char)('0' + ns % 10)};
    ms_buffer_add(buffer, fraction, sizeof(fraction));
}

static uint64_t since_base(const struct ms_chrome *chrome, uint64_t time_ns)
{
    return time_ns > chrome->base_ns ? time_ns - chrome->base_ns : 0;
}

/* Writes {"ph":"X","name":"...","ts":...,"pid":...,"tid":...; the caller adds the rest up to the closing brace. */
static void add_head(struct ms_chrome *chrome, char phase, const char *name, size_t name_b, uint64_t time_ns,
                     uint32_t pid, uint64_t tid)
{
    struct ms_buffer *buffer = &chrome->buffer;
    begin(chrome, time_ns);
    MS_BUFFER_TEXT(buffer, "{\"ph\":\"");
    ms_buffer_char(buffer, phase);
    MS_BUFFER_TEXT(buffer, "\",\"name\":\"");
    ms_buffer_json(buffer, name, name_b);
    MS_BUFFER_TEXT(buffer, "\",\"ts\":");
    add_us(buffer, since_base(chrome, time_ns));
    MS_BUFFER_TEXT(buffer, ",\"pid\":");
    ms_buffer_u64(buffer, pid);
    MS_BUFFER_TEXT(buffer, ",\"tid\":");
    ms_buffer_u64(buffer, tid);
}

static int add_complete(struct ms_chrome *chrome, const char *category, const char *name, size_t name_b,
                        uint64_t start_ns, uint64_t end_ns, uint32_t pid, uint64_t tid)
{
    if (end_ns > chrome->last_ns) {
        chrome->last_ns = end_ns;
    }
    add_head(chrome, 'X', name, name_b, start_ns, pid, tid);
    MS_BUFFER_TEXT(&chrome->buffer, ",\"dur\":");
    add_us(&chrome->buffer, end_ns > start_ns ? end_ns - start_ns : 0);
    MS_BUFFER_TEXT(&chrome->buffer, ",\"cat\":\"");
    ms_buffer_add(&chrome->buffer, category, strlen(category));
    MS_BUFFER_TEXT(&chrome->buffer, "\"}");
    return end(chrome);
}

static int add_instant(struct ms_chrome *chrome, const char *category, const struct ms_row *row, struct ms_text name)
{
    add_head(chrome, 'i', name.s, name.length_b, row->time_ns, row->pid, row->tid);
    MS_BUFFER_TEXT(&chrome->buffer, ",\"s\":\"t\",\"cat\":\"");
    ms_buffer_add(&chrome->buffer, category, strlen(category));
    MS_BUFFER_TEXT(&chrome->buffer, "\"}");
    return end(chrome);
}

/* what: process_name or thread_name */
static void add_name(struct ms_chrome *chrome, const char *what, const char *name, uint64_t time_ns, uint32_t pid,
                     uint64_t tid)
{
    add_head(chrome, 'M', what, strlen(what), time_ns, pid, tid);
    MS_BUFFER_TEXT(&chrome->buffer, ",\"args\":{\"name\":\"");
    ms_buffer_json(&chrome->buffer, name, strlen(name));
    MS_BUFFER_TEXT(&chrome->buffer, "\"}}");
}

/* Names a lane of the device before its first event. */
static int name_lane(struct ms_chrome *chrome, uint32_t device, uint64_t lane, uint64_t time_ns)
{
    char name[40];
    bool new_device, new_lane;
    uint64_t key = (uint64_t)device << 32;
    if (ms_map_at(&chrome->lanes, key, 0, &new_device) == NULL ||
        ms_map_at(&chrome->lanes, key | (lane + 1), 0, &new_lane) == NULL) {
        return -ENOMEM;
    }
    if (new_device) {
        ms_device_text(device, name);
        add_name(chrome, "process_name", name, time_ns, DEVICE_PID + device, 0);
    }
    if (new_lane) {
        snprintf(name, sizeof(name), lane == STEPS_LANE ? "steps" : "stream %llu", (unsigned long long)lane);
        add_name(chrome, "thread_name", name, time_ns, DEVICE_PID + device, lane);
    }
    return 0;
}

/* ---- open slices ---- */

static struct open_slice *open_new(const struct ms_row *row)
{
    struct open_slice *slice = malloc(sizeof(*slice));
    if (slice != NULL) {
        *slice = (struct open_slice){.start_ns = row->time_ns, .tid = row->tid};
        slice->name = strndup(row->name.length_b != 0 ? row->name.s : "", row->name.length_b);
    }
    return slice;
}

static void open_free(struct open_slice *slice)
{
    if (slice != NULL) {
        free(slice->name);
        free(slice);
    }
}

static int open_put(struct ms_map *map, uint64_t key, const struct ms_row *row)
{
    struct open_slice *slice = open_new(row);
    uint64_t *slot = slice != NULL && slice->name != NULL ? ms_map_at(map, key, 0, NULL) : NULL;
    if (slot == NULL) {
        open_free(slice);
        return -ENOMEM;
    }
    open_free((struct open_slice *)(uintptr_t)*slot); /* its end was never recorded */
    *slot = (uint64_t)(uintptr_t)slice;
    return 0;
}

static int op_row(struct ms_chrome *chrome, const struct ms_row *row, bool begins)
{
    uint64_t *slot = ms_map_at(&chrome->op_stacks, row->tid, 0, NULL);
    if (slot == NULL) {
        return -ENOMEM;
    }
    struct chrome_ops *stack = (struct chrome_ops *)(uintptr_t)*slot;
    if (stack == NULL) {
        stack = calloc(1, sizeof(*stack));
        if (stack == NULL) {
            return -ENOMEM;
        }
        stack->tid = row->tid;
        *slot = (uint64_t)(uintptr_t)stack;
    }
    if (begins) {
        if (stack->depth < OP_DEPTH) {
            struct open_slice *op = &stack->ops[stack->depth];
            op->start_ns = row->time_ns;
            op->name = strndup(row->name.length_b != 0 ? row->name.s : "", row->name.length_b);
        }
        stack->depth++;
        return 0;
    }
    if (stack->depth == 0 || --stack->depth >= OP_DEPTH) {
        return 0;
    }
    struct open_slice *op = &stack->ops[stack->depth];
    const char *name = op->name != NULL ? op->name : "";
    int rc = add_complete(chrome, "op", name, strlen(name), op->start_ns, row->time_ns, row->pid, row->tid);
    free(op->name);
    op->name = NULL;
    return rc;
}

static uint64_t kernel_key(const struct ms_row *row)
{
    uint64_t stream = row->attr_count > 0 ? row->attr[0].number : 0;
    uint64_t task = row->attr_count > 1 ? row->attr[1].number : 0;
    return (uint64_t)row->device << 48 ^ stream << 20 ^ task;
}

static int kernel_row(struct ms_chrome *chrome, const struct ms_row *row)
{
    if (row->type == MS_TYPE_KERNEL_EXECUTE_START) {
        return open_put(&chrome->kernels, kernel_key(row), row);
    }
    uint64_t value;
    if (!ms_map_remove(&chrome->kernels, kernel_key(row), &value)) {
        return 0;
    }
    struct open_slice *kernel = (struct open_slice *)(uintptr_t)value;
    uint64_t stream = row->attr_count > 0 ? (uint32_t)row->attr[0].number : 0;
    int rc = name_lane(chrome, row->device, stream, kernel->start_ns);
    rc = rc != 0 ? rc
                 : add_complete(chrome, "kernel", kernel->name, strlen(kernel->name), kernel->start_ns, row->time_ns,
                                DEVICE_PID + row->device, stream);
    open_free(kernel);
    return rc;
}

static int range_end(struct ms_chrome *chrome, const struct ms_row *row)
{
    uint64_t value;
    if (!ms_map_remove(&chrome->ranges, row->range_id, &value)) {
        return 0;
    }
    struct open_slice *range = (struct open_slice *)(uintptr_t)value;
    int rc = add_complete(chrome, "mstx", range->name, strlen(range->name), range->start_ns, row->time_ns, row->pid,
                          range->tid);
    open_free(range);
    return rc;
}

/* ---- steps ---- */

static int end_step(struct ms_chrome *chrome, uint32_t device, uint64_t time_ns)
{
    uint64_t value;
    if (!ms_map_remove(&chrome->steps, device, &value)) {
        return 0;
    }
    struct open_slice *step = (struct open_slice *)(uintptr_t)value;
    int rc = name_lane(chrome, device, STEPS_LANE, step->start_ns);
    rc = rc != 0 ? rc
                 : add_complete(chrome, "step", step->name, strlen(step->name), step->start_ns, time_ns,
                                DEVICE_PID + device, STEPS_LANE);
    open_free(step);
    return rc;
}

static int on_step(void *self, const struct ms_step_info *info)
{
    struct ms_chrome *chrome = self;
    int rc = end_step(chrome, info->device, info->time_ns); /* of a previous step whose end was not recorded */
    if (rc != 0 || !info->begins) {
        return rc;
    }
    char name[24];
    struct ms_row row = {.time_ns = info->time_ns, .name = {.s = name}};
    row.name.length_b = (uint32_t)snprintf(name, sizeof(name), "step %u", info->step);
    return open_put(&chrome->steps, info->device, &row);
}

/* ---- consumer ---- */

static int on_row(void *self, const struct ms_row *row)
{
    struct ms_chrome *chrome = self;
    switch (row->type) {
    case MS_TYPE_RANGE_START:
        return open_put(&chrome->ranges, row->range_id, row);
    case MS_TYPE_RANGE_END:
        return range_end(chrome, row);
    case MS_TYPE_ATEN_START:
    case MS_TYPE_ATB_START:
    case MS_TYPE_KERNEL_START:
        return op_row(chrome, row, true);
    case MS_TYPE_ATEN_END:
    case MS_TYPE_ATB_END:
    case MS_TYPE_KERNEL_END:
        return op_row(chrome, row, false);
    case MS_TYPE_KERNEL_EXECUTE_START:
    case MS_TYPE_KERNEL_EXECUTE_END:
        return kernel_row(chrome, row);
    case MS_TYPE_MARK:
        return add_instant(chrome, "mstx", row, row->name);
    case MS_TYPE_KERNEL_LAUNCH:
        return add_instant(chrome, "launch", row, row->name);
    default:
        break;
    }
    if (row->event == MS_EV_SYSTEM || row->event == MS_EV_SNAPSHOT || row->type == MS_TYPE_OOM_TRIGGER) {
        const char *type = ms_type_name(row->type);
        return add_instant(chrome, "system", row, (struct ms_text){.s = type, .length_b = (uint32_t)strlen(type)});
    }
    return 0;
}

static int counter(struct ms_chrome *chrome, const struct ms_block *block, const struct ms_pool_state *pool,
                   uint64_t time_ns)
{
    char name[64], device[24];
    ms_device_text(block->device, device);
    int length = snprintf(name, sizeof(name), "%s %s", ms_type_name(block->type), device);
    add_head(chrome, 'C', name, (size_t)length, time_ns, chrome->pid, 0);
    MS_BUFFER_TEXT(&chrome->buffer, ",\"args\":{\"used\":");
    ms_buffer_u64(&chrome->buffer, pool->used_b);
    if (pool->total_b != 0) {
        MS_BUFFER_TEXT(&chrome->buffer, ",\"reserved\":");
        ms_buffer_u64(&chrome->buffer, pool->total_b);
    }
    MS_BUFFER_TEXT(&chrome->buffer, "}}");
    return end(chrome);
}

static int on_malloc(void *self, const struct ms_block *block, const struct ms_pool_state *pool)
{
    return counter(self, block, pool, block->malloc_ns);
}

static int on_free(void *self, const struct ms_block *block, enum ms_block_end how, const struct ms_pool_state *pool,
                   uint64_t time_ns)
{
    return how == MS_END_EXIT ? 0 : counter(self, block, pool, time_ns);
}

static int on_slice(void *self, const struct ms_slice *slice)
{
    if (slice->start_ns == 0 || slice->end_ns == 0) {
        return 0;
    }
    return add_complete(self, "python", slice->function.s, slice->function.length_b, slice->start_ns, slice->end_ns,
                        slice->pid, slice->tid);
}

struct ms_consumer ms_chrome_consumer(struct ms_chrome *chrome)
{
    return (struct ms_consumer){.self = chrome,
                                .on_row = on_row,
                                .on_malloc = on_malloc,
                                .on_free = on_free,
                                .on_slice = on_slice,
                                .on_step = on_step};
}

/* ---- interface ---- */

int ms_chrome_open(int fd, uint32_t pid, const char *process, struct ms_chrome **out)
{
    struct ms_chrome *chrome = calloc(1, sizeof(*chrome));
    if (chrome == NULL) {
        return -ENOMEM;
    }
    chrome->fd = fd;
    chrome->pid = pid;
    chrome->process = process != NULL ? strdup(process) : NULL;
    *out = chrome;
    return 0;
}

static void finish_open(struct ms_chrome *chrome)
{
    uint64_t last_ns = chrome->last_ns;
    for (size_t i; (i = ms_map_first(&chrome->steps, 0)) < chrome->steps.size;) {
        end_step(chrome, (uint32_t)chrome->steps.slots[i].key, last_ns);
    }
    for (size_t i = ms_map_first(&chrome->ranges, 0); i < chrome->ranges.size;
         i = ms_map_first(&chrome->ranges, i + 1)) {
        struct open_slice *range = (struct open_slice *)(uintptr_t)chrome->ranges.slots[i].value;
        add_complete(chrome, "mstx", range->name, strlen(range->name), range->start_ns, last_ns, chrome->pid,
                     range->tid);
        open_free(range);
    }
    for (size_t i = ms_map_first(&chrome->op_stacks, 0); i < chrome->op_stacks.size;
         i = ms_map_first(&chrome->op_stacks, i + 1)) {
        struct chrome_ops *stack = (struct chrome_ops *)(uintptr_t)chrome->op_stacks.slots[i].value;
        for (unsigned j = 0; j < OP_DEPTH; j++) {
            if (stack->ops[j].name != NULL) {
                add_complete(chrome, "op", stack->ops[j].name, strlen(stack->ops[j].name), stack->ops[j].start_ns,
                             last_ns, chrome->pid, stack->tid);
            }
            free(stack->ops[j].name);
        }
        free(stack);
    }
    for (size_t i = ms_map_first(&chrome->kernels, 0); i < chrome->kernels.size;
         i = ms_map_first(&chrome->kernels, i + 1)) {
        open_free((struct open_slice *)(uintptr_t)chrome->kernels.slots[i].value);
    }
}

int ms_chrome_close(struct ms_chrome *chrome)
{
    if (chrome == NULL) {
        return 0;
    }
    finish_open(chrome);
    if (chrome->base_ns == 0) {
        MS_BUFFER_TEXT(&chrome->buffer, "{\"traceEvents\":[");
    }
    MS_BUFFER_TEXT(&chrome->buffer, "\n]}\n");
    int rc = ms_buffer_write(&chrome->buffer, chrome->fd);
    rc = chrome->error != 0 ? chrome->error : rc;
    ms_buffer_free(&chrome->buffer);
    ms_map_free(&chrome->ranges);
    ms_map_free(&chrome->kernels);
    ms_map_free(&chrome->op_stacks);
    ms_map_free(&chrome->steps);
    ms_map_free(&chrome->lanes);
    free(chrome->process);
    free(chrome);
    return rc;
}
