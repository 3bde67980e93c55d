/* SPDX-License-Identifier: Apache-2.0 */
/* Storage of blocks and lookup.
 *
 * Blocks are in chunks that never move and have numbers, 1, 2 ...; a freed number is reused. A hash table maps
 * (space, address) to the number: the device is compared, not hashed, because frees often do not know it. Live
 * blocks form a list in order of allocation. Trees in order of address are built on the first lookup of an address
 * inside a block; programs that report no accesses never pay for them. */
#include "memscope/model/model_internal.h"

#include "base/macros.h"

#include <stdlib.h>
#include <string.h>

static uint32_t hash_of(unsigned space, uint64_t addr)
{
    return (uint32_t)(ms_hash_u64(addr + space) >> 20);
}

/* ---- hash table: linear probing, entries move back on removal ---- */

static bool table_grow(struct ms_blocks *blocks)
{
    uint32_t size = blocks->table != NULL ? (blocks->table_mask + 1) * 2 : 1024;
    struct ms_block_slot *table = size != 0 ? calloc(size, sizeof(*table)) : NULL;
    if (table == NULL) {
        return false;
    }
    for (uint32_t i = 0; blocks->table != NULL && i <= blocks->table_mask; i++) {
        struct ms_block_slot slot = blocks->table[i];
        if (slot.block != 0) {
            uint32_t at = slot.hash & (size - 1);
            while (table[at].block != 0) {
                at = (at + 1) & (size - 1);
            }
            table[at] = slot;
        }
    }
    free(blocks->table);
    blocks->table = table;
    blocks->table_mask = size - 1;
    return true;
}

static bool table_add(struct ms_blocks *blocks, uint32_t number)
{
    if ((blocks->table == NULL || blocks->table_count * 2 > blocks->table_mask) && !table_grow(blocks)) {
        return false;
    }
    const struct ms_block *block = ms__block(blocks, number);
    uint32_t hash = hash_of(block->space, block->addr);
    uint32_t at = hash & blocks->table_mask;
    while (blocks->table[at].block != 0) {
        at = (at + 1) & blocks->table_mask;
    }
    blocks->table[at] = (struct ms_block_slot){.block = number, .hash = hash};
    blocks->table_count++;
    return true;
}

static void table_remove(struct ms_blocks *blocks, uint32_t number)
{
    const struct ms_block *block = ms__block(blocks, number);
    uint32_t mask = blocks->table_mask;
    uint32_t hole = hash_of(block->space, block->addr) & mask;
    while (blocks->table[hole].block != number) {
        if (blocks->table[hole].block == 0) {
            return;
        }
        hole = (hole + 1) & mask;
    }
    for (uint32_t at = (hole + 1) & mask; blocks->table[at].block != 0; at = (at + 1) & mask) {
        if (((at - blocks->table[at].hash) & mask) >= ((at - hole) & mask)) {
            blocks->table[hole] = blocks->table[at];
            hole = at;
        }
    }
    blocks->table[hole].block = 0;
    blocks->table_count--;
}

uint32_t ms__blocks_find(const struct ms_blocks *blocks, enum ms_space space, uint32_t device, uint64_t addr)
{
    if (blocks->table == NULL) {
        return 0;
    }
    bool any_device = device == MS_DEV_UNKNOWN || !MS_SPACE_IS_POOL(space);
    uint32_t hash = hash_of(space, addr);
    for (uint32_t at = hash & blocks->table_mask; blocks->table[at].block != 0; at = (at + 1) & blocks->table_mask) {
        if (blocks->table[at].hash == hash) {
            const struct ms_block *block = ms__block(blocks, blocks->table[at].block);
            if (block->addr == addr && block->space == space && (any_device || block->device == device)) {
                return blocks->table[at].block;
            }
        }
    }
    return 0;
}

/* ---- order of addresses ---- */

static struct ms_block_index *index_of(struct ms_blocks *blocks, const struct ms_block *block, bool make)
{
    uint32_t device = MS_SPACE_IS_POOL(block->space) ? block->device : MS_DEV_UNKNOWN;
    for (uint32_t i = 0; i < blocks->index_count; i++) {
        if (blocks->indexes[i].space == block->space && blocks->indexes[i].device == device) {
            return &blocks->indexes[i];
        }
    }
    if (!make) {
        return NULL;
    }
    struct ms_block_index *indexes = realloc(blocks->indexes, (blocks->index_count + 1) * sizeof(*indexes));
    if (indexes == NULL) {
        return NULL;
    }
    blocks->indexes = indexes;
    indexes[blocks->index_count] = (struct ms_block_index){.device = device, .space = block->space};
    return &indexes[blocks->index_count++];
}

static bool index_add(struct ms_blocks *blocks, uint32_t number)
{
    const struct ms_block *block = ms__block(blocks, number);
    struct ms_block_index *index = index_of(blocks, block, true);
    return index != NULL && ms_btree_put(&index->tree, block->addr, number);
}

static void index_remove(struct ms_blocks *blocks, uint32_t number)
{
    const struct ms_block *block = ms__block(blocks, number);
    struct ms_block_index *index = index_of(blocks, block, false);
    if (index != NULL) {
        ms_btree_remove(&index->tree, block->addr);
    }
}

static void index_free(struct ms_blocks *blocks)
{
    for (uint32_t i = 0; i < blocks->index_count; i++) {
        ms_btree_free(&blocks->indexes[i].tree);
    }
    free(blocks->indexes);
    blocks->indexes = NULL;
    blocks->index_count = 0;
    blocks->ordered = false;
}

bool ms__blocks_order(struct ms_blocks *blocks)
{
    if (blocks->ordered) {
        return true;
    }
    blocks->ordered = true;
    for (uint32_t n = blocks->oldest; n != 0; n = ms__block(blocks, n)->newer) {
        if (ms__block(blocks, n)->state != MS_BLOCK_SHADOW_FREE && !index_add(blocks, n)) {
            index_free(blocks);
            return false;
        }
    }
    return true;
}

uint32_t ms__blocks_containing(struct ms_blocks *blocks, enum ms_space space, uint32_t device, uint64_t addr)
{
    uint32_t exact = ms__blocks_find(blocks, space, device, addr);
    if (exact != 0 || !ms__blocks_order(blocks)) {
        return exact;
    }
    bool any_device = device == MS_DEV_UNKNOWN || !MS_SPACE_IS_POOL(space);
    for (uint32_t i = 0; i < blocks->index_count; i++) {
        struct ms_block_index *index = &blocks->indexes[i];
        struct ms_btree_place place;
        if (index->space == space && (any_device || index->device == device) &&
            ms_btree_floor(&index->tree, addr, &place) && addr - place.key < ms__block(blocks, place.value)->size_b) {
            return place.value;
        }
    }
    return 0;
}

/* ---- storage ---- */

static uint32_t take_number(struct ms_blocks *blocks)
{
    if (blocks->free_head != 0) {
        uint32_t number = blocks->free_head;
        blocks->free_head = ms__block(blocks, number)->newer;
        return number;
    }
    uint32_t number = blocks->used + 1;
    if (number / MS_BLOCK_CHUNK >= blocks->chunk_count) {
        if (blocks->chunk_count == blocks->chunk_room) {
            uint32_t room = blocks->chunk_room != 0 ? blocks->chunk_room * 2 : 16;
            struct ms_block **chunks = realloc(blocks->chunks, room * sizeof(*chunks));
            if (chunks == NULL) {
                return 0;
            }
            blocks->chunks = chunks;
            blocks->chunk_room = room;
        }
        struct ms_block *chunk = malloc(MS_BLOCK_CHUNK * sizeof(*chunk));
        if (chunk == NULL) {
            return 0;
        }
        blocks->chunks[blocks->chunk_count++] = chunk;
    }
    blocks->used = number;
    return number;
}

static void give_number(struct ms_blocks *blocks, uint32_t number)
{
    ms__block(blocks, number)->newer = blocks->free_head;
    ms__block(blocks, number)->state = 0;
    blocks->free_head = number;
}

uint32_t ms__blocks_add(struct ms_blocks *blocks, const struct ms_block *block)
{
    uint32_t number = take_number(blocks);
    if (number == 0) {
        return 0;
    }
    struct ms_block *stored = ms__block(blocks, number);
    *stored = *block;
    if (!ms__blocks_show(blocks, number)) {
        give_number(blocks, number);
        return 0;
    }
    stored->newer = 0;
    stored->older = blocks->newest;
    if (blocks->newest != 0) {
        ms__block(blocks, blocks->newest)->newer = number;
    } else {
        blocks->oldest = number;
    }
    blocks->newest = number;
    blocks->count++;
    return number;
}

bool ms__blocks_show(struct ms_blocks *blocks, uint32_t number)
{
    if (!table_add(blocks, number)) {
        return false;
    }
    if (blocks->ordered && !index_add(blocks, number)) {
        index_free(blocks); /* rebuilt on demand */
    }
    return true;
}

void ms__blocks_hide(struct ms_blocks *blocks, uint32_t number)
{
    table_remove(blocks, number);
    if (blocks->ordered) {
        index_remove(blocks, number);
    }
}

void ms__blocks_remove(struct ms_blocks *blocks, uint32_t number)
{
    struct ms_block *block = ms__block(blocks, number);
    if (block->state != MS_BLOCK_SHADOW_FREE) {
        ms__blocks_hide(blocks, number);
    }
    if (block->older != 0) {
        ms__block(blocks, block->older)->newer = block->newer;
    } else {
        blocks->oldest = block->newer;
    }
    if (block->newer != 0) {
        ms__block(blocks, block->newer)->older = block->older;
    } else {
        blocks->newest = block->older;
    }
    blocks->count--;
    give_number(blocks, number);
}

void ms__blocks_free(struct ms_blocks *blocks)
{
    index_free(blocks);
    for (uint32_t i = 0; i < blocks->chunk_count; i++) {
        free(blocks->chunks[i]);
    }
    free(blocks->chunks);
    free(blocks->table);
    *blocks = (struct ms_blocks){0};
}

size_t ms__blocks_memory(const struct ms_blocks *blocks)
{
    size_t size = (size_t)blocks->chunk_count * MS_BLOCK_CHUNK * sizeof(struct ms_block);
    size += blocks->table != NULL ? ((size_t)blocks->table_mask + 1) * sizeof(*blocks->table) : 0;
    for (uint32_t i = 0; i < blocks->index_count; i++) {
        size += ms_btree_memory(&blocks->indexes[i].tree);
    }
    return size;
}
