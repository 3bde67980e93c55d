/* SPDX-License-Identifier: Apache-2.0 */
/* softnpu run: becomes the program, in an environment where the vendor's libraries are ours. */
#include "cli/softnpu/cli.h"

#include "base/parse.h"
#include "softnpu/hal/machine.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int set_variable(const char *name, const char *value)
{
    return setenv(name, value, 1) == 0 ? 0 : CLI_FAILED;
}

/* A machine that somebody uses keeps its shape; a program that expects another one would be misled. */
static int check_machine(const struct options *options)
{
    char why[512];
    struct snpu_settings wanted;
    if (snpu_settings_read(&wanted, why, sizeof(why)) != 0) {
        cli_error("%.*s", (int)strcspn(why, "\n"), why);
        return CLI_USAGE;
    }
    struct snpu_machine *machine;
    if (snpu_machine_observe(wanted.machine, &machine) != 0 || !snpu_machine_in_use(machine)) {
        return CLI_OK;
    }
    const struct snpu_config *now = snpu_machine_config(machine);
    bool devices = options->value[OPT_DEVICES] != NULL && now->devices != wanted.config.devices;
    bool capacity = options->value[OPT_HBM] != NULL && now->capacity_b != wanted.config.capacity_b;
    bool soc = options->value[OPT_SOC] != NULL && strcmp(now->soc, wanted.config.soc) != 0;
    if (!devices && !capacity && !soc) {
        return CLI_OK;
    }
    char size[16];
    ms_format_size(now->capacity_b, size);
    cli_error(
        "machine '%s' is in use with %u device(s) of %s (%s); wait for its processes to end ('softnpu info' lists "
        "them), use that shape, or name another machine with --machine",
        wanted.machine, now->devices, size, now->soc);
    return CLI_FAILED;
}

int cmd_run(int argc, char **argv)
{
    struct options options;
    int program = cli_parse(CMD_RUN, argc, argv, &options);
    if (program < 0) {
        return CLI_USAGE;
    }
    if (program >= argc) {
        cli_error("run needs a program: softnpu run [options] -- PROGRAM [ARGUMENT]...");
        return CLI_USAGE;
    }
    int status = cli_environment(&options, set_variable);
    if (status == CLI_OK) {
        status = check_machine(&options);
    }
    if (status != CLI_OK) {
        return status;
    }
    execvp(argv[program], argv + program);
    bool found = errno != ENOENT && errno != ENOTDIR;
    cli_error("cannot run '%s': %s", argv[program], strerror(errno));
    return found ? CLI_NOT_EXECUTABLE : CLI_NOT_FOUND;
}
