/* SPDX-License-Identifier: Apache-2.0 */
/* Memory below the rt functions: what the runtime's own files and libascendcl_impl.so need beyond rtMalloc and friends.
 * Every function returns 0 or an ACL code with a remembered text. */
#ifndef SOFTNPU_RUNTIME_MEMORY_H
#define SOFTNPU_RUNTIME_MEMORY_H

#include "base/macros.h"
#include "softnpu/hal/hal_ext.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Owners of memory, as the driver counts them. */
enum { SNPU_MODULE_RUNTIME = 7, SNPU_MODULE_APP = 33 };

/* Memory of a device ends with the device's last context. Whoever keeps such memory remembers the generation it is
 * from, and forgets it when the device has moved on. */
uint32_t snpu__mem_generation(uint32_t dev);
void snpu__mem_device_closed(uint32_t dev);

/* ---- allocation ---- */
enum snpu_pages {
    SNPU_PAGES_HUGE_FIRST, /* above 1 MiB huge pages, normal ones when there are none left */
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

/* What every device allocation comes down to. */
int32_t snpu__mem_alloc(const struct snpu_alloc *request, void **out);

/* Managed memory: one pointer for host and devices. */
MS_EXPORT int32_t snpu_mem_alloc_managed(void **out, uint64_t size_b);

/* ---- pointers ---- */
enum snpu_access { SNPU_READ, SNPU_WRITE };
/* 0 if all bytes can be touched that way by this process; otherwise 107000 and a text that calls the range `what`. */
int32_t snpu__mem_check(const char *function, const char *what, const void *ptr, uint64_t size_b,
                        enum snpu_access access);
/* The same question without a text: for threads that nobody asks. */
bool snpu__mem_touchable(const void *ptr, uint64_t size_b, enum snpu_access access);
/* Memory on the device's side of a copy: allocated on a device, mapped there, or opened from another process. */
bool snpu__mem_on_device(const void *ptr);
/* Ordinary host memory: neither pinned nor registered. A copy from it must not wait for its turn to read it. */
bool snpu__mem_pageable(const void *ptr);

MS_EXPORT int32_t snpu_mem_check_type(void **pointers, uint32_t count, uint32_t types, uint32_t *result);
MS_EXPORT int32_t snpu_mem_usage(int32_t user_dev, void *entries, size_t room, size_t *count);
/* Range checks of calls that have nothing to do on coherent memory: flush, invalidate, peer mapping. */
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
