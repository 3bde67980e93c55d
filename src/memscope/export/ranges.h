/* SPDX-License-Identifier: Apache-2.0 */
/* Address ranges that never overlap, in address order: segments or blocks of a device.
 *
 * Zero-initialised is empty. A pointer to a range is valid until the next one is added. */
#ifndef MS_EXPORT_RANGES_H
#define MS_EXPORT_RANGES_H

#include "base/btree.h"

struct ms_range {
    uint64_t addr, size_b;
    uint64_t id;       /* of the underlying allocation; 0: none */
    uint64_t handle;   /* of a mapped segment; 0: not mapped */
    uint64_t same;     /* address of the segment the handle was mapped to before; 0: none */
    uint32_t frames;   /* call stack, numbered by the caller */
    uint32_t number;   /* entry number of the caller; 0: none */
    uint32_t category; /* numbered by the caller; 0: none */
    bool direct;       /* a block that covers its whole segment */
    bool gone;         /* a segment returned to the driver while blocks are still in it */
    uint32_t next;     /* in the list of free entries */
};

struct ms_ranges {
    struct ms_range *items; /* entry 0 is never used */
    uint32_t room, used, free_head;
    struct ms_btree tree; /* address -> entry */
};

static inline uint64_t ms_range_end(const struct ms_range *range)
{
    return range->addr + range->size_b;
}

struct ms_range *ms_ranges_at(const struct ms_ranges *ranges, uint64_t addr); /* contains addr; or NULL */
struct ms_range *ms_ranges_from(const struct ms_ranges *ranges,
                                uint64_t addr); /* the first that starts at or above it */
struct ms_range *ms_ranges_over(const struct ms_ranges *ranges, uint64_t addr, uint64_t size_b); /* first to overlap */
/* Adds a copy of *range, which must not overlap others or be empty. NULL: out of memory. */
struct ms_range *ms_ranges_add(struct ms_ranges *ranges, const struct ms_range *range);
void ms_ranges_remove(struct ms_ranges *ranges, struct ms_range *range);
void ms_ranges_free(struct ms_ranges *ranges);

#endif
