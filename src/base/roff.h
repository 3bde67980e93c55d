/* SPDX-License-Identifier: Apache-2.0 */
/* Text for man pages. */
#ifndef MS_BASE_ROFF_H
#define MS_BASE_ROFF_H

#include <stddef.h>
#include <stdio.h>

/* Prints text so that roff shows it unchanged: minus signs that can be copied, backslashes, and no requests at the
 * start of a line. */
static inline void ms_roff(FILE *out, const char *text, size_t length_b)
{
    for (size_t i = 0; i < length_b; i++) {
        if ((text[i] == '.' || text[i] == '\'') && (i == 0 || text[i - 1] == '\n')) {
            fputs("\\&", out);
        }
        if (text[i] == '-') {
            fputs("\\-", out);
        } else if (text[i] == '\\') {
            fputs("\\e", out);
        } else {
            putc(text[i], out);
        }
    }
}

#endif
