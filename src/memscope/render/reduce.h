/* SPDX-License-Identifier: Apache-2.0 */
/* Reduces a report so that its page is small enough to display and mail. Peaks are preserved. */
#ifndef MS_RENDER_REDUCE_H
#define MS_RENDER_REDUCE_H

#include "memscope/analyze/report/report.h"

struct ms_reduce_options {
    size_t points; /* maximum length of a series */
    size_t steps;  /* maximum per device, in addition to the last one */
    bool npus;     /* omit the host if there are NPUs and it holds next to nothing */
};

/* *out shares data with the report, which must outlive it. NULL: out of memory. */
struct ms_report *ms_report_reduce(const struct ms_report *report, const struct ms_reduce_options *options);
void ms_report_reduced_free(struct ms_report *reduced);

#endif
