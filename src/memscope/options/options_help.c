/* SPDX-License-Identifier: Apache-2.0 */
/* Help and reference page. */
#include "memscope/options/options.h"

#include "memscope/options/option_table.h"

#include <string.h>

static const char *const titles[OPTION_GROUPS] = {
    [GENERAL] = "General options",
    [COLLECTION] = "Collection options",
    [ANALYSIS] = "Analysis options",
    [FILES] = "Input / Output options",
    [RECORDER] = "Other: recorder and trace files",
};

static const char usage[] = "Usage: msmemscope [options] <prog>\n"
                            "       msmemscope [options] bash user.sh\n"
                            "       msmemscope [options] -- <prog> [args]\n"
                            "       msmemscope --compare --input=<file1>,<file2> [options]\n"
                            "       msmemscope info|report|query|export|recover DIR [options]\n";

static const char grammar[] =
    "Options may stand anywhere before \"--\", also behind the program's name; what follows it belongs to the program.\n"
    "Lists are separated by commas of either width. Defaults stand in parentheses at the end.\n";

static const char environment[] =
    "  source msmemscope --load-api-env     set LD_PRELOAD and LD_LIBRARY_PATH for programs that use the Python API\n"
    "  source msmemscope --unload-api-env   and take it back\n";

static const char commands[] =
    "  msmemscope info DIR             what was recorded: processes, devices, events, gaps, the recorder's own cost\n"
    "  msmemscope report DIR|FILE      peak, account of every byte, advice with what it saves; see report --help\n"
    "  msmemscope query DIR|FILE... \"SELECT ...\"            questions in SQL, see query --help and --schema\n"
    "  msmemscope export DIR|FILE --format=FORMAT [-o OUT]   files for other viewers, see export --help\n"
    "  msmemscope recover DIR          finish what a killed collector left behind\n"
    "  msmemscope check leaks FILE --mark TEXT        driver memory that is left between marks, see check --help\n"
    "  msmemscope check inefficient FILE              blocks held longer than used, written into FILE\n"
    "\n"
    "  DIR: an output directory, or the directory of one process in it. FILE: a dump, .csv or .db. These words are\n"
    "  commands only in front of something that is there (or --help); \"msmemscope -- info x\" always runs a program of\n"
    "  that name.\n";

static const char examples[] = "  msmemscope ./train                                    record, look for leaks\n"
                               "  msmemscope --call-stack=c:20 -- ./train --epochs 3    with C stacks of 20 frames\n"
                               "  msmemscope --data-format=db -o /data/run bash user.sh for MindStudio Insight\n"
                               "  msmemscope --analysis=leaks,decompose python train.py\n"
                               "  msmemscope --max-trace-size=4G --ring ./serve         keep the newest 4 GiB\n"
                               "  msmemscope --level=kernel --events=launch ./infer\n";

static const char output[] =
    "  DIR/msmemscope_<PID>_<time>_ascend/    one directory per process that had an event:\n"
    "      device_<N>/dump/memscope_dump_<time>.csv or .db    events\n"
    "      config.json                                        settings\n"
    "      msmemscope_logs/msmemscope_<time>.log              log\n"
    "      trace/                                             the recording itself, for export and info\n"
    "  The command ends as the program ends: same status, or same signal. 2: wrong usage or unusable output directory,\n"
    "  126: the program cannot be executed, 127: it was not found, 125: the recorder could not be started.\n";

/* "--output, --output-path, -o DIR" */
static void names(const struct ms_option *option, char *out, size_t out_b)
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

static void print_option(FILE *out, const struct ms_option *option)
{
    char head[96];
    names(option, head, sizeof(head));
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
    if (option->initial != NULL) {
        fprintf(out, " (%s)", option->initial);
    }
    fputc('\n', out);
}

void ms_options_help(FILE *out)
{
    fprintf(out, "%s\n%s\nEnvironment setup:\n%s", usage, grammar, environment);
    for (unsigned group = 0; group < OPTION_GROUPS; group++) {
        fprintf(out, "\n%s:\n", titles[group]);
        for (unsigned i = 0; i < MS_OPTIONS; i++) {
            if (ms_options[i].group == group) {
                print_option(out, &ms_options[i]);
            }
        }
    }
    fprintf(out, "\nCommands:\n%s\nExamples:\n%s\nOutput:\n%s", commands, examples, output);
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
            "Made from the table of options by `msmemscope --help=md`.\n\n```\n%s```\n\n%s\n"
            "## Environment setup\n\n```\n%s```\n",
            usage, grammar, environment);
    for (unsigned group = 0; group < OPTION_GROUPS; group++) {
        fprintf(out, "\n## %s\n\n| option | default | meaning |\n|---|---|---|\n", titles[group]);
        for (unsigned i = 0; i < MS_OPTIONS; i++) {
            if (ms_options[i].group == group) {
                char head[96];
                names(&ms_options[i], head, sizeof(head));
                fprintf(out, "| `%s` | %s | ", head, ms_options[i].initial != NULL ? ms_options[i].initial : "");
                print_cell(out, ms_options[i].help);
                fputs(" |\n", out);
            }
        }
    }
    fprintf(out, "\n## Commands\n\n```\n%s```\n\n## Examples\n\n```\n%s```\n\n## Output\n\n```\n%s```\n", commands,
            examples, output);
}
