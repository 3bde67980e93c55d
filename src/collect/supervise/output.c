/* SPDX-License-Identifier: Apache-2.0 */
/* See output.h. */
#include "collect/supervise/output.h"

#include "memscope/options/settings.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int make(const char *path, bool *is_new)
{
    char part[MS_PATH_MAX_B + 1];
    *is_new = false;
    for (const char *p = path; *p != '\0';) {
        const char *end = strchrnul(p + 1, '/');
        memcpy(part, path, (size_t)(end - path));
        part[end - path] = '\0';
        *is_new = mkdir(part, 0750) == 0;
        if (!*is_new && errno != EEXIST && errno != EISDIR) {
            int error = errno;
            struct stat st;
            if (stat(part, &st) != 0 || !S_ISDIR(st.st_mode)) { /* on a read-only file system EROFS hides EEXIST */
                return -error;
            }
        }
        p = end;
    }
    return 0;
}

int ms_output_open(const char *path, bool *is_new)
{
    int rc = strlen(path) <= MS_PATH_MAX_B ? make(path, is_new) : -ENAMETOOLONG;
    int fd = rc == 0 ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    rc = rc == 0 && fd < 0 ? -errno : rc;
    if (rc == 0 && faccessat(AT_FDCWD, path, R_OK | W_OK | X_OK, AT_EACCESS) != 0) {
        rc = -errno;
    }
    if (rc != 0 && fd >= 0) {
        close(fd);
    }
    return rc != 0 ? rc : fd;
}
