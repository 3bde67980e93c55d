/* SPDX-License-Identifier: Apache-2.0 */
/* Call stacks of an event, as ids of definitions.
 *
 * A stack is walked in the event's own thread, using memory of its recording context; if a signal handler interrupts
 * the walk and has an event of its own, that event gets no stack, since the walk is not reentrant. errno is
 * preserved. */
#include "agent/stacks.h"

#include <errno.h>

__attribute__((noinline)) const struct ms_stack_ids *ms_stacks_take(struct ms_stack_ids *ids, uint32_t c_depth,
                                                                    uint32_t python_depth, void *caller)
{
    if (ms_self.walking) {
        return NULL;
    }
    int error = errno;
    ms_self.walking = 1;
    *ids = (struct ms_stack_ids){0};
    if (c_depth > 0) {
        ids->c = ms_stack_c_take((uintptr_t)__builtin_return_address(0), (uintptr_t)caller, c_depth);
    }
    if (python_depth > 0) {
        ids->python = ms_stack_python_take(python_depth);
    }
    ms_self.walking = 0;
    errno = error;
    return ids->c != 0 || ids->python != 0 ? ids : NULL;
}
