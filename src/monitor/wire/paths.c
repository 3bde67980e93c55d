/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of directories, see paths.h. No state. Each refused directory causes exactly one error line with the
 * reason. */
#include "monitor/wire/paths.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Legal in file names, but likely a mistake or an attack where the name reaches a shell or a log. */
static const char odd_characters[] = "\n\f\r\b\t\v\x7f\"'\\%><|&$";

int mon_path_clean(const char *path, char out[MON_PATH_MAX_B + 1])
{
    char joined[2 * MON_PATH_MAX_B + 2];
    size_t length = strlen(path);
    if (length == 0) {
        return -EINVAL;
    }
    if (length > MON_PATH_MAX_B) {
        return -ENAMETOOLONG;
    }
    size_t used = 0;
    if (path[0] != '/') {
        if (getcwd(joined, MON_PATH_MAX_B) == NULL) {
            return -errno;
        }
        used = strlen(joined);
        joined[used++] = '/';
    }
    memcpy(joined + used, path, length + 1);

    size_t end = 0;
    for (const char *part = joined; *part != '\0';) {
        size_t n = strcspn(part, "/");
        if (n == 2 && part[0] == '.' && part[1] == '.') {
            while (end > 0 && out[--end] != '/') {
            }
        } else if (n > 0 && !(n == 1 && part[0] == '.')) {
            if (end + n + 1 > MON_PATH_MAX_B) {
                return -ENAMETOOLONG;
            }
            out[end++] = '/';
            memcpy(out + end, part, n);
            end += n;
        }
        part += n + (part[n] == '/');
    }
    if (end == 0) {
        out[end++] = '/';
    }
    out[end] = '\0';
    return 0;
}

int mon_path_check(const char *path, enum mon_path_use use, const struct mon_say *say)
{
    char clean[MON_PATH_MAX_B + 1];
    struct stat st;
    int rc = mon_path_clean(path, clean);
    if (rc == -EINVAL) {
        mon_say(say, MON_SAY_ERROR, "the path is empty");
        return rc;
    }
    if (rc != 0) {
        mon_say(say, MON_SAY_ERROR, "the path is longer than %d bytes", MON_PATH_MAX_B);
        return rc;
    }
    if (strpbrk(clean, odd_characters) != NULL) {
        mon_say(say, MON_SAY_WARNING, "the path '%s' contains characters that shells and logs misinterpret", clean);
    }
    if (lstat(clean, &st) != 0) {
        if (errno == ENOENT && use == MON_PATH_OUTPUT) {
            return 0;
        }
        rc = -errno;
        mon_say(say, MON_SAY_ERROR, "'%s': %s", clean, strerror(-rc));
        return rc;
    }
    if (S_ISLNK(st.st_mode)) {
        mon_say(say, MON_SAY_WARNING, "'%s' is a symbolic link", clean);
        if (stat(clean, &st) != 0) {
            rc = -errno;
            mon_say(say, MON_SAY_ERROR, "'%s' is a dangling symbolic link: %s", clean, strerror(-rc));
            return rc;
        }
    }
    if (!S_ISDIR(st.st_mode)) {
        mon_say(say, MON_SAY_ERROR, "'%s' is not a directory", clean);
        return -ENOTDIR;
    }
    if (access(clean, X_OK | (use == MON_PATH_INPUT ? R_OK : W_OK)) != 0) {
        mon_say(say, MON_SAY_WARNING, "no permission to %s '%s'", use == MON_PATH_INPUT ? "read" : "write to", clean);
    }
    return 0;
}
