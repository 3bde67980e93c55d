/* Ticks of the session clock, read in two strengths.
 *
 * A FREE is stamped before the real call, a MALLOC after it. If one thread frees an address and another gets it, the
 * second stamp must not be smaller: one of the two reads must not move across the calls between them. We order the
 * read of the MALLOC side; an unordered read on both sides inverted about 1 in 5000 tight hand-overs between cores. */
#ifndef MS_TRACE_STAMP_H
#define MS_TRACE_STAMP_H

#include "base/clock.h"
#include "trace/shm.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static inline uint64_t ms_stamp_monotonic(void)
{
    return ms_clock_ns(CLOCK_MONOTONIC);
}

/* Not before anything earlier in program order has been done. */
static inline uint64_t ms_stamp_ordered(uint32_t clock_kind)
{
#if defined(__x86_64__)
    if (clock_kind == MS_CLOCK_TSC) {
        unsigned cpu;
        return __rdtscp(&cpu);
    }
#elif defined(__aarch64__)
    if (clock_kind == MS_CLOCK_CNTVCT) {
        uint64_t t;
        __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(t)::"memory");
        return t;
    }
#endif
    return ms_stamp_monotonic();
}

static inline uint64_t ms_stamp(uint32_t clock_kind)
{
#if defined(__x86_64__)
    if (clock_kind == MS_CLOCK_TSC) {
        return __rdtsc();
    }
#elif defined(__aarch64__)
    if (clock_kind == MS_CLOCK_CNTVCT) {
        uint64_t t;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t)::"memory");
        return t;
    }
#endif
    return ms_stamp_monotonic();
}

#endif
