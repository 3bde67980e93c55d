/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints of a replay: when one is due, what stands in it, how a replay goes on from one.
 *
 * A checkpoint is the state of the model and the settings in effect, at a sweep. One is made after START and in every
 * segment but the first. Segments before the latest one are covered: a ring may delete them. Segments of which no row
 * came, while nothing was traced, are unused and deleted in any case.
 *
 * Belongs to the thread that runs the replay; the marks are how it tells whoever writes the trace. */
#ifndef MS_RECORDING_CHECKPOINTS_H
#define MS_RECORDING_CHECKPOINTS_H

#include "memscope/model/model.h"
#include "memscope/options/settings.h"
#include "trace/aux.h"
#include "trace/reader.h"

struct ms_marks {
    uint64_t covered; /* atomic: segments below are covered by a checkpoint */
    uint64_t freed_b; /* atomic: bytes of segments that were deleted because nothing came of them */
};

struct ms_checkpoints {
    struct ms_trace *trace;
    struct ms_model *model;
    struct ms_aux *aux; /* NULL: none are made */
    struct ms_marks *marks;
    uint64_t segment;   /* that is being read */
    uint64_t idle_from; /* from this segment on no row has come and nothing is traced; 0: not so */
    uint64_t idle_rows; /* rows there were then */
    bool due;
    bool too_large; /* told */
};

/* All of them stay the caller's. */
void ms_checkpoints_init(struct ms_checkpoints *checkpoints, struct ms_trace *trace, struct ms_model *model,
                         struct ms_aux *aux, struct ms_marks *marks);

/* After each event; makes one if it is due and the place is right. 0 or -errno: it was not made. */
int ms_checkpoints_make(struct ms_checkpoints *checkpoints, const struct ms_settings *settings);
static inline int ms_checkpoints_after(struct ms_checkpoints *checkpoints, const struct ms_event *event,
                                       const struct ms_settings *settings)
{
    checkpoints->due |= event->kind == MS_R_START;
    if (checkpoints->aux == NULL ||
        (!checkpoints->due && ms_trace_segment(checkpoints->trace) == checkpoints->segment)) {
        return 0;
    }
    return ms_checkpoints_make(checkpoints, settings);
}

/* Settings of the checkpoint that the trace stands at; false: there is none, or it is not understood. */
bool ms_checkpoints_settings(const struct ms_trace *trace, struct ms_settings *settings);
/* The model's state becomes that of the checkpoint. 0 or -errno. */
int ms_checkpoints_restore(struct ms_trace *trace, struct ms_model *model, const struct ms_model_options *options);

#endif
