/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of a recorded process: msmemscope_<PID>_<time>_ascend below the output directory, with config.json,
 * msmemscope_logs/, trace/, report.txt where there is no console, and, made by the exporters, device_<n>/. */
#ifndef MS_RECORDING_PROJECT_H
#define MS_RECORDING_PROJECT_H

#include "memscope/options/settings.h"

#include <time.h>

#define MS_PROJECT_NAME_B 64
#define MS_TRACE_DIR      "trace"

/* Makes the directory and trace/ in it; nobody else has it: a name that is taken moves the time forward. 0 or -errno.
 */
int ms_project_make(int output, uint32_t pid, char name[MS_PROJECT_NAME_B], int *dirfd, int *tracefd);
int ms_project_open(int output, const char *name, int *dirfd, int *tracefd);
bool ms_project_name_ok(const char *name);

/* YYYYmmddHHMMSS, local time. */
void ms_time_text(time_t time, char out[16]);

/* A file of the project directory, replaced as a whole. 0 or -errno. */
int ms_project_write(int dirfd, const char *name, const char *text, size_t text_b);

/* What could not be printed, because nobody is there to see it: leaks and fluctuation. */
#define MS_REPORT_FILE "report.txt"

/* config.json. 0 or -errno. */
int ms_config_json_write(int dirfd, const struct ms_settings *settings);

/* ---- log file: made with its first line ---- */

struct ms_log {
    int dirfd; /* project directory; the owner's */
    int fd;    /* -1: no line yet; -2: cannot be made */
    enum ms_log_level level;
    char name[64]; /* relative to the project directory, once made */
};
void ms_log_init(struct ms_log *log, int dirfd, enum ms_log_level level);
/* One line, written at once; from any thread. Returns true if this call made the file. */
bool ms_log_write(struct ms_log *log, enum ms_log_level level, const char *file, int line, const char *text);
void ms_log_close(struct ms_log *log);

#endif
