/* See site.h. */
#include "analyze/site.h"

#include "model/calls.h"

#include <stdio.h>
#include <string.h>

size_t ms_site_text(struct ms_text stack, unsigned calls, char *out, size_t room)
{
    if (stack.s == NULL) {
        return 0;
    }
    const char *at = stack.s, *end = stack.s + stack.length_b;
    size_t used = 0;
    for (unsigned frames = 0; at < end && frames < calls;) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end != NULL ? line_end : end;
        const char *from = at, *to = line_end;
        const char *address = memmem(from, (size_t)(to - from), " [0x", 4);
        if (address != NULL) { /* a frame of C */
            to = address;
            const char *paren = memchr(from, '(', (size_t)(to - from));
            const char *slash = memrchr(from, '/', (size_t)((paren != NULL ? paren : to) - from));
            from = slash != NULL ? slash + 1 : from;
        }
        if (to > from && (frames != 0 || !ms_call_is_plumbing(from, (size_t)(to - from)))) {
            int n = snprintf(out + used, room - used, "%s%.*s", frames != 0 ? " < " : "", (int)(to - from), from);
            used = n > 0 && (size_t)n < room - used ? used + (size_t)n : room - 1;
            frames++;
        }
        at = line_end + 1;
    }
    return used;
}
