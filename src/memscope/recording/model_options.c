/* SPDX-License-Identifier: Apache-2.0 */
/* Settings as options of the model. No state. */
#include "memscope/recording/model_options.h"

#include "memscope/options/options.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)MS_EVENT_ALLOC == (int)MS_WANT_ALLOC && (int)MS_EVENT_FREE == (int)MS_WANT_FREE &&
                   (int)MS_EVENT_LAUNCH == (int)MS_WANT_LAUNCH && (int)MS_EVENT_ACCESS == (int)MS_WANT_ACCESS &&
                   (int)MS_EVENT_TRACEBACK == (int)MS_WANT_TRACEBACK,
               "the same bits");

void ms_recording_model_options(const struct ms_settings *s, struct ms_model_options *out)
{
    out->events = s->events; /* MS_EVENT_* are the bits of MS_WANT_* */
    out->levels = ((s->level & MS_LEVEL_OP) ? MS_WANT_OP : 0u) | ((s->level & MS_LEVEL_KERNEL) ? MS_WANT_KERNEL : 0u);
    out->analysis = s->analysis;
    out->events_only = s->events_only;
    out->deferred = s->collect_mode == MS_COLLECT_DEFERRED;
    out->cpu = s->cpu;
    out->all_npu = s->all_npus;
    out->npu_mask = s->npu_mask;
    out->step_count = s->step_count;
    memcpy(out->steps, s->steps, sizeof(out->steps));
    out->oom_top_k = s->oom_top_k;
}

bool ms_recording_config(struct ms_settings *settings, const char *text, size_t length_b, struct ms_model_options *out)
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
