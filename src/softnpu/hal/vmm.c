/* SPDX-License-Identifier: Apache-2.0 */
/* Physical handles, reserved addresses, and the mapping of one into the other.
 *
 * A handle is a block of its arena that is never handed out as an address: mapping it maps the same range of the
 * arena's memory file at the reserved address. (One file per handle would be simpler, but a pool that grows in steps
 * of 2 MiB would run out of descriptors.) Capacity is charged when the handle is created. Its memory is freed when
 * the last reference and the last mapping are gone; a handle counts its owner's references (create, retain, import)
 * apart from the mappings, so that one release too many is refused.
 *
 * Access is recorded per location for halMemGetAccess; since the kernels of all devices run in this process, the
 * page protection is that of the most privileged location. A new mapping is readable and writable for its own
 * device.
 *
 * Locks: `lock` guards all objects here; the locks of spans.c and share.c are taken inside it. */
#include "softnpu/hal/share.h"
#include "softnpu/hal/spans.h"

#include "base/macros.h"
#include "base/slab.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_HANDLES      (1u << 20)
#define MAX_RESERVATIONS (1u << 16)
#define LARGE_RESERVE_B  ((uint64_t)512 << 20) /* larger reservations begin on a multiple of 1 GiB */

#define EXPORT_TO_ALL    1 /* flag: process ids are not checked */
#define SHARE_MAGIC      "snpushr1"

struct drv_mem_handle {
    uint32_t refs; /* create, retain, import */
    uint32_t maps;
    struct snpu_block *block; /* NULL: imported */
    struct snpu_import import;
    uint64_t size_b;
    struct drv_mem_prop prop;
};

struct vmm_mapping {
    struct snpu_span span; /* must be first */
    struct drv_mem_handle *handle;
    uint64_t readers, writers; /* bit per device */
    uint8_t host_access;       /* drv_mem_access_type */
};

struct reservation {
    struct snpu_span span; /* must be first */
    uint32_t mappings;
};

/* The beginning of the 128 bytes that a caller passes to another process. */
struct share_info {
    char magic[8];
    uint64_t token;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ms_slab handles = MS_SLAB_INIT(struct drv_mem_handle, MAX_HANDLES);
static struct ms_slab mappings = MS_SLAB_INIT(struct vmm_mapping, MAX_HANDLES);
static struct ms_slab reservations = MS_SLAB_INIT(struct reservation, MAX_RESERVATIONS);

void snpu__vmm_forget(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    handles = (struct ms_slab)MS_SLAB_INIT(struct drv_mem_handle, MAX_HANDLES);
    mappings = (struct ms_slab)MS_SLAB_INIT(struct vmm_mapping, MAX_HANDLES);
    reservations = (struct ms_slab)MS_SLAB_INIT(struct reservation, MAX_RESERVATIONS);
}

static bool on_host(const struct drv_mem_prop *prop)
{
    return prop->side != MEM_DEV_SIDE;
}

static uint32_t place_of(const struct drv_mem_prop *prop)
{
    return on_host(prop) ? SNPU_ARENA_HOST : prop->devid;
}

static drvError_t check_prop(const struct drv_mem_prop *prop)
{
    if (prop == NULL || prop->side >= MEM_MAX_SIDE || prop->pg_type >= MEM_MAX_PAGE_TYPE ||
        prop->mem_type >= MEM_MAX_TYPE) {
        return DRV_ERROR_INVALID_VALUE;
    }
    if (on_host(prop)) {
        return prop->pg_type == MEM_GIANT_PAGE_TYPE ? DRV_ERROR_NOT_SUPPORT : DRV_ERROR_NONE;
    }
    return snpu__device_exists(prop->devid) ? DRV_ERROR_NONE : DRV_ERROR_INVALID_DEVICE;
}

static uint64_t granularity(const struct drv_mem_prop *prop, drv_mem_granularity_options option)
{
    if (prop->pg_type == MEM_GIANT_PAGE_TYPE) {
        return SNPU_GIANT_B;
    }
    bool small = on_host(prop) && prop->pg_type == MEM_NORMAL_PAGE_TYPE && prop->module_id == SNPU_MODULE_RUNTIME &&
                 option == MEM_ALLOC_GRANULARITY_MINIMUM;
    return small ? (uint64_t)sysconf(_SC_PAGESIZE) : SNPU_HUGE_B;
}

drvError_t halMemGetAllocationGranularity(const struct drv_mem_prop *prop, drv_mem_granularity_options option,
                                          size_t *out)
{
    drvError_t rc = check_prop(prop);
    if (out == NULL || (unsigned)option >= MEM_ALLOC_GRANULARITY_INVALID) {
        return DRV_ERROR_INVALID_VALUE;
    }
    if (rc == DRV_ERROR_NONE) {
        *out = granularity(prop, option);
    }
    return rc;
}

/* ---- handles ---- */

/* Lock held. NULL unless this is a handle to which its owner still has a reference. */
static drv_mem_handle_t *owned(drv_mem_handle_t *handle)
{
    return ms_slab_check(&handles, handle) && handle->refs > 0 ? handle : NULL;
}

drvError_t halMemCreateInner(drv_mem_handle_t **handle, size_t size, const struct drv_mem_prop *prop, uint64_t flag)
{
    drvError_t rc = check_prop(prop);
    if (handle == NULL || size == 0 || flag != 0) {
        return DRV_ERROR_INVALID_VALUE;
    }
    if (rc != DRV_ERROR_NONE) {
        return rc;
    }
    if (size % granularity(prop, MEM_ALLOC_GRANULARITY_MINIMUM) != 0) {
        return DRV_ERROR_INVALID_VALUE;
    }
    uint32_t place = place_of(prop);
    enum snpu_page page = (enum snpu_page)prop->pg_type;
    uint32_t module_id = prop->module_id != 0 ? prop->module_id : SNPU_MODULE_ASCENDCL;
    if (snpu__fault_oom(place, size) || size > SNPU_HAL_SIZE_MAX) {
        return DRV_ERROR_OUT_OF_MEMORY;
    }
    rc = snpu__charge(place, page, size, module_id);
    if (rc != DRV_ERROR_NONE) {
        return rc;
    }
    struct snpu_arena *arena = snpu_arena_get(place);
    struct snpu_block *block = arena != NULL ? snpu_arena_take(arena, page, size, 1) : NULL;
    if (block == NULL) {
        snpu__uncharge(place, page, size, module_id);
        return DRV_ERROR_OUT_OF_MEMORY;
    }
    block->kind = SNPU_RANGE_NONE;
    block->place = (uint8_t)place;
    block->dvpp = 0;
    block->module_id = module_id;
    pthread_mutex_lock(&lock);
    drv_mem_handle_t *h = ms_slab_alloc(&handles);
    if (h != NULL) {
        h->block = block;
        h->size_b = size;
        h->prop = *prop;
        h->refs = 1;
    }
    pthread_mutex_unlock(&lock);
    if (h == NULL) {
        snpu__block_end(block);
        return DRV_ERROR_NO_RESOURCES;
    }
    *handle = h;
    return DRV_ERROR_NONE;
}

/* Lock held. */
static void drop_if_unused(drv_mem_handle_t *h)
{
    if (h->refs > 0 || h->maps > 0) {
        return;
    }
    if (h->block != NULL) {
        snpu__block_end(h->block);
    } else {
        snpu__import_end(&h->import);
    }
    ms_slab_free(&handles, h);
}

drvError_t halMemReleaseInner(drv_mem_handle_t *handle)
{
    drvError_t rc = DRV_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    if (owned(handle) != NULL) {
        handle->refs--;
        drop_if_unused(handle);
        rc = DRV_ERROR_NONE;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

drvError_t halMemCreate(drv_mem_handle_t **handle, size_t size, const struct drv_mem_prop *prop, uint64_t flag)
    __attribute__((alias("halMemCreateInner")));
drvError_t halMemRelease(drv_mem_handle_t *handle) __attribute__((alias("halMemReleaseInner")));

drvError_t halMemGetAllocationPropertiesFromHandle(struct drv_mem_prop *prop, drv_mem_handle_t *handle)
{
    drvError_t rc = DRV_ERROR_INVALID_VALUE;
    if (prop == NULL) {
        return rc;
    }
    pthread_mutex_lock(&lock);
    if (owned(handle) != NULL) {
        *prop = handle->prop;
        rc = DRV_ERROR_NONE;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

/* ---- addresses ---- */

/* Replaces what is at [base, base + size_b) with a mapping of the file, or with nothing (fd < 0). */
static bool place_at(uintptr_t base, uint64_t size_b, int fd, uint64_t offset_b)
{
    void *p =
        fd >= 0 ? mmap((void *)base, size_b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd,
                       (off_t)offset_b)
                : mmap((void *)base, size_b, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (p == MAP_FAILED) {
        return false;
    }
    madvise(p, size_b, MADV_DONTFORK);
    madvise(p, size_b, MADV_DONTDUMP);
    return true;
}

static void *reserve_at(void *hint, uint64_t size_b)
{
    void *p = mmap(hint, size_b, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (p != MAP_FAILED && p != hint) {
        munmap(p, size_b); /* kernels before 4.17 treat the flag as a hint */
        p = MAP_FAILED;
    }
    return p != MAP_FAILED ? p : NULL;
}

static void *reserve_anywhere(uint64_t size_b, uint64_t align_b)
{
    char *p = mmap(NULL, size_b + align_b, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        return NULL;
    }
    uintptr_t base = MS_ROUND_UP((uintptr_t)p, align_b);
    uint64_t before_b = base - (uintptr_t)p;
    if (before_b > 0) {
        munmap(p, before_b);
    }
    if (align_b > before_b) {
        munmap((void *)(base + size_b), align_b - before_b);
    }
    return (void *)base;
}

drvError_t halMemAddressReserve(void **ptr, size_t size, size_t alignment, void *addr, uint64_t flag)
{
    if (ptr == NULL || size == 0 || size > SNPU_HAL_SIZE_MAX || (alignment & (alignment - 1)) != 0 ||
        alignment > SNPU_HAL_SIZE_MAX || flag > 1) {
        return DRV_ERROR_INVALID_VALUE;
    }
    uint64_t align_b = size > LARGE_RESERVE_B ? SNPU_GIANT_B : SNPU_HUGE_B;
    align_b = alignment > align_b ? alignment : align_b;
    uint64_t size_b = MS_ROUND_UP(size, SNPU_HUGE_B);
    void *base = addr != NULL && (uintptr_t)addr % align_b == 0 ? reserve_at(addr, size_b) : NULL;
    if (base == NULL) {
        base = reserve_anywhere(size_b, align_b);
    }
    struct reservation *r = base != NULL ? ms_slab_alloc(&reservations) : NULL;
    if (r == NULL) {
        if (base != NULL) {
            munmap(base, size_b);
        }
        return DRV_ERROR_OUT_OF_MEMORY;
    }
    madvise(base, size_b, MADV_DONTFORK);
    r->span.kind = SNPU_RANGE_RESERVED;
    r->span.range.base = (uintptr_t)base;
    r->span.range.size_b = size_b;
    r->span.page_b = SNPU_HUGE_B;
    snpu__spans_lock();
    snpu__span_add(&r->span);
    snpu__spans_unlock();
    *ptr = base;
    return DRV_ERROR_NONE;
}

drvError_t halMemAddressFree(void *ptr)
{
    drvError_t rc = DRV_ERROR_NONE;
    pthread_mutex_lock(&lock);
    snpu__spans_lock();
    struct reservation *r = (struct reservation *)snpu__reservation_find((uintptr_t)ptr);
    if (r == NULL || r->span.range.base != (uintptr_t)ptr) {
        rc = DRV_ERROR_INVALID_VALUE;
    } else if (r->mappings > 0) {
        rc = DRV_ERROR_BUSY;
    } else {
        snpu__span_remove(&r->span);
    }
    snpu__spans_unlock();
    if (rc == DRV_ERROR_NONE) {
        munmap(ptr, r->span.range.size_b);
        ms_slab_free(&reservations, r);
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

/* ---- mappings ---- */

/* The mapping that contains addr, NULL if none. Lock held, so it stays. */
static struct vmm_mapping *mapping_at(uintptr_t addr)
{
    snpu__spans_lock();
    struct snpu_span *span = snpu__span_find(addr);
    snpu__spans_unlock();
    return span != NULL && span->kind == SNPU_RANGE_MAPPED ? (struct vmm_mapping *)span : NULL;
}

/* Lock held. The reservation that contains the whole range, provided nothing is mapped in that range. */
static struct reservation *free_range_at(uintptr_t base, uint64_t size_b)
{
    snpu__spans_lock();
    struct snpu_span *span = snpu__reservation_find(base);
    bool ok =
        span != NULL && size_b <= span->range.size_b - (base - span->range.base) && !snpu__span_overlap(base, size_b);
    snpu__spans_unlock();
    return ok ? (struct reservation *)span : NULL;
}

static int file_of(const drv_mem_handle_t *h, uint64_t *offset_b)
{
    if (h->block == NULL) {
        *offset_b = h->import.share.offset_b;
        return snpu__import_fd(&h->import);
    }
    struct snpu_arena *arena = snpu_arena_get(h->block->place);
    *offset_b = snpu_arena_offset(arena, h->block->range.base);
    return snpu_arena_fd(arena);
}

static drvError_t map_locked(uintptr_t base, uint64_t size_b, uint64_t offset_b, drv_mem_handle_t *handle)
{
    if (owned(handle) == NULL) {
        return DRV_ERROR_INVALID_VALUE;
    }
    uint64_t unit_b = granularity(&handle->prop, MEM_ALLOC_GRANULARITY_MINIMUM);
    if (base % unit_b != 0 || size_b % unit_b != 0 || offset_b % unit_b != 0 || size_b > handle->size_b ||
        offset_b > handle->size_b - size_b) {
        return DRV_ERROR_INVALID_VALUE;
    }
    struct reservation *r = free_range_at(base, size_b);
    if (r == NULL) {
        return DRV_ERROR_INVALID_VALUE;
    }
    struct vmm_mapping *map = ms_slab_alloc(&mappings);
    uint64_t file_offset_b;
    int fd = file_of(handle, &file_offset_b);
    if (map == NULL || !place_at(base, size_b, fd, file_offset_b + offset_b)) {
        if (map != NULL) {
            ms_slab_free(&mappings, map);
        }
        return DRV_ERROR_NO_RESOURCES;
    }
    map->handle = handle;
    if (on_host(&handle->prop)) {
        map->host_access = MEM_ACCESS_TYPE_READWRITE;
    } else {
        map->readers = map->writers = (uint64_t)1 << handle->prop.devid;
    }
    map->span.kind = SNPU_RANGE_MAPPED;
    map->span.dev = on_host(&handle->prop) ? 0 : handle->prop.devid;
    map->span.host_side = on_host(&handle->prop);
    map->span.page_b = (uint32_t)snpu_page_size((enum snpu_page)handle->prop.pg_type);
    map->span.readable = map->span.writable = true;
    map->span.range.base = base;
    map->span.range.size_b = size_b;
    snpu__spans_lock();
    snpu__span_add(&map->span);
    snpu__spans_unlock();
    r->mappings++;
    handle->maps++;
    return DRV_ERROR_NONE;
}

drvError_t halMemMap(void *ptr, size_t size, size_t offset, drv_mem_handle_t *handle, uint64_t flag)
{
    if (ptr == NULL || size == 0 || flag != 0) {
        return DRV_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&lock);
    drvError_t rc = map_locked((uintptr_t)ptr, size, offset, handle);
    pthread_mutex_unlock(&lock);
    return rc;
}

/* Lock held. */
static void unmap_locked(struct vmm_mapping *map)
{
    uintptr_t base = map->span.range.base;
    snpu__spans_lock();
    snpu__span_remove(&map->span);
    struct reservation *r = (struct reservation *)snpu__reservation_find(base);
    snpu__spans_unlock();
    if (!place_at(base, map->span.range.size_b, -1, 0)) {
        mprotect((void *)base, map->span.range.size_b, PROT_NONE);
    }
    r->mappings--;
    map->handle->maps--;
    drop_if_unused(map->handle);
    ms_slab_free(&mappings, map);
}

drvError_t halMemUnmap(void *ptr)
{
    drvError_t rc = DRV_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    struct vmm_mapping *map = mapping_at((uintptr_t)ptr);
    if (map != NULL && map->span.range.base == (uintptr_t)ptr) {
        unmap_locked(map);
        rc = DRV_ERROR_NONE;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

drvError_t halMemRetainAllocationHandle(drv_mem_handle_t **handle, void *ptr)
{
    drvError_t rc = DRV_ERROR_INVALID_VALUE;
    if (handle == NULL) {
        return rc;
    }
    pthread_mutex_lock(&lock);
    struct vmm_mapping *map = mapping_at((uintptr_t)ptr);
    if (map != NULL) {
        map->handle->refs++;
        *handle = map->handle;
        rc = DRV_ERROR_NONE;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

void snpu__vmm_release_device(uint32_t dev)
{
    pthread_mutex_lock(&lock);
    for (uint32_t i = 0; i < mappings.used_slots; i++) {
        struct vmm_mapping *map = ms_slab_at(&mappings, i);
        if (map != NULL && !map->span.host_side && map->span.dev == dev) {
            unmap_locked(map);
        }
    }
    for (uint32_t i = 0; i < handles.used_slots; i++) {
        drv_mem_handle_t *h = ms_slab_at(&handles, i);
        if (h != NULL && h->refs > 0 && place_of(&h->prop) == dev) {
            h->refs = 0;
            drop_if_unused(h);
        }
    }
    pthread_mutex_unlock(&lock);
}

/* ---- access ---- */

static drvError_t check_location(const struct drv_mem_location *location)
{
    if ((unsigned)location->side >= MEM_MAX_SIDE) {
        return DRV_ERROR_INVALID_VALUE;
    }
    return location->side != MEM_DEV_SIDE || snpu__device_exists(location->id) ? DRV_ERROR_NONE
                                                                               : DRV_ERROR_INVALID_DEVICE;
}

static void set_access(struct vmm_mapping *map, const struct drv_mem_access_desc *desc)
{
    if (desc->location.side != MEM_DEV_SIDE) {
        map->host_access = (uint8_t)desc->type;
        return;
    }
    uint64_t bit = (uint64_t)1 << desc->location.id;
    map->readers = desc->type != MEM_ACCESS_TYPE_NONE ? map->readers | bit : map->readers & ~bit;
    map->writers = desc->type == MEM_ACCESS_TYPE_READWRITE ? map->writers | bit : map->writers & ~bit;
}

static void protect(struct vmm_mapping *map)
{
    bool readable = map->readers != 0 || map->host_access != MEM_ACCESS_TYPE_NONE;
    bool writable = map->writers != 0 || map->host_access == MEM_ACCESS_TYPE_READWRITE;
    snpu__spans_lock();
    map->span.readable = readable;
    map->span.writable = writable;
    snpu__spans_unlock();
    mprotect((void *)map->span.range.base, map->span.range.size_b,
             writable   ? PROT_READ | PROT_WRITE
             : readable ? PROT_READ
                        : PROT_NONE);
}

/* Lock held. The range must consist of whole mappings. */
static bool covers_mappings(uintptr_t base, uint64_t size_b)
{
    for (uintptr_t at = base, end = base + size_b; at < end;) {
        const struct vmm_mapping *map = mapping_at(at);
        if (map == NULL || map->span.range.base != at || map->span.range.size_b > end - at) {
            return false;
        }
        at += map->span.range.size_b;
    }
    return true;
}

drvError_t halMemSetAccess(void *ptr, size_t size, struct drv_mem_access_desc *desc, size_t count)
{
    uintptr_t base = (uintptr_t)ptr;
    if (ptr == NULL || size == 0 || base + size < base || desc == NULL || count == 0) {
        return DRV_ERROR_INVALID_VALUE;
    }
    for (size_t i = 0; i < count; i++) {
        drvError_t rc = check_location(&desc[i].location);
        if (rc != DRV_ERROR_NONE) {
            return rc;
        }
        if (desc[i].type != MEM_ACCESS_TYPE_NONE && desc[i].type != MEM_ACCESS_TYPE_READ &&
            desc[i].type != MEM_ACCESS_TYPE_READWRITE) {
            return DRV_ERROR_INVALID_VALUE;
        }
    }
    pthread_mutex_lock(&lock);
    bool ok = covers_mappings(base, size);
    for (uintptr_t at = base; ok && at < base + size;) {
        struct vmm_mapping *map = mapping_at(at);
        for (size_t i = 0; i < count; i++) {
            set_access(map, &desc[i]);
        }
        protect(map);
        at += map->span.range.size_b;
    }
    pthread_mutex_unlock(&lock);
    return ok ? DRV_ERROR_NONE : DRV_ERROR_INVALID_VALUE;
}

drvError_t halMemGetAccess(void *ptr, struct drv_mem_location *location, uint64_t *flags)
{
    if (location == NULL || flags == NULL) {
        return DRV_ERROR_INVALID_VALUE;
    }
    drvError_t rc = check_location(location);
    if (rc != DRV_ERROR_NONE) {
        return rc;
    }
    pthread_mutex_lock(&lock);
    const struct vmm_mapping *map = mapping_at((uintptr_t)ptr);
    if (map == NULL) {
        rc = DRV_ERROR_INVALID_VALUE;
    } else if (location->side != MEM_DEV_SIDE) {
        *flags = map->host_access;
    } else {
        uint64_t bit = (uint64_t)1 << location->id;
        *flags = (map->writers & bit) != 0   ? MEM_ACCESS_TYPE_READWRITE
                 : (map->readers & bit) != 0 ? MEM_ACCESS_TYPE_READ
                                             : MEM_ACCESS_TYPE_NONE;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

/* ---- sharing ---- */

static bool shareable_type(drv_mem_handle_type type)
{
    return type == MEM_HANDLE_TYPE_NONE || type == MEM_HANDLE_TYPE_FABRIC;
}

drvError_t halMemExportToShareableHandle(drv_mem_handle_t *handle, drv_mem_handle_type handle_type, uint64_t flags,
                                         uint64_t *shareable_handle)
{
    if (shareable_handle == NULL || (flags & ~(uint64_t)EXPORT_TO_ALL) != 0 ||
        (unsigned)handle_type >= MEM_HANDLE_TYPE_MAX) {
        return DRV_ERROR_INVALID_VALUE;
    }
    if (!shareable_type(handle_type)) {
        return DRV_ERROR_NOT_SUPPORT;
    }
    drvError_t rc = DRV_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    if (owned(handle) != NULL && handle->block != NULL) {
        const struct drv_mem_prop *prop = &handle->prop;
        struct snpu_share_desc share = {
            .kind = SNPU_SHARE_HANDLE,
            .dev = on_host(prop) ? 0 : prop->devid, /* a NUMA node is meaningless to other processes */
            .side = prop->side,
            .module_id = prop->module_id,
            .mem_type = prop->mem_type,
            .open_to_all = (flags & EXPORT_TO_ALL) != 0,
        };
        rc = snpu__export(handle->block, handle->block->range.base, handle->size_b, &share, shareable_handle);
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

drvError_t halMemImportFromShareableHandle(uint64_t shareable_handle, uint32_t devid, drv_mem_handle_t **handle)
{
    struct snpu_import import;
    if (handle == NULL) {
        return DRV_ERROR_INVALID_VALUE;
    }
    if (!snpu__device_exists(devid)) {
        return DRV_ERROR_INVALID_DEVICE;
    }
    drvError_t rc = snpu__import(shareable_handle, SNPU_SHARE_HANDLE, &import);
    if (rc != DRV_ERROR_NONE) {
        return rc;
    }
    pthread_mutex_lock(&lock);
    drv_mem_handle_t *h = ms_slab_alloc(&handles);
    if (h != NULL) {
        h->import = import;
        h->size_b = import.share.size_b;
        h->prop = (struct drv_mem_prop){.side = import.share.side,
                                        .devid = import.share.dev,
                                        .module_id = import.share.module_id,
                                        .pg_type = import.share.page,
                                        .mem_type = import.share.mem_type};
        h->refs = 1;
    }
    pthread_mutex_unlock(&lock);
    if (h == NULL) {
        snpu__import_end(&import);
        return DRV_ERROR_NO_RESOURCES;
    }
    *handle = h;
    return DRV_ERROR_NONE;
}

drvError_t halMemExportToShareableHandleV2(drv_mem_handle_t *handle, drv_mem_handle_type handle_type, uint64_t flags,
                                           struct MemShareHandle *share_handle)
{
    struct share_info info = {.magic = SHARE_MAGIC};
    if (share_handle == NULL) {
        return DRV_ERROR_INVALID_VALUE;
    }
    drvError_t rc = halMemExportToShareableHandle(handle, handle_type, flags, &info.token);
    if (rc == DRV_ERROR_NONE) {
        memset(share_handle, 0, sizeof(*share_handle));
        memcpy(share_handle, &info, sizeof(info));
    }
    return rc;
}

drvError_t halMemTransShareableHandle(drv_mem_handle_type handle_type, struct MemShareHandle *share_handle,
                                      uint32_t *server_id, uint64_t *shareable_handle)
{
    static const char magic[] = SHARE_MAGIC;
    struct share_info info;
    if (share_handle == NULL || shareable_handle == NULL || !shareable_type(handle_type)) {
        return DRV_ERROR_INVALID_VALUE;
    }
    memcpy(&info, share_handle, sizeof(info));
    if (memcmp(info.magic, magic, sizeof(info.magic)) != 0) {
        return DRV_ERROR_INVALID_VALUE;
    }
    if (server_id != NULL) {
        *server_id = 0;
    }
    *shareable_handle = info.token;
    return DRV_ERROR_NONE;
}

drvError_t halMemImportFromShareableHandleV2(drv_mem_handle_type handle_type, struct MemShareHandle *share_handle,
                                             uint32_t devid, drv_mem_handle_t **handle)
{
    uint64_t token;
    drvError_t rc = halMemTransShareableHandle(handle_type, share_handle, NULL, &token);
    return rc == DRV_ERROR_NONE ? halMemImportFromShareableHandle(token, devid, handle) : rc;
}

drvError_t halMemSetPidToShareableHandle(uint64_t shareable_handle, int pid[], uint32_t pid_num)
{
    if (pid == NULL || pid_num == 0) {
        return DRV_ERROR_INVALID_VALUE;
    }
    return snpu__share_error(snpu_share_admit(snpu__machine(), shareable_handle, pid, pid_num));
}
