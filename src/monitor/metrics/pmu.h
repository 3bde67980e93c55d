/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions and cycles of all processors, from the kernel's perf events. */
#ifndef MON_METRICS_PMU_H
#define MON_METRICS_PMU_H

#include <stdint.h>

struct mon_pmu;

struct mon_pmu_event {
    uint32_t type; /* PERF_TYPE_... */
    uint64_t config;
};
#define MON_PMU_EVENTS 2 /* instructions, cycles */

/* events NULL: instructions and cycles. 0, or -errno: -EACCES if the kernel does not permit it, -ENOENT or -EOPNOTSUPP
 * if the processor or the virtual machine has no counters. */
int mon_pmu_open(const struct mon_pmu_event events[MON_PMU_EVENTS], struct mon_pmu **out);
void mon_pmu_close(struct mon_pmu *pmu);
/* Records the counts since the previous sample and, except for the first sample, emits a record. */
void mon_pmu_sample(struct mon_pmu *pmu);

#endif
