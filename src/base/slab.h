/* SPDX-License-Identifier: Apache-2.0 */
/* Type-stable slabs: objects behind opaque handles that callers may get wrong.
 *
 * All objects of a slab are in one address range that is never unmapped, so a caller's handle can be checked in a few
 * instructions without touching unknown memory: inside the range, on an object boundary, alive. An unknown handle, or
 * one whose object was destroyed, is refused instead of crashing. (A slot that has been reused passes: no pointer-sized
 * handle can detect that mistake.) Freed slots are reused in the order in which they were freed, and only after
 * `quarantine` others (as long as unused slots remain), which makes use after destroy visible in practice.
 *
 * Threads: every function may be called from any thread. ms_slab_check takes no lock. */
#ifndef MS_BASE_SLAB_H
#define MS_BASE_SLAB_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_slab {
    /* Set by the initialiser below. */
    size_t object_b;
    size_t zero_b; /* how much of a new object is zeroed; 0: all */
    uint32_t max_objects;
    uint32_t quarantine;
    /* Internal. */
    pthread_mutex_t lock; /* leaf lock: nothing is called while it is held */
    char *base;
    size_t stride_b;
    uint32_t *ring; /* freed slots, in the order of freeing */
    uint8_t *alive; /* one byte per slot, read without the lock */
    uint32_t ring_head, ring_len;
    uint32_t used_slots; /* slots handed out so far */
    uint32_t live;
};

#define MS_SLAB_INIT(type, max)                                                                                        \
    {                                                                                                                  \
        .object_b = sizeof(type), .max_objects = (max), .quarantine = 16, .lock = PTHREAD_MUTEX_INITIALIZER            \
    }

/* Returns a zeroed object (see zero_b), or NULL if max_objects are alive (errno ENOSPC) or out of memory (ENOMEM). */
void *ms_slab_alloc(struct ms_slab *slab);

/* The object must be alive. */
void ms_slab_free(struct ms_slab *slab, void *object);

/* True if the pointer is a live object of this slab. Any pointer value is allowed. */
bool ms_slab_check(const struct ms_slab *slab, const void *object);

/* A small number, unique among the live objects of this slab: usable as stream id, event id. */
uint32_t ms_slab_index(const struct ms_slab *slab, const void *object);
void *ms_slab_at(const struct ms_slab *slab, uint32_t index); /* NULL if not alive */

uint32_t ms_slab_live(const struct ms_slab *slab);

#endif
