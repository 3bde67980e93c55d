/* SPDX-License-Identifier: Apache-2.0 */
/* Demangling of C++ names. */
#ifndef MS_SYMBOLS_DEMANGLE_H
#define MS_SYMBOLS_DEMANGLE_H

#include <stddef.h>

#define MS_NAME_MAX_B 1024

/* The name, demangled if it is mangled and short enough, otherwise unchanged; truncated to MS_NAME_MAX_B - 1 bytes,
 * then ending in "..."; control characters are replaced. Returns the length. */
size_t ms_demangle(const char *name, char out[MS_NAME_MAX_B]);

#endif
