/* What every benchmark prints: one line per figure, as fields that scripts/bench turns into docs/performance.md.
 *
 *     figure | value unit | measured against | ratio | goal
 *
 * A figure stands beside something measured in the same run (memcpy, OpenBLAS, one thread), because the ratio travels
 * between machines and the bare number does not. */
#ifndef NPUSCOPE_BENCH_H
#define NPUSCOPE_BENCH_H

#include "base/clock.h"

#include <stdint.h>
#include <stdio.h>

/* against may be NULL (then there is no ratio), goal too. */
static inline void bench_figure(const char *figure, double value, const char *unit, const char *against, double ratio,
                                const char *goal)
{
    char shown[32] = "";
    if (against != NULL) {
        snprintf(shown, sizeof(shown), "%.2f", ratio);
    }
    printf("| %s | %.4g %s | %s | %s | %s |\n", figure, value, unit, against != NULL ? against : "", shown,
           goal != NULL ? goal : "");
    fflush(stdout);
}

/* Smallest time of `repeats` runs of fn: the one least disturbed. */
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
