/* SPDX-License-Identifier: Apache-2.0 */
/* Commands for registered processes, as an RPC client requests them: which processes match, whether the command is
 * possible, and what the client is answered.
 *
 * A configuration stays pending until the next poll of its process. Processes without registered descendants come
 * first: the launcher and its shells must not use up a limit of three. */
#include "monitor/daemon/registry_internal.h"

#include "base/map.h"
#include "base/macros.h"
#include "monitor/daemon/logger.h"
#include "monitor/daemon/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REASON_B = sizeof(((struct mon_request_result *)NULL)->reason) };

static bool any_pid(const struct mon_request *request)
{
    return request->pid_count == 0 || (request->pid_count == 1 && request->pids[0] == 0);
}

static bool of_job(const struct mon_request *request, const struct mon_process *process)
{
    return process->job == request->job || (request->job != 0 && process->slurm_job == request->job);
}

static bool of_pids(const struct mon_request *request, const struct mon_process *process)
{
    if (any_pid(request)) {
        return true;
    }
    for (size_t i = 0; i < request->pid_count; i++) {
        if (request->pids[i] == process->host_pid && process->host_pid != 0) {
            return true;
        }
        for (unsigned k = 0; k < process->pid_count; k++) {
            if (process->pids[k] == request->pids[i]) {
                return true;
            }
        }
    }
    return false;
}

/* The matching processes, leaves first; *out is NULL if there are none. 0 or -ENOMEM. */
static int match(const struct mon_registry *registry, const struct mon_request *request, struct mon_process ***out,
                 size_t *count)
{
    uint64_t now = mon_registry_now_ns(registry);
    struct mon_process **found = calloc(mon_registry_count(registry) + 1, sizeof(struct mon_process *));
    struct mon_process **sorted = calloc(mon_registry_count(registry) + 1, sizeof(struct mon_process *));
    struct ms_map ancestors = {NULL, NULL, 0, 0};
    size_t n = 0, used = 0;
    bool failed = found == NULL || sorted == NULL;
    for (struct mon_process *p = mon_registry_first(registry); !failed && p != NULL;
         p = mon_registry_next(registry, p)) {
        if (p->polls && of_job(request, p) && of_pids(request, p) && !mon_registry_silent(p, now)) {
            found[n++] = p;
            for (unsigned i = 1; i < p->pid_count; i++) {
                failed = failed || ms_map_put(&ancestors, (uint32_t)p->pids[i], 1) == NULL;
            }
        }
    }
    for (int leaves = 1; !failed && leaves >= 0; leaves--) {
        for (size_t i = 0; i < n; i++) {
            if ((ms_map_get(&ancestors, (uint32_t)found[i]->pid) == NULL) == (leaves == 1)) {
                sorted[used++] = found[i];
            }
        }
    }
    ms_map_free(&ancestors);
    free(found);
    if (failed) {
        free(sorted);
        return -ENOMEM;
    }
    *out = sorted;
    *count = used;
    return 0;
}

/* No process matched: describe the processes that exist. */
static void explain_no_match(const struct mon_registry *registry, const struct mon_request *request, char *reason)
{
    uint64_t now = mon_registry_now_ns(registry);
    size_t polling = 0, of_this_job = 0, silent = 0;
    char jobs[128] = "";
    size_t used = 0;
    for (const struct mon_job *job = mon_registry_jobs(registry); job != NULL; job = job->next) {
        if (used < sizeof(jobs) - 24) {
            used +=
                (size_t)snprintf(jobs + used, sizeof(jobs) - used, "%s%lld", used == 0 ? "" : ", ", (long long)job->id);
        }
    }
    for (const struct mon_process *p = mon_registry_first(registry); p != NULL; p = mon_registry_next(registry, p)) {
        bool ours = p->polls && of_job(request, p);
        polling += p->polls;
        of_this_job += ours;
        silent += ours && mon_registry_silent(p, now);
    }
    if (polling == 0) {
        snprintf(reason, REASON_B,
                 "no process has registered; start jobs with MSMONITOR_USE_DAEMON=1 (NPU) or KINETO_USE_DAEMON=1, "
                 "and the daemon with --enable_ipc_monitor");
    } else if (of_this_job == 0) {
        snprintf(reason, REASON_B, "no process has registered for job %lld; there are processes of job %s (--job-id)",
                 (long long)request->job, jobs);
    } else if (silent == of_this_job) {
        snprintf(reason, REASON_B, "all %zu processes of job %lld have stopped polling", silent,
                 (long long)request->job);
    } else {
        snprintf(reason, REASON_B, "none of the %zu processes of job %lld is one of the given pids or a descendant",
                 of_this_job, (long long)request->job);
    }
}

static int result_init(struct mon_request_result *result, size_t count)
{
    result->matched = calloc(count + 1, sizeof(*result->matched));
    result->triggered = calloc(count + 1, sizeof(*result->triggered));
    if (result->matched == NULL || result->triggered == NULL) {
        mon_request_result_free(result);
        return -ENOMEM;
    }
    return 0;
}

void mon_request_result_free(struct mon_request_result *result)
{
    free(result->matched);
    free(result->triggered);
    result->matched = result->triggered = NULL;
    result->matched_count = result->triggered_count = 0;
}

/* Queues the command for the processes that may get it; returns the overall decision. */
static enum mon_decision trigger(const struct mon_request *request, struct mon_process **targets, size_t count,
                                 uint64_t now, struct mon_request_result *result)
{
    enum mon_decision refusal = MON_UNKNOWN;
    unsigned failed = 0;
    for (size_t i = 0; i < count; i++) {
        struct mon_process *process = targets[i];
        result->matched[result->matched_count++] = process->pid;
        char reason[REASON_B] = "";
        enum mon_decision decision = mon_state_decide(result->kind, process, now, reason);
        if (decision != MON_EFFECTIVE) {
            result->refused++;
            refusal = decision == MON_INEFFECTIVE ? MON_INEFFECTIVE : refusal;
        } else if (process->pending != NULL) {
            result->busy++;
        } else if (result->triggered_count < request->limit) {
            if (mon_registry_queue_command(process, result->kind, request->config, request->config_b) == 0) {
                result->triggered[result->triggered_count++] = process->pid;
            } else {
                failed++;
            }
        }
        if (reason[0] != '\0' && result->reason[0] == '\0') {
            memcpy(result->reason, reason, sizeof(reason));
        }
    }
    if (failed != 0) {
        snprintf(result->reason, REASON_B, "out of memory: could not queue the command for %u processes", failed);
    }
    return result->triggered_count > 0 ? MON_EFFECTIVE : result->refused == count ? refusal : MON_INEFFECTIVE;
}

static void explain(const struct mon_request *request, struct mon_request_result *result)
{
    size_t triggered = result->triggered_count, matched = result->matched_count;
    size_t left_out = matched - triggered - result->busy - result->refused;
    if (triggered == 0 && result->busy > 0) {
        snprintf(result->reason, REASON_B, "%u of %zu processes have not fetched their previous command yet",
                 result->busy, matched);
    } else if (triggered == 0 && left_out > 0 && result->reason[0] == '\0') {
        snprintf(result->reason, REASON_B, "the limit of %u processes excludes all %zu (--process-limit)",
                 request->limit, left_out);
    } else if (triggered > 0 && left_out > 0) {
        snprintf(result->reason, REASON_B, "the limit of %u processes excludes %zu of %zu (--process-limit)",
                 request->limit, left_out, matched);
    } else if (triggered > 0 && triggered < matched) {
        snprintf(result->reason, REASON_B,
                 "%zu of %zu processes will fetch it; %u busy, %u in a state that does not "
                 "allow it",
                 triggered, matched, result->busy, result->refused);
    } else if (result->reason[0] == '\0') {
        snprintf(result->reason, REASON_B, "%zu process%s will fetch it on the next poll", triggered,
                 triggered == 1 ? "" : "es");
    }
}

int mon_registry_request(struct mon_registry *registry, const struct mon_request *request,
                         struct mon_request_result *result)
{
    struct mon_process **targets;
    size_t count;
    memset(result, 0, sizeof(*result));
    result->kind = mon_state_kind(request->config, request->config_b);
    if (request->config_b > MON_REGISTRY_CONFIG_B || memchr(request->config, '\0', request->config_b) != NULL) {
        return -EMSGSIZE;
    }
    if (match(registry, request, &targets, &count) != 0) {
        return -ENOMEM;
    }
    int error = result_init(result, count);
    if (error == 0 && count == 0) {
        result->decision = MON_INEFFECTIVE;
        explain_no_match(registry, request, result->reason);
    } else if (error == 0) {
        result->decision = trigger(request, targets, count, mon_registry_now_ns(registry), result);
        explain(request, result);
        mon_registry_commands_changed(registry);
    }
    free(targets);
    return error;
}

int mon_registry_cancel(struct mon_registry *registry, const struct mon_request *request,
                        struct mon_request_result *result)
{
    struct mon_process **targets;
    size_t count;
    memset(result, 0, sizeof(*result));
    if (match(registry, request, &targets, &count) != 0) {
        return -ENOMEM;
    }
    int error = result_init(result, count);
    for (size_t i = 0; error == 0 && i < count; i++) {
        result->matched[result->matched_count++] = targets[i]->pid;
        if (targets[i]->pending != NULL) {
            mon_registry_withdraw_command(targets[i]);
            result->triggered[result->triggered_count++] = targets[i]->pid;
        }
    }
    if (error == 0 && count == 0) {
        explain_no_match(registry, request, result->reason);
    } else if (error == 0) {
        snprintf(result->reason, REASON_B, "cancelled the pending command of %zu of %zu processes",
                 result->triggered_count, count);
    }
    result->decision = result->triggered_count > 0 ? MON_EFFECTIVE : MON_INEFFECTIVE;
    if (result->triggered_count > 0) {
        mon_registry_commands_changed(registry);
    }
    free(targets);
    return error;
}
