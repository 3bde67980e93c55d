/* A call site as one line: where memory comes from, told the same way in every report. */
#ifndef MS_ANALYZE_SITE_H
#define MS_ANALYZE_SITE_H

#include "trace/event.h"

#include <stddef.h>

/* The innermost calls of a stack (as stacks.h has them) below allocators and recorders, at most so many, "f < g < h",
 * without what changes from run to run: addresses, and directories of libraries. Returns the length; 0: nothing is
 * known. out is terminated and cut to room. */
size_t ms_site_text(struct ms_text stack, unsigned calls, char *out, size_t room);

#endif
