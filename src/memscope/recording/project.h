/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of a recorded process: msmemscope_<PID>_<time>_ascend below the output directory, with config.json,
 * msmemscope_logs/, trace/, report.txt without a console, and device_<n>/, which exporters create. */
#ifndef MS_RECORDING_PROJECT_H
#define MS_RECORDING_PROJECT_H

#include "memscope/options/settings.h"

#include <time.h>

#define MS_PROJECT_NAME_B 64
#define MS_TRACE_DIR      "trace"

/* Creates the directory, and trace/ in it. The name is unique: if it is taken, the time in it moves forward. 0 or
 * -errno. */
int ms_project_make(int output, uint32_t pid, char name[MS_PROJECT_NAME_B], int *dirfd, int *tracefd);
int ms_project_open(int output, const char *name, int *dirfd, int *tracefd);
bool ms_project_name_ok(const char *name);

/* YYYYmmddHHMMSS, local time. */
void ms_time_text(time_t time, char out[16]);

/* Writes a file of the project directory, replacing an existing one atomically. 0 or -errno. */
int ms_project_write(int dirfd, const char *name, const char *text, size_t text_b);

/* Reports of analyses that could not be printed without a console. */
#define MS_REPORT_FILE "report.txt"

/* Writes config.json. 0 or -errno. */
int ms_config_json_write(int dirfd, const struct ms_settings *settings);

/* ---- log file: created with its first line ---- */

struct ms_log {
    int dirfd; /* project directory; the caller keeps ownership */
    int fd;    /* -1: no line yet; -2: cannot be created */
    enum ms_log_level level;
    char name[64]; /* relative to the project directory, once created */
};
void ms_log_init(struct ms_log *log, int dirfd, enum ms_log_level level);
/* Writes one line immediately; any thread. Returns true if this call created the file. */
bool ms_log_write(struct ms_log *log, enum ms_log_level level, const char *file, int line, const char *text);
void ms_log_close(struct ms_log *log);

#endif
