/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration strings that dyno sends through dynolog to training processes. One table per command lists its
 * options, the values they accept, and the line of the text that each option becomes.
 *
 * dyno derives its parser, help, completion and documentation from these tables; the daemon uses them to recognise
 * texts. Values are stored in the form in which the line shows them: numbers without leading zeros, lists without
 * blanks. */
#ifndef MON_WIRE_CONFIG_TEXT_H
#define MON_WIRE_CONFIG_TEXT_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MON_CONFIG_VALUE_MAX_B 1024 /* longest text value; msMonitor's limit */
#define MON_CONFIG_WHY_B       256
#define MON_CONFIG_OPTIONS_MAX 40

struct mon_option;

/* Checks a value and appends its canonical form to out. 0, or -EINVAL with the reason in why. */
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

/* Checks. Options that are not part of a configuration string use them too. */
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

/* Values parallel to the options of a table: value[i] belongs to options[i] and is NULL if unset; a switch is "true" or
 * unset. The caller owns the texts. */
struct mon_option_values {
    const char *value[MON_CONFIG_OPTIONS_MAX];
    bool given[MON_CONFIG_OPTIONS_MAX];
};

const struct mon_option *mon_option_find(const struct mon_option *options, size_t count, const char *name,
                                         size_t name_b);
/* The value of an option of the table, or its default, or NULL. */
const char *mon_option_value(const struct mon_option *options, size_t count, const struct mon_option_values *values,
                             const char *name);

/* Appends the configuration text, without a trailing newline. */
void mon_config_write(const struct mon_config_command *command, const struct mon_option_values *values,
                      struct ms_buffer *out);

/* The command that wrote a text: npu-monitor if it starts with NPU_MONITOR_START, nputrace if it has a line that only
 * nputrace writes, otherwise gputrace. */
const struct mon_config_command *mon_config_recognise(const char *text, size_t text_b);

/* The value of a line, without surrounding blanks, and its length; NULL if the line is missing. */
const char *mon_config_find(const char *text, size_t text_b, const char *key, size_t *value_b);

/* NULL if a text may be sent to a process (printable lines only), otherwise the reason. */
const char *mon_config_unsafe(const char *text, size_t text_b);

#endif
