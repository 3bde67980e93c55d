/* SPDX-License-Identifier: Apache-2.0 */
/* Texts for addresses, produced in a separate process.
 *
 * ELF and DWARF files of recorded programs are parsed by libraries that trust them more than we can, and a file that is
 * overwritten while it is mapped causes SIGBUS. So a child does it: whatever crashes or blocks the child costs the
 * lines of that file (it is queried once more for names only, then not again), never the recording. The child is the
 * same program, started again with MS_SYMBOLS_ARGUMENT; it exits with its parent.
 *
 * Threads: any; one is served at a time. Failure policy: no text. */
#ifndef MS_SYMBOLS_SYMBOLIZER_H
#define MS_SYMBOLS_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MS_SYMBOLS_ARGUMENT "--symbols"

struct ms_symbolizer;

/* Does not start a child yet. NULL: out of memory. */
struct ms_symbolizer *ms_symbolizer_new(void);
void ms_symbolizer_free(struct ms_symbolizer *symbolizer);

/* Adds a file in which addresses will be looked up. fd and debug_fd (-1: none) remain the caller's and must stay open.
 * build_id: the expected one, build_id_b 0: any. Returns its number, or -errno (-ESTALE: another build id). */
int ms_symbolizer_file(struct ms_symbolizer *symbolizer, int fd, int debug_fd, const uint8_t *build_id,
                       size_t build_id_b);

/* The text of ms_image_describe, to be freed; NULL: nothing is known, or no child is available. */
char *ms_symbolizer_text(struct ms_symbolizer *symbolizer, int file, uint64_t address, size_t *length_b);

/* main() of the child. */
int ms_symbols_main(void);

#endif
