/* SPDX-License-Identifier: Apache-2.0 */
/* The softnpu command: what its parts share. */
#ifndef SOFTNPU_CLI_H
#define SOFTNPU_CLI_H

#include "base/macros.h"

#include <stdbool.h>
#include <stddef.h>

/* Exit statuses, as shells and scripts expect them. */
enum { CLI_OK = 0, CLI_FAILED = 1, CLI_USAGE = 2, CLI_NOT_EXECUTABLE = 126, CLI_NOT_FOUND = 127 };

/* ---- options.c: one table for all commands ---- */
enum option {
    OPT_DEVICES,
    OPT_HBM,
    OPT_SOC,
    OPT_CORES,
    OPT_VISIBLE,
    OPT_FAULT,
    OPT_MACHINE,
    OPT_JSON,
    OPT_COVERAGE,
    OPT_BATCH,
    OPT_INTERVAL,
    OPT_HELP,
    OPT_COUNT
};

enum command_bit { CMD_RUN = 1, CMD_ENV = 2, CMD_INFO = 4, CMD_TOP = 8, CMD_CLEAN = 16 };

struct options {
    const char *value[OPT_COUNT]; /* NULL: not given; "" for options without argument */
};

/* Reads options up to the first word that is none (or "--"), returns the index of what follows, or -1 after printing
 * what is wrong. Values are checked. */
int cli_parse(enum command_bit command, int argc, char **argv, struct options *out);
void cli_print_options(enum command_bit command);

/* Environment variable that an option sets, or NULL. */
const char *cli_option_env(enum option opt);

/* ---- home.c ---- */
/* Root of the toolkit tree (lib64, include, opp) that belongs to this command; NULL after printing why. */
const char *cli_home(void);

/* Calls emit for every variable that a program on softnpu needs, in order; stops at the first non-zero result. Exit
 * status: 0, or CLI_FAILED after printing why. */
int cli_environment(const struct options *options, int (*emit)(const char *name, const char *value));

/* ---- commands ---- */
int cmd_run(int argc, char **argv);
int cmd_env(int argc, char **argv);
int cmd_info(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_clean(int argc, char **argv);

void cli_error(const char *format, ...) MS_PRINTF(1, 2);

#endif
