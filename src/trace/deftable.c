/* SPDX-License-Identifier: Apache-2.0 */
/* Entries in insertion order, found through two open-addressing indexes (by content, by id), so that memory depends on
 * the entries and not on the ids that a file claims. Content is in an arena of blocks that never move, because readers
 * hold pointers into it. */
#include "trace/deftable.h"

#include "base/macros.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_B (256u << 10)

struct arena_block {
    struct arena_block *next;
    uint64_t data[];
};

struct index {
    uint32_t *slots; /* entry + 1, 0: empty */
    uint32_t size;   /* a power of two, the same for both */
};

struct ms_deftable {
    struct ms_def *defs;
    uint32_t count, room;
    uint32_t last_id;
    struct index by_content, by_id;
    struct arena_block *arena;
    size_t arena_used_b, arena_room_b, bytes;
};

static uint64_t spread(uint64_t id)
{
    return id * 0x9e3779b97f4a7c15u >> 20;
}

static void index_put(struct index *index, uint64_t hash, uint32_t entry)
{
    uint32_t at = (uint32_t)hash & (index->size - 1);
    while (index->slots[at] != 0) {
        at = (at + 1) & (index->size - 1);
    }
    index->slots[at] = entry + 1;
}

/* Rebuilds the indexes with twice the size. */
static int grow_indexes(struct ms_deftable *table)
{
    uint32_t size = table->by_id.size == 0 ? 1024 : table->by_id.size * 2;
    struct index by_content = {.slots = calloc(size, sizeof(uint32_t)), .size = size};
    struct index by_id = {.slots = calloc(size, sizeof(uint32_t)), .size = size};
    if (by_content.slots == NULL || by_id.slots == NULL) {
        free(by_content.slots);
        free(by_id.slots);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < table->count; i++) {
        index_put(&by_content, table->defs[i].hash, i);
        index_put(&by_id, spread(table->defs[i].id), i);
    }
    free(table->by_content.slots);
    free(table->by_id.slots);
    table->by_content = by_content;
    table->by_id = by_id;
    return 0;
}

static int make_room(struct ms_deftable *table)
{
    if (table->count == table->room) {
        uint32_t room = table->room == 0 ? 256 : table->room * 2;
        struct ms_def *defs = realloc(table->defs, room * sizeof(*defs));
        if (defs == NULL) {
            return -ENOMEM;
        }
        table->defs = defs;
        table->room = room;
    }
    return (uint64_t)table->count * 2 < table->by_id.size ? 0 : grow_indexes(table);
}

struct ms_deftable *ms_deftable_new(void)
{
    struct ms_deftable *table = calloc(1, sizeof(*table));
    if (table != NULL && make_room(table) != 0) {
        ms_deftable_free(table);
        table = NULL;
    }
    return table;
}

void ms_deftable_free(struct ms_deftable *table)
{
    if (table == NULL) {
        return;
    }
    for (struct arena_block *b = table->arena, *next; b != NULL; b = next) {
        next = b->next;
        free(b);
    }
    free(table->defs);
    free(table->by_content.slots);
    free(table->by_id.slots);
    free(table);
}

static uint8_t *store(struct ms_deftable *table, const void *content, size_t content_b)
{
    size_t whole_b = MS_ROUND_UP(content_b, 8);
    if (table->arena == NULL || table->arena_used_b + whole_b > table->arena_room_b) {
        size_t room_b = whole_b > ARENA_B ? whole_b : ARENA_B;
        struct arena_block *b = malloc(sizeof(*b) + room_b);
        if (b == NULL) {
            return NULL;
        }
        b->next = table->arena;
        table->arena = b;
        table->arena_used_b = 0;
        table->arena_room_b = room_b;
        table->bytes += room_b;
    }
    uint8_t *at = (uint8_t *)table->arena->data + table->arena_used_b;
    if (content_b != 0) {
        memcpy(at, content, content_b);
    }
    table->arena_used_b += whole_b;
    return at;
}

static int enter(struct ms_deftable *table, const struct ms_def *def)
{
    int rc = make_room(table);
    if (rc != 0) {
        return rc;
    }
    uint8_t *copy = store(table, def->content, def->content_b);
    if (copy == NULL) {
        return -ENOMEM;
    }
    uint32_t entry = table->count++;
    table->defs[entry] = *def;
    table->defs[entry].content = copy;
    index_put(&table->by_content, def->hash, entry);
    index_put(&table->by_id, spread(def->id), entry);
    table->last_id = table->last_id < def->id ? def->id : table->last_id;
    return 0;
}

static bool same(const struct ms_def *a, const struct ms_def *b)
{
    return a->hash == b->hash && a->kind == b->kind && a->flags == b->flags && a->content_b == b->content_b &&
           (a->content_b == 0 || memcmp(a->content, b->content, a->content_b) == 0);
}

static struct ms_def describe(unsigned kind, unsigned flags, const void *content, size_t content_b)
{
    return (struct ms_def){
        .content = content,
        .content_b = (uint32_t)content_b,
        .kind = (uint8_t)kind,
        .flags = (uint8_t)flags,
        .hash = XXH3_64bits_withSeed(content, content_b, kind | (uint64_t)flags << 8),
    };
}

uint32_t ms_deftable_intern(struct ms_deftable *table, unsigned kind, unsigned flags, const void *content,
                            size_t content_b)
{
    struct ms_def def = describe(kind, flags, content, content_b);
    const struct index *index = &table->by_content;
    for (uint32_t at = (uint32_t)def.hash & (index->size - 1); index->slots[at] != 0;
         at = (at + 1) & (index->size - 1)) {
        const struct ms_def *there = &table->defs[index->slots[at] - 1];
        if (same(there, &def)) {
            return there->id;
        }
    }
    def.id = table->last_id + 1;
    return enter(table, &def) == 0 ? def.id : 0;
}

int ms_deftable_set(struct ms_deftable *table, uint32_t id, unsigned kind, unsigned flags, const void *content,
                    size_t content_b)
{
    if (id == 0) {
        return -EINVAL;
    }
    if (ms_deftable_get(table, id) != NULL) {
        return 0;
    }
    struct ms_def def = describe(kind, flags, content, content_b);
    def.id = id;
    return enter(table, &def);
}

struct ms_def *ms_deftable_get(const struct ms_deftable *table, uint32_t id)
{
    const struct index *index = &table->by_id;
    for (uint32_t at = (uint32_t)spread(id) & (index->size - 1); index->slots[at] != 0;
         at = (at + 1) & (index->size - 1)) {
        struct ms_def *def = &table->defs[index->slots[at] - 1];
        if (def->id == id) {
            return def;
        }
    }
    return NULL;
}

uint32_t ms_deftable_count(const struct ms_deftable *table)
{
    return table->count;
}

struct ms_def *ms_deftable_at(const struct ms_deftable *table, uint32_t i)
{
    return &table->defs[i];
}

uint32_t ms_deftable_last_id(const struct ms_deftable *table)
{
    return table->last_id;
}

void ms_deftable_reserve(struct ms_deftable *table, uint32_t id)
{
    table->last_id = table->last_id < id ? id : table->last_id;
}

size_t ms_deftable_bytes(const struct ms_deftable *table)
{
    return table->bytes + table->room * sizeof(*table->defs) + (size_t)table->by_id.size * 2 * sizeof(uint32_t);
}
