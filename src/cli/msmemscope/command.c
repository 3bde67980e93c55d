/* SPDX-License-Identifier: Apache-2.0 */
/* Subcommands. They must not hide programs of the same name: a word (or two) is a command only as the first argument,
 * and only if an existing directory or dump file, --help or --schema follows, or if PATH has no program of that name.
 * The collector's program does the work, in a clean environment. */
#include "cli/msmemscope/cli.h"

#include "base/macros.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static const char *const words[] = {"info", "recover", "export", "report", "query", "check"};
static const char *const checks[] = {"leaks", "inefficient"}; /* the second word of check */
static const char *const with_value[] = {"-o",     "-f",       "--output",
                                         "--file", "--format", "--timeout"}; /* options whose value is the next word */

static bool is_one_of(const char *word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(word, list[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_dump(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL && (strcmp(dot, ".csv") == 0 || strcmp(dot, ".db") == 0);
}

static bool is_program(const char *name)
{
    const char *path = getenv("PATH");
    for (const char *at = path != NULL ? path : "/bin:/usr/bin"; at != NULL;) {
        size_t length = strcspn(at, ":");
        char file[4096];
        struct stat st;
        int n = snprintf(file, sizeof(file), "%.*s/%s", length > 0 ? (int)length : 1, length > 0 ? at : ".", name);
        if (n > 0 && (size_t)n < sizeof(file) && stat(file, &st) == 0 && S_ISREG(st.st_mode) &&
            access(file, X_OK) == 0) {
            return true;
        }
        at = at[length] == ':' ? at + length + 1 : NULL;
    }
    return false;
}

bool command_is(int argc, char **argv)
{
    bool known = argc > 1 && is_one_of(argv[1], words, MS_COUNT_OF(words));
    if (known && !is_program(argv[1])) {
        return true;
    }
    bool check = known && argc > 2 && strcmp(argv[1], "check") == 0 && strncmp(argv[2], "-", 1) != 0;
    known = known && (!check || is_one_of(argv[2], checks, MS_COUNT_OF(checks)));
    for (int i = check ? 3 : 2; known && i < argc; i++) {
        struct stat st;
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0 || strcmp(argv[i], "--schema") == 0) {
            return true;
        }
        if (is_one_of(argv[i], with_value, MS_COUNT_OF(with_value))) {
            i++;
        } else if (argv[i][0] != '-') {
            return stat(argv[i], &st) == 0 && (S_ISDIR(st.st_mode) || is_dump(argv[i]));
        }
    }
    return false;
}

/* The user's library paths must not affect the tool. */
static void clean_environment(void)
{
    for (char **entry = environ; *entry != NULL;) {
        size_t length = strcspn(*entry, "=");
        char name[64];
        if (strncmp(*entry, "LD_", 3) == 0 && length < sizeof(name)) {
            memcpy(name, *entry, length);
            name[length] = '\0';
            unsetenv(name);
            entry = environ;
        } else {
            entry++;
        }
    }
}

int command_run(const struct home *home, int argc, char **argv)
{
    (void)argc;
    clean_environment();
    execv(home->collector, argv);
    cli_error("cannot run %s: %s.", home->collector, strerror(errno));
    return MS_EXIT_TOOL;
}

/* --compare: an option of msmemscope, but a command of the collector's program. */
int command_compare(const struct home *home, int argc, char **argv)
{
    static char name[] = "compare";
    char **arguments = calloc((size_t)argc + 2, sizeof(*arguments));
    if (arguments == NULL) {
        return MS_EXIT_TOOL;
    }
    arguments[0] = argv[0];
    arguments[1] = name;
    memcpy(arguments + 2, argv + 1, (size_t)(argc - 1) * sizeof(*argv));
    return command_run(home, argc + 1, arguments);
}
