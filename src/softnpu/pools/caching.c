/* SPDX-License-Identifier: Apache-2.0 */
/* The caching allocator: requests, frees, and the steps before a request fails.
 *
 * A request is rounded and served from the free blocks of its stream (best fit), otherwise from a new segment; a block
 * that is much larger is split. Freed blocks are cached. The device's lock is held throughout, including the mstx
 * calls, so that a tool sees allocations and frees of a device in their real order. */
#include "caching_internal.h"
#include "report.h"

#include "base/parse.h"

#include <stdlib.h>

/* ---- sizes */

static size_t round_to_division(size_t size_b, uint32_t divisions)
{
    size_t floor_b = (size_t)1 << (63 - __builtin_clzll(size_b));
    size_t step_b = floor_b / divisions;
    if (floor_b == size_b) {
        return size_b;
    }
    return step_b == 0 ? 2 * floor_b : MS_ROUND_UP(size_b, step_b);
}

static uint32_t divisions_for(const struct npool_config *config, size_t size_b)
{
    size_t log = 63 - (size_t)__builtin_clzll(size_b); /* levels start at 1 MiB = 2^20 */
    size_t level = log > 20 ? log - 20 : 0;
    return config->roundup_power2_divisions[level < NPOOL_ROUNDUP_LEVELS ? level : NPOOL_ROUNDUP_LEVELS - 1];
}

size_t npool_round_size(const npool_caching *pool, size_t size_b)
{
    if (pool == NULL || size_b > NPOOL_SIZE_LIMIT) {
        return 0;
    }
    size_b += NPOOL_PADDING_B;
    if (size_b < NPOOL_MIN_BLOCK_B) {
        return NPOOL_MIN_BLOCK_B;
    }
    uint32_t divisions = divisions_for(&pool->config, size_b);
    if (divisions > 1 && size_b > NPOOL_MIN_BLOCK_B * divisions) {
        return round_to_division(size_b, divisions);
    }
    size_b = MS_ROUND_UP(size_b, NPOOL_MIN_BLOCK_B);
    if (pool->config.base_addr_align_b > 0 && size_b > NPOOL_SMALL_SIZE_B) {
        size_b = MS_ROUND_UP(size_b, pool->config.base_addr_align_b);
    }
    return size_b;
}

size_t npool_segment_size(const npool_caching *pool, size_t rounded_b)
{
    if (pool == NULL || rounded_b > 2 * NPOOL_SIZE_LIMIT) {
        return 0;
    }
    if (rounded_b <= NPOOL_SMALL_SIZE_B) {
        return NPOOL_SMALL_BUFFER_B;
    }
    if (pool->config.page_1g) {
        return MS_ROUND_UP(rounded_b, NPOOL_GIB);
    }
    if (rounded_b < NPOOL_MIN_LARGE_B) {
        return pool->config.large_segment_size_b;
    }
    return MS_ROUND_UP(rounded_b, NPOOL_ROUND_LARGE_B);
}

/* ---- devices and private pools */

struct npool_device *npool__device_if_used(const npool_caching *pool, int32_t id)
{
    return __atomic_load_n(&pool->devices[id], __ATOMIC_ACQUIRE);
}

static aclError limit_of(double fraction, size_t *limit_b)
{
    size_t free_b = 0, total_b = 0;
    aclError ret = aclrtGetMemInfo(ACL_HBM_MEM, &free_b, &total_b);
    if (ret != ACL_SUCCESS) {
        return npool__fail_acl(ret, "aclrtGetMemInfo");
    }
    *limit_b = (size_t)(fraction * (double)total_b);
    return ACL_SUCCESS;
}

static aclError make_device(npool_caching *pool, int32_t id, struct npool_device **out)
{
    size_t limit_b = NPOOL_UNLIMITED;
    if (pool->config.per_process_memory_fraction < 1.0) {
        aclError ret = limit_of(pool->config.per_process_memory_fraction, &limit_b);
        if (ret != ACL_SUCCESS) {
            return ret;
        }
    }
    struct npool_device *device = calloc(1, sizeof(*device));
    if (device == NULL) {
        return npool__fail(ACL_ERROR_BAD_ALLOC, "no host memory for device %d", id);
    }
    pthread_mutex_init(&device->lock, NULL);
    device->id = id;
    device->config = &pool->config;
    device->limit_b = limit_b;
    device->active = (struct npool_tree)NPOOL_TREE(npool__order_by_address);
    device->segments = (struct npool_tree)NPOOL_TREE(npool__order_segments);
    device->pending_tail = &device->pending;
    npool__pair_init(&device->ordinary, 0, NULL, false);
    *out = device;
    return ACL_SUCCESS;
}

/* The allocator of the current device, created at first use. */
static aclError current_device(npool_caching *pool, struct npool_device **out)
{
    int32_t id;
    aclError ret = npool__current_device(&id);
    if (ret != ACL_SUCCESS) {
        return ret;
    }
    struct npool_device *device = npool__device_if_used(pool, id);
    if (device == NULL) {
        pthread_mutex_lock(&pool->lock);
        device = pool->devices[id];
        ret = device == NULL ? make_device(pool, id, &device) : ACL_SUCCESS;
        __atomic_store_n(&pool->devices[id], device, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&pool->lock);
    }
    *out = device;
    return ret;
}

static __thread struct {
    const npool_caching *pool;
    uint64_t id;
} chosen_mempool;

static npool_mempool *find_mempool(const npool_caching *pool, uint64_t id)
{
    npool_mempool *at = pool->mempools;
    while (at != NULL && at->id != id) {
        at = at->next;
    }
    return at;
}

/* Locks the device and returns the pair that the calling thread allocates from. */
static struct pool_pair *lock_for_request(npool_caching *pool, struct npool_device *device)
{
    if (chosen_mempool.id == 0 || chosen_mempool.pool != pool) {
        pthread_mutex_lock(&device->lock);
        return &device->ordinary;
    }
    pthread_mutex_lock(&pool->lock);
    npool_mempool *mempool = find_mempool(pool, chosen_mempool.id);
    pthread_mutex_lock(&device->lock);
    struct pool_pair *pair = &device->ordinary;
    if (mempool != NULL) {
        while (pair != NULL && pair->mempool_id != mempool->id) {
            pair = pair->next;
        }
        if (pair == NULL && (pair = calloc(1, sizeof(*pair))) != NULL) {
            npool__pair_init(pair, mempool->id, mempool, mempool->use_on_oom);
            pair->next = device->ordinary.next;
            device->ordinary.next = pair;
        }
        pair = pair != NULL ? pair : &device->ordinary;
    }
    pthread_mutex_unlock(&pool->lock);
    return pair;
}

npool_mempool *npool_mempool_create(npool_caching *pool, bool use_on_oom)
{
    static uint64_t last_id;
    npool_mempool *mempool = pool != NULL ? calloc(1, sizeof(*mempool)) : NULL;
    if (mempool == NULL) {
        (void)npool__fail(ACL_ERROR_INVALID_PARAM, "npool_mempool_create: no pool or no host memory");
        return NULL;
    }
    mempool->id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
    mempool->use_on_oom = use_on_oom;
    pthread_mutex_lock(&pool->lock);
    mempool->next = pool->mempools;
    pool->mempools = mempool;
    pthread_mutex_unlock(&pool->lock);
    return mempool;
}

static bool is_mempool(const npool_caching *pool, const npool_mempool *mempool)
{
    const npool_mempool *at = pool->mempools;
    while (at != NULL && at != mempool) {
        at = at->next;
    }
    return at != NULL;
}

aclError npool_mempool_use(npool_caching *pool, npool_mempool *mempool)
{
    if (pool == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_mempool_use: no pool");
    }
    uint64_t id = 0;
    if (mempool != NULL) {
        pthread_mutex_lock(&pool->lock);
        id = is_mempool(pool, mempool) ? mempool->id : 0;
        pthread_mutex_unlock(&pool->lock);
        if (id == 0) {
            return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_mempool_use: not a private pool of this allocator");
        }
    }
    chosen_mempool.pool = pool;
    chosen_mempool.id = id;
    return ACL_SUCCESS;
}

aclError npool_mempool_destroy(npool_caching *pool, npool_mempool *mempool)
{
    if (pool == NULL || mempool == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_mempool_destroy: NULL argument");
    }
    pthread_mutex_lock(&pool->lock);
    npool_mempool **link = &pool->mempools;
    while (*link != NULL && *link != mempool) {
        link = &(*link)->next;
    }
    bool found = *link != NULL;
    if (found) {
        *link = mempool->next;
    }
    for (int32_t id = 0; id < NPOOL_DEVICES_MAX && found; id++) {
        struct npool_device *device = npool__device_if_used(pool, id);
        struct npool_device_scope scope;
        if (device == NULL || npool__enter_device(id, &scope) != ACL_SUCCESS) {
            continue;
        }
        pthread_mutex_lock(&device->lock);
        for (struct pool_pair *pair = device->ordinary.next; pair != NULL; pair = pair->next) {
            if (pair->mempool_id == mempool->id) {
                pair->orphaned = true;
                pair->mempool = NULL;
                (void)aclrtSynchronizeDevice();
                npool__process_events(device, true);
            }
        }
        npool__drop_orphans(device);
        pthread_mutex_unlock(&device->lock);
        npool__leave_device(&scope);
    }
    pthread_mutex_unlock(&pool->lock);
    if (!found) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_mempool_destroy: not a private pool of this allocator");
    }
    free(mempool);
    return ACL_SUCCESS;
}

/* ---- life cycle of the allocator */

npool_caching *npool_caching_create(const struct npool_config *config)
{
    npool_caching *pool = calloc(1, sizeof(*pool));
    if (pool == NULL) {
        (void)npool__fail(ACL_ERROR_BAD_ALLOC, "no host memory for an allocator");
        return NULL;
    }
    if (npool__config_take(&pool->config, config) != ACL_SUCCESS) {
        free(pool);
        return NULL;
    }
    pthread_mutex_init(&pool->lock, NULL);
    return pool;
}

static void destroy_device(struct npool_device *device)
{
    struct npool_device_scope scope;
    bool entered = npool__enter_device(device->id, &scope) == ACL_SUCCESS;
    (void)aclrtSynchronizeDevice();
    npool__process_events(device, true);
    for (struct npool_node *node; (node = npool__tree_first(&device->segments)) != NULL;) {
        struct cached_segment *segment = MS_CONTAINER_OF(node, struct cached_segment, by_address);
        for (struct cached_block *block = segment->first, *next; block != NULL; block = next) {
            next = block->next;
            npool__block_delete(block);
        }
        npool__segment_close(device, segment);
    }
    for (struct pool_pair *pair = device->ordinary.next, *next; pair != NULL; pair = next) {
        next = pair->next;
        free(pair);
    }
    if (entered) {
        npool__leave_device(&scope);
    }
    pthread_mutex_destroy(&device->lock);
    free(device);
}

void npool_caching_destroy(npool_caching *pool)
{
    if (pool == NULL) {
        return;
    }
    for (size_t i = 0; i < NPOOL_DEVICES_MAX; i++) {
        if (pool->devices[i] != NULL) {
            destroy_device(pool->devices[i]);
        }
    }
    for (npool_mempool *mempool = pool->mempools, *next; mempool != NULL; mempool = next) {
        next = mempool->next;
        free(mempool);
    }
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

aclError npool_attach_workspace(npool_caching *pool, npool_workspace *workspace)
{
    if (pool == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_attach_workspace: no pool");
    }
    __atomic_store_n(&pool->workspace, workspace, __ATOMIC_RELEASE);
    return ACL_SUCCESS;
}

aclError npool_set_memory_fraction(npool_caching *pool, double fraction)
{
    if (pool == NULL || !(fraction > 0.0 && fraction <= 1.0)) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_set_memory_fraction: no pool, or %g is not in (0, 1]",
                           fraction);
    }
    struct npool_device *device;
    size_t limit_b = NPOOL_UNLIMITED;
    aclError ret = current_device(pool, &device);
    if (ret == ACL_SUCCESS && (ret = limit_of(fraction, &limit_b)) == ACL_SUCCESS) {
        pthread_mutex_lock(&device->lock);
        device->limit_b = limit_b;
        pthread_mutex_unlock(&device->lock);
    }
    return ret;
}

/* ---- requests */

static struct cached_block *from_driver(npool_caching *pool, struct npool_device *device, struct cache_request *request)
{
    if (pool->config.expandable_segments) {
        return npool__grow_expandable(device, request);
    }
    struct cached_segment *segment = NULL;
    size_t size_b = npool_segment_size(pool, request->size_b);
    request->error = npool__segment_open(device, size_b, !request->pool->small, &segment);
    if (request->error != ACL_SUCCESS) {
        return NULL;
    }
    return npool__block_first(device, request, segment);
}

static struct cached_block *from_other_mempools(struct npool_device *device, struct cache_request *request)
{
    struct cached_block *block = NULL;
    for (struct pool_pair *pair = device->ordinary.next; pair != NULL && block == NULL; pair = pair->next) {
        if (pair->use_on_oom && !pair->orphaned && pair != request->pool->pair) {
            block = npool__find_free(device, request, request->pool->small ? &pair->small : &pair->large);
        }
    }
    return block;
}

static aclError out_of_memory(struct npool_device *device, const struct cache_request *request)
{
    device->stats.ooms++;
    if (request->error != ACL_ERROR_RT_MEMORY_ALLOCATION) {
        return request->error;
    }
    size_t free_b = 0, total_b = 0;
    (void)aclrtGetMemInfo(ACL_HBM_MEM, &free_b, &total_b);
    char tried[16], total[16], rest[16], allocated[16], reserved[16];
    ms_format_size(request->requested_b, tried);
    ms_format_size(total_b, total);
    ms_format_size(free_b, rest);
    ms_format_size(device->stats.allocated_bytes.current, allocated);
    ms_format_size(device->stats.reserved_bytes.current, reserved);
    return npool__fail(
        request->error,
        "NPU out of memory: tried to allocate %s on device %d (total %s, free %s; this pool: %s allocated, "
        "%s reserved)%s",
        tried, device->id, total, rest, allocated, reserved,
        device->limit_b != NPOOL_UNLIMITED ? "; the process is limited to a fraction of the memory" : "");
}

/* A block for the request, in no tree; or NULL and request->error. */
static struct cached_block *find_block(npool_caching *pool, struct npool_device *device, struct cache_request *request)
{
    struct cached_block *block = npool__find_free(device, request, request->pool);
    if (block == NULL && pool->config.multi_stream_lazy_reclaim && device->pending != NULL) {
        npool__process_events(device, false);
        block = npool__find_free(device, request, request->pool);
    }
    if (block != NULL) {
        return block;
    }
    if (device->limit_b != NPOOL_UNLIMITED && pool->config.garbage_collection_threshold > 0.0) {
        npool__collect_garbage(device);
    }
    block = from_driver(pool, device, request);
    if (block != NULL || request->error != ACL_ERROR_RT_MEMORY_ALLOCATION || pool->config.throw_on_npumalloc_oom) {
        return block;
    }
    block = from_other_mempools(device, request);
    if (block == NULL && npool__release_oversize(device, request)) {
        block = from_driver(pool, device, request);
    }
    if (block == NULL && request->error == ACL_ERROR_RT_MEMORY_ALLOCATION) {
        npool_workspace *workspace = __atomic_load_n(&pool->workspace, __ATOMIC_ACQUIRE);
        if (workspace != NULL) {
            (void)npool_workspace_empty(workspace);
        }
        npool__release_cached(device);
        device->stats.alloc_retries++;
        block = from_driver(pool, device, request);
    }
    return block;
}

static bool should_split(const struct npool_config *config, const struct cached_block *block, size_t size_b)
{
    size_t rest_b = block->size_b - size_b;
    if (block->pool->small || block->segment->handles != NULL) {
        return rest_b >= NPOOL_MIN_BLOCK_B;
    }
    return size_b < config->max_split_size_b && rest_b > NPOOL_SMALL_SIZE_B;
}

static void hand_out(struct npool_device *device, struct cached_block *block, const struct cache_request *request)
{
    if (should_split(device->config, block, request->size_b)) {
        (void)npool__split(device, block, request->size_b); /* no host memory for a split: use the whole block */
    }
    block->allocated = true;
    block->requested_b = request->requested_b;
    npool__tree_insert(&device->active, &block->node);
    struct npool_stats *stats = &device->stats;
    npool__stat_add(&stats->allocations, 1);
    npool__stat_add(&stats->allocated_bytes, block->size_b);
    npool__stat_add(&stats->active_blocks, 1);
    npool__stat_add(&stats->active_bytes, block->size_b);
    npool__stat_add(&stats->requested_bytes, block->requested_b);
    if (block->size_b >= device->config->max_split_size_b) {
        npool__stat_add(&stats->oversize_allocations, 1);
    }
    npool__report_alloc(NPOOL_DOMAIN_CACHING, device->id, block->ptr, block->size_b, stats->reserved_bytes.current);
}

static aclError malloc_uncached(void **ptr, size_t size_b)
{
    aclError ret = aclrtMalloc(ptr, size_b, ACL_MEM_MALLOC_HUGE_FIRST);
    return ret == ACL_SUCCESS ? ret : npool__fail_acl(ret, "aclrtMalloc of %zu bytes", size_b);
}

aclError npool_malloc(npool_caching *pool, void **ptr, size_t size_b, aclrtStream stream)
{
    if (pool == NULL || ptr == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_malloc: no pool or no result");
    }
    if (size_b == 0) {
        *ptr = NULL;
        return ACL_SUCCESS;
    }
    if (size_b > NPOOL_SIZE_LIMIT) {
        return npool__fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "npool_malloc: no device has %zu bytes", size_b);
    }
    if (pool->config.no_caching) {
        return malloc_uncached(ptr, size_b);
    }
    struct npool_device *device;
    aclError ret = current_device(pool, &device);
    if (ret != ACL_SUCCESS) {
        return ret;
    }
    struct cache_request request = {.size_b = npool_round_size(pool, size_b), .requested_b = size_b, .stream = stream};
    struct pool_pair *pair = lock_for_request(pool, device);
    request.pool = request.size_b <= NPOOL_SMALL_SIZE_B ? &pair->small : &pair->large;
    if (!pool->config.multi_stream_lazy_reclaim) {
        npool__process_events(device, false);
    }
    struct cached_block *block = find_block(pool, device, &request);
    if (block != NULL) {
        hand_out(device, block, &request);
        *ptr = block->ptr;
    } else {
        ret = out_of_memory(device, &request);
    }
    pthread_mutex_unlock(&device->lock);
    return ret;
}

/* ---- frees */

/* Locks the device that holds the block; NULL and nothing locked if the block is unknown. */
static struct cached_block *lock_block(npool_caching *pool, const void *ptr, struct npool_device **out)
{
    for (int32_t id = 0; id < NPOOL_DEVICES_MAX; id++) {
        struct npool_device *device = npool__device_if_used(pool, id);
        if (device == NULL) {
            continue;
        }
        pthread_mutex_lock(&device->lock);
        struct cached_block *block = npool__block_at(device, ptr);
        if (block != NULL) {
            *out = device;
            return block;
        }
        pthread_mutex_unlock(&device->lock);
    }
    return NULL;
}

aclError npool_free(npool_caching *pool, void *ptr)
{
    if (pool == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_free: no pool");
    }
    if (ptr == NULL) {
        return ACL_SUCCESS;
    }
    if (pool->config.no_caching) {
        aclError ret = aclrtFree(ptr);
        return ret == ACL_SUCCESS ? ret : npool__fail_acl(ret, "aclrtFree(%p)", ptr);
    }
    struct npool_device *device;
    struct cached_block *block = lock_block(pool, ptr, &device);
    if (block == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_free: %p is not a block in use of this pool", ptr);
    }
    npool__tree_remove(&device->active, &block->node);
    block->allocated = false;
    struct npool_stats *stats = &device->stats;
    npool__stat_sub(&stats->allocations, 1);
    npool__stat_sub(&stats->allocated_bytes, block->size_b);
    npool__stat_sub(&stats->requested_bytes, block->requested_b);
    if (block->size_b >= device->config->max_split_size_b) {
        npool__stat_sub(&stats->oversize_allocations, 1);
    }
    struct npool_device_scope scope = {.previous = -1};
    bool calls_driver = block->other_stream_count > 0 || block->pool->pair->orphaned;
    if (calls_driver) {
        (void)npool__enter_device(device->id, &scope);
    }
    npool__retire(device, block);
    npool__report_free(NPOOL_DOMAIN_CACHING, device->id, ptr, stats->reserved_bytes.current);
    if (calls_driver) {
        npool__drop_orphans(device);
        npool__leave_device(&scope);
    }
    pthread_mutex_unlock(&device->lock);
    return ACL_SUCCESS;
}

aclError npool_record_stream(npool_caching *pool, void *ptr, aclrtStream stream)
{
    if (pool == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_record_stream: no pool");
    }
    if (ptr == NULL || pool->config.no_caching) {
        return ACL_SUCCESS;
    }
    struct npool_device *device;
    struct cached_block *block = lock_block(pool, ptr, &device);
    if (block == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_record_stream: %p is not a block in use of this pool", ptr);
    }
    bool known = block->stream == stream;
    for (uint32_t i = 0; i < block->other_stream_count && !known; i++) {
        known = block->other_streams[i] == stream;
    }
    aclError ret = ACL_SUCCESS;
    if (!known) {
        aclrtStream *more = realloc(block->other_streams, (block->other_stream_count + 1) * sizeof(*more));
        if (more != NULL) {
            more[block->other_stream_count++] = stream;
            block->other_streams = more;
        } else {
            ret = npool__fail(ACL_ERROR_BAD_ALLOC, "no host memory to remember a stream");
        }
    }
    pthread_mutex_unlock(&device->lock);
    return ret;
}

aclError npool_empty_cache(npool_caching *pool)
{
    if (pool == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_empty_cache: no pool");
    }
    struct npool_device *device;
    aclError ret = current_device(pool, &device);
    if (ret == ACL_SUCCESS) {
        pthread_mutex_lock(&device->lock);
        npool__release_cached(device);
        pthread_mutex_unlock(&device->lock);
    }
    return ret;
}
