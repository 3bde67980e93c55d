/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of client processes, by job: what is known about each process, and its pending command.
 *
 * A process is identified by its job, the pid that it reports and the pid that the kernel reports (0 if the sender is
 * outside our pid namespace). It enters with its first message and leaves when the kernel reports its end, or after
 * MON_REGISTRY_SILENT_S without a message. Times are CLOCK_MONOTONIC, so clock changes have no effect. Used only by the
 * event loop thread. Memory: at most MON_REGISTRY_MAX processes, each with one pending configuration. */
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

/* The client's protocol version; it determines what can be acknowledged. */
enum mon_client {
    MON_CLIENT_UNKNOWN,   /* has polled, but version unknown */
    MON_CLIENT_KINETO,    /* mask 0 while busy: its polls show start and end of a trace */
    MON_CLIENT_NPU,       /* polls on the file socket, no status yet (8.1, or just started) */
    MON_CLIENT_NPU_SHORT, /* 16-byte status messages: 8.2, 8.3 */
    MON_CLIENT_NPU_STEPS, /* 32-byte status messages with steps: 26.0 and later */
};
const char *mon_client_name(enum mon_client client);

/* Progress of a process's last command. */
enum mon_command_stage {
    MON_COMMAND_NONE,
    MON_COMMAND_PENDING,      /* until the next poll */
    MON_COMMAND_DELIVERED,    /* sent to the process */
    MON_COMMAND_ACKNOWLEDGED, /* then the process reported Ready, Running or busy */
    MON_COMMAND_COMPLETED,    /* then it reported Idle again */
    MON_COMMAND_CANCELLED,
};
const char *mon_command_stage_name(enum mon_command_stage stage);

enum mon_request_kind { MON_REQUEST_KINETO, MON_REQUEST_NPU_TRACE, MON_REQUEST_NPU_MONITOR };

/* The last report of a process about tracing or monitoring. Times: 0 means never. */
struct mon_report {
    int32_t status; /* number on the wire; MON_STATE_UNINITIALIZED before the first report */
    int32_t current_step, start_step, stop_step;
    uint64_t at_ns;     /* time of the last report */
    uint64_t since_ns;  /* time of the first of consecutive reports with this status */
    uint64_t active_ns; /* time of the last report of Ready or Running */
};

struct mon_registry;

struct mon_process {
    struct mon_registry *registry;
    int64_t job;
    int32_t pid;      /* as reported by the process */
    int32_t host_pid; /* in our pid namespace; 0: not visible there */
    uid_t uid;
    uint64_t start_ticks; /* of host_pid, field 22 of /proc/PID/stat; detects a reused pid; 0: unknown */
    unsigned pid_count;
    int32_t pids[MON_FABRIC_PIDS_MAX]; /* its own, then its ancestors */
    int32_t index;     /* from its context message: rank of NPU clients, device of others; or MON_INDEX_UNKNOWN */
    int32_t rank;      /* RANK in its environment if readable, else index of NPU clients; or MON_INDEX_UNKNOWN */
    int64_t slurm_job; /* SLURM_JOB_ID in its environment if readable; 0: none */
    enum mon_client client;
    bool polls; /* has sent a request, so it can receive commands */
    uint64_t registered_ns, heard_ns;
    uint64_t polled_ns, poll_gap_ns;  /* last request, and its distance from the previous one */
    uint64_t busy_ns, free_ns;        /* last request with mask 0, and with another mask */
    struct mon_report trace, monitor; /* of this process; see mon_registry_reporter */

    enum mon_command_stage stage;  /* none, pending, delivered or cancelled; mon_state_stage derives the others */
    enum mon_request_kind command; /* the last command */
    uint64_t trace_id, commanded_ns, delivered_ns;
    char *pending; /* text for the next poll, or NULL */
    size_t pending_b;
    uint64_t duration_ns; /* duration of the monitor started last; 0: unlimited */
};

/* The process whose reports apply to this one: itself, or its nearest ancestor that reports (NPU frameworks poll from a
 * child of the reporting process), or itself if none does. */
const struct mon_process *mon_registry_reporter(const struct mon_process *process);
/* The process no longer polls: it would not fetch a command. */
bool mon_registry_silent(const struct mon_process *process, uint64_t now_ns);
uint64_t mon_registry_now_ns(const struct mon_registry *registry);
/* The registered process with this pid, or its nearest registered relative according to /proc; NULL: none. */
struct mon_process *mon_registry_find(const struct mon_registry *registry, int32_t host_pid);

/* Iteration in order of jobs and registration; the registry must not change during it. */
struct mon_process *mon_registry_first(const struct mon_registry *registry);
struct mon_process *mon_registry_next(const struct mon_registry *registry, const struct mon_process *process);
size_t mon_registry_count(const struct mon_registry *registry);

/* The target of a command: all processes of a job (pid_count 0, or the single pid 0), or those that are or descend from
 * one of the pids, at most `limit`. Processes whose SLURM_JOB_ID is the job match too. */
struct mon_request {
    int64_t job;
    const int32_t *pids;
    size_t pid_count;
    uint32_t limit;
    const char *config;
    size_t config_b;
};

enum mon_decision { MON_EFFECTIVE, MON_INEFFECTIVE, MON_UNKNOWN };
const char *mon_decision_name(enum mon_decision decision); /* value of commandStatus */

struct mon_request_result {
    enum mon_request_kind kind;
    enum mon_decision decision;
    char reason[256];             /* why not, or a remark about an effective command; never empty */
    int32_t *matched, *triggered; /* pids as reported by the processes */
    size_t matched_count, triggered_count;
    unsigned busy;    /* matched, but the previous command is still pending */
    unsigned refused; /* matched, but the state does not allow the command */
};

/* Decides and, if effective, queues the configuration for each triggered process. 0, or -EMSGSIZE (configuration too
 * long),
 * -ENOMEM. After 0 the caller frees the result. */
int mon_registry_request(struct mon_registry *registry, const struct mon_request *request,
                         struct mon_request_result *result);
void mon_request_result_free(struct mon_request_result *result);

/* Cancels commands that have not been fetched; result->triggered lists the pids whose command was cancelled. */
int mon_registry_cancel(struct mon_registry *registry, const struct mon_request *request,
                        struct mon_request_result *result);

#endif
