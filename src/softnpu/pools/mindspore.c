/* SPDX-License-Identifier: Apache-2.0 */
/* MindSpore's dynamic memory pool: best fit in units of 512 bytes over blocks of 1 GiB, or, with virtual memory
 * management, over one address range into which physical memory is mapped as it is needed.
 *
 * The buffers of a driver block form a list by address; two free neighbours are joined. The pool keeps its memory
 * until it is destroyed. One lock for the object, held during ACL and mstx calls. */
#include "common.h"
#include "report.h"
#include "tree.h"

#include <pthread.h>
#include <stdlib.h>

#define UNIT_B      ((size_t)512)
#define BLOCK_B     NPOOL_GIB
#define VMM_ALIGN_B (2 * NPOOL_MIB)

struct buffer {
    struct npool_piece piece; /* free: by size, address; used: by address */
    bool used;
    struct buffer *prev, *next;
};

struct driver_block {
    char *base;
    struct driver_block *next;
};

struct npool_mindspore {
    pthread_mutex_t lock;
    int32_t device;
    struct npool_mindspore_options options;
    struct npool_tree free, used;
    struct driver_block *blocks;
    char *range; /* virtual memory management: the address range, its handles and how much of it is mapped */
    size_t range_b, mapped_b;
    aclrtDrvMemHandle *handles;
    struct buffer *last; /* of the mapped part */
    struct npool_mindspore_stats stats;
};

static struct buffer *of_node(const struct npool_node *node)
{
    return node != NULL ? MS_CONTAINER_OF(node, struct buffer, piece.node) : NULL;
}

static aclError reserve_range(npool_mindspore *pool)
{
    size_t free_b = 0, total_b = 0;
    aclError ret = aclrtGetMemInfo(ACL_HBM_MEM, &free_b, &total_b);
    if (ret != ACL_SUCCESS) {
        return npool__fail_acl(ret, "aclrtGetMemInfo");
    }
    size_t range_b = MS_ROUND_UP(total_b, pool->options.vmm_align_b);
    void *range = NULL;
    ret = aclrtReserveMemAddress(&range, range_b, 0, NULL, 1);
    if (ret != ACL_SUCCESS) {
        return npool__fail_acl(ret, "aclrtReserveMemAddress of %zu bytes", range_b);
    }
    pool->handles = calloc(range_b / pool->options.vmm_align_b, sizeof(*pool->handles));
    if (pool->handles == NULL) {
        (void)aclrtReleaseMemAddress(range);
        return npool__fail(ACL_ERROR_BAD_ALLOC, "no host memory for the handles of a MindSpore pool");
    }
    pool->range = range;
    pool->range_b = range_b;
    return ACL_SUCCESS;
}

npool_mindspore *npool_mindspore_create(const struct npool_mindspore_options *options)
{
    int32_t device;
    if (npool__current_device(&device) != ACL_SUCCESS) {
        return NULL;
    }
    npool_mindspore *pool = calloc(1, sizeof(*pool));
    if (pool == NULL) {
        (void)npool__fail(ACL_ERROR_BAD_ALLOC, "no host memory for a MindSpore pool");
        return NULL;
    }
    pool->device = device;
    if (options != NULL && options->sz >= sizeof(*options)) {
        pool->options = *options;
    }
    struct npool_mindspore_options *set = &pool->options;
    set->init_size_b = set->init_size_b != 0 ? set->init_size_b : BLOCK_B;
    set->increase_size_b = set->increase_size_b != 0 ? set->increase_size_b : BLOCK_B;
    set->vmm_align_b = set->vmm_align_b != 0 ? set->vmm_align_b : VMM_ALIGN_B;
    pool->free = (struct npool_tree)NPOOL_TREE(npool__pieces_by_size);
    pool->used = (struct npool_tree)NPOOL_TREE(npool__pieces_by_address);
    pthread_mutex_init(&pool->lock, NULL);
    if ((options != NULL && options->sz < sizeof(*options)) || set->vmm_align_b % VMM_ALIGN_B != 0) {
        (void)npool__fail(ACL_ERROR_INVALID_PARAM,
                          "MindSpore pool: sz is not set, or the alignment %zu is not a multiple "
                          "of 2 MiB",
                          set->vmm_align_b);
    } else if (!set->vmm || reserve_range(pool) == ACL_SUCCESS) {
        return pool;
    }
    npool_mindspore_destroy(pool);
    return NULL;
}

static struct buffer *new_buffer(char *ptr, size_t size_b)
{
    struct buffer *buffer = calloc(1, sizeof(*buffer));
    if (buffer != NULL) {
        buffer->piece.ptr = ptr;
        buffer->piece.size_b = size_b;
    }
    return buffer;
}

/* ---- memory from the driver; each adds a free buffer of at least size_b bytes */

static aclError add_block(npool_mindspore *pool, size_t size_b)
{
    size_t unit_b = pool->blocks == NULL ? pool->options.init_size_b : pool->options.increase_size_b;
    size_t block_b = size_b > unit_b ? size_b : unit_b;
    void *base = NULL;
    aclError ret = aclrtMalloc(&base, block_b, ACL_MEM_MALLOC_HUGE_FIRST);
    if (ret == ACL_ERROR_RT_MEMORY_ALLOCATION && block_b > size_b) {
        block_b = size_b; /* the rest of the device, if a whole block no longer fits */
        ret = aclrtMalloc(&base, block_b, ACL_MEM_MALLOC_HUGE_FIRST);
    }
    if (ret != ACL_SUCCESS) {
        return npool__fail_acl(ret, "MindSpore pool: block of %zu bytes", block_b);
    }
    struct driver_block *block = calloc(1, sizeof(*block));
    struct buffer *buffer = new_buffer(base, block_b);
    if (block == NULL || buffer == NULL) {
        free(block);
        free(buffer);
        (void)aclrtFree(base);
        return npool__fail(ACL_ERROR_BAD_ALLOC, "no host memory for a block of a MindSpore pool");
    }
    block->base = base;
    block->next = pool->blocks;
    pool->blocks = block;
    pool->stats.blocks++;
    pool->stats.total_b += block_b;
    npool__tree_insert(&pool->free, &buffer->piece.node);
    return ACL_SUCCESS;
}

static void unmap_from(npool_mindspore *pool, size_t begin_b)
{
    size_t unit_b = pool->options.vmm_align_b;
    for (size_t at = begin_b; at < pool->mapped_b; at += unit_b) {
        (void)aclrtUnmapMem(pool->range + at);
        (void)aclrtFreePhysical(pool->handles[at / unit_b]);
        pool->handles[at / unit_b] = NULL;
    }
    pool->mapped_b = begin_b;
}

static aclError map_more(npool_mindspore *pool, size_t size_b)
{
    size_t unit_b = pool->options.vmm_align_b, before_b = pool->mapped_b;
    const aclrtPhysicalMemProp prop = {
        .handleType = ACL_MEM_HANDLE_TYPE_NONE,
        .allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED,
        .memAttr = ACL_HBM_MEM_HUGE,
        .location = {.id = (uint32_t)pool->device, .type = ACL_MEM_LOCATION_TYPE_DEVICE},
    };
    if (size_b > pool->range_b - before_b) {
        return npool__fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "MindSpore pool: the device does not have %zu more bytes",
                           size_b);
    }
    for (size_t end = before_b + size_b; pool->mapped_b < end;) {
        aclrtDrvMemHandle handle = NULL;
        aclError ret = aclrtMallocPhysical(&handle, unit_b, &prop, 0);
        if (ret == ACL_SUCCESS) {
            ret = aclrtMapMem(pool->range + pool->mapped_b, unit_b, 0, handle, 0);
            if (ret != ACL_SUCCESS) {
                (void)aclrtFreePhysical(handle);
            }
        }
        if (ret != ACL_SUCCESS) {
            (void)npool__fail_acl(ret, "MindSpore pool: physical memory of %zu bytes", unit_b);
            unmap_from(pool, before_b);
            return ret;
        }
        pool->handles[pool->mapped_b / unit_b] = handle;
        pool->mapped_b += unit_b;
    }
    return ACL_SUCCESS;
}

static aclError extend_range(npool_mindspore *pool, size_t size_b)
{
    struct buffer *last = pool->last != NULL && !pool->last->used ? pool->last : NULL;
    size_t more_b = MS_ROUND_UP(size_b - (last != NULL ? last->piece.size_b : 0), pool->options.vmm_align_b);
    char *begin = pool->range + pool->mapped_b;
    struct buffer *buffer = last != NULL ? NULL : new_buffer(begin, more_b);
    if (last == NULL && buffer == NULL) {
        return npool__fail(ACL_ERROR_BAD_ALLOC, "no host memory for a buffer of a MindSpore pool");
    }
    aclError ret = map_more(pool, more_b);
    if (ret != ACL_SUCCESS) {
        free(buffer);
        return ret;
    }
    pool->stats.total_b += more_b;
    pool->stats.blocks += more_b / pool->options.vmm_align_b;
    if (last != NULL) {
        npool__tree_remove(&pool->free, &last->piece.node);
        last->piece.size_b += more_b;
        buffer = last;
    } else {
        buffer->prev = pool->last;
        if (pool->last != NULL) {
            pool->last->next = buffer;
        }
        pool->last = buffer;
    }
    npool__tree_insert(&pool->free, &buffer->piece.node);
    return ACL_SUCCESS;
}

/* ---- requests */

static struct buffer *best_fit(const npool_mindspore *pool, size_t size_b)
{
    const struct buffer key = {.piece.size_b = size_b};
    return of_node(npool__tree_at_least(&pool->free, &key.piece.node));
}

static void split(npool_mindspore *pool, struct buffer *buffer, size_t size_b)
{
    struct buffer *rest =
        buffer->piece.size_b > size_b ? new_buffer(buffer->piece.ptr + size_b, buffer->piece.size_b - size_b) : NULL;
    if (rest != NULL) {
        buffer->piece.size_b = size_b;
        rest->prev = buffer;
        rest->next = buffer->next;
        if (rest->next != NULL) {
            rest->next->prev = rest;
        }
        buffer->next = rest;
        if (pool->last == buffer) {
            pool->last = rest;
        }
        npool__tree_insert(&pool->free, &rest->piece.node);
    }
}

aclError npool_mindspore_malloc(npool_mindspore *pool, void **ptr, size_t size_b)
{
    if (pool == NULL || ptr == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_mindspore_malloc: NULL argument");
    }
    if (size_b > NPOOL_SIZE_LIMIT) {
        return npool__fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "npool_mindspore_malloc: no device has %zu bytes", size_b);
    }
    size_t need_b = size_b == 0 ? UNIT_B : MS_ROUND_UP(size_b, UNIT_B);
    pthread_mutex_lock(&pool->lock);
    struct npool_device_scope scope;
    aclError ret = npool__enter_device(pool->device, &scope);
    struct buffer *buffer = best_fit(pool, need_b);
    if (ret == ACL_SUCCESS && buffer == NULL) {
        ret = pool->options.vmm ? extend_range(pool, need_b) : add_block(pool, need_b);
        buffer = best_fit(pool, need_b);
    }
    npool__leave_device(&scope);
    if (ret == ACL_SUCCESS) {
        npool__tree_remove(&pool->free, &buffer->piece.node);
        split(pool, buffer, need_b);
        buffer->used = true;
        npool__tree_insert(&pool->used, &buffer->piece.node);
        pool->stats.used_b += buffer->piece.size_b;
        if (pool->stats.used_b > pool->stats.used_peak_b) {
            pool->stats.used_peak_b = pool->stats.used_b;
        }
        npool__report_mindspore_alloc(pool->device, buffer->piece.ptr, buffer->piece.size_b, pool->stats.total_b);
        *ptr = buffer->piece.ptr;
    }
    pthread_mutex_unlock(&pool->lock);
    return ret;
}

/* Merges a free neighbour into a buffer that is in no tree. */
static void absorb(npool_mindspore *pool, struct buffer *buffer, struct buffer *neighbour)
{
    if (neighbour == NULL || neighbour->used) {
        return;
    }
    npool__tree_remove(&pool->free, &neighbour->piece.node);
    if (neighbour == buffer->prev) {
        buffer->piece.ptr = neighbour->piece.ptr;
        buffer->prev = neighbour->prev;
        if (buffer->prev != NULL) {
            buffer->prev->next = buffer;
        }
    } else {
        buffer->next = neighbour->next;
        if (buffer->next != NULL) {
            buffer->next->prev = buffer;
        }
    }
    if (pool->last == neighbour) {
        pool->last = buffer;
    }
    buffer->piece.size_b += neighbour->piece.size_b;
    free(neighbour);
}

aclError npool_mindspore_free(npool_mindspore *pool, void *ptr)
{
    if (pool == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_mindspore_free: no pool");
    }
    if (ptr == NULL) {
        return ACL_SUCCESS;
    }
    pthread_mutex_lock(&pool->lock);
    const struct buffer key = {.piece.ptr = ptr};
    struct buffer *buffer = of_node(npool__tree_at_least(&pool->used, &key.piece.node));
    aclError ret = ACL_SUCCESS;
    if (buffer == NULL || buffer->piece.ptr != ptr) {
        ret = npool__fail(ACL_ERROR_INVALID_PARAM, "npool_mindspore_free: %p is not a buffer in use", ptr);
    } else {
        npool__tree_remove(&pool->used, &buffer->piece.node);
        buffer->used = false;
        pool->stats.used_b -= buffer->piece.size_b;
        absorb(pool, buffer, buffer->prev);
        absorb(pool, buffer, buffer->next);
        npool__tree_insert(&pool->free, &buffer->piece.node);
        npool__report_mindspore_free(pool->device, ptr, pool->stats.total_b);
    }
    pthread_mutex_unlock(&pool->lock);
    return ret;
}

aclError npool_mindspore_get_stats(npool_mindspore *pool, struct npool_mindspore_stats *out)
{
    if (pool == NULL || out == NULL) {
        return npool__fail(ACL_ERROR_INVALID_PARAM, "npool_mindspore_get_stats: NULL argument");
    }
    pthread_mutex_lock(&pool->lock);
    *out = pool->stats;
    pthread_mutex_unlock(&pool->lock);
    return ACL_SUCCESS;
}

void npool_mindspore_destroy(npool_mindspore *pool)
{
    if (pool == NULL) {
        return;
    }
    struct npool_device_scope scope;
    bool entered = npool__enter_device(pool->device, &scope) == ACL_SUCCESS;
    (void)aclrtSynchronizeDevice();
    struct npool_tree *const trees[] = {&pool->used, &pool->free};
    for (size_t i = 0; i < MS_COUNT_OF(trees); i++) {
        for (struct npool_node *node; (node = npool__tree_first(trees[i])) != NULL;) {
            npool__tree_remove(trees[i], node);
            free(of_node(node));
        }
    }
    for (struct driver_block *block = pool->blocks, *next; block != NULL; block = next) {
        next = block->next;
        (void)aclrtFree(block->base);
        free(block);
    }
    if (pool->range != NULL) {
        unmap_from(pool, 0);
        (void)aclrtReleaseMemAddress(pool->range);
    }
    if (entered) {
        npool__leave_device(&scope);
    }
    free(pool->handles);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}
