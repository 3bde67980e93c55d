/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel faults: a kernel that accesses unmapped memory, divides by zero or executes invalid code fails its task, as on
 * the card; the program continues. */
#ifndef SOFTNPU_RUNTIME_TRAP_H
#define SOFTNPU_RUNTIME_TRAP_H

#include "softnpu/runtime/task.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct snpu_trap {
    int signal; /* 0: no fault */
    uint32_t block;
    uintptr_t addr; /* accessed address, or address of the instruction */
};

/* Runs blocks first .. end-1 of a kernel. False: one of them faulted, *trap describes it, later blocks did not run. */
bool snpu__trap_run(snpu_block_fn fn, void *args, uint32_t first, uint32_t end, uint32_t blocks,
                    struct snpu_trap *trap);

/* The same on all cores; the implementation of snpu_cores_run. */
bool snpu__cores_run(snpu_block_fn fn, void *args, uint32_t blocks, struct snpu_trap *trap);

/* The fault in words: "invalid access to 0x10". */
void snpu__trap_describe(const struct snpu_trap *trap, char *text, size_t text_b);

/* Threads that run kernels have an alternate signal stack, in case a kernel overflows their own. */
void *snpu__trap_stack_begin(void);
void snpu__trap_stack_end(void *stack);

/* Blocks all signals except faults: the program's signals belong to its own threads. */
void snpu__mask_but_faults(sigset_t *mask);

#endif
