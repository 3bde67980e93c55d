/* SPDX-License-Identifier: Apache-2.0 */
/* Commands on traces and dumps: opening what the user named, and telling what could not be read. */
#ifndef MS_CLI_INPUTS_H
#define MS_CLI_INPUTS_H

#include "memscope/source/source.h"

/* Problems go to stderr as FILE:LINE: reason, progress to a terminal. 0 or -errno, which has been told. */
int input_open(const char *path, bool dumps, struct ms_source **out);
/* Tells whether the result is partial, to the user too, and closes. */
bool input_close(struct ms_source *source, const char *path);

#endif
