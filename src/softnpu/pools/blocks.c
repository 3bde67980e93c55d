/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks: best fit, splitting and merging, and the growth of expandable segments. Called with the device's lock held.
 * If host memory runs out, the current request fails and every list stays unchanged. */
#include "caching_internal.h"

#include <stdlib.h>

static struct cached_block *of_node(const struct npool_node *node)
{
    return node != NULL ? MS_CONTAINER_OF(node, struct cached_block, node) : NULL;
}

static int order_by_size(const struct npool_node *a, const struct npool_node *b)
{
    const struct cached_block *x = of_node(a), *y = of_node(b);
    int order = npool__compare((uintptr_t)x->stream, (uintptr_t)y->stream);
    order = order != 0 ? order : npool__compare(x->size_b, y->size_b);
    return order != 0 ? order : npool__compare((uintptr_t)x->ptr, (uintptr_t)y->ptr);
}

static int order_by_stream(const struct npool_node *a, const struct npool_node *b)
{
    const struct cached_block *x = of_node(a), *y = of_node(b);
    int order = npool__compare((uintptr_t)x->stream, (uintptr_t)y->stream);
    return order != 0 ? order : npool__compare((uintptr_t)x->ptr, (uintptr_t)y->ptr);
}

int npool__order_by_address(const struct npool_node *a, const struct npool_node *b)
{
    return npool__compare((uintptr_t)of_node(a)->ptr, (uintptr_t)of_node(b)->ptr);
}

int npool__order_segments(const struct npool_node *a, const struct npool_node *b)
{
    return npool__compare((uintptr_t)MS_CONTAINER_OF(a, struct cached_segment, by_address)->base,
                          (uintptr_t)MS_CONTAINER_OF(b, struct cached_segment, by_address)->base);
}

static void pool_init(struct block_pool *pool, struct pool_pair *pair, bool small)
{
    *pool = (struct block_pool){
        .free = NPOOL_TREE(order_by_size), .unmapped = NPOOL_TREE(order_by_stream), .small = small, .pair = pair};
}

void npool__pair_init(struct pool_pair *pair, uint64_t mempool_id, npool_mempool *mempool, bool use_on_oom)
{
    *pair = (struct pool_pair){.mempool_id = mempool_id, .mempool = mempool, .use_on_oom = use_on_oom};
    pool_init(&pair->small, pair, true);
    pool_init(&pair->large, pair, false);
}

struct cached_block *npool__block_at(const struct npool_device *device, const void *ptr)
{
    const struct cached_block key = {.ptr = (char *)(uintptr_t)ptr};
    struct cached_block *found = of_node(npool__tree_at_least(&device->active, &key.node));
    return found != NULL && found->ptr == ptr ? found : NULL;
}

static struct cached_block *block_new(struct cached_segment *segment, struct block_pool *pool, aclrtStream stream,
                                      char *ptr, size_t size_b)
{
    struct cached_block *block = calloc(1, sizeof(*block));
    if (block != NULL) {
        block->segment = segment;
        block->pool = pool;
        block->stream = stream;
        block->ptr = ptr;
        block->size_b = size_b;
        block->mapped = true;
    }
    return block;
}

struct cached_block *npool__block_first(struct npool_device *device, struct cache_request *request,
                                        struct cached_segment *segment)
{
    struct cached_block *block = block_new(segment, request->pool, request->stream, segment->base, segment->reserved_b);
    if (block == NULL) {
        npool__segment_close(device, segment);
        request->error = npool__fail(ACL_ERROR_BAD_ALLOC, "no host memory for a block");
        return NULL;
    }
    segment->first = block;
    request->pool->pair->segments++;
    return block;
}

void npool__block_delete(struct cached_block *block)
{
    free(block->other_streams);
    free(block);
}

bool npool__is_split(const struct cached_block *block)
{
    return block->prev != NULL || block->next != NULL;
}

/* A free block does not change between split and whole, so fragmentation can be counted here. */
static bool counts_as_split(const struct cached_block *block)
{
    return npool__is_split(block) && block->segment->handles == NULL;
}

void npool__put_free(struct npool_device *device, struct cached_block *block)
{
    block->freed_at = block->pool->searches;
    npool__tree_insert(&block->pool->free, &block->node);
    if (counts_as_split(block)) {
        npool__stat_add(&device->stats.inactive_splits, 1);
        npool__stat_add(&device->stats.inactive_split_bytes, block->size_b);
    }
}

void npool__take_free(struct npool_device *device, struct cached_block *block)
{
    npool__tree_remove(&block->pool->free, &block->node);
    if (counts_as_split(block)) {
        npool__stat_sub(&device->stats.inactive_splits, 1);
        npool__stat_sub(&device->stats.inactive_split_bytes, block->size_b);
    }
}

static void link_after(struct cached_block *block, struct cached_block *added)
{
    added->prev = block;
    added->next = block->next;
    if (added->next != NULL) {
        added->next->prev = added;
    }
    block->next = added;
}

static void unlink_block(struct cached_block *block)
{
    if (block->prev != NULL) {
        block->prev->next = block->next;
    } else {
        block->segment->first = block->next;
    }
    if (block->next != NULL) {
        block->next->prev = block->prev;
    }
}

/* Splits a block that is in no tree; the rest has the same mapped state and is in no tree either. */
static struct cached_block *cut(struct cached_block *block, size_t size_b)
{
    struct cached_block *rest =
        block_new(block->segment, block->pool, block->stream, block->ptr + size_b, block->size_b - size_b);
    if (rest != NULL) {
        rest->mapped = block->mapped;
        block->size_b = size_b;
        link_after(block, rest);
    }
    return rest;
}

bool npool__split(struct npool_device *device, struct cached_block *block, size_t size_b)
{
    struct cached_block *rest = cut(block, size_b);
    if (rest != NULL) {
        npool__put_free(device, rest);
    }
    return rest != NULL;
}

static bool is_idle(const struct cached_block *block)
{
    return block != NULL && !block->allocated && block->pending_events == 0 && block->other_stream_count == 0;
}

/* Merges a neighbour into a block that is in no tree, if it is idle and of the same kind. */
static void absorb(struct npool_device *device, struct cached_block *block, struct cached_block *neighbour)
{
    if (!is_idle(neighbour) || neighbour->mapped != block->mapped) {
        return;
    }
    if (neighbour->mapped) {
        npool__take_free(device, neighbour);
    } else {
        npool__tree_remove(&neighbour->pool->unmapped, &neighbour->node);
    }
    if (neighbour == block->prev) {
        block->ptr = neighbour->ptr;
    }
    block->size_b += neighbour->size_b;
    unlink_block(neighbour);
    npool__block_delete(neighbour);
}

void npool__cache_block(struct npool_device *device, struct cached_block *block)
{
    absorb(device, block, block->prev);
    absorb(device, block, block->next);
    block->requested_b = 0;
    npool__put_free(device, block);
}

static void keep_unmapped(struct npool_device *device, struct cached_block *block)
{
    absorb(device, block, block->prev);
    absorb(device, block, block->next);
    npool__tree_insert(&block->pool->unmapped, &block->node);
}

static struct cached_block *next_of_stream(const struct npool_tree *tree, const struct cached_block *block)
{
    struct cached_block *next = of_node(npool__tree_above(tree, &block->node));
    return next != NULL && next->stream == block->stream ? next : NULL;
}

/* An expandable block counts with the size it could grow to: otherwise the growing end of the segment would be split up
 * first, and large requests would find nothing to grow. */
static size_t reach(const struct cached_block *block)
{
    const struct cached_block *next = block->next;
    return block->size_b + (next != NULL && !next->mapped ? next->size_b : 0);
}

struct cached_block *npool__find_free(struct npool_device *device, struct cache_request *request,
                                      struct block_pool *pool)
{
    pool->searches++;
    const struct cached_block key = {.stream = request->stream, .size_b = request->size_b};
    struct cached_block *best = of_node(npool__tree_at_least(&pool->free, &key.node));
    if (best == NULL || best->stream != request->stream) {
        return NULL;
    }
    for (struct cached_block *next = best; next != NULL && best->segment->handles != NULL;) {
        next = next_of_stream(&pool->free, best);
        if (next == NULL || reach(next) >= reach(best)) {
            break;
        }
        best = next;
    }
    size_t unsplittable_b = device->config->max_split_size_b;
    if (request->size_b < unsplittable_b && best->size_b >= unsplittable_b) {
        return NULL; /* it could not be split, and most of it would be wasted */
    }
    if (request->size_b >= unsplittable_b &&
        best->size_b >= request->size_b + device->config->max_non_split_rounding_b) {
        return NULL;
    }
    npool__take_free(device, best);
    return best;
}

/* ---- expandable segments ---- */

/* Maps memory to the first size_b bytes (rounded up to units) of an unmapped block, which becomes free. */
static bool map_block(struct npool_device *device, struct cache_request *request, struct cached_block *block,
                      size_t size_b)
{
    size_t mapped_b = MS_ROUND_UP(size_b, block->segment->unit_b);
    npool__tree_remove(&block->pool->unmapped, &block->node);
    if (mapped_b < block->size_b) {
        struct cached_block *rest = cut(block, mapped_b);
        if (rest == NULL) {
            request->error = npool__fail(ACL_ERROR_BAD_ALLOC, "no host memory for a block");
            keep_unmapped(device, block);
            return false;
        }
        npool__tree_insert(&rest->pool->unmapped, &rest->node);
    }
    request->error = npool__segment_map(device, block->segment, block->ptr, mapped_b);
    if (request->error != ACL_SUCCESS) {
        keep_unmapped(device, block);
        return false;
    }
    block->mapped = true;
    npool__cache_block(device, block);
    return true;
}

static bool has_room(const struct cached_block *block, size_t size_b)
{
    size_t room_b = 0;
    while (room_b < size_b && is_idle(block)) {
        room_b += block->size_b;
        block = block->next;
    }
    return room_b >= size_b;
}

/* First block of a run of free and unmapped blocks that can hold the request; a new segment if there is none. */
static struct cached_block *find_room(struct npool_device *device, struct cache_request *request)
{
    const struct cached_block key = {.stream = request->stream};
    struct cached_block *at = of_node(npool__tree_at_least(&request->pool->unmapped, &key.node));
    if (at != NULL && at->stream != request->stream) {
        at = NULL;
    }
    for (; at != NULL; at = next_of_stream(&request->pool->unmapped, at)) {
        struct cached_block *begin = is_idle(at->prev) ? at->prev : at;
        if (has_room(begin, request->size_b)) {
            return begin;
        }
    }
    struct cached_segment *segment = NULL;
    request->error = npool__segment_reserve(device, !request->pool->small, &segment);
    if (request->error != ACL_SUCCESS) {
        return NULL;
    }
    struct cached_block *block = npool__block_first(device, request, segment);
    if (block != NULL) {
        block->mapped = false;
        npool__tree_insert(&request->pool->unmapped, &block->node);
    }
    return block;
}

struct cached_block *npool__grow_expandable(struct npool_device *device, struct cache_request *request)
{
    struct cached_block *block = find_room(device, request);
    while (block != NULL && (!block->mapped || block->size_b < request->size_b)) {
        struct cached_block *target = block->mapped ? block->next : block;
        size_t want_b = request->size_b - (block->mapped ? block->size_b : 0);
        if (!map_block(device, request, target, want_b < target->size_b ? want_b : target->size_b)) {
            return NULL;
        }
        block = target; /* it has merged with the free block before it */
    }
    if (block != NULL) {
        npool__take_free(device, block);
    }
    return block;
}

void npool__unmap_block(struct npool_device *device, struct cached_block *block)
{
    size_t unit_b = block->segment->unit_b, offset = (size_t)(block->ptr - block->segment->base);
    size_t begin = MS_ROUND_UP(offset, unit_b), end = (offset + block->size_b) / unit_b * unit_b;
    if (begin >= end) {
        return;
    }
    npool__take_free(device, block);
    if (end < offset + block->size_b) {
        struct cached_block *after = cut(block, end - offset);
        if (after == NULL) {
            npool__put_free(device, block);
            return;
        }
        npool__put_free(device, after);
    }
    if (begin > offset) {
        struct cached_block *whole = cut(block, begin - offset);
        if (whole == NULL) {
            npool__cache_block(device, block);
            return;
        }
        npool__put_free(device, block);
        block = whole;
    }
    npool__segment_unmap(device, block->segment, block->ptr, block->size_b);
    block->mapped = false;
    keep_unmapped(device, block);
}
