/* SPDX-License-Identifier: Apache-2.0 */
/* Defaults, and what follows from settings. */
#include "memscope/options/settings.h"
#include "memscope/options/paths.h"

#include "base/macros.h"
#include "base/parse.h"
#include "trace/shm.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RING_B (1ull << 30)

void ms_settings_init(struct ms_settings *s)
{
    memset(s, 0, sizeof(*s));
    s->all_npus = true;
    s->level = MS_LEVEL_OP;
    s->events = MS_EVENT_ALLOC | MS_EVENT_FREE | MS_EVENT_LAUNCH;
    s->analysis = MS_ANALYSE_LEAKS;
    s->oom_top_k = MS_OOM_TOP_K;
    s->watch.output_id = UINT32_MAX;
    s->log_level = MS_LOG_WARN;
    s->full_wait_ms = 20;
    s->linger_ms = 5000;
    ms_path_absolute("./" MS_OUTPUT_DEFAULT, s->output); /* empty if the current directory has no name */
}

static const struct {
    bool analysis; /* the condition is an analysis, else an event */
    uint32_t bit;
    uint32_t implies; /* events */
} implications[] = {
    {false, MS_EVENT_ALLOC, MS_EVENT_FREE},
    {false, MS_EVENT_FREE, MS_EVENT_ALLOC},
    {false, MS_EVENT_ACCESS, MS_EVENT_ALLOC | MS_EVENT_FREE},
    {true, MS_ANALYSE_LEAKS, MS_EVENT_ALLOC | MS_EVENT_FREE},
    {true, MS_ANALYSE_DECOMPOSE, MS_EVENT_ALLOC | MS_EVENT_FREE | MS_EVENT_ACCESS},
    {true, MS_ANALYSE_INEFFICIENT, MS_EVENT_ALLOC | MS_EVENT_FREE | MS_EVENT_ACCESS | MS_EVENT_LAUNCH},
    {true, MS_ANALYSE_OOM, MS_EVENT_ALLOC | MS_EVENT_FREE},
};

uint32_t ms_settings_collected(const struct ms_settings *s)
{
    uint32_t events = s->events;
    for (size_t i = 0; i < MS_COUNT_OF(implications); i++) {
        if (((implications[i].analysis ? s->analysis : s->events) & implications[i].bit) != 0) {
            events |= implications[i].implies;
        }
    }
    return events;
}

uint32_t ms_settings_written(const struct ms_settings *s)
{
    return s->events_only ? s->events : ms_settings_collected(s);
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
