/* SPDX-License-Identifier: Apache-2.0 */
/* Help and reference page. */
#include "memscope/options/options.h"

#include "memscope/options/option_table.h"

#include <string.h>

const struct ms_help_text ms_help_text = {
    .usage = "Usage: msmemscope [options] <prog>\n"
             "       msmemscope [options] bash user.sh\n"
             "       msmemscope [options] -- <prog> [args]\n"
             "       msmemscope --compare --input=<file1>,<file2> [options]\n"
             "       msmemscope info|report|query|export|recover DIR [options]\n",
    .grammar =
        "Options are accepted anywhere before \"--\", even after the program's name; everything after \"--\" belongs to the\n"
        "program. Lists are separated by half- or full-width commas. Defaults are in parentheses at the end.\n",
    .environment =
        "  source msmemscope --load-api-env     set LD_PRELOAD and LD_LIBRARY_PATH for programs that use the Python API\n"
        "  source msmemscope --unload-api-env   and undo it\n",
    .commands =
        "  msmemscope info DIR             what was recorded: processes, devices, events, gaps, overhead\n"
        "  msmemscope report DIR|FILE      peak, use of every byte, advice and its savings; see report --help\n"
        "  msmemscope query DIR|FILE... \"SELECT ...\"            query in SQL, see query --help and --schema\n"
        "  msmemscope export DIR|FILE --format=FORMAT [-o OUT]   files for other viewers, see export --help\n"
        "  msmemscope recover DIR          complete the files of a killed collector\n"
        "  msmemscope check leaks FILE --mark TEXT        driver memory leaked between marks, see check --help\n"
        "  msmemscope check inefficient FILE              blocks held longer than used, written into FILE\n"
        "\n"
        "  DIR: an output directory, or the directory of one process in it. FILE: a dump, .csv or .db. These words are\n"
        "  commands only if an existing DIR or FILE (or --help) follows; \"msmemscope -- info x\" always runs a program of\n"
        "  that name.\n",
    .examples = "  msmemscope ./train                                    record, look for leaks\n"
                "  msmemscope --call-stack=c:20 -- ./train --epochs 3    with C stacks of 20 frames\n"
                "  msmemscope --data-format=db -o /data/run bash user.sh for MindStudio Insight\n"
                "  msmemscope --analysis=leaks,decompose python train.py\n"
                "  msmemscope --max-trace-size=4G --ring ./serve         keep the newest 4 GiB\n"
                "  msmemscope --level=kernel --events=launch ./infer\n",
    .output =
        "  DIR/msmemscope_<PID>_<time>_ascend/    one directory per process that had an event:\n"
        "      device_<N>/dump/memscope_dump_<time>.csv or .db    events\n"
        "      config.json                                        settings\n"
        "      msmemscope_logs/msmemscope_<time>.log              log\n"
        "      trace/                                             the recording, for export, report, query and info\n"
        "  Exit status: that of the program, or the same signal; 2: wrong usage or unusable output directory, 125: the\n"
        "  recorder could not be started, 126: the program cannot be executed, 127: the program was not found.\n",
};

void ms_option_names(const struct ms_option *option, char *out, size_t out_b)
{
    bool optional = option->argument != NULL && option->argument[0] == '[';
    size_t n = (size_t)snprintf(out, out_b, "--%s%s", option->name, optional ? option->argument : "");
    if (option->alias != NULL) {
        n += (size_t)snprintf(out + n, out_b - n, ", --%s", option->alias);
    }
    for (const char *letter = option->letters; *letter != '\0'; letter++) {
        n += (size_t)snprintf(out + n, out_b - n, ", -%c", *letter);
    }
    if (option->argument != NULL && !optional) {
        snprintf(out + n, out_b - n, " %s", option->argument);
    }
}

static const char *shown_default(const struct ms_option *option)
{
    return option->shown != NULL ? option->shown : option->initial;
}

static void print_option(FILE *out, const struct ms_option *option)
{
    char head[MS_OPTION_NAMES_B];
    ms_option_names(option, head, sizeof(head));
    if (strlen(head) > 30) {
        fprintf(out, "  %s\n", head);
        head[0] = '\0';
    }
    for (const char *line = option->help;;) {
        const char *end = strchrnul(line, '\n');
        fprintf(out, "  %-30s %.*s", head, (int)(end - line), line);
        head[0] = '\0';
        if (*end == '\0') {
            break;
        }
        fputc('\n', out);
        line = end + 1;
    }
    if (shown_default(option) != NULL) {
        fprintf(out, " (%s)", shown_default(option));
    }
    fputc('\n', out);
}

void ms_options_help(FILE *out)
{
    fprintf(out, "%s\n%s\nEnvironment setup:\n%s", ms_help_text.usage, ms_help_text.grammar, ms_help_text.environment);
    for (const struct ms_option_group *group = ms_option_groups; group->title != NULL; group++) {
        fprintf(out, "\n%s:\n", group->title);
        for (const struct ms_option *option = group->options; option->name != NULL; option++) {
            print_option(out, option);
        }
    }
    fprintf(out, "\nCommands:\n%s\nExamples:\n%s\nOutput:\n%s", ms_help_text.commands, ms_help_text.examples,
            ms_help_text.output);
}

static void print_cell(FILE *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '|':
            fputs("\\|", out);
            break;
        case '\n':
            fputc(' ', out);
            break;
        default:
            fputc(*text, out);
        }
    }
}

void ms_options_help_md(FILE *out)
{
    fprintf(out,
            "# msmemscope: options\n\n"
            "Generated from the option table by `msmemscope --help=md`.\n\n```\n%s```\n\n%s\n"
            "## Environment setup\n\n```\n%s```\n",
            ms_help_text.usage, ms_help_text.grammar, ms_help_text.environment);
    for (const struct ms_option_group *group = ms_option_groups; group->title != NULL; group++) {
        fprintf(out, "\n## %s\n\n| option | default | meaning |\n|---|---|---|\n", group->title);
        for (const struct ms_option *option = group->options; option->name != NULL; option++) {
            char head[MS_OPTION_NAMES_B];
            ms_option_names(option, head, sizeof(head));
            fprintf(out, "| `%s` | %s | ", head, shown_default(option) != NULL ? shown_default(option) : "");
            print_cell(out, option->help);
            fputs(" |\n", out);
        }
    }
    fprintf(out, "\n## Commands\n\n```\n%s```\n\n## Examples\n\n```\n%s```\n\n## Output\n\n```\n%s```\n",
            ms_help_text.commands, ms_help_text.examples, ms_help_text.output);
}
