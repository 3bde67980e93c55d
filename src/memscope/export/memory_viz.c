/* SPDX-License-Identifier: Apache-2.0 */
/* See memory_viz.h. Written in one pass; memory is O(live blocks + distinct call stacks). Whatever the source contains,
 * every block in the file starts inside a segment from its alloc to its free, and neither segments nor blocks overlap:
 * the viewer relies on it. Single-threaded. */
#include "memscope/export/memory_viz.h"

#include "base/intern.h"
#include "base/map.h"
#include "memscope/export/pickle.h"
#include "memscope/export/sites.h"
#include "memscope/export/viz_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define WAITING_MAX  64u
#define WAIT_EVENTS  64u
#define NUMBERED_MAX 1024u /* devices with larger numbers are appended */

struct waiting { /* driver memory that may become a segment */
    struct ms_range range;
    uint64_t time_ns, since; /* since: events of the device before it */
    uint32_t tid;
};

struct viz_device {
    uint32_t id;
    struct ms_viz_list entries;
    struct ms_ranges segments, blocks;
    struct waiting waiting[WAITING_MAX];
    unsigned waiting_count;
    uint64_t events;
};

struct ms_memory_viz {
    struct ms_viz_writer writer;
    struct ms_model *model;
    char *process;
    uint32_t pid;
    struct viz_device **devices;
    size_t device_count;
    struct ms_viz_list annotations;
    struct ms_map open_ranges;    /* id -> name */
    struct ms_intern names;       /* of ranges, and categories */
    struct ms_map mapped;         /* handle -> where it was mapped last */
    uint32_t first_segment_entry; /* number */
    uint64_t nested;
    bool failed, complete;
};

static struct viz_device *device_of(struct ms_memory_viz *viz, uint32_t id)
{
    id = id < NUMBERED_MAX || id == MS_DEV_CPU ? id : MS_DEV_UNKNOWN;
    for (size_t i = 0; i < viz->device_count; i++) {
        if (viz->devices[i]->id == id) {
            return viz->devices[i];
        }
    }
    struct viz_device **devices = realloc(viz->devices, (viz->device_count + 1) * sizeof(struct viz_device *));
    struct viz_device *device = calloc(1, sizeof(*device));
    viz->devices = devices != NULL ? devices : viz->devices;
    if (devices == NULL || device == NULL) {
        free(device);
        return NULL;
    }
    device->id = id;
    viz->devices[viz->device_count++] = device;
    return device;
}

static int done(struct ms_memory_viz *viz)
{
    return viz->failed ? -ENOMEM : ms_viz_flush(&viz->writer, false);
}

/* ---- entries ---- */

static void add_entry(struct ms_memory_viz *viz, struct viz_device *device, enum ms_viz_word action,
                      const struct ms_range *range, uint64_t time_ns)
{
    bool begins = action == MS_VIZ_ALLOC;
    struct ms_viz_entry entry = {.action = action,
                                 .addr = range->addr,
                                 .size_b = range->size_b,
                                 .time_ns = time_ns,
                                 .frames = range->frames,
                                 .number = begins ? range->number : 0};
    if (begins && range->category != 0) {
        struct ms_intern_text category = ms_intern_get(&viz->names, range->category);
        entry.category = (struct ms_text){.s = category.s, .length_b = category.length_b};
    }
    if ((action == MS_VIZ_SEGMENT_ALLOC || action == MS_VIZ_SEGMENT_MAP) && viz->first_segment_entry == 0) {
        entry.number = viz->first_segment_entry = ms_viz_number(&viz->writer);
    }
    ms_viz_add(&viz->writer, &device->entries, &entry);
}

/* ---- segments and blocks ---- */

static struct ms_range *add_block(struct ms_memory_viz *viz, struct viz_device *device, struct ms_range block,
                                  uint64_t time_ns)
{
    block.number = ms_viz_number(&viz->writer);
    struct ms_range *added = ms_ranges_add(&device->blocks, &block);
    if (added == NULL) {
        viz->failed = true;
        return NULL;
    }
    add_entry(viz, device, MS_VIZ_ALLOC, added, time_ns);
    return added;
}

static void end_segment(struct ms_memory_viz *viz, struct viz_device *device, struct ms_range *segment,
                        uint64_t time_ns);

static void end_block(struct ms_memory_viz *viz, struct viz_device *device, struct ms_range *block, uint64_t time_ns)
{
    uint64_t addr = block->addr, size_b = block->size_b;
    add_entry(viz, device, MS_VIZ_FREE_REQUESTED, block, time_ns);
    add_entry(viz, device, MS_VIZ_FREE_COMPLETED, block, time_ns);
    ms_viz_number_free(&viz->writer, block->number);
    ms_ranges_remove(&device->blocks, block);
    struct ms_range *segment = ms_ranges_over(&device->segments, addr, size_b);
    while (segment != NULL) { /* segments created for this block only */
        uint64_t next = ms_range_end(segment);
        bool made_for_it = segment->id == 0 && segment->handle == 0 && segment->addr >= addr;
        if (made_for_it || (segment->gone && ms_ranges_over(&device->blocks, segment->addr, segment->size_b) == NULL)) {
            end_segment(viz, device, segment, time_ns);
        }
        segment = next < addr + size_b ? ms_ranges_over(&device->segments, next, addr + size_b - next) : NULL;
    }
}

static void end_segment(struct ms_memory_viz *viz, struct viz_device *device, struct ms_range *segment,
                        uint64_t time_ns)
{
    struct ms_range gone = *segment; /* blocks in it end here, whether or not their frees were recorded */
    struct ms_range *block;
    while ((block = ms_ranges_over(&device->blocks, gone.addr, gone.size_b)) != NULL) {
        end_block(viz, device, block, time_ns);
    }
    segment = ms_ranges_at(&device->segments, gone.addr);
    if (segment == NULL || segment->addr != gone.addr) {
        return; /* it was created for that block */
    }
    add_entry(viz, device, gone.handle != 0 ? MS_VIZ_SEGMENT_UNMAP : MS_VIZ_SEGMENT_FREE, &gone, time_ns);
    ms_ranges_remove(&device->segments, segment);
}

/* The driver has taken it back. A pool may still have blocks in it: leaks at process exit. They stay in the file until
 * they are freed or the address is reused. */
static void release_segment(struct ms_memory_viz *viz, struct viz_device *device, struct ms_range *segment,
                            uint64_t time_ns)
{
    const struct ms_range *block = ms_ranges_over(&device->blocks, segment->addr, segment->size_b);
    if (block != NULL && !block->direct) {
        segment->gone = true;
    } else {
        end_segment(viz, device, segment, time_ns);
    }
}

/* Trimmed where it overlaps others. NULL: nothing is left. */
static struct ms_range *add_segment(struct ms_memory_viz *viz, struct viz_device *device, struct ms_range segment,
                                    uint64_t time_ns)
{
    uint64_t end = ms_range_end(&segment);
    struct ms_range *other;
    for (uint64_t at = segment.addr; at < end && (other = ms_ranges_over(&device->segments, at, end - at)) != NULL;) {
        at = ms_range_end(other);
        if (other->gone) {
            end_segment(viz, device, other, time_ns);
        }
    }
    while (segment.addr < end && (other = ms_ranges_at(&device->segments, segment.addr)) != NULL) {
        segment.addr = ms_range_end(other);
    }
    other = ms_ranges_from(&device->segments, segment.addr);
    end = other != NULL && other->addr < end ? other->addr : end;
    if (segment.addr >= end) {
        return NULL;
    }
    segment.size_b = end - segment.addr;
    segment.number = 0;
    struct ms_range *added = ms_ranges_add(&device->segments, &segment);
    if (added == NULL) {
        viz->failed = true;
        return NULL;
    }
    add_entry(viz, device, segment.handle != 0 ? MS_VIZ_SEGMENT_MAP : MS_VIZ_SEGMENT_ALLOC, added, time_ns);
    return added;
}

/* ---- pending driver memory ---- */

static struct waiting take_waiting(struct viz_device *device, unsigned at)
{
    struct waiting taken = device->waiting[at];
    device->waiting_count--;
    memmove(&device->waiting[at], &device->waiting[at + 1], (device->waiting_count - at) * sizeof(taken));
    return taken;
}

/* No pool uses it: it is a block itself. The address of a handle is unknown; it stays a segment. */
static void settle(struct ms_memory_viz *viz, struct viz_device *device, unsigned at)
{
    struct waiting waiting = take_waiting(device, at);
    bool handle = waiting.range.handle != 0;
    waiting.range.handle = 0;
    struct ms_range *segment = add_segment(viz, device, waiting.range, waiting.time_ns);
    if (segment == NULL || handle) {
        return;
    }
    struct ms_range block = *segment;
    block.direct = true;
    if (ms_ranges_over(&device->blocks, block.addr, block.size_b) == NULL) {
        add_block(viz, device, block, waiting.time_ns);
    }
}

static void settle_due(struct ms_memory_viz *viz, struct viz_device *device, uint32_t tid)
{
    for (unsigned i = 0; i < device->waiting_count;) {
        if (device->waiting[i].tid == tid || device->events - device->waiting[i].since > WAIT_EVENTS) {
            settle(viz, device, i);
        } else {
            i++;
        }
    }
}

static void wait_for_pool(struct ms_memory_viz *viz, struct viz_device *device, const struct ms_block *block,
                          const struct ms_range *range)
{
    settle_due(viz, device, block->tid);
    if (device->waiting_count == WAITING_MAX) {
        settle(viz, device, 0);
    }
    struct waiting *waiting = &device->waiting[device->waiting_count++];
    *waiting =
        (struct waiting){.range = *range, .time_ns = block->malloc_ns, .since = device->events, .tid = block->tid};
    waiting->range.handle = block->space == MS_SPACE_HANDLE ? block->addr : 0;
}

/* ---- memory below a pool block ---- */

/* A handle is now mapped at this address. */
static void add_mapped(struct ms_memory_viz *viz, struct viz_device *device, const struct ms_segment *mapped,
                       uint32_t frames, uint64_t time_ns)
{
    for (unsigned i = 0; i < device->waiting_count; i++) {
        if (device->waiting[i].range.handle == mapped->handle) {
            frames = take_waiting(device, i).range.frames;
            break;
        }
    }
    struct ms_range *at_handle = ms_ranges_at(&device->segments, mapped->handle);
    if (at_handle != NULL && at_handle->addr == mapped->handle && at_handle->id != 0) {
        frames = at_handle->frames;
        end_segment(viz, device, at_handle, time_ns);
    }
    uint64_t *last = ms_map_at(&viz->mapped, mapped->handle, 0, NULL);
    struct ms_range segment = {
        .addr = mapped->addr, .size_b = mapped->size_b, .handle = mapped->handle, .frames = frames};
    segment.same = last != NULL ? *last : 0;
    struct ms_range *added = add_segment(viz, device, segment, time_ns);
    if (last == NULL) {
        viz->failed = true;
    } else if (added != NULL) {
        *last = added->addr;
    }
}

/* Ensures that segments cover the whole block. */
static void cover(struct ms_memory_viz *viz, struct viz_device *device, const struct ms_range *block, uint64_t time_ns)
{
    uint64_t end = ms_range_end(block);
    for (uint64_t at = block->addr; at < end && !viz->failed;) {
        struct ms_range *segment = ms_ranges_at(&device->segments, at);
        if (segment != NULL && segment->gone) {
            end_segment(viz, device, segment, time_ns);
            continue;
        }
        if (segment != NULL) {
            at = ms_range_end(segment);
            continue;
        }
        struct ms_segment found;
        struct waiting waiting = {0};
        for (unsigned i = 0; i < device->waiting_count; i++) {
            const struct ms_range *range = &device->waiting[i].range;
            if (range->handle == 0 && at - range->addr < range->size_b) {
                waiting = take_waiting(device, i);
                break;
            }
        }
        if (waiting.range.size_b != 0) {
            add_segment(viz, device, waiting.range, waiting.time_ns);
        } else if (ms_model_segment(viz->model, at, &found) && found.mapped && found.handle != 0 &&
                   at - found.addr < found.size_b && found.size_b <= UINT64_MAX - found.addr) {
            add_mapped(viz, device, &found, block->frames, time_ns);
        }
        if (ms_ranges_at(&device->segments, at) == NULL) {
            add_segment(viz, device, (struct ms_range){.addr = at, .size_b = end - at, .frames = block->frames},
                        time_ns);
        }
    }
}

/* ---- consumer ---- */

/* "PTA@model@weight": model@weight. An owner that only names the pool is not a category. */
static uint32_t category_of(struct ms_memory_viz *viz, const struct ms_block *block)
{
    struct ms_text owner = ms_model_owner(viz->model, block->owner);
    const char *at =
        MS_SPACE_IS_POOL(block->space) || block->space == MS_SPACE_HOST ? memchr(owner.s, '@', owner.length_b) : NULL;
    if (at == NULL) {
        return 0;
    }
    return ms_intern(&viz->names, at + 1, owner.length_b - (size_t)(at + 1 - owner.s));
}

static int on_malloc(void *self, const struct ms_block *block, const struct ms_pool_state *pool)
{
    (void)pool;
    struct ms_memory_viz *viz = self;
    struct viz_device *device = device_of(viz, block->device);
    uint64_t size_b = block->size_b <= UINT64_MAX - block->addr ? block->size_b : UINT64_MAX - block->addr;
    if (device == NULL || size_b == 0) {
        return device == NULL ? -ENOMEM : 0;
    }
    device->events++;
    struct ms_text op = block->op != 0 ? ms_model_text(viz->model, block->op) : (struct ms_text){0};
    struct ms_range range = {.addr = block->addr,
                             .size_b = size_b,
                             .id = block->allocation_id,
                             .category = category_of(viz, block),
                             .frames = ms_viz_frames(&viz->writer, block->c_stack, block->python_stack, op)};
    if (block->space == MS_SPACE_HAL || block->space == MS_SPACE_HANDLE) {
        wait_for_pool(viz, device, block, &range);
        return done(viz);
    }
    struct ms_range *other;
    while ((other = ms_ranges_over(&device->blocks, range.addr, range.size_b)) != NULL) {
        const struct ms_range *segment = ms_ranges_at(&device->segments, other->addr);
        if (!other->direct && (segment == NULL || !segment->gone)) {
            break;
        }
        end_block(viz, device, other, block->malloc_ns); /* it turned out to belong to a pool, or is stale */
    }
    if (other != NULL) {
        viz->nested++;
        settle_due(viz, device, block->tid);
        return done(viz);
    }
    cover(viz, device, &range, block->malloc_ns);
    settle_due(viz, device, block->tid);
    add_block(viz, device, range, block->malloc_ns);
    return done(viz);
}

static void free_driver(struct ms_memory_viz *viz, struct viz_device *device, const struct ms_block *block,
                        uint64_t time_ns)
{
    for (unsigned i = 0; i < device->waiting_count; i++) {
        if (device->waiting[i].range.id == block->allocation_id) {
            settle(viz, device, i);
            break;
        }
    }
    uint64_t addr;
    if (block->space == MS_SPACE_HANDLE && ms_map_remove(&viz->mapped, block->addr, &addr)) {
        struct ms_range *segment;
        while (addr != 0 && (segment = ms_ranges_at(&device->segments, addr)) != NULL &&
               segment->handle == block->addr && !segment->gone) {
            addr = segment->same;
            release_segment(viz, device, segment, time_ns);
        }
    }
    uint64_t at = block->addr;
    uint64_t end = block->size_b <= UINT64_MAX - at ? at + block->size_b : UINT64_MAX;
    struct ms_range *segment;
    while (at < end && (segment = ms_ranges_over(&device->segments, at, end - at)) != NULL) {
        at = ms_range_end(segment);
        if (segment->id == block->allocation_id) {
            release_segment(viz, device, segment, time_ns);
        }
    }
}

static int on_free(void *self, const struct ms_block *block, enum ms_block_end how, const struct ms_pool_state *pool,
                   uint64_t time_ns)
{
    (void)pool;
    struct ms_memory_viz *viz = self;
    struct viz_device *device = device_of(viz, block->device);
    if (device == NULL || how == MS_END_EXIT) {
        return device == NULL ? -ENOMEM : 0;
    }
    device->events++;
    if (block->space == MS_SPACE_HAL || block->space == MS_SPACE_HANDLE) {
        free_driver(viz, device, block, time_ns);
        return done(viz);
    }
    struct ms_range *there = ms_ranges_at(&device->blocks, block->addr);
    if (there != NULL && there->id == block->allocation_id && !there->direct) {
        end_block(viz, device, there, time_ns);
    }
    return done(viz);
}

static int on_late(void *self, const struct ms_block *block)
{
    struct ms_memory_viz *viz = self;
    struct viz_device *device = device_of(viz, block->device);
    struct ms_range *there = device != NULL ? ms_ranges_at(&device->blocks, block->addr) : NULL;
    if (there == NULL || there->id != block->allocation_id || there->direct) {
        return 0;
    }
    uint32_t category = category_of(viz, block);
    if (category != 0 && category != there->category) {
        struct ms_intern_text text = ms_intern_get(&viz->names, category);
        there->category = category;
        ms_viz_categorize(&viz->writer, there->number, (struct ms_text){.s = text.s, .length_b = text.length_b});
    }
    return done(viz);
}

static int64_t number_of(uint32_t device)
{
    return device < NUMBERED_MAX ? (int64_t)device : -1;
}

static int range_row(struct ms_memory_viz *viz, const struct ms_row *row)
{
    uint64_t name = 0;
    if (row->type == MS_TYPE_RANGE_START) {
        name = ms_intern(&viz->names, row->name.s, row->name.length_b);
        if (ms_map_put(&viz->open_ranges, row->range_id, name) == NULL) {
            return -ENOMEM;
        }
    } else if (!ms_map_remove(&viz->open_ranges, row->range_id, &name)) {
        return 0;
    }
    struct ms_intern_text text = ms_intern_get(&viz->names, (uint32_t)name);
    ms_viz_annotate(&viz->writer, &viz->annotations, (struct ms_text){.s = text.s, .length_b = text.length_b},
                    row->type == MS_TYPE_RANGE_START ? MS_VIZ_START : MS_VIZ_END, number_of(row->device), row->time_ns);
    return done(viz);
}

static uint64_t attr_number(const struct ms_row *row, enum ms_attr_key key)
{
    for (uint32_t i = 0; i < row->attr_count; i++) {
        if (row->attr[i].key == key && row->attr[i].form == MS_FORM_NUMBER) {
            return row->attr[i].number;
        }
    }
    return 0;
}

static int on_row(void *self, const struct ms_row *row)
{
    struct ms_memory_viz *viz = self;
    switch (row->type) {
    case MS_TYPE_RANGE_START:
    case MS_TYPE_RANGE_END:
        return range_row(viz, row);
    case MS_TYPE_MARK:
        ms_viz_annotate(&viz->writer, &viz->annotations, row->name, MS_VIZ_MARK, number_of(row->device), row->time_ns);
        return done(viz);
    case MS_TYPE_OOM_TRIGGER:
    case MS_TYPE_SNAPSHOT:
        break;
    default:
        return 0;
    }
    struct viz_device *device = device_of(viz, row->device);
    if (device == NULL) {
        return -ENOMEM;
    }
    bool oom = row->type == MS_TYPE_OOM_TRIGGER;
    struct ms_viz_entry entry = {.action = oom ? MS_VIZ_OOM : MS_VIZ_SNAPSHOT,
                                 .addr = oom ? attr_number(row, MS_ATTR_FREE) : 0,
                                 .size_b = attr_number(row, oom ? MS_ATTR_REQ_SIZE : MS_ATTR_ALLOCATED),
                                 .time_ns = row->time_ns,
                                 .frames =
                                     ms_viz_frames(&viz->writer, row->c_stack, row->python_stack, (struct ms_text){0})};
    ms_viz_add(&viz->writer, &device->entries, &entry);
    return done(viz);
}

static int on_step(void *self, const struct ms_step_info *step)
{
    struct ms_memory_viz *viz = self;
    char name[24];
    int length_b = snprintf(name, sizeof(name), "step %u", step->step);
    ms_viz_annotate(&viz->writer, &viz->annotations, (struct ms_text){.s = name, .length_b = (uint32_t)length_b},
                    step->begins ? MS_VIZ_START : MS_VIZ_END, number_of(step->device), step->time_ns);
    return done(viz);
}

/* ---- final state ---- */

static int by_place(const void *a, const void *b)
{
    uint32_t x = (*(struct viz_device *const *)a)->id, y = (*(struct viz_device *const *)b)->id;
    return x < y ? -1 : x > y;
}

static void add_name(struct ms_viz_writer *writer, uint32_t id)
{
    char name[24];
    ms_device_text(id, name);
    ms_pickle_text(&writer->out, name, strlen(name));
}

/* Entry n of device_traces is device n; devices without a number follow. A device that was not seen is NULL. */
static void each_place(struct ms_memory_viz *viz,
                       void (*fn)(struct ms_memory_viz *, struct viz_device *, uint32_t place))
{
    uint32_t place = 0;
    for (size_t i = 0; i < viz->device_count; i++) {
        struct viz_device *device = viz->devices[i];
        while (device->id < NUMBERED_MAX && place < device->id) {
            fn(viz, NULL, place++);
        }
        fn(viz, device, place++);
    }
}

static void add_segments(struct ms_memory_viz *viz, struct viz_device *device, uint32_t place)
{
    if (device != NULL) {
        ms_viz_segments(&viz->writer, place, &device->segments, &device->blocks);
    }
}

static void add_trace(struct ms_memory_viz *viz, struct viz_device *device, uint32_t place)
{
    (void)place;
    ms_viz_item(&viz->writer, device != NULL ? &device->entries : NULL);
}

static void add_device_name(struct ms_memory_viz *viz, struct viz_device *device, uint32_t place)
{
    add_name(&viz->writer, device != NULL ? device->id : place);
}

static void add_about(struct ms_memory_viz *viz)
{
    struct ms_viz_writer *writer = &viz->writer;
    struct ms_buffer *out = &writer->out;
    const char *process = viz->process != NULL ? viz->process : "";
    ms_viz_word(writer, MS_VIZ_NPUSCOPE);
    ms_pickle_op(out, MS_PICKLE_DICT);
    ms_pickle_op(out, MS_PICKLE_MARK);
    ms_viz_word(writer, MS_VIZ_VERSION);
    ms_pickle_u64(out, 1);
    ms_viz_word(writer, MS_VIZ_PROCESS);
    ms_pickle_text(out, process, strlen(process));
    ms_viz_word(writer, MS_VIZ_PID);
    ms_pickle_u64(out, viz->pid);
    ms_viz_word(writer, MS_VIZ_DEVICES);
    ms_pickle_op(out, MS_PICKLE_LIST);
    ms_pickle_op(out, MS_PICKLE_MARK);
    each_place(viz, add_device_name);
    ms_pickle_op(out, MS_PICKLE_APPENDS);
    ms_viz_word(writer, MS_VIZ_NESTED);
    ms_pickle_u64(out, viz->nested);
    ms_pickle_op(out, MS_PICKLE_SETITEMS);
    ms_pickle_op(out, MS_PICKLE_SETITEM);
}

static int on_close(void *self)
{
    struct ms_memory_viz *viz = self;
    struct ms_viz_writer *writer = &viz->writer;
    for (size_t i = 0; i < viz->device_count; i++) {
        while (viz->devices[i]->waiting_count != 0) {
            settle(viz, viz->devices[i], 0);
        }
    }
    if (writer->categories && viz->first_segment_entry != 0) { /* viewers require an entry with an unknown category */
        ms_viz_categorize(writer, viz->first_segment_entry, (struct ms_text){.s = "unknown", .length_b = 7});
    }
    if (viz->device_count != 0) {
        qsort(viz->devices, viz->device_count, sizeof(struct viz_device *), by_place);
    }
    ms_viz_open_key(writer, MS_VIZ_SEGMENTS);
    each_place(viz, add_segments);
    ms_viz_close_key(writer);
    ms_viz_open_key(writer, MS_VIZ_DEVICE_TRACES);
    each_place(viz, add_trace);
    ms_viz_close_key(writer);
    ms_viz_list(writer, MS_VIZ_EXTERNAL_ANNOTATIONS, &viz->annotations);
    add_about(viz);
    ms_pickle_op(&writer->out, MS_PICKLE_STOP);
    int rc = viz->failed ? -ENOMEM : ms_viz_flush(writer, true);
    viz->complete = rc == 0;
    return rc;
}

struct ms_consumer ms_memory_viz_consumer(struct ms_memory_viz *viz)
{
    return (struct ms_consumer){.self = viz,
                                .on_row = on_row,
                                .on_malloc = on_malloc,
                                .on_free = on_free,
                                .on_late = on_late,
                                .on_step = on_step,
                                .on_close = on_close};
}

/* ---- interface ---- */

static int add_live(void *argument, const struct ms_block *block)
{
    return block->state == MS_BLOCK_LIVE ? on_malloc(argument, block, NULL) : 0;
}

int ms_memory_viz_open(const struct ms_memory_viz_options *options, struct ms_memory_viz **out)
{
    struct ms_memory_viz *viz = calloc(1, sizeof(*viz));
    if (viz == NULL) {
        return -ENOMEM;
    }
    ms_viz_begin(&viz->writer, options->fd, options->stacks);
    viz->model = options->model;
    viz->pid = options->pid;
    viz->process = options->process != NULL ? strdup(options->process) : NULL;
    int rc = ms_model_blocks(viz->model, false, add_live, viz); /* of a checkpoint */
    if (rc != 0) {
        ms_memory_viz_close(viz);
        return rc;
    }
    *out = viz;
    return 0;
}

int ms_memory_viz_close(struct ms_memory_viz *viz)
{
    int rc = viz->complete ? 0 : viz->writer.error != 0 ? viz->writer.error : -EIO;
    for (size_t i = 0; i < viz->device_count; i++) {
        ms_ranges_free(&viz->devices[i]->segments);
        ms_ranges_free(&viz->devices[i]->blocks);
        free(viz->devices[i]);
    }
    free(viz->devices);
    ms_viz_free(&viz->writer);
    ms_map_free(&viz->open_ranges);
    ms_map_free(&viz->mapped);
    ms_intern_free(&viz->names);
    free(viz->process);
    free(viz);
    return rc;
}
