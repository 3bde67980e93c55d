/* SPDX-License-Identifier: Apache-2.0 */
/* Faults of kernels: one that touches memory which is not there, divides by zero or runs into nonsense fails its task,
 * as on the card; it does not end the program. */
#ifndef SOFTNPU_RUNTIME_TRAP_H
#define SOFTNPU_RUNTIME_TRAP_H

#include "softnpu/runtime/task.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct snpu_trap {
    int signal; /* 0: nothing happened */
    uint32_t block;
    uintptr_t addr; /* that was touched, or the instruction */
};

/* Runs blocks first .. end-1 of a kernel. False: one of them faulted, *trap says how, those after it did not run. */
bool snpu__trap_run(snpu_block_fn fn, void *args, uint32_t first, uint32_t end, uint32_t blocks,
                    struct snpu_trap *trap);

/* The same on all cores; what snpu_cores_run does. */
bool snpu__cores_run(snpu_block_fn fn, void *args, uint32_t blocks, struct snpu_trap *trap);

/* What happened, in words: "invalid access to 0x10". */
void snpu__trap_describe(const struct snpu_trap *trap, char *text, size_t text_b);

/* Threads that run kernels have a stack for the case that their own is what a kernel used up. */
void *snpu__trap_stack_begin(void);
void snpu__trap_stack_end(void *stack);

/* Signals of the program belong to its own threads; faults stay where they happen. */
void snpu__mask_but_faults(sigset_t *mask);

#endif
