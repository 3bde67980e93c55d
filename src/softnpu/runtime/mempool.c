/* SPDX-License-Identifier: Apache-2.0 */
/* Memory pools with stream-ordered allocation.
 *
 * A pool takes segments from the driver and divides them into blocks. A free takes effect at a point in a stream: from
 * the call on, the stream that freed a block may reuse it at once (its own order protects it); other streams may reuse
 * it after the freeing stream has passed that point. Each pool counts frees per stream: `given` when the call is made,
 * `passed` when the stream gets there. A free block remembers the stream and the count of its free, and is ready for
 * all streams once `passed` has reached that count. So splitting and merging blocks never affects work in progress in a
 * stream.
 *
 * A segment's blocks form a list by address without gaps. Neighbours are merged when both are ready, or when both
 * belong to the same stream. A segment that consists of one ready block may be returned to the driver. A pool's release
 * threshold limits the unused memory it keeps; it is applied whenever a stream passes a free.
 *
 * Threads and locks: one lock for all pools; the driver's and the slab's locks are below it. Streams' threads take it
 * when they pass a free. It is not held while submitting to a stream.
 * Life: a destroyed pool's handle is invalid at once; its memory is released when the last block has been freed and its
 * free passed. */
#include "softnpu/runtime/mempool.h"

#include "base/slab.h"
#include "softnpu/runtime/context.h"
#include "softnpu/runtime/error.h"
#include "softnpu/runtime/memory.h"
#include "softnpu/runtime/prof.h"
#include "softnpu/runtime/task.h"

#include "acl/acl.h"
#include "ascend_hal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_ALIGN_B 512u
#define SEGMENT_B     (UINT64_C(2) << 20)
#define BUCKETS       4096

/* A pool's record of a stream. Kept for the life of the pool: streams are few, and their slots are reused. */
struct mempool_lane {
    struct mempool_lane *next;
    const struct snpu_stream *stream;
    struct mempool_core *pool;
    uint64_t given, passed;
};

struct mempool_block {
    struct mempool_segment *segment;
    struct mempool_block *prev, *next; /* by address */
    struct mempool_block *chain;       /* used blocks with the same hash */
    uintptr_t addr;
    uint64_t size_b;
    bool used;
    struct mempool_lane *lane; /* stream of the last free; NULL: never used */
    uint64_t point;            /* count of that free */
};

struct mempool_segment {
    struct mempool_segment *next;
    struct mempool_core *pool;
    struct mempool_block *blocks;
    uintptr_t addr;
    uint64_t size_b;
    uint32_t generation; /* generation of the device's memory */
};

/* A pool, apart from its handle. */
struct mempool_core {
    uint32_t dev;
    bool destroyed;
    uint32_t pending; /* frees that a stream has not passed yet */
    uint32_t blocks_used;
    uint64_t max_b, threshold_b;
    uint64_t reserved_b, reserved_high_b, used_b, used_high_b;
    int32_t reuse[3];
    struct mempool_segment *segments;
    struct mempool_lane *lanes;
};

struct mempool_handle {
    struct mempool_core *core;
};

static struct {
    pthread_mutex_t lock;
    struct ms_slab handles;
    struct mempool_block *used[BUCKETS]; /* hash table by address */
    uint32_t segment_count;              /* read without the lock as a hint */
} pools = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .handles = MS_SLAB_INIT(struct mempool_handle, 4096),
};

/* ---- blocks ---- */
static bool is_ready(const struct mempool_block *block)
{
    return !block->used && (block->lane == NULL || block->lane->passed >= block->point);
}

static bool usable_by(const struct mempool_block *block, const struct mempool_lane *lane)
{
    return !block->used && (is_ready(block) || block->lane == lane);
}

static struct mempool_block **used_slot(uintptr_t addr)
{
    return &pools.used[addr / BLOCK_ALIGN_B * UINT64_C(0x9e3779b97f4a7c15) >> 52];
}

static struct mempool_block *used_take(uintptr_t addr)
{
    struct mempool_block **link = used_slot(addr);
    while (*link != NULL && (*link)->addr != addr) {
        link = &(*link)->chain;
    }
    struct mempool_block *block = *link;
    if (block != NULL) {
        *link = block->chain;
    }
    return block;
}

static void used_add(struct mempool_block *block)
{
    struct mempool_block **link = used_slot(block->addr);
    block->chain = *link;
    *link = block;
}

/* Merges a free block with its successor if one stream may have both. */
static void merge_next(struct mempool_block *block)
{
    struct mempool_block *next = block->next;
    if (next == NULL || block->used || next->used) {
        return;
    }
    bool both_ready = is_ready(block) && is_ready(next);
    if (!both_ready && block->lane != next->lane) {
        return;
    }
    block->size_b += next->size_b;
    block->point = both_ready ? 0 : block->point > next->point ? block->point : next->point;
    block->lane = both_ready ? NULL : block->lane;
    block->next = next->next;
    if (block->next != NULL) {
        block->next->prev = block;
    }
    free(next);
}

/* Splits the unneeded rest off a free block. Without memory for the rest, the whole block is used. */
static void split(struct mempool_block *block, uint64_t size_b)
{
    struct mempool_block *rest = block->size_b - size_b >= BLOCK_ALIGN_B ? malloc(sizeof(*rest)) : NULL;
    if (rest == NULL) {
        return;
    }
    *rest = *block;
    rest->addr += size_b;
    rest->size_b -= size_b;
    rest->prev = block;
    block->size_b = size_b;
    block->next = rest;
    if (rest->next != NULL) {
        rest->next->prev = rest;
    }
}

/* ---- segments ---- */
static int32_t segment_add(struct mempool_core *pool, uint64_t size_b)
{
    struct snpu_alloc request = {
        .size_b = MS_ROUND_UP(size_b, SEGMENT_B),
        .pages = SNPU_PAGES_HUGE_FIRST,
        .dev = pool->dev,
        .module = SNPU_MODULE_APP,
    };
    if (pool->max_b != 0 && (request.size_b > pool->max_b || pool->reserved_b > pool->max_b - request.size_b)) {
        return snpu_fail(ACL_ERROR_RT_MEMORY_ALLOCATION,
                         "aclrtMemPoolMallocAsync: the pool holds %llu of at most %llu bytes and needs %llu more",
                         (unsigned long long)pool->reserved_b, (unsigned long long)pool->max_b,
                         (unsigned long long)request.size_b);
    }
    struct mempool_segment *segment = calloc(1, sizeof(*segment));
    struct mempool_block *block = calloc(1, sizeof(*block));
    void *memory = NULL;
    int32_t code = segment == NULL || block == NULL
                       ? snpu_fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "aclrtMemPoolMallocAsync: out of host memory")
                       : snpu__mem_alloc(&request, &memory);
    if (code != 0) {
        free(segment);
        free(block);
        return code;
    }
    *segment = (struct mempool_segment){
        .next = pool->segments,
        .pool = pool,
        .blocks = block,
        .addr = (uintptr_t)memory,
        .size_b = request.size_b,
        .generation = snpu__mem_generation(pool->dev),
    };
    *block = (struct mempool_block){.segment = segment, .addr = segment->addr, .size_b = segment->size_b};
    pool->segments = segment;
    pool->reserved_b += segment->size_b;
    pool->reserved_high_b = pool->reserved_b > pool->reserved_high_b ? pool->reserved_b : pool->reserved_high_b;
    __atomic_store_n(&pools.segment_count, pools.segment_count + 1, __ATOMIC_RELAXED);
    return 0;
}

/* Removes a segment and all its blocks from the pool. The caller keeps the memory itself. */
static void segment_drop(struct mempool_core *pool, struct mempool_segment **link)
{
    struct mempool_segment *segment = *link;
    *link = segment->next;
    pool->reserved_b -= segment->size_b;
    for (struct mempool_block *block = segment->blocks, *next; block != NULL; block = next) {
        next = block->next;
        if (block->used) {
            used_take(block->addr);
            pool->used_b -= block->size_b;
            pool->blocks_used--;
        }
        free(block);
    }
    free(segment);
    __atomic_store_n(&pools.segment_count, pools.segment_count - 1, __ATOMIC_RELAXED);
}

/* Forgets memory that was freed by a reset of the device. */
static void drop_lost_segments(struct mempool_core *pool)
{
    uint32_t generation = snpu__mem_generation(pool->dev);
    struct mempool_segment **link = &pool->segments;
    while (*link != NULL) {
        if ((*link)->generation != generation) {
            segment_drop(pool, link);
        } else {
            link = &(*link)->next;
        }
    }
}

static void merge_all(struct mempool_segment *segment)
{
    for (struct mempool_block *block = segment->blocks; block != NULL; block = block->next) {
        for (struct mempool_block *next = NULL; next != block->next;) {
            next = block->next;
            merge_next(block);
        }
    }
}

/* Returns unused segments to the driver until at most keep_b unused bytes are left. */
static void trim(struct mempool_core *pool, uint64_t keep_b)
{
    drop_lost_segments(pool);
    struct mempool_segment **link = &pool->segments;
    while (*link != NULL && pool->reserved_b - pool->used_b > keep_b) {
        struct mempool_segment *segment = *link;
        merge_all(segment);
        struct mempool_block *block = segment->blocks;
        if (block->next == NULL && is_ready(block)) {
            void *memory = (void *)segment->addr;
            uint64_t size_b = segment->size_b;
            segment_drop(pool, link);
            halMemFree(memory);
            snpu_prof_mem_mng(pool->dev, SNPU_PROF_NO_STREAM, (uintptr_t)memory, size_b, SNPU_PROF_MEM_DEVICE,
                              SNPU_PROF_FREE);
        } else {
            link = &segment->next;
        }
    }
}

static void core_free_if_done(struct mempool_core *pool)
{
    if (!pool->destroyed || pool->pending > 0 || pool->blocks_used > 0) {
        return;
    }
    trim(pool, 0);
    for (struct mempool_lane *lane = pool->lanes, *next; lane != NULL; lane = next) {
        next = lane->next;
        free(lane);
    }
    free(pool);
}

bool snpu__mempool_owns(const void *ptr)
{
    if (__atomic_load_n(&pools.segment_count, __ATOMIC_RELAXED) == 0) {
        return false;
    }
    bool owns = false;
    pthread_mutex_lock(&pools.lock);
    /* Only pools with a handle are found from here; blocks of other pools are found by address. */
    for (struct mempool_block *block = *used_slot((uintptr_t)ptr); block != NULL && !owns; block = block->chain) {
        owns = block->addr == (uintptr_t)ptr;
    }
    for (uint32_t i = 0; i < pools.handles.used_slots && !owns; i++) {
        const struct mempool_handle *handle = ms_slab_at(&pools.handles, i);
        for (struct mempool_segment *s = handle != NULL ? handle->core->segments : NULL; s != NULL && !owns;
             s = s->next) {
            owns = (uintptr_t)ptr - s->addr < s->size_b;
        }
    }
    pthread_mutex_unlock(&pools.lock);
    return owns;
}

/* ---- streams passing frees ---- */
struct free_task {
    struct mempool_lane *lane;
    uint64_t point;
};

static int32_t run_free(struct snpu_task *task)
{
    (void)task;
    return 0;
}

/* Done in release, not in run: a free that is discarded with its stream counts as passed too. */
static void pass_free(void *payload)
{
    const struct free_task *t = payload;
    struct mempool_core *pool = t->lane->pool;
    pthread_mutex_lock(&pools.lock);
    t->lane->passed = t->point > t->lane->passed ? t->point : t->lane->passed;
    pool->pending--;
    trim(pool, pool->threshold_b);
    core_free_if_done(pool);
    pthread_mutex_unlock(&pools.lock);
}

static const struct snpu_task_kind free_kind = {
    .name = "MAINTENANCE",
    .prof_type = SNPU_TASK_MAINTENANCE,
    .ri_type = ACL_MODEL_RI_TASK_DEFAULT,
    .captures = false,
    .run = run_free,
    .release = pass_free,
};

static struct mempool_lane *lane_of(struct mempool_core *pool, const struct snpu_stream *stream)
{
    struct mempool_lane *lane = pool->lanes;
    while (lane != NULL && lane->stream != stream) {
        lane = lane->next;
    }
    if (lane == NULL) {
        lane = calloc(1, sizeof(*lane));
        if (lane != NULL) {
            *lane = (struct mempool_lane){.next = pool->lanes, .stream = stream, .pool = pool};
            pool->lanes = lane;
        }
    }
    return lane;
}

/* ---- public interface ---- */
static struct mempool_core *core_of(const char *function, const void *handle)
{
    if (ms_slab_check(&pools.handles, handle)) {
        return ((const struct mempool_handle *)handle)->core;
    }
    snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is not a memory pool", function, handle);
    return NULL;
}

int32_t snpu_mempool_create(void **out, int32_t user_dev, uint64_t max_b)
{
    static const char function[] = "aclrtMemPoolCreate";
    uint32_t dev;
    int32_t code = snpu_dev_from_user(function, user_dev, &dev);
    if (code != 0) {
        return code;
    }
    struct mempool_core *core = calloc(1, sizeof(*core));
    struct mempool_handle *handle = core != NULL ? ms_slab_alloc(&pools.handles) : NULL;
    if (handle == NULL) {
        free(core);
        return snpu_fail(ACL_ERROR_RT_RESOURCE_ALLOC_FAIL, "%s: too many pools", function);
    }
    core->dev = dev;
    core->max_b = max_b;
    for (size_t i = 0; i < MS_COUNT_OF(core->reuse); i++) {
        core->reuse[i] = 1;
    }
    handle->core = core;
    *out = handle;
    return 0;
}

int32_t snpu_mempool_destroy(void *handle)
{
    pthread_mutex_lock(&pools.lock);
    struct mempool_core *pool = core_of("aclrtMemPoolDestroy", handle);
    if (pool != NULL) {
        pool->destroyed = true;
        ms_slab_free(&pools.handles, handle);
        core_free_if_done(pool);
    }
    pthread_mutex_unlock(&pools.lock);
    return pool != NULL ? 0 : ACL_ERROR_RT_PARAM_INVALID;
}

/* Where an attribute is stored; NULL if it is unknown. */
static uint64_t *attr_slot(struct mempool_core *pool, int32_t attribute)
{
    switch (attribute) {
    case ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD:
        return &pool->threshold_b;
    case ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT:
        return &pool->reserved_b;
    case ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH:
        return &pool->reserved_high_b;
    case ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT:
        return &pool->used_b;
    case ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH:
        return &pool->used_high_b;
    default:
        return NULL;
    }
}

static bool is_reuse(int32_t attribute)
{
    return attribute >= ACL_RT_MEM_POOL_REUSE_FOLLOW_EVENT_DEPENDENCIES &&
           attribute <= ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

static int32_t attr_set(struct mempool_core *pool, int32_t attribute, uint64_t value)
{
    switch (attribute) {
    case ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD:
        pool->threshold_b = value;
        return 0;
    case ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_HIGH: /* high-water marks can be reset to 0 only */
    case ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH:
        if (value == 0) {
            *attr_slot(pool, attribute) =
                attribute == ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH ? pool->used_b : pool->reserved_b;
            return 0;
        }
        break;
    default:
        break;
    }
    return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMemPoolSetAttr: attribute %d cannot be set to %llu", attribute,
                     (unsigned long long)value);
}

int32_t snpu_mempool_set(void *handle, int32_t attribute, const void *value)
{
    int32_t code = ACL_ERROR_RT_PARAM_INVALID;
    pthread_mutex_lock(&pools.lock);
    struct mempool_core *pool = core_of("aclrtMemPoolSetAttr", handle);
    if (pool != NULL && is_reuse(attribute)) {
        memcpy(&pool->reuse[attribute - 1], value, sizeof(pool->reuse[0]));
        code = 0;
    } else if (pool != NULL) {
        uint64_t number;
        memcpy(&number, value, sizeof(number));
        code = attr_set(pool, attribute, number);
    }
    pthread_mutex_unlock(&pools.lock);
    return code;
}

int32_t snpu_mempool_get(void *handle, int32_t attribute, void *value)
{
    int32_t code = ACL_ERROR_RT_PARAM_INVALID;
    pthread_mutex_lock(&pools.lock);
    struct mempool_core *pool = core_of("aclrtMemPoolGetAttr", handle);
    const uint64_t *number = pool != NULL ? attr_slot(pool, attribute) : NULL;
    if (pool != NULL && is_reuse(attribute)) {
        memcpy(value, &pool->reuse[attribute - 1], sizeof(pool->reuse[0]));
        code = 0;
    } else if (number != NULL) {
        memcpy(value, number, sizeof(*number));
        code = 0;
    } else if (pool != NULL) {
        code = snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "aclrtMemPoolGetAttr: unknown attribute %d", attribute);
    }
    pthread_mutex_unlock(&pools.lock);
    return code;
}

int32_t snpu_mempool_trim(void *handle, size_t keep_b)
{
    pthread_mutex_lock(&pools.lock);
    struct mempool_core *pool = core_of("aclrtMemPoolTrimTo", handle);
    if (pool != NULL) {
        trim(pool, pool->used_b >= keep_b ? 0 : keep_b - pool->used_b);
    }
    pthread_mutex_unlock(&pools.lock);
    return pool != NULL ? 0 : ACL_ERROR_RT_PARAM_INVALID;
}

/* The smallest sufficient free block. */
static struct mempool_block *best_fit(struct mempool_core *pool, const struct mempool_lane *lane, uint64_t size_b)
{
    struct mempool_block *best = NULL;
    struct mempool_segment **link = &pool->segments;
    while (*link != NULL) {
        struct mempool_segment *segment = *link;
        for (struct mempool_block *block = segment->blocks; block != NULL; block = block->next) {
            merge_next(block);
            if (usable_by(block, lane) && block->size_b >= size_b && (best == NULL || block->size_b < best->size_b)) {
                best = block;
            }
        }
        link = &segment->next;
    }
    return best;
}

static int32_t take_block(struct mempool_core *pool, const struct mempool_lane *lane, uint64_t size_b,
                          struct mempool_block **out)
{
    drop_lost_segments(pool);
    struct mempool_block *block = best_fit(pool, lane, size_b);
    if (block == NULL) {
        int32_t code = segment_add(pool, size_b);
        if (code != 0 && pool->reserved_b > pool->used_b) { /* retry after releasing unused memory */
            trim(pool, 0);
            code = segment_add(pool, size_b);
        }
        if (code != 0) {
            return code;
        }
        block = best_fit(pool, lane, size_b);
    }
    split(block, size_b);
    block->used = true;
    used_add(block);
    pool->blocks_used++;
    pool->used_b += block->size_b;
    pool->used_high_b = pool->used_b > pool->used_high_b ? pool->used_b : pool->used_high_b;
    *out = block;
    return 0;
}

int32_t snpu_mempool_alloc(void **ptr, size_t size_b, void *handle, void *stream_handle)
{
    static const char function[] = "aclrtMemPoolMallocAsync";
    struct snpu_stream *stream;
    int32_t code = snpu_stream_resolve(function, stream_handle, &stream);
    if (code != 0) {
        return code;
    }
    if (size_b == 0 || size_b > UINT64_MAX / 2) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid size %zu", function, size_b);
    }
    if (snpu_stream_capturing(stream)) {
        return snpu_fail(ACL_ERROR_RT_STREAM_CAPTURED, "%s: not allowed while the stream is being captured", function);
    }
    pthread_mutex_lock(&pools.lock);
    struct mempool_core *pool = core_of(function, handle);
    if (pool == NULL) {
        code = ACL_ERROR_RT_PARAM_INVALID;
    } else if (pool->dev != snpu_stream_dev(stream)) {
        code = snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: stream and pool belong to different devices", function);
    } else {
        struct mempool_block *block;
        code = take_block(pool, lane_of(pool, stream), MS_ROUND_UP(size_b, BLOCK_ALIGN_B), &block);
        if (code == 0) {
            *ptr = (void *)block->addr;
        }
    }
    pthread_mutex_unlock(&pools.lock);
    return code;
}

int32_t snpu_mempool_free(void *ptr, void *stream_handle)
{
    static const char function[] = "aclrtMemPoolFreeAsync";
    struct snpu_stream *stream;
    int32_t code = snpu_stream_resolve(function, stream_handle, &stream);
    if (code != 0) {
        return code;
    }
    if (snpu_stream_capturing(stream)) {
        return snpu_fail(ACL_ERROR_RT_STREAM_CAPTURED, "%s: not allowed while the stream is being captured", function);
    }
    struct free_task task;
    pthread_mutex_lock(&pools.lock);
    struct mempool_block *block = used_take((uintptr_t)ptr);
    struct mempool_core *pool = block != NULL ? block->segment->pool : NULL;
    struct mempool_lane *lane = pool != NULL ? lane_of(pool, stream) : NULL;
    if (lane != NULL) {
        task = (struct free_task){lane, ++lane->given};
        block->used = false;
        block->lane = lane;
        block->point = task.point;
        pool->used_b -= block->size_b;
        pool->blocks_used--;
        pool->pending++;
    } else if (block != NULL) {
        used_add(block);
    }
    pthread_mutex_unlock(&pools.lock);
    if (lane == NULL) {
        return block == NULL
                   ? snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %p is not a block of a memory pool", function, ptr)
                   : snpu_fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: out of host memory", function);
    }
    code = snpu_stream_submit(stream, &free_kind, &task, sizeof(task), NULL, 0, NULL);
    if (code != 0) { /* the stream accepts no more work: no later task will use the block */
        pass_free(&task);
    }
    return 0;
}
