/* SPDX-License-Identifier: Apache-2.0 */
/* Commands on recordings: finds the processes below a directory, shows progress. */
#ifndef MS_CLI_RECORDINGS_H
#define MS_CLI_RECORDINGS_H

#include "trace/reader.h"

/* One recorded process. Descriptors are valid during the callback. */
struct recording {
    const char *path; /* its project directory */
    int dirfd, tracefd;
    const struct ms_process *process;
};

/* Calls fn for each process of DIR: an output directory, the directory of one process, or a trace directory. Prints
 * unreadable files on stderr, with the reason. Returns the number of processes, or -1 if there is none, or one that is
 * unreadable; stops when fn returns nonzero. */
int recordings_each(const char *dir, int (*fn)(void *argument, const struct recording *recording), void *argument);

/* A line on a terminal, at most ten times a second, after the first second; nothing if stderr is not a terminal. */
void progress_show(const char *what, uint64_t done, uint64_t total);
void progress_end(void);

int cmd_info(int argc, char **argv);
int cmd_export(int argc, char **argv); /* and recover */
int cmd_compare(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_query(int argc, char **argv);

/* ---- supervise.c ---- */
int cmd_supervise(const char *session);

#endif
