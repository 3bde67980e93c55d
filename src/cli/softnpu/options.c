/* SPDX-License-Identifier: Apache-2.0 */
/* The options of all commands: name, argument, check, environment variable, help. Parser and help come from this table.
 */
#include "cli/softnpu/cli.h"

#include "base/parse.h"
#include "softnpu/hal/fault_plan.h"
#include "softnpu/hal/hal_ext.h"
#include "softnpu/hal/settings.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define WHY_MAX 256

static int check_visible(const char *text, char *why)
{
    uint64_t ids[SNPU_MAX_DEVICES];
    size_t n;
    if (ms_parse_list(text, SNPU_MAX_DEVICES - 1, ids, SNPU_MAX_DEVICES, &n) != 0) {
        snprintf(why, WHY_MAX, "a list of device numbers is needed, such as 0,2");
        return -1;
    }
    return 0;
}

static int check_fault(const char *text, char *why)
{
    struct snpu_fault_plan plan;
    return snpu_fault_parse(text, &plan, why, WHY_MAX);
}

static int check_count(const char *text, char *why)
{
    uint64_t n;
    if (ms_parse_u64(text, 1, 1000000, &n) != 0) {
        snprintf(why, WHY_MAX, "a number from 1 to 1000000 is needed");
        return -1;
    }
    return 0;
}

static int check_interval(const char *text, char *why)
{
    double seconds;
    char rest;
    if (sscanf(text, "%lf%c", &seconds, &rest) != 1 || !(seconds >= 0.1 && seconds <= 3600)) {
        snprintf(why, WHY_MAX, "seconds from 0.1 to 3600 are needed");
        return -1;
    }
    return 0;
}

static const struct spec {
    const char *name;
    const char *argument; /* NULL: takes none */
    unsigned commands;
    const char *env;
    int (*check)(const char *text, char *why); /* NULL: as the table of SOFTNPU_ variables says */
    const char *help;
} specs[OPT_COUNT] = {
    [OPT_DEVICES] = {"devices", "N", CMD_RUN | CMD_ENV, "SOFTNPU_DEVICES", NULL, "number of devices (2)"},
    [OPT_HBM] = {"hbm", "SIZE", CMD_RUN | CMD_ENV, "SOFTNPU_HBM", NULL, "memory of each device (64G)"},
    [OPT_SOC] = {"soc", "NAME", CMD_RUN | CMD_ENV, "SOFTNPU_SOC", NULL, "chip name to answer (Ascend910B3)"},
    [OPT_CORES] = {"cores", "N", CMD_RUN | CMD_ENV, "SOFTNPU_CORES", NULL,
                   "threads that kernels of one process may use (all processors)"},
    [OPT_VISIBLE] = {"visible", "LIST", CMD_RUN | CMD_ENV, "ASCEND_RT_VISIBLE_DEVICES", check_visible,
                     "devices that the program sees, in this order"},
    [OPT_FAULT] = {"fault", "PLAN", CMD_RUN | CMD_ENV, "SOFTNPU_FAULT", check_fault,
                   "inject failures, separated by ';':\n"
                   "oom@call=N[+][,dev=D]    the n-th device allocation fails (+: and all later)\n"
                   "oom@above=SIZE[,dev=D]   allocations of more than SIZE fail\n"
                   "slow=FACTOR[,dev=D]      kernels take FACTOR times as long\n"
                   "kernel-error@launch=N[,name=K]  the n-th kernel (named K) fails\n"
                   "lost-task@launch=N       the n-th kernel never ends\n"
                   "reset@launch=N           the device is lost at the n-th kernel"},
    [OPT_MACHINE] = {"machine", "NAME", CMD_RUN | CMD_ENV | CMD_INFO | CMD_TOP | CMD_CLEAN, "SOFTNPU_MACHINE", NULL,
                     "set of devices to use, shared by all who name it (default)"},
    [OPT_JSON] = {"json", NULL, CMD_INFO | CMD_TOP, NULL, NULL, "print JSON"},
    [OPT_COVERAGE] = {"coverage", NULL, CMD_INFO, NULL, NULL, "list which functions of the interface are implemented"},
    [OPT_BATCH] = {"batch", "COUNT", CMD_TOP, NULL, check_count, "print COUNT plain reports instead of a screen"},
    [OPT_INTERVAL] = {"interval", "SECONDS", CMD_TOP, NULL, check_interval, "time between two reports (1)"},
    [OPT_HELP] = {"help", NULL, CMD_RUN | CMD_ENV | CMD_INFO | CMD_TOP | CMD_CLEAN, NULL, NULL, "show this text"},
};

const char *cli_option_env(enum option opt)
{
    return specs[opt].env;
}

void cli_print_options(enum command_bit command)
{
    for (size_t i = 0; i < OPT_COUNT; i++) {
        if ((specs[i].commands & command) == 0) {
            continue;
        }
        char head[32];
        snprintf(head, sizeof(head), "--%s%s%s", specs[i].name, specs[i].argument ? " " : "",
                 specs[i].argument ? specs[i].argument : "");
        const char *line = specs[i].help;
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
}

static const struct spec *find(enum command_bit command, const char *name, size_t length)
{
    for (size_t i = 0; i < OPT_COUNT; i++) {
        if ((specs[i].commands & command) != 0 && strlen(specs[i].name) == length &&
            strncmp(specs[i].name, name, length) == 0) {
            return &specs[i];
        }
    }
    return NULL;
}

static int check(const struct spec *spec, const char *value, char *why)
{
    return spec->check != NULL ? spec->check(value, why) : snpu_settings_check(spec->env, value, why, WHY_MAX);
}

int cli_parse(enum command_bit command, int argc, char **argv, struct options *out)
{
    memset(out, 0, sizeof(*out));
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--") == 0) {
            return i + 1;
        }
        const char *name = argv[i] + (argv[i][1] == '-' ? 2 : 1);
        size_t length = strcspn(name, "=");
        const struct spec *spec = argv[i][1] == '-' ? find(command, name, length) : NULL;
        if (spec == NULL) {
            cli_error("%s: unknown option '%s'; 'softnpu %s --help' lists them", argv[0], argv[i], argv[0]);
            return -1;
        }
        const char *value = name[length] == '=' ? name + length + 1 : NULL;
        if (spec->argument == NULL && value != NULL) {
            cli_error("--%s takes no value", spec->name);
            return -1;
        }
        if (spec->argument != NULL && value == NULL) {
            if (i + 1 >= argc) {
                cli_error("--%s needs a value: --%s %s", spec->name, spec->name, spec->argument);
                return -1;
            }
            value = argv[++i];
        }
        char why[WHY_MAX] = "";
        if (value != NULL && check(spec, value, why) != 0) {
            cli_error("--%s '%s': %s", spec->name, value, why);
            return -1;
        }
        out->value[spec - specs] = value != NULL ? value : "";
    }
    return i;
}
