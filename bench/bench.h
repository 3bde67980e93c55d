/* SPDX-License-Identifier: Apache-2.0 */
/* Output of every benchmark: one line per figure, in fields that scripts/bench turns into docs/performance.md.
 *
 *     figure | value unit | measured against | ratio | goal | the original
 *
 * A figure is compared with something measured in the same run (memcpy, OpenBLAS, one thread), because the ratio is
 * comparable between machines and the bare number is not. */
#ifndef NPUSCOPE_BENCH_H
#define NPUSCOPE_BENCH_H

#include "base/clock.h"

#include <stdint.h>
#include <stdio.h>

struct bench_row {
    const char *figure;
    double value;
    const char *unit;
    const char *against; /* NULL: no ratio */
    double ratio;
    const char *goal;     /* "<= 35 ns" is compared with the value, "<= 3" with the ratio; NULL: none */
    const char *original; /* time of the original, measured on the same machine; NULL: unknown */
};

static inline void bench_row(const struct bench_row *row)
{
    char shown[32] = "";
    if (row->against != NULL) {
        snprintf(shown, sizeof(shown), "%.2f", row->ratio);
    }
    printf("| %s | %.4g %s | %s | %s | %s | %s |\n", row->figure, row->value, row->unit,
           row->against != NULL ? row->against : "", shown, row->goal != NULL ? row->goal : "",
           row->original != NULL ? row->original : "");
    fflush(stdout);
}

static inline void bench_figure(const char *figure, double value, const char *unit, const char *against, double ratio,
                                const char *goal)
{
    bench_row(&(struct bench_row){
        .figure = figure, .value = value, .unit = unit, .against = against, .ratio = ratio, .goal = goal});
}

/* Keeps the smaller one; 0: not measured. For measurements in rounds: the least disturbed time. */
static inline void bench_least(double *best, double value)
{
    *best = value != 0 && (*best == 0 || value < *best) ? value : *best;
}

/* Smallest time of `repeats` runs of fn: the least disturbed one. */
static inline double bench_best_ns(void (*fn)(void *), void *argument, int repeats)
{
    double best = 0;
    for (int i = 0; i < repeats; i++) {
        uint64_t start = ms_clock_raw_ns();
        fn(argument);
        double ns = (double)(ms_clock_raw_ns() - start);
        if (i == 0 || ns < best) {
            best = ns;
        }
    }
    return best;
}

#endif
