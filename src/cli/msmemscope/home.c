/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the installation: LD_PRELOAD_PATH as set by the wrapper, next to the command as it was called, or next to the
 * file it links to. Because of the build tree's links, all three may differ. */
#include "cli/msmemscope/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool try_root(const char *root, struct home *out)
{
    char path[MS_PATH_MAX_B + 1];
    if (!ms_path_absolute(root, path) ||
        (size_t)snprintf(out->collector, sizeof(out->collector), "%s/libexec/msmemscope-collector", path) >=
            sizeof(out->collector) ||
        access(out->collector, X_OK) != 0) {
        return false;
    }
    return (size_t)snprintf(out->lib64, sizeof(out->lib64), "%s/lib64", path) < sizeof(out->lib64);
}

/* The parent of the file's directory. */
static bool try_beside(const char *file, struct home *out)
{
    char root[MS_PATH_MAX_B + 8];
    const char *slash = strrchr(file, '/');
    if (slash == NULL ||
        (size_t)snprintf(root, sizeof(root), "%.*s/..", (int)(slash - file + 1), file) >= sizeof(root)) {
        return false;
    }
    return try_root(root, out);
}

bool home_find(const char *argv0, struct home *out)
{
    char file[MS_PATH_MAX_B + 1];
    const char *lib64 = getenv("LD_PRELOAD_PATH");
    if (lib64 != NULL && snprintf(file, sizeof(file), "%s/..", lib64) < (int)sizeof(file) && try_root(file, out)) {
        return true;
    }
    if (try_beside(argv0, out)) {
        return true;
    }
    ssize_t n = readlink("/proc/self/exe", file, sizeof(file) - 1);
    file[n > 0 ? n : 0] = '\0';
    return try_beside(file, out);
}
