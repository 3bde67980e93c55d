/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of all host records.
 *
 * A tool that converts the CPU's counter itself says so by its host frequency callback (type 13); then records carry
 * the counter, otherwise nanoseconds of CLOCK_MONOTONIC_RAW. The callback is asked once per registration and per start
 * of a collection, not per record. */
#include "base/clock.h"
#include "softnpu/profapi/profapi.h"

enum unit { UNIT_UNKNOWN, UNIT_NS, UNIT_TICKS };

static enum unit unit;

void profapi_clock_reset(void)
{
    __atomic_store_n(&unit, UNIT_UNKNOWN, __ATOMIC_RELAXED);
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

static enum unit ask(void)
{
    profapi_freq_fn fn = profapi_callback(PROFILE_HOST_FREQ_IS_ENABLE_C_CALLBACK);
    enum unit answer = fn != NULL && fn() != 0 ? UNIT_TICKS : UNIT_NS;
    __atomic_store_n(&unit, answer, __ATOMIC_RELAXED);
    return answer;
}

uint64_t MsprofSysCycleTime(void)
{
    enum unit u = __atomic_load_n(&unit, __ATOMIC_RELAXED);
    if (MS_UNLIKELY(u == UNIT_UNKNOWN)) {
        u = ask();
    }
    return u == UNIT_TICKS ? ticks() : ms_clock_raw_ns();
}
