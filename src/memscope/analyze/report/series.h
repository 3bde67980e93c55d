/* SPDX-License-Identifier: Apache-2.0 */
/* Usage over time in at most MS_REPORT_POINTS points, whatever the length of the recording: equal spans of time, each
 * with the values of the moment at which `used` was largest. When the last span is exceeded, the spans are doubled and
 * adjacent pairs merged. Memory is constant. */
#ifndef MS_REPORT_SERIES_H
#define MS_REPORT_SERIES_H

#include "memscope/analyze/report/ledger.h"

struct ms_series {
    struct ms_report_point *points; /* one per span */
    bool *filled;
    uint64_t begin_ns, span_ns;
    size_t last;                /* span of the last change */
    struct ms_report_point now; /* state after it */
};

/* Called after a change; begin_ns is that of the process. 0 or -ENOMEM. */
int ms_series_add(struct ms_series *series, const struct ms_ledger_device *device, uint64_t begin_ns);
/* The points, with times relative to the beginning; the caller frees *out. */
int ms_series_take(const struct ms_series *series, struct ms_report_point **out, size_t *count);
void ms_series_free(struct ms_series *series);

#endif
