/* SPDX-License-Identifier: Apache-2.0 */
/* msmemscope: parses the command line and runs what it requests. */
#include "cli/msmemscope/cli.h"

#include "memscope/options/options.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void cli_say(const char *line)
{
    fprintf(stderr, "%s\n", line);
}

static void say(const char *level, const char *format, va_list args)
{
    char text[MS_PATH_MAX_B + 512];
    vsnprintf(text, sizeof(text), format, args);
    fprintf(stderr, "[msmemscope] %s: %s\n", level, text);
}

void cli_error(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("Error", format, args);
    va_end(args);
}

void cli_warn(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("Warn", format, args);
    va_end(args);
}

static int wrong(const struct ms_why *why)
{
    cli_say(why->error);
    cli_say("Try 'msmemscope --help'. Options of the program follow '--': msmemscope [options] -- <prog> [args]");
    return MS_EXIT_USAGE;
}

int main(int argc, char **argv)
{
    static char name[] = "msmemscope";
    static struct ms_settings settings;
    struct ms_why why;
    struct home home;
    int program;
    if (argc < 1) {
        return MS_EXIT_USAGE;
    }
    bool found = home_find(argv[0], &home);
    argv[0] = name; /* the name that getopt prints */
    if (command_is(argc, argv)) {
        if (!found) {
            cli_error("msmemscope-collector is missing; the installation is incomplete.");
            return MS_EXIT_TOOL;
        }
        return command_run(&home, argc, argv);
    }
    ms_settings_init(&settings);
    switch (ms_options_parse(argc, argv, &settings, &program, &why, cli_say)) {
    case MS_OPTIONS_HELP:
        ms_options_help(stdout);
        return 0;
    case MS_OPTIONS_HELP_MD:
        ms_options_help_md(stdout);
        return 0;
    case MS_OPTIONS_HELP_MAN:
        ms_options_help_man(stdout);
        return 0;
    case MS_OPTIONS_VERSION:
        version_print();
        return 0;
    case MS_OPTIONS_WRONG:
        return wrong(&why);
    case MS_OPTIONS_RUN:
        break;
    }
    if (program == argc && !settings.compare) {
        ms_refuse(&why, "no program to run.");
        return wrong(&why);
    }
    if (!found) {
        cli_error("msmemscope-collector is missing; the installation is incomplete.");
        return MS_EXIT_TOOL;
    }
    if (settings.compare) {
        return command_compare(&home, argc, argv);
    }
    return launch(&home, &settings, argv + program);
}
