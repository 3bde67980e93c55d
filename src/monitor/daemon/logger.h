/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's log: lines in glog format, to a rotated file or to stderr.
 *
 *     I20260304 09:15:07.250183 20417 ipc.c:37] text
 *
 * Control characters become '?', so that clients cannot forge lines. Warnings caused by clients use MON_LOG_LIMITED: a
 * flood produces a few lines per call site and period, and then the number of suppressed lines. */
#ifndef MON_DAEMON_LOGGER_H
#define MON_DAEMON_LOGGER_H

#include "base/macros.h"

#include <stdbool.h>
#include <stdint.h>

enum mon_log_level { MON_LEVEL_INFO, MON_LEVEL_WARNING, MON_LEVEL_ERROR, MON_LEVEL_FATAL };

struct mon_log_options {
    const char *file; /* NULL or "": choose (see mon_log_open); "stderr" or "-": stderr */
    uint64_t max_b;   /* rotate at this size; 0: never */
    unsigned keep;    /* number of rotated files; file.1 is the newest */
    enum mon_log_level min_level;
};

/* Opens the log. Without a file: stderr if it is a terminal, else /var/log/dynolog.log if writable, else stderr. 0, or
 * -errno if the named file cannot be opened. Until mon_log_started, errors and warnings also go to stderr. */
int mon_log_open(const struct mon_log_options *options);
void mon_log_started(void);
int mon_log_reopen(void); /* after logrotate has renamed the file */
void mon_log_close(void);
const char *mon_log_path(void); /* "stderr" or the file */

void mon_log_write(enum mon_log_level level, const char *file, int line, const char *format, ...) MS_PRINTF(4, 5);

#define MON_LOG_INFO(...)    mon_log_write(MON_LEVEL_INFO, __FILE__, __LINE__, __VA_ARGS__)
#define MON_LOG_WARNING(...) mon_log_write(MON_LEVEL_WARNING, __FILE__, __LINE__, __VA_ARGS__)
#define MON_LOG_ERROR(...)   mon_log_write(MON_LEVEL_ERROR, __FILE__, __LINE__, __VA_ARGS__)

/* One per call site; initially zero. */
struct mon_log_limit {
    uint64_t period_start_ns;
    unsigned lines;
    uint64_t suppressed;
};
bool mon_log_allowed(struct mon_log_limit *limit, const char *file, int line);

/* At most five lines in ten seconds per call site. */
#define MON_LOG_LIMITED(level, ...)                                                                                    \
    do {                                                                                                               \
        static struct mon_log_limit limit_;                                                                            \
        if (mon_log_allowed(&limit_, __FILE__, __LINE__)) {                                                            \
            mon_log_write(level, __FILE__, __LINE__, __VA_ARGS__);                                                     \
        }                                                                                                              \
    } while (0)

#endif
