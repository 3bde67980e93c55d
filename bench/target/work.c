/* SPDX-License-Identifier: Apache-2.0 */
/* See work.h. Also loaded by target.py, whose Python frames are then further out on the stack. */
#include "work.h"

#include "ascend_hal.h"
#include "base/clock.h"
#include "mstx/ms_tools_ext.h"
#include "runtime/rt.h"

#include <stddef.h>
#include <stdint.h>

static void hal(unsigned turns)
{
    for (unsigned i = 0; i < turns; i++) {
        void *p;
        halMemAlloc(&p, 512, MEM_DEV | MEM_TYPE_HBM);
        halMemFree(p);
    }
}

static void pool(unsigned turns)
{
    static uint64_t threads; /* each has its own addresses */
    static __thread uint64_t next;
    if (next == 0) {
        next = 0x200000000000u + (__atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED) << 36);
    }
    mstxDomainHandle_t domain = mstxDomainCreateA("ptaCaching");
    if (domain == NULL) { /* no tool is loaded: torch_npu reports nothing then */
        return;
    }
    for (unsigned i = 0; i < turns; i++) {
        next += 512;
        mstxMemVirtualRangeDesc_t region = {.deviceId = 0, .ptr = (void *)next, .size = 512};
        mstxMemRegionsRegisterBatch_t made = {.heap = (mstxMemHeapHandle_t)1, /* torch_npu sets count and array alone */
                                              .regionType = (mstxMemType)32767,
                                              .regionCount = 1,
                                              .regionDescArray = &region,
                                              .regionHandleArrayOut = (mstxMemRegionHandle_t *)1};
        mstxMemRegionsRegister(domain, &made);
        mstxMemRegionRef_t ref = {.refType = MSTX_MEM_REGION_REF_TYPE_POINTER, .pointer = (void *)next};
        mstxMemRegionsUnregisterBatch_t gone = {.refCount = 1, .refArray = &ref};
        mstxMemRegionsUnregister(domain, &gone);
    }
}

static void launch(unsigned turns)
{
    for (unsigned i = 0; i < turns; i++) {
        rtKernelLaunch(NULL, 1, NULL, 0, NULL, NULL);
    }
}

static void places(unsigned turns);

static void (*const works[WORK_KINDS])(unsigned) = {
    [WORK_HAL] = hal, [WORK_POOL] = pool, [WORK_PLACES] = places, [WORK_LAUNCH] = launch};

static __attribute__((noinline)) void from_below(unsigned frames, int kind, unsigned turns)
{
    if (frames > 0) {
        from_below(frames - 1, kind, turns);
        __asm__ volatile("" ::: "memory"); /* prevents a tail call */
        return;
    }
    works[kind](turns);
}

static __attribute__((noinline)) unsigned from_places(unsigned turns)
{
    enum { PLACES = 4096, FRAMES = 16 };
    unsigned i = 0;
    for (; i < turns && i < PLACES; i++) {
        volatile char *room = __builtin_alloca(1); /* until we return: every turn is further down the stack */
        room[0] = 0;
        from_below(FRAMES, WORK_HAL, 1);
    }
    return i;
}

static void places(unsigned turns)
{
    while (turns > 0) {
        turns -= from_places(turns);
    }
}

double work_run(int kind, unsigned turns, unsigned frames)
{
    double start = (double)ms_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    from_below(kind == WORK_PLACES ? 0 : frames, kind, turns);
    return (double)ms_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start;
}
