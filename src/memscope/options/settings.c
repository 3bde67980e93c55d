/* SPDX-License-Identifier: Apache-2.0 */
/* Defaults, and values derived from settings. */
#include "memscope/options/settings.h"

#include "memscope/options/option_table.h"
#include "memscope/options/paths.h"

#include <stdio.h>
#include <string.h>

#define RING_B (1ull << 30)

void ms_settings_init(struct ms_settings *s)
{
    memset(s, 0, sizeof(*s));
    const struct ms_option *option;
    struct ms_why why;
    for (size_t i = 0; (option = ms_option_at(i)) != NULL; i++) {
        if (option->initial != NULL) {
            option->set(s, option->initial, &why);
        }
    }
    s->log_level_given = false;                          /* set by the rule, but this is a default */
    ms_path_absolute("./" MS_OUTPUT_DEFAULT, s->output); /* empty if the current directory has no path */
}

uint32_t ms_settings_collected(const struct ms_settings *s)
{
    return ms_events_implied(s->events, s->analysis);
}

uint32_t ms_settings_written(const struct ms_settings *s)
{
    return s->events_only ? s->events : ms_settings_collected(s);
}

uint32_t ms_settings_levels(const struct ms_settings *s)
{
    return ((s->level & MS_LEVEL_OP) != 0 ? MS_WANT_OP : 0u) |
           ((s->level & MS_LEVEL_KERNEL) != 0 ? MS_WANT_KERNEL : 0u);
}

uint64_t ms_settings_trace_limit(const struct ms_settings *s)
{
    return s->max_trace_b == 0 && s->ring ? RING_B : s->max_trace_b;
}

enum ms_log_level ms_settings_log_level(const struct ms_settings *s)
{
    return s->log_level_given ? s->log_level : s->verbose ? MS_LOG_DEBUG : s->quiet ? MS_LOG_ERROR : s->log_level;
}

void ms_settings_watch_text(const struct ms_settings *s, char *out, size_t out_b)
{
    char call[16] = "", id[16] = "";
    out[0] = '\0';
    if (!s->watch.on) {
        return;
    }
    if (s->watch.call != 0) {
        snprintf(call, sizeof(call), "#%u", s->watch.call);
    }
    if (s->watch.output_id != UINT32_MAX) {
        snprintf(id, sizeof(id), ":%u", s->watch.output_id);
    }
    snprintf(out, out_b, "%s%s%s,%s%s", s->watch.start, call, id, s->watch.end,
             s->watch.full_content ? ",full-content" : "");
}
