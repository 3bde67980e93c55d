/* SPDX-License-Identifier: Apache-2.0 */
/* Totals of what was recorded: for tests of the producing side. */
#ifndef TRACE_TALLY_H
#define TRACE_TALLY_H

#include "trace_rig.h"

struct tally {
    uint64_t events, allocs, frees, steps, gaps, lost, lost_alloc, lost_free, threads;
    uint32_t cause;
};

/* Drains and reads everything, and adds it up; passes each event to `look` too. */
static inline struct tally finish_and_read(struct rig *rig, void (*look)(struct ms_trace *t, const struct ms_event *e))
{
    struct tally tally = {0};
    struct ms_event e;
    rig_finish(rig);
    struct ms_trace *t = rig_read(rig, NULL);
    int rc;
    while ((rc = ms_trace_next(t, &e)) == MS_TRACE_EVENT) {
        tally.events++;
        tally.allocs += e.kind == MS_R_HAL_ALLOC;
        tally.frees += e.kind == MS_R_HAL_FREE;
        tally.steps += e.kind == MS_R_STEP;
        tally.threads += e.kind == MS_R_THREAD;
        if (e.kind == MS_R_GAP) {
            tally.gaps++;
            tally.lost += e.gap.lost;
            tally.lost_alloc += e.gap.lost_alloc;
            tally.lost_free += e.gap.lost_free;
            tally.cause = e.gap.cause;
            assert_true(e.gap.since_ns <= e.time_ns);
        }
        if (look != NULL) {
            look(t, &e);
        }
    }
    assert_int_equal(rc, MS_TRACE_END);
    struct ms_trace_stats stats;
    ms_trace_stats(t, &stats);
    assert_int_equal(stats.damages, 0);
    assert_int_equal(stats.late, 0);
    ms_trace_close(t);
    return tally;
}

#endif
