/* SPDX-License-Identifier: Apache-2.0 */
/* Reading small kernel files whole. `root` stands before every path; "" is the real system, tests have their own. */
#ifndef MON_METRICS_KERNEL_FILE_H
#define MON_METRICS_KERNEL_FILE_H

#include "base/buffer.h"

#include <stdint.h>

#define MON_KERNEL_FILE_MAX_B (4u << 20) /* of one file; the rest is not read */

/* Replaces the buffer's content by the file's, terminated by NUL that is not counted. 0 or -errno. */
int mon_kernel_file(const char *root, const char *path, struct ms_buffer *out);

/* The decimal number at *at (blanks before it are skipped); *at moves behind it. False: none there, or it is larger
 * than 64 bits. */
bool mon_kernel_number(const char **at, uint64_t *out);

#endif
