/* SPDX-License-Identifier: Apache-2.0 */
/* The options of all commands. The parser, the help and the manual page use this table. */
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
        snprintf(why, WHY_MAX, "expects a list of device numbers such as 0,2");
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
        snprintf(why, WHY_MAX, "expects a number from 1 to 1000000");
        return -1;
    }
    return 0;
}

static int check_interval(const char *text, char *why)
{
    double seconds;
    char rest;
    if (sscanf(text, "%lf%c", &seconds, &rest) != 1 || !(seconds >= 0.1 && seconds <= 3600)) {
        snprintf(why, WHY_MAX, "expects a number of seconds from 0.1 to 3600");
        return -1;
    }
    return 0;
}

const struct snpu_option snpu_options[SNPU_OPT_COUNT] = {
    [SNPU_OPT_DEVICES] = {"devices", "N", SNPU_CMD_RUN | SNPU_CMD_ENV, "SOFTNPU_DEVICES", NULL,
                          "number of devices (default: 2)"},
    [SNPU_OPT_HBM] = {"hbm", "SIZE", SNPU_CMD_RUN | SNPU_CMD_ENV, "SOFTNPU_HBM", NULL,
                      "memory of each device (default: 64G)"},
    [SNPU_OPT_SOC] = {"soc", "NAME", SNPU_CMD_RUN | SNPU_CMD_ENV, "SOFTNPU_SOC", NULL,
                      "chip to simulate (default: Ascend910B3)"},
    [SNPU_OPT_CORES] = {"cores", "N", SNPU_CMD_RUN | SNPU_CMD_ENV, "SOFTNPU_CORES", NULL,
                        "threads that kernels of one process may use (default: all processors)"},
    [SNPU_OPT_VISIBLE] = {"visible", "LIST", SNPU_CMD_RUN | SNPU_CMD_ENV, "ASCEND_RT_VISIBLE_DEVICES", check_visible,
                          "devices that the program sees, in this order"},
    [SNPU_OPT_FAULT] = {"fault", "PLAN", SNPU_CMD_RUN | SNPU_CMD_ENV, "SOFTNPU_FAULT", check_fault,
                        "inject faults, separated by ';':\n"
                        "oom@call=N[+][,dev=D]    the N-th device allocation fails (+: and all later ones)\n"
                        "oom@above=SIZE[,dev=D]   allocations of more than SIZE fail\n"
                        "slow=FACTOR[,dev=D]      kernels take FACTOR times as long\n"
                        "kernel-error@launch=N[,name=K]  the N-th kernel (named K) fails\n"
                        "lost-task@launch=N       the N-th kernel never ends\n"
                        "reset@launch=N           the device is lost at the N-th kernel"},
    [SNPU_OPT_MACHINE] = {"machine", "NAME",
                          SNPU_CMD_RUN | SNPU_CMD_ENV | SNPU_CMD_INFO | SNPU_CMD_TOP | SNPU_CMD_CLEAN,
                          "SOFTNPU_MACHINE", NULL,
                          "machine to use: a named set of devices shared by processes (default: \"default\")"},
    [SNPU_OPT_JSON] = {"json", NULL, SNPU_CMD_INFO | SNPU_CMD_TOP, NULL, NULL, "print JSON"},
    [SNPU_OPT_COVERAGE] = {"coverage", NULL, SNPU_CMD_INFO, NULL, NULL,
                           "list the functions of the interface that are implemented"},
    [SNPU_OPT_BATCH] = {"batch", "COUNT", SNPU_CMD_TOP, NULL, check_count,
                        "print COUNT plain-text reports instead of a screen"},
    [SNPU_OPT_INTERVAL] = {"interval", "SECONDS", SNPU_CMD_TOP, NULL, check_interval,
                           "time between two reports (default: 1)"},
    [SNPU_OPT_HELP] = {"help", NULL, SNPU_CMD_RUN | SNPU_CMD_ENV | SNPU_CMD_INFO | SNPU_CMD_TOP | SNPU_CMD_CLEAN, NULL,
                       NULL, "show this help"},
};

static const struct snpu_option *find(enum snpu_command_bit command, const char *name, size_t length)
{
    for (size_t i = 0; i < SNPU_OPT_COUNT; i++) {
        if ((snpu_options[i].commands & command) != 0 && strlen(snpu_options[i].name) == length &&
            strncmp(snpu_options[i].name, name, length) == 0) {
            return &snpu_options[i];
        }
    }
    return NULL;
}

static int check(const struct snpu_option *option, const char *value, char *why)
{
    return option->check != NULL ? option->check(value, why) : snpu_settings_check(option->env, value, why, WHY_MAX);
}

int snpu_cli_parse(enum snpu_command_bit command, int argc, char **argv, struct snpu_option_values *out)
{
    memset(out, 0, sizeof(*out));
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--") == 0) {
            return i + 1;
        }
        const char *name = argv[i] + (argv[i][1] == '-' ? 2 : 1);
        size_t length = strcspn(name, "=");
        const struct snpu_option *option = argv[i][1] == '-' ? find(command, name, length) : NULL;
        if (option == NULL) {
            snpu_cli_error("%s: unknown option '%s' (see 'softnpu %s --help')", argv[0], argv[i], argv[0]);
            return -1;
        }
        const char *value = name[length] == '=' ? name + length + 1 : NULL;
        if (option->argument == NULL && value != NULL) {
            snpu_cli_error("--%s takes no value", option->name);
            return -1;
        }
        if (option->argument != NULL && value == NULL) {
            if (i + 1 >= argc) {
                snpu_cli_error("--%s needs a value: --%s %s", option->name, option->name, option->argument);
                return -1;
            }
            value = argv[++i];
        }
        char why[WHY_MAX] = "";
        if (value != NULL && check(option, value, why) != 0) {
            snpu_cli_error("--%s '%s': %s", option->name, value, why);
            return -1;
        }
        out->value[option - snpu_options] = value != NULL ? value : "";
    }
    return i;
}
