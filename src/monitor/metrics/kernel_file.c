/* SPDX-License-Identifier: Apache-2.0 */
/* See kernel_file.h. Reads of kernel files are served from memory and do not wait for a disk. */
#include "monitor/metrics/kernel_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

int mon_kernel_file(const char *root, const char *path, struct ms_buffer *out)
{
    char full[PATH_MAX];
    out->used = 0;
    if ((size_t)snprintf(full, sizeof(full), "%s%s", root, path) >= sizeof(full)) {
        return -ENAMETOOLONG;
    }
    /* O_NONBLOCK in case the path is not a kernel file. */
    int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        return -errno;
    }
    int rc = 0;
    while (out->used < MON_KERNEL_FILE_MAX_B) {
        if (!ms_buffer_reserve(out, 4096)) {
            rc = -ENOMEM;
            break;
        }
        ssize_t n = read(fd, out->s + out->used, out->room - out->used - 1);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            rc = n < 0 ? -errno : 0;
            break;
        }
        out->used += (size_t)n;
    }
    close(fd);
    if (rc == 0) {
        out->s[out->used] = '\0';
    }
    return rc;
}

bool mon_kernel_number(const char **at, uint64_t *out)
{
    const char *s = *at;
    uint64_t number = 0;
    while (*s == ' ' || *s == '\t') {
        s++;
    }
    if (*s < '0' || *s > '9') {
        return false;
    }
    for (; *s >= '0' && *s <= '9'; s++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(*s - '0'), &number)) {
            return false;
        }
    }
    *at = s;
    *out = number;
    return true;
}
