/* SPDX-License-Identifier: Apache-2.0 */
/* Managed memory: advice and prefetch locations. Host and device share memory here, so advice does not affect speed; it
 * is stored because programs query it.
 *
 * Advice applies to whole blocks. Threads and locks: managed_blocks.lock protects the list, a leaf; prefetches run on
 * streams' threads. Failure: pointers outside managed memory return 107000. */
#include "softnpu/runtime/memory.h"

#include "softnpu/runtime/context.h"
#include "softnpu/runtime/error.h"
#include "softnpu/runtime/prof.h"
#include "softnpu/runtime/task.h"

#include "acl/acl.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Device numbers in query results; the host and "none" have special values. */
enum { DEVICE_HOST = -1, DEVICE_NONE = -2 };

struct managed_block {
    struct managed_block *next;
    uintptr_t base;
    bool read_mostly;
    struct snpu_location preferred, prefetched;
    uint64_t accessed_by; /* one bit per user device */
    bool accessed_by_host;
};

static struct {
    pthread_mutex_t lock;
    struct managed_block *list;
} managed_blocks = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct managed_block *find(uintptr_t base)
{
    struct managed_block *block = managed_blocks.list;
    while (block != NULL && block->base != base) {
        block = block->next;
    }
    return block;
}

static struct managed_block *find_or_make(uintptr_t base)
{
    struct managed_block *block = find(base);
    if (block == NULL) {
        block = calloc(1, sizeof(*block));
        if (block != NULL) {
            block->base = base;
            block->next = managed_blocks.list;
            managed_blocks.list = block;
        }
    }
    return block;
}

void snpu__managed_forget(const void *base)
{
    pthread_mutex_lock(&managed_blocks.lock);
    struct managed_block **link = &managed_blocks.list;
    while (*link != NULL && (*link)->base != (uintptr_t)base) {
        link = &(*link)->next;
    }
    struct managed_block *gone = *link;
    if (gone != NULL) {
        *link = gone->next;
    }
    pthread_mutex_unlock(&managed_blocks.lock);
    free(gone);
}

/* Finds the block that contains a range. */
static int32_t need_block(const char *function, const void *ptr, uint64_t size_b, uintptr_t *base)
{
    struct snpu_range range;
    if (!snpu_hal_lookup(ptr, &range) || range.kind != SNPU_RANGE_MANAGED || size_b == 0 ||
        size_b > range.base + range.size_b - (uintptr_t)ptr) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: %llu bytes at %p are not in managed memory", function,
                         (unsigned long long)size_b, ptr);
    }
    *base = range.base;
    return 0;
}

static int32_t check_location(const char *function, struct snpu_location where)
{
    uint32_t dev;
    switch (where.type) {
    case ACL_MEM_LOCATIONTYPE_DEVICE:
        return snpu_dev_from_user(function, where.id, &dev);
    case ACL_MEM_LOCATIONTYPE_HOST:
    case ACL_MEM_LOCATIONTYPE_HOST_NUMA:
    case ACL_MEM_LOCATIONTYPE_HOST_NUMA_CURRENT:
        return 0;
    default:
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid location type %d", function, where.type);
    }
}

/* ---- advice ---- */
static void set_accessed_by(struct managed_block *block, struct snpu_location where, bool on)
{
    if (where.type != ACL_MEM_LOCATIONTYPE_DEVICE) {
        block->accessed_by_host = on;
    } else if (on) {
        block->accessed_by |= UINT64_C(1) << where.id;
    } else {
        block->accessed_by &= ~(UINT64_C(1) << where.id);
    }
}

static int32_t apply(const char *function, struct managed_block *block, int32_t advice, struct snpu_location where)
{
    switch (advice) {
    case ACL_MEM_ADVISE_SET_READ_MOSTLY:
    case ACL_MEM_ADVISE_UNSET_READ_MOSTLY:
        block->read_mostly = advice == ACL_MEM_ADVISE_SET_READ_MOSTLY;
        return 0;
    case ACL_MEM_ADVISE_SET_PREFERRED_LOCATION:
        block->preferred = where;
        return 0;
    case ACL_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
        block->preferred = (struct snpu_location){ACL_MEM_LOCATIONTYPE_INVALID, 0};
        return 0;
    case ACL_MEM_ADVISE_SET_ACCESSED_BY:
    case ACL_MEM_ADVISE_UNSET_ACCESSED_BY:
        set_accessed_by(block, where, advice == ACL_MEM_ADVISE_SET_ACCESSED_BY);
        return 0;
    default:
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: unknown advice %d", function, advice);
    }
}

int32_t snpu_managed_advise(const void *ptr, uint64_t size_b, int32_t advice, struct snpu_location where)
{
    SNPU_PROF_RT_CALL(MEM_ADVISE);
    static const char function[] = "aclrtMemManagedAdvise";
    uintptr_t base = 0;
    int32_t code = need_block(function, ptr, size_b, &base);
    bool needs_location = advice == ACL_MEM_ADVISE_SET_PREFERRED_LOCATION || advice == ACL_MEM_ADVISE_SET_ACCESSED_BY ||
                          advice == ACL_MEM_ADVISE_UNSET_ACCESSED_BY;
    if (code == 0 && needs_location) {
        code = check_location(function, where);
    }
    if (code != 0) {
        return code;
    }
    pthread_mutex_lock(&managed_blocks.lock);
    struct managed_block *block = find_or_make(base);
    code = block != NULL ? apply(function, block, advice, where)
                         : snpu_fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: out of host memory", function);
    pthread_mutex_unlock(&managed_blocks.lock);
    return code;
}

/* ---- queries ---- */
static int32_t as_device(struct snpu_location where)
{
    switch (where.type) {
    case ACL_MEM_LOCATIONTYPE_INVALID:
        return DEVICE_NONE;
    case ACL_MEM_LOCATIONTYPE_DEVICE:
        return where.id;
    default:
        return DEVICE_HOST;
    }
}

static void list_accessors(const struct managed_block *block, int32_t *out, size_t capacity)
{
    size_t n = 0;
    if (block->accessed_by_host && n < capacity) {
        out[n++] = DEVICE_HOST;
    }
    for (int32_t dev = 0; dev < 64 && n < capacity; dev++) {
        if ((block->accessed_by >> dev & 1) != 0) {
            out[n++] = dev;
        }
    }
    while (n < capacity) {
        out[n++] = DEVICE_NONE;
    }
}

int32_t snpu_managed_get(int32_t attribute, const void *ptr, uint64_t size_b, void *data, size_t data_b)
{
    static const char function[] = "aclrtMemManagedGetAttr";
    uintptr_t base = 0;
    int32_t code = need_block(function, ptr, size_b, &base);
    if (code != 0) {
        return code;
    }
    if (data == NULL || data_b < sizeof(int32_t) || data_b % sizeof(int32_t) != 0) {
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: invalid result buffer: %zu bytes at %p", function, data_b,
                         data);
    }
    struct managed_block block = {0};
    pthread_mutex_lock(&managed_blocks.lock);
    const struct managed_block *found = find(base);
    if (found != NULL) {
        block = *found;
    }
    pthread_mutex_unlock(&managed_blocks.lock);
    int32_t *out = data;
    switch (attribute) {
    case ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
        *out = block.read_mostly;
        return 0;
    case ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
        *out = as_device(block.preferred);
        return 0;
    case ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
        list_accessors(&block, out, data_b / sizeof(*out));
        return 0;
    case ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
        *out = block.preferred.type;
        return 0;
    case ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
        *out = block.preferred.id;
        return 0;
    case ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
        *out = as_device(block.prefetched);
        return 0;
    case ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
        *out = block.prefetched.type;
        return 0;
    case ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
        *out = block.prefetched.id;
        return 0;
    default:
        return snpu_fail(ACL_ERROR_RT_PARAM_INVALID, "%s: unknown attribute %d", function, attribute);
    }
}

/* ---- prefetch ---- */
struct prefetch_task {
    uintptr_t base;
    struct snpu_location where;
};

static int32_t run_prefetch(struct snpu_task *task)
{
    const struct prefetch_task *t = (const struct prefetch_task *)task->payload;
    struct snpu_range range;
    if (!snpu_hal_lookup((void *)t->base, &range) || range.kind != SNPU_RANGE_MANAGED) {
        return ACL_ERROR_RT_SYS_DMA;
    }
    pthread_mutex_lock(&managed_blocks.lock);
    struct managed_block *block = find_or_make(t->base);
    if (block != NULL) {
        block->prefetched = t->where;
    }
    pthread_mutex_unlock(&managed_blocks.lock);
    return 0;
}

static const struct snpu_task_kind prefetch_kind = {
    .name = "MEMCPY_ASYNC",
    .prof_type = SNPU_TASK_MEMCPY_ASYNC,
    .ri_type = ACL_MODEL_RI_TASK_DEFAULT,
    .captures = true,
    .run = run_prefetch,
};

int32_t snpu_managed_prefetch(const void *ptr, uint64_t size_b, struct snpu_location where, void *handle)
{
    static const char function[] = "aclrtMemManagedPrefetchAsync";
    struct prefetch_task t = {.where = where};
    struct snpu_stream *stream;
    int32_t code = need_block(function, ptr, size_b, &t.base);
    if (code == 0) {
        code = check_location(function, where);
    }
    if (code == 0) {
        code = snpu_stream_resolve(function, handle, &stream);
    }
    return code != 0 ? code : snpu_stream_submit(stream, &prefetch_kind, &t, sizeof(t), NULL, 0, NULL);
}
