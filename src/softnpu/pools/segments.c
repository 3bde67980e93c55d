/* SPDX-License-Identifier: Apache-2.0 */
/* Segments: memory from the driver.
 *
 * A plain segment is one aclrtMallocAlign32. An expandable one is a reservation of address space as large as the device
 * could ever fill, with physical memory mapped unit by unit: it grows at the end instead of leaving holes. Called with
 * the device's lock held and the device current. Driver errors while releasing memory are ignored: they cannot be
 * handled, and the bookkeeping must not keep memory that the driver may have released. */
#include "caching_internal.h"

#include <stdlib.h>

static aclError driver_malloc(const struct npool_device *device, size_t size_b, bool large, void **ptr)
{
    aclError ret = ACL_ERROR_RT_MEMORY_ALLOCATION;
    if (device->config->page_1g && large) {
        ret = npool__malloc_align32(ptr, size_b, ACL_MEM_MALLOC_HUGE1G_ONLY);
    }
    if (ret != ACL_SUCCESS) {
        ret = npool__malloc_align32(ptr, size_b, ACL_MEM_MALLOC_HUGE_FIRST);
    }
    return ret;
}

static struct cached_segment *new_segment(struct npool_device *device, char *base, size_t reserved_b)
{
    struct cached_segment *segment = calloc(1, sizeof(*segment));
    if (segment != NULL) {
        segment->device = device->id;
        segment->base = base;
        segment->reserved_b = reserved_b;
    }
    return segment;
}

static void account_mapped(struct npool_device *device, struct cached_segment *segment, size_t size_b)
{
    segment->mapped_b += size_b;
    npool__stat_add(&device->stats.reserved_bytes, size_b);
}

static void account_unmapped(struct npool_device *device, struct cached_segment *segment, size_t size_b)
{
    segment->mapped_b -= size_b;
    npool__stat_sub(&device->stats.reserved_bytes, size_b);
}

static void publish(struct npool_device *device, struct cached_segment *segment)
{
    npool__tree_insert(&device->segments, &segment->by_address);
    npool__stat_add(&device->stats.segments, 1);
    if (segment->handles == NULL && segment->reserved_b >= device->config->max_split_size_b) {
        npool__stat_add(&device->stats.oversize_segments, 1);
    }
}

aclError npool__segment_open(struct npool_device *device, size_t size_b, bool large, struct cached_segment **out)
{
    if (device->stats.reserved_bytes.current + size_b > device->limit_b) {
        return npool__fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "the memory fraction of this process is exhausted");
    }
    bool unlocked = device->config->release_lock_on_npumalloc;
    void *base = NULL;
    if (unlocked) {
        pthread_mutex_unlock(&device->lock);
    }
    aclError ret = driver_malloc(device, size_b, large, &base);
    if (unlocked) {
        pthread_mutex_lock(&device->lock);
    }
    if (ret != ACL_SUCCESS) {
        return npool__fail_acl(ret, "segment of %zu bytes", size_b);
    }
    struct cached_segment *segment = new_segment(device, base, size_b);
    if (segment == NULL) {
        (void)aclrtFree(base);
        return npool__fail(ACL_ERROR_BAD_ALLOC, "no host memory for a segment");
    }
    account_mapped(device, segment, size_b);
    publish(device, segment);
    *out = segment;
    return ACL_SUCCESS;
}

aclError npool__segment_reserve(struct npool_device *device, bool large, struct cached_segment **out)
{
    size_t free_b = 0, total_b = 0;
    aclError ret = aclrtGetMemInfo(ACL_HBM_MEM, &free_b, &total_b);
    if (ret != ACL_SUCCESS) {
        return npool__fail_acl(ret, "aclrtGetMemInfo");
    }
    bool pages_1g = large && device->config->page_1g;
    size_t unit_b = !large ? NPOOL_SMALL_BUFFER_B : pages_1g ? NPOOL_GIB : device->config->large_segment_size_b;
    /* An eighth more than the device has, so that address space fragmentation cannot fail a request. */
    size_t units = (total_b / 8 * 9 + unit_b - 1) / unit_b;
    void *base = NULL;
    ret = aclrtReserveMemAddress(&base, units * unit_b, 0, NULL, 1);
    if (ret != ACL_SUCCESS) {
        return npool__fail_acl(ret, "aclrtReserveMemAddress of %zu bytes", units * unit_b);
    }
    struct cached_segment *segment = new_segment(device, base, units * unit_b);
    aclrtDrvMemHandle *handles = calloc(units, sizeof(*handles));
    if (segment == NULL || handles == NULL) {
        free(segment);
        free(handles);
        (void)aclrtReleaseMemAddress(base);
        return npool__fail(ACL_ERROR_BAD_ALLOC, "no host memory for an expandable segment");
    }
    segment->handles = handles;
    segment->unit_b = unit_b;
    segment->pages_1g = pages_1g;
    publish(device, segment);
    *out = segment;
    return ACL_SUCCESS;
}

static void free_units(struct cached_segment *segment, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++) {
        (void)aclrtFreePhysical(segment->handles[i]);
        segment->handles[i] = NULL;
    }
}

static void unmap_units(struct cached_segment *segment, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++) {
        (void)aclrtUnmapMem(segment->base + i * segment->unit_b);
    }
}

aclError npool__segment_map(struct npool_device *device, struct cached_segment *segment, char *at, size_t size_b)
{
    size_t begin = (size_t)(at - segment->base) / segment->unit_b;
    size_t end = begin + size_b / segment->unit_b;
    if (device->stats.reserved_bytes.current + size_b > device->limit_b) {
        return npool__fail(ACL_ERROR_RT_MEMORY_ALLOCATION, "the memory fraction of this process is exhausted");
    }
    const aclrtPhysicalMemProp prop = {
        .handleType = ACL_MEM_HANDLE_TYPE_NONE,
        .allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED,
        .memAttr = segment->pages_1g ? ACL_HBM_MEM_HUGE1G : ACL_HBM_MEM_HUGE,
        .location = {.id = (uint32_t)segment->device, .type = ACL_MEM_LOCATION_TYPE_DEVICE},
    };
    for (size_t i = begin; i < end; i++) {
        aclError ret = aclrtMallocPhysical(&segment->handles[i], segment->unit_b, &prop, 0);
        if (ret != ACL_SUCCESS) {
            segment->handles[i] = NULL;
            free_units(segment, begin, i);
            return npool__fail_acl(ret, "aclrtMallocPhysical of %zu bytes", segment->unit_b);
        }
    }
    for (size_t i = begin; i < end; i++) {
        aclError ret = aclrtMapMem(segment->base + i * segment->unit_b, segment->unit_b, 0, segment->handles[i], 0);
        if (ret != ACL_SUCCESS) {
            unmap_units(segment, begin, i);
            free_units(segment, begin, end);
            return npool__fail_acl(ret, "aclrtMapMem of %zu bytes", segment->unit_b);
        }
    }
    account_mapped(device, segment, size_b);
    return ACL_SUCCESS;
}

void npool__segment_unmap(struct npool_device *device, struct cached_segment *segment, char *at, size_t size_b)
{
    size_t begin = (size_t)(at - segment->base) / segment->unit_b;
    size_t end = begin + size_b / segment->unit_b;
    /* Queued work may still use the range, because the program frees in stream order. */
    (void)aclrtSynchronizeDevice();
    unmap_units(segment, begin, end);
    free_units(segment, begin, end);
    account_unmapped(device, segment, size_b);
}

void npool__segment_close(struct npool_device *device, struct cached_segment *segment)
{
    npool__tree_remove(&device->segments, &segment->by_address);
    npool__stat_sub(&device->stats.segments, 1);
    if (segment->handles != NULL) {
        for (size_t i = 0; i < segment->reserved_b / segment->unit_b; i++) {
            if (segment->handles[i] != NULL) {
                unmap_units(segment, i, i + 1);
                free_units(segment, i, i + 1);
                account_unmapped(device, segment, segment->unit_b);
            }
        }
        (void)aclrtReleaseMemAddress(segment->base);
        free(segment->handles);
    } else {
        if (segment->reserved_b >= device->config->max_split_size_b) {
            npool__stat_sub(&device->stats.oversize_segments, 1);
        }
        account_unmapped(device, segment, segment->mapped_b);
        (void)aclrtFree(segment->base);
    }
    free(segment);
}
