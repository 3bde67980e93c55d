/* How a check tells its caller what it met on the way: the daemon logs it, the command line prints it. */
#ifndef MS_WIRE_SAY_H
#define MS_WIRE_SAY_H

#include "base/macros.h"

#include <stdarg.h>
#include <stdio.h>

enum ms_say_level { MS_SAY_NOTE, MS_SAY_WARNING, MS_SAY_ERROR };

struct ms_say {
    void (*line)(void *context, enum ms_say_level level, const char *text); /* NULL: nobody listens */
    void *context;
};

#define MS_SAY_LINE_B 1024

MS_PRINTF(3, 4) static inline void ms_say(const struct ms_say *say, enum ms_say_level level, const char *format, ...)
{
    if (say == NULL || say->line == NULL) {
        return;
    }
    char text[MS_SAY_LINE_B];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    say->line(say->context, level, text);
}

#endif
