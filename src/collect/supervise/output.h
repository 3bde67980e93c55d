/* SPDX-License-Identifier: Apache-2.0 */
/* The output directory. */
#ifndef MS_SUPERVISE_OUTPUT_H
#define MS_SUPERVISE_OUTPUT_H

#include <stdbool.h>

/* Creates the directory and its parents if needed (0750) and checks that it is writable. An O_PATH descriptor or
 * -errno; *is_new: it did not exist. */
int ms_output_open(const char *path, bool *is_new);

#endif
