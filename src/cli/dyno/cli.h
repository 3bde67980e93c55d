/* SPDX-License-Identifier: Apache-2.0 */
/* dyno: an invocation, the table of commands, and the functions that the files of this folder share.
 *
 * An invocation is parsed once (options.c), then executed on each host (fanout.c) by threads that only read it. The
 * main thread shows the results: as the originals' text for one host (output.c), as a table for several hosts
 * (table.c), or as JSON. */
#ifndef DYNO_CLI_H
#define DYNO_CLI_H

#include "base/buffer.h"
#include "base/macros.h"
#include "cli/dyno/connect.h"
#include "cli/dyno/hosts.h"
#include "monitor/wire/config_text.h"
#include "monitor/wire/tls.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

/* Exit statuses: X(value, name, word in tables and JSON, meaning). The documentation is generated from this table. */
#define DYNO_EXIT_TABLE(X)                                                                                             \
    X(0, OK, "ok", "the command took effect, or the query was answered")                                               \
    X(1, FAILED, "failed",                                                                                             \
      "run-time error: no answer, a failed request, or no match with gputrace --fail-on-no-process")                   \
    X(2, USAGE, "usage", "invalid options")                                                                            \
    X(3, INEFFECTIVE, "ineffective", "the daemon refused the command, or no process matched")                          \
    X(4, UNDECIDED, "unknown", "the daemon does not know whether the command takes effect")                            \
    X(5, SOME_HOSTS, "some failed", "several hosts were queried and at least one failed")                              \
    X(6, NOT_DONE, "not done", "--wait: accepted, but not completed in time, or its processes ended")                  \
    X(101, CONNECT, "unreachable",                                                                                     \
      "the daemon is unreachable, or a certificate, key or revocation list was not accepted")

#define X(value, name, word, meaning) DYNO_##name = value,
enum dyno_exit { DYNO_EXIT_TABLE(X) };
#undef X
const char *dyno_exit_word(enum dyno_exit status);

struct dyno_run;
struct dyno_result;

/* A column of the table for several hosts; its value is a key of the answer. */
struct dyno_column {
    const char *title, *key;
};

struct dyno_command {
    const char *name, *summary, *details, *example;
    const struct mon_config_command *config; /* options and configuration lines; NULL: no configuration */
    const struct mon_option *own;            /* options of a command without configuration */
    size_t own_count;
    bool upstream; /* prints in the format of upstream's dyno */
    const struct dyno_column *columns;
    size_t column_count;
    enum dyno_exit (*check)(struct dyno_run *run); /* checks options in combination; NULL: none */
    void (*request)(const struct dyno_run *run, const char *host, struct ms_buffer *out);
    enum dyno_exit (*judge)(const struct dyno_run *run, const json_t *answer);
    void (*report)(const struct dyno_run *run, const json_t *answer); /* prints text after the answer; NULL: none */
    /* --wait. done: whether a process is finished with its command, from its entry in the daemon's status; NULL: there
     * is nothing to wait for. Daemons without entries for processes report one state, under state_key; state_done
     * decides from the current state and whether it was ever active (Ready or Running) while we waited. */
    bool (*done)(const struct dyno_run *run, const json_t *process, const char *stage);
    const char *state_key;
    bool (*state_done)(const struct dyno_run *run, const char *state, bool was_active);
};

static inline const struct mon_option *dyno_options(const struct dyno_command *command)
{
    return command->config != NULL ? command->config->options : command->own;
}

static inline size_t dyno_option_count(const struct dyno_command *command)
{
    return command->config != NULL ? command->config->option_count : command->own_count;
}

extern const struct dyno_command dyno_status, dyno_version, dyno_nputrace, dyno_npu_monitor, dyno_gputrace,
    dyno_dcgm_pause, dyno_dcgm_resume, dyno_cancel;
extern const struct dyno_command *const dyno_commands[];
extern const size_t dyno_command_count;
extern const struct mon_option dyno_globals[];
extern const size_t dyno_global_count;

struct dyno_run {
    const struct dyno_command *command;
    struct mon_option_values global, local;
    struct dyno_hosts hosts;
    bool cluster; /* hosts were given as a list, even if it has one entry */
    bool json, quiet, wait, legacy_exit;
    uint16_t port;
    unsigned timeout_ms, wait_timeout_ms, parallel;
    struct mon_tls *tls;
    char **texts; /* canonical forms of the values */
    size_t text_count;
};

/* The result for one host. */
struct dyno_result {
    const struct dyno_host *host;
    enum dyno_exit status;
    struct ms_buffer answer;         /* as received */
    json_t *json;                    /* parsed; NULL: no answer, or not JSON */
    char why[DYNO_CONNECT_WHY_B];    /* "" on success */
    char waited[DYNO_CONNECT_WHY_B]; /* last progress seen by --wait */
    double seconds;
};

/* ---- options.c ---- */

/* What to do: run a command, or print help or the version. */
enum dyno_action { DYNO_RUN, DYNO_HELP, DYNO_VERSION_OF_CLI };
/* Sets *action and returns 0, or prints a message and returns DYNO_USAGE. run->command may be NULL with DYNO_HELP. */
enum dyno_exit dyno_parse(int argc, char **argv, struct dyno_run *run, enum dyno_action *action);
void dyno_run_free(struct dyno_run *run);
const char *dyno_value(const struct dyno_run *run, const char *name); /* of the command, or its default, or NULL */
const char *dyno_global(const struct dyno_run *run, const char *name);
bool dyno_switch(const struct dyno_run *run, const char *name);
/* Replaces the value of a command option; copies the text. */
void dyno_set_value(struct dyno_run *run, const char *name, const char *text);
void dyno_error(const char *format, ...) MS_PRINTF(1, 2);

/* ---- on_demand.c: shared by commands with a configuration ---- */
void dyno_on_demand_request(const struct dyno_run *run, const char *host, struct ms_buffer *out);
void dyno_config(const struct dyno_run *run, const char *host, struct ms_buffer *out);
enum dyno_exit dyno_on_demand_judge(const struct dyno_run *run, const json_t *answer);
void dyno_report_matches(const struct dyno_run *run, const json_t *answer, bool memory);
enum dyno_exit dyno_check_log_dir(struct dyno_run *run);

/* ---- wait.c, fanout.c, output.c, table.c, help.c, completion.c ---- */
void dyno_wait(const struct dyno_run *run, struct dyno_result *result);
void dyno_fan_out(const struct dyno_run *run, struct dyno_result *results);
void dyno_preamble(const struct dyno_run *run);
void dyno_print_config(const struct dyno_run *run);
void dyno_print_result(const struct dyno_run *run, const struct dyno_result *result);
void dyno_print_json(const struct dyno_run *run, const struct dyno_result *results);
void dyno_print_table(const struct dyno_run *run, const struct dyno_result *results);
void dyno_say(void *context, enum mon_say_level level, const char *text); /* for mon_say.line; context: the run */
void dyno_print_help(const struct dyno_command *command);                 /* NULL: for dyno itself */
void dyno_print_man(void);
void dyno_print_markdown(void);
void dyno_print_bash(void);
void dyno_print_zsh(void);

#endif
