/* SPDX-License-Identifier: Apache-2.0 */
/* CPU tensors that exist only because operators are observed.
 *
 * PyTorch passes the number in `x * 1.5`, which it has made a tensor, to a dispatch mode as a number. Our mode passes it
 * on, and PyTorch makes a second tensor of it: one block of a few bytes that the program does not have without the
 * recorder. It is the first thing that PyTorch allocates in that call, so the mode announces how many there will be.
 * They may live for long, in the graph of a backward pass: their addresses are remembered until they are freed. */
#ifndef MS_AGENT_NUMBERS_H
#define MS_AGENT_NUMBERS_H

#include "agent/agent.h"

#define MS_NUMBER_B   16u /* a complex number */
#define MS_NUMBERS_IN 7u  /* announced at once, at most */

/* The next `count` blocks of at most MS_NUMBER_B bytes in this thread are such tensors; 0: no further ones. */
static inline void ms_numbers_expect(uint32_t count)
{
    ms_self.numbers = (count < MS_NUMBERS_IN ? count : MS_NUMBERS_IN) & 7u;
}

/* Whether a block that begins is one. False if there is no room to remember it: then it is recorded like any other. */
bool ms_numbers_begin(const void *ptr);
/* Whether a block that ends is one. */
bool ms_numbers_end(const void *ptr);

/* ---- for the hooks: one test when there are none ---- */

extern uint32_t ms_numbers_live __attribute__((visibility("hidden"))); /* atomic */

static inline bool ms_number_begins(const void *ptr, size_t size_b)
{
    return MS_UNLIKELY(ms_self.numbers != 0) && size_b <= MS_NUMBER_B && ms_numbers_begin(ptr);
}

static inline bool ms_number_ends(const void *ptr)
{
    return MS_UNLIKELY(__atomic_load_n(&ms_numbers_live, __ATOMIC_RELAXED) != 0) && ms_numbers_end(ptr);
}

#endif
