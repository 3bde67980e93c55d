/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics and snapshots of the caching allocator. */
#include "caching_internal.h"

void npool__stat_add(struct npool_stat *stat, uint64_t amount)
{
    stat->current += amount;
    stat->allocated += amount;
    if (stat->current > stat->peak) {
        stat->peak = stat->current;
    }
}

void npool__stat_sub(struct npool_stat *stat, uint64_t amount)
{
    stat->current -= amount;
    stat->freed += amount;
}

aclError npool_get_stats(npool_caching *pool, int32_t device_id, struct npool_stats *out)
{
    if (pool == NULL || out == NULL || device_id < 0 || device_id >= NPOOL_DEVICES_MAX) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_get_stats: no pool, no result, or no device %d", device_id);
    }
    struct npool_device *device = npool__device_if_used(pool, device_id);
    if (device == NULL) {
        *out = (struct npool_stats){0};
        return ACL_SUCCESS;
    }
    pthread_mutex_lock(&device->lock);
    *out = device->stats;
    pthread_mutex_unlock(&device->lock);
    return ACL_SUCCESS;
}

aclError npool_reset_peak(npool_caching *pool, int32_t device_id)
{
    if (pool == NULL || device_id < 0 || device_id >= NPOOL_DEVICES_MAX) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_reset_peak: no pool or no device %d", device_id);
    }
    struct npool_device *device = npool__device_if_used(pool, device_id);
    if (device != NULL) {
        pthread_mutex_lock(&device->lock);
        struct npool_stat *const all[] = {
            &device->stats.allocated_bytes,   &device->stats.reserved_bytes,       &device->stats.active_bytes,
            &device->stats.requested_bytes,   &device->stats.inactive_split_bytes, &device->stats.allocations,
            &device->stats.segments,          &device->stats.active_blocks,        &device->stats.inactive_splits,
            &device->stats.oversize_segments, &device->stats.oversize_allocations,
        };
        for (size_t i = 0; i < MS_COUNT_OF(all); i++) {
            all[i]->peak = all[i]->current;
        }
        pthread_mutex_unlock(&device->lock);
    }
    return ACL_SUCCESS;
}

static enum npool_block_state state_of(const struct cached_block *block)
{
    return !block->mapped              ? NPOOL_BLOCK_UNMAPPED
           : block->allocated          ? NPOOL_BLOCK_ACTIVE
           : block->pending_events > 0 ? NPOOL_BLOCK_AWAITING
                                       : NPOOL_BLOCK_FREE;
}

static int visit_device(struct npool_device *device, int (*visit)(const struct npool_block_info *, void *), void *arg)
{
    for (struct npool_node *node = npool__tree_first(&device->segments); node != NULL;
         node = npool__tree_above(&device->segments, node)) {
        const struct cached_segment *segment = MS_CONTAINER_OF(node, struct cached_segment, by_address);
        for (const struct cached_block *block = segment->first; block != NULL; block = block->next) {
            const struct npool_block_info info = {
                .device = device->id,
                .stream = block->stream,
                .segment = (uintptr_t)segment->base,
                .segment_b = segment->mapped_b,
                .segment_first = block->prev == NULL,
                .expandable = segment->handles != NULL,
                .small = block->pool->small,
                .mempool = block->pool->pair->mempool,
                .ptr = (uintptr_t)block->ptr,
                .size_b = block->size_b,
                .requested_b = block->requested_b,
                .state = state_of(block),
            };
            int ret = visit(&info, arg);
            if (ret != 0) {
                return ret;
            }
        }
    }
    return 0;
}

int npool_snapshot(npool_caching *pool, int (*visit)(const struct npool_block_info *block, void *arg), void *arg)
{
    if (pool == NULL || visit == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_snapshot: no pool or no function");
    }
    int ret = 0;
    for (int32_t id = 0; id < NPOOL_DEVICES_MAX && ret == 0; id++) {
        struct npool_device *device = npool__device_if_used(pool, id);
        if (device != NULL) {
            pthread_mutex_lock(&device->lock);
            ret = visit_device(device, visit, arg);
            pthread_mutex_unlock(&device->lock);
        }
    }
    return ret;
}
