/* SPDX-License-Identifier: Apache-2.0 */
/* Rules about paths that users name: which texts are accepted, and whom a file may belong to. */
#ifndef MS_OPTIONS_PATHS_H
#define MS_OPTIONS_PATHS_H

#include "memscope/options/settings.h"

/* Absolute and lexically normal (no ".", "..", doubled or trailing "/"; links are not followed). False: too long, or
 * the current directory has no name; *out is empty then. */
bool ms_path_absolute(const char *path, char out[MS_PATH_MAX_B + 1]);

/* Length, depth and length of components as documented. */
bool ms_path_shape_ok(const char *absolute);

/* ASCII letters and digits, ". / _ - ~", white space, and the ideographs U+4E00 to U+9FA5 in UTF-8. */
bool ms_path_characters_ok(const char *path);

/* Who may change what is there? Missing paths are fine. Calls say for each remark (whole lines, not ended): warnings,
 * or with strict one error; returns 0, or -EPERM after an error. */
int ms_path_trust(const char *path, bool strict, void (*say)(const char *line));

#endif
