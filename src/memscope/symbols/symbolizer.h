/* SPDX-License-Identifier: Apache-2.0 */
/* Texts of addresses, made in a process apart.
 *
 * ELF and DWARF files of recorded programs are read by libraries that trust them more than we can, and a file that is
 * overwritten while it is mapped is SIGBUS. So a child does it: what kills or stops it costs the lines of that file
 * (it is asked once more for names alone, then no more), never the recording. The child is this same program, started
 * again with MS_SYMBOLS_ARGUMENT; it ends with its parent.
 *
 * Threads: any; one is served at a time. Failure policy: no text. */
#ifndef MS_SYMBOLS_SYMBOLIZER_H
#define MS_SYMBOLS_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MS_SYMBOLS_ARGUMENT "--symbols"

struct ms_symbolizer;

/* Starts nothing yet. NULL: no memory. */
struct ms_symbolizer *ms_symbolizer_new(void);
void ms_symbolizer_free(struct ms_symbolizer *symbolizer);

/* A file that addresses will be looked up in. fd and debug_fd (-1: none) stay the caller's and must stay open.
 * build_id: what the file must have, build_id_b 0: anything. Returns its number, or -errno (-ESTALE: another build id).
 */
int ms_symbolizer_file(struct ms_symbolizer *symbolizer, int fd, int debug_fd, const uint8_t *build_id,
                       size_t build_id_b);

/* What ms_image_describe writes, to be freed; NULL: nothing is known, or there is no child that could tell. */
char *ms_symbolizer_text(struct ms_symbolizer *symbolizer, int file, uint64_t address, size_t *length_b);

/* main() of the child. */
int ms_symbols_main(void);

#endif
