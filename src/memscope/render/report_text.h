/* SPDX-License-Identifier: Apache-2.0 */
/* The report for people who read it in a terminal. */
#ifndef MS_RENDER_REPORT_TEXT_H
#define MS_RENDER_REPORT_TEXT_H

#include "memscope/analyze/report/report.h"

#include <stdio.h>

struct ms_report_text_options {
    uint32_t top; /* entries of a list; 0: 10 */
    bool all;     /* advice that saves less than 1 %, too */
};

void ms_report_text(const struct ms_report *report, const struct ms_report_text_options *options, FILE *out);

#endif
