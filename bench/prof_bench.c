/* SPDX-License-Identifier: Apache-2.0 */
/* Cost of profiling in a program: calls without a listener, against an empty call through the PLT, and the task track
 * of a launch with a tool that only receives it. */
#include "bench.h"

#define MSTX_NO_IMPL
#include "mstx/ms_tools_ext.h"
#include "softnpu/runtime/prof.h"
#include "toolchain/prof_api.h"

#include <stdlib.h>
#include <string.h>

enum { CALLS = 1000000 };

static void nothing(void *arg)
{
    for (int i = 0; i < CALLS; i++) {
        MsprofCheckOpSwitch(0, NULL, 0); /* returns a constant */
    }
}

static void report(void *arg)
{
    for (int i = 0; i < CALLS; i++) {
        MsprofReportCompactInfo(1, arg, sizeof(struct MsprofCompactInfo));
    }
}

static int runtime_call(int x)
{
    SNPU_PROF_RT_CALL(DEV_MALLOC);
    __asm__ volatile("" : "+r"(x));
    return x;
}

static void scope(void *arg)
{
    for (int i = 0; i < CALLS; i++) {
        runtime_call(i);
    }
}

static void task_log(void *arg)
{
    for (int i = 0; i < CALLS; i++) {
        snpu_prof_task_begin(0, 1, (uint32_t)i, SNPU_TASK_KERNEL_AICORE);
    }
}

static void mark(void *arg)
{
    for (int i = 0; i < CALLS; i++) {
        mstxMarkA("bench", NULL);
    }
}

static void track(void *arg)
{
    for (int i = 0; i < CALLS; i++) {
        snpu_prof_task_track(0, 1, 1, SNPU_TASK_KERNEL_AICORE, "MatMulV2_high_performance_1000", 24, 96);
    }
}

static void clock_read(void *arg)
{
    for (int i = 0; i < CALLS; i++) {
        ms_clock_raw_ns();
    }
}

static int32_t take(uint32_t aging, const void *data, uint32_t len)
{
    return 0;
}

static double each_ns(void (*fn)(void *), void *arg)
{
    return bench_best_ns(fn, arg, 5) / CALLS;
}

int main(void)
{
    static struct MsprofCompactInfo record;
    unsetenv("MSTX_INJECTION_PATH");
    snpu_prof_init();
    double call = each_ns(nothing, NULL);
    const struct {
        const char *name;
        void (*fn)(void *);
    } off[] = {{"record without a listener", report},
               {"runtime call, profiling off", scope},
               {"task log, channel off", task_log},
               {"mstx mark, no tool interested", mark}};
    for (size_t i = 0; i < MS_COUNT_OF(off); i++) {
        double ns = each_ns(off[i].fn, &record);
        bench_figure(off[i].name, ns, "ns", "empty call", ns / call, NULL);
    }

    MsprofRegisterProfileCallback(PROFILE_REPORT_COMPACT_CALLBACK, (void *)take, sizeof(void *));
    struct MsprofCommandHandle start = {
        .profSwitch = PROF_TASK_TIME, .devNums = 1, .type = PROF_COMMANDHANDLE_TYPE_START};
    profSetProfCommand(&start, sizeof(start));
    double ns = each_ns(track, NULL), clock_ns = each_ns(clock_read, NULL);
    bench_figure("task track of a launch", ns, "ns", "reading the clock", ns / clock_ns, NULL);
    return 0;
}
