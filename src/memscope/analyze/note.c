/* SPDX-License-Identifier: Apache-2.0 */
/* See note.h. A line that exceeds the buffer is truncated. */
#include "memscope/analyze/note.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

void ms_note(ms_note_fn *log, void *argument, int level, const char *format, ...)
{
    if (log == NULL) {
        return;
    }
    char line[256];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    log(argument, level, line);
}
