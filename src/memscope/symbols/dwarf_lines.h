/* SPDX-License-Identifier: Apache-2.0 */
/* Lines and inlined calls from DWARF. */
#ifndef MS_SYMBOLS_DWARF_LINES_H
#define MS_SYMBOLS_DWARF_LINES_H

#include <elfutils/libdwfl.h>
#include <stdint.h>

#define MS_FILE_MAX_B  1024
#define MS_INLINED_MAX 32
#define MS_SCOPES_MAX  6

/* A function that contains the code at an address. */
struct ms_dwarf_frame {
    const char *name;                 /* mangled; NULL: unknown; valid while the module is open, like scope */
    const char *scope[MS_SCOPES_MAX]; /* for a name that is not mangled: enclosing scopes, innermost first */
    uint64_t entry;                   /* start of its code; 0: unknown */
    char file[MS_FILE_MAX_B];         /* empty: unknown */
    int line;
};

/* Fills out[] from the innermost inlined call to the enclosing function; returns the number, 0: nothing is known. */
unsigned ms_dwarf_frames(Dwfl_Module *module, uint64_t address, struct ms_dwarf_frame out[MS_INLINED_MAX]);

#endif
