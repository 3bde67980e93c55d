/* Instructions and cycles of all processors, from the kernel's performance events. */
#ifndef MS_METRICS_PMU_H
#define MS_METRICS_PMU_H

#include <stdint.h>

struct ms_pmu;

struct ms_pmu_event {
    uint32_t type; /* PERF_TYPE_... */
    uint64_t config;
};
#define MS_PMU_EVENTS 2 /* instructions, cycles */

/* events NULL: instructions and cycles. 0, or -errno: -EACCES where the kernel does not permit it, -ENOENT or
 * -EOPNOTSUPP where the processor, or the virtual machine, has no counters. */
int ms_pmu_open(const struct ms_pmu_event events[MS_PMU_EVENTS], struct ms_pmu **out);
void ms_pmu_close(struct ms_pmu *pmu);
/* Counts since the last look: series, and after the first look a record. */
void ms_pmu_sample(struct ms_pmu *pmu);

#endif
