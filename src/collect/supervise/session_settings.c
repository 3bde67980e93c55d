/* SPDX-License-Identifier: Apache-2.0 */
/* From the settings of a recording to the session string of its processes. */
#include "collect/supervise/session_settings.h"

#include "trace/shm.h"

#define BACKLOG_B (64u << 20)

void ms_settings_to_session(const struct ms_settings *s, struct ms_session *session)
{
    uint32_t collected = ms_settings_collected(s);
    session->event_mask = collected | ms_settings_levels(s) | (s->cpu ? MS_WANT_CPU : 0u);
    session->state = s->collect_mode == MS_COLLECT_IMMEDIATE             ? MS_STATE_ON
                     : (collected & (MS_WANT_ALLOC | MS_WANT_FREE)) != 0 ? MS_STATE_SHADOW
                                                                         : MS_STATE_OFF;
    session->c_depth = s->c_stack ? s->c_depth : 0;
    session->python_depth = s->python_stack ? s->python_depth : 0;
    session->backlog_max = BACKLOG_B / MS_CHUNK_B;
    session->full_wait_ms = s->full_wait_ms;
    session->flags = (s->frame_pointers ? MS_SESSION_FRAME_POINTERS : 0u) | (s->cpu ? MS_SESSION_CPU : 0u);
    session->analysis = s->analysis;
    session->npu_mask = s->all_npus ? UINT32_MAX : s->npu_mask;
    ms_settings_watch_text(s, session->watch, sizeof(session->watch));
}
