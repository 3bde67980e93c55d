/* SPDX-License-Identifier: Apache-2.0 */
/* Reads small kernel files completely. `root` is prepended to every path: "" for the real system, a directory in
 * tests. */
#ifndef MON_METRICS_KERNEL_FILE_H
#define MON_METRICS_KERNEL_FILE_H

#include "base/buffer.h"

#include <stdint.h>

#define MON_KERNEL_FILE_MAX_B (4u << 20) /* per file; the rest is not read */

/* Replaces the contents of the buffer with the file, NUL-terminated (the NUL is not counted). 0 or -errno. */
int mon_kernel_file(const char *root, const char *path, struct ms_buffer *out);

/* Parses the decimal number at *at, skipping blanks before it, and advances *at. False: not a number, or more than 64
 * bits. */
bool mon_kernel_number(const char **at, uint64_t *out);

#endif
