/* SPDX-License-Identifier: Apache-2.0 */
/* See series.h. */
#include "memscope/analyze/report/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SPAN_NS 1000u

static void merge(struct ms_report_point *into, const struct ms_report_point *from)
{
    uint64_t reserved_b = into->reserved_b > from->reserved_b ? into->reserved_b : from->reserved_b;
    uint64_t driver_b = into->driver_b > from->driver_b ? into->driver_b : from->driver_b;
    if (from->used_b > into->used_b) {
        *into = *from;
    }
    into->reserved_b = reserved_b;
    into->driver_b = driver_b;
}

static void widen(struct ms_series *series)
{
    for (size_t i = 0; i < MS_REPORT_POINTS; i++) {
        size_t to = i / 2;
        bool filled = series->filled[i];
        if (filled && i % 2 == 1 && series->filled[to]) {
            merge(&series->points[to], &series->points[i]);
        } else if (filled) {
            series->points[to] = series->points[i];
        }
        series->filled[to] = filled || (i % 2 == 1 && series->filled[to]);
    }
    memset(series->filled + MS_REPORT_POINTS / 2, 0, MS_REPORT_POINTS / 2);
    series->span_ns *= 2;
    series->last /= 2;
}

static void put(struct ms_series *series, size_t span)
{
    if (series->filled[span]) {
        merge(&series->points[span], &series->now);
    } else {
        series->points[span] = series->now;
        series->filled[span] = true;
    }
}

int ms_series_add(struct ms_series *series, const struct ms_ledger_device *device, uint64_t begin_ns)
{
    if (series->points == NULL) {
        series->points = calloc(MS_REPORT_POINTS, sizeof(*series->points));
        series->filled = calloc(MS_REPORT_POINTS, sizeof(*series->filled));
        series->begin_ns = begin_ns;
        series->span_ns = FIRST_SPAN_NS;
        if (series->points == NULL || series->filled == NULL) {
            return -ENOMEM;
        }
    }
    uint64_t since_ns = device->time_ns > series->begin_ns ? device->time_ns - series->begin_ns : 0;
    while (since_ns / series->span_ns >= MS_REPORT_POINTS) {
        widen(series);
    }
    size_t span = (size_t)(since_ns / series->span_ns);
    if (span > series->last) { /* the last value also holds in the next span */
        put(series, series->last + 1);
        series->last = span;
    }
    series->now.used_b = device->used_b;
    series->now.reserved_b = device->reserved_b;
    series->now.driver_b = device->driver_b;
    memcpy(series->now.classes_b, device->classes_b, sizeof(series->now.classes_b));
    put(series, span);
    return 0;
}

int ms_series_take(const struct ms_series *series, struct ms_report_point **out, size_t *count)
{
    *out = calloc(MS_REPORT_POINTS, sizeof(**out));
    *count = 0;
    if (*out == NULL) {
        return -ENOMEM;
    }
    for (size_t i = 0; series->points != NULL && i < MS_REPORT_POINTS; i++) {
        if (series->filled[i]) {
            (*out)[*count] = series->points[i];
            (*out)[(*count)++].t_ns = i * series->span_ns;
        }
    }
    return 0;
}

void ms_series_free(struct ms_series *series)
{
    free(series->points);
    free(series->filled);
    *series = (struct ms_series){0};
}
