/* SPDX-License-Identifier: Apache-2.0 */
/* A report with less in it: for a page, whose reader has a screen and a mail box. Peaks stay. */
#ifndef MS_RENDER_THIN_H
#define MS_RENDER_THIN_H

#include "memscope/analyze/report/report.h"

struct ms_thin_options {
    size_t points; /* of a series, at most */
    size_t steps;  /* of a device, at most, and the last one */
    bool npus;     /* a host beside NPUs that holds next to nothing is left out */
};

/* *out shares what it can with the report, which must outlive it. NULL: no memory. */
struct ms_report *ms_thin(const struct ms_report *report, const struct ms_thin_options *options);
void ms_thin_free(struct ms_report *thin);

#endif
