/* SPDX-License-Identifier: Apache-2.0 */
/* PYTHONPATH of the target: the user's entries, then the package of this installation. A pip installation needs none:
 * the interpreter finds the package anyway. */
#include "cli/msmemscope/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has_entry(const char *list, const char *entry)
{
    size_t length = strlen(entry);
    for (const char *p = list; p != NULL; p = strchr(p, ':')) {
        p += *p == ':';
        if (strncmp(p, entry, length) == 0 && (p[length] == '\0' || p[length] == ':')) {
            return true;
        }
    }
    return false;
}

int python_path_set(const struct home *home)
{
    char path[MS_PATH_MAX_B + 64], package[MS_PATH_MAX_B + 128];
    size_t tree = strlen(home->lib64) - strlen("/lib64");
    snprintf(path, sizeof(path), "%.*s/python", (int)tree, home->lib64);
    snprintf(package, sizeof(package), "%s/msmemscope/__init__.py", path);
    const char *old = getenv("PYTHONPATH");
    if (access(package, R_OK) != 0 || (old != NULL && has_entry(old, path))) {
        return 0;
    }
    if (old == NULL || *old == '\0') {
        return setenv("PYTHONPATH", path, 1);
    }
    size_t room = strlen(old) + strlen(path) + 2;
    char *value = malloc(room);
    if (value == NULL) {
        return -1;
    }
    snprintf(value, room, "%s:%s", old, path);
    int rc = setenv("PYTHONPATH", value, 1);
    free(value);
    return rc;
}
