/* SPDX-License-Identifier: Apache-2.0 */
/* Text of addresses in an ELF file: function, offset in it, source file and line, inlined calls expanded.
 *
 * Names come from a sorted index of the symbol table, lines and inlined calls from DWARF, of the file itself or of a
 * separate file with debug information. Addresses are those of the file (pc - load bias).
 *
 * The files are anybody's: libelf and libdw read them, and a file that is cut while it is mapped is SIGBUS. So the
 * recorder uses this in a process of its own only (symbolizer.h). One thread at a time per image. */
#ifndef MS_SYMBOLS_IMAGE_H
#define MS_SYMBOLS_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct ms_image;

/* fd: the file; debug_fd: a file with its debug information, -1: look in /usr/lib/debug by build id. Both are taken,
 * also on failure. lines: read DWARF. 0 or -errno (-ENOEXEC: not an ELF file). */
int ms_image_open(int fd, int debug_fd, bool lines, struct ms_image **out);
void ms_image_close(struct ms_image *image);

/* Bytes of the build id, 0: none. */
size_t ms_image_build_id(const struct ms_image *image, const uint8_t **out);

/* A return address; what is described is the call before it. One line per function, innermost first:
 *     name+0xOFFSET [TAB file:line] NEWLINE
 * The name is left out if only the line is known; nothing at all is written if nothing is. Control characters of names
 * are replaced, long names cut. */
void ms_image_describe(struct ms_image *image, uint64_t address, FILE *out);

#endif
