/* SPDX-License-Identifier: Apache-2.0 */
/* Help texts and the manual page, printed from the tables of commands, options and SOFTNPU_ variables. */
#include "cli/softnpu/cli.h"

#include "base/roff.h"
#include "softnpu/hal/settings.h"

#include <stdio.h>
#include <string.h>

static const char *const examples[] = {
    "softnpu run -- acl-hello",
    "softnpu run --devices 2 --hbm 8G -- acl-train --devices 2 --steps 30",
    "softnpu run --fault 'oom@call=100' -- ./my_program",
};

static const struct {
    int status;
    const char *meaning;
} exits[] = {
    {SNPU_EXIT_OK, "success"},
    {SNPU_EXIT_FAILED, "failure; the message on standard error says why"},
    {SNPU_EXIT_USAGE, "wrong command line"},
    {SNPU_EXIT_NOT_EXECUTABLE, "run: PROGRAM cannot be executed"},
    {SNPU_EXIT_NOT_FOUND, "run: PROGRAM was not found"},
};

void snpu_print_help(void)
{
    puts("softnpu - a software NPU: CANN programs run unchanged on the CPU\n\nusage: softnpu COMMAND [options]\n");
    for (size_t i = 0; i < snpu_command_count; i++) {
        printf("  %-6s %s\n", snpu_commands[i].name, snpu_commands[i].summary);
    }
    puts("\nTry:");
    for (size_t i = 0; i < MS_COUNT_OF(examples); i++) {
        printf("  %s\n", examples[i]);
    }
    puts("  softnpu COMMAND --help");
}

static void print_option(const struct snpu_option *option)
{
    char head[32];
    snprintf(head, sizeof(head), "--%s%s%s", option->name, option->argument ? " " : "",
             option->argument ? option->argument : "");
    const char *line = option->help;
    for (;;) {
        const char *end = strchrnul(line, '\n');
        printf("  %-20s %.*s\n", head, (int)(end - line), line);
        if (*end == '\0') {
            break;
        }
        head[0] = '\0';
        line = end + 1;
    }
}

void snpu_print_command_help(const struct snpu_command *command)
{
    printf("usage: softnpu %s %s\n\n%s\n\noptions:\n", command->name, command->usage, command->details);
    for (size_t i = 0; i < SNPU_OPT_COUNT; i++) {
        if ((snpu_options[i].commands & command->bit) != 0) {
            print_option(&snpu_options[i]);
        }
    }
}

/* ---- manual page ---- */

static void roff_line(const char *text)
{
    ms_roff(stdout, text, strlen(text));
    putchar('\n');
}

static void roff_term(const char *term, const char *meaning)
{
    fputs(".TP\n.B ", stdout);
    roff_line(term);
    roff_line(meaning);
}

static void roff_option(const struct snpu_option *option)
{
    printf(".TP\n\\fB\\-\\-%s\\fR", option->name);
    if (option->argument != NULL) {
        printf(" \\fI%s\\fR", option->argument);
    }
    fputs("\n(", stdout);
    const char *comma = "";
    for (size_t i = 0; i < snpu_command_count; i++) {
        if ((snpu_commands[i].bit & option->commands) != 0) {
            printf("%s%s", comma, snpu_commands[i].name);
            comma = ", ";
        }
    }
    fputs(") ", stdout);
    size_t first_b = strcspn(option->help, "\n");
    ms_roff(stdout, option->help, first_b);
    putchar('\n');
    if (option->help[first_b] != '\0') {
        puts(".nf");
        roff_line(option->help + first_b + 1);
        puts(".fi");
    }
}

void snpu_print_man(void)
{
    puts(".TH SOFTNPU 1 \"\" \"npuscope " NPUSCOPE_VERSION "\" \"User Commands\"\n"
         ".SH NAME\nsoftnpu \\- run CANN programs unchanged on software NPUs\n"
         ".SH SYNOPSIS\n.B softnpu\n\\fIcommand\\fR [\\fIoptions\\fR]\n.br\n.B softnpu\n\\-\\-help | \\-\\-version\n"
         ".SH DESCRIPTION\n.B softnpu\nruns programs written for Ascend NPUs on the CPU. It provides libraries under\n"
         "the vendor's names, which a program loads in place of the driver and the CANN runtime. Processes of one\n"
         "user that name the same machine share its devices and their memory.\n.SH COMMANDS");
    for (size_t i = 0; i < snpu_command_count; i++) {
        const struct snpu_command *command = &snpu_commands[i];
        printf(".SS softnpu %s ", command->name);
        roff_line(command->usage);
        printf("%c", command->summary[0] - 'a' + 'A');
        ms_roff(stdout, command->summary + 1, strlen(command->summary) - 1);
        puts(".");
        roff_line(command->details);
    }
    puts(".SH OPTIONS\nThe commands that take an option are in parentheses.");
    for (size_t i = 0; i < SNPU_OPT_COUNT; i++) {
        roff_option(&snpu_options[i]);
    }
    puts(".SH EXIT STATUS\nAfter\n.B softnpu run\nhas started PROGRAM, the exit status is the program's own.\n"
         "Otherwise:");
    for (size_t i = 0; i < MS_COUNT_OF(exits); i++) {
        char status[16];
        snprintf(status, sizeof(status), "%d", exits[i].status);
        roff_term(status, exits[i].meaning);
    }
    puts(".SH ENVIRONMENT\nAn option of the command line overrides its variable.");
    const char *meaning, *name;
    for (size_t i = 0; (name = snpu_settings_name(i, &meaning)) != NULL; i++) {
        roff_term(name, meaning);
    }
    roff_term("SOFTNPU_FAULT", "faults to inject, as --fault");
    roff_term("SOFTNPU_HOME", "toolkit tree to use, if it is not where softnpu is installed");
    roff_term("ASCEND_RT_VISIBLE_DEVICES", "devices that the program sees, in this order, as --visible");
    puts(".SH FILES\n.TP\n.I /dev/shm/softnpu\\-<uid>\\-<machine>\nstate that the processes on a machine share\n"
         ".SH EXAMPLES\n.nf");
    for (size_t i = 0; i < MS_COUNT_OF(examples); i++) {
        roff_line(examples[i]);
    }
    puts(".fi\n.SH SEE ALSO\n.BR msmemscope (1)");
}
