/* SPDX-License-Identifier: Apache-2.0 */
/* See model_options.h. No state. */
#include "memscope/recording/model_options.h"

#include "memscope/options/options.h"

#include <stdlib.h>
#include <string.h>

/* The text of a CONFIG event. False: it is invalid, or out of memory; nothing was changed. */
static bool apply_config(void *settings, const char *text, size_t length_b, struct ms_model_options *out)
{
    struct ms_why why;
    char *copy = strndup(text, length_b);
    bool good = copy != NULL && ms_options_apply_text(settings, copy, &why) == 0;
    if (good) {
        ms_recording_model_options(settings, out);
    }
    free(copy);
    return good;
}

void ms_recording_model_options(struct ms_settings *s, struct ms_model_options *out)
{
    out->events = s->events;
    out->levels = ms_settings_levels(s);
    out->analysis = s->analysis;
    out->events_only = s->events_only;
    out->deferred = s->collect_mode == MS_COLLECT_DEFERRED;
    out->cpu = s->cpu;
    out->all_npu = s->all_npus;
    out->npu_mask = s->npu_mask;
    out->step_count = s->step_count;
    memcpy(out->steps, s->steps, sizeof(out->steps));
    out->oom_top_k = s->oom_top_k;
    out->parse_config = apply_config;
    out->config_argument = s;
}
