/* SPDX-License-Identifier: Apache-2.0 */
/* The log. A line is formatted in a buffer and written by one write(), so that lines of two writers do not mix.
 *
 * Rotation: before a line would exceed the maximum size, file.N-1 is renamed to file.N and so on, and the file to
 * file.1. The size is read when the file is opened and then counted. mon_log_reopen switches to a new file after
 * logrotate has renamed the old one. Failure policy: a full disk loses lines and never stops the daemon; the number of
 * lost lines is logged when writing succeeds again. Used only by the event loop thread. */
#include "monitor/daemon/logger.h"

#include "base/clock.h"
#include "monitor/store/series.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_FILE "/var/log/dynolog.log"

enum { LINE_MAX_B = 16384, PERIOD_S = 10, LINES_PER_PERIOD = 5 };

static struct {
    int fd;
    char *path; /* NULL: stderr */
    uint64_t size_b, max_b, lost;
    unsigned keep;
    enum mon_log_level min_level;
    bool started;
} logger = {.fd = STDERR_FILENO, .started = true};

static int open_file(const char *path)
{
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0640);
}

static int adopt(int fd)
{
    struct stat st;
    logger.size_b = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
    if (logger.fd != STDERR_FILENO) {
        close(logger.fd);
    }
    logger.fd = fd;
    return 0;
}

int mon_log_open(const struct mon_log_options *options)
{
    const char *file = options->file;
    bool chosen = file != NULL && *file != '\0';
    mon_log_close();
    logger.max_b = options->max_b;
    logger.keep = options->keep;
    logger.min_level = options->min_level;
    logger.started = false;
    if (chosen ? strcmp(file, "stderr") == 0 || strcmp(file, "-") == 0 : isatty(STDERR_FILENO)) {
        return 0;
    }
    int fd = open_file(chosen ? file : DEFAULT_FILE);
    if (fd < 0) {
        return chosen ? -errno : 0;
    }
    logger.path = strdup(chosen ? file : DEFAULT_FILE);
    if (logger.path == NULL) {
        close(fd);
        return -ENOMEM;
    }
    return adopt(fd);
}

void mon_log_started(void)
{
    logger.started = true;
}

int mon_log_reopen(void)
{
    if (logger.path == NULL) {
        return 0;
    }
    int fd = open_file(logger.path);
    return fd < 0 ? -errno : adopt(fd);
}

void mon_log_close(void)
{
    if (logger.fd != STDERR_FILENO) {
        close(logger.fd);
    }
    free(logger.path);
    logger.fd = STDERR_FILENO;
    logger.path = NULL;
    logger.size_b = 0;
}

const char *mon_log_path(void)
{
    return logger.path != NULL ? logger.path : "stderr";
}

static void rotate(void)
{
    char from[PATH_MAX], to[PATH_MAX];
    for (unsigned i = logger.keep; i > 0; i--) {
        snprintf(to, sizeof(to), "%s.%u", logger.path, i);
        snprintf(from, sizeof(from), i > 1 ? "%s.%u" : "%s", logger.path, i - 1);
        rename(from, to); /* fails if a number is missing, which is harmless */
    }
    if (logger.keep == 0) {
        unlink(logger.path);
    }
    int fd = open_file(logger.path);
    if (fd >= 0) {
        adopt(fd);
    } else {
        logger.size_b = 0; /* continues in the renamed file; retries after another max_b bytes */
    }
}

static void put(const char *line, size_t length_b)
{
    if (logger.path != NULL && logger.max_b != 0 && logger.size_b != 0 && logger.size_b + length_b > logger.max_b) {
        rotate();
    }
    ssize_t written = write(logger.fd, line, length_b);
    if (written < 0) {
        logger.lost++;
        return;
    }
    logger.size_b += (size_t)written;
}

/* "I20260304 09:15:07.250183 20417 ipc.c:37] "; returns the length. */
static size_t stamp(char *out, size_t out_b, enum mon_log_level level, const char *file, int line)
{
    struct timespec now;
    struct tm local;
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &local);
    const char *slash = strrchr(file, '/');
    int n = snprintf(out, out_b, "%c%04d%02d%02d %02d:%02d:%02d.%06ld %d %s:%d] ", "IWEF"[level], local.tm_year + 1900,
                     local.tm_mon + 1, local.tm_mday, local.tm_hour, local.tm_min, local.tm_sec, now.tv_nsec / 1000,
                     (int)getpid(), slash != NULL ? slash + 1 : file, line);
    return n < 0 ? 0 : (size_t)n;
}

/* Logs how many lines were lost, once writing succeeds again. */
static void report_lost(void)
{
    char text[128];
    uint64_t lost = logger.lost;
    size_t head = stamp(text, sizeof(text), MON_LEVEL_WARNING, __FILE__, __LINE__);
    int n = snprintf(text + head, sizeof(text) - head, "%llu lines could not be written\n", (unsigned long long)lost);
    logger.lost = 0;
    put(text, head + (size_t)n);
    logger.lost += logger.lost != 0 ? lost : 0;
}

/* Prevents clients from forging log lines. */
static void clean(char *text, size_t length_b)
{
    for (size_t i = 0; i < length_b; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < 0x20 || c == 0x7f) {
            text[i] = c == '\t' ? ' ' : '?';
        }
    }
}

static void write_line(enum mon_log_level level, const char *file, int line, const char *format, va_list args)
{
    static char text[LINE_MAX_B];
    size_t head = stamp(text, sizeof(text), level, file, line);
    int n = vsnprintf(text + head, sizeof(text) - head - 1, format, args);
    size_t length = n < 0 ? 0 : (size_t)n;
    if (length > sizeof(text) - head - 2) {
        length = sizeof(text) - head - 2;
    }
    clean(text + head, length);
    text[head + length] = '\n';
    put(text, head + length + 1);
    if (!logger.started && logger.path != NULL && level >= MON_LEVEL_WARNING) {
        ssize_t ignored = write(STDERR_FILENO, text, head + length + 1);
        (void)ignored;
    }
}

void mon_log_write(enum mon_log_level level, const char *file, int line, const char *format, ...)
{
    if (level < logger.min_level) {
        return;
    }
    int saved = errno;
    if (logger.lost != 0) {
        report_lost();
    }
    va_list args;
    va_start(args, format);
    write_line(level, file, line, format, args);
    va_end(args);
    errno = saved;
}

bool mon_log_allowed(struct mon_log_limit *limit, const char *file, int line)
{
    uint64_t now = ms_clock_ns(CLOCK_MONOTONIC);
    if (limit->lines == 0 || now - limit->period_start_ns >= PERIOD_S * 1000000000ull) {
        uint64_t suppressed = limit->suppressed;
        *limit = (struct mon_log_limit){.period_start_ns = now};
        if (suppressed != 0) {
            mon_log_write(MON_LEVEL_WARNING, file, line, "%llu more lines suppressed", (unsigned long long)suppressed);
        }
    }
    if (limit->lines >= LINES_PER_PERIOD) {
        limit->suppressed++;
        mon_metric_record(MON_METRIC_LOG_SUPPRESSED, MON_NO_LABELS, 1);
        return false;
    }
    limit->lines++;
    return true;
}
