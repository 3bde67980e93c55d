/* SPDX-License-Identifier: Apache-2.0 */
/* How a check reports problems to its caller: the daemon logs them, the command line prints them. */
#ifndef MON_WIRE_SAY_H
#define MON_WIRE_SAY_H

#include "base/macros.h"

#include <stdarg.h>
#include <stdio.h>

enum mon_say_level { MON_SAY_NOTE, MON_SAY_WARNING, MON_SAY_ERROR };

struct mon_say {
    void (*line)(void *context, enum mon_say_level level, const char *text); /* NULL: discard */
    void *context;
};

#define MON_SAY_LINE_B 1024

MS_PRINTF(3, 4) static inline void mon_say(const struct mon_say *say, enum mon_say_level level, const char *format, ...)
{
    if (say == NULL || say->line == NULL) {
        return;
    }
    char text[MON_SAY_LINE_B];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    say->line(say->context, level, text);
}

#endif
