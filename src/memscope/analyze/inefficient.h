/* SPDX-License-Identifier: Apache-2.0 */
/* Inefficient memory, by the definitions that msMemScope documents: per framework, operators and memory events outside
 * of operators are numbered ("api"), and every event of a block carries such a number.
 *
 *   early_allocation    at an access: something was freed by an api between the allocation and the first access by
 *                       another api
 *   late_deallocation   at the free: something was allocated by an api between the last access and the free
 *   temporary_idleness  at an access: more than `threshold` apis since the access before
 *
 * A START before the END of another operator begins a new api, to which belongs what the other contained. Frees of one
 * memory are of no use to another: PTA, ATB and host memory have counters of their own, and an access counts for the
 * memory in which its block lies.
 *
 * Each at most once per block. The numbers of an operator's own allocations and frees count once it has ended. The
 * counters are plain data, one set per process; the stamps belong to the caller's blocks. Used online (the attribute
 * inefficient_type), by the report, and by the offline check. */
#ifndef MS_ANALYZE_INEFFICIENT_H
#define MS_ANALYZE_INEFFICIENT_H

#include "memscope/model/model.h"

enum { MS_FRAMEWORK_PTA, MS_FRAMEWORK_ATB, MS_FRAMEWORK_HOST, MS_FRAMEWORK_COUNT, MS_FRAMEWORK_NONE = 255 };
#define MS_IDLE_THRESHOLD 3000u

struct ms_api_counter {
    uint64_t api;
    uint64_t last_malloc, last_free; /* 0: not yet */
    bool inside, has_malloc, has_free;
};

struct ms_inefficient {
    struct ms_api_counter counters[MS_FRAMEWORK_COUNT];
    uint64_t threshold;
};

struct ms_stamps { /* of a block; all zeros: its allocation was not seen */
    uint64_t malloc_api, first_api, last_api;
    bool last_is_access;
    uint8_t found; /* as ms_block.inefficient */
};

/* Of blocks of a space; NONE: not analysed. */
unsigned ms_inefficient_framework(unsigned space);
/* Bits of the frameworks whose operators rows of this type are; 0: none. */
unsigned ms_inefficient_operator(unsigned row_type, bool *begins);

void ms_inefficient_op(struct ms_inefficient *all, unsigned row_type);
/* Return the pattern that was found now (MS_INEFFICIENT_*), bit by bit: 1 << pattern. */
void ms_inefficient_malloc(struct ms_inefficient *all, unsigned framework, struct ms_stamps *stamps);
unsigned ms_inefficient_access(struct ms_inefficient *all, unsigned framework, struct ms_stamps *stamps);
unsigned ms_inefficient_free(struct ms_inefficient *all, unsigned framework, struct ms_stamps *stamps);

/* Patterns found so far, with one more behind them, unless it is there. */
uint8_t ms_inefficient_add(uint8_t found, unsigned pattern);

#endif
