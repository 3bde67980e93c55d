/* SPDX-License-Identifier: Apache-2.0 */
/* dyno: the command line client of dynolog. This file has the table of commands and the main sequence: parse, check,
 * load certificates, query every host, show the results. */
#include "cli/dyno/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

const struct dyno_command *const dyno_commands[] = {
    &dyno_status,   &dyno_version,    &dyno_nputrace,    &dyno_npu_monitor,
    &dyno_gputrace, &dyno_dcgm_pause, &dyno_dcgm_resume, &dyno_cancel,
};
const size_t dyno_command_count = MS_COUNT_OF(dyno_commands);

/* `dyno completion SHELL`, and the pages that the build generates from the tables. */
static int generate(const char *form)
{
    static const struct {
        const char *form;
        void (*print)(void);
    } forms[] = {
        {"bash", dyno_print_bash}, {"zsh", dyno_print_zsh}, {"man", dyno_print_man}, {"markdown", dyno_print_markdown}};
    for (size_t i = 0; form != NULL && i < MS_COUNT_OF(forms); i++) {
        if (strcmp(forms[i].form, form) == 0) {
            forms[i].print();
            return DYNO_OK;
        }
    }
    dyno_error("'dyno completion' supports bash and zsh");
    return DYNO_USAGE;
}

static enum dyno_exit open_tls(struct dyno_run *run)
{
    struct mon_tls_options options = {
        .side = MON_TLS_CLIENT,
        .dir = dyno_global(run, "certs-dir"),
        .passphrase_file = dyno_global(run, "certs-passphrase-file"),
        .passphrase_env = "DYNO_CERTS_PASSPHRASE",
        .prompt = true,
        .say = {dyno_say, run},
    };
    char why[MON_TLS_WHY_B];
    if (strcmp(options.dir, MON_TLS_NO_CERTS) == 0) {
        return DYNO_OK;
    }
    int rc = mon_tls_open(&options, &run->tls, why);
    if (rc == -ENOTDIR) {
        fprintf(stderr, "Error: CliError(\"%s\")\n", why);
        return DYNO_FAILED;
    }
    if (rc != 0) {
        fprintf(stderr, "Couldn't connect to the server... %s\n", why);
        return DYNO_CONNECT;
    }
    return DYNO_OK;
}

static enum dyno_exit sum_up(const struct dyno_run *run, const struct dyno_result *results)
{
    if (!run->cluster) {
        enum dyno_exit status = results[0].status;
        bool refused = status == DYNO_INEFFECTIVE || status == DYNO_UNDECIDED;
        return refused && run->legacy_exit ? DYNO_OK : status;
    }
    for (size_t i = 0; i < run->hosts.count; i++) {
        if (results[i].status != DYNO_OK) {
            return DYNO_SOME_HOSTS;
        }
    }
    return DYNO_OK;
}

static enum dyno_exit carry_out(struct dyno_run *run)
{
    dyno_preamble(run);
    enum dyno_exit status = run->command->check != NULL ? run->command->check(run) : DYNO_OK;
    if (status == DYNO_OK) {
        status = open_tls(run);
    }
    if (status != DYNO_OK) {
        return status;
    }
    struct dyno_result *results = calloc(run->hosts.count, sizeof(*results));
    if (results == NULL) {
        fputs("dyno: out of memory\n", stderr);
        return DYNO_FAILED;
    }
    dyno_print_config(run);
    fflush(stdout);
    dyno_fan_out(run, results);
    if (run->json) {
        dyno_print_json(run, results);
    } else if (run->cluster) {
        dyno_print_table(run, results);
    } else {
        dyno_print_result(run, &results[0]);
    }
    status = sum_up(run, results);
    for (size_t i = 0; i < run->hosts.count; i++) {
        ms_buffer_free(&results[i].answer);
        json_decref(results[i].json);
    }
    free(results);
    return status;
}

int main(int argc, char **argv)
{
    struct dyno_run run = {0};
    enum dyno_action action;
    signal(SIGPIPE, SIG_IGN);
    json_object_seed(0); /* before threads are started */
    if (argc >= 2 && strcmp(argv[1], "completion") == 0) {
        return generate(argc > 2 ? argv[2] : NULL);
    }
    enum dyno_exit status = dyno_parse(argc, argv, &run, &action);
    if (status == DYNO_OK && action == DYNO_HELP) {
        dyno_print_help(run.command);
    } else if (status == DYNO_OK && action == DYNO_VERSION_OF_CLI) {
        puts("dyno " NPUSCOPE_VERSION);
    } else if (status == DYNO_OK) {
        status = carry_out(&run);
    }
    dyno_run_free(&run);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "dyno: cannot write to standard output\n");
        status = status == DYNO_OK ? DYNO_FAILED : status;
    }
    return (int)status;
}
