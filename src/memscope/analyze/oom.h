/* SPDX-License-Identifier: Apache-2.0 */
/* Out of memory, online: what the driver refused, which code requested it, and what was live at the time.
 *
 * At process exit: one report per refusal for which the model has details (at most one every two seconds; only the
 * first REPORTS): the call with both stacks, memory held by pools and driver, the K most recent and the K largest live
 * blocks, each with its call site. The rows in the dump have the same data with full stacks. */
#ifndef MS_ANALYZE_OOM_H
#define MS_ANALYZE_OOM_H

#include "memscope/model/model.h"
#include "memscope/model/stacks.h"

#include <stdio.h>

struct ms_oom_report;

struct ms_oom_options {
    struct ms_model *model;        /* its live blocks are looked up when a row names them */
    struct ms_stack_source stacks; /* functions may be NULL */
    FILE *out;                     /* the report, written in on_end */
};

int ms_oom_report_new(const struct ms_oom_options *options, struct ms_oom_report **out);
struct ms_consumer ms_oom_report_consumer(struct ms_oom_report *report);
void ms_oom_report_free(struct ms_oom_report *report);

#endif
