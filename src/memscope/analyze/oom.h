/* SPDX-License-Identifier: Apache-2.0 */
/* Out of memory, online: what the driver refused, who asked for it, and what was live then.
 *
 * At the end of the process one report per refusal whose details the model has given (at most one every two seconds;
 * the first REPORTS of them): the call with both stacks, what pools and driver held, the K most recent and the K
 * largest live blocks, each with the place that allocated it. Rows of the dump have the same with whole stacks. */
#ifndef MS_ANALYZE_OOM_H
#define MS_ANALYZE_OOM_H

#include "memscope/model/model.h"
#include "memscope/model/stacks.h"

#include <stdio.h>

struct ms_oom_report;

struct ms_oom_options {
    struct ms_model *model;        /* whose live blocks are asked when a row names them */
    struct ms_stack_source stacks; /* functions may be NULL */
    FILE *out;                     /* the report, in on_end */
};

int ms_oom_report_new(const struct ms_oom_options *options, struct ms_oom_report **out);
struct ms_consumer ms_oom_report_consumer(struct ms_oom_report *report);
void ms_oom_report_free(struct ms_oom_report *report);

#endif
