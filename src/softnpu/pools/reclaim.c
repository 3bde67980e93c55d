/* SPDX-License-Identifier: Apache-2.0 */
/* Reclaiming memory: blocks whose last use on another stream has completed, unused cached segments, and the two last
 * resorts before a request fails. Called with the device's lock held and the device current.
 *
 * After an error of a stream or event its work never accesses the memory again, so an error counts as completed. */
#include "caching_internal.h"

#include <stdlib.h>

static struct cached_block *of_node(const struct npool_node *node)
{
    return node != NULL ? MS_CONTAINER_OF(node, struct cached_block, node) : NULL;
}

/* ---- use on other streams */

static void block_is_idle(struct npool_device *device, struct cached_block *block)
{
    npool__stat_sub(&device->stats.active_blocks, 1);
    npool__stat_sub(&device->stats.active_bytes, block->size_b);
    npool__cache_block(device, block);
}

static void add_pending(struct npool_device *device, struct cached_block *block, aclrtStream stream)
{
    struct cache_event *pending = calloc(1, sizeof(*pending));
    if (pending == NULL || npool__event_record(&pending->event, stream) != ACL_SUCCESS) {
        free(pending);
        (void)aclrtSynchronizeStream(stream); /* slower, but as safe */
        return;
    }
    pending->stream = stream;
    pending->block = block;
    *device->pending_tail = pending;
    device->pending_tail = &pending->next;
    block->pending_events++;
}

void npool__retire(struct npool_device *device, struct cached_block *block)
{
    uint32_t count = block->other_stream_count;
    block->other_stream_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        add_pending(device, block, block->other_streams[i]);
    }
    if (block->pending_events == 0) {
        block_is_idle(device, block);
    }
}

void npool__process_events(struct npool_device *device, bool wait)
{
    /* Events of one stream complete in order: the first pending one decides for the rest. */
    aclrtStream busy = NULL;
    bool have_busy = false;
    struct cache_event **link = &device->pending;
    while (*link != NULL) {
        struct cache_event *pending = *link;
        if (wait) {
            (void)aclrtSynchronizeEvent(pending->event);
        } else if ((have_busy && pending->stream == busy) || !npool__event_done(pending->event)) {
            busy = pending->stream;
            have_busy = true;
            link = &pending->next;
            continue;
        }
        (void)aclrtDestroyEvent(pending->event);
        struct cached_block *block = pending->block;
        *link = pending->next;
        free(pending);
        if (--block->pending_events == 0) {
            block_is_idle(device, block);
        }
    }
    device->pending_tail = link;
}

/* ---- releasing segments */

static void release_segment(struct npool_device *device, struct cached_block *only)
{
    struct cached_segment *segment = only->segment;
    only->pool->pair->segments--;
    npool__block_delete(only);
    npool__segment_close(device, segment);
}

static void release_block(struct npool_device *device, struct cached_block *block)
{
    npool__take_free(device, block);
    release_segment(device, block);
}

static void release_pool(struct npool_device *device, struct block_pool *pool)
{
    for (struct cached_block *at = of_node(npool__tree_first(&pool->free)); at != NULL;) {
        /* The block may be released; the remainder is smaller, so an ascending walk visits every other block once. */
        const struct cached_block key = {.stream = at->stream, .size_b = at->size_b, .ptr = at->ptr};
        struct cached_segment *segment = at->segment;
        if (segment->handles == NULL) {
            if (!npool__is_split(at)) {
                release_block(device, at);
            }
        } else {
            npool__unmap_block(device, at);
            struct cached_block *first = segment->first;
            if (first->next == NULL && !first->mapped) {
                npool__tree_remove(&pool->unmapped, &first->node);
                release_segment(device, first);
            }
        }
        at = of_node(npool__tree_above(&pool->free, &key.node));
    }
}

static void release_pair(struct npool_device *device, struct pool_pair *pair)
{
    release_pool(device, &pair->large);
    release_pool(device, &pair->small);
}

void npool__release_cached(struct npool_device *device)
{
    (void)aclrtSynchronizeDevice();
    npool__process_events(device, true);
    for (struct pool_pair *pair = &device->ordinary; pair != NULL; pair = pair->next) {
        release_pair(device, pair);
    }
}

void npool__drop_orphans(struct npool_device *device)
{
    struct pool_pair **link = &device->ordinary.next;
    while (*link != NULL) {
        struct pool_pair *pair = *link;
        if (pair->orphaned) {
            release_pair(device, pair);
        }
        if (pair->orphaned && pair->segments == 0) {
            *link = pair->next;
            free(pair);
        } else {
            link = &pair->next;
        }
    }
}

/* ---- last resorts */

static bool is_collectable(const struct cached_block *block)
{
    return !npool__is_split(block) && block->segment->handles == NULL;
}

void npool__collect_garbage(struct npool_device *device)
{
    struct block_pool *pool = &device->ordinary.large;
    uint64_t threshold_b = (uint64_t)(device->config->garbage_collection_threshold * (double)device->limit_b);
    if (device->stats.reserved_bytes.current <= threshold_b) {
        return;
    }
    uint64_t target_b = device->stats.reserved_bytes.current - threshold_b, freed_b = 0;
    uint64_t total_age = 0, count = 0;
    for (struct cached_block *at = of_node(npool__tree_first(&pool->free)); at != NULL;
         at = of_node(npool__tree_above(&pool->free, &at->node))) {
        if (is_collectable(at)) {
            total_age += pool->searches - at->freed_at;
            count++;
        }
    }
    /* Oldest first, in rounds: releases everything at least as old as the average. */
    for (bool progress = true; progress && count > 0 && freed_b < target_b;) {
        double average = (double)total_age / (double)count;
        progress = false;
        for (struct cached_block *at = of_node(npool__tree_first(&pool->free)); at != NULL;) {
            struct cached_block *next = of_node(npool__tree_above(&pool->free, &at->node));
            uint64_t age = pool->searches - at->freed_at;
            if (is_collectable(at) && (double)age >= average) {
                freed_b += at->size_b;
                total_age -= age;
                count--;
                progress = true;
                release_block(device, at);
            }
            at = next;
        }
    }
}

bool npool__release_oversize(struct npool_device *device, const struct cache_request *request)
{
    size_t oversize_b = device->config->max_split_size_b;
    if (oversize_b == NPOOL_UNLIMITED) {
        return false;
    }
    struct npool_tree *tree = &request->pool->free;
    const struct cached_block key = {.stream = request->stream,
                                     .size_b = request->size_b < oversize_b ? oversize_b : request->size_b};
    struct cached_block *enough = of_node(npool__tree_at_least(tree, &key.node));
    (void)aclrtSynchronizeDevice();
    if (enough != NULL && enough->stream == request->stream) {
        if (!is_collectable(enough)) {
            return false;
        }
        release_block(device, enough);
        return true;
    }
    /* No single one is large enough: release several, from the largest down. */
    size_t freed_b = 0;
    for (struct cached_block *at = of_node(npool__tree_below(tree, &key.node));
         at != NULL && at->stream == request->stream && at->size_b >= oversize_b && freed_b < key.size_b;) {
        struct cached_block *below = of_node(npool__tree_below(tree, &at->node));
        if (is_collectable(at)) {
            freed_b += at->size_b;
            release_block(device, at);
        }
        at = below;
    }
    return freed_b >= key.size_b;
}
