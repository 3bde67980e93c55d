/* SPDX-License-Identifier: Apache-2.0 */
/* See stack_memo.h. */
#include "agent/glibc_floor.h"
#include "agent/stack_memo.h"

struct ms_memo_stack *ms_memo_slot(struct ms_memo *memo, uintptr_t begin, uintptr_t caller)
{
    enum { FREE = 256, PER_HITS = 4 }; /* a walk costs at most what this many hits save */
    if (memo->entered >= FREE + memo->hits / PER_HITS) {
        return NULL;
    }
    memo->entered++;
    uint32_t set = ms_memo_set(begin, caller), way = memo->oldest[set]++ % MS_MEMO_WAYS;
    memo->names[set][way].begin = 0;
    return &memo->stacks[set][way];
}

void ms_memo_enter(struct ms_memo *memo, struct ms_memo_stack *stack, uintptr_t begin, uintptr_t caller)
{
    size_t at = (size_t)(stack - &memo->stacks[0][0]);
    memo->names[at / MS_MEMO_WAYS][at % MS_MEMO_WAYS].caller = caller;
    memo->names[at / MS_MEMO_WAYS][at % MS_MEMO_WAYS].begin = begin;
}
