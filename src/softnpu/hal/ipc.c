/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory shared by name (halShmem*). The exporter names an allocation or a part of one; another process opens
 * the name and gets its own address for the same pages. A name is the share's token as text.
 *
 * Locks: `lock` guards the imports; the locks of share.c and spans.c are taken inside it. */
#include "softnpu/hal/share.h"
#include "softnpu/hal/spans.h"

#include "base/slab.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MAX_IMPORTS 65536
#define NAME_FORMAT "softnpu-ipc-%016" PRIx64

struct ipc_import {
    struct snpu_span span; /* must be first; begins at the address that the caller got */
    struct snpu_import import;
    void *mapped; /* whole pages */
    uint64_t mapped_b;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct ms_slab imports = MS_SLAB_INIT(struct ipc_import, MAX_IMPORTS);

void snpu__ipc_forget(void)
{
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    imports = (struct ms_slab)MS_SLAB_INIT(struct ipc_import, MAX_IMPORTS);
}

/* 0 is not a valid token. */
static uint64_t token_of(const char *name)
{
    uint64_t token;
    char canonical[SNPU_SHARE_NAME];
    if (name == NULL || strnlen(name, SNPU_SHARE_NAME) == SNPU_SHARE_NAME ||
        sscanf(name, "softnpu-ipc-%" SCNx64, &token) != 1) {
        return 0;
    }
    snprintf(canonical, sizeof(canonical), NAME_FORMAT, token);
    return strcmp(canonical, name) == 0 ? token : 0;
}

DVresult halShmemCreateHandle(DVdeviceptr vptr, size_t byte_count, char *name, uint32_t name_len)
{
    struct snpu_range range;
    if (name == NULL || name_len < SNPU_SHARE_NAME || byte_count == 0 ||
        !snpu_hal_lookup((const void *)(uintptr_t)vptr, &range) ||
        byte_count > range.size_b - ((uintptr_t)vptr - range.base)) {
        return DRV_ERROR_INVALID_VALUE;
    }
    struct snpu_arena *arena = snpu_arena_of(range.base);
    struct snpu_block *block = arena != NULL ? snpu_zone_start(snpu_arena_zone(arena, range.base), range.base) : NULL;
    if (block == NULL) {
        return DRV_ERROR_NOT_SUPPORT; /* mapped, imported and registered memory cannot be named */
    }
    uint64_t token;
    struct snpu_share_desc share = {
        .kind = SNPU_SHARE_IPC,
        .dev = range.dev,
        .side = range.host_side ? MEM_HOST_SIDE : MEM_DEV_SIDE,
        .module_id = block->module_id,
    };
    drvError_t rc = snpu__export(block, (uintptr_t)vptr, byte_count, &share, &token);
    if (rc == DRV_ERROR_NONE) {
        memset(name, 0, name_len);
        snprintf(name, name_len, NAME_FORMAT, token);
    }
    return rc;
}

DVresult halShmemDestroyHandle(const char *name)
{
    uint64_t token = token_of(name);
    return token != 0 ? snpu__unexport(token) : DRV_ERROR_INVALID_VALUE;
}

DVresult halShmemSetPidHandle(const char *name, int pid[], int num)
{
    uint64_t token = token_of(name);
    if (token == 0 || pid == NULL || num <= 0) {
        return DRV_ERROR_INVALID_VALUE;
    }
    return snpu__share_error(snpu_share_admit(snpu__machine(), token, pid, (size_t)num));
}

int snpu_hal_shmem_open_to_all(const char *name)
{
    uint64_t token = token_of(name);
    if (token == 0) {
        return DRV_ERROR_INVALID_VALUE;
    }
    return snpu__share_error(snpu_share_open_to_all(snpu__machine(), token));
}

static bool map_import(struct ipc_import *i)
{
    const struct snpu_share_desc *share = &i->import.share;
    uint64_t page_b = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t first_b = share->offset_b / page_b * page_b;
    i->mapped_b = share->offset_b + share->size_b - first_b;
    i->mapped = mmap(NULL, i->mapped_b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, snpu__import_fd(&i->import),
                     (off_t)first_b);
    if (i->mapped == MAP_FAILED) {
        return false;
    }
    madvise(i->mapped, i->mapped_b, MADV_DONTFORK);
    i->span.kind = SNPU_RANGE_IMPORTED;
    i->span.dev = share->dev;
    i->span.host_side = share->side != MEM_DEV_SIDE;
    i->span.readable = i->span.writable = true;
    i->span.page_b = (uint32_t)snpu_page_size((enum snpu_page)share->page);
    i->span.range.base = (uintptr_t)i->mapped + (share->offset_b - first_b);
    i->span.range.size_b = share->size_b;
    return true;
}

DVresult halShmemOpenHandle(const char *name, DVdeviceptr *vptr)
{
    uint64_t token = token_of(name);
    struct snpu_import import;
    if (token == 0 || vptr == NULL) {
        return DRV_ERROR_INVALID_VALUE;
    }
    drvError_t rc = snpu__import(token, SNPU_SHARE_IPC, &import);
    if (rc != DRV_ERROR_NONE) {
        return rc;
    }
    pthread_mutex_lock(&lock);
    struct ipc_import *i = ms_slab_alloc(&imports);
    if (i != NULL) {
        i->import = import;
        if (!map_import(i)) {
            ms_slab_free(&imports, i);
            i = NULL;
        }
    }
    if (i != NULL) {
        snpu__spans_lock();
        snpu__span_add(&i->span);
        snpu__spans_unlock();
        *vptr = i->span.range.base;
    } else {
        snpu__import_end(&import);
        rc = DRV_ERROR_NO_RESOURCES;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

DVresult halShmemOpenHandleByDevId(DVdevice dev_id, const char *name, DVdeviceptr *vptr)
{
    return snpu__device_exists(dev_id) ? halShmemOpenHandle(name, vptr) : DRV_ERROR_INVALID_DEVICE;
}

/* Lock held. */
static void close_import(struct ipc_import *i)
{
    snpu__spans_lock();
    snpu__span_remove(&i->span);
    snpu__spans_unlock();
    munmap(i->mapped, i->mapped_b);
    snpu__import_end(&i->import);
    ms_slab_free(&imports, i);
}

DVresult halShmemCloseHandle(DVdeviceptr vptr)
{
    drvError_t rc = DRV_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    snpu__spans_lock();
    struct snpu_span *span = snpu__span_find((uintptr_t)vptr);
    snpu__spans_unlock();
    if (span != NULL && span->kind == SNPU_RANGE_IMPORTED && span->range.base == (uintptr_t)vptr) {
        close_import((struct ipc_import *)span);
        rc = DRV_ERROR_NONE;
    }
    pthread_mutex_unlock(&lock);
    return rc;
}

void snpu__ipc_release_device(uint32_t dev)
{
    pthread_mutex_lock(&lock);
    for (uint32_t n = 0; n < imports.used_slots; n++) {
        struct ipc_import *i = ms_slab_at(&imports, n);
        if (i != NULL && !i->span.host_side && i->span.dev == dev) {
            close_import(i);
        }
    }
    pthread_mutex_unlock(&lock);
}
