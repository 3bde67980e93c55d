/* Stacks that were walked before, recognised without walking.
 *
 * How a frame is unwound depends on its pc, its stack pointer and, if it has one, its frame pointer; the tables give
 * the rest. So a stack is the one of last time if it begins at the same place and every word that the walk took from
 * memory then (return addresses; saved frame pointers that something depended on) has the same value now. Comparing 20
 * of them takes some 10 ns, the walk 200.
 *
 * The words are compared from the innermost on, and each is where the unwinder itself would look once those before are
 * found equal: nothing is read that a walk would not read, whatever happened to the stack meanwhile. A function whose
 * frame is found through neither register (re-aligned stacks that come back at another distance) could in theory be
 * mistaken for its former self; unloading a module forgets everything.
 *
 * Entering a stack costs a slow walk (some 0.6 us per frame), so only stacks that come again are entered, and only as
 * long as that has paid off. x86-64 alone; elsewhere nothing is ever found. */
#ifndef MS_AGENT_STACK_MEMO_H
#define MS_AGENT_STACK_MEMO_H

#include "base/macros.h"
#include "trace/definitions.h"

#include <stdint.h>

#define MS_MEMO_SETS   32u
#define MS_MEMO_WAYS   8u
#define MS_MEMO_CHECKS 120u

struct ms_memo_stack {
    struct ms_def_key key; /* of the stack's definition */
    uint32_t depth;
    uint32_t checks;
    uintptr_t rbp; /* value of the register, if has_rbp */
    bool has_rbp;
    int32_t at[MS_MEMO_CHECKS]; /* from the place where the stack begins */
    uintptr_t value[MS_MEMO_CHECKS];
};

struct ms_memo {
    struct {
        uintptr_t begin, caller; /* begin 0: empty */
    } names[MS_MEMO_SETS][MS_MEMO_WAYS];
    struct ms_memo_stack stacks[MS_MEMO_SETS][MS_MEMO_WAYS];
    uint8_t oldest[MS_MEMO_SETS];
    uint32_t epoch; /* of loaded modules: what was entered in another one is void */
    uint64_t hits, entered;
    uint64_t work[512]; /* of the slow walk: its cursor and context, which are too much for somebody's stack */
};
/* What of the unwinder a slow walk needs. */
struct ms_memo_unwinder {
    int (*get_context)(void *context);
    int (*init)(void *cursor, void *context);
    int (*step)(void *cursor);
    int (*get_register)(void *cursor, int number, uintptr_t *value);
    int (*get_place)(void *cursor, int number, void *place);
};

/* Definition of the stack that begins at `begin` (the CFA of the calling function), NULL if it is not known. caller:
 * any pc that tells stacks apart; rbp: the register, in the calling function. */
static inline __attribute__((always_inline)) const struct ms_def_key *ms_memo_find(struct ms_memo *memo,
                                                                                   uintptr_t begin, uintptr_t caller,
                                                                                   uint32_t depth, uintptr_t rbp);

/* Enters it, if that pays. pcs: of the frames from the caller of the calling function on, as far as they belong to the
 * stack. */
void ms_memo_enter(struct ms_memo *memo, const struct ms_memo_unwinder *unwinder, uintptr_t begin, uintptr_t caller,
                   uint32_t depth, const uintptr_t *pcs, uint32_t count, const struct ms_def_key *key);

static inline uint32_t ms_memo_set(uintptr_t begin, uintptr_t caller)
{
    return (uint32_t)((begin ^ caller * 31) * 0x9e3779b97f4a7c15u >> 59);
}
_Static_assert(MS_MEMO_SETS == 1 << (64 - 59), "as many as the hash has values");

static inline __attribute__((always_inline, no_sanitize("address", "thread", "undefined"))) const struct ms_def_key *
ms_memo_find(struct ms_memo *memo, uintptr_t begin, uintptr_t caller, uint32_t depth, uintptr_t rbp)
{
    uint32_t set = ms_memo_set(begin, caller);
    for (uint32_t way = 0; way < MS_MEMO_WAYS; way++) {
        if (memo->names[set][way].begin != begin || memo->names[set][way].caller != caller) {
            continue;
        }
        const struct ms_memo_stack *stack = &memo->stacks[set][way];
        bool same = stack->depth == depth && (!stack->has_rbp || stack->rbp == rbp);
        for (uint32_t i = 0; same && i < stack->checks; i++) {
            same = *(const volatile uintptr_t *)(begin + (uintptr_t)(intptr_t)stack->at[i]) == stack->value[i];
        }
        if (same) {
            memo->hits++;
            return &stack->key;
        }
    }
    return NULL;
}

#endif
