/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration strings that travel from dyno through dynolog into training processes, as one table per command:
 * which options there are, what they accept, and which line of the text each becomes.
 *
 * The command line parses, helps, completes and documents itself from these tables; the daemon recognises texts by
 * them. Values are kept as the text that the line will show: a number loses leading zeros, a list its blanks. */
#ifndef MON_WIRE_CONFIG_TEXT_H
#define MON_WIRE_CONFIG_TEXT_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MON_CONFIG_VALUE_MAX_B 1024 /* longest text value, as msMonitor's */
#define MON_CONFIG_WHY_B       256
#define MON_CONFIG_OPTIONS_MAX 40

struct mon_option;

/* Checks a value and writes its canonical text. 0, or -EINVAL and why. */
typedef int mon_option_check(const struct mon_option *option, const char *text, struct ms_buffer *out,
                             char why[MON_CONFIG_WHY_B]);

struct mon_option {
    const char *name;     /* without dashes */
    const char *argument; /* as help shows it; NULL: a switch */
    const char *fallback; /* canonical; NULL: unset, or required */
    bool required;
    mon_option_check *check; /* NULL: any text without line breaks */
    int64_t min, max;        /* of numbers */
    const char *choices;     /* "a|b|c" for words and lists of words */
    const char *help;
};

/* Checks, shared with the options that do not reach a configuration string. */
mon_option_check mon_option_i64, mon_option_u64, mon_option_float, mon_option_word, mon_option_words,
    mon_option_numbers, mon_option_text, mon_option_path;

enum mon_config_style {
    MON_LINE_FIXED,  /* `fixed` itself */
    MON_LINE_VALUE,  /* the value, or nothing after the '=' */
    MON_LINE_NONE,   /* the value, or None */
    MON_LINE_SWITCH, /* true or false */
    MON_LINE_GIVEN,  /* true if the option was given */
};

enum mon_config_when { MON_WHEN_ALWAYS, MON_WHEN_DURATION, MON_WHEN_ITERATIONS, MON_WHEN_MEMORY };

struct mon_config_line {
    const char *key;
    const char *option; /* NULL: fixed */
    enum mon_config_style style;
    enum mon_config_when when;
    const char *fixed;
};

struct mon_config_command {
    const char *name;
    const char *title; /* what dyno prints before " config = " */
    const struct mon_option *options;
    size_t option_count;
    const struct mon_config_line *lines;
    size_t line_count;
};

extern const struct mon_config_command mon_config_nputrace, mon_config_npu_monitor, mon_config_gputrace;

/* Values beside the options of a table: value[i] belongs to options[i], NULL when unset; a switch is "true" or unset.
 * Texts belong to whoever filled them in. */
struct mon_option_values {
    const char *value[MON_CONFIG_OPTIONS_MAX];
    bool given[MON_CONFIG_OPTIONS_MAX];
};

const struct mon_option *mon_option_find(const struct mon_option *options, size_t count, const char *name,
                                         size_t name_b);
/* The value of an option of the table, or its default, or NULL. */
const char *mon_option_value(const struct mon_option *options, size_t count, const struct mon_option_values *values,
                             const char *name);

/* The text, without a newline at the end. */
void mon_config_write(const struct mon_config_command *command, const struct mon_option_values *values,
                      struct ms_buffer *out);

/* Which command wrote a text: begins with NPU_MONITOR_START, has a line that only nputrace writes, or neither. */
const struct mon_config_command *mon_config_recognise(const char *text, size_t text_b);

/* The value of a line, without surrounding blanks; NULL: there is no such line. *value_b is its length. */
const char *mon_config_find(const char *text, size_t text_b, const char *key, size_t *value_b);

/* Whether a text may be given to a process: printable lines only. NULL, or why not. */
const char *mon_config_unsafe(const char *text, size_t text_b);

#endif
