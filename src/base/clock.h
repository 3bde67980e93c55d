/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks. Times compared across processes come from CLOCK_MONOTONIC_RAW: one counter for the whole machine that no time
 * daemon adjusts. */
#ifndef MS_BASE_CLOCK_H
#define MS_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t ms_clock_ns(clockid_t id)
{
    struct timespec ts;
    clock_gettime(id, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline uint64_t ms_clock_raw_ns(void)
{
    return ms_clock_ns(CLOCK_MONOTONIC_RAW);
}

#endif
