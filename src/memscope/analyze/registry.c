/* SPDX-License-Identifier: Apache-2.0 */
/* The list of analyses that run while recording. */
#include "memscope/analyze/analysis.h"

#define ANALYSES(X)                                                                                                    \
    X(ms_inefficient_online_analysis)                                                                                  \
    X(ms_watch_analysis)                                                                                               \
    X(ms_oom_analysis)                                                                                                 \
    X(ms_leaks_analysis)                                                                                               \
    X(ms_fluctuation_analysis)

#define X(analysis) extern const struct ms_analysis analysis;
ANALYSES(X)
#undef X

const struct ms_analysis *const ms_analyses[] = {
#define X(analysis) &analysis,
    ANALYSES(X)
#undef X
        NULL};
