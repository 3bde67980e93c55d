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
    if (rc != 0 && rc != -EBUSY && rc != -ENOENT && rc != -EPROTO) { /* already gone, or not a machine file */
        snpu_cli_error("cannot remove machine '%s': %s", name, strerror(-rc));
        tally->status = SNPU_EXIT_FAILED;
    }
}

static int remove_named(const char *name)
{
    int rc = snpu_machine_remove(name);
    if (rc == 0 || rc == -ENOENT) {
        return SNPU_EXIT_OK;
    }
    snpu_cli_error("cannot remove machine '%s': %s", name,
                   rc == -EBUSY    ? "a process uses it (see 'softnpu info')"
                   : rc == -EPROTO ? "the file is not a machine file"
                                   : strerror(-rc));
    return SNPU_EXIT_FAILED;
}

int snpu_cmd_clean(int argc, char **argv)
{
    struct snpu_option_values options;
    int rest = snpu_cli_parse(SNPU_CMD_CLEAN, argc, argv, &options);
    if (rest < 0) {
        return SNPU_EXIT_USAGE;
    }
    if (rest < argc) {
        snpu_cli_error("clean takes no argument ('%s'); use --machine NAME to remove one machine", argv[rest]);
        return SNPU_EXIT_USAGE;
    }
    if (options.value[SNPU_OPT_MACHINE] != NULL) {
        return remove_named(options.value[SNPU_OPT_MACHINE]);
    }
    struct tally tally = {0};
    snpu_machine_each(remove_one, &tally);
    printf("%u removed, %u in use\n", tally.removed, tally.in_use);
    return tally.status;
}
