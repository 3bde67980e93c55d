/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by the files of msmemscope, the launcher. It links only libc, so that the user's library paths
 * cannot break it; everything larger is in the collector's program, which is started with a clean environment. */
#ifndef MS_CLI_MSMEMSCOPE_H
#define MS_CLI_MSMEMSCOPE_H

#include "memscope/options/paths.h"

#include <stdbool.h>
#include <sys/types.h>

enum {
    MS_EXIT_USAGE = 2,       /* wrong options, unusable output directory */
    MS_EXIT_TOOL = 125,      /* the recorder could not be started */
    MS_EXIT_NOT_EXEC = 126,  /* the program cannot be executed */
    MS_EXIT_NOT_FOUND = 127, /* the program was not found */
};

/* A line on stderr. */
void cli_say(const char *line);
void cli_error(const char *format, ...) MS_PRINTF(1, 2); /* "[msmemscope] Error: ..." */
void cli_warn(const char *format, ...) MS_PRINTF(1, 2);  /* "[msmemscope] Warn: ..." */

/* ---- home.c: the installation directory ---- */
struct home {
    char lib64[MS_PATH_MAX_B + 1];
    char collector[MS_PATH_MAX_B + 1];
};
bool home_find(const char *argv0, struct home *out);

/* ---- version.c ---- */
void version_print(void);
void banner_print(void); /* on stderr */

/* ---- program.c: finding and checking the program ---- */
struct program {
    char path[MS_PATH_MAX_B + 1];
    char needs_first[256]; /* a library that must be first in LD_PRELOAD (libasan); empty: none */
};
/* 0, or MS_EXIT_NOT_FOUND, MS_EXIT_NOT_EXEC after a message. */
int program_find(const char *name, struct program *out);
void program_inspect(struct program *program); /* warns if it cannot be recorded; sets needs_first */

/* ---- preload.c ---- */
/* Sets LD_PRELOAD for the target. 0, or -1 after a message. */
int preload_set(const struct home *home, const struct program *program);

/* ---- python_path.c ---- */
/* Sets PYTHONPATH so that the target can import this installation's package. 0, or -1 with errno. */
int python_path_set(const struct home *home);

/* ---- target.c ---- */
/* Runs the program as a child in the launcher's process group. in_child is called in the child before exec. 0 with
 * *pid, or -1 with errno. */
int target_start(const char *path, char **argv, void (*in_child)(void *), void *argument, pid_t *pid);
void target_signals_block(void); /* before the first thread and process */
int target_signal_fd(void);      /* readable when a signal is pending */
/* Handles pending signals. Returns true once the target has ended, with its wait status. */
bool target_turn(pid_t pid, int *status);
bool target_interrupted(void); /* the user has asked the launcher to stop waiting */
void target_end_like(int status) __attribute__((noreturn));

/* ---- launch.c ---- */
int launch(const struct home *home, const struct ms_settings *settings, char **argv);

/* ---- command.c ---- */
/* Is this a subcommand (info, recover, export ... followed by a directory)? */
bool command_is(int argc, char **argv);
int command_run(const struct home *home, int argc, char **argv);
int command_compare(const struct home *home, int argc, char **argv);

#endif
