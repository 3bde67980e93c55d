/* SPDX-License-Identifier: Apache-2.0 */
/* The log file of a process: "YYYY-MM-DD HH:MM:SS [LEVEL] [file:line] text". A line is one write to a file opened for
 * appending, so threads need no lock except to create it. */
#include "memscope/recording/project.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t create_lock = PTHREAD_MUTEX_INITIALIZER; /* leaf: protects fd and name of every log */

void ms_log_init(struct ms_log *log, int dirfd, enum ms_log_level level)
{
    *log = (struct ms_log){.dirfd = dirfd, .fd = -1, .level = level};
}

static int create(struct ms_log *log)
{
    if (mkdirat(log->dirfd, "msmemscope_logs", 0750) != 0 && errno != EEXIST) {
        return -2;
    }
    time_t now = time(NULL);
    for (int i = 0; i < 1000; i++) {
        char when[16];
        ms_time_text(now + i, when);
        snprintf(log->name, sizeof(log->name), "msmemscope_logs/msmemscope_%s.log", when);
        int fd = openat(log->dirfd, log->name, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
        if (fd >= 0) {
            return fd;
        }
        if (errno != EEXIST) {
            break;
        }
    }
    return -2;
}

bool ms_log_write(struct ms_log *log, enum ms_log_level level, const char *file, int line, const char *text)
{
    static const char *const words[] = {"[DEBUG]", "[INFO] ", "[WARN] ", "[ERROR]"};
    if (level < log->level) {
        return false;
    }
    bool created = false;
    pthread_mutex_lock(&create_lock);
    if (log->fd == -1) {
        log->fd = create(log);
        created = log->fd >= 0;
    }
    int fd = log->fd;
    pthread_mutex_unlock(&create_lock);
    if (fd < 0) {
        return false;
    }
    char out[4096], when[24];
    struct tm tm;
    time_t now = time(NULL);
    localtime_r(&now, &tm);
    strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &tm);
    const char *slash = strrchr(file, '/');
    int n = snprintf(out, sizeof(out) - 1, "%s %s [%s:%d] %s", when, words[level & 3], slash != NULL ? slash + 1 : file,
                     line, text);
    n = n < (int)sizeof(out) - 1 ? n : (int)sizeof(out) - 2;
    out[n++] = '\n';
    ssize_t written = write(fd, out, (size_t)n); /* on a full disk the line is lost */
    (void)written;
    return created;
}

void ms_log_close(struct ms_log *log)
{
    if (log->fd >= 0) {
        close(log->fd);
    }
    log->fd = -2;
}
