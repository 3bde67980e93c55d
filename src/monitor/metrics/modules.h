/* SPDX-License-Identifier: Apache-2.0 */
/* Modules for metrics, in start order; see the table in cli/dynolog/main.c. */
#ifndef MON_METRICS_MODULES_H
#define MON_METRICS_MODULES_H

#include "monitor/daemon/daemon.h"
#include "monitor/metrics/process.h"

extern const struct mon_daemon_module mon_module_metrics; /* the store: before every module that records */
/* Back ends. */
extern const struct mon_daemon_module mon_module_json;
extern const struct mon_daemon_module mon_module_tensorboard;
extern const struct mon_daemon_module mon_module_prometheus;
extern const struct mon_daemon_module mon_module_otlp;
/* Collectors. */
extern const struct mon_daemon_module mon_module_kernel;
extern const struct mon_daemon_module mon_module_process;
extern const struct mon_daemon_module mon_module_pmu;
extern const struct mon_daemon_module mon_module_dcmi;
extern const struct mon_daemon_module mon_module_npu;

/* The processes of jobs, including the training processes behind helpers, as of the last round over them. */
const struct mon_process_target *mon_job_processes(size_t *count);
/* The job of a process for labels: NPU clients register with 0, but their environment may have it. */
int64_t mon_job_label(const struct mon_process *process);

/* A timer that calls fn immediately and then every interval_s; NULL: out of memory. Free with event_free. */
struct event *mon_timer_start(struct mon_daemon *daemon, int32_t interval_s, event_callback_fn fn, void *context);

#endif
