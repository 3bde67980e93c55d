/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the softnpu command. */
#ifndef SOFTNPU_CLI_H
#define SOFTNPU_CLI_H

#include "base/macros.h"

#include <stdbool.h>
#include <stddef.h>

/* Exit statuses; 126 and 127 as in shells. */
enum {
    SNPU_EXIT_OK = 0,
    SNPU_EXIT_FAILED = 1,
    SNPU_EXIT_USAGE = 2,
    SNPU_EXIT_NOT_EXECUTABLE = 126,
    SNPU_EXIT_NOT_FOUND = 127
};

/* ---- main.c: the table of commands ---- */
enum snpu_command_bit { SNPU_CMD_RUN = 1, SNPU_CMD_ENV = 2, SNPU_CMD_INFO = 4, SNPU_CMD_TOP = 8, SNPU_CMD_CLEAN = 16 };

struct snpu_command {
    const char *name;
    enum snpu_command_bit bit;
    int (*run)(int argc, char **argv);
    const char *usage;
    const char *summary;
    const char *details;
};
extern const struct snpu_command snpu_commands[];
extern const size_t snpu_command_count;

/* ---- error.c ---- */
void snpu_cli_error(const char *format, ...) MS_PRINTF(1, 2);

/* ---- options.c: one table for all commands ---- */
enum snpu_option_id {
    SNPU_OPT_DEVICES,
    SNPU_OPT_HBM,
    SNPU_OPT_SOC,
    SNPU_OPT_CORES,
    SNPU_OPT_VISIBLE,
    SNPU_OPT_FAULT,
    SNPU_OPT_MACHINE,
    SNPU_OPT_JSON,
    SNPU_OPT_COVERAGE,
    SNPU_OPT_BATCH,
    SNPU_OPT_INTERVAL,
    SNPU_OPT_HELP,
    SNPU_OPT_COUNT
};

struct snpu_option {
    const char *name;
    const char *argument;                      /* NULL: none */
    unsigned commands;                         /* enum snpu_command_bit */
    const char *env;                           /* variable that it sets; NULL: none */
    int (*check)(const char *text, char *why); /* NULL: by the table of SOFTNPU_ variables */
    const char *help;                          /* further lines are a list */
};
extern const struct snpu_option snpu_options[SNPU_OPT_COUNT];

struct snpu_option_values {
    const char *value[SNPU_OPT_COUNT]; /* NULL: not given; "" for options without argument */
};

/* Parses and checks options up to the first other word or "--". Returns the index of the first remaining word, or -1
 * after printing an error. */
int snpu_cli_parse(enum snpu_command_bit command, int argc, char **argv, struct snpu_option_values *out);

/* ---- help.c ---- */
void snpu_print_help(void);
void snpu_print_command_help(const struct snpu_command *command);
void snpu_print_man(void); /* softnpu(1), from the tables */

/* ---- home.c ---- */
/* Root of the toolkit tree (lib64, include, opp) that belongs to this command; NULL after printing an error. */
const char *snpu_cli_home(void);

/* Calls emit for every variable that a program on softnpu needs, in order; stops at the first non-zero result. Returns
 * an exit status: 0, or SNPU_EXIT_FAILED after printing an error. */
int snpu_cli_environment(const struct snpu_option_values *options, int (*emit)(const char *name, const char *value));

/* ---- commands ---- */
int snpu_cmd_run(int argc, char **argv);
int snpu_cmd_env(int argc, char **argv);
int snpu_cmd_info(int argc, char **argv);
int snpu_cmd_top(int argc, char **argv);
int snpu_cmd_clean(int argc, char **argv);

#endif
