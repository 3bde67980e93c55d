/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of directories named on a command line: certificates (read) and results (written). */
#ifndef MON_WIRE_PATHS_H
#define MON_WIRE_PATHS_H

#include "monitor/wire/say.h"

#include <stdbool.h>
#include <stddef.h>

#define MON_PATH_MAX_B 4096

enum mon_path_use {
    MON_PATH_INPUT, /* must exist */
    MON_PATH_OUTPUT /* may be created by the writer */
};

/* Makes a path absolute and removes ".", ".." and repeated slashes, textually. 0, -EINVAL (empty) or -ENAMETOOLONG. */
int mon_path_clean(const char *path, char out[MON_PATH_MAX_B + 1]);

/* 0, or -errno after an error line; suspicious but valid paths cause a warning line. */
int mon_path_check(const char *path, enum mon_path_use use, const struct mon_say *say);

#endif
