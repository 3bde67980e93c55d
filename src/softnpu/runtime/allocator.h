/* SPDX-License-Identifier: Apache-2.0 */
/* Allocators that frameworks register for streams (aclrtAllocator*). */
#ifndef SOFTNPU_RUNTIME_ALLOCATOR_H
#define SOFTNPU_RUNTIME_ALLOCATOR_H

#include "base/macros.h"

#include <stddef.h>
#include <stdint.h>

struct snpu_allocator {
    void *object;
    void *(*alloc)(void *object, size_t size_b);
    void (*free)(void *object, void *block);
    void *(*alloc_advise)(void *object, size_t size_b, void *addr);
    void *(*address)(void *block);
};

MS_EXPORT void *snpu_allocator_new(void);
MS_EXPORT int32_t snpu_allocator_free(void *desc);
/* The descriptor behind a handle, for the caller to fill in; NULL with a message (see error.h). */
MS_EXPORT struct snpu_allocator *snpu_allocator_of(const char *function, void *desc);

MS_EXPORT int32_t snpu_allocator_register(void *stream, void *desc);
MS_EXPORT int32_t snpu_allocator_get(void *stream, void **desc, struct snpu_allocator *out);
MS_EXPORT int32_t snpu_allocator_unregister(void *stream);

#endif
