/* SPDX-License-Identifier: Apache-2.0 */
/* The options of msmemscope. Command line, config() of the API, help, reference and manual page come from one table
 * (option_table.h). Parsing follows GNU conventions: options anywhere before "--", long names may be abbreviated. */
#ifndef MS_OPTIONS_OPTIONS_H
#define MS_OPTIONS_OPTIONS_H

#include "memscope/options/settings.h"

#include <stdio.h>

enum ms_options_result {
    MS_OPTIONS_RUN,      /* argv[program...] is what to run; program == argc: no program was given */
    MS_OPTIONS_HELP,     /* print help */
    MS_OPTIONS_HELP_MD,  /* print the reference page */
    MS_OPTIONS_HELP_MAN, /* print the manual page */
    MS_OPTIONS_VERSION,  /* print the version */
    MS_OPTIONS_WRONG,    /* why->error says why; empty: getopt has printed it */
};

/* Permutes argv. Calls `say` with a whole line for each warning about an accepted value. */
enum ms_options_result ms_options_parse(int argc, char **argv, struct ms_settings *settings, int *program,
                                        struct ms_why *why, void (*say)(const char *line));

/* Sets one option by its full name, for config() and the collector; value "" for options without one. -ENOENT: unknown
 * option; otherwise the result of its rule. */
int ms_option_apply(struct ms_settings *settings, const char *name, const char *value, struct ms_why *why);

/* Lines "name=value". All or nothing: *settings is untouched after an error. */
int ms_options_apply_text(struct ms_settings *settings, const char *text, struct ms_why *why);

/* The inverse: writes lines from which ms_options_apply_text restores the settings. Returns the length of the whole
 * text; more than out_b - 1: it was truncated. */
size_t ms_options_format(const struct ms_settings *settings, char *out, size_t out_b);

void ms_options_help(FILE *out);
void ms_options_help_md(FILE *out);
void ms_options_help_man(FILE *out);

#endif
