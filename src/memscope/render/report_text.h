/* SPDX-License-Identifier: Apache-2.0 */
/* The report as text for a terminal. */
#ifndef MS_RENDER_REPORT_TEXT_H
#define MS_RENDER_REPORT_TEXT_H

#include "memscope/analyze/report/report.h"

#include <stdio.h>

struct ms_report_text_options {
    uint32_t top; /* length of lists; 0: 10 */
    bool all;     /* include advice that saves less than 1 % */
};

void ms_report_text(const struct ms_report *report, const struct ms_report_text_options *options, FILE *out);

#endif
