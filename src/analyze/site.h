/* A call site as one line: where memory comes from, told the same way in every report. */
#ifndef MS_ANALYZE_SITE_H
#define MS_ANALYZE_SITE_H

#include "trace/event.h"

#include <stddef.h>

/* "tensor.c:36 tensor_try_new < tensor_new < new_bytes < plant_leak": the innermost calls of a stack (as stacks.h has
 * them) below those of allocators and recorders, of Python below those of the framework, without what changes from run
 * to run. Returns the length; 0: nothing is known. out is terminated and cut to room. */
size_t ms_site_text(struct ms_text stack, bool python, char *out, size_t room);

#endif
