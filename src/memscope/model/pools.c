/* SPDX-License-Identifier: Apache-2.0 */
/* Totals: bytes that each pool has reserved and allocated, per device; the driver and the host count as pools too. */
#include "memscope/model/model_internal.h"

#include <errno.h>
#include <stdlib.h>

enum ms_space ms__space_of_pool(unsigned pool)
{
    static const uint8_t spaces[] = {[MS_POOL_NONE] = MS_SPACE_COUNT,
#define X(number, name) [MS_POOL_##name] = MS_SPACE_##name,
                                     MS_POOLS(X)
#undef X
    };
    return pool < sizeof(spaces) ? spaces[pool] : MS_SPACE_COUNT;
}

enum ms_row_type ms_space_type(enum ms_space space)
{
    static const uint8_t types[] = {
#define X(name, type, title) MS_TYPE_##type,
        MS_SPACES(X)
#undef X
    };
    return (enum ms_row_type)types[space];
}

const char *ms_space_title(unsigned space)
{
    static const char *const titles[] = {
#define X(name, type, title) title,
        MS_SPACES(X)
#undef X
    };
    return space < MS_SPACE_COUNT ? titles[space] : "unknown";
}

/* Physical handles count as driver memory; pinned memory of both kinds is one sum. */
static uint8_t pool_of_space(enum ms_space space, uint32_t device)
{
    if (space == MS_SPACE_HANDLE || space == MS_SPACE_HAL) {
        return device == MS_DEV_CPU ? MS_SPACE_REGISTER : MS_SPACE_HAL;
    }
    return (uint8_t)space;
}

struct ms_pool_entry *ms__pool(struct ms_model *model, enum ms_space space, uint32_t device)
{
    uint8_t wanted = pool_of_space(space, device);
    struct ms_pool_entry *last = model->pool_count != 0 ? &model->pools[model->pool_last] : NULL;
    if (last != NULL && last->space == wanted && last->device == device) {
        return last;
    }
    for (uint32_t i = 0; i < model->pool_count; i++) {
        if (model->pools[i].space == wanted && model->pools[i].device == device) {
            model->pool_last = i;
            return &model->pools[i];
        }
    }
    struct ms_pool_entry *pools = realloc(model->pools, (model->pool_count + 1) * sizeof(*pools));
    if (pools == NULL) {
        return NULL;
    }
    model->pools = pools;
    pools[model->pool_count] = (struct ms_pool_entry){.space = wanted, .device = device};
    model->pool_last = model->pool_count;
    return &pools[model->pool_count++];
}

bool ms_model_pool(const struct ms_model *model, enum ms_space space, uint32_t device, struct ms_pool_state *out)
{
    uint8_t wanted = pool_of_space(space, device);
    for (uint32_t i = 0; i < model->pool_count; i++) {
        if (model->pools[i].space == wanted && model->pools[i].device == device) {
            *out = model->pools[i].state;
            return true;
        }
    }
    return false;
}

static void set_total(struct ms_pool_state *state, uint64_t total_b)
{
    state->total_b = total_b;
    if (total_b > state->peak_total_b) {
        state->peak_total_b = total_b;
    }
}

/* A pool reports its new level right after it has got memory from the driver: one segment, or the physical handles by
 * which an expandable one has grown. They are the newest blocks of the driver, and add up to the difference. */
static void mark_segments(struct ms_model *model, uint32_t device, uint64_t size_b)
{
    enum { NEWEST = 64 }; /* other threads may have allocated meanwhile */
    struct ms_block *found[NEWEST];
    unsigned count = 0;
    uint32_t number = model->blocks.newest;
    for (unsigned i = 0; i < NEWEST && number != 0 && size_b > 0; i++) {
        struct ms_block *block = ms__block(&model->blocks, number);
        bool driver = block->space == MS_SPACE_HAL || block->space == MS_SPACE_HANDLE;
        if (driver && block->device == device && !block->of_pool && block->size_b <= size_b) {
            size_b -= block->size_b;
            found[count++] = block;
        }
        number = block->older;
    }
    for (unsigned i = 0; i < count && size_b == 0; i++) {
        found[i]->of_pool = 1;
    }
}

int ms__pool_total(struct ms_model *model, const struct ms_event *event)
{
    enum ms_space space = ms__space_of_pool(event->pool);
    if (space == MS_SPACE_COUNT) {
        return 0;
    }
    struct ms_pool_entry *pool = ms__pool(model, space, event->device);
    if (pool == NULL) {
        return -ENOMEM;
    }
    if (event->pool_total_b > pool->state.total_b) {
        mark_segments(model, event->device, event->pool_total_b - pool->state.total_b);
    }
    set_total(&pool->state, event->pool_total_b);
    return 0;
}

/* Heaps add up; the record of a heap's end has only its address. */
int ms__pool_heap(struct ms_model *model, const struct ms_event *event)
{
    enum ms_space space = ms__space_of_pool(event->pool);
    if (space == MS_SPACE_COUNT) {
        return 0;
    }
    uint64_t key = event->addr ^ (uint64_t)space << 56;
    uint64_t slot;
    if (ms_map_remove(&model->heap_of_addr, key, &slot)) {
        struct ms_heap heap = model->heaps[slot];
        model->heaps[slot] = (struct ms_heap){.space = MS_SPACE_COUNT};
        struct ms_pool_entry *pool = ms__pool(model, heap.space, heap.device);
        if (pool != NULL) {
            pool->state.total_b -= heap.size_b < pool->state.total_b ? heap.size_b : pool->state.total_b;
        }
    }
    if (event->kind == MS_R_HEAP_SUB) {
        return 0;
    }
    uint32_t at = 0;
    while (at < model->heap_count && model->heaps[at].space != MS_SPACE_COUNT) {
        at++;
    }
    if (at == model->heap_room) {
        uint32_t room = at != 0 ? at * 2 : 16;
        struct ms_heap *heaps = realloc(model->heaps, room * sizeof(*heaps));
        if (heaps == NULL) {
            return -ENOMEM;
        }
        model->heaps = heaps;
        model->heap_room = room;
    }
    struct ms_pool_entry *pool = ms__pool(model, space, event->device);
    if (pool == NULL || ms_map_put(&model->heap_of_addr, key, at) == NULL) {
        return -ENOMEM;
    }
    model->heaps[at] = (struct ms_heap){.size_b = event->size_b, .device = event->device, .space = (uint8_t)space};
    model->heap_count += at == model->heap_count;
    set_total(&pool->state, pool->state.total_b + event->size_b);
    return 0;
}
