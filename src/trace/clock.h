/* SPDX-License-Identifier: Apache-2.0 */
/* Session clock: which counter provides the stamps, and anchors that map its ticks to CLOCK_MONOTONIC. */
#ifndef MS_TRACE_CLOCK_H
#define MS_TRACE_CLOCK_H

#include "trace/shm.h"

#include <stdbool.h>
#include <stdint.h>

/* Ticks and times of one moment. */
struct ms_anchor {
    uint64_t ticks;
    uint64_t monotonic_ns;
    uint64_t realtime_ns;
    uint32_t clock_kind;
    uint32_t uncertainty; /* ticks between the readings before and after monotonic_ns */
};

/* Reads all three clocks; keeps the best of a few attempts, because the thread may be preempted in between. */
void ms_anchor_take(struct ms_anchor *anchor, uint32_t clock_kind);

/* Clock for a new session on this machine. */
enum ms_clock_kind ms_clock_choose(void);

/* Whether the kernel still trusts the clock that ms_clock_choose chose; it may abandon the TSC at run time. */
bool ms_clock_still_good(uint32_t clock_kind);

#endif
