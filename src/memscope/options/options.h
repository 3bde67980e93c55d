/* SPDX-License-Identifier: Apache-2.0 */
/* The options of msmemscope, once: command line, config() of the API, help and the reference page come from one table.
 * Parsing is GNU's: options anywhere until "--", long names may be abbreviated. */
#ifndef MS_OPTIONS_OPTIONS_H
#define MS_OPTIONS_OPTIONS_H

#include "memscope/options/settings.h"

#include <stdio.h>

enum ms_options_result {
    MS_OPTIONS_RUN,      /* argv[program...] is what to run; program == argc: nothing was named */
    MS_OPTIONS_HELP,     /* print help */
    MS_OPTIONS_HELP_MD,  /* print the reference page */
    MS_OPTIONS_HELP_MAN, /* print the manual page */
    MS_OPTIONS_VERSION,  /* print the version */
    MS_OPTIONS_WRONG,    /* why->error says what (empty: getopt has said it) */
};

/* Permutes argv. Warnings of accepted values go to say, as whole lines. */
enum ms_options_result ms_options_parse(int argc, char **argv, struct ms_settings *settings, int *program,
                                        struct ms_why *why, void (*say)(const char *line));

/* One option by its full name, as config() and the collector set it; value "" for those without. -ENOENT: no such
 * option; else as its rule. */
int ms_option_apply(struct ms_settings *settings, const char *name, const char *value, struct ms_why *why);

/* Lines "name=value". All or nothing: *settings is untouched after an error. */
int ms_options_apply_text(struct ms_settings *settings, const char *text, struct ms_why *why);

/* The opposite: lines that give these settings again. Length of the whole; more than out_b - 1: it did not fit. */
size_t ms_options_format(const struct ms_settings *settings, char *out, size_t out_b);

void ms_options_help(FILE *out);
void ms_options_help_md(FILE *out);
void ms_options_help_man(FILE *out);

#endif
