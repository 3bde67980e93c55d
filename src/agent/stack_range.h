/* SPDX-License-Identifier: Apache-2.0 */
/* What is known to be readable of the stack that a thread is on. An address that a walk comes to is anybody's number
 * until it is read: only memory that was found readable before is read directly; the rest is probed by a system call
 * that cannot fault, a page at a time, and remembered. */
#ifndef MS_AGENT_STACK_RANGE_H
#define MS_AGENT_STACK_RANGE_H

#include "base/macros.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_stack_range {
    uintptr_t low, high;
};

/* Also reaches further up, from the calling function's frame on. */
bool ms_stack_range_extend(struct ms_stack_range *range, uintptr_t address, size_t size_b);

static inline bool ms_stack_readable(struct ms_stack_range *range, uintptr_t address, size_t size_b)
{
    bool inside = address >= range->low && address < range->high && range->high - address >= size_b;
    return MS_LIKELY(inside) || ms_stack_range_extend(range, address, size_b);
}

#endif
