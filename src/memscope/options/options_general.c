/* SPDX-License-Identifier: Apache-2.0 */
/* General options. Messages are those of msMemScope, which scripts search for. */
#include "memscope/options/option_table.h"

#include <string.h>

static const struct ms_option_word log_levels[] = {{"debug", MS_LOG_DEBUG},
                                                   {"info", MS_LOG_INFO},
                                                   {"warn", MS_LOG_WARN},
                                                   {"warning", MS_LOG_WARN},
                                                   {"error", MS_LOG_ERROR}};

static int set_log_level(struct ms_settings *s, const char *value, struct ms_why *why)
{
    const struct ms_option_word *word = ms_word_find(log_levels, MS_COUNT_OF(log_levels), value, strlen(value));
    if (word == NULL) {
        return ms_refuse(why, "--log-level param is invalid. Log level: debug|info|warning|error.");
    }
    s->log_level = (enum ms_log_level)word->value;
    s->log_level_given = true;
    return 0;
}

static void format_log_level(const struct ms_option *option, const struct ms_settings *s, struct ms_settings_text *out)
{
    if (s->log_level_given) {
        ms_settings_text_add(out, "%s=%s\n", option->name,
                             ms_word_of(log_levels, MS_COUNT_OF(log_levels), s->log_level)->text);
    }
}

const struct ms_option ms_options_general[] = {
    {.name = "help",
     .letters = "h",
     .argument = "[=md]",
     .action = MS_OPTION_HELP,
     .help = "print this text (md: as a reference page)"},
    {.name = "version", .letters = "vV", .action = MS_OPTION_VERSION, .help = "print the version"},
    {.name = "verbose", .alias = "debug", MS_OPTION_FLAG_OF(verbose), .help = "log everything (--log-level=debug)"},
    {.name = "quiet",
     .letters = "q",
     MS_OPTION_FLAG_OF(quiet),
     .help = "log errors only, no information on the console"},
    {.name = "log-level",
     .argument = "LEVEL",
     .set = set_log_level,
     .format = format_log_level,
     .initial = "warn",
     .help = "level of the log file: debug, info, warn (or warning), error;\noverrides --verbose and --quiet"},
    {.name = NULL},
};
