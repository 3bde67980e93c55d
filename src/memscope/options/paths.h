/* SPDX-License-Identifier: Apache-2.0 */
/* Rules for paths given by the user: accepted characters and lengths, and who may own the file. */
#ifndef MS_OPTIONS_PATHS_H
#define MS_OPTIONS_PATHS_H

#include "memscope/options/settings.h"

/* Makes a path absolute and lexically normal (no ".", "..", doubled or trailing "/"; links are not followed). False:
 * too long, or the current directory has no path; *out is empty then. */
bool ms_path_absolute(const char *path, char out[MS_PATH_MAX_B + 1]);

/* Checks length, depth and length of components against the documented limits. */
bool ms_path_shape_ok(const char *absolute);

/* Allowed: ASCII letters and digits, ". / _ - ~", white space, and the ideographs U+4E00 to U+9FA5 in UTF-8. */
bool ms_path_characters_ok(const char *path);

/* Reports who else may change the file: a warning each, or one error if strict. Missing paths are fine. `say` receives
 * whole lines without a line end. Returns 0, or -EPERM after an error. */
int ms_path_trust(const char *path, bool strict, void (*say)(const char *line));

#endif
