/* SPDX-License-Identifier: Apache-2.0 */
/* Call stacks, raw: addresses for C, code objects and instructions for Python. Text is made outside of this process. */
#ifndef MS_AGENT_STACKS_H
#define MS_AGENT_STACKS_H

#include "agent/agent.h"

/* Gets ready; takes the loader's lock, so never from a hook. May be repeated; wanted: not for the end of memory
 * alone; frame_pointers: use them instead of the unwind tables, as long as they tell the same (stack_fp.h). */
void ms_stack_c_load(bool wanted, bool frame_pointers);
/* Id of the stack above the hook, which goes on at the address `hook`; 0: none. caller: any pc of the stack. */
uint32_t ms_stack_c_take(uintptr_t hook, uintptr_t caller, uint32_t depth);

/* Looks for an interpreter; takes the loader's lock. May be repeated: it may come later, that is, after us. */
void ms_stack_python_load(bool late);
/* Id of the Python stack of this thread; 0: none; MS_STACK_NO_GIL: cannot be had. */
uint32_t ms_stack_python_take(uint32_t depth);

#endif
