/* SPDX-License-Identifier: Apache-2.0 */
/* Text for addresses in an ELF file: function, offset in it, source file and line, with inlined calls expanded.
 *
 * Names come from a sorted index of the symbol table, lines and inlined calls from DWARF, in the file itself or in a
 * separate debug file. Addresses are those of the file (pc - load bias).
 *
 * The files are untrusted: libelf and libdw parse them, and truncating a file while it is mapped causes SIGBUS. So the
 * recorder uses this only in a separate process (symbolizer.h). One thread at a time per image. */
#ifndef MS_SYMBOLS_IMAGE_H
#define MS_SYMBOLS_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct ms_image;

/* fd: the file; debug_fd: a file with its debug information, -1: look in /usr/lib/debug by build id. Takes ownership of
 * both, also on failure. lines: read DWARF. 0 or -errno (-ENOEXEC: not an ELF file). */
int ms_image_open(int fd, int debug_fd, bool lines, struct ms_image **out);
void ms_image_close(struct ms_image *image);

/* Length of the build id, 0: none. */
size_t ms_image_build_id(const struct ms_image *image, const uint8_t **out);

/* address is a return address; the call before it is described. One line per function, innermost first:
 *     name+0xOFFSET [TAB file:line] NEWLINE
 * The name is omitted if only the line is known; nothing is written if nothing is known. Control characters in names
 * are replaced, long names truncated. */
void ms_image_describe(struct ms_image *image, uint64_t address, FILE *out);

#endif
