/* SPDX-License-Identifier: Apache-2.0 */
/* Help texts, printed from the tables of commands and options. */
#include "cli/softnpu/cli.h"

#include <stdio.h>
#include <string.h>

static const char *const examples[] = {
    "softnpu run -- acl-hello",
    "softnpu run --devices 2 --hbm 8G -- acl-train --devices 2 --steps 30",
    "softnpu run --fault 'oom@call=100' -- ./my_program",
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
