/* SPDX-License-Identifier: Apache-2.0 */
/* Help, man page and reference page, all generated from the tables of commands, options and exit statuses. */
#include "cli/dyno/cli.h"

#include "base/roff.h"

#include <string.h>

static const struct {
    int value;
    const char *meaning;
} exits[] = {
#define X(value, name, word, meaning) {value, meaning},
    DYNO_EXIT_TABLE(X)
#undef X
};

/* "--name ARGUMENT" */
static void option_head(const struct mon_option *option, char out[64])
{
    snprintf(out, 64, "--%s%s%s", option->name, option->argument != NULL ? " " : "",
             option->argument != NULL ? option->argument : "");
}

/* " (required)", " (default: x)", " [a, b, c]" */
static void option_notes(const struct mon_option *option, char out[320])
{
    size_t n = 0;
    out[0] = '\0';
    if (option->choices != NULL) {
        n += (size_t)snprintf(out, 320, " [");
        for (const char *s = option->choices; *s != '\0' && n < 250; s++) {
            n += (size_t)snprintf(out + n, 320 - n, *s == '|' ? " | " : "%c", *s);
        }
        n += (size_t)snprintf(out + n, 320 - n, "]");
    }
    if (option->required) {
        snprintf(out + n, 320 - n, " (required)");
    } else if (option->fallback != NULL && option->fallback[0] != '\0') {
        snprintf(out + n, 320 - n, " (default: %s)", option->fallback);
    }
}

static void print_options(const struct mon_option *options, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char head[64], notes[320];
        option_head(&options[i], head);
        option_notes(&options[i], notes);
        printf("  %-34s %s%s\n", head, options[i].help, notes);
    }
}

static void print_overview(void)
{
    puts("dyno - command line client of dynolog, the monitoring daemon of a node\n\n"
         "Usage: dyno [OPTIONS] <COMMAND> [COMMAND OPTIONS]\n\nCommands:");
    for (size_t i = 0; i < dyno_command_count; i++) {
        printf("  %-12s %s\n", dyno_commands[i]->name, dyno_commands[i]->summary);
    }
    puts("  completion   print shell completion: bash, zsh\n"
         "  help         show this text, or the help of a command\n\n"
         "Options:");
    print_options(dyno_globals, dyno_global_count);
    puts("  -h, --help                         show this text, or the help of a command\n"
         "  -V, --version                      show the version of dyno\n\nExit status:");
    for (size_t i = 0; i < MS_COUNT_OF(exits); i++) {
        printf("  %-4d %s\n", exits[i].value, exits[i].meaning);
    }
    puts("\nTry:\n  dyno status\n  dyno --hosts 'n[01-64]' status\n  dyno help nputrace");
}

void dyno_print_help(const struct dyno_command *command)
{
    if (command == NULL) {
        print_overview();
        return;
    }
    printf("%s\n\n%s\n\nUsage: dyno [OPTIONS] %s%s\n", command->summary, command->details, command->name,
           dyno_option_count(command) > 0 ? " [COMMAND OPTIONS]\n\nOptions:" : "");
    print_options(dyno_options(command), dyno_option_count(command));
    printf("\nExample:\n");
    for (const char *line = command->example; *line != '\0';) {
        size_t n = strcspn(line, "\n");
        printf("  %.*s\n", (int)n, line);
        line += n + (line[n] != '\0');
    }
    puts("\n'dyno help' lists the options of all commands and the exit statuses.");
}

/* ---- man page ---- */

static void roff(const char *text)
{
    ms_roff(stdout, text, strlen(text));
}

static void roff_options(const struct mon_option *options, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char notes[320];
        option_notes(&options[i], notes);
        fputs(".TP\n.B ", stdout);
        roff("--");
        roff(options[i].name);
        if (options[i].argument != NULL) {
            printf(" \\fI%s\\fR", options[i].argument);
        }
        putchar('\n');
        roff(options[i].help);
        roff(notes);
        putchar('\n');
    }
}

void dyno_print_man(void)
{
    fputs(".TH DYNO 1 \"\" \"npuscope " NPUSCOPE_VERSION "\" \"User Commands\"\n"
          ".SH NAME\n"
          "dyno \\- command line client of dynolog, the monitoring daemon of a node\n"
          ".SH SYNOPSIS\n"
          ".B dyno\n"
          "[\\fIoptions\\fR] \\fIcommand\\fR [\\fIcommand options\\fR]\n"
          ".SH DESCRIPTION\n"
          "Queries the daemons of one or more nodes about running jobs, and makes jobs collect traces and metrics.\n"
          ".SH OPTIONS\n",
          stdout);
    roff_options(dyno_globals, dyno_global_count);
    puts(".SH COMMANDS");
    for (size_t i = 0; i < dyno_command_count; i++) {
        const struct dyno_command *command = dyno_commands[i];
        printf(".SS ");
        roff(command->name);
        putchar('\n');
        roff(command->details);
        puts("\n.PP\n.nf");
        roff(command->example);
        puts("\n.fi");
        roff_options(dyno_options(command), dyno_option_count(command));
    }
    puts(".SS completion\nPrints completion for bash or zsh.\n.SH EXIT STATUS");
    for (size_t i = 0; i < MS_COUNT_OF(exits); i++) {
        printf(".TP\n.B %d\n", exits[i].value);
        roff(exits[i].meaning);
        putchar('\n');
    }
    puts(".SH ENVIRONMENT\n"
         ".TP\n.B DYNO_CERTS_PASSPHRASE\npassphrase of client.key\n"
         ".TP\n.B DYNO_LEGACY_EXIT\n1: same as \\-\\-legacy\\-exit\n"
         ".SH SEE ALSO\n.BR dynolog (8)");
}

/* ---- reference page ---- */

/* A bar must be escaped inside a table. */
static void cell(const char *text)
{
    for (const char *s = text; *s != '\0'; s++) {
        if (*s == '|') {
            putchar('\\');
        }
        putchar(*s);
    }
}

static const char *key_of(const struct dyno_command *command, const char *option)
{
    for (size_t i = 0; command != NULL && command->config != NULL && i < command->config->line_count; i++) {
        const struct mon_config_line *line = &command->config->lines[i];
        if (line->option != NULL && strcmp(line->option, option) == 0) {
            return line->key;
        }
    }
    return NULL;
}

static void markdown_options(const struct dyno_command *command, const struct mon_option *options, size_t count)
{
    bool keys = command != NULL && command->config != NULL;
    printf("| option | meaning |%s\n|---|---|%s\n", keys ? " line |" : "", keys ? "---|" : "");
    for (size_t i = 0; i < count; i++) {
        char head[64], notes[320];
        option_head(&options[i], head);
        option_notes(&options[i], notes);
        printf("| `%s` | ", head);
        cell(options[i].help);
        cell(notes);
        if (keys) {
            const char *key = key_of(command, options[i].name);
            printf(key != NULL ? " | `%s`" : " | ", key);
        }
        puts(" |");
    }
    putchar('\n');
}

void dyno_print_markdown(void)
{
    puts("## Options of every command\n");
    markdown_options(NULL, dyno_globals, dyno_global_count);
    for (size_t i = 0; i < dyno_command_count; i++) {
        const struct dyno_command *command = dyno_commands[i];
        printf("## dyno %s\n\n%s\n\n```sh\n%s\n```\n\n", command->name, command->details, command->example);
        if (dyno_option_count(command) > 0) {
            markdown_options(command, dyno_options(command), dyno_option_count(command));
        }
    }
    puts("## Exit status\n\n| status | meaning |\n|---|---|");
    for (size_t i = 0; i < MS_COUNT_OF(exits); i++) {
        printf("| %d | %s |\n", exits[i].value, exits[i].meaning);
    }
}
