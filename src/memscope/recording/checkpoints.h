/* SPDX-License-Identifier: Apache-2.0 */
/* Checkpoints of a pipeline: when one is due, what it contains, and how a pipeline continues from one.
 *
 * A checkpoint is the state of the model and the settings in effect at a sweep. One is written after START and in every
 * segment but the first. Segments before the latest one are covered: a ring may delete them. Segments that yielded no
 * row while nothing was traced are unused, and are always deleted.
 *
 * Belongs to the thread that runs the pipeline; struct ms_reclaim passes the result to the thread that writes the
 * trace. */
#ifndef MS_RECORDING_CHECKPOINTS_H
#define MS_RECORDING_CHECKPOINTS_H

#include "memscope/model/model.h"
#include "memscope/options/settings.h"
#include "trace/aux.h"
#include "trace/reader.h"

struct ms_reclaim {
    uint64_t covered; /* atomic: segments below are covered by a checkpoint */
    uint64_t freed_b; /* atomic: bytes of unused segments that were deleted */
};

struct ms_checkpoints {
    struct ms_trace *trace;
    struct ms_model *model;
    struct ms_aux *aux; /* NULL: none are written */
    struct ms_reclaim *reclaim;
    uint64_t segment;   /* being read */
    uint64_t idle_from; /* since this segment nothing is traced and no row was written; 0: not idle */
    uint64_t idle_rows; /* number of rows then */
    bool due;
    bool too_large; /* an error was reported */
};

/* The caller keeps ownership of all of them. */
void ms_checkpoints_init(struct ms_checkpoints *checkpoints, struct ms_trace *trace, struct ms_model *model,
                         struct ms_aux *aux, struct ms_reclaim *reclaim);

/* Called after each event; writes a checkpoint if one is due and the position allows it. 0, or -errno if writing
 * failed. */
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

/* Settings of the checkpoint at which the trace starts; false: there is none, or it is invalid. */
bool ms_checkpoints_settings(const struct ms_trace *trace, struct ms_settings *settings);
/* Restores the model from that checkpoint. 0 or -errno. */
int ms_checkpoints_restore(struct ms_trace *trace, struct ms_model *model, const struct ms_model_options *options);

#endif
