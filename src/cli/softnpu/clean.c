/* SPDX-License-Identifier: Apache-2.0 */
/* softnpu clean: removes the files of machines that no living process uses. */
#include "cli/softnpu/cli.h"

#include "softnpu/hal/machine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct tally {
    unsigned removed, in_use;
    int status;
};

static void remove_one(void *argument, const char *name)
{
    struct tally *tally = argument;
    int rc = snpu_machine_remove(name);
    tally->removed += rc == 0;
    tally->in_use += rc == -EBUSY;
    if (rc != 0 && rc != -EBUSY && rc != -ENOENT && rc != -EPROTO) { /* gone by itself, or something else's file */
        cli_error("machine '%s' cannot be removed: %s", name, strerror(-rc));
        tally->status = CLI_FAILED;
    }
}

static int remove_named(const char *name)
{
    int rc = snpu_machine_remove(name);
    if (rc == 0 || rc == -ENOENT) {
        return CLI_OK;
    }
    cli_error("machine '%s' cannot be removed: %s", name,
              rc == -EBUSY    ? "a process uses it; 'softnpu info' shows which"
              : rc == -EPROTO ? "its file is not a machine's"
                              : strerror(-rc));
    return CLI_FAILED;
}

int cmd_clean(int argc, char **argv)
{
    struct options options;
    int rest = cli_parse(CMD_CLEAN, argc, argv, &options);
    if (rest < 0) {
        return CLI_USAGE;
    }
    if (rest < argc) {
        cli_error("clean takes no argument ('%s'); --machine NAME removes one machine", argv[rest]);
        return CLI_USAGE;
    }
    if (options.value[OPT_MACHINE] != NULL) {
        return remove_named(options.value[OPT_MACHINE]);
    }
    struct tally tally = {0};
    snpu_machine_each(remove_one, &tally);
    printf("%u removed, %u in use\n", tally.removed, tally.in_use);
    return tally.status;
}
