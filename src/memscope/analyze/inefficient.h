/* SPDX-License-Identifier: Apache-2.0 */
/* Inefficient memory use, as msMemScope documents it: per framework, operators and memory events outside of operators
 * are numbered ("api"), and every event of a block carries such a number.
 *
 *   early_allocation    at an access: an api freed something between the block's allocation and its first access by
 *                       another api
 *   late_deallocation   at the free: an api allocated something between the block's last access and its free
 *   temporary_idleness  at an access: more than `threshold` apis since the previous access
 *
 * A START before the END of another operator begins a new api, which takes over what the other one contained so far.
 * A free in one kind of memory does not help another: PTA, ATB and host memory have their own counters, and an access
 * counts for the memory that holds its block.
 *
 * Each pattern is found at most once per block. An operator's own allocations and frees count once it has ended. The
 * counters are plain data, one set per process; the stamps belong to the caller's blocks. Used while recording (the
 * attribute inefficient_type), by the report, and by the offline check. */
#ifndef MS_ANALYZE_INEFFICIENT_H
#define MS_ANALYZE_INEFFICIENT_H

#include "memscope/model/model.h"

enum { MS_FRAMEWORK_PTA, MS_FRAMEWORK_ATB, MS_FRAMEWORK_HOST, MS_FRAMEWORK_COUNT, MS_FRAMEWORK_NONE = 255 };
#define MS_IDLE_THRESHOLD 3000u

struct ms_api_counter {
    uint64_t api;
    uint64_t last_malloc, last_free; /* 0: none yet */
    bool inside, has_malloc, has_free;
};

struct ms_inefficient {
    struct ms_api_counter counters[MS_FRAMEWORK_COUNT];
    uint64_t threshold;
};

struct ms_stamps { /* of a block; all zero: its allocation was not seen */
    uint64_t malloc_api, first_api, last_api;
    bool last_is_access;
    uint8_t found; /* as ms_block.inefficient */
};

/* The framework that owns blocks of a space; NONE: not analysed. */
unsigned ms_inefficient_framework(unsigned space);
/* Bits of the frameworks whose operators rows of this type describe; 0: none. */
unsigned ms_inefficient_operator(unsigned row_type, bool *begins);

void ms_inefficient_op(struct ms_inefficient *all, unsigned row_type);
/* Return the patterns found by this event as bits: 1 << MS_INEFFICIENT_*. */
void ms_inefficient_malloc(struct ms_inefficient *all, unsigned framework, struct ms_stamps *stamps);
unsigned ms_inefficient_access(struct ms_inefficient *all, unsigned framework, struct ms_stamps *stamps);
unsigned ms_inefficient_free(struct ms_inefficient *all, unsigned framework, struct ms_stamps *stamps);

/* Appends a pattern to those found so far, unless it is already there. */
uint8_t ms_inefficient_add(uint8_t found, unsigned pattern);

#endif
