/* SPDX-License-Identifier: Apache-2.0 */
/* The output directory. */
#ifndef MS_SUPERVISE_OUTPUT_H
#define MS_SUPERVISE_OUTPUT_H

#include <stdbool.h>

/* Makes it and those above it if need be (0750) and makes sure that it can be written. An O_PATH descriptor or -errno;
 * *is_new: it was not there. */
int ms_output_open(const char *path, bool *is_new);

#endif
