/* SPDX-License-Identifier: Apache-2.0 */
/* See ranges.h. */
#include "memscope/export/ranges.h"

#include <stdlib.h>

struct ms_range *ms_ranges_at(const struct ms_ranges *ranges, uint64_t addr)
{
    struct ms_btree_place place;
    if (!ms_btree_floor(&ranges->tree, addr, &place)) {
        return NULL;
    }
    struct ms_range *range = &ranges->items[place.value];
    return addr < ms_range_end(range) ? range : NULL;
}

struct ms_range *ms_ranges_from(const struct ms_ranges *ranges, uint64_t addr)
{
    struct ms_btree_place place;
    return ms_btree_ceiling(&ranges->tree, addr, &place) ? &ranges->items[place.value] : NULL;
}

struct ms_range *ms_ranges_over(const struct ms_ranges *ranges, uint64_t addr, uint64_t size_b)
{
    struct ms_range *range = ms_ranges_at(ranges, addr);
    range = range != NULL ? range : ms_ranges_from(ranges, addr);
    return range != NULL && range->addr < addr + size_b ? range : NULL;
}

struct ms_range *ms_ranges_add(struct ms_ranges *ranges, const struct ms_range *range)
{
    uint32_t at = ranges->free_head;
    if (at == 0) {
        if (ranges->used + 1 >= ranges->room) {
            uint32_t room = ranges->room != 0 ? ranges->room * 2 : 64;
            struct ms_range *items = realloc(ranges->items, room * sizeof(*items));
            if (items == NULL) {
                return NULL;
            }
            ranges->items = items;
            ranges->room = room;
        }
        at = ranges->used + 1;
    }
    if (!ms_btree_put(&ranges->tree, range->addr, at)) {
        return NULL;
    }
    if (at == ranges->free_head) {
        ranges->free_head = ranges->items[at].next;
    } else {
        ranges->used = at;
    }
    ranges->items[at] = *range;
    return &ranges->items[at];
}

void ms_ranges_remove(struct ms_ranges *ranges, struct ms_range *range)
{
    ms_btree_remove(&ranges->tree, range->addr);
    range->next = ranges->free_head;
    ranges->free_head = (uint32_t)(range - ranges->items);
}

void ms_ranges_free(struct ms_ranges *ranges)
{
    free(ranges->items);
    ms_btree_free(&ranges->tree);
    *ranges = (struct ms_ranges){0};
}
