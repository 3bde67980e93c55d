/* SPDX-License-Identifier: Apache-2.0 */
/* Names of C++ as people write them. */
#ifndef MS_SYMBOLS_DEMANGLE_H
#define MS_SYMBOLS_DEMANGLE_H

#include <stddef.h>

#define MS_NAME_MAX_B 1024

/* The name, demangled if it is mangled and short enough, else as it is; cut to MS_NAME_MAX_B - 1 bytes, with "..." at
 * the end then; control characters are replaced. Returns the length. */
size_t ms_demangle(const char *name, char out[MS_NAME_MAX_B]);

#endif
