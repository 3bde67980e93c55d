/* SPDX-License-Identifier: Apache-2.0 */
/* C stacks by frame pointers, for programs that have them throughout (--call-stack=c:fp): each frame starts with the
 * address of the next outer frame and the return address, so a walk takes two loads per frame.
 *
 * If some function uses the register for something else, such a chain breaks or skips frames without any sign. So the
 * first 100 distinct stacks are compared with the unwind tables; if one differs (apart from a thread's first frames,
 * which belong to the C library), the tables are used from then on. */
#ifndef MS_AGENT_STACK_FP_H
#define MS_AGENT_STACK_FP_H

#include "agent/stack_range.h"

/* Return addresses, starting at the given frame pointer; at most max. */
uint32_t ms_fp_walk(struct ms_stack_range *range, uintptr_t frame, uintptr_t *pcs, uint32_t max);

/* Whether frame pointers and tables give the same stack. deepest: neither was truncated. */
bool ms_fp_agrees(const uintptr_t *by_pointers, uint32_t pointer_count, const uintptr_t *by_tables,
                  uint32_t table_count, bool deepest);

#endif
