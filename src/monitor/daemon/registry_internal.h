/* The registry as the message handling uses it: who enters, what a message changes, what waits for delivery. */
#ifndef MS_DAEMON_REGISTRY_INTERNAL_H
#define MS_DAEMON_REGISTRY_INTERNAL_H

#include "monitor/daemon/registry.h"

/* Whom a datagram is from, by the kernel's word, and a hash of the address that it came from. */
struct ms_peer {
    int32_t pid; /* 0: not in our pid namespace */
    uid_t uid;
    uint64_t source;
};

/* Why a process may not enter: X(id, text). */
#define MS_REGISTRY_FAULTS(X)                                                                                         \
    X(NONE, "none")                                                                                                    \
    X(PID, "pid is not the sender's")                                                                                  \
    X(ENDED, "sender has ended")                                                                                       \
    X(FULL, "too many processes")                                                                                      \
    X(MEMORY, "no memory")

enum ms_registry_fault {
#define X(id, text) MS_REGISTRY_FAULT_##id,
    MS_REGISTRY_FAULTS(X)
#undef X
};
const char *ms_registry_fault_text(enum ms_registry_fault fault);

struct ms_registry *ms_registry_new(const char *host);
void ms_registry_free(struct ms_registry *registry);

/* For tests: another clock. */
void ms_registry_set_clock(struct ms_registry *registry, uint64_t (*now_ns)(void));
/* Called after a command was left with processes, before the answer goes out. */
void ms_registry_on_command(struct ms_registry *registry, void (*changed)(void *argument), void *argument);

/* The process of a message, entered if it is new. NULL: *fault tells. */
struct ms_process *ms_registry_enter(struct ms_registry *registry, int64_t job, int32_t pid,
                                       const struct ms_peer *peer, enum ms_registry_fault *fault);
/* What messages say about a process. */
unsigned ms_registry_context(struct ms_process *process, int32_t index, bool npu); /* instances of job and index */
void ms_registry_poll(struct ms_process *process, const struct ms_fabric_request *request, bool npu);
void ms_registry_report(struct ms_process *process, enum ms_fabric_type type,
                         const struct ms_fabric_status *status);

/* May this poll be answered now? False: the client polls faster than anybody needs; let it wait in vain. */
bool ms_registry_pace(struct ms_process *process);
/* The command that this poll may fetch; after a successful send tell delivered. */
bool ms_registry_deliverable(const struct ms_process *process, int32_t mask);
void ms_registry_delivered(struct ms_process *process);

/* Leaves a command with a process that has none waiting; 0 or -ENOMEM. After the last one tell commanded. */
int ms_registry_leave(struct ms_process *process, enum ms_request_kind kind, const char *config, size_t config_b);
void ms_registry_take_back(struct ms_process *process);
void ms_registry_commanded(struct ms_registry *registry);

/* Descriptor that becomes readable when processes have ended (-1: cannot be watched here); then call reap. */
int ms_registry_watch_fd(const struct ms_registry *registry);
void ms_registry_reap(struct ms_registry *registry);
/* Lets go of processes that are silent for too long. */
void ms_registry_collect(struct ms_registry *registry);
/* Changes with everything worth saving, and with every process that comes or goes. */
uint64_t ms_registry_generation(const struct ms_registry *registry);

/* Puts back a process that was saved (persist.c): a copy with the fields of the saved one, verified to be alive. NULL:
 * it has ended, or there is no room. pending is not copied. */
struct ms_process *ms_registry_restore(struct ms_registry *registry, const struct ms_process *saved);

/* Jobs in the order of their first process. */
struct ms_job {
    struct ms_job *next;
    int64_t id;
    uint64_t active_ns; /* last report, command or new process */
    size_t count;
    struct ms_process *first, *last; /* from first on, ms_registry_next while the job is the same */
};
const struct ms_job *ms_registry_jobs(const struct ms_registry *registry);

#endif
