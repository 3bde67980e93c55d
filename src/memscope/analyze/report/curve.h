/* SPDX-License-Identifier: Apache-2.0 */
/* A curve of bytes over changes, and questions about it: what would its highest point be, if some bytes were not there
 * for some time?
 *
 * Point n is the value after change n. At most MS_CURVE_POINTS are kept (128 MiB); beyond that pairs become one with
 * the larger value, again and again, and a position stands for 2^shift changes. Bytes count as missing only from points
 * that lie wholly in the time that they are missing, so what is then said to be saved is less than the truth, never
 * more. */
#ifndef MS_REPORT_CURVE_H
#define MS_REPORT_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MS_CURVE_POINTS (1u << 24)

struct ms_curve {
    uint64_t *points;
    size_t count, room, limit; /* limit 0: MS_CURVE_POINTS */
    unsigned shift;
    uint64_t changes;
    /* Made by ms_curve_index: maxima of 64 points, of 64 of these. */
    uint64_t *maxima[3];
    size_t maxima_count[3];
};

bool ms_curve_add(struct ms_curve *curve, uint64_t value); /* false: no memory */
bool ms_curve_index(struct ms_curve *curve);               /* no more points after this; false: no memory */
void ms_curve_free(struct ms_curve *curve);

/* `bytes` are missing from change `from` on until change `to`. */
struct ms_cut {
    uint64_t from, to, bytes;
};

/* Highest point; *at (may be NULL): the first change of it. */
uint64_t ms_curve_peak(const struct ms_curve *curve, uint64_t *at);
/* *highest: the highest point with the cuts made (they may overlap; never below 0). *most: the most bytes that are cut
 * off at one moment; may be NULL. False: no memory. O(n log n) in cuts, not in points. */
bool ms_curve_cut(const struct ms_curve *curve, const struct ms_cut *cuts, size_t count, uint64_t *highest,
                  uint64_t *most);

#endif
