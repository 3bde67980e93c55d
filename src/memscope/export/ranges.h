/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges of addresses that never overlap, in order of address: segments or blocks of a device, as a picture shows them.
 *
 * All zeros is empty. A pointer to a range is good until the next one is added. */
#ifndef MS_EXPORT_RANGES_H
#define MS_EXPORT_RANGES_H

#include "base/btree.h"

struct ms_range {
    uint64_t addr, size_b;
    uint64_t id;       /* of the allocation behind it; 0: none */
    uint64_t handle;   /* of a mapped segment; 0: not mapped */
    uint64_t same;     /* address of the segment that the handle was mapped to before; 0: none */
    uint32_t frames;   /* whose they are; the owner's numbers */
    uint32_t number;   /* what the owner calls it; 0: nothing */
    uint32_t category; /* the same */
    bool direct;       /* a block that is the segment itself */
    bool gone;         /* a segment that the driver took back although blocks live in it */
    uint32_t next;     /* in the list of free places */
};

struct ms_ranges {
    struct ms_range *items; /* place 0 is never used */
    uint32_t room, used, free_head;
    struct ms_btree tree; /* address: place */
};

static inline uint64_t ms_range_end(const struct ms_range *range)
{
    return range->addr + range->size_b;
}

struct ms_range *ms_ranges_at(const struct ms_ranges *ranges, uint64_t addr); /* the one that holds it; or NULL */
struct ms_range *ms_ranges_from(const struct ms_ranges *ranges,
                                uint64_t addr); /* the first that begins there or above */
struct ms_range *ms_ranges_over(const struct ms_ranges *ranges, uint64_t addr, uint64_t size_b); /* the first in it */
/* A copy of *range, which must overlap no other and have a size. NULL: no memory. */
struct ms_range *ms_ranges_add(struct ms_ranges *ranges, const struct ms_range *range);
void ms_ranges_remove(struct ms_ranges *ranges, struct ms_range *range);
void ms_ranges_free(struct ms_ranges *ranges);

#endif
