/* SPDX-License-Identifier: Apache-2.0 */
/* Walking the C stack of the calling thread by the unwind tables of the modules it runs through.
 *
 * What the tables say about an address is worked out once and remembered for all threads, so a frame costs a look-up
 * and two loads. Nothing is allocated, no lock is taken (where the C library finds modules without one), and memory is
 * read only where it is known to be readable: wrong tables, as hand-written assembly has them, end a walk and nothing
 * else. x86-64 and aarch64. */
#ifndef MS_AGENT_UNWIND_H
#define MS_AGENT_UNWIND_H

#include "agent/stack_range.h"

#define MS_UNWIND_RULES (1u << 14)

/* What a thread keeps from walk to walk; zero at first. */
struct ms_unwind_thread {
    struct ms_stack_range range;
    uint16_t callers[MS_UNWIND_RULES]; /* for a place among the rules: that of whoever called last time */
};

/* A frame that has called: where it goes on, and the registers it goes on with. */
struct ms_unwind_start {
    uintptr_t pc, sp, fp;
};

/* Everything that a walk took from memory, in the order in which it did: a stack that begins at the same place and has
 * the same values there is the same stack. */
#define MS_UNWIND_NOTES 120u
struct ms_unwind_notes {
    uint32_t count;
    bool full, has_fp;           /* full: there was more */
    uintptr_t fp;                /* value of the register at the start, if has_fp: it mattered */
    int32_t at[MS_UNWIND_NOTES]; /* from the stack pointer at the start */
    uintptr_t value[MS_UNWIND_NOTES];
};

/* Return addresses, start->pc first; at most max. */
uint32_t ms_unwind(struct ms_unwind_thread *thread, const struct ms_unwind_start *start, uintptr_t *pcs, uint32_t max);
uint32_t ms_unwind_noted(struct ms_unwind_thread *thread, const struct ms_unwind_start *start, uintptr_t *pcs,
                         uint32_t max, struct ms_unwind_notes *notes);

#endif
