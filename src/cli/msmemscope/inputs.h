/* SPDX-License-Identifier: Apache-2.0 */
/* Commands on traces and dumps: opens the inputs, and reports what could not be read. */
#ifndef MS_CLI_INPUTS_H
#define MS_CLI_INPUTS_H

#include "memscope/source/source.h"

/* Prints problems on stderr as FILE:LINE: reason, and progress on a terminal. 0 or -errno, which was reported. */
int input_open(const char *path, bool dumps, struct ms_source **out);
/* Closes the source. Returns whether the result is partial, after a warning. */
bool input_close(struct ms_source *source, const char *path);

#endif
