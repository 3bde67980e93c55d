/* SPDX-License-Identifier: Apache-2.0 */
/* The registry's interface for message handling: entering, what messages change, and delivery. */
#ifndef MON_DAEMON_REGISTRY_INTERNAL_H
#define MON_DAEMON_REGISTRY_INTERNAL_H

#include "monitor/daemon/registry.h"

/* The sender of a datagram: credentials from the kernel, and a hash of its address. */
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
    X(MEMORY, "out of memory")

enum mon_registry_fault {
#define X(id, text) MON_REGISTRY_FAULT_##id,
    MON_REGISTRY_FAULTS(X)
#undef X
};
const char *mon_registry_fault_text(enum mon_registry_fault fault);

struct mon_registry *mon_registry_new(const char *host);
void mon_registry_free(struct mon_registry *registry);

/* Replaces the clock, for tests. */
void mon_registry_set_clock(struct mon_registry *registry, uint64_t (*now_ns)(void));
/* Sets a callback that runs after commands were queued or withdrawn, before the client is answered. */
void mon_registry_on_command(struct mon_registry *registry, void (*changed)(void *argument), void *argument);

/* The process that sent a message, entered if it is new. NULL: see *fault. */
struct mon_process *mon_registry_enter(struct mon_registry *registry, int64_t job, int32_t pid,
                                       const struct mon_peer *peer, enum mon_registry_fault *fault);
/* Updates from messages. */
unsigned mon_registry_context(struct mon_process *process, int32_t index, bool npu); /* returns instance count */
void mon_registry_poll(struct mon_process *process, const struct mon_fabric_request *request, bool npu);
void mon_registry_report(struct mon_process *process, enum mon_fabric_type type,
                         const struct mon_fabric_status *status);

/* Whether this poll may be answered. False: the client exceeds the rate limit and gets no reply. */
bool mon_registry_may_reply(struct mon_process *process);
/* Whether this poll may fetch the pending command; after sending it, call mon_registry_delivered. */
bool mon_registry_deliverable(const struct mon_process *process, int32_t mask);
void mon_registry_delivered(struct mon_process *process);

/* Queues a command for a process that has none pending; 0 or -ENOMEM. After the last one, call
 * mon_registry_commands_changed. */
int mon_registry_queue_command(struct mon_process *process, enum mon_request_kind kind, const char *config,
                               size_t config_b);
void mon_registry_withdraw_command(struct mon_process *process);
void mon_registry_commands_changed(struct mon_registry *registry);

/* Descriptor that becomes readable when processes have ended (-1: not supported); then call
 * mon_registry_remove_ended. */
int mon_registry_watch_fd(const struct mon_registry *registry);
void mon_registry_remove_ended(struct mon_registry *registry);
/* Removes processes that have been silent for too long. */
void mon_registry_expire(struct mon_registry *registry);
/* Changes whenever the state to save changes and whenever a process enters or leaves. */
uint64_t mon_registry_generation(const struct mon_registry *registry);

/* Restores a saved process (persist.c): copies its fields and verifies that it is alive. NULL: it has ended, or the
 * registry is full. Does not copy pending. */
struct mon_process *mon_registry_restore(struct mon_registry *registry, const struct mon_process *saved);

/* Jobs in order of their first process. */
struct mon_job {
    struct mon_job *next;
    int64_t id;
    uint64_t active_ns; /* time of the last report, command or new process */
    size_t count;
    struct mon_process *first, *last; /* iterate from first with mon_registry_next while the job is the same */
};
const struct mon_job *mon_registry_jobs(const struct mon_registry *registry);

#endif
