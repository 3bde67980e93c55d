/* SPDX-License-Identifier: Apache-2.0 */
/* Names, modes and locations of output files. No existing file is opened for writing; existing directories are used, no
 * matter which process created them. Names contain local time to the second. */
#include "memscope/export/dump_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define ATTEMPTS 10000

static int make_directory(int dirfd, const char *path)
{
    return mkdirat(dirfd, path, 0750) == 0 || errno == EEXIST ? 0 : -errno;
}

int ms__device_directory(int dirfd, uint32_t device, char *path, size_t room)
{
    char name[24] = "device_cpu";
    if (device != MS_DEV_CPU && device != MS_DEV_UNKNOWN) {
        snprintf(name, sizeof(name), "device_%u", device);
    }
    int rc = make_directory(dirfd, name);
    if (rc == 0) {
        snprintf(path, room, "%s/dump", name);
        rc = make_directory(dirfd, path);
    }
    return rc;
}

int ms__create_file(int dirfd, const char *directory, const char *stem, const char *suffix, uint64_t time_ns,
                    char *path, size_t room)
{
    time_t second = (time_t)(time_ns / 1000000000u);
    for (int i = 0; i < ATTEMPTS; i++, second++) {
        struct tm local;
        char stamp[32];
        localtime_r(&second, &local);
        strftime(stamp, sizeof(stamp), "%Y%m%d%H%M%S", &local);
        int length = snprintf(path, room, "%s/%s%s.%s", directory, stem, stamp, suffix);
        if (length < 0 || (size_t)length >= room) {
            return -ENAMETOOLONG;
        }
        int fd = openat(dirfd, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd >= 0 || errno != EEXIST) {
            return fd >= 0 ? fd : -errno;
        }
    }
    return -EEXIST;
}

static bool all_digits(const char *s, size_t length_b)
{
    for (size_t i = 0; i < length_b; i++) {
        if (s[i] < '0' || s[i] > '9') {
            return false;
        }
    }
    return length_b != 0;
}

bool ms__find_file(int dirfd, const char *directory, const char *stem, const char *suffix, char *path, size_t room)
{
    int fd = openat(dirfd, directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return false;
    }
    bool found = false;
    size_t stem_b = strlen(stem), suffix_b = strlen(suffix);
    for (struct dirent *entry; !found && (entry = readdir(dir)) != NULL;) {
        size_t length_b = strlen(entry->d_name);
        if (length_b > stem_b + suffix_b + 1 && strncmp(entry->d_name, stem, stem_b) == 0 &&
            entry->d_name[length_b - suffix_b - 1] == '.' && strcmp(entry->d_name + length_b - suffix_b, suffix) == 0 &&
            all_digits(entry->d_name + stem_b, length_b - stem_b - suffix_b - 1)) {
            int length = snprintf(path, room, "%s/%s", directory, entry->d_name);
            found = length > 0 && (size_t)length < room;
        }
    }
    closedir(dir);
    return found;
}

int ms__temporary_file(int dirfd)
{
    int fd = openat(dirfd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT)) {
        return fd >= 0 ? fd : -errno;
    }
    for (unsigned i = 0; i < ATTEMPTS; i++) { /* the file system does not support O_TMPFILE */
        char name[48];
        snprintf(name, sizeof(name), ".spool.%d.%u", (int)getpid(), i);
        fd = openat(dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd >= 0) {
            unlinkat(dirfd, name, 0);
            return fd;
        }
        if (errno != EEXIST) {
            return -errno;
        }
    }
    return -EEXIST;
}
