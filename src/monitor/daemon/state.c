/* SPDX-License-Identifier: Apache-2.0 */
/* States, decisions and the status object. Everything is computed on request from the reports and their times, so that
 * nothing stale remains after a process ends, a duration elapses or the clock changes. No state. */
#include "monitor/daemon/state.h"

#include "base/map.h"
#include "monitor/daemon/registry_internal.h"
#include "monitor/wire/config_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND_NS 1000000000ull

enum {
    REASON_B = 256,
    EXPIRY_SLACK_S = 2,  /* the monitor closes its files after its duration */
    STALE_TRACE_S = 600, /* a trace reports at every step; after this much silence, Running is stale */
};

const char *mon_state_name(int32_t state)
{
    static const char *const names[] = {"Uninitialized", "Idle", "Running", "Ready"};
    return state >= -1 && state <= 2 ? names[state + 1] : "unknown";
}

const char *mon_client_name(enum mon_client client)
{
    static const char *const names[] = {"unknown", "kineto", "npu", "npu-8.2", "npu-26.0"};
    return names[client];
}

const char *mon_command_stage_name(enum mon_command_stage stage)
{
    static const char *const names[] = {"none", "pending", "delivered", "acknowledged", "completed", "cancelled"};
    return names[stage];
}

const char *mon_decision_name(enum mon_decision decision)
{
    static const char *const names[] = {"effective", "ineffective", "unknown"};
    return names[decision];
}

static const char *kind_name(enum mon_request_kind kind)
{
    static const char *const names[] = {"gputrace", "nputrace", "npu-monitor"};
    return names[kind];
}

/* ---- configurations ---- */

enum mon_request_kind mon_state_kind(const char *config, size_t config_b)
{
    const struct mon_config_command *command = mon_config_recognise(config, config_b);
    return command == &mon_config_npu_monitor ? MON_REQUEST_NPU_MONITOR
           : command == &mon_config_nputrace  ? MON_REQUEST_NPU_TRACE
                                              : MON_REQUEST_KINETO;
}

uint64_t mon_state_duration_ns(const char *config, size_t config_b)
{
    size_t value_b = 0;
    char text[32];
    const char *value = mon_config_find(config, config_b, "DURATION", &value_b);
    if (value == NULL || value_b >= sizeof(text)) {
        return 0;
    }
    memcpy(text, value, value_b);
    text[value_b] = '\0';
    double seconds = strtod(text, NULL);
    return seconds > 0 && seconds < 1e9 ? (uint64_t)(seconds * 1e9) : 0;
}

/* ---- states ---- */

int32_t mon_state_trace(const struct mon_process *process, uint64_t now_ns)
{
    const struct mon_report *report = &mon_registry_reporter(process)->trace;
    if (report->at_ns == 0) { /* libkineto never reports, and other clients do not report again to a restarted daemon */
        return process->polls ? MON_STATE_IDLE : MON_STATE_UNINITIALIZED;
    }
    return report->status;
}

int32_t mon_state_monitor(const struct mon_process *process, uint64_t now_ns)
{
    const struct mon_report *report = &mon_registry_reporter(process)->monitor;
    if (report->at_ns == 0) {
        return process->polls ? MON_STATE_IDLE : MON_STATE_UNINITIALIZED;
    }
    if (report->status == MON_STATE_RUNNING && process->duration_ns != 0 &&
        now_ns > report->since_ns + process->duration_ns + EXPIRY_SLACK_S * SECOND_NS) {
        return MON_STATE_IDLE; /* clients do not report that the duration has elapsed */
    }
    return report->status;
}

enum mon_command_stage mon_state_stage(const struct mon_process *process)
{
    if (process->stage != MON_COMMAND_DELIVERED) {
        return process->stage;
    }
    uint64_t active, idle, delivered = process->delivered_ns;
    const struct mon_process *reporter = mon_registry_reporter(process);
    const struct mon_report *report =
        process->command == MON_REQUEST_NPU_MONITOR ? &reporter->monitor : &reporter->trace;
    if (process->command == MON_REQUEST_KINETO) {
        active = process->busy_ns;
        idle = process->free_ns;
    } else {
        active = report->active_ns;
        idle = report->status == MON_STATE_IDLE ? report->at_ns : 0;
    }
    if (process->command == MON_REQUEST_NPU_MONITOR && idle > delivered) {
        return MON_COMMAND_COMPLETED; /* only sent in response to a command: a stop, or a start that ended */
    }
    if (active <= delivered) {
        return MON_COMMAND_DELIVERED;
    }
    return idle > active ? MON_COMMAND_COMPLETED : MON_COMMAND_ACKNOWLEDGED;
}

/* ---- decisions ---- */

static enum mon_decision decide_monitor(const struct mon_process *process, uint64_t now_ns, char *reason)
{
    int32_t trace = mon_state_trace(process, now_ns), monitor = mon_state_monitor(process, now_ns);
    const struct mon_report *report = &mon_registry_reporter(process)->trace;
    unsigned long long silent_s = (now_ns - report->at_ns) / SECOND_NS;
    if (trace == MON_STATE_RUNNING && silent_s > STALE_TRACE_S) {
        snprintf(reason, REASON_B, "pid %d reported nputrace as running %llu s ago, and nothing since", process->pid,
                 silent_s);
        return MON_UNKNOWN;
    }
    if (trace == MON_STATE_RUNNING) {
        snprintf(reason, REASON_B,
                 "nputrace is running in pid %d (step %d of %d to %d); npu-monitor must wait until it is Idle",
                 process->pid, report->current_step, report->start_step, report->stop_step);
        return MON_INEFFECTIVE;
    }
    if (monitor == MON_STATE_UNINITIALIZED) {
        snprintf(reason, REASON_B, "npu-monitor is not initialised in pid %d, or the program is ending", process->pid);
        return MON_INEFFECTIVE;
    }
    if (trace == MON_STATE_IDLE || trace == MON_STATE_READY) {
        return MON_EFFECTIVE;
    }
    snprintf(reason, REASON_B, "pid %d reports an unknown nputrace state (%d)", process->pid, trace);
    return MON_UNKNOWN;
}

static enum mon_decision decide_trace(const struct mon_process *process, uint64_t now_ns, char *reason)
{
    int32_t trace = mon_state_trace(process, now_ns), monitor = mon_state_monitor(process, now_ns);
    if (monitor == MON_STATE_RUNNING) {
        snprintf(reason, REASON_B, "npu-monitor is running in pid %d; stop it first (npu-monitor --npu-monitor-stop)",
                 process->pid);
        return MON_INEFFECTIVE;
    }
    if (trace == MON_STATE_UNINITIALIZED) {
        snprintf(reason, REASON_B, "nputrace is not initialised in pid %d, or the program is ending", process->pid);
        return MON_INEFFECTIVE;
    }
    if (monitor == MON_STATE_IDLE) {
        if (trace == MON_STATE_RUNNING) {
            snprintf(reason, REASON_B,
                     "nputrace is already running; pid %d will handle the new request when it is "
                     "done",
                     process->pid);
        }
        return MON_EFFECTIVE;
    }
    snprintf(reason, REASON_B, "pid %d reports an unknown npu-monitor state (%d)", process->pid, monitor);
    return MON_UNKNOWN;
}

enum mon_decision mon_state_decide(enum mon_request_kind kind, const struct mon_process *process, uint64_t now_ns,
                                   char *reason)
{
    switch (kind) {
    case MON_REQUEST_NPU_MONITOR:
        return decide_monitor(process, now_ns, reason);
    case MON_REQUEST_NPU_TRACE:
        return decide_trace(process, now_ns, reason);
    default: /* libkineto never reports; its polls show when it is free */
        return MON_EFFECTIVE;
    }
}

/* ---- the status object ---- */

static void set(json_t *object, const char *key, json_t *value)
{
    json_object_set_new(object, key, value); /* a key is missing if out of memory */
}

static void set_steps(json_t *object, int32_t trace, const struct mon_report *report)
{
    set(object, "current_step", json_integer(report != NULL && report->at_ns != 0 ? report->current_step : -1));
    if (report != NULL && (trace == MON_STATE_RUNNING || trace == MON_STATE_READY)) {
        set(object, "start_step", json_integer(report->start_step));
        set(object, "stop_step", json_integer(report->stop_step));
    }
}

static double seconds_ago(uint64_t now_ns, uint64_t then_ns)
{
    uint64_t ms = (now_ns - then_ns) / 1000000; /* more digits are meaningless */
    return (double)ms / 1000;
}

static json_t *command_json(const struct mon_process *process, uint64_t now)
{
    json_t *command = json_object();
    char id[24];
    snprintf(id, sizeof(id), "%llu", (unsigned long long)process->trace_id);
    set(command, "kind", json_string(kind_name(process->command)));
    set(command, "stage", json_string(mon_command_stage_name(mon_state_stage(process))));
    set(command, "trace_id", json_string(id)); /* a string: readers that use doubles would round it */
    set(command, "age_s", json_real(seconds_ago(now, process->commanded_ns)));
    return command;
}

static json_t *process_json(const struct mon_process *process, uint64_t now)
{
    json_t *object = json_object();
    const struct mon_process *reporter = mon_registry_reporter(process);
    int32_t trace = mon_state_trace(process, now);
    set(object, "pid", json_integer(process->pid));
    if (process->host_pid != process->pid && process->host_pid != 0) {
        set(object, "host_pid", json_integer(process->host_pid));
    }
    if (process->rank != MON_INDEX_UNKNOWN) {
        set(object, "rank", json_integer(process->rank));
    } else if (process->index != MON_INDEX_UNKNOWN) {
        set(object, "index", json_integer(process->index));
    }
    if (process->slurm_job != 0 && process->slurm_job != process->job) {
        set(object, "slurm_job_id", json_integer(process->slurm_job));
    }
    set(object, "uid", json_integer(process->uid));
    set(object, "client",
        json_string(mon_client_name(reporter->client > process->client ? reporter->client : process->client)));
    set(object, "nputrace", json_string(mon_state_name(trace)));
    set(object, "npumonitor", json_string(mon_state_name(mon_state_monitor(process, now))));
    set_steps(object, trace, &reporter->trace);
    if (process->polls) {
        set(object, "polled_s_ago", json_real(seconds_ago(now, process->polled_ns)));
        set(object, "silent", json_boolean(mon_registry_silent(process, now)));
    }
    if (reporter->trace.at_ns != 0) {
        set(object, "reported_s_ago", json_real(seconds_ago(now, reporter->trace.at_ns)));
    }
    if (process->stage != MON_COMMAND_NONE) {
        set(object, "command", command_json(process, now));
    }
    return object;
}

/* With several ranks, the most active one is shown for the job. */
static int weight(int32_t state)
{
    static const int weights[] = {0, 2, 4, 3}; /* Uninitialized, Idle, Running, Ready */
    return state >= -1 && state <= 2 ? weights[state + 1] : 1;
}

struct summary {
    int32_t trace, monitor;
    const struct mon_report *report; /* of the process shown for the trace */
};

/* Processes that only report, for a child that polls: they are shown as that child. */
static void find_reporters(const struct mon_registry *registry, struct ms_map *out)
{
    for (const struct mon_process *p = mon_registry_first(registry); p != NULL; p = mon_registry_next(registry, p)) {
        const struct mon_process *reporter = mon_registry_reporter(p);
        if (p->polls && reporter != p && !reporter->polls) {
            ms_map_put(out, (uintptr_t)reporter, 1);
        }
    }
}

static void summarize(struct summary *sum, const struct mon_process *process, uint64_t now)
{
    int32_t trace = mon_state_trace(process, now), monitor = mon_state_monitor(process, now);
    const struct mon_report *report = &mon_registry_reporter(process)->trace;
    if (sum->report == NULL || weight(trace) > weight(sum->trace) ||
        (weight(trace) == weight(sum->trace) && report->at_ns > sum->report->at_ns)) {
        sum->trace = trace;
        sum->report = report;
    }
    if (weight(monitor) > weight(sum->monitor)) {
        sum->monitor = monitor;
    }
}

static void set_summary(json_t *object, const struct summary *sum)
{
    set(object, "nputrace", json_string(mon_state_name(sum->trace)));
    set(object, "npumonitor", json_string(mon_state_name(sum->monitor)));
    set_steps(object, sum->trace, sum->report);
}

json_t *mon_state_json(const struct mon_registry *registry)
{
    uint64_t now = mon_registry_now_ns(registry);
    const struct mon_job *recent = NULL;
    struct summary shown = {MON_STATE_UNINITIALIZED, MON_STATE_UNINITIALIZED, NULL};
    struct ms_map reporters = {NULL, NULL, 0, 0};
    json_t *status = json_object(), *jobs = json_array();
    find_reporters(registry, &reporters);
    for (const struct mon_job *job = mon_registry_jobs(registry); job != NULL; job = job->next) {
        struct summary sum = {MON_STATE_UNINITIALIZED, MON_STATE_UNINITIALIZED, NULL};
        json_t *object = json_object(), *processes = json_array();
        for (const struct mon_process *p = job->first; p != NULL && p->job == job->id;
             p = mon_registry_next(registry, p)) {
            if (ms_map_get(&reporters, (uintptr_t)p) == NULL) {
                summarize(&sum, p, now);
                json_array_append_new(processes, process_json(p, now));
            }
        }
        set(object, "job_id", json_integer(job->id));
        set_summary(object, &sum);
        set(object, "processes", processes);
        json_array_append_new(jobs, object);
        if (recent == NULL || job->active_ns > recent->active_ns) {
            recent = job;
            shown = sum;
        }
    }
    ms_map_free(&reporters);
    set(status, "status", json_integer(1));
    set_summary(status, &shown);
    set(status, "jobs", jobs);
    return status;
}
