/* Checks of folders that people name on a command line: certificates (read) and results (written). */
#ifndef MS_WIRE_PATHS_H
#define MS_WIRE_PATHS_H

#include "monitor/wire/say.h"

#include <stdbool.h>
#include <stddef.h>

#define MS_PATH_MAX_B 4096

enum ms_path_use {
    MS_PATH_INPUT, /* must exist */
    MS_PATH_OUTPUT /* may be created by the one who writes */
};

/* Absolute, without ".", ".." and doubled slashes, by text alone. 0, -EINVAL (empty) or -ENAMETOOLONG. */
int ms_path_clean(const char *path, char out[MS_PATH_MAX_B + 1]);

/* 0, or -errno after an error line; what is merely odd gets a warning line. */
int ms_path_check(const char *path, enum ms_path_use use, const struct ms_say *say);

#endif
