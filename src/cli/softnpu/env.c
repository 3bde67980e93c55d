/* SPDX-License-Identifier: Apache-2.0 */
/* softnpu env: the environment of `softnpu run` as lines for a shell. */
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

int cmd_env(int argc, char **argv)
{
    struct options options;
    int rest = cli_parse(CMD_ENV, argc, argv, &options);
    if (rest < 0) {
        return CLI_USAGE;
    }
    if (rest < argc) {
        cli_error("env takes no program ('%s'); use 'softnpu run' to start one", argv[rest]);
        return CLI_USAGE;
    }
    return cli_environment(&options, print_export);
}
