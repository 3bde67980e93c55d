/* SPDX-License-Identifier: Apache-2.0 */
/* msmemscope report: reads the inputs once for the report, and again where comparing two moments of a rank explains a
 * difference. */
#ifndef MS_CLI_REPORT_READ_H
#define MS_CLI_REPORT_READ_H

#include "memscope/analyze/report/ranks.h"
#include "memscope/analyze/report/report.h"

struct report_inputs {
    const char **paths;
    size_t count;
    struct ms_report_options options;
    struct ms_model_options model;
};

/* The input of a process in the report. */
struct report_origin {
    size_t path, at; /* index of the input, and of the process in it */
};
struct report_origins {
    struct report_origin *list; /* in the order of the report's processes; freed by the caller */
    size_t count, room;
};

/* Reads all inputs in order. Unreadable ones are reported and make the report partial; -errno if none is readable. */
int report_read(const struct report_inputs *inputs, struct ms_report_builder *builder, struct report_origins *origins);

/* Compares all ranks and, if one diverges, finds out why: *again holds the texts of the causes and must be freed
 * after the ranks. *out is NULL if there are fewer than two. */
int report_ranks(const struct report_inputs *inputs, const struct report_origins *origins,
                 const struct ms_report *report, struct ms_ranks **out, struct ms_report_builder *again[2]);

#endif
