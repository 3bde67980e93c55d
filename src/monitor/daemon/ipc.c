/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the fabric. Each datagram is received with the sender's credentials, checked, and handled at once. The
 * reply, if any, is sent from the socket that received the datagram, because clients check its address (libkineto
 * terminates the training process if it is wrong).
 *
 * No sender can delay others: datagrams are read in batches with a limit, sending never blocks, excessive polls are not
 * answered, and an invalid message costs a counter and at most a few log lines. The registry drops a pending command
 * only after the kernel has accepted the reply. Used only by the event loop thread. */
#include "monitor/daemon/ipc.h"

#include "base/clock.h"
#include "base/map.h"
#include "monitor/daemon/endpoints.h"
#include "monitor/daemon/persist.h"
#include "monitor/daemon/registry_internal.h"
#include "monitor/store/series.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND_NS 1000000000ull

enum {
    BATCH = 16,   /* datagrams per system call */
    BUDGET = 256, /* per loop iteration and endpoint, so that other events get their turn */
    RENEW_BUDGET = 4096,
    SENDERS = 1024,     /* slots in the table of senders; a power of two */
    CONTROL_RATE = 500, /* messages per second and sender; MindSpore polls up to 100 times */
    DATA_RATE = 5000,   /* reports of many kinds and devices arrive together */
    BURST_S = 2,        /* allowed burst, in seconds at the full rate */
    EXPIRE_S = 10,      /* how often silent processes are expired */
    SAVE_DELAY_MS = 50,
    ALLOWED_MAX = 256,
};

/* Reasons for refusal detected here: X(id, text). */
#define IPC_FAULTS(X)                                                                                                  \
    X(CREDENTIALS, "no credentials")                                                                                   \
    X(USER, "user is not allowed")                                                                                     \
    X(FAST, "sender exceeds the rate limit")                                                                           \
    X(NAMELESS, "sender has no address to reply to")                                                                   \
    X(ENDPOINT, "wrong type for a data endpoint")                                                                      \
    X(NO_HANDLER, "no handler for this type")                                                                          \
    X(CONTENT, "malformed content")

#define X(id, text) static const char FAULT_##id[] = text;
IPC_FAULTS(X)
#undef X

/* Rate of a sender, and the process it belongs to. After a hash collision both are determined again. */
struct sender_slot {
    int32_t pid;
    uint64_t paid_ns[2]; /* control, data: time until which the messages are paid for */
    uint64_t generation; /* of the registry when process was looked up */
    struct mon_process *process;
};

static struct {
    struct mon_daemon *daemon;
    struct mon_endpoint *endpoints;
    struct event *ended, *expire, *save;
    mon_ipc_data_handler *data_handlers[MON_FABRIC_TYPE_COUNT];
    struct sender_slot senders[SENDERS];
    bool serve_all;
    uid_t allowed[ALLOWED_MAX];
    size_t allowed_count;
    char state_file[PATH_MAX];
    uint64_t saved_generation;
    bool save_scheduled;
} ipc;

void mon_ipc_set_data_handler(enum mon_fabric_type type, mon_ipc_data_handler *handler)
{
    ipc.data_handlers[type] = handler;
}

/* One received datagram. */
struct arrival {
    struct mon_endpoint *endpoint;
    struct mon_peer peer;
    const struct sockaddr_un *from;
    socklen_t from_b;
};

static void refuse(const struct arrival *arrival, const char *reason)
{
    char from[120];
    mon_metric_record(MON_METRIC_IPC_REFUSED, MON_LABELS(.reason = reason), 1);
    mon_fabric_address_text(arrival->from, arrival->from_b, from, sizeof(from));
    MON_LOG_LIMITED(MON_LEVEL_WARNING, "%s: message from pid %d, user %d (%s) refused: %s%s", arrival->endpoint->text,
                    arrival->peer.pid, (int)arrival->peer.uid, from, reason,
                    reason == FAULT_USER ? " (--ipc_allow_users)" : "");
}

/* ---- replies ---- */

static int reply(const struct arrival *arrival, enum mon_fabric_type type, const char *label, const void *payload,
                 size_t payload_b)
{
    static char datagram[MON_FABRIC_HEAD_B + MON_REGISTRY_CONFIG_B + 128];
    mon_fabric_head(datagram, type, payload_b);
    if (payload_b > 0) {
        memcpy(datagram + MON_FABRIC_HEAD_B, payload, payload_b);
    }
    int result =
        mon_endpoint_send(arrival->endpoint, arrival->from, arrival->from_b, datagram, MON_FABRIC_HEAD_B + payload_b);
    if (result == 0) {
        mon_metric_record(MON_METRIC_IPC_REPLIES, MON_LABELS(.kind = label), 1);
        return 0;
    }
    const char *reason = result == -EAGAIN                              ? "queue full"
                         : result == -ECONNREFUSED || result == -ENOENT ? "receiver has ended"
                                                                        : "other";
    mon_metric_record(MON_METRIC_IPC_REPLY_FAILURES, MON_LABELS(.reason = reason), 1);
    MON_LOG_LIMITED(MON_LEVEL_WARNING, "%s: cannot reply to pid %d: %s", arrival->endpoint->text, arrival->peer.pid,
                    strerror(-result));
    return result;
}

/* ---- control messages ---- */

static struct mon_process *enter_sender(const struct arrival *arrival, int64_t job, int32_t pid)
{
    enum mon_registry_fault fault;
    struct mon_process *process = mon_registry_enter(ipc.daemon->registry, job, pid, &arrival->peer, &fault);
    if (process == NULL) {
        refuse(arrival, mon_registry_fault_text(fault));
    }
    return process;
}

static bool can_answer(const struct arrival *arrival)
{
    if (arrival->endpoint->data) {
        refuse(arrival, FAULT_ENDPOINT);
        return false;
    }
    if (arrival->from_b <= offsetof(struct sockaddr_un, sun_path)) {
        refuse(arrival, FAULT_NAMELESS);
        return false;
    }
    return true;
}

static void on_context(const struct arrival *arrival, const struct mon_fabric_message *message)
{
    const struct mon_fabric_context *context = &message->context;
    bool npu = arrival->endpoint->form == MON_ENDPOINT_HOME;
    struct mon_process *process = can_answer(arrival) ? enter_sender(arrival, context->job, context->pid) : NULL;
    if (process == NULL) {
        return;
    }
    int32_t instances = (int32_t)mon_registry_context(process, context->index, npu);
    /* NPU clients do not read this reply: they would take it for the reply to their first poll, and be one reply behind
     * from then on. */
    if (!npu) {
        reply(arrival, MON_FABRIC_CONTEXT, "ctxt", &instances, sizeof(instances));
    }
}

static void on_request(const struct arrival *arrival, const struct mon_fabric_message *message)
{
    const struct mon_fabric_request *request = &message->request;
    struct mon_process *process = can_answer(arrival) ? enter_sender(arrival, request->job, request->pids[0]) : NULL;
    if (process == NULL) {
        return;
    }
    mon_registry_poll(process, request, arrival->endpoint->form == MON_ENDPOINT_HOME);
    if (!mon_registry_deliverable(process, request->mask)) {
        if (mon_registry_may_reply(process)) {
            reply(arrival, MON_FABRIC_REQUEST, "empty", NULL, 0);
        } else {
            mon_metric_record(MON_METRIC_IPC_REPLY_FAILURES, MON_LABELS(.reason = "paced"), 1);
        }
        return;
    }
    if (reply(arrival, MON_FABRIC_REQUEST, "command", process->pending, process->pending_b) == 0) {
        mon_registry_delivered(process);
        MON_LOG_INFO("command %llu delivered to process (%d) of job %lld", (unsigned long long)process->trace_id,
                     process->pid, (long long)process->job);
    }
}

static void on_status(const struct arrival *arrival, const struct mon_fabric_message *message)
{
    struct mon_process *process = enter_sender(arrival, message->status.job, message->status.pid);
    if (process != NULL) {
        mon_registry_report(process, message->type, &message->status);
    }
}

/* ---- data messages ---- */

static struct sender_slot *sender_slot(int32_t pid)
{
    struct sender_slot *slot = &ipc.senders[ms_hash_u64((uint32_t)pid) & (SENDERS - 1)];
    if (slot->pid != pid) {
        *slot = (struct sender_slot){.pid = pid, .generation = UINT64_MAX};
    }
    return slot;
}

static void on_data(const struct arrival *arrival, const struct mon_fabric_message *message)
{
    const struct mon_registry *registry = ipc.daemon->registry;
    mon_ipc_data_handler *handler = ipc.data_handlers[message->type];
    if (handler == NULL) {
        refuse(arrival, FAULT_NO_HANDLER);
        return;
    }
    struct sender_slot *slot = sender_slot(arrival->peer.pid);
    if (slot->generation != mon_registry_generation(registry)) {
        slot->process = arrival->peer.pid > 0 ? mon_registry_find(registry, arrival->peer.pid) : NULL;
        slot->generation = mon_registry_generation(registry);
    }
    struct mon_ipc_sender sender = {arrival->peer.pid, arrival->peer.uid, slot->process};
    if (handler(ipc.daemon, &sender, message->payload, message->payload_b) != 0) {
        refuse(arrival, FAULT_CONTENT);
    }
}

/* The handler of each type. */
static void (*const handlers[MON_FABRIC_TYPE_COUNT])(const struct arrival *, const struct mon_fabric_message *) = {
    [MON_FABRIC_CONTEXT] = on_context,       [MON_FABRIC_REQUEST] = on_request, [MON_FABRIC_TRACE_STATUS] = on_status,
    [MON_FABRIC_MONITOR_STATUS] = on_status, [MON_FABRIC_DATA] = on_data,       [MON_FABRIC_OPSTATS] = on_data,
};

/* ---- receiving ---- */

static bool allowed(uid_t uid)
{
    if (ipc.serve_all || uid == 0) {
        return true;
    }
    for (size_t i = 0; i < ipc.allowed_count; i++) {
        if (ipc.allowed[i] == uid) {
            return true;
        }
    }
    return false;
}

/* Token bucket: each message costs 1 / rate seconds; up to BURST_S seconds may be used in advance. */
static bool too_fast(const struct arrival *arrival)
{
    bool data = arrival->endpoint->data;
    uint64_t cost = SECOND_NS / (data ? DATA_RATE : CONTROL_RATE), now = ms_clock_ns(CLOCK_MONOTONIC);
    uint64_t *paid = &sender_slot(arrival->peer.pid)->paid_ns[data];
    if (*paid < now) {
        *paid = now;
    }
    if (arrival->peer.pid != 0 && *paid - now > BURST_S * SECOND_NS) {
        return true;
    }
    *paid += cost;
    return false;
}

static void handle(const struct arrival *arrival, const char *datagram, size_t length_b, bool cut)
{
    struct mon_fabric_message message;
    if (too_fast(arrival)) {
        refuse(arrival, FAULT_FAST);
        return;
    }
    if (!allowed(arrival->peer.uid)) {
        refuse(arrival, FAULT_USER);
        return;
    }
    enum mon_fabric_fault fault = cut ? MON_FABRIC_FAULT_OVERSIZED : mon_fabric_parse(datagram, length_b, &message);
    if (fault != MON_FABRIC_FAULT_NONE) {
        refuse(arrival, mon_fabric_fault_text(fault));
        return;
    }
    mon_metric_record(MON_METRIC_IPC_MESSAGES, MON_LABELS(.kind = mon_fabric_type_name(message.type)), 1);
    handlers[message.type](arrival, &message);
}

static bool credentials(struct msghdr *header, struct mon_peer *peer)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c != NULL; c = CMSG_NXTHDR(header, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS &&
            c->cmsg_len >= CMSG_LEN(sizeof(struct ucred))) {
            struct ucred ucred;
            memcpy(&ucred, CMSG_DATA(c), sizeof(ucred));
            peer->pid = ucred.pid;
            peer->uid = ucred.uid;
            return true;
        }
    }
    return false;
}

static uint64_t address_hash(const struct sockaddr_un *address, socklen_t length_b)
{
    uint64_t hash = length_b;
    for (size_t i = 0; i + offsetof(struct sockaddr_un, sun_path) < length_b && i < sizeof(address->sun_path); i++) {
        hash = (hash ^ (unsigned char)address->sun_path[i]) * 0x100000001b3ull;
    }
    return ms_hash_u64(hash);
}

static void save(void *unused)
{
    ipc.saved_generation = mon_registry_generation(ipc.daemon->registry);
    if (ipc.state_file[0] != '\0') {
        int result = mon_persist_save(ipc.daemon->registry, ipc.state_file);
        if (result != 0) {
            MON_LOG_LIMITED(MON_LEVEL_WARNING,
                            "state file %s: %s; pending commands would not survive a restart (--state_file)",
                            ipc.state_file, strerror(-result));
        }
    }
}

static void count_processes(void)
{
    uint64_t mark = mon_metrics_mark();
    for (const struct mon_job *job = mon_registry_jobs(ipc.daemon->registry); job != NULL; job = job->next) {
        char id[24];
        snprintf(id, sizeof(id), "%lld", (long long)job->id);
        mon_metric_record(MON_METRIC_PROCESSES, MON_LABELS(.job = id), (double)job->count);
    }
    mon_metrics_sweep(MON_METRIC_PROCESSES, mark);
}

/* Called after anything that may have changed the registry: schedules one save for all changes in the next moments. */
static void changed(void)
{
    if (!ipc.save_scheduled && mon_registry_generation(ipc.daemon->registry) != ipc.saved_generation) {
        const struct timeval delay = {0, SAVE_DELAY_MS * 1000};
        ipc.save_scheduled = event_add(ipc.save, &delay) == 0;
    }
}

/* Reads and handles one batch; returns the number of datagrams, or -1. */
static int read_batch(struct mon_endpoint *endpoint)
{
    static char datagrams[BATCH][MON_FABRIC_DATAGRAM_B];
    static struct sockaddr_un from[BATCH];
    static union {
        char space[CMSG_SPACE(sizeof(struct ucred))]; /* passed descriptors do not fit: closed */
        struct cmsghdr align;
    } control[BATCH];
    struct mmsghdr headers[BATCH];
    struct iovec vectors[BATCH];
    for (int i = 0; i < BATCH; i++) {
        vectors[i] = (struct iovec){datagrams[i], sizeof(datagrams[i])};
        headers[i].msg_hdr = (struct msghdr){.msg_name = &from[i],
                                             .msg_namelen = sizeof(from[i]),
                                             .msg_iov = &vectors[i],
                                             .msg_iovlen = 1,
                                             .msg_control = control[i].space,
                                             .msg_controllen = sizeof(control[i].space)};
    }
    int n = recvmmsg(endpoint->fd, headers, BATCH, MSG_DONTWAIT, NULL);
    for (int i = 0; i < n; i++) {
        struct msghdr *header = &headers[i].msg_hdr;
        struct arrival arrival = {
            endpoint, {0, 0, address_hash(&from[i], header->msg_namelen)}, &from[i], header->msg_namelen};
        if (!credentials(header, &arrival.peer)) {
            refuse(&arrival, FAULT_CREDENTIALS);
        } else {
            handle(&arrival, datagrams[i], headers[i].msg_len, (header->msg_flags & MSG_TRUNC) != 0);
        }
    }
    return n;
}

/* Closing a socket loses its queued datagrams: drain it, then replace it quickly. */
static void renew(struct mon_endpoint *endpoint)
{
    for (unsigned done = 0; done < RENEW_BUDGET && read_batch(endpoint) > 0; done += BATCH) {
    }
    if (mon_endpoint_renew(ipc.daemon, endpoint) != 0) {
        ipc.daemon->exit_code = EXIT_FAILURE; /* an unreachable daemon should be restarted */
        mon_daemon_stop(ipc.daemon);
    }
}

static void on_readable(evutil_socket_t fd, short what, void *argument)
{
    struct mon_endpoint *endpoint = argument;
    int n = BATCH;
    for (unsigned done = 0; n == BATCH && done < BUDGET; done += BATCH) {
        n = read_batch(endpoint);
    }
    if (mon_endpoint_clogged(endpoint)) {
        renew(endpoint);
    }
    changed();
}

/* ---- timers ---- */

static void on_ended(evutil_socket_t fd, short what, void *unused)
{
    mon_registry_remove_ended(ipc.daemon->registry);
    changed();
}

static void on_expire(evutil_socket_t fd, short what, void *unused)
{
    mon_registry_expire(ipc.daemon->registry);
    changed();
}

static void on_save(evutil_socket_t fd, short what, void *unused)
{
    ipc.save_scheduled = false;
    count_processes();
    save(NULL);
}

/* ---- start and stop ---- */

static int add_allowed(const char *name)
{
    char *end;
    unsigned long number = strtoul(name, &end, 10);
    const struct passwd *user = getpwnam(name);
    if (user == NULL && (*end != '\0' || end == name)) {
        MON_LOG_ERROR("unknown user '%s' (--ipc_allow_users)", name);
        return -EINVAL;
    }
    if (ipc.allowed_count == ALLOWED_MAX) {
        MON_LOG_ERROR("more than %d users (--ipc_allow_users)", ALLOWED_MAX);
        return -EINVAL;
    }
    ipc.allowed[ipc.allowed_count++] = user != NULL ? user->pw_uid : (uid_t)number;
    return 0;
}

static int read_allowed(const char *flag)
{
    ipc.allowed_count = 0;
    ipc.serve_all = strcmp(flag, "any") == 0 || (strcmp(flag, "auto") == 0 && geteuid() == 0);
    if (ipc.serve_all) {
        return 0;
    }
    ipc.allowed[ipc.allowed_count++] = geteuid();
    if (strcmp(flag, "auto") == 0 || strcmp(flag, "own") == 0) {
        return 0;
    }
    char *list = strdup(flag), *rest = list;
    int result = list == NULL ? -ENOMEM : 0;
    for (char *name; result == 0 && (name = strsep(&rest, ",")) != NULL;) {
        result = *name != '\0' ? add_allowed(name) : 0;
    }
    free(list);
    return result;
}

/* The state file: in the directory of the service manager, else in one that is emptied when the machine restarts. */
static void choose_state_file(const struct mon_flags *flags, char *out, size_t out_b)
{
    if (strcmp(flags->state_file, "auto") != 0) {
        snprintf(out, out_b, "%s", flags->state_file);
        return;
    }
    const char *directory = getenv("RUNTIME_DIRECTORY");
    directory = directory != NULL ? directory : getenv("STATE_DIRECTORY");
    directory = directory != NULL ? directory : geteuid() == 0 ? "/run" : getenv("XDG_RUNTIME_DIR");
    if (directory == NULL) {
        const struct passwd *user = getpwuid(geteuid());
        directory = user != NULL ? user->pw_dir : "/";
    }
    const char *name = flags->ipc_name[0] != '\0' ? flags->ipc_name : "dynolog";
    snprintf(out, out_b, "%s/%s%s.state", directory, strncmp(directory, "/run", 4) == 0 ? "" : ".", name);
}

static void restore(void)
{
    choose_state_file(&ipc.daemon->flags, ipc.state_file, sizeof(ipc.state_file));
    if (ipc.state_file[0] == '\0') {
        return;
    }
    int restored = mon_persist_load(ipc.daemon->registry, ipc.state_file);
    if (restored > 0) {
        MON_LOG_INFO("restored %d processes of the previous daemon from %s", restored, ipc.state_file);
    } else if (restored < 0 && restored != -ENOENT) {
        MON_LOG_WARNING("cannot use state file %s: %s", ipc.state_file, strerror(-restored));
    }
}

static void ipc_stop(struct mon_daemon *daemon)
{
    if (ipc.save != NULL && ipc.saved_generation != mon_registry_generation(daemon->registry)) {
        save(NULL);
    }
    mon_registry_on_command(daemon->registry, NULL, NULL);
    mon_endpoints_close(ipc.endpoints);
    ipc.endpoints = NULL;
    struct event **const events[] = {&ipc.ended, &ipc.expire, &ipc.save};
    for (size_t i = 0; i < MS_COUNT_OF(events); i++) {
        if (*events[i] != NULL) {
            event_free(*events[i]);
            *events[i] = NULL;
        }
    }
    ipc.save_scheduled = false;
}

static int ipc_start(struct mon_daemon *daemon)
{
    const struct timeval period = {EXPIRE_S, 0};
    if (!daemon->flags.enable_ipc_monitor) {
        return 0;
    }
    ipc.daemon = daemon;
    int result = read_allowed(daemon->flags.ipc_allow_users);
    if (result == 0) {
        result = mon_endpoints_open(daemon, on_readable, &ipc.endpoints);
    }
    if (result != 0) {
        return result;
    }
    restore();
    ipc.saved_generation = mon_registry_generation(daemon->registry);
    ipc.ended = event_new(daemon->base, mon_registry_watch_fd(daemon->registry), EV_READ | EV_PERSIST, on_ended, NULL);
    ipc.expire = event_new(daemon->base, -1, EV_PERSIST, on_expire, NULL);
    ipc.save = event_new(daemon->base, -1, 0, on_save, NULL);
    if (ipc.ended == NULL || ipc.expire == NULL || ipc.save == NULL || event_add(ipc.ended, NULL) != 0 ||
        event_add(ipc.expire, &period) != 0) {
        MON_LOG_ERROR("out of memory for timers");
        ipc_stop(daemon);
        return -ENOMEM;
    }
    mon_registry_on_command(daemon->registry, save, NULL);
    return 0;
}

const struct mon_daemon_module mon_module_ipc = {"ipc", ipc_start, ipc_stop, NULL};
