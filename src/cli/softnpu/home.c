/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the toolkit tree, and sets up the environment in which programs use it. */
#include "cli/softnpu/cli.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_home(const char *path)
{
    char probe[PATH_MAX];
    return snprintf(probe, sizeof(probe), "%s/lib64/libascend_hal.so", path) < (int)sizeof(probe) &&
           access(probe, R_OK) == 0;
}

const char *snpu_cli_home(void)
{
    static char home[PATH_MAX];
    const char *named = getenv("SOFTNPU_HOME");
    if (named != NULL && *named != '\0') {
        if (!is_home(named) || realpath(named, home) == NULL) {
            snpu_cli_error(
                "SOFTNPU_HOME=%s does not contain lib64/libascend_hal.so; unset it or set it to an installed softnpu",
                named);
            return NULL;
        }
        return home;
    }
    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    if (n < 0) {
        snpu_cli_error("cannot determine where softnpu is installed: %s", strerror(errno));
        return NULL;
    }
    exe[n] = '\0';
    *strrchr(exe, '/') = '\0';
    /* Installed by make, installed by pip, build tree. */
    static const char *const places[] = {"../lib/softnpu", "../libexec/softnpu", "../../../home"};
    for (size_t i = 0; i < MS_COUNT_OF(places); i++) {
        char path[PATH_MAX];
        if (snprintf(path, sizeof(path), "%s/%s", exe, places[i]) < (int)sizeof(path) && is_home(path) &&
            realpath(path, home) != NULL) {
            return home;
        }
    }
    snpu_cli_error(
        "cannot find the softnpu libraries near %s; set SOFTNPU_HOME to the tree that contains lib64/libascend_hal.so",
        exe);
    return NULL;
}

/* The variable's value with "<home><tail>" in front, unless it already begins with it. */
static char *with_path(const char *variable, const char *home, const char *tail)
{
    const char *old = getenv(variable);
    char *entry = NULL, *joined = NULL;
    if (asprintf(&entry, "%s%s", home, tail) < 0) {
        return NULL;
    }
    size_t n = strlen(entry);
    if (old == NULL || *old == '\0') {
        return entry;
    }
    if (strncmp(old, entry, n) == 0 && (old[n] == '\0' || old[n] == ':')) {
        joined = strdup(old);
    } else if (asprintf(&joined, "%s:%s", entry, old) < 0) {
        joined = NULL;
    }
    free(entry);
    return joined;
}

int snpu_cli_environment(const struct snpu_option_values *options, int (*emit)(const char *name, const char *value))
{
    const char *home = snpu_cli_home();
    if (home == NULL) {
        return SNPU_EXIT_FAILED;
    }
    static const struct {
        const char *name;
        const char *tail;
        bool path; /* a list of folders; prepended */
    } variables[] = {
        {"ASCEND_HOME_PATH", "", false},
        {"ASCEND_TOOLKIT_HOME", "", false},
        {"ASCEND_OPP_PATH", "/opp", false},
        {"ASCEND_AICPU_PATH", "", false},
        {"TOOLCHAIN_HOME", "/toolkit", false},
        {"LD_LIBRARY_PATH", "/lib64", true},
        {"PATH", "/bin", true},
        {"CMAKE_PREFIX_PATH", "", true},
        {"PKG_CONFIG_PATH", "/lib64/pkgconfig", true},
    };
    for (size_t i = 0; i < MS_COUNT_OF(variables); i++) {
        char *value = NULL;
        if (variables[i].path) {
            value = with_path(variables[i].name, home, variables[i].tail);
        } else if (asprintf(&value, "%s%s", home, variables[i].tail) < 0) {
            value = NULL;
        }
        int status = value != NULL ? emit(variables[i].name, value) : SNPU_EXIT_FAILED;
        free(value);
        if (status != 0) {
            snpu_cli_error("out of memory");
            return SNPU_EXIT_FAILED;
        }
    }
    for (enum snpu_option_id o = 0; o < SNPU_OPT_COUNT; o++) {
        if (options->value[o] != NULL && snpu_options[o].env != NULL &&
            emit(snpu_options[o].env, options->value[o]) != 0) {
            snpu_cli_error("out of memory");
            return SNPU_EXIT_FAILED;
        }
    }
    return SNPU_EXIT_OK;
}
