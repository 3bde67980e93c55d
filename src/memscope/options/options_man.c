/* SPDX-License-Identifier: Apache-2.0 */
/* The manual page msmemscope(1). */
#include "memscope/options/options.h"

#include "base/roff.h"
#include "memscope/options/option_table.h"

#include <string.h>

static void print_lines(FILE *out, const char *text)
{
    fputs(".nf\n", out);
    ms_roff(out, text, strlen(text));
    fputs(".fi\n", out);
}

static void print_option(FILE *out, const struct ms_option *option)
{
    char names[MS_OPTION_NAMES_B];
    const char *shown = option->shown != NULL ? option->shown : option->initial;
    ms_option_names(option, names, sizeof(names));
    fputs(".TP\n\\fB", out);
    ms_roff(out, names, strlen(names));
    fputs("\\fR\n", out);
    ms_roff(out, option->help, strlen(option->help));
    if (shown != NULL) {
        fputs(" (", out);
        ms_roff(out, shown, strlen(shown));
        fputc(')', out);
    }
    fputc('\n', out);
}

void ms_options_help_man(FILE *out)
{
    const struct ms_help_text *text = &ms_help_text;
    fputs(".\\\" Generated from the option table by msmemscope --help=man.\n"
          ".TH MSMEMSCOPE 1 \"\" \"npuscope\" \"User commands\"\n"
          ".SH NAME\n"
          "msmemscope \\- record and analyse memory of programs on Ascend NPUs\n"
          ".SH SYNOPSIS\n",
          out);
    /* One command per line; "Usage: " and the indentation below it have equal length. */
    fputs(".nf\n", out);
    for (const char *line = text->usage; *line != '\0';) {
        size_t length_b = strcspn(line, "\n");
        size_t indent_b = strlen("Usage: ");
        fputs("\\fB", out);
        ms_roff(out, line + indent_b, length_b - indent_b);
        fputs("\\fR\n", out);
        line += length_b + 1;
    }
    fputs(
        ".fi\n.SH DESCRIPTION\n"
        ".B msmemscope\n"
        "runs a program and records its memory events: allocations, frees, accesses, operators and kernels. Analyses run\n"
        "while it records; later ones read the trace.\n"
        ".PP\n",
        out);
    ms_roff(out, text->grammar, strlen(text->grammar));
    fputs(".SH OPTIONS\n", out);
    for (const struct ms_option_group *group = ms_option_groups; group->title != NULL; group++) {
        fprintf(out, ".SS %s\n", group->title);
        for (const struct ms_option *option = group->options; option->name != NULL; option++) {
            print_option(out, option);
        }
    }
    fputs(".SH COMMANDS\n", out);
    print_lines(out, text->commands);
    fputs(".SH ENVIRONMENT SETUP\n", out);
    print_lines(out, text->environment);
    fputs(".SH OUTPUT\n", out);
    print_lines(out, text->output);
    fputs(".SH EXAMPLES\n", out);
    print_lines(out, text->examples);
    fputs(".SH SEE ALSO\n.BR softnpu (1),\n.BR dyno (1),\n.BR dynolog (8)\n", out);
}
