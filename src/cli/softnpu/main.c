/* SPDX-License-Identifier: Apache-2.0 */
/* softnpu: run, look at and account for software NPUs. This file holds the table of commands and the help. */
#include "cli/softnpu/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct command {
    const char *name;
    enum command_bit bit;
    int (*run)(int argc, char **argv);
    const char *usage;
    const char *summary;
    const char *details;
} commands[] = {
    {"run", CMD_RUN, cmd_run, "[options] [--] PROGRAM [ARGUMENT]...", "run a program on software NPUs",
     "Sets the library path and environment of a CANN toolkit and becomes PROGRAM, so that signals and the exit status\n"
     "are the program's own. 127: PROGRAM was not found, 126: it cannot be executed, 2: wrong options."},
    {"env", CMD_ENV, cmd_env, "[options]", "print the same environment as shell exports",
     "Use it as: eval \"$(softnpu env --devices 4)\""},
    {"info", CMD_INFO, cmd_info, "[options]", "show devices, capacity, users and coverage",
     "Devices and processes are those of one machine (--machine), a set of devices that processes of one user share."},
    {"top", CMD_TOP, cmd_top, "[options]", "watch devices, processes and streams",
     "Full screen on a terminal (q quits), one report per interval with --batch or when the output is not a terminal."},
    {"clean", CMD_CLEAN, cmd_clean, "[options]", "remove machines that nobody uses",
     "A machine is a small file in /dev/shm that stays when its last process ends. Removes those of this user without a\n"
     "living process, or, with --machine, that one alone (1: somebody uses it)."},
};

void cli_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("softnpu: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

static void print_help(void)
{
    puts("softnpu - a software NPU: CANN programs run unchanged on the CPU\n\nusage: softnpu COMMAND [options]\n");
    for (size_t i = 0; i < MS_COUNT_OF(commands); i++) {
        printf("  %-6s %s\n", commands[i].name, commands[i].summary);
    }
    puts("\nTry:\n"
         "  softnpu run -- acl-hello\n"
         "  softnpu run --devices 2 --hbm 8G -- acl-train --devices 2 --steps 30\n"
         "  softnpu run --fault 'oom@call=100' -- ./my_program\n"
         "  softnpu COMMAND --help");
}

static void print_command_help(const struct command *c)
{
    printf("usage: softnpu %s %s\n\n%s\n\noptions:\n", c->name, c->usage, c->details);
    cli_print_options(c->bit);
}

int main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        print_help();
        return argc < 2 ? CLI_USAGE : CLI_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("softnpu " NPUSCOPE_VERSION);
        return CLI_OK;
    }
    for (size_t i = 0; i < MS_COUNT_OF(commands); i++) {
        if (strcmp(argv[1], commands[i].name) != 0) {
            continue;
        }
        if (argc > 2 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0)) {
            print_command_help(&commands[i]);
            return CLI_OK;
        }
        return commands[i].run(argc - 1, argv + 1);
    }
    cli_error("unknown command '%s'; 'softnpu --help' lists them", argv[1]);
    return CLI_USAGE;
}
