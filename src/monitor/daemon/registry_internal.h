/* SPDX-License-Identifier: Apache-2.0 */
/* The registry as the message handling uses it: who enters, what a message changes, what waits for delivery. */
#ifndef MON_DAEMON_REGISTRY_INTERNAL_H
#define MON_DAEMON_REGISTRY_INTERNAL_H

#include "monitor/daemon/registry.h"

/* Whom a datagram is from, by the kernel's word, and a hash of the address that it came from. */
struct mon_peer {
    int32_t pid; /* 0: not in our pid namespace */
    uid_t uid;
    uint64_t source;
};

/* Why a process may not enter: X(id, text). */
#define MON_REGISTRY_FAULTS(X)                                                                                         \
    X(NONE, "none")                                                                                                    \
    X(PID, "pid is not the sender's")                                                                                  \
    X(ENDED, "sender has ended")                                                                                       \
    X(FULL, "too many processes")                                                                                      \
    X(MEMORY, "no memory")

enum mon_registry_fault {
#define X(id, text) MON_REGISTRY_FAULT_##id,
    MON_REGISTRY_FAULTS(X)
#undef X
};
const char *mon_registry_fault_text(enum mon_registry_fault fault);

struct mon_registry *mon_registry_new(const char *host);
void mon_registry_free(struct mon_registry *registry);

/* For tests: another clock. */
void mon_registry_set_clock(struct mon_registry *registry, uint64_t (*now_ns)(void));
/* Called after a command was left with processes, before the answer goes out. */
void mon_registry_on_command(struct mon_registry *registry, void (*changed)(void *argument), void *argument);

/* The process of a message, entered if it is new. NULL: *fault tells. */
struct mon_process *mon_registry_enter(struct mon_registry *registry, int64_t job, int32_t pid,
                                       const struct mon_peer *peer, enum mon_registry_fault *fault);
/* What messages say about a process. */
unsigned mon_registry_context(struct mon_process *process, int32_t index, bool npu); /* instances of job and index */
void mon_registry_poll(struct mon_process *process, const struct mon_fabric_request *request, bool npu);
void mon_registry_report(struct mon_process *process, enum mon_fabric_type type,
                         const struct mon_fabric_status *status);

/* May this poll be answered now? False: the client polls faster than anybody needs; let it wait in vain. */
bool mon_registry_may_reply(struct mon_process *process);
/* The command that this poll may fetch; after a successful send tell delivered. */
bool mon_registry_deliverable(const struct mon_process *process, int32_t mask);
void mon_registry_delivered(struct mon_process *process);

/* Leaves a command with a process that has none waiting; 0 or -ENOMEM. After the last one tell commanded. */
int mon_registry_queue_command(struct mon_process *process, enum mon_request_kind kind, const char *config, size_t config_b);
void mon_registry_withdraw_command(struct mon_process *process);
void mon_registry_commands_changed(struct mon_registry *registry);

/* Descriptor that becomes readable when processes have ended (-1: cannot be watched here); then call reap. */
int mon_registry_watch_fd(const struct mon_registry *registry);
void mon_registry_remove_ended(struct mon_registry *registry);
/* Lets go of processes that are silent for too long. */
void mon_registry_expire(struct mon_registry *registry);
/* Changes with everything worth saving, and with every process that comes or goes. */
uint64_t mon_registry_generation(const struct mon_registry *registry);

/* Puts back a process that was saved (persist.c): a copy with the fields of the saved one, verified to be alive. NULL:
 * it has ended, or there is no room. pending is not copied. */
struct mon_process *mon_registry_restore(struct mon_registry *registry, const struct mon_process *saved);

/* Jobs in the order of their first process. */
struct mon_job {
    struct mon_job *next;
    int64_t id;
    uint64_t active_ns; /* last report, command or new process */
    size_t count;
    struct mon_process *first, *last; /* from first on, mon_registry_next while the job is the same */
};
const struct mon_job *mon_registry_jobs(const struct mon_registry *registry);

#endif
