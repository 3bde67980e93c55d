/* SPDX-License-Identifier: Apache-2.0 */
/* A hash map from 64-bit keys to 64-bit values: open addressing, grows by doubling, unordered.
 *
 * Key 0 is an ordinary key. All zeros is an empty map; ms_map_free releases its memory. */
#ifndef MS_BASE_MAP_H
#define MS_BASE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_map_slot {
    uint64_t key, value;
};

struct ms_map {
    struct ms_map_slot *slots;
    uint8_t *taken;
    size_t size, count; /* size: power of two, or 0 */
};

/* Mixes the bits of a key: addresses are multiples of powers of two. */
static inline uint64_t ms_hash_u64(uint64_t key)
{
    key ^= key >> 32;
    key *= 0x9e3779b97f4a7c15ull;
    return key ^ key >> 29;
}

uint64_t *ms_map_get(const struct ms_map *map, uint64_t key);           /* NULL: not found */
uint64_t *ms_map_put(struct ms_map *map, uint64_t key, uint64_t value); /* NULL: out of memory */
/* Like get, but inserts a missing key with `value`; *added (may be NULL) says whether it did. NULL: out of memory. */
uint64_t *ms_map_at(struct ms_map *map, uint64_t key, uint64_t value, bool *added);
bool ms_map_remove(struct ms_map *map, uint64_t key, uint64_t *value); /* value may be NULL */
void ms_map_free(struct ms_map *map);
size_t ms_map_memory(const struct ms_map *map);

/* for (size_t i = ms_map_first(m, 0); i < m->size; i = ms_map_first(m, i + 1)) ... m->slots[i] */
size_t ms_map_first(const struct ms_map *map, size_t from);

#endif
