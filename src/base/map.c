/* SPDX-License-Identifier: Apache-2.0 */
/* See map.h. Linear probing; removal moves later entries back, so it needs no tombstones. At most 3/4 full. */
#include "base/map.h"

#include <stdlib.h>

uint64_t *ms_map_get(const struct ms_map *map, uint64_t key)
{
    if (map->count == 0) {
        return NULL;
    }
    for (size_t i = ms_hash_u64(key) & (map->size - 1); map->taken[i]; i = (i + 1) & (map->size - 1)) {
        if (map->slots[i].key == key) {
            return &map->slots[i].value;
        }
    }
    return NULL;
}

static struct ms_map_slot *place(struct ms_map *map, uint64_t key)
{
    size_t i = ms_hash_u64(key) & (map->size - 1);
    while (map->taken[i]) {
        i = (i + 1) & (map->size - 1);
    }
    map->taken[i] = 1;
    map->slots[i].key = key;
    map->count++;
    return &map->slots[i];
}

static bool grow(struct ms_map *map)
{
    struct ms_map bigger = {.size = map->size != 0 ? map->size * 2 : 16};
    bigger.slots = malloc(bigger.size * sizeof(*bigger.slots));
    bigger.taken = calloc(bigger.size, 1);
    if (bigger.slots == NULL || bigger.taken == NULL) {
        ms_map_free(&bigger);
        return false;
    }
    for (size_t i = ms_map_first(map, 0); i < map->size; i = ms_map_first(map, i + 1)) {
        place(&bigger, map->slots[i].key)->value = map->slots[i].value;
    }
    ms_map_free(map);
    *map = bigger;
    return true;
}

uint64_t *ms_map_at(struct ms_map *map, uint64_t key, uint64_t value, bool *added)
{
    uint64_t *there = ms_map_get(map, key);
    if (added != NULL) {
        *added = there == NULL;
    }
    if (there != NULL) {
        return there;
    }
    if ((map->count + 1) * 4 > map->size * 3 && !grow(map)) {
        return NULL;
    }
    struct ms_map_slot *slot = place(map, key);
    slot->value = value;
    return &slot->value;
}

uint64_t *ms_map_put(struct ms_map *map, uint64_t key, uint64_t value)
{
    uint64_t *slot = ms_map_at(map, key, value, NULL);
    if (slot != NULL) {
        *slot = value;
    }
    return slot;
}

bool ms_map_remove(struct ms_map *map, uint64_t key, uint64_t *value)
{
    uint64_t *there = ms_map_get(map, key);
    if (there == NULL) {
        return false;
    }
    if (value != NULL) {
        *value = *there;
    }
    size_t mask = map->size - 1;
    size_t hole = (size_t)((struct ms_map_slot *)(void *)(there - 1) - map->slots);
    for (size_t i = (hole + 1) & mask; map->taken[i]; i = (i + 1) & mask) {
        size_t home = ms_hash_u64(map->slots[i].key) & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            map->slots[hole] = map->slots[i];
            hole = i;
        }
    }
    map->taken[hole] = 0;
    map->count--;
    return true;
}

size_t ms_map_first(const struct ms_map *map, size_t from)
{
    while (from < map->size && !map->taken[from]) {
        from++;
    }
    return from;
}

void ms_map_free(struct ms_map *map)
{
    free(map->slots);
    free(map->taken);
    *map = (struct ms_map){0};
}

size_t ms_map_memory(const struct ms_map *map)
{
    return map->size * (sizeof(*map->slots) + 1);
}
