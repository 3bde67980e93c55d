/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the calling thread's C stack by the unwind tables of the modules involved.
 *
 * What the tables say about an address is computed once and cached for all threads, so a frame costs a lookup and two
 * loads. Nothing is allocated, no lock is taken (where the C library finds modules without one), and memory is read
 * only where it is known to be readable: wrong tables, as in hand-written assembly, merely end the walk. x86-64 and
 * aarch64. */
#ifndef MS_AGENT_UNWIND_H
#define MS_AGENT_UNWIND_H

#include "agent/stack_range.h"

#define MS_UNWIND_RULE_BITS 14
#define MS_UNWIND_RULES     (1u << MS_UNWIND_RULE_BITS)

/* A thread's state, kept from walk to walk; initially zero. */
struct ms_unwind_thread {
    struct ms_stack_range range;
    uint16_t callers[MS_UNWIND_RULES]; /* for each rule: the rule of the last caller */
};

/* A frame that has made a call: where it resumes, and with which registers. */
struct ms_unwind_start {
    uintptr_t pc, sp, fp;
};

/* Everything a walk read from memory, in order: a stack that starts at the same place and has the same values there is
 * the same stack. */
#define MS_UNWIND_NOTES 120u
struct ms_unwind_notes {
    uint32_t count;
    bool full, has_fp;           /* full: there was more */
    uintptr_t fp;                /* initial value of the register, if has_fp: it mattered */
    int32_t at[MS_UNWIND_NOTES]; /* offset from the initial stack pointer */
    uintptr_t value[MS_UNWIND_NOTES];
};

/* Return addresses, start->pc first; at most max. */
uint32_t ms_unwind(struct ms_unwind_thread *thread, const struct ms_unwind_start *start, uintptr_t *pcs, uint32_t max);
uint32_t ms_unwind_noted(struct ms_unwind_thread *thread, const struct ms_unwind_start *start, uintptr_t *pcs,
                         uint32_t max, struct ms_unwind_notes *notes);

#endif
