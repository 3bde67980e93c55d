/* SPDX-License-Identifier: Apache-2.0 */
/* SOFTNPU_FAULT: the faults to inject. Grammar (see softnpu run --fault): items separated by ';'
 *   oom@call=N[,dev=D]         the N-th allocation fails; "N+": all from the N-th on
 *   oom@above=SIZE[,dev=D]     allocations of more than SIZE bytes fail
 *   slow=FACTOR[,dev=D]        kernels take at least FACTOR times as long
 *   kernel-error@launch=N[,name=K][,dev=D]   lost-task@launch=N[,...]   reset@launch=N[,...]
 * The parser is separate from the injection so that the softnpu command can reject a bad plan before anything runs. */
#ifndef SOFTNPU_HAL_FAULT_PLAN_H
#define SOFTNPU_HAL_FAULT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SNPU_FAULT_RULES 16

enum snpu_fault_kind {
    SNPU_RULE_OOM_CALL,
    SNPU_RULE_OOM_ABOVE,
    SNPU_RULE_SLOW,
    SNPU_RULE_KERNEL_ERROR,
    SNPU_RULE_LOST_TASK,
    SNPU_RULE_RESET,
};

struct snpu_fault_rule {
    enum snpu_fault_kind kind;
    uint64_t nth;    /* counted from 1 */
    bool onward;     /* nth and all later ones */
    uint64_t size_b; /* OOM_ABOVE */
    double factor;   /* SLOW */
    int32_t dev;     /* -1: any */
    char name[64];   /* kernel; empty: any */
};

struct snpu_fault_plan {
    uint32_t count;
    struct snpu_fault_rule rules[SNPU_FAULT_RULES];
};

/* 0, or -EINVAL with the reason in `why` and an empty plan. NULL and "" are the empty plan. */
int snpu_fault_parse(const char *text, struct snpu_fault_plan *out, char *why, size_t why_len);

#endif
