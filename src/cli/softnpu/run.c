/* SPDX-License-Identifier: Apache-2.0 */
/* softnpu run: executes the program in an environment in which softnpu replaces the vendor's libraries. */
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
    return setenv(name, value, 1) == 0 ? 0 : SNPU_EXIT_FAILED;
}

/* A machine in use keeps its configuration, so a command line that requests another one is refused. */
static int check_machine(const struct snpu_option_values *options)
{
    char why[512];
    struct snpu_settings wanted;
    if (snpu_settings_read(&wanted, why, sizeof(why)) != 0) {
        snpu_cli_error("%.*s", (int)strcspn(why, "\n"), why);
        return SNPU_EXIT_USAGE;
    }
    struct snpu_machine *machine;
    if (snpu_machine_observe(wanted.machine, &machine) != 0 || !snpu_machine_in_use(machine)) {
        return SNPU_EXIT_OK;
    }
    const struct snpu_config *now = snpu_machine_config(machine);
    bool devices = options->value[SNPU_OPT_DEVICES] != NULL && now->devices != wanted.config.devices;
    bool capacity = options->value[SNPU_OPT_HBM] != NULL && now->capacity_b != wanted.config.capacity_b;
    bool soc = options->value[SNPU_OPT_SOC] != NULL && strcmp(now->soc, wanted.config.soc) != 0;
    if (!devices && !capacity && !soc) {
        return SNPU_EXIT_OK;
    }
    char size[16];
    ms_format_size(now->capacity_b, size);
    snpu_cli_error(
        "machine '%s' is in use with %u device(s) of %s (%s); wait for its processes to end ('softnpu info' lists "
        "them), request the same configuration, or choose another machine with --machine",
        wanted.machine, now->devices, size, now->soc);
    return SNPU_EXIT_FAILED;
}

int snpu_cmd_run(int argc, char **argv)
{
    struct snpu_option_values options;
    int program = snpu_cli_parse(SNPU_CMD_RUN, argc, argv, &options);
    if (program < 0) {
        return SNPU_EXIT_USAGE;
    }
    if (program >= argc) {
        snpu_cli_error("run needs a program: softnpu run [options] -- PROGRAM [ARGUMENT]...");
        return SNPU_EXIT_USAGE;
    }
    int status = snpu_cli_environment(&options, set_variable);
    if (status == SNPU_EXIT_OK) {
        status = check_machine(&options);
    }
    if (status != SNPU_EXIT_OK) {
        return status;
    }
    execvp(argv[program], argv + program);
    bool found = errno != ENOENT && errno != ENOTDIR;
    snpu_cli_error("cannot run '%s': %s", argv[program], strerror(errno));
    return found ? SNPU_EXIT_NOT_EXECUTABLE : SNPU_EXIT_NOT_FOUND;
}
