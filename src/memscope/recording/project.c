/* SPDX-License-Identifier: Apache-2.0 */
/* Project directories and their names. */
#include "memscope/recording/project.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECONDS_AHEAD 3600 /* limit for the time in a name, when earlier names are taken */

void ms_time_text(time_t time, char out[16])
{
    struct tm tm;
    localtime_r(&time, &tm);
    if (strftime(out, 16, "%Y%m%d%H%M%S", &tm) == 0) {
        snprintf(out, 16, "00000000000000");
    }
}

bool ms_project_name_ok(const char *name)
{
    return strncmp(name, "msmemscope_", 11) == 0 && strchr(name, '/') == NULL && strlen(name) < MS_PROJECT_NAME_B;
}

int ms_project_open(int output, const char *name, int *dirfd, int *tracefd)
{
    if (!ms_project_name_ok(name)) {
        return -EINVAL;
    }
    int dir = openat(output, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (dir < 0) {
        return -errno;
    }
    int trace = mkdirat(dir, MS_TRACE_DIR, 0750) == 0 || errno == EEXIST
                    ? openat(dir, MS_TRACE_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
                    : -1;
    if (trace < 0) {
        int rc = -errno;
        close(dir);
        return rc;
    }
    *dirfd = dir;
    *tracefd = trace;
    return 0;
}

int ms_project_write(int dirfd, const char *name, const char *text, size_t text_b)
{
    char temporary[64];
    if (snprintf(temporary, sizeof(temporary), ".%s.new", name) >= (int)sizeof(temporary)) {
        return -ENAMETOOLONG;
    }
    int fd = openat(dirfd, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
    int rc = fd < 0 ? -errno : 0;
    for (size_t done = 0; rc == 0 && done < text_b;) {
        ssize_t n = write(fd, text + done, text_b - done);
        rc = n < 0 && errno != EINTR ? -errno : rc;
        done += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0) {
        close(fd);
    }
    if (rc == 0 && renameat(dirfd, temporary, dirfd, name) != 0) {
        rc = -errno;
    }
    if (rc != 0) {
        unlinkat(dirfd, temporary, 0);
    }
    return rc;
}

int ms_project_make(int output, uint32_t pid, char name[MS_PROJECT_NAME_B], int *dirfd, int *tracefd)
{
    time_t now = time(NULL);
    for (int i = 0; i < SECONDS_AHEAD; i++) {
        char when[16];
        ms_time_text(now + i, when);
        snprintf(name, MS_PROJECT_NAME_B, "msmemscope_%u_%s_ascend", pid, when);
        if (mkdirat(output, name, 0750) == 0) {
            return ms_project_open(output, name, dirfd, tracefd);
        }
        if (errno != EEXIST) {
            return -errno;
        }
    }
    return -EEXIST;
}
