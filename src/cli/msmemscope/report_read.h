/* SPDX-License-Identifier: Apache-2.0 */
/* msmemscope report: what is read for it, once for the report, and again where two moments of a rank explain more. */
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

/* Where a process of the report was read from. */
struct report_origin {
    size_t path, at; /* input, and process of it */
};
struct report_origins {
    struct report_origin *list; /* as the processes of the report; to be freed by the caller */
    size_t count, room;
};

/* Everything, in the order of the inputs. What cannot be read is told and makes the report partial; if that is
 * everything, -errno. */
int report_read(const struct report_inputs *inputs, struct ms_report_builder *builder, struct report_origins *origins);

/* All ranks, and if one diverges, why: *again holds the texts of the causes, to be freed after the ranks. NULL in *out:
 * there are less than two. */
int report_ranks(const struct report_inputs *inputs, const struct report_origins *origins,
                 const struct ms_report *report, struct ms_ranks **out, struct ms_report_builder *again[2]);

#endif
