/* SPDX-License-Identifier: Apache-2.0 */
/* Who has registered with the daemon: processes by job, what is known about each, and what waits for it.
 *
 * A process is known by its job, by the pid it calls itself and by the pid the kernel vouches for (0 when the sender is
 * outside our pid namespace). It enters with its first message, and leaves when the kernel says that it has ended or
 * when it has been silent for MON_REGISTRY_SILENT_S. Times are CLOCK_MONOTONIC; a clock that jumps changes nothing.
 * Threads: the loop only. Memory: at most MON_REGISTRY_MAX processes, one pending configuration each. */
#ifndef MON_DAEMON_REGISTRY_H
#define MON_DAEMON_REGISTRY_H

#include "monitor/wire/fabric.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    MON_REGISTRY_MAX = 16384,
    MON_REGISTRY_SILENT_S = 60,
    MON_REGISTRY_CONFIG_B = 65536, /* longest configuration text */
    MON_INDEX_UNKNOWN = INT32_MIN,
};

/* How a client speaks; what can be acknowledged depends on it. */
enum mon_client {
    MON_CLIENT_UNKNOWN,   /* has polled, nothing that tells */
    MON_CLIENT_KINETO,    /* mask 0 while busy: start and end of a trace are visible in its polls */
    MON_CLIENT_NPU,       /* polls on the file socket, no status so far (generation 8.1, or right after start) */
    MON_CLIENT_NPU_SHORT, /* statuses of 16 bytes: 8.2, 8.3 */
    MON_CLIENT_NPU_STEPS, /* statuses of 32 bytes, with steps: 26.0 and later */
};
const char *mon_client_name(enum mon_client client);

/* Where the last command of a process stands. */
enum mon_command_stage {
    MON_COMMAND_NONE,
    MON_COMMAND_PENDING,      /* waits for the next poll */
    MON_COMMAND_DELIVERED,    /* was sent to the process */
    MON_COMMAND_ACKNOWLEDGED, /* the process said Ready or Running, or busy, after that */
    MON_COMMAND_COMPLETED,    /* ... and Idle again after that */
    MON_COMMAND_CANCELLED,
};
const char *mon_command_stage_name(enum mon_command_stage stage);

enum mon_request_kind { MON_REQUEST_KINETO, MON_REQUEST_NPU_TRACE, MON_REQUEST_NPU_MONITOR };

/* What a process said last about tracing or monitoring. Times: 0 is never. */
struct mon_report {
    int32_t status; /* numbers of the wire; MON_STATE_UNINITIALIZED before the first */
    int32_t current_step, start_step, stop_step;
    uint64_t at_ns;     /* of the last report */
    uint64_t since_ns;  /* of the first report of this status in a row */
    uint64_t active_ns; /* of the last report that said Ready or Running */
};

struct mon_registry;

struct mon_process {
    struct mon_registry *registry;
    int64_t job;
    int32_t pid;      /* as the process calls itself */
    int32_t host_pid; /* as we see it; 0: not in our pid namespace */
    uid_t uid;
    uint64_t start_ticks; /* of host_pid, field 22 of /proc/PID/stat; tells a reused pid; 0: unknown */
    unsigned pid_count;
    int32_t pids[MON_FABRIC_PIDS_MAX]; /* own first, then ancestors */
    int32_t index;     /* of its context message: rank of NPU clients, device of others; MON_INDEX_UNKNOWN */
    int32_t rank;      /* RANK of its environment where we may read it, else index of NPU clients; or unknown */
    int64_t slurm_job; /* SLURM_JOB_ID of its environment where we may read it; 0: none */
    enum mon_client client;
    bool polls; /* has sent a request: can be given a command */
    uint64_t registered_ns, heard_ns;
    uint64_t polled_ns, poll_gap_ns;  /* last request, and how long after the one before */
    uint64_t busy_ns, free_ns;        /* last request with mask 0, and with another mask */
    struct mon_report trace, monitor; /* of this process itself; see mon_registry_reporter */

    enum mon_command_stage stage;  /* none, pending, delivered or cancelled; mon_state_stage knows more */
    enum mon_request_kind command; /* of the stage */
    uint64_t trace_id, commanded_ns, delivered_ns;
    char *pending; /* text for the next poll, or NULL */
    size_t pending_b;
    uint64_t duration_ns; /* after which the monitor that was started last ends by itself; 0: does not */
};

/* The process whose reports hold for this one: itself, or its nearest ancestor that reports (NPU frameworks poll from a
 * child of the process that reports), or itself if nobody does. */
const struct mon_process *mon_registry_reporter(const struct mon_process *process);
/* Polls have stopped coming: a command would not be fetched. */
bool mon_registry_silent(const struct mon_process *process, uint64_t now_ns);
uint64_t mon_registry_now_ns(const struct mon_registry *registry);
/* The registered process with this pid, or its nearest registered relative as its /proc entry tells; NULL: none. */
struct mon_process *mon_registry_find(const struct mon_registry *registry, int32_t host_pid);

/* Iteration in the order of jobs and registration; the registry must not change meanwhile. */
struct mon_process *mon_registry_first(const struct mon_registry *registry);
struct mon_process *mon_registry_next(const struct mon_registry *registry, const struct mon_process *process);
size_t mon_registry_count(const struct mon_registry *registry);

/* A command for processes: of one job, all of them (pid_count 0, or the single pid 0) or those that are, or descend
 * from, one of the pids. At most `limit` get it. Also matches processes whose SLURM_JOB_ID is the job. */
struct mon_request {
    int64_t job;
    const int32_t *pids;
    size_t pid_count;
    uint32_t limit;
    const char *config;
    size_t config_b;
};

enum mon_decision { MON_EFFECTIVE, MON_INEFFECTIVE, MON_UNKNOWN };
const char *mon_decision_name(enum mon_decision decision); /* as commandStatus */

struct mon_request_result {
    enum mon_request_kind kind;
    enum mon_decision decision;
    char reason[256];             /* why not, or what to know about a command that is effective; never empty */
    int32_t *matched, *triggered; /* pids as the processes call themselves */
    size_t matched_count, triggered_count;
    unsigned busy;    /* matched, but an earlier command still waits */
    unsigned refused; /* matched, but its state does not allow the command */
};

/* Decides and, if effective, leaves the configuration with each triggered process. 0, or -EMSGSIZE (configuration too
 * long), -ENOMEM. Free the result after 0. */
int mon_registry_request(struct mon_registry *registry, const struct mon_request *request,
                         struct mon_request_result *result);
void mon_request_result_free(struct mon_request_result *result);

/* Takes back commands that no process has fetched yet; the pids that lost one are result->triggered. */
int mon_registry_cancel(struct mon_registry *registry, const struct mon_request *request,
                        struct mon_request_result *result);

#endif
