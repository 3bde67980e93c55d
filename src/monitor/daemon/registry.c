/* SPDX-License-Identifier: Apache-2.0 */
/* The registry: a list of jobs, a list of processes per job, and two hash tables over all processes: by identity (job,
 * pids, and the address of senders without a pid in our namespace) and by the pid that others name as their ancestor.
 *
 * A sender is verified only when it enters: the pid it claims must be its own, in our pid namespace or in its own, or
 * that of a living process of the same user. The check reads /proc and is repeated when the sender's address changes,
 * which also detects a reused pid. The end of a process is detected at once through a pidfd in an epoll set; where that
 * is not possible, a process expires after a period of silence. Used only by the event loop thread. Failure policy: if
 * out of memory, the process is not entered and its poll is not answered. */
#include "monitor/daemon/registry_internal.h"

#include "base/clock.h"
#include "base/map.h"
#include "monitor/daemon/logger.h"
#include "monitor/daemon/procfs.h"
#include "monitor/daemon/state.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SECOND_NS 1000000000ull

enum {
    TABLE_SIZE = 4096,     /* of each hash table; a power of two */
    SILENT_ALIVE_S = 3600, /* a process that is known to be alive expires after this much silence */
    POLL_RATE = 200,       /* polls per second and process that are answered, on average ... */
    POLL_BURST = 200,      /* ... and in a burst */
    JOBS_PER_PROCESS = 8,
    PER_USER_SHARE = 2, /* a user may own MAX / 2 entries */
};

struct node {
    struct mon_process process; /* first member: nodes and processes share an address */
    struct mon_job *job;
    struct node *next, *previous;     /* in the list of the job */
    struct node *same_key, *same_pid; /* in the hash tables */
    uint64_t source;                  /* address of the last verified message */
    int32_t peer_pid;
    uint64_t pace_ns; /* time until which the answered polls are paid for */
    int pidfd;        /* -1: not watched */
};

struct mon_registry {
    char host[256];
    uint64_t (*now_ns)(void);
    void (*changed)(void *argument);
    void *changed_argument;
    struct mon_job *jobs;
    size_t count, watched, watched_max;
    uint64_t generation, next_trace;
    int epoll_fd;
    struct node *by_key[TABLE_SIZE], *by_pid[TABLE_SIZE];
};

static const char *const fault_texts[] = {
#define X(id, text) text,
    MON_REGISTRY_FAULTS(X)
#undef X
};

const char *mon_registry_fault_text(enum mon_registry_fault fault)
{
    return fault_texts[fault];
}

static uint64_t monotonic_ns(void)
{
    return ms_clock_ns(CLOCK_MONOTONIC);
}

struct mon_registry *mon_registry_new(const char *host)
{
    struct mon_registry *registry = calloc(1, sizeof(*registry));
    if (registry == NULL) {
        return NULL;
    }
    struct rlimit limit;
    snprintf(registry->host, sizeof(registry->host), "%s", host);
    registry->now_ns = monotonic_ns;
    registry->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    /* reserve half of the descriptors for connections */
    registry->watched_max = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / 2 : 0;
    return registry;
}

static uint64_t key_hash(int64_t job, int32_t host_pid, int32_t pid, uint64_t source)
{
    uint64_t pids = (uint64_t)(uint32_t)host_pid << 32 | (uint32_t)pid;
    return ms_hash_u64((uint64_t)job ^ ms_hash_u64(pids ^ (host_pid == 0 ? ms_hash_u64(source) : 0)));
}

static struct node **key_slot(struct mon_registry *registry, int64_t job, int32_t host_pid, int32_t pid,
                              uint64_t source)
{
    return &registry->by_key[key_hash(job, host_pid, pid, source) & (TABLE_SIZE - 1)];
}

static size_t pid_slot(int32_t pid)
{
    return ms_hash_u64((uint32_t)pid) & (TABLE_SIZE - 1);
}

static struct node *find_key(struct mon_registry *registry, int64_t job, int32_t host_pid, int32_t pid, uint64_t source)
{
    struct node *node = *key_slot(registry, job, host_pid, pid, source);
    while (node != NULL && (node->process.job != job || node->process.host_pid != host_pid ||
                            node->process.pid != pid || (host_pid == 0 && node->source != source))) {
        node = node->same_key;
    }
    return node;
}

static void unlink_from(struct node **slot, struct node *node, size_t link)
{
    struct node **at = slot;
    while (*at != node) {
        at = (struct node **)((char *)*at + link);
    }
    *at = *(struct node **)((char *)node + link);
}

static void unwatch(struct mon_registry *registry, struct node *node)
{
    if (node->pidfd >= 0) {
        close(node->pidfd); /* also removes it from the epoll set: no other descriptor refers to it */
        node->pidfd = -1;
        registry->watched--;
    }
}

static void remove_node(struct mon_registry *registry, struct node *node)
{
    struct mon_process *process = &node->process;
    struct mon_job *job = node->job;
    unwatch(registry, node);
    unlink_from(key_slot(registry, process->job, process->host_pid, process->pid, node->source), node,
                offsetof(struct node, same_key));
    unlink_from(&registry->by_pid[pid_slot(process->pid)], node, offsetof(struct node, same_pid));
    if (node->previous != NULL) {
        node->previous->next = node->next;
    } else {
        job->first = node->next != NULL ? &node->next->process : NULL;
    }
    if (node->next != NULL) {
        node->next->previous = node->previous;
    } else {
        job->last = node->previous != NULL ? &node->previous->process : NULL;
    }
    if (--job->count == 0) {
        struct mon_job **at = &registry->jobs;
        while (*at != job) {
            at = &(*at)->next;
        }
        *at = job->next;
        free(job);
    }
    registry->count--;
    registry->generation++;
    free(process->pending);
    free(node);
}

void mon_registry_free(struct mon_registry *registry)
{
    if (registry == NULL) {
        return;
    }
    while (registry->jobs != NULL) {
        remove_node(registry, (struct node *)registry->jobs->first);
    }
    if (registry->epoll_fd >= 0) {
        close(registry->epoll_fd);
    }
    free(registry);
}

void mon_registry_set_clock(struct mon_registry *registry, uint64_t (*now_ns)(void))
{
    registry->now_ns = now_ns;
}

void mon_registry_on_command(struct mon_registry *registry, void (*changed)(void *argument), void *argument)
{
    registry->changed = changed;
    registry->changed_argument = argument;
}

uint64_t mon_registry_now_ns(const struct mon_registry *registry)
{
    return registry->now_ns();
}

uint64_t mon_registry_generation(const struct mon_registry *registry)
{
    return registry->generation;
}

size_t mon_registry_count(const struct mon_registry *registry)
{
    return registry->count;
}

const struct mon_job *mon_registry_jobs(const struct mon_registry *registry)
{
    return registry->jobs;
}

struct mon_process *mon_registry_first(const struct mon_registry *registry)
{
    return registry->jobs != NULL ? registry->jobs->first : NULL;
}

struct mon_process *mon_registry_next(const struct mon_registry *registry, const struct mon_process *process)
{
    const struct node *node = (const struct node *)process;
    if (node->next != NULL) {
        return &node->next->process;
    }
    return node->job->next != NULL ? node->job->next->first : NULL;
}

/* ---- entering ---- */

static struct mon_job *job_of(struct mon_registry *registry, int64_t id)
{
    struct mon_job **at = &registry->jobs;
    while (*at != NULL && (*at)->id != id) {
        at = &(*at)->next;
    }
    if (*at == NULL && (*at = calloc(1, sizeof(**at))) != NULL) {
        (*at)->id = id;
    }
    return *at;
}

/* Watches for the end of the process. False: it has already ended and left this message behind. */
static bool watch(struct mon_registry *registry, struct node *node)
{
    int32_t pid = node->process.host_pid;
    node->pidfd = -1;
    if (pid != 0 && kill(pid, 0) != 0 && errno == ESRCH) {
        return false;
    }
    if (registry->epoll_fd < 0 || pid == 0 || registry->watched >= registry->watched_max) {
        return true;
    }
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0 && errno == ESRCH) {
        return false;
    }
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = node};
    if (fd >= 0 && epoll_ctl(registry->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0) {
        node->pidfd = fd;
        registry->watched++;
    } else if (fd >= 0) {
        close(fd);
    }
    return true;
}

/* Determines the real pid of the sender. host_pid 0: not visible in our pid namespace. */
static enum mon_registry_fault verify(int32_t pid, const struct mon_peer *peer, int32_t *host_pid,
                                      uint64_t *start_ticks)
{
    struct mon_procfs facts;
    *host_pid = peer->pid;
    *start_ticks = 0;
    if (peer->pid == 0) {
        return MON_REGISTRY_FAULT_NONE;
    }
    if (mon_procfs_read(peer->pid, &facts) == 0) {
        *start_ticks = facts.start_ticks;
        if (pid == facts.inner_pid || pid == peer->pid) {
            return MON_REGISTRY_FAULT_NONE;
        }
    }
    if (pid == peer->pid) {
        return MON_REGISTRY_FAULT_NONE;
    }
    /* A process may act for another of the same user, which it could harm anyway. */
    if (mon_procfs_read(pid, &facts) == 0 && facts.uid == peer->uid) {
        *host_pid = pid;
        *start_ticks = facts.start_ticks;
        return MON_REGISTRY_FAULT_NONE;
    }
    return MON_REGISTRY_FAULT_PID;
}

/* Whether another process may enter: a user must not lock out others, and a process must not fill the table with
 * invented jobs. */
static bool has_room(const struct mon_registry *registry, const struct mon_process *identity)
{
    size_t jobs = 0, of_user = 0;
    for (const struct node *n = registry->by_pid[pid_slot(identity->pid)]; n != NULL; n = n->same_pid) {
        jobs += identity->host_pid != 0 && n->process.host_pid == identity->host_pid;
    }
    if (registry->count >= MON_REGISTRY_MAX / PER_USER_SHARE) {
        for (const struct mon_process *p = mon_registry_first(registry); p != NULL;
             p = mon_registry_next(registry, p)) {
            of_user += p->uid == identity->uid;
        }
    }
    return jobs < JOBS_PER_PROCESS && registry->count < MON_REGISTRY_MAX && of_user < MON_REGISTRY_MAX / PER_USER_SHARE;
}

static const struct mon_report no_report = {
    .status = MON_STATE_UNINITIALIZED, .current_step = -1, .start_step = -1, .stop_step = -1};

/* Links a new process, whose identity the caller has filled in. */
static struct node *add_node(struct mon_registry *registry, const struct mon_process *identity, uint64_t source,
                             enum mon_registry_fault *fault)
{
    *fault = MON_REGISTRY_FAULT_FULL;
    if (!has_room(registry, identity)) {
        return NULL;
    }
    *fault = MON_REGISTRY_FAULT_MEMORY;
    struct node *node = calloc(1, sizeof(*node));
    struct mon_job *job = node != NULL ? job_of(registry, identity->job) : NULL;
    if (job == NULL) {
        free(node);
        return NULL;
    }
    node->process = *identity;
    struct mon_process *process = &node->process;
    process->registry = registry;
    process->pending = NULL;
    process->pending_b = 0;
    process->registered_ns = process->heard_ns = registry->now_ns();
    node->job = job;
    node->source = source;

    node->previous = (struct node *)job->last;
    if (node->previous != NULL) {
        node->previous->next = node;
    } else {
        job->first = process;
    }
    job->last = process;
    job->count++;
    job->active_ns = process->registered_ns;
    registry->count++;
    registry->generation++;

    struct node **slot = key_slot(registry, process->job, process->host_pid, process->pid, source);
    node->same_key = *slot;
    *slot = node;
    slot = &registry->by_pid[pid_slot(process->pid)];
    node->same_pid = *slot;
    *slot = node;
    if (!watch(registry, node)) {
        *fault = MON_REGISTRY_FAULT_ENDED;
        remove_node(registry, node);
        return NULL;
    }
    *fault = MON_REGISTRY_FAULT_NONE;
    return node;
}

struct mon_process *mon_registry_enter(struct mon_registry *registry, int64_t job, int32_t pid,
                                       const struct mon_peer *peer, enum mon_registry_fault *fault)
{
    /* The usual case: process and address are known. A process that acts for itself has its own pid as host pid; one
     * that acts for another is found by the other's pid. */
    const int32_t candidates[] = {peer->pid, pid};
    *fault = MON_REGISTRY_FAULT_NONE;
    for (size_t i = 0; i < MS_COUNT_OF(candidates); i++) {
        struct node *node = find_key(registry, job, candidates[i], pid, peer->source);
        if (node != NULL && node->source == peer->source && node->peer_pid == peer->pid &&
            node->process.uid == peer->uid) {
            node->process.heard_ns = registry->now_ns();
            return &node->process;
        }
    }
    struct mon_process identity = {.job = job,
                                   .pid = pid,
                                   .uid = peer->uid,
                                   .pid_count = 1,
                                   .pids = {pid},
                                   .index = MON_INDEX_UNKNOWN,
                                   .rank = MON_INDEX_UNKNOWN,
                                   .trace = no_report,
                                   .monitor = no_report};
    *fault = verify(pid, peer, &identity.host_pid, &identity.start_ticks);
    if (*fault != MON_REGISTRY_FAULT_NONE) {
        return NULL;
    }
    struct node *node = find_key(registry, job, identity.host_pid, pid, peer->source);
    if (node != NULL && (node->process.start_ticks != identity.start_ticks || node->process.uid != peer->uid)) {
        MON_LOG_INFO("pid %d of job %lld is a new process", pid, (long long)job);
        remove_node(registry, node);
        node = NULL;
    }
    if (node == NULL) {
        if (identity.host_pid != 0) {
            mon_procfs_environment(identity.host_pid, &identity.rank, &identity.slurm_job);
        }
        node = add_node(registry, &identity, peer->source, fault);
        if (node == NULL) {
            return NULL;
        }
        MON_LOG_INFO("Registered process (%d) for job %lld", pid, (long long)job);
    }
    if (node->process.host_pid != 0) { /* without a host pid, the source is part of the key and has not changed */
        node->source = peer->source;
    }
    node->peer_pid = peer->pid;
    node->process.heard_ns = registry->now_ns();
    return &node->process;
}

struct mon_process *mon_registry_restore(struct mon_registry *registry, const struct mon_process *saved)
{
    struct mon_procfs facts;
    enum mon_registry_fault fault;
    if (saved->host_pid <= 0 || mon_procfs_read(saved->host_pid, &facts) != 0 ||
        facts.start_ticks != saved->start_ticks || facts.uid != saved->uid ||
        find_key(registry, saved->job, saved->host_pid, saved->pid, 0) != NULL) {
        return NULL;
    }
    struct mon_process identity = *saved;
    identity.rank = MON_INDEX_UNKNOWN;
    mon_procfs_environment(identity.host_pid, &identity.rank, &identity.slurm_job);
    struct node *node = add_node(registry, &identity, 0, &fault);
    if (node == NULL) {
        return NULL;
    }
    /* it has one silence period to poll again */
    node->process.polled_ns = saved->polls ? registry->now_ns() : 0;
    return &node->process;
}

/* ---- messages ---- */

static void npu_rank(struct mon_process *process)
{
    if (process->rank == MON_INDEX_UNKNOWN && process->index >= 0 && process->client >= MON_CLIENT_NPU) {
        process->rank = process->index;
    }
}

unsigned mon_registry_context(struct mon_process *process, int32_t index, bool npu)
{
    unsigned instances = 0;
    process->index = index;
    if (npu && process->client == MON_CLIENT_UNKNOWN) {
        process->client = MON_CLIENT_NPU;
    }
    npu_rank(process);
    for (struct node *n = (struct node *)((struct node *)process)->job->first; n != NULL; n = n->next) {
        instances += n->process.index == index;
    }
    return instances;
}

void mon_registry_poll(struct mon_process *process, const struct mon_fabric_request *request, bool npu)
{
    uint64_t now = process->registry->now_ns();
    if (request->count > 1 || process->pid_count == 0) {
        process->pid_count = request->count;
        memcpy(process->pids, request->pids, request->count * sizeof(process->pids[0]));
    }
    if (!process->polls) {
        process->polls = true;
        process->registry->generation++;
    }
    process->poll_gap_ns = process->polled_ns != 0 ? now - process->polled_ns : 0;
    process->polled_ns = now;
    *(request->mask == 0 ? &process->busy_ns : &process->free_ns) = now;
    if (process->client == MON_CLIENT_UNKNOWN) {
        /* Only libkineto requests just activities, or nothing. */
        process->client = npu                                        ? MON_CLIENT_NPU
                          : request->mask == 2 || request->mask == 0 ? MON_CLIENT_KINETO
                                                                     : MON_CLIENT_UNKNOWN;
    }
    npu_rank(process);
}

void mon_registry_report(struct mon_process *process, enum mon_fabric_type type, const struct mon_fabric_status *status)
{
    uint64_t now = process->registry->now_ns();
    struct mon_registry *registry = process->registry;
    struct mon_report *report = type == MON_FABRIC_TRACE_STATUS ? &process->trace : &process->monitor;
    if (report->at_ns == 0 || report->status != status->status) {
        report->since_ns = now;
        registry->generation++;
    }
    report->at_ns = now;
    report->status = status->status;
    report->current_step = status->current_step;
    report->start_step = status->start_step;
    report->stop_step = status->stop_step;
    if (status->status == MON_STATE_RUNNING || status->status == MON_STATE_READY) {
        report->active_ns = now;
    }
    process->client = status->steps ? MON_CLIENT_NPU_STEPS : MON_CLIENT_NPU_SHORT;
    npu_rank(process);
    ((struct node *)process)->job->active_ns = now;
}

const struct mon_process *mon_registry_reporter(const struct mon_process *process)
{
    if (process->trace.at_ns != 0 || process->monitor.at_ns != 0) {
        return process;
    }
    for (unsigned i = 1; i < process->pid_count; i++) {
        for (const struct node *n = process->registry->by_pid[pid_slot(process->pids[i])]; n != NULL; n = n->same_pid) {
            const struct mon_process *other = &n->process;
            if (other->pid == process->pids[i] && other->uid == process->uid &&
                (other->trace.at_ns != 0 || other->monitor.at_ns != 0)) {
                return other;
            }
        }
    }
    return process;
}

/* The process registered under this pid, else its nearest descendant that polls. */
static struct mon_process *find_self_or_child(const struct mon_registry *registry, int32_t host_pid)
{
    struct mon_process *child = NULL;
    unsigned distance = MON_FABRIC_PIDS_MAX;
    for (struct mon_process *p = mon_registry_first(registry); p != NULL; p = mon_registry_next(registry, p)) {
        if (p->host_pid == host_pid) {
            return p;
        }
        /* Pids of another namespace denote other processes here. */
        for (unsigned i = 1; i < p->pid_count && i < distance && p->host_pid == p->pid; i++) {
            if (p->pids[i] == host_pid) {
                child = p;
                distance = i;
            }
        }
    }
    return child;
}

struct mon_process *mon_registry_find(const struct mon_registry *registry, int32_t host_pid)
{
    enum { GENERATIONS = 4 };
    struct mon_procfs facts = {.parent = host_pid};
    struct mon_process *found = NULL;
    for (int i = 0; found == NULL && i < GENERATIONS && facts.parent > 1; i++) {
        int32_t pid = facts.parent;
        found = find_self_or_child(registry, pid);
        if (found == NULL && mon_procfs_read(pid, &facts) != 0) {
            break;
        }
    }
    return found;
}

bool mon_registry_silent(const struct mon_process *process, uint64_t now_ns)
{
    uint64_t patience = MON_REGISTRY_SILENT_S * SECOND_NS;
    if (3 * process->poll_gap_ns > patience) {
        patience = 3 * process->poll_gap_ns;
    }
    return now_ns - process->polled_ns > patience;
}

/* ---- delivery ---- */

bool mon_registry_may_reply(struct mon_process *process)
{
    struct node *node = (struct node *)process;
    uint64_t now = process->registry->now_ns();
    uint64_t paid = node->pace_ns > now ? node->pace_ns : now;
    if (paid - now > POLL_BURST * (SECOND_NS / POLL_RATE)) {
        return false;
    }
    node->pace_ns = paid + SECOND_NS / POLL_RATE;
    return true;
}

bool mon_registry_deliverable(const struct mon_process *process, int32_t mask)
{
    return process->pending != NULL && (mask & 2) != 0; /* commands are configurations of activities */
}

static void clear_pending(struct mon_process *process, enum mon_command_stage stage)
{
    free(process->pending);
    process->pending = NULL;
    process->pending_b = 0;
    process->stage = stage;
    process->registry->generation++;
}

void mon_registry_delivered(struct mon_process *process)
{
    uint64_t now = process->registry->now_ns();
    if (process->command == MON_REQUEST_NPU_MONITOR) {
        /* A running monitor keeps its duration. */
        bool runs = mon_state_monitor(process, now) == MON_STATE_RUNNING;
        process->duration_ns =
            runs ? process->duration_ns : mon_state_duration_ns(process->pending, process->pending_b);
    }
    clear_pending(process, MON_COMMAND_DELIVERED);
    process->delivered_ns = now;
}

/* A number unique to this command: from host, pid, time and a counter. */
static uint64_t new_trace_id(struct mon_registry *registry, int32_t pid)
{
    uint64_t hash = ms_clock_ns(CLOCK_REALTIME);
    for (const char *c = registry->host; *c != '\0'; c++) {
        hash = ms_hash_u64(hash ^ (unsigned char)*c);
    }
    return ms_hash_u64(hash ^ (uint64_t)(uint32_t)pid << 32 ^ ++registry->next_trace);
}

int mon_registry_queue_command(struct mon_process *process, enum mon_request_kind kind, const char *config,
                               size_t config_b)
{
    struct mon_registry *registry = process->registry;
    uint64_t id = new_trace_id(registry, process->pid);
    size_t room = config_b + 64;
    char *text = malloc(room);
    if (text == NULL) {
        return -ENOMEM;
    }
    /* The format of both original daemons, without their indentation, which all parsers trim. */
    text[0] = '\n';
    memcpy(text + 1, config, config_b);
    int tail = snprintf(text + 1 + config_b, room - 1 - config_b, "\nREQUEST_TRACE_ID=%llu\n", (unsigned long long)id);
    process->pending = text;
    process->pending_b = 1 + config_b + (size_t)tail;
    process->stage = MON_COMMAND_PENDING;
    process->command = kind;
    process->trace_id = id;
    process->commanded_ns = ((struct node *)process)->job->active_ns = registry->now_ns();
    registry->generation++;
    return 0;
}

void mon_registry_withdraw_command(struct mon_process *process)
{
    clear_pending(process, MON_COMMAND_CANCELLED);
}

void mon_registry_commands_changed(struct mon_registry *registry)
{
    if (registry->changed != NULL) {
        registry->changed(registry->changed_argument);
    }
}

/* ---- leaving ---- */

int mon_registry_watch_fd(const struct mon_registry *registry)
{
    return registry->epoll_fd;
}

void mon_registry_remove_ended(struct mon_registry *registry)
{
    struct epoll_event ended[64];
    int n = epoll_wait(registry->epoll_fd, ended, MS_COUNT_OF(ended), 0);
    for (int i = 0; i < n; i++) {
        struct node *node = ended[i].data.ptr;
        MON_LOG_INFO("process (%d) of job %lld has ended%s", node->process.pid, (long long)node->process.job,
                     node->process.pending != NULL ? " before fetching its command" : "");
        remove_node(registry, node);
    }
}

void mon_registry_expire(struct mon_registry *registry)
{
    uint64_t now = registry->now_ns();
    struct mon_process *next;
    for (struct mon_process *p = mon_registry_first(registry); p != NULL; p = next) {
        next = mon_registry_next(registry, p);
        struct node *node = (struct node *)p;
        uint64_t patience = (node->pidfd >= 0 ? SILENT_ALIVE_S : MON_REGISTRY_SILENT_S) * SECOND_NS;
        if (now - p->heard_ns > patience && (!p->polls || mon_registry_silent(p, now))) {
            MON_LOG_INFO("process (%d) of job %lld expired after %llu s of silence", p->pid, (long long)p->job,
                         (unsigned long long)((now - p->heard_ns) / SECOND_NS));
            remove_node(registry, node);
        }
    }
}
