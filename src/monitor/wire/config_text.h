/* The configuration strings that travel from dyno through dynolog into training processes, as one table per command:
 * which options there are, what they accept, and which line of the text each becomes.
 *
 * The command line parses, helps, completes and documents itself from these tables; the daemon recognises texts by
 * them. Values are kept as the text that the line will show: a number loses leading zeros, a list its blanks. */
#ifndef MS_WIRE_CONFIG_TEXT_H
#define MS_WIRE_CONFIG_TEXT_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MS_CONFIG_VALUE_MAX_B 1024 /* longest text value, as msMonitor's */
#define MS_CONFIG_WHY_B       256
#define MS_CONFIG_OPTIONS_MAX 40

struct ms_option;

/* Checks a value and writes its canonical text. 0, or -EINVAL and why. */
typedef int ms_option_check(const struct ms_option *option, const char *text, struct ms_buffer *out,
                             char why[MS_CONFIG_WHY_B]);

struct ms_option {
    const char *name;     /* without dashes */
    const char *argument; /* as help shows it; NULL: a switch */
    const char *fallback; /* canonical; NULL: unset, or required */
    bool required;
    ms_option_check *check; /* NULL: any text without line breaks */
    int64_t min, max;        /* of numbers */
    const char *choices;     /* "a|b|c" for words and lists of words */
    const char *help;
};

/* Checks, shared with the options that do not reach a configuration string. */
ms_option_check ms_option_i64, ms_option_u64, ms_option_float, ms_option_word, ms_option_words,
    ms_option_numbers, ms_option_text, ms_option_path;

enum ms_config_style {
    MS_LINE_FIXED,  /* `fixed` itself */
    MS_LINE_VALUE,  /* the value, or nothing after the '=' */
    MS_LINE_NONE,   /* the value, or None */
    MS_LINE_SWITCH, /* true or false */
    MS_LINE_GIVEN,  /* true if the option was given */
};

enum ms_config_when { MS_WHEN_ALWAYS, MS_WHEN_DURATION, MS_WHEN_ITERATIONS, MS_WHEN_MEMORY };

struct ms_config_line {
    const char *key;
    const char *option; /* NULL: fixed */
    enum ms_config_style style;
    enum ms_config_when when;
    const char *fixed;
};

struct ms_config_command {
    const char *name;
    const char *title; /* what dyno prints before " config = " */
    const struct ms_option *options;
    size_t option_count;
    const struct ms_config_line *lines;
    size_t line_count;
};

extern const struct ms_config_command ms_config_nputrace, ms_config_npu_monitor, ms_config_gputrace;

/* Values beside the options of a table: value[i] belongs to options[i], NULL when unset; a switch is "true" or unset.
 * Texts belong to whoever filled them in. */
struct ms_option_values {
    const char *value[MS_CONFIG_OPTIONS_MAX];
    bool given[MS_CONFIG_OPTIONS_MAX];
};

const struct ms_option *ms_option_find(const struct ms_option *options, size_t count, const char *name,
                                         size_t name_b);
/* The value of an option of the table, or its default, or NULL. */
const char *ms_option_value(const struct ms_option *options, size_t count, const struct ms_option_values *values,
                             const char *name);

/* The text, without a newline at the end. */
void ms_config_write(const struct ms_config_command *command, const struct ms_option_values *values,
                      struct ms_buffer *out);

/* Which command wrote a text: begins with NPU_MONITOR_START, has a line that only nputrace writes, or neither. */
const struct ms_config_command *ms_config_recognise(const char *text, size_t text_b);

/* The value of a line, without surrounding blanks; NULL: there is no such line. *value_b is its length. */
const char *ms_config_find(const char *text, size_t text_b, const char *key, size_t *value_b);

/* Whether a text may be given to a process: printable lines only. NULL, or why not. */
const char *ms_config_unsafe(const char *text, size_t text_b);

#endif
