/* SPDX-License-Identifier: Apache-2.0 */
/* Type-stable slabs: objects behind opaque handles that callers may get wrong.
 *
 * All objects of a slab live in one address range that is never unmapped, so a handle from a caller can be checked in
 * a few instructions without touching foreign memory: inside the range, on an object boundary, alive. A handle that was
 * never ours, or whose object was destroyed, is refused instead of crashing. (A slot that was reused in between passes;
 * that is the one mistake no pointer-sized handle can show.) Freed slots are reused last-in, first-out, except that a
 * slot is held back until `quarantine` others have been freed, which makes use after destroy visible in practice.
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
    size_t zero_b; /* how much of a new object is zeroed; 0: all of it */
    uint32_t max_objects;
    uint32_t quarantine;
    /* Internal. */
    pthread_mutex_t lock; /* leaf: nothing is called while it is held */
    char *base;
    size_t stride_b;
    uint32_t *ring; /* freed slots in the order of freeing */
    uint8_t *alive; /* one byte per slot, read without the lock */
    uint32_t ring_head, ring_len;
    uint32_t used_slots; /* slots that were ever handed out */
    uint32_t live;
};

#define MS_SLAB_INIT(type, max)                                                                                        \
    {                                                                                                                  \
        .object_b = sizeof(type), .max_objects = (max), .quarantine = 16, .lock = PTHREAD_MUTEX_INITIALIZER            \
    }

/* A zeroed object (see zero_b), or NULL when max_objects are alive (errno ENOSPC) or memory is short (ENOMEM). */
void *ms_slab_alloc(struct ms_slab *slab);

/* The object must be alive. */
void ms_slab_free(struct ms_slab *slab, void *object);

/* True if the pointer is an object of this slab that is alive now. Any pointer value is allowed. */
bool ms_slab_check(const struct ms_slab *slab, const void *object);

/* Small number of an object, unique among the living of this slab: usable as stream id, event id. */
uint32_t ms_slab_index(const struct ms_slab *slab, const void *object);
void *ms_slab_at(const struct ms_slab *slab, uint32_t index); /* NULL if not alive */

uint32_t ms_slab_live(const struct ms_slab *slab);

#endif
