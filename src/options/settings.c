/* Defaults, and what follows from settings. */
#include "options/settings.h"
#include "options/paths.h"

#include "base/macros.h"
#include "base/parse.h"
#include "trace/shm.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BACKLOG_B (64u << 20)
#define RING_B    (1ull << 30)

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

void ms_settings_to_session(const struct ms_settings *s, struct ms_session *session)
{
    static const struct {
        uint32_t event, want;
    } wants[] = {{MS_EVENT_ALLOC, MS_WANT_ALLOC},
                 {MS_EVENT_FREE, MS_WANT_FREE},
                 {MS_EVENT_LAUNCH, MS_WANT_LAUNCH},
                 {MS_EVENT_ACCESS, MS_WANT_ACCESS},
                 {MS_EVENT_TRACEBACK, MS_WANT_TRACEBACK}};
    uint32_t collected = ms_settings_collected(s);
    session->event_mask = ((s->level & MS_LEVEL_OP) ? MS_WANT_OP : 0u) |
                          ((s->level & MS_LEVEL_KERNEL) ? MS_WANT_KERNEL : 0u) | (s->cpu ? MS_WANT_CPU : 0u);
    for (size_t i = 0; i < MS_COUNT_OF(wants); i++) {
        session->event_mask |= (collected & wants[i].event) ? wants[i].want : 0u;
    }
    session->state = s->collect_mode == MS_COLLECT_IMMEDIATE               ? MS_STATE_ON
                     : (collected & (MS_EVENT_ALLOC | MS_EVENT_FREE)) != 0 ? MS_STATE_SHADOW
                                                                           : MS_STATE_OFF;
    session->c_depth = s->c_stack ? s->c_depth : 0;
    session->python_depth = s->python_stack ? s->python_depth : 0;
    session->backlog_max = BACKLOG_B / MS_CHUNK_B;
    session->full_wait_ms = s->full_wait_ms;
    session->flags = (s->frame_pointers ? MS_SESSION_FRAME_POINTERS : 0u) | (s->cpu ? MS_SESSION_CPU : 0u);
    session->analysis = s->analysis;
    session->npu_mask = s->all_npus ? UINT32_MAX : s->npu_mask;
    session->watch[0] = '\0';
    if (s->watch.on) {
        char call[16] = "", id[16] = "";
        if (s->watch.call != 0) {
            snprintf(call, sizeof(call), "#%u", s->watch.call);
        }
        if (s->watch.output_id != UINT32_MAX) {
            snprintf(id, sizeof(id), ":%u", s->watch.output_id);
        }
        snprintf(session->watch, sizeof(session->watch), "%s%s%s,%s%s", s->watch.start, call, id, s->watch.end,
                 s->watch.full_content ? ",full-content" : "");
    }
}
