/* SPDX-License-Identifier: Apache-2.0 */
/* Ticks of the session clock.
 *
 * Stamps order the blocks at one address: a free is stamped before the real call, an allocation after it. When an
 * address passes from one thread to another, the later event must have the larger stamp, so the counter must not be
 * read before the synchronisation between the threads (a lock, a flag). Processors read it early if allowed to: of 6
 * million addresses passed through a mutex, 16 were freed before they were allocated; with ordered reads, none. This
 * holds in both directions, so every read is ordered. It costs 10 ns. */
#ifndef MS_TRACE_STAMP_H
#define MS_TRACE_STAMP_H

#include "base/clock.h"
#include "base/macros.h"
#include "trace/shm.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* Reads the clock after everything earlier in program order. */
static inline uint64_t ms_stamp(uint32_t clock_kind)
{
#if defined(__x86_64__)
    if (MS_LIKELY(clock_kind == MS_CLOCK_TSC)) {
        _mm_lfence();
        return __rdtsc();
    }
#elif defined(__aarch64__)
    if (MS_LIKELY(clock_kind == MS_CLOCK_CNTVCT)) {
        uint64_t t;
        __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(t)::"memory");
        return t;
    }
#endif
    return ms_clock_ns(CLOCK_MONOTONIC);
}

#endif
