/* SPDX-License-Identifier: Apache-2.0 */
/* The option table. Each group of options is a file (options_<group>.c) in which an option has one row, next to the
 * functions that parse and format its value. Everything else loops over the rows: command line, config() of the API,
 * settings in sessions and traces, help, reference page, manual page.
 *
 * A new option is a row in the file of its group and a field in settings.h. */
#ifndef MS_OPTIONS_OPTION_TABLE_H
#define MS_OPTIONS_OPTION_TABLE_H

#include "base/macros.h"
#include "memscope/options/settings.h"

struct ms_settings_text;

enum ms_option_action { MS_OPTION_VALUE, MS_OPTION_FLAG, MS_OPTION_HELP, MS_OPTION_VERSION };

struct ms_option {
    const char *name;
    const char *alias;    /* second long name; NULL: none */
    char letters[3];      /* one-letter names */
    const char *argument; /* NULL: none; in brackets: optional */
    const char *help;     /* lines */
    enum ms_option_action action;

    /* MS_OPTION_FLAG: offset of the bool that becomes true. */
    size_t flag;

    /* MS_OPTION_VALUE */
    ms_setting_rule set;
    /* Appends the lines "name=value" from which `set` restores the value. */
    void (*format)(const struct ms_option *option, const struct ms_settings *settings, struct ms_settings_text *out);
    bool local;          /* used by this process only, never passed on: has no formatter */
    const char *initial; /* default, passed to `set`; NULL: zero */
    const char *shown;   /* default as help shows it; NULL: `initial` */

    bool later; /* not an option of msMemScope: must not make abbreviations of its options ambiguous */
};

#define MS_OPTION_FLAG_OF(field) .action = MS_OPTION_FLAG, .flag = offsetof(struct ms_settings, field)

/* A row without a name ends a group. */
extern const struct ms_option ms_options_general[], ms_options_collection[], ms_options_analysis[], ms_options_files[],
    ms_options_recorder[];

struct ms_option_group {
    const char *title;
    const struct ms_option *options;
};
extern const struct ms_option_group ms_option_groups[]; /* ends with a group without a title */

/* The rows of all groups, numbered from 0; NULL: no more. */
const struct ms_option *ms_option_at(size_t index);

static inline bool *ms_option_flag(const struct ms_option *option, struct ms_settings *settings)
{
    return (bool *)((char *)settings + option->flag);
}

/* "--output, --output-path, -o DIR" */
#define MS_OPTION_NAMES_B 96
void ms_option_names(const struct ms_option *option, char *out, size_t out_b);

/* The prose around the table, for help, reference page and manual page. */
struct ms_help_text {
    const char *usage, *grammar, *environment, *commands, *examples, *output;
};
extern const struct ms_help_text ms_help_text;

/* ---- for the functions of the rows: reading values ---- */

struct ms_option_word {
    const char *text;
    uint32_t value; /* a bit, or an enum constant */
};

/* Both return NULL if there is none. The first of several words with one value is the one that is written. */
const struct ms_option_word *ms_word_find(const struct ms_option_word *words, size_t count, const char *item,
                                          size_t length_b);
const struct ms_option_word *ms_word_of(const struct ms_option_word *words, size_t count, uint32_t value);

/* Next item of a list separated by half- or full-width commas; empty items are skipped. False: no more. */
bool ms_next_item(const char **rest, const char **item, size_t *length_b);
bool ms_item_is(const char *item, size_t length_b, const char *word);

/* Decimal digits without sign, blank or leading zero. */
bool ms_read_digits(const char *text, size_t length_b, uint64_t min, uint64_t max, uint64_t *out);

/* ---- and formatting them ---- */

void ms_settings_text_add(struct ms_settings_text *out, const char *format, ...) MS_PRINTF(2, 3);
/* "name=word,word" without the end of the line; `empty` if no bit is set. */
void ms_settings_text_words(struct ms_settings_text *out, const char *name, uint32_t bits,
                            const struct ms_option_word *words, size_t count, const char *empty);

#endif
