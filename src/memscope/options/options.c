/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing of options, by getopt_long: because of its static state, only one thread at a time may call
 * ms_options_parse. */
#include "memscope/options/options.h"

#include "base/macros.h"
#include "memscope/options/option_table.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static int apply(const struct ms_option *spec, struct ms_settings *settings, const char *value, struct ms_why *why)
{
    if (spec->action == MS_OPTION_FLAG) {
        *ms_option_flag(spec, settings) = true;
        return 0;
    }
    return spec->set(settings, value, why);
}

/* getopt's tables. The value of a long option is 256 + the index of its row, so that it is never a letter. */
struct getopt_tables {
    struct option *all, *original; /* at most two names per row, and the end */
    char *letters;                 /* at most two per row, each with a colon */
    void *memory;
};

static bool make_tables(struct getopt_tables *tables)
{
    size_t rows = 0;
    while (ms_option_at(rows) != NULL) {
        rows++;
    }
    const size_t names_max = 2 * rows + 1;
    tables->memory = calloc(1, 2 * names_max * sizeof(struct option) + 4 * rows + 1);
    if (tables->memory == NULL) {
        return false;
    }
    tables->all = tables->memory;
    tables->original = tables->all + names_max;
    tables->letters = (char *)(tables->original + names_max);
    size_t n = 0, first = 0, l = 0;
    for (size_t i = 0; i < rows; i++) {
        const struct ms_option *spec = ms_option_at(i);
        int argument = spec->argument == NULL     ? no_argument
                       : spec->argument[0] == '[' ? optional_argument
                                                  : required_argument;
        const char *const names[] = {spec->name, spec->alias};
        for (size_t k = 0; k < MS_COUNT_OF(names) && names[k] != NULL; k++) {
            tables->all[n++] = (struct option){names[k], argument, NULL, (int)i + 256};
            if (!spec->later) {
                tables->original[first++] = tables->all[n - 1];
            }
        }
        for (const char *letter = spec->letters; *letter != '\0'; letter++) {
            tables->letters[l++] = *letter;
            if (argument == required_argument) {
                tables->letters[l++] = ':';
            }
        }
    }
    return true;
}

/* The row for what getopt_long returned; NULL: none. */
static const struct ms_option *row_of(int c)
{
    const struct ms_option *option;
    if (c >= 256) {
        return ms_option_at((size_t)c - 256);
    }
    for (size_t i = 0; c != '?' && (option = ms_option_at(i)) != NULL; i++) {
        if (strchr(option->letters, c) != NULL) {
            return option;
        }
    }
    return NULL;
}

/* Scripts abbreviate msMemScope's options, and options that it does not have must not make those ambiguous: an
 * abbreviation that matches one of its options is looked up among them alone. */
static const struct option *table_for(const struct getopt_tables *tables, char **argv)
{
    char **next = &argv[optind > 0 ? optind : 1];
    while (*next != NULL && (*next)[0] != '-') {
        next++; /* getopt skips arguments that are not options */
    }
    if (*next == NULL || strncmp(*next, "--", 2) != 0) {
        return tables->all;
    }
    const char *name = *next + 2;
    size_t length = strcspn(name, "=");
    const struct option *found = tables->all;
    for (const struct option *o = tables->all; o->name != NULL; o++) {
        if (strncmp(o->name, name, length) == 0 && o->name[length] == '\0') {
            return tables->all;
        }
    }
    for (const struct option *o = tables->original; o->name != NULL; o++) {
        found = strncmp(o->name, name, length) == 0 ? tables->original : found;
    }
    return found;
}

static enum ms_options_result parse(int argc, char **argv, const struct getopt_tables *tables,
                                    struct ms_settings *settings, struct ms_why *why, void (*say)(const char *line))
{
    int c;
    while ((c = getopt_long(argc, argv, tables->letters, table_for(tables, argv), NULL)) != -1) {
        const struct ms_option *spec = row_of(c);
        if (spec == NULL) {
            ms_refuse(why, "unrecognized command ");
            return MS_OPTIONS_WRONG;
        }
        why->warning[0] = '\0';
        if (spec->action == MS_OPTION_HELP) {
            return optarg != NULL && strcmp(optarg, "md") == 0    ? MS_OPTIONS_HELP_MD
                   : optarg != NULL && strcmp(optarg, "man") == 0 ? MS_OPTIONS_HELP_MAN
                                                                  : MS_OPTIONS_HELP;
        }
        if (spec->action == MS_OPTION_VERSION) {
            return MS_OPTIONS_VERSION;
        }
        if (apply(spec, settings, optarg != NULL ? optarg : "", why) != 0) {
            return MS_OPTIONS_WRONG;
        }
        if (why->warning[0] != '\0') {
            say(why->warning);
        }
    }
    return MS_OPTIONS_RUN;
}

enum ms_options_result ms_options_parse(int argc, char **argv, struct ms_settings *settings, int *program,
                                        struct ms_why *why, void (*say)(const char *line))
{
    struct getopt_tables tables;
    why->error[0] = '\0';
    if (!make_tables(&tables)) {
        ms_refuse(why, "out of memory.");
        return MS_OPTIONS_WRONG;
    }
    optind = 0; /* restarts getopt, which keeps its position between calls */
    enum ms_options_result result = parse(argc, argv, &tables, settings, why, say);
    free(tables.memory);
    if (result != MS_OPTIONS_RUN) {
        return result;
    }
    *program = optind;
    bool one_will_do = settings->step_count == 2 && settings->input_count == 1;
    if (settings->compare ? settings->input_count != 2 && !one_will_do : settings->input_count != 0) {
        snprintf(why->error, sizeof(why->error), "Please use compare command with correct input paths!");
        return MS_OPTIONS_WRONG;
    }
    return MS_OPTIONS_RUN;
}

/* ---- by name ---- */

int ms_option_apply(struct ms_settings *settings, const char *name, const char *value, struct ms_why *why)
{
    const struct ms_option *option;
    for (size_t i = 0; (option = ms_option_at(i)) != NULL; i++) {
        bool same = strcmp(option->name, name) == 0 || (option->alias != NULL && strcmp(option->alias, name) == 0);
        if (same && (option->action == MS_OPTION_VALUE || option->action == MS_OPTION_FLAG)) {
            return apply(option, settings, value, why);
        }
    }
    ms_refuse(why, "unknown option '%.100s'.", name);
    return -ENOENT;
}

int ms_options_apply_text(struct ms_settings *settings, const char *text, struct ms_why *why)
{
    struct ms_settings new = *settings;
    why->error[0] = why->warning[0] = '\0';
    while (*text != '\0') {
        char line[MS_PATH_MAX_B + 64];
        size_t length = strcspn(text, "\n");
        if (length >= sizeof(line)) {
            return ms_refuse(why, "an option is too long.");
        }
        memcpy(line, text, length);
        line[length] = '\0';
        text += length + (text[length] == '\n');
        char *equals = strchr(line, '=');
        if (equals != NULL) {
            *equals = '\0';
        }
        if (line[0] != '\0') {
            int rc = ms_option_apply(&new, line, equals != NULL ? equals + 1 : "", why);
            if (rc != 0) {
                return rc;
            }
        }
    }
    *settings = new;
    return 0;
}
