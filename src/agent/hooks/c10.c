/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks of PyTorch's allocators: CPU tensors, and tensors of devices whose allocator does not report otherwise.
 *
 * libc10 reports each allocation to its own profiler, which is rarely on; the hooks replace that call, record, and pass
 * the report on. CPU memory comes through New and Delete; files and shared memory mapped as tensors, and other devices,
 * through reportMemoryUsageToProfiler, which New and Delete also call while PyTorch's profiler is on: its reports from
 * within them are already recorded.
 *
 * If the agent was preloaded, torch_npu also reports its pool through mstx; then its reports here are passed on and not
 * recorded.
 *
 * All of this is called with PyTorch's objects in any state, by any thread, with or without the GIL, and under
 * allocator locks. It is also how the agent notices PyTorch (torch.h). */
#include "agent/agent.h"
#include "agent/hooks.h"
#include "agent/numbers.h"
#include "agent/python.h"
#include "agent/torch.h"

enum { MEMORY = MS_WANT_ALLOC | MS_WANT_FREE };

/* At exit Python destroys everything; blocks kept until then must appear as kept. */
static inline __attribute__((always_inline)) unsigned wanted(bool cpu)
{
    unsigned state = ms_wanted(MEMORY);
    if (!cpu || state == MS_STATE_OFF) {
        return state;
    }
    bool selected = (__atomic_load_n(&ms_gate->shm->event_mask, __ATOMIC_RELAXED) & MS_WANT_CPU) != 0;
    return selected && __atomic_load_n(&ms_python.finalizing, __ATOMIC_RELAXED) == 0 ? state : (unsigned)MS_STATE_OFF;
}

static inline __attribute__((always_inline)) void begins(unsigned state, uint32_t arg, const void *ptr, uint64_t size_b)
{
    struct ms_stack_ids ids;
    MS_RECORD(POOL_ALLOC, state, arg, ms_stacks(state, &ids), .addr = (uintptr_t)ptr, .size_b = size_b);
}

static inline __attribute__((always_inline)) void ends(unsigned state, uint32_t arg, const void *ptr)
{
    struct ms_stack_ids ids;
    MS_RECORD(POOL_FREE, state, arg, ms_stacks(state, &ids), .addr = (uintptr_t)ptr);
}

/* ---- CPU tensors ---- */

#define CPU_TENSORS MS_POOL_ARG(MS_POOL_HOST, MS_DEV_CPU)

void _ZN3c1025ProfiledCPUMemoryReporter3NewEPvm(void *self, void *ptr, size_t size)
{
    ms_torch_follow();
    unsigned state = wanted(true);
    if (state != MS_STATE_OFF && ptr != NULL && size != 0 && !ms_number_begins(ptr, size)) {
        begins(state, CPU_TENSORS, ptr, size);
    }
    ms_self.reporting = 1;
    MS_REAL(_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm)(self, ptr, size);
    ms_self.reporting = 0;
}

void _ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv(void *self, void *ptr)
{
    unsigned state = wanted(true);
    if (!ms_number_ends(ptr) && state != MS_STATE_OFF && ptr != NULL) {
        ends(state, CPU_TENSORS, ptr);
    }
    ms_self.reporting = 1;
    MS_REAL(_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv)(self, ptr);
    ms_self.reporting = 0;
}

/* ---- everything else ---- */

/* The pool of a device's tensors, and the device in driver numbering. False: unknown. */
static bool place_of(struct c10_device device, uint32_t *arg)
{
    uint32_t index = device.index > 0 ? (uint32_t)device.index : 0;
    switch (device.type) {
    case C10_CPU:
        *arg = CPU_TENSORS;
        return true;
    case C10_PRIVATEUSE1:
        *arg = MS_POOL_ARG(MS_POOL_PTA, ms_device_of_user(index));
        return !ms_mstx_reports_pta();
    case C10_CUDA:
    case C10_HIP:
    case C10_XPU:
    case C10_MTIA:
        *arg = MS_POOL_ARG(MS_POOL_PTA, index);
        return true;
    default:
        return false;
    }
}

static void report(const void *ptr, int64_t change, struct c10_device device)
{
    bool cpu = device.type == C10_CPU;
    unsigned state = wanted(cpu);
    uint32_t arg;
    if (MS_LIKELY(state == MS_STATE_OFF) || ptr == NULL || change == 0 || (cpu && ms_self.reporting) ||
        !place_of(device, &arg)) {
        return;
    }
    if (change > 0) {
        begins(state, arg, ptr, (uint64_t)change);
    } else {
        ends(state, arg, ptr);
    }
}

void _ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE(void *ptr, int64_t change, int64_t allocated,
                                                           int64_t reserved, struct c10_device device)
{
    report(ptr, change, device);
    MS_REAL(_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE)(ptr, change, allocated, reserved, device);
}

void _ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE(void *ptr, int64_t change, size_t allocated, size_t reserved,
                                                           struct c10_device device)
{
    report(ptr, change, device);
    MS_REAL(_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE)(ptr, change, allocated, reserved, device);
}
