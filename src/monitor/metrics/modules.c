/* SPDX-License-Identifier: Apache-2.0 */
/* The store and the collectors as modules of the daemon, with the timers that call them. */
#include "monitor/metrics/modules.h"

#include "monitor/metrics/kernel.h"
#include "monitor/metrics/pmu.h"
#include "monitor/store/series.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AGE_CHECK_S 10

struct event *mon_timer_start(struct mon_daemon *daemon, int32_t interval_s, event_callback_fn fn, void *context)
{
    struct event *timer = event_new(daemon->base, -1, EV_PERSIST, fn, context);
    struct timeval interval = {.tv_sec = interval_s};
    if (timer != NULL && event_add(timer, &interval) != 0) {
        event_free(timer);
        return NULL;
    }
    if (timer != NULL) {
        event_active(timer, EV_READ, 0); /* not EV_TIMEOUT, which would skip the first call */
    }
    return timer;
}

static void stop_timer(struct event **timer)
{
    if (*timer != NULL) {
        event_free(*timer);
        *timer = NULL;
    }
}

/* ---- the store ---- */

static struct event *age_timer;

static void age(evutil_socket_t fd, short what, void *context)
{
    const struct mon_daemon *daemon = context;
    mon_metrics_age((uint64_t)daemon->flags.metric_expire_s * 1000000000u);
    mon_metric_record(MON_METRIC_SERIES, MON_NO_LABELS, (double)mon_metrics_series());
}

static int start_metrics(struct mon_daemon *daemon)
{
    int rc = mon_metrics_open(daemon->host, (size_t)daemon->flags.metric_max_series);
    if (rc != 0) {
        return rc;
    }
    for (unsigned i = 0; i < MON_METRIC_COUNT; i++) {
        if (mon_metric_info[i].group == MON_GROUP_OPERATOR) {
            mon_metrics_set_limit((enum mon_metric)i, (uint32_t)daemon->flags.metric_operators);
        }
    }
    mon_metric_record(MON_METRIC_BUILD_INFO, MON_LABELS(.version = MON_DAEMON_VERSION), 1);
    age_timer = mon_timer_start(daemon, AGE_CHECK_S, age, daemon);
    return age_timer != NULL ? 0 : -ENOMEM;
}

static void stop_metrics(struct mon_daemon *daemon)
{
    stop_timer(&age_timer);
    mon_metrics_close();
}

const struct mon_daemon_module mon_module_metrics = {.name = "metrics", .start = start_metrics, .stop = stop_metrics};

/* ---- kernel ---- */

static struct mon_kernel *kernel;
static struct event *kernel_timer;

static void sample_kernel(evutil_socket_t fd, short what, void *context)
{
    int rc = mon_kernel_sample(kernel);
    if (rc != 0) {
        MON_LOG_LIMITED(MON_LEVEL_WARNING, "kernel monitor: could not read all of /proc: %s", strerror(-rc));
    }
}

static int start_kernel(struct mon_daemon *daemon)
{
    kernel = mon_kernel_new(&(struct mon_kernel_options){.filter = daemon->flags.filter_nic_interfaces,
                                                         .prefixes = daemon->flags.allow_interface_prefixes});
    kernel_timer = kernel != NULL
                       ? mon_timer_start(daemon, daemon->flags.kernel_monitor_reporting_interval_s, sample_kernel, NULL)
                       : NULL;
    if (kernel_timer == NULL) {
        mon_kernel_free(kernel);
        kernel = NULL;
        return -ENOMEM;
    }
    return 0;
}

static void stop_kernel(struct mon_daemon *daemon)
{
    stop_timer(&kernel_timer);
    mon_kernel_free(kernel);
    kernel = NULL;
}

const struct mon_daemon_module mon_module_kernel = {
    .name = "kernel monitor", .start = start_kernel, .stop = stop_kernel};

/* ---- processes ---- */

/* A round over all processes is split into slices, so that a thousand processes do not delay replies. */
#define SLICE          16
#define SLICE_PAUSE_US 1000

static struct event *process_timer, *process_slice;
static struct {
    struct mon_process_target *targets;
    size_t count, next;
    uint64_t mark;
} process_round;

int64_t mon_job_label(const struct mon_process *process)
{
    return process->job != 0 ? process->job : process->slurm_job;
}

const struct mon_process_target *mon_job_processes(size_t *count)
{
    *count = process_round.count;
    return process_round.targets;
}

static void sample_slice(evutil_socket_t fd, short what, void *context)
{
    size_t left = process_round.count - process_round.next;
    size_t n = left < SLICE ? left : SLICE;
    mon_process_sample("", process_round.targets + process_round.next, n);
    process_round.next += n;
    if (n == left) {
        mon_process_sweep(process_round.mark);
        return;
    }
    event_add(process_slice, &(struct timeval){.tv_usec = SLICE_PAUSE_US});
}

static void sample_processes(evutil_socket_t fd, short what, void *context)
{
    const struct mon_daemon *daemon = context;
    if (process_round.next < process_round.count) {
        return; /* the previous round is not finished */
    }
    size_t room = mon_registry_count(daemon->registry) * 2, n = 0;
    struct mon_process_target *targets = calloc(room != 0 ? room : 1, sizeof(*targets));
    if (targets == NULL) {
        return;
    }
    for (const struct mon_process *p = mon_registry_first(daemon->registry); p != NULL && n < room;
         p = mon_registry_next(daemon->registry, p)) {
        targets[n++] = (struct mon_process_target){.pid = p->host_pid,
                                                   .start_ticks = p->start_ticks,
                                                   .job = mon_job_label(p),
                                                   .rank = p->rank,
                                                   .helper = p->client >= MON_CLIENT_NPU};
    }
    free(process_round.targets);
    process_round.targets = targets;
    process_round.count = mon_process_add_parents("", targets, n, room);
    process_round.next = 0;
    process_round.mark = mon_metrics_mark();
    sample_slice(-1, 0, NULL);
}

static void stop_processes(struct mon_daemon *daemon)
{
    stop_timer(&process_timer);
    stop_timer(&process_slice);
    free(process_round.targets);
    memset(&process_round, 0, sizeof(process_round));
}

static int start_processes(struct mon_daemon *daemon)
{
    process_slice = evtimer_new(daemon->base, sample_slice, NULL);
    process_timer = process_slice != NULL
                        ? mon_timer_start(daemon, daemon->flags.process_reporting_interval_s, sample_processes, daemon)
                        : NULL;
    if (process_timer == NULL) {
        stop_processes(daemon);
        return -ENOMEM;
    }
    return 0;
}

const struct mon_daemon_module mon_module_process = {
    .name = "process monitor", .start = start_processes, .stop = stop_processes};

/* ---- performance counters ---- */

static struct mon_pmu *pmu;
static struct event *pmu_timer;

static void sample_pmu(evutil_socket_t fd, short what, void *context)
{
    mon_pmu_sample(pmu);
}

static int start_pmu(struct mon_daemon *daemon)
{
    if (!daemon->flags.enable_perf_monitor) {
        return 0;
    }
    int rc = mon_pmu_open(NULL, &pmu);
    if (rc != 0) { /* not fatal: the daemon also runs on nodes without counters */
        MON_LOG_WARNING("perf monitor: no counters: %s%s", strerror(-rc),
                        rc == -EACCES || rc == -EPERM ? "; CAP_PERFMON or kernel.perf_event_paranoid <= 0 is required"
                                                      : "");
        return 0;
    }
    pmu_timer = mon_timer_start(daemon, daemon->flags.perf_monitor_reporting_interval_s, sample_pmu, NULL);
    return pmu_timer != NULL ? 0 : -ENOMEM;
}

static void stop_pmu(struct mon_daemon *daemon)
{
    stop_timer(&pmu_timer);
    mon_pmu_close(pmu);
    pmu = NULL;
}

const struct mon_daemon_module mon_module_pmu = {.name = "perf monitor", .start = start_pmu, .stop = stop_pmu};
