/* SPDX-License-Identifier: Apache-2.0 */
/* Fluctuation of pools over steps: the smallest and largest ratio of the minimum to the maximum allocated in a step.
 *
 * Per device and pool, from the second step on. A pool without a finished step is not printed. */
#ifndef MS_ANALYZE_FLUCTUATION_H
#define MS_ANALYZE_FLUCTUATION_H

#include "memscope/analyze/note.h"
#include "memscope/model/model.h"

#include <stdio.h>

struct ms_fluctuation;

struct ms_fluctuation_options {
    const struct ms_model *model; /* pools and steps */
    FILE *out;                    /* the report, written in on_end; may be NULL */
    ms_note_fn *log;              /* may be NULL */
    void *argument;
};

int ms_fluctuation_new(const struct ms_fluctuation_options *options, struct ms_fluctuation **out);
struct ms_consumer ms_fluctuation_consumer(struct ms_fluctuation *fluctuation);
void ms_fluctuation_free(struct ms_fluctuation *fluctuation);

#endif
