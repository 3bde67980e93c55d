/* SPDX-License-Identifier: Apache-2.0 */
/* The list of analyses that run while recording, from the table in trace/wanted.h. */
#include "memscope/analyze/analysis.h"

#define X(name) extern const struct ms_analysis ms_##name##_analysis;
MS_ANALYSIS_ORDER(X)
#undef X

/* clang-format off */
const struct ms_analysis *const ms_analyses[] = {
#define X(name) &ms_##name##_analysis,
    MS_ANALYSIS_ORDER(X)
#undef X
    NULL,
};
/* clang-format on */
