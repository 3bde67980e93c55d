/* SPDX-License-Identifier: Apache-2.0 */
/* dyno: an invocation, the table of commands, and what the files of this folder offer each other.
 *
 * An invocation is parsed once (options.c), then carried out on each host (fanout.c), in threads that only read it, and
 * shown by the main thread: as the originals' text for one host (output.c), as a table for several (table.c), as JSON.
 */
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

/* Exit statuses: X(value, name, word in tables and JSON, meaning). Documented from here. */
#define DYNO_EXIT_TABLE(X)                                                                                             \
    X(0, OK, "ok", "the command took effect, or the question was answered")                                            \
    X(1, FAILED, "failed",                                                                                             \
      "an error at run time: no answer, a failed request, gputrace --fail-on-no-process without a match")              \
    X(2, USAGE, "usage", "wrong options")                                                                              \
    X(3, INEFFECTIVE, "ineffective", "the daemon refused the command, or nothing matched")                             \
    X(4, UNDECIDED, "unknown", "the daemon could not tell whether the command takes effect")                           \
    X(5, SOME_HOSTS, "some failed", "several hosts were asked and at least one did not succeed")                       \
    X(6, NOT_DONE, "not done", "--wait: accepted, but not done in time, or its processes have ended")                  \
    X(101, CONNECT, "unreachable",                                                                                     \
      "the daemon cannot be reached, or a certificate, key or revocation list is not accepted")

#define X(value, name, word, meaning) DYNO_##name = value,
enum dyno_exit { DYNO_EXIT_TABLE(X) };
#undef X
const char *dyno_exit_word(enum dyno_exit status);

struct dyno_run;
struct dyno_result;

/* A column of the table for several hosts: a key of the answer. */
struct dyno_column {
    const char *title, *key;
};

struct dyno_command {
    const char *name, *summary, *details, *example;
    const struct mon_config_command *config; /* its options and what it makes of them; NULL: no configuration */
    const struct mon_option *own;            /* options of a command without */
    size_t own_count;
    bool upstream; /* prints as upstream's dyno does */
    const struct dyno_column *columns;
    size_t column_count;
    enum dyno_exit (*check)(struct dyno_run *run); /* of options against each other; NULL: nothing to check */
    void (*request)(const struct dyno_run *run, const char *host, struct ms_buffer *out);
    enum dyno_exit (*judge)(const struct dyno_run *run, const json_t *answer);
    void (*report)(const struct dyno_run *run, const json_t *answer); /* text after the answer; NULL: none */
    /* --wait. done: whether a process is finished with its command, from its entry in the daemon's status; NULL: there is
     * nothing to wait for. Daemons without entries for processes report one state, under state_key; state_done decides
     * from the current state and whether it was ever active (Ready or Running) while we waited. */
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
    bool cluster; /* hosts were listed, even if it is one */
    bool json, quiet, wait, legacy_exit;
    uint16_t port;
    unsigned timeout_ms, wait_timeout_ms, parallel;
    struct mon_tls *tls;
    char **texts; /* values in their canonical form */
    size_t text_count;
};

/* What became of one host. */
struct dyno_result {
    const struct dyno_host *host;
    enum dyno_exit status;
    struct ms_buffer answer;         /* as it came */
    json_t *json;                    /* parsed; NULL: no answer, or no JSON */
    char why[DYNO_CONNECT_WHY_B];    /* "" if all is well */
    char waited[DYNO_CONNECT_WHY_B]; /* what --wait saw */
    double seconds;
};

/* ---- options.c ---- */

/* What the command line asks for besides a run. */
enum dyno_asked { DYNO_RUN, DYNO_HELP, DYNO_VERSION_OF_CLI };
/* 0 and *asked, or DYNO_USAGE after a message. run->command may be NULL with DYNO_HELP. */
enum dyno_exit dyno_parse(int argc, char **argv, struct dyno_run *run, enum dyno_asked *asked);
void dyno_run_free(struct dyno_run *run);
const char *dyno_value(const struct dyno_run *run, const char *name); /* of the command, or its default, or NULL */
const char *dyno_global(const struct dyno_run *run, const char *name);
bool dyno_switch(const struct dyno_run *run, const char *name);
/* Replaces a value of the command; the text is copied. */
void dyno_set_value(struct dyno_run *run, const char *name, const char *text);
void dyno_error(const char *format, ...) MS_PRINTF(1, 2);

/* ---- on_demand.c: what the commands with a configuration share ---- */
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
void dyno_say(void *context, enum mon_say_level level, const char *text); /* as mon_say.line; context: the run */
void dyno_print_help(const struct dyno_command *command);                 /* NULL: of dyno itself */
void dyno_print_man(void);
void dyno_print_markdown(void);
void dyno_print_bash(void);
void dyno_print_zsh(void);

#endif
