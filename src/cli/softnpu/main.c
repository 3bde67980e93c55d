/* SPDX-License-Identifier: Apache-2.0 */
/* softnpu: runs programs on software NPUs and shows their state. This file holds the table of commands. */
#include "cli/softnpu/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct snpu_command snpu_commands[] = {
    {"run", SNPU_CMD_RUN, snpu_cmd_run, "[options] [--] PROGRAM [ARGUMENT]...", "run a program on software NPUs",
     "Sets up the library path and environment of a CANN toolkit and executes PROGRAM in place of softnpu, so that\n"
     "signals and the exit status are the program's own. 127: PROGRAM not found, 126: not executable, 2: usage error."},
    {"env", SNPU_CMD_ENV, snpu_cmd_env, "[options]", "print the same environment as shell exports",
     "Example: eval \"$(softnpu env --devices 4)\""},
    {"info", SNPU_CMD_INFO, snpu_cmd_info, "[options]", "show devices, capacity, processes and coverage",
     "Shows the devices and processes of one machine (--machine): a set of devices shared by processes of one user."},
    {"top", SNPU_CMD_TOP, snpu_cmd_top, "[options]", "monitor devices, processes and streams",
     "Full screen on a terminal (q quits); one report per interval with --batch or if the output is not a terminal."},
    {"clean", SNPU_CMD_CLEAN, snpu_cmd_clean, "[options]", "remove unused machines",
     "A machine is a small file in /dev/shm that remains when its last process ends. Removes this user's machines\n"
     "without a living process, or only the one named by --machine (exit status 1 if it is in use)."},
};
const size_t snpu_command_count = MS_COUNT_OF(snpu_commands);

int main(int argc, char **argv)
{
    if (argc < 2 || strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        if (argc > 2 && strcmp(argv[2], "--man") == 0) { /* for the build; not in the help */
            snpu_print_man();
        } else {
            snpu_print_help();
        }
        return argc < 2 ? SNPU_EXIT_USAGE : SNPU_EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("softnpu " NPUSCOPE_VERSION);
        return SNPU_EXIT_OK;
    }
    for (size_t i = 0; i < snpu_command_count; i++) {
        if (strcmp(argv[1], snpu_commands[i].name) != 0) {
            continue;
        }
        if (argc > 2 && (strcmp(argv[2], "--help") == 0 || strcmp(argv[2], "-h") == 0)) {
            snpu_print_command_help(&snpu_commands[i]);
            return SNPU_EXIT_OK;
        }
        return snpu_commands[i].run(argc - 1, argv + 1);
    }
    snpu_cli_error("unknown command '%s' (see 'softnpu --help')", argv[1]);
    return SNPU_EXIT_USAGE;
}
