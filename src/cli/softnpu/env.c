/* SPDX-License-Identifier: Apache-2.0 */
/* softnpu env: prints the environment of `softnpu run` as shell commands. */
#include "cli/softnpu/cli.h"

#include <stdio.h>

static int print_export(const char *name, const char *value)
{
    printf("export %s='", name);
    for (const char *p = value; *p != '\0'; p++) {
        if (*p == '\'') {
            fputs("'\\''", stdout);
        } else {
            putchar(*p);
        }
    }
    puts("'");
    return 0;
}

int snpu_cmd_env(int argc, char **argv)
{
    struct snpu_option_values options;
    int rest = snpu_cli_parse(SNPU_CMD_ENV, argc, argv, &options);
    if (rest < 0) {
        return SNPU_EXIT_USAGE;
    }
    if (rest < argc) {
        snpu_cli_error("env takes no program ('%s'); use 'softnpu run' to start one", argv[rest]);
        return SNPU_EXIT_USAGE;
    }
    return snpu_cli_environment(&options, print_export);
}
