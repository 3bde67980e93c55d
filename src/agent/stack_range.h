/* SPDX-License-Identifier: Apache-2.0 */
/* The readable part of the thread's current stack, as far as known. An address found during a walk may be any number:
 * memory is read directly only where it is known to be readable; the rest is probed by a system call that cannot fault,
 * a page at a time, and the result is kept. */
#ifndef MS_AGENT_STACK_RANGE_H
#define MS_AGENT_STACK_RANGE_H

#include "base/macros.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_stack_range {
    uintptr_t low, high;
};

/* Also extends upwards, from the calling function's frame. */
bool ms_stack_range_extend(struct ms_stack_range *range, uintptr_t address, size_t size_b);

static inline bool ms_stack_readable(struct ms_stack_range *range, uintptr_t address, size_t size_b)
{
    bool inside = address >= range->low && address < range->high && range->high - address >= size_b;
    return MS_LIKELY(inside) || ms_stack_range_extend(range, address, size_b);
}

#endif
