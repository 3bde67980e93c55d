/* SPDX-License-Identifier: Apache-2.0 */
/* C stacks by frame pointers, for programs that have them throughout (--call-stack=c:fp): each frame begins with the
 * address of the next outer one and the return address, so a walk is two loads per frame.
 *
 * Where some function uses the register for something else, such a chain leads nowhere, or past frames, without any
 * sign. So the first 100 different stacks are compared with what the unwinder's tables say; one that differs (but for
 * the beginnings of a thread, which belong to the C library) and the tables are used from then on. */
#ifndef MS_AGENT_STACK_FP_H
#define MS_AGENT_STACK_FP_H

#include "agent/stack_range.h"

/* Return addresses from the frame on whose pointer this is; at most max. */
uint32_t ms_fp_walk(struct ms_stack_range *range, uintptr_t frame, uintptr_t *pcs, uint32_t max);

/* Whether a chain of frame pointers tells what the tables tell. deepest: neither was cut off. */
bool ms_fp_agrees(const uintptr_t *by_pointers, uint32_t pointer_count, const uintptr_t *by_tables,
                  uint32_t table_count, bool deepest);

#endif
