/* SPDX-License-Identifier: Apache-2.0 */
/* A call site as one line: where memory comes from, told the same way in every report. */
#ifndef MS_ANALYZE_SITE_H
#define MS_ANALYZE_SITE_H

#include "trace/event.h"

#include <stddef.h>

/* "tensor.c:36 tensor_try_new < tensor_new < new_bytes < plant_leak": the innermost calls of a stack (as stacks.h has
 * them) below those of allocators and recorders. Of Python "train.py:57 train, in AdamW.step": the first line that is
 * no library's, and what it called at last. Without what changes from run to run. Returns the length; 0: nothing is
 * known. out is terminated and cut to room. */
size_t ms_site_text(struct ms_text stack, bool python, char *out, size_t room);
/* Is a line of a C stack one of an allocator or recorder? */
bool ms_site_is_plumbing(struct ms_text line);

#endif
