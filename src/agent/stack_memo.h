/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises previously walked stacks without walking them.
 *
 * How a frame is unwound depends on its pc, its stack pointer and, if it has one, its frame pointer; the tables supply
 * the rest. So a stack is unchanged if it starts at the same place and every word that the earlier walk read from
 * memory (return addresses; saved frame pointers that something depended on) still has the same value. Comparing 20
 * words takes some 10 ns, the walk 100.
 *
 * Words are compared from the innermost outwards, and each is where a walk would look once the previous ones are found
 * equal: nothing is read that a walk would not read, whatever happened to the stack meanwhile. Unloading a module
 * discards everything.
 *
 * Only recurring stacks are entered, since that takes another walk, and only while it pays off. */
#ifndef MS_AGENT_STACK_MEMO_H
#define MS_AGENT_STACK_MEMO_H

#include "agent/unwind.h"
#include "trace/definitions.h"

#define MS_MEMO_SETS 32u
#define MS_MEMO_WAYS 8u

struct ms_memo_stack {
    struct ms_def_key key; /* of the stack's definition */
    uint32_t depth;
    struct ms_unwind_notes notes;
};

struct ms_memo {
    struct {
        uintptr_t begin, caller; /* begin 0: empty */
    } names[MS_MEMO_SETS][MS_MEMO_WAYS];
    struct ms_memo_stack stacks[MS_MEMO_SETS][MS_MEMO_WAYS];
    uint8_t oldest[MS_MEMO_SETS];
    uint32_t epoch; /* of loaded modules: entries of another epoch are invalid */
    uint64_t hits, entered;
};

static inline uint32_t ms_memo_set(uintptr_t begin, uintptr_t caller)
{
    return (uint32_t)((begin ^ caller * 31) * 0x9e3779b97f4a7c15u >> 59);
}
_Static_assert(MS_MEMO_SETS == 1 << (64 - 59), "one set per hash value");

/* Definition of the stack that starts with this frame, NULL if unknown. caller: any pc that distinguishes stacks. */
static inline __attribute__((always_inline, no_sanitize("address", "thread", "undefined"))) const struct ms_def_key *
ms_memo_find(struct ms_memo *memo, const struct ms_unwind_start *start, uintptr_t caller, uint32_t depth)
{
    uint32_t set = ms_memo_set(start->sp, caller);
    for (uint32_t way = 0; way < MS_MEMO_WAYS; way++) {
        if (memo->names[set][way].begin != start->sp || memo->names[set][way].caller != caller) {
            continue;
        }
        const struct ms_memo_stack *stack = &memo->stacks[set][way];
        const struct ms_unwind_notes *notes = &stack->notes;
        bool same = stack->depth == depth && (!notes->has_fp || notes->fp == start->fp);
        for (uint32_t i = 0; same && i < notes->count; i++) {
            same = *(const volatile uintptr_t *)(start->sp + (uintptr_t)(intptr_t)notes->at[i]) == notes->value[i];
        }
        if (same) {
            memo->hits++;
            return &stack->key;
        }
    }
    return NULL;
}

/* A slot for one more stack; NULL: not worth it. The stack is found after ms_memo_enter. */
struct ms_memo_stack *ms_memo_slot(struct ms_memo *memo, uintptr_t begin, uintptr_t caller);
void ms_memo_enter(struct ms_memo *memo, struct ms_memo_stack *stack, uintptr_t begin, uintptr_t caller);

#endif
