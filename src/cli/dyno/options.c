/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line with the tables: dyno's own options anywhere, a command, and the command's options. Messages
 * have the format of the originals (clap), because scripts match them. */
#include "cli/dyno/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const struct mon_option dyno_globals[] = {
    {.name = "hostname", .argument = "HOST", .fallback = "localhost", .help = "host of the daemon"},
    {.name = "port",
     .argument = "PORT",
     .fallback = "1778",
     .check = mon_option_u64,
     .min = 0,
     .max = 65535,
     .help = "port of the daemon"},
    {.name = "certs-dir",
     .argument = "DIR",
     .fallback = MON_TLS_NO_CERTS,
     .help = "directory with client.crt, client.key, ca.crt and optionally ca.crl; NO_CERTS: plain text"},
    {.name = "certs-passphrase-file",
     .argument = "FILE",
     .help = "file with the passphrase of client.key; default: DYNO_CERTS_PASSPHRASE, then a prompt on the terminal"},
    {.name = "hosts", .argument = "LIST", .help = "query several hosts at once: a,b,n[01-64]"},
    {.name = "hostfile", .argument = "FILE", .help = "the same from a file, one per line; -: standard input"},
    {.name = "slurm-job", .argument = "ID", .help = "query the nodes of a Slurm job; for gputrace also sets --job-id"},
    {.name = "parallel",
     .argument = "N",
     .fallback = "128",
     .check = mon_option_u64,
     .min = 1,
     .max = 4096,
     .help = "maximum number of hosts queried at the same time"},
    {.name = "start-delay",
     .argument = "S",
     .fallback = "15",
     .check = mon_option_u64,
     .min = 1,
     .max = 86400,
     .help = "gputrace on several hosts: start this many seconds from now"},
    {.name = "timeout",
     .argument = "S",
     .fallback = "10",
     .check = mon_option_u64,
     .min = 1,
     .max = 86400,
     .help = "timeout for a connection and for an answer"},
    {.name = "wait", .help = "return when the command is done, not when it is accepted"},
    {.name = "wait-timeout",
     .argument = "S",
     .fallback = "300",
     .check = mon_option_u64,
     .min = 1,
     .max = 604800,
     .help = "maximum time to wait"},
    {.name = "json", .help = "print only one JSON object"},
    {.name = "quiet", .help = "omit the lines about certificates"},
    {.name = "legacy-exit", .help = "exit with 0 even if the daemon refused, as the originals do"},
};
const size_t dyno_global_count = MS_COUNT_OF(dyno_globals);
_Static_assert(MS_COUNT_OF(dyno_globals) <= MON_CONFIG_OPTIONS_MAX, "mon_option_values is too small");

void dyno_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("error: ", stderr);
    vfprintf(stderr, format, args);
    fputs("\n\nFor more information, try '--help'.\n", stderr);
    va_end(args);
}

static char *keep_text(struct dyno_run *run, const char *text, size_t text_b)
{
    char **texts = realloc(run->texts, (run->text_count + 1) * sizeof(*texts));
    char *copy = strndup(text, text_b);
    if (texts == NULL || copy == NULL) {
        fputs("dyno: out of memory\n", stderr);
        exit(DYNO_FAILED);
    }
    run->texts = texts;
    run->texts[run->text_count++] = copy;
    return copy;
}

void dyno_run_free(struct dyno_run *run)
{
    for (size_t i = 0; i < run->text_count; i++) {
        free(run->texts[i]);
    }
    free(run->texts);
    dyno_hosts_free(&run->hosts);
    mon_tls_close(run->tls);
}

const char *dyno_value(const struct dyno_run *run, const char *name)
{
    return mon_option_value(dyno_options(run->command), dyno_option_count(run->command), &run->local, name);
}

const char *dyno_global(const struct dyno_run *run, const char *name)
{
    return mon_option_value(dyno_globals, dyno_global_count, &run->global, name);
}

bool dyno_switch(const struct dyno_run *run, const char *name)
{
    return dyno_value(run, name) != NULL;
}

void dyno_set_value(struct dyno_run *run, const char *name, const char *text)
{
    const struct mon_option *options = dyno_options(run->command);
    const struct mon_option *option = mon_option_find(options, dyno_option_count(run->command), name, strlen(name));
    if (option != NULL) {
        run->local.value[option - options] = keep_text(run, text, strlen(text));
    }
}

/* Stores the value of an option. */
static enum dyno_exit store(struct dyno_run *run, const struct mon_option *options, struct mon_option_values *values,
                            const struct mon_option *option, const char *text)
{
    size_t i = (size_t)(option - options);
    struct ms_buffer out = {0};
    char why[MON_CONFIG_WHY_B];
    if (values->given[i]) {
        dyno_error("the argument '--%s%s%s%s' cannot be used multiple times", option->name,
                   option->argument != NULL ? " <" : "", option->argument != NULL ? option->argument : "",
                   option->argument != NULL ? ">" : "");
        return DYNO_USAGE;
    }
    values->given[i] = true;
    if (option->argument == NULL) {
        values->value[i] = "true";
        return DYNO_OK;
    }
    if (option->check == NULL) {
        values->value[i] = keep_text(run, text, strlen(text));
        return DYNO_OK;
    }
    enum dyno_exit status = DYNO_OK;
    if (option->check(option, text, &out, why) != 0) {
        dyno_error("invalid value '%s' for '--%s <%s>': %s", text, option->name, option->argument, why);
        status = DYNO_USAGE;
    } else {
        values->value[i] = keep_text(run, out.s != NULL ? out.s : "", out.used);
    }
    ms_buffer_free(&out);
    return status;
}

/* Parses one argument that starts with two dashes; advances *i if its value is the next argument. */
static enum dyno_exit parse_option(struct dyno_run *run, int argc, char **argv, int *i)
{
    const char *name = argv[*i] + 2;
    size_t name_b = strcspn(name, "=");
    const struct mon_option *options = dyno_globals, *option = NULL;
    struct mon_option_values *values = &run->global;
    if (run->command != NULL) {
        options = dyno_options(run->command);
        values = &run->local;
        option = mon_option_find(options, dyno_option_count(run->command), name, name_b);
    }
    if (option == NULL) {
        options = dyno_globals;
        values = &run->global;
        option = mon_option_find(options, dyno_global_count, name, name_b);
    }
    if (option == NULL) {
        dyno_error("unexpected argument '--%.*s' found", (int)name_b, name);
        return DYNO_USAGE;
    }
    const char *value = name[name_b] == '=' ? name + name_b + 1 : NULL;
    if (option->argument == NULL && value != NULL) {
        dyno_error("unexpected value '%s' for '--%s' found; no more were expected", value, option->name);
        return DYNO_USAGE;
    }
    if (option->argument != NULL && value == NULL) {
        if (*i + 1 >= argc) {
            dyno_error("a value is required for '--%s <%s>' but none was supplied", option->name, option->argument);
            return DYNO_USAGE;
        }
        value = argv[++*i];
    }
    return store(run, options, values, option, value);
}

static enum dyno_exit check_required(const struct dyno_run *run)
{
    for (size_t i = 0; i < dyno_option_count(run->command); i++) {
        const struct mon_option *option = &dyno_options(run->command)[i];
        if (option->required && run->local.value[i] == NULL) {
            dyno_error("the following required arguments were not provided:\n  --%s <%s>", option->name,
                       option->argument);
            return DYNO_USAGE;
        }
    }
    return DYNO_OK;
}

static enum dyno_exit find_hosts(struct dyno_run *run)
{
    static const struct {
        const char *option;
        int (*find)(struct dyno_hosts *hosts, const char *text, char why[DYNO_WHY_B]);
    } sources[] = {{"hosts", dyno_hosts_expand}, {"hostfile", dyno_hosts_file}, {"slurm-job", dyno_hosts_slurm}};
    char why[DYNO_WHY_B];
    for (size_t i = 0; i < MS_COUNT_OF(sources); i++) {
        const char *text = dyno_global(run, sources[i].option);
        if (text == NULL) {
            continue;
        }
        run->cluster = true;
        if (sources[i].find(&run->hosts, text, why) != 0) {
            dyno_error("%s", why);
            return DYNO_USAGE;
        }
    }
    if (!run->cluster) {
        /* A single host name is not a pattern. */
        struct dyno_host *host = calloc(1, sizeof(*host));
        char *name = strdup(dyno_global(run, "hostname"));
        if (host == NULL || name == NULL) {
            free(host);
            free(name);
            return DYNO_FAILED;
        }
        host->name = name;
        run->hosts = (struct dyno_hosts){host, 1, 1};
    }
    if (run->hosts.count == 0) {
        dyno_error("--hostfile contains no host");
        return DYNO_USAGE;
    }
    dyno_hosts_unique(&run->hosts);
    return DYNO_OK;
}

static void take_globals(struct dyno_run *run)
{
    const char *legacy = getenv("DYNO_LEGACY_EXIT");
    run->port = (uint16_t)atoi(dyno_global(run, "port"));
    run->timeout_ms = (unsigned)atoi(dyno_global(run, "timeout")) * 1000;
    run->wait_timeout_ms = (unsigned)atoi(dyno_global(run, "wait-timeout")) * 1000;
    run->parallel = (unsigned)atoi(dyno_global(run, "parallel"));
    run->json = dyno_global(run, "json") != NULL;
    run->quiet = dyno_global(run, "quiet") != NULL;
    run->wait = dyno_global(run, "wait") != NULL;
    run->legacy_exit = dyno_global(run, "legacy-exit") != NULL || (legacy != NULL && strcmp(legacy, "1") == 0);
}

static const struct dyno_command *find_command(const char *name)
{
    for (size_t i = 0; i < dyno_command_count; i++) {
        if (strcmp(dyno_commands[i]->name, name) == 0) {
            return dyno_commands[i];
        }
    }
    return NULL;
}

/* Handles an argument that is not an option: the command, or "help" before one. */
static enum dyno_exit parse_word(struct dyno_run *run, const char *word, enum dyno_action *action)
{
    if (run->command == NULL && strcmp(word, "help") == 0) {
        *action = DYNO_HELP;
        return DYNO_OK;
    }
    if (run->command != NULL) {
        dyno_error("unexpected argument '%s' found", word);
        return DYNO_USAGE;
    }
    run->command = find_command(word);
    if (run->command == NULL) {
        dyno_error("unrecognized subcommand '%s'", word);
        return DYNO_USAGE;
    }
    return DYNO_OK;
}

enum dyno_exit dyno_parse(int argc, char **argv, struct dyno_run *run, enum dyno_action *action)
{
    *action = DYNO_RUN;
    for (int i = 1; i < argc; i++) {
        enum dyno_exit status = DYNO_OK;
        if (strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--help") == 0) {
            *action = DYNO_HELP;
        } else if (run->command == NULL && (strcmp(argv[i], "-V") == 0 || strcmp(argv[i], "--version") == 0)) {
            *action = DYNO_VERSION_OF_CLI;
            return DYNO_OK;
        } else if (argv[i][0] == '-' && argv[i][1] == '-') {
            status = parse_option(run, argc, argv, &i);
        } else {
            status = parse_word(run, argv[i], action);
        }
        if (status != DYNO_OK) {
            return status;
        }
    }
    if (*action != DYNO_RUN) {
        return DYNO_OK;
    }
    if (run->command == NULL) {
        dyno_error("'dyno' requires a subcommand but one was not provided");
        return DYNO_USAGE;
    }
    enum dyno_exit status = check_required(run);
    if (status == DYNO_OK) {
        take_globals(run);
        status = find_hosts(run);
    }
    return status;
}
