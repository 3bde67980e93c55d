/* SPDX-License-Identifier: Apache-2.0 */
/* Free ranges are kept in bins by size (four per power of two) with a bitmap of non-empty bins, so that a few steps
 * find one that is certainly large enough. The ranges of the nearest bins are tried one by one only if no bin
 * guarantees a fit. A block given back is merged with its free neighbours, which the ordered tree finds.
 *
 * `starts` is a plain array over the units of the zone, mapped without reservation: a page of it exists only where
 * blocks begin. It is written under the lock and read without. */
#include "softnpu/hal/zone.h"

#include "base/macros.h"
#include "base/slab.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_BLOCKS (1u << 23)

static struct ms_slab blocks = MS_SLAB_INIT(struct snpu_block, MAX_BLOCKS);

/* Sizes are counted in units. The first bin in which every range has at least `units` is bin_of(units), plus one if
 * units is not the smallest size of its bin. */
static unsigned bin_of(uint64_t units)
{
    if (units < 4) {
        return (unsigned)units;
    }
    unsigned log = 63u - (unsigned)__builtin_clzll(units);
    return log * 4 + (unsigned)((units >> (log - 2)) & 3) - 4; /* 4 -> 4, 5 -> 5, 8 -> 8, 10 -> 9 */
}

static uint64_t bin_min(unsigned bin)
{
    if (bin < 4) {
        return bin;
    }
    unsigned log = (bin + 4) / 4;
    return (uint64_t)(4 + (bin & 3)) << (log - 2);
}

static void bin_add(struct snpu_zone *zone, struct snpu_block *block)
{
    unsigned bin = bin_of(block->range.size_b / zone->unit_b);
    block->bin_prev = NULL;
    block->bin_next = zone->bins[bin];
    if (block->bin_next != NULL) {
        block->bin_next->bin_prev = block;
    }
    zone->bins[bin] = block;
    zone->bin_used[bin / 64] |= (uint64_t)1 << (bin % 64);
}

static void bin_remove(struct snpu_zone *zone, struct snpu_block *block)
{
    unsigned bin = bin_of(block->range.size_b / zone->unit_b);
    if (block->bin_next != NULL) {
        block->bin_next->bin_prev = block->bin_prev;
    }
    if (block->bin_prev != NULL) {
        block->bin_prev->bin_next = block->bin_next;
        return;
    }
    zone->bins[bin] = block->bin_next;
    if (zone->bins[bin] == NULL) {
        zone->bin_used[bin / 64] &= ~((uint64_t)1 << (bin % 64));
    }
}

static unsigned next_used_bin(const struct snpu_zone *zone, unsigned bin)
{
    for (; bin < SNPU_ZONE_BINS; bin = (bin / 64 + 1) * 64) {
        uint64_t word = zone->bin_used[bin / 64] >> (bin % 64);
        if (word != 0) {
            return bin + (unsigned)__builtin_ctzll(word);
        }
    }
    return SNPU_ZONE_BINS;
}

static struct snpu_block **start_of(const struct snpu_zone *zone, uintptr_t addr)
{
    return &zone->starts[(addr - zone->base) / zone->unit_b];
}

static void free_insert(struct snpu_zone *zone, struct snpu_block *block)
{
    __atomic_store_n(&block->state, SNPU_BLOCK_FREE, __ATOMIC_RELEASE);
    snpu_ranges_insert(&zone->order, &block->range);
    bin_add(zone, block);
}

static void free_remove(struct snpu_zone *zone, struct snpu_block *block)
{
    snpu_ranges_remove(&zone->order, &block->range);
    bin_remove(zone, block);
}

int snpu_zone_open(struct snpu_zone *zone, uintptr_t base, uint64_t size_b, uint64_t unit_b)
{
    memset(zone, 0, sizeof(*zone));
    void *starts = mmap(NULL, size_b / unit_b * sizeof(*zone->starts), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (starts == MAP_FAILED) {
        return -ENOMEM;
    }
    struct snpu_block *all = ms_slab_alloc(&blocks);
    if (all == NULL) {
        munmap(starts, size_b / unit_b * sizeof(*zone->starts));
        return -ENOMEM;
    }
    pthread_mutex_init(&zone->lock, NULL);
    zone->starts = starts;
    zone->base = base;
    zone->size_b = size_b;
    zone->unit_b = unit_b;
    all->range.base = base;
    all->range.size_b = size_b;
    free_insert(zone, all);
    return 0;
}

void snpu_zone_close(struct snpu_zone *zone)
{
    munmap(zone->starts, zone->size_b / zone->unit_b * sizeof(*zone->starts));
}

static bool holds(const struct snpu_block *block, uint64_t size_b, uint64_t align_b)
{
    uintptr_t at = MS_ROUND_UP(block->range.base, align_b);
    return at - block->range.base <= block->range.size_b && block->range.size_b - (at - block->range.base) >= size_b;
}

static struct snpu_block *choose(const struct snpu_zone *zone, uint64_t size_b, uint64_t align_b)
{
    uint64_t sure_b = align_b > zone->unit_b ? size_b + align_b - zone->unit_b : size_b;
    uint64_t units = sure_b / zone->unit_b;
    unsigned bin = bin_of(units);
    unsigned used = next_used_bin(zone, bin + (bin_min(bin) < units));
    if (used < SNPU_ZONE_BINS) {
        return zone->bins[used];
    }
    for (used = next_used_bin(zone, bin_of(size_b / zone->unit_b)); used < SNPU_ZONE_BINS;
         used = next_used_bin(zone, used + 1)) {
        for (struct snpu_block *b = zone->bins[used]; b != NULL; b = b->bin_next) {
            if (holds(b, size_b, align_b)) {
                return b;
            }
        }
    }
    return NULL;
}

/* Cuts a free range, already removed from the tree and the bins, so that `block` becomes [at, at + size_b) and the
 * rest before and after it is free. */
static bool cut(struct snpu_zone *zone, struct snpu_block *block, uintptr_t at, uint64_t size_b)
{
    uint64_t before_b = at - block->range.base;
    uint64_t behind_b = block->range.size_b - before_b - size_b;
    struct snpu_block *before = before_b > 0 ? ms_slab_alloc(&blocks) : NULL;
    struct snpu_block *behind = behind_b > 0 ? ms_slab_alloc(&blocks) : NULL;
    if ((before_b > 0 && before == NULL) || (behind_b > 0 && behind == NULL)) {
        if (before != NULL) {
            ms_slab_free(&blocks, before);
        }
        return false;
    }
    if (before != NULL) {
        before->range.base = block->range.base;
        before->range.size_b = before_b;
        free_insert(zone, before);
    }
    if (behind != NULL) {
        behind->range.base = at + size_b;
        behind->range.size_b = behind_b;
        free_insert(zone, behind);
    }
    block->range.base = at;
    block->range.size_b = size_b;
    return true;
}

struct snpu_block *snpu_zone_take(struct snpu_zone *zone, uint64_t size_b, uint64_t align_b)
{
    pthread_mutex_lock(&zone->lock);
    struct snpu_block *block = choose(zone, size_b, align_b);
    if (block != NULL) {
        free_remove(zone, block);
        if (cut(zone, block, MS_ROUND_UP(block->range.base, align_b), size_b)) {
            __atomic_store_n(&block->state, SNPU_BLOCK_TAKEN, __ATOMIC_RELAXED);
            snpu_ranges_insert(&zone->order, &block->range);
            __atomic_store_n(start_of(zone, block->range.base), block, __ATOMIC_RELEASE);
        } else {
            free_insert(zone, block);
            block = NULL;
        }
    }
    pthread_mutex_unlock(&zone->lock);
    return block;
}

/* Merges a neighbour into the block if it is free. */
static void merge_neighbour(struct snpu_zone *zone, struct snpu_block *block, struct snpu_node *range)
{
    struct snpu_block *neighbour = (struct snpu_block *)range;
    /* A neighbour in use may change its state now, without the lock; but a free one stays free. */
    if (neighbour == NULL || __atomic_load_n(&neighbour->state, __ATOMIC_RELAXED) != SNPU_BLOCK_FREE) {
        return;
    }
    free_remove(zone, neighbour);
    if (neighbour->range.base < block->range.base) {
        block->range.base = neighbour->range.base;
    }
    block->range.size_b += neighbour->range.size_b;
    ms_slab_free(&blocks, neighbour);
}

void snpu_zone_give(struct snpu_zone *zone, struct snpu_block *block)
{
    pthread_mutex_lock(&zone->lock);
    __atomic_store_n(start_of(zone, block->range.base), NULL, __ATOMIC_RELEASE);
    snpu_ranges_remove(&zone->order, &block->range);
    uintptr_t end = block->range.base + block->range.size_b;
    struct snpu_node *below = snpu_ranges_at_or_below(&zone->order, block->range.base);
    struct snpu_node *above = snpu_ranges_find(&zone->order, end);
    merge_neighbour(zone, block, above);
    merge_neighbour(zone, block, below);
    free_insert(zone, block);
    pthread_mutex_unlock(&zone->lock);
}

struct snpu_block *snpu_zone_start(const struct snpu_zone *zone, uintptr_t addr)
{
    if (addr - zone->base >= zone->size_b || (addr - zone->base) % zone->unit_b != 0) {
        return NULL;
    }
    return __atomic_load_n(start_of(zone, addr), __ATOMIC_ACQUIRE);
}

void snpu_zone_visit(struct snpu_zone *zone, void (*visit)(struct snpu_block *block, void *arg), void *arg)
{
    pthread_mutex_lock(&zone->lock);
    for (struct snpu_node *n = snpu_ranges_at_or_above(&zone->order, zone->base); n != NULL;
         n = snpu_ranges_at_or_above(&zone->order, n->base + n->size_b)) {
        struct snpu_block *block = (struct snpu_block *)n;
        if (__atomic_load_n(&block->state, __ATOMIC_ACQUIRE) != SNPU_BLOCK_FREE) {
            visit(block, arg);
        }
    }
    pthread_mutex_unlock(&zone->lock);
}

void snpu_zone_forget_blocks(void)
{
    blocks = (struct ms_slab)MS_SLAB_INIT(struct snpu_block, MAX_BLOCKS);
}
