/* SPDX-License-Identifier: Apache-2.0 */
/* See stack_range.h. */
#include "agent/glibc_floor.h"
#include "agent/stack_range.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_B  4096u /* or more: then a page is probed several times */
#define REACH_B (64u << 20)

/* The kernel reads the signal set before it rejects the call. Containers forbid process_vm_readv, but not this. */
static bool page_is_there(uintptr_t page)
{
    enum { NO_SUCH_OPERATION = -1, SET_B = 8 };
    int error = errno;
    bool there = syscall(SYS_rt_sigprocmask, (long)NO_SUCH_OPERATION, page, NULL, (long)SET_B) == 0 || errno == EINVAL;
    errno = error;
    return there;
}

__attribute__((noinline)) bool ms_stack_range_extend(struct ms_stack_range *range, uintptr_t address, size_t size_b)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)(PAGE_B - 1);
    if (here < range->low || here >= range->high) { /* another stack, or further down */
        range->low = here;
        range->high = here + PAGE_B;
    }
    if (address < range->low || address - range->low > REACH_B) {
        return false;
    }
    while (address >= range->high || range->high - address < size_b) {
        if (!page_is_there(range->high)) {
            return false;
        }
        range->high += PAGE_B;
    }
    return true;
}
