/* SPDX-License-Identifier: Apache-2.0 */
/* Call stacks, raw: addresses for C, code objects and instructions for Python. Text is produced outside this
 * process. */
#ifndef MS_AGENT_STACKS_H
#define MS_AGENT_STACKS_H

#include "agent/agent.h"

/* Prepares; takes the loader's lock, so never call it from a hook. May be repeated. wanted: stacks are needed for more
 * than OOM records; frame_pointers: use them instead of the unwind tables while both agree (stack_fp.h). */
void ms_stack_c_load(bool wanted, bool frame_pointers);
/* Id of the stack above the hook, which resumes at the address `hook`; 0: none. caller: any pc of the stack. */
uint32_t ms_stack_c_take(uintptr_t hook, uintptr_t caller, uint32_t depth);

/* Looks for an interpreter; takes the loader's lock. May be repeated: it may be loaded late, that is, after the
 * agent. */
void ms_stack_python_load(bool late);
/* Id of this thread's Python stack; 0: none; MS_STACK_NO_GIL: not available. */
uint32_t ms_stack_python_take(uint32_t depth);

#endif
