/* SPDX-License-Identifier: Apache-2.0 */
/* A call site as one line, in the same form in every report. */
#ifndef MS_ANALYZE_SITE_H
#define MS_ANALYZE_SITE_H

#include "trace/event.h"

#include <stddef.h>

/* "tensor.c:36 tensor_try_new < tensor_new < new_bytes < plant_leak": the innermost calls of a stack (in the format of
 * stacks.h), without those of allocators and recorders. For Python "train.py:57 train, in AdamW.step": the innermost
 * line outside libraries, and the last call it made. Contains nothing that varies between runs. Returns the length; 0:
 * nothing is known. out is terminated and truncated to room. */
size_t ms_site_text(struct ms_text stack, bool python, char *out, size_t room);
/* True if a line of a C stack belongs to an allocator or recorder. */
bool ms_site_is_plumbing(struct ms_text line);

#endif
