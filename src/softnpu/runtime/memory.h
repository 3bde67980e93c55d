/* SPDX-License-Identifier: Apache-2.0 */
/* Memory below the rt functions: what the runtime's own files and libascendcl_impl.so need beyond rtMalloc and related
 * calls. Every function returns 0, or an ACL code with a message (see error.h). */
#ifndef SOFTNPU_RUNTIME_MEMORY_H
#define SOFTNPU_RUNTIME_MEMORY_H

#include "base/macros.h"
#include "softnpu/hal/hal_ext.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Memory owner of application memory, as the driver counts it; see also hal/machine.h. */
enum { SNPU_MODULE_APP = 33 };

/* Device memory ends with the device's last context. Code that keeps such memory stores its generation, and forgets the
 * memory when the device's generation has changed. */
uint32_t snpu__mem_generation(uint32_t dev);
void snpu__mem_device_closed(uint32_t dev);

/* ---- allocation ---- */
enum snpu_pages {
    SNPU_PAGES_HUGE_FIRST, /* above 1 MiB huge pages, normal pages if none are left */
    SNPU_PAGES_HUGE,
    SNPU_PAGES_NORMAL,
    SNPU_PAGES_GIANT,
};

struct snpu_alloc {
    uint64_t size_b;
    enum snpu_pages pages;
    uint32_t dev; /* driver id */
    uint16_t module;
    bool p2p, read_only, task_scheduler;
};

/* Every device allocation ends up here. */
int32_t snpu__mem_alloc(const struct snpu_alloc *request, void **out);

/* Managed memory: one pointer for host and devices. */
MS_EXPORT int32_t snpu_mem_alloc_managed(void **out, uint64_t size_b);

/* ---- pointers ---- */
enum snpu_access { SNPU_READ, SNPU_WRITE };
/* 0 if this process can access all bytes that way; otherwise 107000 and a message that calls the range `what`. */
int32_t snpu__mem_check(const char *function, const char *what, const void *ptr, uint64_t size_b,
                        enum snpu_access access);
/* The same without a message: for threads that cannot report one. */
bool snpu__mem_touchable(const void *ptr, uint64_t size_b, enum snpu_access access);
/* Memory on the device's side of a copy: allocated on a device, mapped there, or opened from another process. */
bool snpu__mem_on_device(const void *ptr);
/* Ordinary host memory: neither pinned nor registered. A copy from it must read it inside the call. */
bool snpu__mem_pageable(const void *ptr);

MS_EXPORT int32_t snpu_mem_check_type(void **pointers, uint32_t count, uint32_t types, uint32_t *result);
MS_EXPORT int32_t snpu_mem_usage(int32_t user_dev, void *entries, size_t capacity, size_t *count);
/* Range checks for calls that are no-ops on coherent memory: flush, invalidate, peer mapping. */
MS_EXPORT int32_t snpu_mem_touch(const char *function, const void *ptr, uint64_t size_b);

/* ---- host memory (hostmem.c) ---- */
MS_EXPORT int32_t snpu_host_register(const char *function, void *ptr, uint64_t size_b, uint32_t flags, void **dev_ptr);
MS_EXPORT int32_t snpu_host_device_pointer(void *host, void **dev_ptr, uint32_t flags);

/* ---- managed memory (managed.c) ---- */
struct snpu_location {
    int32_t type; /* aclrtMemManagedLocationType */
    int32_t id;
};
MS_EXPORT int32_t snpu_managed_advise(const void *ptr, uint64_t size_b, int32_t advice, struct snpu_location where);
MS_EXPORT int32_t snpu_managed_get(int32_t attribute, const void *ptr, uint64_t size_b, void *data, size_t data_b);
MS_EXPORT int32_t snpu_managed_prefetch(const void *ptr, uint64_t size_b, struct snpu_location where, void *stream);
void snpu__managed_forget(const void *base); /* the block is being freed */

/* ---- pools (mempool.c) ---- */
bool snpu__mempool_owns(const void *ptr);

#endif
