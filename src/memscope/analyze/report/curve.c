/* SPDX-License-Identifier: Apache-2.0 */
/* See curve.h. Cuts are swept in order of their ends; between two ends the sum of the cuts is constant, so the highest
 * point there is the maximum of a range minus that sum. Range maxima come from a tree with fan-out 64. */
#include "memscope/analyze/report/curve.h"

#include <stdlib.h>

#define FAN 64u

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void halve(struct ms_curve *curve)
{
    size_t half = 0;
    for (size_t i = 0; i + 1 < curve->count; i += 2) {
        curve->points[half++] = larger(curve->points[i], curve->points[i + 1]);
    }
    curve->count = half;
    curve->shift++;
}

bool ms_curve_add(struct ms_curve *curve, uint64_t value)
{
    uint64_t number = curve->changes;
    size_t limit = curve->limit != 0 ? curve->limit : MS_CURVE_POINTS; /* even */
    if (number >> curve->shift == limit) {
        halve(curve);
    }
    size_t at = (size_t)(number >> curve->shift);
    if (at < curve->count) {
        curve->points[at] = larger(curve->points[at], value);
        curve->changes++;
        return true;
    }
    if (curve->count == curve->room) {
        size_t room = curve->room != 0 ? curve->room * 2 : 1024;
        uint64_t *points = realloc(curve->points, room * sizeof(*points));
        if (points == NULL) {
            return false;
        }
        curve->points = points;
        curve->room = room;
    }
    curve->points[curve->count++] = value;
    curve->changes++;
    return true;
}

bool ms_curve_index(struct ms_curve *curve)
{
    const uint64_t *below = curve->points;
    size_t count = curve->count;
    for (unsigned level = 0; level < 3; level++) {
        size_t groups = (count + FAN - 1) / FAN;
        uint64_t *maxima = malloc((groups != 0 ? groups : 1) * sizeof(*maxima));
        if (maxima == NULL) {
            return false;
        }
        for (size_t i = 0; i < groups; i++) {
            uint64_t most = 0;
            for (size_t j = i * FAN; j < count && j < (i + 1) * FAN; j++) {
                most = larger(most, below[j]);
            }
            maxima[i] = most;
        }
        free(curve->maxima[level]);
        curve->maxima[level] = maxima;
        curve->maxima_count[level] = groups;
        below = maxima;
        count = groups;
    }
    return true;
}

void ms_curve_free(struct ms_curve *curve)
{
    free(curve->points);
    for (unsigned level = 0; level < 3; level++) {
        free(curve->maxima[level]);
    }
    *curve = (struct ms_curve){0};
}

/* Over points from <= i < to. */
static uint64_t range_max(const struct ms_curve *curve, size_t from, size_t to)
{
    uint64_t most = 0;
    const uint64_t *values = curve->points;
    for (unsigned level = 0;; level++) {
        if (level == 3 || to - from < 2 * FAN) {
            for (size_t i = from; i < to; i++) {
                most = larger(most, values[i]);
            }
            return most;
        }
        for (; from % FAN != 0; from++) {
            most = larger(most, values[from]);
        }
        for (; to % FAN != 0; to--) {
            most = larger(most, values[to - 1]);
        }
        from /= FAN;
        to /= FAN;
        values = curve->maxima[level];
    }
}

uint64_t ms_curve_peak(const struct ms_curve *curve, uint64_t *at)
{
    uint64_t peak = 0;
    size_t where = 0;
    for (size_t i = 0; i < curve->count; i++) {
        if (curve->points[i] > peak) {
            peak = curve->points[i];
            where = i;
        }
    }
    if (at != NULL) {
        *at = (uint64_t)where << curve->shift;
    }
    return peak;
}

struct edge {
    size_t at;
    uint64_t bytes; /* added to the sum of cuts from here on, modulo 2^64 */
};

static int by_place(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

bool ms_curve_cut(const struct ms_curve *curve, const struct ms_cut *cuts, size_t count, uint64_t *highest,
                  uint64_t *most)
{
    struct edge *edges = malloc((2 * count + 1) * sizeof(*edges));
    size_t edge_count = 0;
    if (edges == NULL) {
        return false;
    }
    uint64_t unit = (uint64_t)1 << curve->shift;
    for (size_t i = 0; i < count; i++) {
        size_t from = (size_t)((cuts[i].from + unit - 1) >> curve->shift);
        size_t to = cuts[i].to >= curve->changes ? curve->count : (size_t)(cuts[i].to >> curve->shift);
        if (from < to && cuts[i].bytes != 0) {
            edges[edge_count++] = (struct edge){from, cuts[i].bytes};
            edges[edge_count++] = (struct edge){to, 0 - cuts[i].bytes};
        }
    }
    qsort(edges, edge_count, sizeof(*edges), by_place);
    uint64_t high = 0, largest = 0, cut = 0;
    size_t at = 0;
    for (size_t i = 0; i <= edge_count; i++) {
        size_t next = i < edge_count ? edges[i].at : curve->count;
        if (next > at) {
            uint64_t value = range_max(curve, at, next);
            largest = larger(largest, cut);
            high = larger(high, value > cut ? value - cut : 0);
            at = next;
        }
        cut += i < edge_count ? edges[i].bytes : 0;
    }
    free(edges);
    *highest = high;
    if (most != NULL) {
        *most = largest;
    }
    return true;
}
