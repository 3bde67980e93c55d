/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints: the whole state of a model as bytes, so that reading a trace can begin in its middle.
 *
 * Numbers are LEB128, texts are preceded by their length. Sections follow a magic word and a version in a fixed
 * order; the end is marked, so that a truncated payload is refused. The input may come from a damaged file: every
 * number used as an index is checked. Stacks and thread names are ids of the trace and are not stored here. */
#include "memscope/model/model_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC    0x4b504353u /* "SCPK" */
#define VERSION  1u
#define END_MARK 0x444e45u

/* ---- bytes ---- */

struct out {
    uint8_t *bytes;
    size_t used, room;
    bool failed;
};

static bool make_room(struct out *out, size_t more)
{
    if (out->failed) {
        return false;
    }
    if (out->room - out->used < more) {
        size_t room = (out->room + more) * 2;
        uint8_t *bytes = realloc(out->bytes, room);
        if (bytes == NULL) {
            out->failed = true;
            return false;
        }
        out->bytes = bytes;
        out->room = room;
    }
    return true;
}

static void put(struct out *out, uint64_t number)
{
    if (make_room(out, 10)) {
        while (number >= 0x80) {
            out->bytes[out->used++] = (uint8_t)(number | 0x80);
            number >>= 7;
        }
        out->bytes[out->used++] = (uint8_t)number;
    }
}

static void put_text(struct out *out, const char *s, size_t length_b)
{
    put(out, length_b);
    if (length_b != 0 && make_room(out, length_b)) {
        memcpy(out->bytes + out->used, s, length_b);
        out->used += length_b;
    }
}

struct in {
    const uint8_t *at, *end;
    bool failed;
};

static uint64_t get(struct in *in)
{
    uint64_t number = 0;
    for (unsigned shift = 0; shift < 64 && in->at < in->end; shift += 7) {
        uint8_t byte = *in->at++;
        number |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            return number;
        }
    }
    in->failed = true;
    return 0;
}

/* A number below a limit, for indexes and counts. */
static uint64_t get_below(struct in *in, uint64_t limit)
{
    uint64_t number = get(in);
    if (number >= limit) {
        in->failed = true;
        return 0;
    }
    return number;
}

static const char *get_text(struct in *in, size_t *length_b)
{
    *length_b = get(in);
    if (in->failed || *length_b > (size_t)(in->end - in->at)) {
        in->failed = true;
        *length_b = 0;
        return "";
    }
    const char *s = (const char *)in->at;
    in->at += *length_b;
    return s;
}

/* ---- fields, shared by both directions ---- */

#define COUNTERS(X)                                                                                                    \
    X(next_row)                                                                                                        \
    X(last_allocation)                                                                                                 \
    X(last_ns)                                                                                                         \
    X(stop_ns)                                                                                                         \
    X(oom_ns)                                                                                                          \
    X(kernel_index)                                                                                                    \
    X(pid)                                                                                                             \
    X(tracing)                                                                                                         \
    X(step_source)                                                                                                     \
    X(step_leader)                                                                                                     \
    X(step_conflict_reported)                                                                                          \
    X(stats.events)                                                                                                    \
    X(stats.reordered)                                                                                                 \
    X(stats.double_mallocs)                                                                                            \
    X(stats.unmatched_frees)                                                                                           \
    X(stats.ghosts) X(stats.revived) X(stats.gaps) X(stats.lost) X(stats.lost_memory) X(stats.uncertain_since_ns)

#define BLOCK_NUMBERS(X)                                                                                               \
    X(addr)                                                                                                            \
    X(size_b)                                                                                                          \
    X(allocation_id)                                                                                                   \
    X(malloc_ns)                                                                                                       \
    X(malloc_row)                                                                                                      \
    X(flag)                                                                                                            \
    X(device)                                                                                                          \
    X(tid)                                                                                                             \
    X(c_stack)                                                                                                         \
    X(python_stack)                                                                                                    \
    X(step)                                                                                                            \
    X(kernel_index) X(page_type) X(module_id) X(inefficient) X(revived) X(accesses) X(first_access_ns) X(last_access_ns)

static void put_steps(struct out *out, const struct ms_step_state *steps)
{
    put(out, steps->number);
    put(out, (uint64_t)steps->inside | (uint64_t)steps->used << 1);
    put(out, steps->range_id);
}

static void get_steps(struct in *in, struct ms_step_state *steps)
{
    steps->number = (uint32_t)get(in);
    uint64_t bits = get_below(in, 4);
    steps->inside = (bits & 1) != 0;
    steps->used = (bits & 2) != 0;
    steps->range_id = get(in);
}

/* ---- saving ---- */

static void put_owners(struct out *out, const struct ms_model *model)
{
    put(out, model->texts.count);
    for (uint32_t id = 1; id <= model->texts.count; id++) {
        struct ms_intern_text text = ms_intern_get(&model->texts, id);
        put_text(out, text.s, text.length_b);
    }
    put(out, model->owner_sets.count);
    for (uint32_t id = 1; id <= model->owner_sets.count; id++) {
        uint32_t slots[MS_LABEL_LEVELS];
        memcpy(slots, ms_intern_get(&model->owner_sets, id).s, sizeof(slots));
        for (unsigned i = 0; i < MS_LABEL_LEVELS; i++) {
            put(out, slots[i]);
        }
    }
}

static void put_threads(struct out *out, const struct ms_model *model)
{
    put(out, model->thread_count);
    for (uint32_t i = 0; i < model->thread_count; i++) {
        const struct ms_thread_state *thread = &model->threads[i];
        put(out, thread->tid);
        for (unsigned level = 0; level < MS_LABEL_USER; level++) {
            put(out, thread->depth[level]);
            for (unsigned j = 0; j < thread->depth[level]; j++) {
                put(out, thread->labels[level][j]);
                put(out, thread->label_counts[level][j]);
            }
        }
        put(out, thread->user_depth);
        for (unsigned j = 0; j < thread->user_depth; j++) {
            put(out, thread->user[j]);
        }
        put(out, thread->op_depth);
        for (unsigned j = 0; j < thread->op_depth && j < MS_OP_DEPTH; j++) {
            put(out, thread->ops[j]);
        }
    }
}

static void put_devices_and_pools(struct out *out, const struct ms_model *model)
{
    put_steps(out, &model->steps);
    put(out, model->device_count);
    for (uint32_t i = 0; i < model->device_count; i++) {
        const struct ms_device *device = model->devices[i];
        put(out, device->device);
        put_steps(out, &device->steps);
        put(out, (uint64_t)device->usage_known | (uint64_t)device->active << 1);
        put(out, device->usage_device_b);
        put(out, device->usage_process_b);
        put(out, device->usage_total_b);
    }
    put(out, model->pool_count);
    for (uint32_t i = 0; i < model->pool_count; i++) {
        const struct ms_pool_entry *pool = &model->pools[i];
        put(out, pool->space);
        put(out, pool->device);
        put(out, pool->state.total_b);
        put(out, pool->state.used_b);
        put(out, pool->state.peak_total_b);
        put(out, pool->state.peak_used_b);
        put(out, pool->state.live_blocks);
    }
    put(out, model->heap_of_addr.count);
    for (size_t i = ms_map_first(&model->heap_of_addr, 0); i < model->heap_of_addr.size;
         i = ms_map_first(&model->heap_of_addr, i + 1)) {
        const struct ms_heap *heap = &model->heaps[model->heap_of_addr.slots[i].value];
        put(out, model->heap_of_addr.slots[i].key);
        put(out, heap->space);
        put(out, heap->device);
        put(out, heap->size_b);
    }
}

static void put_segments(struct out *out, const struct ms_segments *segments)
{
    struct ms_btree_place place;
    put(out, segments->reserve_tree.count);
    for (bool there = ms_btree_ceiling(&segments->reserve_tree, 0, &place); there; there = ms_btree_next(&place)) {
        put(out, place.key);
        put(out, segments->reserves[place.value].size_b);
    }
    put(out, segments->map_tree.count);
    for (bool there = ms_btree_ceiling(&segments->map_tree, 0, &place); there; there = ms_btree_next(&place)) {
        const struct ms_map_entry *map = &segments->maps[place.value];
        put(out, map->addr);
        put(out, map->size_b);
        put(out, map->offset_b);
        put(out, map->handle);
    }
}

static void put_block(struct out *out, const struct ms_block *block)
{
    put(out, block->space);
    put(out, block->type);
    put(out, block->state);
    put(out, block->owner);
    put(out, block->op);
#define X(field) put(out, block->field);
    BLOCK_NUMBERS(X)
#undef X
}

static void put_blocks(struct out *out, const struct ms_model *model)
{
    put(out, model->blocks.count);
    for (uint32_t n = model->blocks.oldest; n != 0; n = ms__block(&model->blocks, n)->newer) {
        put_block(out, ms__block(&model->blocks, n));
    }
    /* frees whose failure may still be reported */
    uint64_t kept = model->freed_count < MS_FREED_KEPT ? model->freed_count : MS_FREED_KEPT;
    put(out, kept);
    for (uint64_t i = model->freed_count - kept; i < model->freed_count; i++) {
        put_block(out, &model->freed[i % MS_FREED_KEPT]);
    }
}

int ms_model_save(struct ms_model *model, void **out_bytes, size_t *out_b)
{
    if (model->held_end != 0) {
        return -EAGAIN;
    }
    struct out out = {0};
    put(&out, MAGIC);
    put(&out, VERSION);
#define X(field) put(&out, model->field);
    COUNTERS(X)
#undef X
    for (unsigned i = 0; i < MS_EV_COUNT; i++) {
        put(&out, model->stats.row_counts[i]);
    }
    put_owners(&out, model);
    put_threads(&out, model);
    put_devices_and_pools(&out, model);
    put_segments(&out, &model->segments);
    put_blocks(&out, model);
    put(&out, END_MARK);
    if (out.failed) {
        free(out.bytes);
        return -ENOMEM;
    }
    *out_bytes = out.bytes;
    *out_b = out.used;
    return 0;
}

static int ascending(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

int ms_model_definitions(const struct ms_model *model, uint32_t **out, size_t *count)
{
    uint64_t kept = model->freed_count < MS_FREED_KEPT ? model->freed_count : MS_FREED_KEPT;
    uint32_t *ids = malloc((2 * ((size_t)model->blocks.count + kept) + 1) * sizeof(*ids));
    size_t n = 0, unique = 0;
    if (ids == NULL) {
        return -ENOMEM;
    }
    for (uint32_t i = model->blocks.oldest; i != 0; i = ms__block(&model->blocks, i)->newer) {
        ids[n++] = ms__block(&model->blocks, i)->c_stack;
        ids[n++] = ms__block(&model->blocks, i)->python_stack;
    }
    for (uint64_t i = 0; i < kept; i++) {
        ids[n++] = model->freed[i].c_stack;
        ids[n++] = model->freed[i].python_stack;
    }
    qsort(ids, n, sizeof(*ids), ascending);
    for (size_t i = 0; i < n; i++) {
        if (ids[i] != 0 && ids[i] != MS_STACK_NO_GIL && (unique == 0 || ids[unique - 1] != ids[i])) {
            ids[unique++] = ids[i];
        }
    }
    *out = ids;
    *count = unique;
    return 0;
}

/* ---- restoring ---- */

static int get_owners(struct in *in, struct ms_model *model)
{
    uint64_t texts = get(in);
    for (uint64_t i = 0; i < texts && !in->failed; i++) {
        size_t length_b;
        const char *s = get_text(in, &length_b);
        if (!in->failed && ms_intern(&model->texts, s, length_b) != i + 1) {
            return -EPROTO; /* a duplicate or empty text */
        }
    }
    uint64_t sets = get(in);
    for (uint64_t i = 0; i < sets && !in->failed; i++) {
        uint32_t slots[MS_LABEL_LEVELS];
        for (unsigned j = 0; j < MS_LABEL_LEVELS; j++) {
            slots[j] = (uint32_t)get_below(in, texts + 1);
        }
        if (!in->failed && (!ms__owners_restore(model, slots) || model->owner_sets.count != i + 1)) {
            return -EPROTO;
        }
    }
    return in->failed ? -EPROTO : 0;
}

static int get_threads(struct in *in, struct ms_model *model)
{
    uint64_t texts = (uint64_t)model->texts.count + 1;
    uint64_t count = get(in);
    for (uint64_t i = 0; i < count && !in->failed; i++) {
        struct ms_thread_state *thread = ms__thread(model, (uint32_t)get(in), true);
        if (thread == NULL) {
            return -ENOMEM;
        }
        for (unsigned level = 0; level < MS_LABEL_USER; level++) {
            thread->depth[level] = (uint8_t)get_below(in, MS_LABEL_DEPTH + 1);
            for (unsigned j = 0; j < thread->depth[level]; j++) {
                thread->labels[level][j] = (uint32_t)get_below(in, texts);
                thread->label_counts[level][j] = (uint32_t)get(in);
            }
            thread->label_total += thread->depth[level];
        }
        thread->user_depth = (uint8_t)get_below(in, MS_LABEL_DEPTH + 1);
        for (unsigned j = 0; j < thread->user_depth; j++) {
            thread->user[j] = (uint32_t)get_below(in, texts);
        }
        thread->label_total += thread->user_depth;
        thread->op_depth = (uint32_t)get(in);
        for (unsigned j = 0; j < thread->op_depth && j < MS_OP_DEPTH && !in->failed; j++) {
            thread->ops[j] = (uint32_t)get_below(in, texts);
        }
    }
    return in->failed ? -EPROTO : 0;
}

static int get_devices_and_pools(struct in *in, struct ms_model *model)
{
    get_steps(in, &model->steps);
    uint64_t count = get(in);
    for (uint64_t i = 0; i < count && !in->failed; i++) {
        struct ms_device *device = ms__device(model, (uint32_t)get(in));
        if (device == NULL) {
            return -ENOMEM;
        }
        get_steps(in, &device->steps);
        uint64_t bits = get_below(in, 4);
        device->usage_known = (bits & 1) != 0;
        device->active = (bits & 2) != 0;
        device->usage_device_b = get(in);
        device->usage_process_b = get(in);
        device->usage_total_b = get(in);
    }
    count = get(in);
    for (uint64_t i = 0; i < count && !in->failed; i++) {
        enum ms_space space = (enum ms_space)get_below(in, MS_SPACE_COUNT);
        struct ms_pool_entry *pool = ms__pool(model, space, (uint32_t)get(in));
        if (pool == NULL) {
            return -ENOMEM;
        }
        pool->state.total_b = get(in);
        pool->state.used_b = get(in);
        pool->state.peak_total_b = get(in);
        pool->state.peak_used_b = get(in);
        pool->state.live_blocks = get(in);
    }
    count = get(in);
    for (uint64_t i = 0; i < count && !in->failed; i++) {
        uint64_t key = get(in);
        enum ms_space space = (enum ms_space)get_below(in, MS_SPACE_COUNT);
        if (model->heap_count == model->heap_room) {
            uint32_t room = model->heap_room != 0 ? model->heap_room * 2 : 16;
            struct ms_heap *heaps = realloc(model->heaps, room * sizeof(*heaps));
            if (heaps == NULL) {
                return -ENOMEM;
            }
            model->heaps = heaps;
            model->heap_room = room;
        }
        struct ms_heap *heap = &model->heaps[model->heap_count];
        heap->space = (uint8_t)space;
        heap->device = (uint32_t)get(in);
        heap->size_b = get(in);
        if (ms_map_put(&model->heap_of_addr, key, model->heap_count) == NULL) {
            return -ENOMEM;
        }
        model->heap_count++;
    }
    return in->failed ? -EPROTO : 0;
}

static int get_segments(struct in *in, struct ms_segments *segments)
{
    uint64_t count = get(in);
    for (uint64_t i = 0; i < count && !in->failed; i++) {
        struct ms_reserve_entry reserve = {.addr = get(in)};
        reserve.size_b = get(in);
        if (!ms__segments_reserve(segments, &reserve)) {
            return -ENOMEM;
        }
    }
    count = get(in);
    for (uint64_t i = 0; i < count && !in->failed; i++) {
        struct ms_map_entry map = {.addr = get(in)};
        map.size_b = get(in);
        map.offset_b = get(in);
        map.handle = get(in);
        if (!ms__segments_map(segments, &map)) {
            return -ENOMEM;
        }
    }
    return in->failed ? -EPROTO : 0;
}

static bool get_block(struct in *in, const struct ms_model *model, struct ms_block *block)
{
    *block = (struct ms_block){0};
    block->space = (uint8_t)get_below(in, MS_SPACE_COUNT);
    block->type = (uint8_t)get_below(in, MS_TYPE_COUNT);
    block->state = (uint8_t)get_below(in, MS_BLOCK_HIDDEN + 1);
    block->owner = (uint32_t)get_below(in, (uint64_t)model->owner_sets.count + 1);
    block->op = (uint32_t)get_below(in, (uint64_t)model->texts.count + 1);
#define X(field) block->field = (__typeof__(block->field))get(in);
    BLOCK_NUMBERS(X)
#undef X
    return !in->failed && block->page_type <= 2;
}

static int get_blocks(struct in *in, struct ms_model *model)
{
    struct ms_block block;
    uint64_t count = get(in);
    for (uint64_t i = 0; i < count && !in->failed; i++) {
        if (!get_block(in, model, &block) || block.state == 0) {
            return -EPROTO;
        }
        uint32_t number = ms__blocks_add(&model->blocks, &block);
        if (number == 0) {
            return -ENOMEM;
        }
        if (block.state == MS_BLOCK_SHADOW_FREE) {
            ms__blocks_hide(&model->blocks, number);
        }
        model->stats.live_b += block.state != MS_BLOCK_GHOST ? block.size_b : 0;
    }
    count = get_below(in, MS_FREED_KEPT + 1);
    if (count != 0) {
        model->freed = calloc(MS_FREED_KEPT, sizeof(*model->freed));
        if (model->freed == NULL) {
            return -ENOMEM;
        }
    }
    for (uint64_t i = 0; i < count; i++) {
        if (!get_block(in, model, &model->freed[i])) {
            return -EPROTO;
        }
        model->freed_count++;
    }
    return in->failed ? -EPROTO : 0;
}

int ms_model_restore(struct ms_model *model, const struct ms_model_options *options, const void *payload,
                     size_t payload_b)
{
    ms__clear(model, options);
    struct in in = {.at = payload, .end = (const uint8_t *)payload + payload_b};
    if (get(&in) != MAGIC || get(&in) != VERSION) {
        return -EPROTO;
    }
#define X(field) model->field = (__typeof__(model->field))get(&in);
    COUNTERS(X)
#undef X
    if (model->step_source > MS_STEPS_API) {
        return -EPROTO;
    }
    for (unsigned i = 0; i < MS_EV_COUNT; i++) {
        model->stats.row_counts[i] = get(&in);
    }
    int rc = get_owners(&in, model);
    rc = rc != 0 ? rc : get_threads(&in, model);
    rc = rc != 0 ? rc : get_devices_and_pools(&in, model);
    rc = rc != 0 ? rc : get_segments(&in, &model->segments);
    rc = rc != 0 ? rc : get_blocks(&in, model);
    if (rc == 0 && (get(&in) != END_MARK || in.failed || in.at != in.end)) {
        rc = -EPROTO;
    }
    return rc;
}
