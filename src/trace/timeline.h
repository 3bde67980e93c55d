/* SPDX-License-Identifier: Apache-2.0 */
/* Maps ticks to time: piecewise linear between the anchors of a trace, for each kind of clock.
 *
 * Time is CLOCK_MONOTONIC in sixteenths of a nanosecond, fine enough that ticks of any real counter stay distinct: a
 * larger tick is always a larger time. Between two anchors the map depends on these two alone, so a stamp with an
 * anchor on both sides maps to the same time in every reader. Outside the anchors the nearest piece is extended. */
#ifndef MS_TRACE_TIMELINE_H
#define MS_TRACE_TIMELINE_H

#include "trace/clock.h"

#define MS_TIME_UNITS 16u /* per nanosecond */

struct ms_timeline;
struct ms_timeline *ms_timeline_new(void);
void ms_timeline_free(struct ms_timeline *timeline);

/* Anchors of one clock come in order; one that is not later than the last in both ticks and time is ignored. */
void ms_timeline_add(struct ms_timeline *timeline, const struct ms_anchor *anchor);

bool ms_timeline_knows(const struct ms_timeline *timeline, uint32_t clock_kind); /* has an anchor */
/* 0 without an anchor of that clock. */
uint64_t ms_timeline_at(struct ms_timeline *timeline, uint32_t clock_kind, uint64_t ticks);

/* A stored point of the map: ticks, time in units. */
struct ms_timeline_point {
    uint64_t ticks, time;
};
/* Points of a clock from the last one at or before a time on; at most max, the latest ones. Returns their number. */
uint32_t ms_timeline_from(const struct ms_timeline *timeline, uint32_t clock_kind, uint64_t time,
                          struct ms_timeline_point *out, uint32_t max);
void ms_timeline_add_point(struct ms_timeline *timeline, uint32_t clock_kind, const struct ms_timeline_point *point);

#endif
