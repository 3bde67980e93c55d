/* SPDX-License-Identifier: Apache-2.0 */
/* Options of the recorder and of trace files; msMemScope has none of them. */
#include "memscope/options/option_table.h"

#include "base/parse.h"

#include <string.h>

static const struct ms_option_word exports[] = {
    {"live", MS_EXPORT_LIVE}, {"end", MS_EXPORT_END}, {"none", MS_EXPORT_NONE}};

static int set_export(struct ms_settings *s, const char *value, struct ms_why *why)
{
    const struct ms_option_word *word = ms_word_find(exports, MS_COUNT_OF(exports), value, strlen(value));
    if (word == NULL) {
        return ms_refuse(why, "invalid --export '%.100s': live, end or none is needed.", value);
    }
    s->export_mode = (enum ms_export_mode)word->value;
    return 0;
}

static void format_export(const struct ms_option *option, const struct ms_settings *s, struct ms_settings_text *out)
{
    ms_settings_text_add(out, "%s=%s\n", option->name, ms_word_of(exports, MS_COUNT_OF(exports), s->export_mode)->text);
}

static int set_max_trace_size(struct ms_settings *s, const char *value, struct ms_why *why)
{
    uint64_t size_b;
    if (ms_parse_size(value, &size_b) != 0 || (size_b != 0 && size_b < (16u << 20))) {
        return ms_refuse(
            why, "invalid --max-trace-size '%.100s': a size of at least 16M is needed, such as 2G, or 0 for no limit.",
            value);
    }
    s->max_trace_b = size_b;
    return 0;
}

static void format_max_trace_size(const struct ms_option *option, const struct ms_settings *s,
                                  struct ms_settings_text *out)
{
    ms_settings_text_add(out, "%s=%llu\n", option->name, (unsigned long long)s->max_trace_b);
}

static int set_on_full(struct ms_settings *s, const char *value, struct ms_why *why)
{
    uint64_t wait_ms = 20;
    bool wait = strcmp(value, "wait") == 0;
    if (strncmp(value, "wait:", 5) == 0) {
        wait = ms_read_digits(value + 5, strlen(value + 5), 1, 1000, &wait_ms);
    }
    if (!wait && strcmp(value, "drop") != 0) {
        return ms_refuse(why, "invalid --on-full '%.100s': wait, wait:MILLISECONDS (1 to 1000) or drop is needed.",
                         value);
    }
    s->full_wait_ms = wait ? (uint32_t)wait_ms : 0;
    return 0;
}

static void format_on_full(const struct ms_option *option, const struct ms_settings *s, struct ms_settings_text *out)
{
    if (s->full_wait_ms > 0) {
        ms_settings_text_add(out, "%s=wait:%u\n", option->name, s->full_wait_ms);
    } else {
        ms_settings_text_add(out, "%s=drop\n", option->name);
    }
}

static int set_linger(struct ms_settings *s, const char *value, struct ms_why *why)
{
    uint64_t seconds;
    if (!ms_read_digits(value, strlen(value), 0, 86400, &seconds)) {
        return ms_refuse(why, "invalid --linger '%.100s': seconds from 0 to 86400 are needed.", value);
    }
    s->linger_ms = (uint32_t)seconds * 1000;
    return 0;
}

static void format_linger(const struct ms_option *option, const struct ms_settings *s, struct ms_settings_text *out)
{
    ms_settings_text_add(out, "%s=%u\n", option->name, s->linger_ms / 1000);
}

const struct ms_option ms_options_recorder[] = {
    {.name = "export",
     .argument = "WHEN",
     .set = set_export,
     .format = format_export,
     .initial = "live",
     .later = true,
     .help = "live: write files while the program runs; end: after it; none: trace only,\n"
             "see 'msmemscope export DIR'"},
    {.name = "max-trace-size",
     .argument = "SIZE",
     .set = set_max_trace_size,
     .format = format_max_trace_size,
     .shown = "no limit",
     .later = true,
     .help = "stop recording a process when its trace reaches SIZE, at least 16M"},
    {.name = "ring",
     MS_OPTION_FLAG_OF(ring),
     .later = true,
     .help = "at --max-trace-size (1G if not set) discard the oldest part instead of stopping;\n"
             "with --export=end the dump files contain only what is left"},
    {.name = "on-full",
     .argument = "POLICY",
     .set = set_on_full,
     .format = format_on_full,
     .initial = "wait:20",
     .later = true,
     .help = "wait[:MS]: a program that outruns the recorder waits up to MS milliseconds;\n"
             "drop: it never waits. Lost events are counted and reported"},
    {.name = "linger",
     .argument = "SECONDS",
     .set = set_linger,
     .format = format_linger,
     .initial = "5",
     .later = true,
     .help = "how long to wait for processes that outlive the program"},
    {.name = "sync",
     MS_OPTION_FLAG_OF(sync),
     .later = true,
     .help = "flush the trace to disk every second (survives power loss)"},
    {.name = NULL},
};
