/* SPDX-License-Identifier: Apache-2.0 */
#include "base/slab.h"

#include "base/macros.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* Memory that only live objects refer to is not leaked; LeakSanitizer must be pointed at the objects. */
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#define ROOT_SLOTS 64
static void name_roots(const struct ms_slab *slab, uint32_t index)
{
    if (index % ROOT_SLOTS == 0) {
        uint32_t left = slab->max_objects - index;
        __lsan_register_root_region(slab->base + (size_t)index * slab->stride_b,
                                    slab->stride_b * (left < ROOT_SLOTS ? left : ROOT_SLOTS));
    }
}
#else
static void name_roots(const struct ms_slab *slab, uint32_t index)
{
    (void)slab;
    (void)index;
}
#endif

static void *map_lazily(size_t size_b)
{
    void *p = mmap(NULL, size_b, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static bool slab_open(struct ms_slab *slab)
{
    if (slab->base != NULL) {
        return true;
    }
    size_t stride = MS_ROUND_UP(slab->object_b, 64);
    size_t objects_b = stride * slab->max_objects;
    size_t ring_b = MS_ROUND_UP(sizeof(uint32_t) * slab->max_objects, 64);
    char *p = map_lazily(objects_b + ring_b + slab->max_objects);
    if (p == NULL) {
        return false;
    }
    slab->stride_b = stride;
    slab->ring = (uint32_t *)(p + objects_b);
    slab->alive = (uint8_t *)(p + objects_b + ring_b);
    /* Published last: ms_slab_check reads base without the lock. */
    __atomic_store_n(&slab->base, p, __ATOMIC_RELEASE);
    return true;
}

void *ms_slab_alloc(struct ms_slab *slab)
{
    void *object = NULL;
    pthread_mutex_lock(&slab->lock);
    if (!slab_open(slab)) {
        errno = ENOMEM;
        goto out;
    }
    uint32_t index;
    bool fresh_left = slab->used_slots < slab->max_objects;
    if (slab->ring_len > slab->quarantine || (slab->ring_len > 0 && !fresh_left)) {
        index = slab->ring[slab->ring_head];
        slab->ring_head = (slab->ring_head + 1) % slab->max_objects;
        slab->ring_len--;
    } else if (fresh_left) {
        index = slab->used_slots++;
        name_roots(slab, index);
    } else {
        errno = ENOSPC;
        goto out;
    }
    object = slab->base + (size_t)index * slab->stride_b;
    memset(object, 0, slab->zero_b != 0 ? slab->zero_b : slab->object_b);
    slab->live++;
    __atomic_store_n(&slab->alive[index], 1, __ATOMIC_RELEASE);
out:
    pthread_mutex_unlock(&slab->lock);
    return object;
}

void ms_slab_free(struct ms_slab *slab, void *object)
{
    uint32_t index = ms_slab_index(slab, object);
    pthread_mutex_lock(&slab->lock);
    __atomic_store_n(&slab->alive[index], 0, __ATOMIC_RELEASE);
    slab->ring[(slab->ring_head + slab->ring_len) % slab->max_objects] = index;
    slab->ring_len++;
    slab->live--;
    pthread_mutex_unlock(&slab->lock);
}

bool ms_slab_check(const struct ms_slab *slab, const void *object)
{
    const char *base = __atomic_load_n(&slab->base, __ATOMIC_ACQUIRE);
    if (base == NULL) {
        return false;
    }
    uintptr_t offset = (uintptr_t)object - (uintptr_t)base;
    if (offset >= slab->stride_b * slab->max_objects || offset % slab->stride_b != 0) {
        return false;
    }
    return __atomic_load_n(&slab->alive[offset / slab->stride_b], __ATOMIC_ACQUIRE) != 0;
}

uint32_t ms_slab_index(const struct ms_slab *slab, const void *object)
{
    return (uint32_t)(((uintptr_t)object - (uintptr_t)slab->base) / slab->stride_b);
}

void *ms_slab_at(const struct ms_slab *slab, uint32_t index)
{
    if (slab->base == NULL || index >= slab->max_objects) {
        return NULL;
    }
    void *object = slab->base + (size_t)index * slab->stride_b;
    return ms_slab_check(slab, object) ? object : NULL;
}

uint32_t ms_slab_live(const struct ms_slab *slab)
{
    return __atomic_load_n(&slab->live, __ATOMIC_RELAXED);
}
