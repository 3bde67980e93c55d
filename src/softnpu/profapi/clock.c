/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of all host records.
 *
 * A tool that converts the CPU's counter itself registers a host frequency callback (type 13); records then carry
 * the counter, otherwise nanoseconds of CLOCK_MONOTONIC_RAW. The callback is called once per registration and per
 * start of a collection, not per record. */
#include "base/clock.h"
#include "softnpu/profapi/profapi.h"

enum clock_unit { UNIT_UNKNOWN, UNIT_NS, UNIT_TICKS };

static enum clock_unit current_unit;

void snpu_profapi_clock_reset(void)
{
    __atomic_store_n(&current_unit, UNIT_UNKNOWN, __ATOMIC_RELAXED);
}

static uint64_t ticks(void)
{
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t count;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(count));
    return count;
#else
    return ms_clock_raw_ns();
#endif
}

static enum clock_unit choose_unit(void)
{
    snpu_profapi_freq_fn fn = snpu_profapi_callback(PROFILE_HOST_FREQ_IS_ENABLE_C_CALLBACK);
    enum clock_unit unit = fn != NULL && fn() != 0 ? UNIT_TICKS : UNIT_NS;
    __atomic_store_n(&current_unit, unit, __ATOMIC_RELAXED);
    return unit;
}

uint64_t MsprofSysCycleTime(void)
{
    enum clock_unit unit = __atomic_load_n(&current_unit, __ATOMIC_RELAXED);
    if (MS_UNLIKELY(unit == UNIT_UNKNOWN)) {
        unit = choose_unit();
    }
    return unit == UNIT_TICKS ? ticks() : ms_clock_raw_ns();
}
