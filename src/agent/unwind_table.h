/* SPDX-License-Identifier: Apache-2.0 */
/* How to unwind the frame of a function, according to the unwind tables of its module (.eh_frame, DWARF call frame
 * information).
 *
 * Only three registers matter for walking a stack: the stack pointer, the frame pointer and the return address. What
 * compilers say about them at a call fits into one word; anything else (a frame found through another register) ends
 * the walk. Nothing is allocated and no lock is taken. */
#ifndef MS_AGENT_UNWIND_TABLE_H
#define MS_AGENT_UNWIND_TABLE_H

#include <stdbool.h>
#include <stdint.h>

/* Base of an offset. CFA: the stack pointer before the call that created the frame. */
enum ms_unwind_base { MS_UNWIND_CFA, MS_UNWIND_SP, MS_UNWIND_FP, MS_UNWIND_KEPT };

/* Offsets are in words. The CFA is base + offset, or the value stored there if cfa_load. */
struct ms_unwind_rule {
    int64_t cfa_off_b : 24;
    int64_t pc_off : 14; /* where the return address is */
    int64_t fp_off : 14; /* where the caller's frame pointer is */
    uint64_t pc_base : 2;
    uint64_t fp_base : 2; /* MS_UNWIND_KEPT: still in the register */
    uint64_t cfa_base : 2;
    uint64_t cfa_load : 1;
    uint64_t uses_fp : 1;     /* something is relative to the frame pointer */
    uint64_t plain : 1;       /* simply: CFA from a register, return address right below, caller's fp below that */
    uint64_t interrupted : 1; /* the caller was interrupted by a signal */
    uint64_t known : 1;
    uint64_t last : 1; /* outermost frame, or the caller cannot be found */
};
_Static_assert(sizeof(struct ms_unwind_rule) == 8, "a rule is one word");

/* The rule of the function that contains the call at pc - 1. table: .eh_frame_hdr of the module, may be NULL. */
struct ms_unwind_rule ms_unwind_table_look(const uint8_t *table, uintptr_t pc);

#endif
