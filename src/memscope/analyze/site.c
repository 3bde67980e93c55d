/* SPDX-License-Identifier: Apache-2.0 */
/* See site.h. */
#include "memscope/analyze/site.h"

#include "memscope/model/calls.h"

#include <stdio.h>
#include <string.h>

#define CALLS_SHOWN 4u
#define CALLS_KEPT  64u /* calls searched for one that belongs to the program */

static struct ms_text base_name(struct ms_text path)
{
    const char *slash = path.length_b != 0 ? memrchr(path.s, '/', path.length_b) : NULL;
    const char *name = slash != NULL ? slash + 1 : path.s;
    return (struct ms_text){.s = name, .length_b = (uint32_t)(path.s + path.length_b - name)};
}

/* Even if a call names a source file, its line still names the library. */
bool ms_site_is_plumbing(struct ms_text line)
{
    const char *paren = memchr(line.s, '(', line.length_b);
    struct ms_text library = {.s = line.s, .length_b = paren != NULL ? (uint32_t)(paren - line.s) : line.length_b};
    library = base_name(library);
    return ms_call_is_plumbing(library.s, (size_t)(line.s + line.length_b - library.s));
}

/* Python code of an installed library, or not read from a file. */
static bool is_library(const struct ms_call *call)
{
    static const char system[] = "/usr/lib/python";
    return call->file.length_b == 0 || call->file.s[0] == '<' ||
           memmem(call->file.s, call->file.length_b, "-packages/", 10) != NULL ||
           (call->file.length_b >= sizeof(system) - 1 && memcmp(call->file.s, system, sizeof(system) - 1) == 0);
}

static size_t add(char *out, size_t used, size_t room, const char *before, struct ms_text text)
{
    int n = snprintf(out + used, room - used, "%s%.*s", before, (int)text.length_b, text.length_b != 0 ? text.s : "");
    return n >= 0 && (size_t)n < room - used ? used + (size_t)n : room - 1;
}

size_t ms_site_text(struct ms_text stack, bool python, char *out, size_t room)
{
    struct ms_call calls[CALLS_KEPT];
    size_t count = 0, first = 0, used = 0;
    for (struct ms_text line; count < CALLS_KEPT && ms_stack_line(&stack, &line);) {
        if (python || count != 0 || !ms_site_is_plumbing(line)) {
            calls[count++] = ms_call_parse(line, python);
        }
    }
    while (python && first < count && is_library(&calls[first])) {
        first++;
    }
    first = first < count ? first : 0;
    if (count == 0 || room == 0) {
        return 0;
    }
    struct ms_text file = base_name(calls[first].file), function = calls[first].function;
    if (calls[first].line != 0) {
        char line[16];
        used = add(out, used, room, "", file);
        snprintf(line, sizeof(line), ":%u ", calls[first].line);
        used = add(out, used, room, line, (struct ms_text){0});
    } else if (file.length_b != 0 &&
               (function.length_b < file.length_b || memcmp(function.s, file.s, file.length_b) != 0)) {
        used = add(out, used, room, "", file);
        used = add(out, used, room, " ", (struct ms_text){0});
    }
    if (python) { /* the user's line, and the last call it made */
        used = add(out, used, room, "", function);
        return first != 0 ? add(out, used, room, ", in ", calls[0].function) : used;
    }
    for (size_t i = 0; i < count && i < CALLS_SHOWN; i++) {
        used = add(out, used, room, i != 0 ? " < " : "", calls[i].function);
    }
    return used;
}
