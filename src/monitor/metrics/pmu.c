/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions and cycles of all processors.
 *
 * One descriptor per event and online processor counts everything that runs there. mips and mega_cycles_per_second are
 * averages per processor over the period: events of all processors divided by the time their counters ran, in units of
 * 10^6 per second. (The original divides totals since the start, which gives an average over the whole uptime.)
 *
 * Used only by the event loop thread. When a processor goes offline, its reads fail and it is ignored; a processor that
 * comes online is not seen until the daemon restarts. */
#include "monitor/metrics/pmu.h"

#include "base/macros.h"
#include "monitor/store/record.h"
#include "monitor/store/series.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_CPUS 4096

static const struct {
    struct mon_pmu_event event;
    const char *key;
    enum mon_metric total, legacy;
} events_table[MON_PMU_EVENTS] = {
    {{PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS}, "mips", MON_METRIC_HOST_INSTRUCTIONS, MON_METRIC_L_MIPS},
    {{PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
     "mega_cycles_per_second",
     MON_METRIC_HOST_CYCLES,
     MON_METRIC_L_MCPS},
};

struct counter {
    int fd; /* -1: none */
    uint64_t value, running_ns;
};

struct mon_pmu {
    bool sampled;
    size_t cpus;
    struct counter counter[][MON_PMU_EVENTS];
};

static int open_event(const struct mon_pmu_event *event, int cpu)
{
    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .type = event->type,
        .config = event->config,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return fd >= 0 ? fd : -errno;
}

int mon_pmu_open(const struct mon_pmu_event events[MON_PMU_EVENTS], struct mon_pmu **out)
{
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    cpus = cpus < 1 ? 1 : cpus > MAX_CPUS ? MAX_CPUS : cpus;
    struct mon_pmu *pmu = calloc(1, sizeof(*pmu) + (size_t)cpus * sizeof(pmu->counter[0]));
    if (pmu == NULL) {
        return -ENOMEM;
    }
    int rc = 0;
    size_t opened = 0;
    pmu->cpus = (size_t)cpus;
    for (size_t cpu = 0; cpu < pmu->cpus; cpu++) {
        for (size_t i = 0; i < MON_PMU_EVENTS; i++) {
            int fd = open_event(events != NULL ? &events[i] : &events_table[i].event, (int)cpu);
            pmu->counter[cpu][i].fd = fd >= 0 ? fd : -1;
            opened += fd >= 0;
            if (fd < 0 && fd != -ENODEV) { /* ENODEV: the processor is offline */
                rc = fd;
            }
        }
    }
    if (opened == 0) {
        mon_pmu_close(pmu);
        return rc != 0 ? rc : -ENODEV;
    }
    *out = pmu;
    return 0;
}

void mon_pmu_close(struct mon_pmu *pmu)
{
    for (size_t cpu = 0; pmu != NULL && cpu < pmu->cpus; cpu++) {
        for (size_t i = 0; i < MON_PMU_EVENTS; i++) {
            if (pmu->counter[cpu][i].fd >= 0) {
                close(pmu->counter[cpu][i].fd);
            }
        }
    }
    free(pmu);
}

void mon_pmu_sample(struct mon_pmu *pmu)
{
    struct mon_record record = {.source = MON_RECORD_PMU};
    for (size_t i = 0; i < MON_PMU_EVENTS; i++) {
        double more = 0, running_ns = 0;
        for (size_t cpu = 0; cpu < pmu->cpus; cpu++) {
            struct counter *c = &pmu->counter[cpu][i];
            struct {
                uint64_t value, enabled_ns, running_ns;
            } now;
            if (c->fd < 0 || read(c->fd, &now, sizeof(now)) != sizeof(now)) {
                continue;
            }
            if (now.value >= c->value && now.running_ns >= c->running_ns) {
                more += (double)(now.value - c->value);
                running_ns += (double)(now.running_ns - c->running_ns);
            }
            c->value = now.value;
            c->running_ns = now.running_ns;
        }
        mon_metric_record(events_table[i].total, MON_NO_LABELS, more);
        if (pmu->sampled && running_ns > 0) {
            double rate = more * 1000 / running_ns;
            mon_record_float(&record, events_table[i].key, rate);
            mon_metric_record(events_table[i].legacy, MON_NO_LABELS, rate);
        }
    }
    pmu->sampled = true;
    mon_record_emit(&record);
    mon_record_free(&record);
}
