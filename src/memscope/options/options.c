/* SPDX-License-Identifier: Apache-2.0 */
/* Reading options. getopt_long does the work; its static state makes ms_options_parse usable by one thread at a time.
 */
#include "memscope/options/options.h"

#include "base/macros.h"
#include "memscope/options/option_table.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

static int apply(const struct ms_option *spec, struct ms_settings *settings, const char *value, struct ms_why *why)
{
    if (spec->action == FLAG) {
        *ms_option_flag(spec, settings) = true;
        return 0;
    }
    return spec->rule(settings, value, why);
}

/* getopt's tables: value of a long option is the index of its spec + 256, out of the way of letters. */
struct tables {
    struct option all[2 * MS_OPTIONS + 1], original[2 * MS_OPTIONS + 1];
    char letters[4 * MS_OPTIONS + 1];
};

static void fill_tables(struct tables *tables)
{
    size_t n = 0, first = 0, l = 0;
    for (size_t i = 0; i < MS_OPTIONS; i++) {
        const struct ms_option *spec = &ms_options[i];
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
    tables->all[n] = tables->original[first] = (struct option){NULL, 0, NULL, 0};
    tables->letters[l] = '\0';
}

/* Scripts abbreviate the original's options; ours must not make that ambiguous. So an abbreviation that fits any of the
 * original's is read as if there were no others. */
static const struct option *table_for(const struct tables *tables, char **argv)
{
    char **next = &argv[optind > 0 ? optind : 1];
    while (*next != NULL && (*next)[0] != '-') {
        next++; /* getopt passes over what is no option */
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

enum ms_options_result ms_options_parse(int argc, char **argv, struct ms_settings *settings, int *program,
                                        struct ms_why *why, void (*say)(const char *line))
{
    struct tables tables;
    fill_tables(&tables);
    why->error[0] = '\0';
    optind = 0; /* from the beginning, also the second time */
    int c;
    while ((c = getopt_long(argc, argv, tables.letters, table_for(&tables, argv), NULL)) != -1) {
        const struct ms_option *spec = NULL;
        for (size_t i = 0; i < MS_OPTIONS; i++) {
            if (c == (int)i + 256 || (c < 256 && c != '?' && strchr(ms_options[i].letters, c) != NULL)) {
                spec = &ms_options[i];
            }
        }
        if (spec == NULL) {
            ms_refuse(why, "unrecognized command ");
            return MS_OPTIONS_WRONG;
        }
        why->warning[0] = '\0';
        if (spec->action == HELP) {
            return optarg != NULL && strcmp(optarg, "md") == 0 ? MS_OPTIONS_HELP_MD : MS_OPTIONS_HELP;
        }
        if (spec->action == VERSION) {
            return MS_OPTIONS_VERSION;
        }
        if (apply(spec, settings, optarg != NULL ? optarg : "", why) != 0) {
            return MS_OPTIONS_WRONG;
        }
        if (why->warning[0] != '\0') {
            say(why->warning);
        }
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
    for (size_t i = 0; i < MS_OPTIONS; i++) {
        bool same = strcmp(ms_options[i].name, name) == 0 ||
                    (ms_options[i].alias != NULL && strcmp(ms_options[i].alias, name) == 0);
        if (same && (ms_options[i].action == SET || ms_options[i].action == FLAG)) {
            return apply(&ms_options[i], settings, value, why);
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
