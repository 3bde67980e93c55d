/* SPDX-License-Identifier: Apache-2.0 */
/* Modules for metrics, in start order; cli/dynolog/main.c has the list of all modules. */
#ifndef MON_METRICS_MODULES_H
#define MON_METRICS_MODULES_H

#include "monitor/daemon/daemon.h"
#include "monitor/metrics/process.h"

/* The store comes first, before every module that records; then back ends; then collectors. */
#define MON_METRICS_MODULES(X)                                                                                         \
    X(metrics)                                                                                                         \
    X(json)                                                                                                            \
    X(tensorboard)                                                                                                     \
    X(prometheus)                                                                                                      \
    X(otlp)                                                                                                            \
    X(kernel)                                                                                                          \
    X(process)                                                                                                         \
    X(pmu)                                                                                                             \
    X(dcmi)                                                                                                            \
    X(npu)

#define X(name) extern const struct mon_daemon_module mon_module_##name;
MON_METRICS_MODULES(X)
#undef X

/* The processes of jobs, including the training processes behind helpers, as of the last round over them. */
const struct mon_process_target *mon_job_processes(size_t *count);
/* The job of a process for labels: NPU clients register with 0, but their environment may have it. */
int64_t mon_job_label(const struct mon_process *process);

/* A timer that calls fn immediately and then every interval_s; NULL: out of memory. Free with event_free. */
struct event *mon_timer_start(struct mon_daemon *daemon, int32_t interval_s, event_callback_fn fn, void *context);

#endif
