/* SPDX-License-Identifier: Apache-2.0 */
/* Segments: the driver memory at an address.
 *
 * halMemAlloc returns an address directly. Virtual memory reserves a range, creates a physical handle and maps the
 * handle into the range; pool blocks are then in that range. Maps and reservations never become rows. */
#include "memscope/model/model_internal.h"

#include "base/macros.h"

#include <errno.h>
#include <stdlib.h>

/* ---- tables ---- */

/* A free slot of an array whose free slots are linked through their first field. */
static uint32_t take(void **array, size_t entry_b, uint32_t *room, uint32_t *used, uint32_t *free_head)
{
    if (*free_head != 0) {
        uint32_t at = *free_head;
        *free_head = (uint32_t) * (uint64_t *)(void *)((char *)*array + at * entry_b);
        return at;
    }
    uint32_t at = *used + 1; /* slot 0 is never used */
    if (at >= *room) {
        uint32_t bigger = *room != 0 ? *room * 2 : 64;
        void *moved = realloc(*array, bigger * entry_b);
        if (moved == NULL) {
            return 0;
        }
        *array = moved;
        *room = bigger;
    }
    *used = at;
    return at;
}

bool ms__segments_map(struct ms_segments *s, const struct ms_map_entry *entry)
{
    struct ms_btree_place place;
    uint32_t at;
    if (ms_btree_floor(&s->map_tree, entry->addr, &place) && place.key == entry->addr) {
        at = place.value; /* its unmap was lost */
    } else {
        void *array = s->maps;
        at = take(&array, sizeof(*s->maps), &s->map_room, &s->map_used, &s->map_free);
        s->maps = array;
        if (at == 0 || !ms_btree_put(&s->map_tree, entry->addr, at)) {
            return false;
        }
    }
    s->maps[at] = *entry;
    return true;
}

bool ms__segments_reserve(struct ms_segments *s, const struct ms_reserve_entry *entry)
{
    struct ms_btree_place place;
    uint32_t at;
    if (ms_btree_floor(&s->reserve_tree, entry->addr, &place) && place.key == entry->addr) {
        at = place.value;
    } else {
        void *array = s->reserves;
        at = take(&array, sizeof(*s->reserves), &s->reserve_room, &s->reserve_used, &s->reserve_free);
        s->reserves = array;
        if (at == 0 || !ms_btree_put(&s->reserve_tree, entry->addr, at)) {
            return false;
        }
    }
    s->reserves[at] = *entry;
    return true;
}

static void unmap(struct ms_segments *s, uint64_t addr)
{
    struct ms_btree_place place;
    if (ms_btree_floor(&s->map_tree, addr, &place) && place.key == addr) {
        s->unmapped[s->unmapped_at++ % MS_COUNT_OF(s->unmapped)] = s->maps[place.value];
        ms_btree_remove(&s->map_tree, addr);
        s->maps[place.value].addr = s->map_free;
        s->map_free = place.value;
    }
}

static void release(struct ms_segments *s, uint64_t addr)
{
    struct ms_btree_place place;
    if (ms_btree_floor(&s->reserve_tree, addr, &place) && place.key == addr) {
        s->released[s->released_at++ % MS_COUNT_OF(s->released)] = s->reserves[place.value];
        ms_btree_remove(&s->reserve_tree, addr);
        s->reserves[place.value].addr = s->reserve_free;
        s->reserve_free = place.value;
    }
}

int ms__segment_event(struct ms_model *model, const struct ms_event *event)
{
    struct ms_segments *s = &model->segments;
    bool ok = true;
    switch (event->kind) {
    case MS_R_RESERVE:
        ok = ms__segments_reserve(s, &(struct ms_reserve_entry){.addr = event->addr, .size_b = event->size_b});
        break;
    case MS_R_ADDRESS_FREE:
        release(s, event->addr);
        break;
    case MS_R_ADDRESS_FREE_FAILED:
        for (unsigned i = 0; i < MS_COUNT_OF(s->released); i++) {
            if (s->released[i].addr == event->addr && s->released[i].size_b != 0) {
                ok = ms__segments_reserve(s, &s->released[i]);
                s->released[i].size_b = 0;
                break;
            }
        }
        break;
    case MS_R_MAP:
        ok = ms__segments_map(
            s, &(struct ms_map_entry){
                   .addr = event->addr, .size_b = event->size_b, .offset_b = event->offset_b, .handle = event->handle});
        break;
    case MS_R_UNMAP:
        unmap(s, event->addr);
        break;
    case MS_R_UNMAP_FAILED:
        for (unsigned i = 0; i < MS_COUNT_OF(s->unmapped); i++) {
            if (s->unmapped[i].addr == event->addr && s->unmapped[i].size_b != 0) {
                ok = ms__segments_map(s, &s->unmapped[i]);
                s->unmapped[i].size_b = 0;
                break;
            }
        }
        break;
    default:
        break;
    }
    return ok ? 0 : -ENOMEM;
}

void ms__segments_free(struct ms_segments *s)
{
    ms_btree_free(&s->map_tree);
    ms_btree_free(&s->reserve_tree);
    free(s->maps);
    free(s->reserves);
    *s = (struct ms_segments){0};
}

/* ---- queries ---- */

int ms_model_blocks_in(struct ms_model *model, uint64_t addr, uint64_t size_b, ms_block_fn fn, void *argument)
{
    struct ms_blocks *blocks = &model->blocks;
    if (!ms__blocks_order(blocks)) {
        return -ENOMEM;
    }
    uint64_t last = size_b != 0 ? addr + (size_b - 1) : addr;
    if (last < addr) {
        last = UINT64_MAX;
    }
    for (uint32_t i = 0; i < blocks->index_count; i++) {
        struct ms_block_index *index = &blocks->indexes[i];
        if (!MS_SPACE_IS_POOL(index->space)) {
            continue;
        }
        struct ms_btree_place place;
        bool there = ms_btree_floor(&index->tree, addr, &place);
        if (!there || addr - place.key >= ms__block(blocks, place.value)->size_b) {
            there = there ? ms_btree_next(&place) : ms_btree_ceiling(&index->tree, addr, &place);
        }
        for (; there && place.key <= last; there = ms_btree_next(&place)) {
            int rc = fn(argument, ms__block(blocks, place.value));
            if (rc != 0) {
                return rc;
            }
        }
    }
    return 0;
}

static int add_block(void *argument, const struct ms_block *block)
{
    struct ms_segment *segment = argument;
    uint64_t begin = block->addr > segment->addr ? block->addr : segment->addr;
    uint64_t block_end = block->addr + block->size_b, segment_end = segment->addr + segment->size_b;
    uint64_t end = block_end < segment_end ? block_end : segment_end;
    segment->pool_used_b += end > begin ? end - begin : 0;
    segment->pool_blocks += block->addr >= segment->addr;
    return 0;
}

static void describe_map(struct ms_model *model, const struct ms_map_entry *map, struct ms_segment *out)
{
    *out = (struct ms_segment){.addr = map->addr,
                               .size_b = map->size_b,
                               .device = MS_DEV_UNKNOWN,
                               .mapped = true,
                               .handle = map->handle,
                               .offset_b = map->offset_b};
    uint32_t backing = ms__blocks_find(&model->blocks, MS_SPACE_HANDLE, MS_DEV_UNKNOWN, map->handle);
    if (backing != 0) {
        out->backing = ms__block(&model->blocks, backing);
        out->device = out->backing->device;
    }
    struct ms_btree_place place;
    if (ms_btree_floor(&model->segments.reserve_tree, map->addr, &place)) {
        const struct ms_reserve_entry *reserve = &model->segments.reserves[place.value];
        if (map->addr - reserve->addr < reserve->size_b) {
            out->reserve = reserve->addr;
            out->reserve_b = reserve->size_b;
        }
    }
    ms_model_blocks_in(model, out->addr, out->size_b, add_block, out);
}

static void describe_block(struct ms_model *model, const struct ms_block *block, struct ms_segment *out)
{
    *out = (struct ms_segment){.addr = block->addr, .size_b = block->size_b, .device = block->device, .backing = block};
    ms_model_blocks_in(model, out->addr, out->size_b, add_block, out);
}

const struct ms_block *ms_model_mapped(const struct ms_model *model, uint64_t addr)
{
    struct ms_btree_place place;
    if (!ms_btree_floor(&model->segments.map_tree, addr, &place)) {
        return NULL;
    }
    const struct ms_map_entry *map = &model->segments.maps[place.value];
    uint32_t backing = addr - map->addr < map->size_b
                           ? ms__blocks_find(&model->blocks, MS_SPACE_HANDLE, MS_DEV_UNKNOWN, map->handle)
                           : 0;
    return backing != 0 ? ms__block(&model->blocks, backing) : NULL;
}

bool ms_model_segment(struct ms_model *model, uint64_t addr, struct ms_segment *out)
{
    struct ms_btree_place place;
    if (ms_btree_floor(&model->segments.map_tree, addr, &place)) {
        const struct ms_map_entry *map = &model->segments.maps[place.value];
        if (addr - map->addr < map->size_b) {
            describe_map(model, map, out);
            return true;
        }
    }
    const struct ms_block *block = ms_model_find(model, MS_SPACE_HAL, MS_DEV_UNKNOWN, addr);
    if (block == NULL) {
        return false;
    }
    describe_block(model, block, out);
    return true;
}

int ms_model_segments(struct ms_model *model, ms_segment_fn fn, void *argument)
{
    if (!ms__blocks_order(&model->blocks)) {
        return -ENOMEM;
    }
    const struct ms_btree *hal = NULL;
    for (uint32_t i = 0; i < model->blocks.index_count; i++) {
        if (model->blocks.indexes[i].space == MS_SPACE_HAL) {
            hal = &model->blocks.indexes[i].tree;
        }
    }
    struct ms_btree_place map_at, hal_at;
    bool maps = ms_btree_ceiling(&model->segments.map_tree, 0, &map_at);
    bool hals = hal != NULL && ms_btree_ceiling(hal, 0, &hal_at);
    while (maps || hals) {
        struct ms_segment segment;
        if (maps && (!hals || map_at.key <= hal_at.key)) {
            describe_map(model, &model->segments.maps[map_at.value], &segment);
            maps = ms_btree_next(&map_at);
        } else {
            describe_block(model, ms__block(&model->blocks, hal_at.value), &segment);
            hals = ms_btree_next(&hal_at);
        }
        int rc = fn(argument, &segment);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}
