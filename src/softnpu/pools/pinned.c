/* SPDX-License-Identifier: Apache-2.0 */
/* torch_npu's pinned host memory: a cache of blocks whose sizes are powers of two.
 *
 * A block that copies on other streams still use is reused only after their events have completed. One lock for the
 * object, held during ACL calls. */
#include "common.h"
#include "tree.h"

#include <pthread.h>
#include <stdlib.h>

enum pinned_source {
    SOURCE_MALLOC_HOST,
    SOURCE_REGISTERED, /* our own pages, registered with the runtime */
    SOURCE_RESERVED,   /* part of the preallocated segment: never released separately */
};

struct pinned_block {
    struct npool_piece piece; /* in the active or in the free tree; in neither while events are pending */
    enum pinned_source source;
    bool allocated;
    aclrtStream *streams; /* recorded since it was allocated */
    uint32_t stream_count, pending_events;
};

struct pinned_event {
    aclrtEvent event;
    struct pinned_block *block;
    struct pinned_event *next;
};

struct npool_pinned {
    pthread_mutex_t lock;
    struct npool_config config;
    struct npool_tree active; /* by address */
    struct npool_tree free;   /* by size, address */
    struct pinned_event *pending;
    char *reserved;
    size_t reserved_used_b;
    enum pinned_source reserved_source;
    struct npool_pinned_stats stats;
};

static struct pinned_block *of_node(const struct npool_node *node)
{
    return node != NULL ? MS_CONTAINER_OF(node, struct pinned_block, piece.node) : NULL;
}

npool_pinned *npool_pinned_create(const struct npool_config *config)
{
    npool_pinned *pool = calloc(1, sizeof(*pool));
    if (pool == NULL) {
        (void)npool__fail(ACL_ERROR_BAD_ALLOC, "no host memory for a pinned pool");
        return NULL;
    }
    if (npool__config_take(&pool->config, config) != ACL_SUCCESS) {
        free(pool);
        return NULL;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pool->active = (struct npool_tree)NPOOL_TREE(npool__pieces_by_address);
    pool->free = (struct npool_tree)NPOOL_TREE(npool__pieces_by_size);
    return pool;
}

/* ---- memory from the runtime */

static aclError acquire(npool_pinned *pool, size_t size_b, char **out, enum pinned_source *source)
{
    void *ptr = NULL;
    aclError ret;
    if (pool->config.pinned_mem_register) {
        ptr = aligned_alloc(4096, MS_ROUND_UP(size_b, 4096));
        if (ptr == NULL) {
            return npool__fail(ACL_ERROR_BAD_ALLOC, "no host memory for %zu pinned bytes", size_b);
        }
        ret = aclrtHostRegisterV2(ptr, size_b, ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED);
        if (ret != ACL_SUCCESS) {
            free(ptr);
            return npool__fail_acl(ret, "aclrtHostRegisterV2 of %zu bytes", size_b);
        }
        *source = SOURCE_REGISTERED;
    } else {
        if (pool->config.pin_memory_expandable_segments) {
            aclrtMallocAttribute attribute = {.attr = ACL_RT_MEM_ATTR_VA_FLAG};
            attribute.value.vaFlag = 1;
            aclrtMallocConfig how = {.attrs = &attribute, .numAttrs = 1};
            ret = aclrtMallocHostWithCfg(&ptr, size_b, &how);
        } else {
            ret = aclrtMallocHost(&ptr, size_b);
        }
        if (ret != ACL_SUCCESS) {
            return npool__fail_acl(ret, "%zu bytes of pinned memory", size_b);
        }
        *source = SOURCE_MALLOC_HOST;
    }
    pool->stats.reserved_b += size_b;
    *out = ptr;
    return ACL_SUCCESS;
}

static void give_back(npool_pinned *pool, char *ptr, size_t size_b, enum pinned_source source)
{
    if (source == SOURCE_MALLOC_HOST) {
        (void)aclrtFreeHost(ptr);
    } else {
        (void)aclrtHostUnregister(ptr);
        free(ptr);
    }
    pool->stats.reserved_b -= size_b;
}

/* A part of the preallocated segment; NULL if there is none left. */
static char *from_reserved(npool_pinned *pool, size_t size_b)
{
    size_t total_b = pool->config.pinned_reserve_segment_b;
    if (pool->reserved == NULL && total_b > 0 && size_b <= total_b) {
        char *segment = NULL;
        if (acquire(pool, total_b, &segment, &pool->reserved_source) == ACL_SUCCESS) {
            pool->reserved = segment;
        }
    }
    size_t at = MS_ROUND_UP(pool->reserved_used_b, 512);
    if (pool->reserved == NULL || at > total_b || size_b > total_b - at) {
        return NULL;
    }
    pool->reserved_used_b = at + size_b;
    return pool->reserved + at;
}

static void delete_block(npool_pinned *pool, struct pinned_block *block)
{
    if (block->source != SOURCE_RESERVED) {
        give_back(pool, block->piece.ptr, block->piece.size_b, block->source);
    }
    pool->stats.blocks--;
    free(block->streams);
    free(block);
}

/* ---- reuse */

static void cache(npool_pinned *pool, struct pinned_block *block)
{
    if (block->source != SOURCE_RESERVED && block->piece.size_b > pool->config.pinned_max_cached_b) {
        delete_block(pool, block);
    } else {
        npool__tree_insert(&pool->free, &block->piece.node);
    }
}

static void process_events(npool_pinned *pool, bool wait)
{
    for (struct pinned_event **link = &pool->pending; *link != NULL;) {
        struct pinned_event *pending = *link;
        if (wait) {
            (void)aclrtSynchronizeEvent(pending->event);
        } else if (!npool__event_done(pending->event)) {
            link = &pending->next;
            continue;
        }
        (void)aclrtDestroyEvent(pending->event);
        struct pinned_block *block = pending->block;
        *link = pending->next;
        free(pending);
        if (--block->pending_events == 0) {
            cache(pool, block);
        }
    }
}

static size_t round_size(const npool_pinned *pool, size_t size_b)
{
    if (size_b > pool->config.pinned_max_round_b || size_b == 1) {
        return size_b;
    }
    return (size_t)1 << (64 - __builtin_clzll(size_b - 1));
}

static aclError new_block(npool_pinned *pool, size_t size_b, struct pinned_block **out)
{
    struct pinned_block *block = calloc(1, sizeof(*block));
    if (block == NULL) {
        return npool__fail(ACL_ERROR_BAD_ALLOC, "no host memory for a pinned block");
    }
    block->piece.size_b = size_b;
    block->source = SOURCE_RESERVED;
    block->piece.ptr = from_reserved(pool, size_b);
    aclError ret = block->piece.ptr == NULL ? acquire(pool, size_b, &block->piece.ptr, &block->source) : ACL_SUCCESS;
    if (ret != ACL_SUCCESS) {
        free(block);
        return ret;
    }
    pool->stats.blocks++;
    *out = block;
    return ACL_SUCCESS;
}

aclError npool_pinned_malloc(npool_pinned *pool, void **ptr, size_t size_b)
{
    if (pool == NULL || ptr == NULL || size_b > NPOOL_SIZE_LIMIT) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_pinned_malloc: NULL argument, or no machine has %zu bytes",
                           size_b);
    }
    if (size_b == 0) {
        *ptr = NULL;
        return ACL_SUCCESS;
    }
    pthread_mutex_lock(&pool->lock);
    process_events(pool, false);
    size_t rounded_b = round_size(pool, size_b);
    const struct pinned_block key = {.piece.size_b = rounded_b};
    struct pinned_block *block = of_node(npool__tree_at_least(&pool->free, &key.piece.node));
    aclError ret = ACL_SUCCESS;
    if (block != NULL && block->piece.size_b == rounded_b) {
        npool__tree_remove(&pool->free, &block->piece.node);
    } else {
        ret = new_block(pool, rounded_b, &block);
    }
    if (ret == ACL_SUCCESS) {
        block->allocated = true;
        block->stream_count = 0;
        pool->stats.allocated_b += block->piece.size_b;
        npool__tree_insert(&pool->active, &block->piece.node);
        *ptr = block->piece.ptr;
    }
    pthread_mutex_unlock(&pool->lock);
    return ret;
}

static struct pinned_block *find(const npool_pinned *pool, const void *ptr)
{
    const struct pinned_block key = {.piece.ptr = (char *)(uintptr_t)ptr};
    struct pinned_block *block = of_node(npool__tree_at_least(&pool->active, &key.piece.node));
    return block != NULL && block->piece.ptr == ptr ? block : NULL;
}

aclError npool_pinned_record(npool_pinned *pool, void *ptr, aclrtStream stream)
{
    if (pool == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_pinned_record: no pool");
    }
    aclError ret = ACL_SUCCESS;
    pthread_mutex_lock(&pool->lock);
    struct pinned_block *block = find(pool, ptr);
    if (block == NULL) {
        ret = npool__fail(ACL_ERROR_INVALID_PARAM, "npool_pinned_record: %p is not a block in use", ptr);
        goto out;
    }
    for (uint32_t i = 0; i < block->stream_count; i++) {
        if (block->streams[i] == stream) {
            goto out;
        }
    }
    aclrtStream *more = realloc(block->streams, (block->stream_count + 1) * sizeof(*more));
    if (more == NULL) {
        ret = npool__fail(ACL_ERROR_BAD_ALLOC, "no host memory to remember a stream");
        goto out;
    }
    more[block->stream_count++] = stream;
    block->streams = more;
out:
    pthread_mutex_unlock(&pool->lock);
    return ret;
}

aclError npool_pinned_free(npool_pinned *pool, void *ptr)
{
    if (pool == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_pinned_free: no pool");
    }
    if (ptr == NULL) {
        return ACL_SUCCESS;
    }
    pthread_mutex_lock(&pool->lock);
    struct pinned_block *block = find(pool, ptr);
    if (block == NULL) {
        pthread_mutex_unlock(&pool->lock);
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_pinned_free: %p is not a block in use", ptr);
    }
    npool__tree_remove(&pool->active, &block->piece.node);
    block->allocated = false;
    pool->stats.allocated_b -= block->piece.size_b;
    for (uint32_t i = 0; i < block->stream_count; i++) {
        struct pinned_event *pending = calloc(1, sizeof(*pending));
        if (pending == NULL || npool__event_record(&pending->event, block->streams[i]) != ACL_SUCCESS) {
            free(pending);
            (void)aclrtSynchronizeStream(block->streams[i]);
            continue;
        }
        pending->block = block;
        pending->next = pool->pending;
        pool->pending = pending;
        block->pending_events++;
    }
    if (block->pending_events == 0) {
        cache(pool, block);
    }
    pthread_mutex_unlock(&pool->lock);
    return ACL_SUCCESS;
}

aclError npool_pinned_empty_cache(npool_pinned *pool)
{
    if (pool == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_pinned_empty_cache: no pool");
    }
    pthread_mutex_lock(&pool->lock);
    process_events(pool, true);
    for (struct pinned_block *at = of_node(npool__tree_first(&pool->free)), *next; at != NULL; at = next) {
        next = of_node(npool__tree_above(&pool->free, &at->piece.node));
        if (at->source != SOURCE_RESERVED) {
            npool__tree_remove(&pool->free, &at->piece.node);
            delete_block(pool, at);
        }
    }
    pthread_mutex_unlock(&pool->lock);
    return ACL_SUCCESS;
}

aclError npool_pinned_get_stats(npool_pinned *pool, struct npool_pinned_stats *out)
{
    if (pool == NULL || out == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_pinned_get_stats: NULL argument");
    }
    pthread_mutex_lock(&pool->lock);
    *out = pool->stats;
    pthread_mutex_unlock(&pool->lock);
    return ACL_SUCCESS;
}

void npool_pinned_destroy(npool_pinned *pool)
{
    if (pool == NULL) {
        return;
    }
    process_events(pool, true);
    struct npool_tree *const trees[] = {&pool->active, &pool->free};
    for (size_t i = 0; i < MS_COUNT_OF(trees); i++) {
        for (struct npool_node *node; (node = npool__tree_first(trees[i])) != NULL;) {
            npool__tree_remove(trees[i], node);
            delete_block(pool, of_node(node));
        }
    }
    if (pool->reserved != NULL) {
        give_back(pool, pool->reserved, pool->config.pinned_reserve_segment_b, pool->reserved_source);
    }
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}
