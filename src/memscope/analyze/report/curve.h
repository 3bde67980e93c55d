/* SPDX-License-Identifier: Apache-2.0 */
/* A curve of bytes over changes, and queries on it: what would the maximum be if some bytes were absent for some time?
 *
 * Point n is the value after change n. At most MS_CURVE_POINTS are kept (128 MiB); beyond that, adjacent pairs are
 * merged into their maximum, repeatedly, and one point covers 2^shift changes. Bytes are removed only from points that
 * lie entirely within the cut, so the computed saving is a lower bound. */
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
    /* Built by ms_curve_index: maxima of 64 points, of 64 of these maxima, and so on. */
    uint64_t *maxima[3];
    size_t maxima_count[3];
};

bool ms_curve_add(struct ms_curve *curve, uint64_t value); /* false: out of memory */
bool ms_curve_index(struct ms_curve *curve);               /* no points may be added after this; false: out of memory */
void ms_curve_free(struct ms_curve *curve);

/* `bytes` are absent from change `from` until change `to`. */
struct ms_cut {
    uint64_t from, to, bytes;
};

/* Returns the highest point; *at (may be NULL): the change that first reached it. */
uint64_t ms_curve_peak(const struct ms_curve *curve, uint64_t *at);
/* *highest: the highest point with the cuts applied (they may overlap; never below 0). *most: the most bytes cut at any
 * one moment; may be NULL. False: out of memory. O(n log n) in the number of cuts, independent of points. */
bool ms_curve_cut(const struct ms_curve *curve, const struct ms_cut *cuts, size_t count, uint64_t *highest,
                  uint64_t *most);

#endif
