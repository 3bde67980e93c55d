/* SPDX-License-Identifier: Apache-2.0 */
/* See supervisor.h.
 *
 * Invariant: a received registration is put into `processes` before anything else happens to it, and stays there with
 * its memfd until the collector reports DONE. So the collector may die at any time: its successor gets every process
 * that is not DONE, with the directory name given before.
 *
 * The end of the channel means that the collector died. It is restarted once; a second death within one recording means
 * that something about this recording kills it. */
#include "collect/supervise/supervisor.h"

#include "base/clock.h"
#include "collect/supervise/channel.h"
#include "collect/supervise/inbox.h"
#include "collect/supervise/spawn.h"
#include "memscope/options/options.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define READY_MS     20000
#define RESTARTS_MAX 1
#define GOODBYE_MS   3000

enum registered_phase { LIVING, DEAD, DONE };

struct registered {
    enum registered_phase phase;
    int memfd, connection; /* -1: none */
    uint64_t serial;
    char *hello;
    size_t hello_b;
    char name[256]; /* of its directory; empty: not created yet */
};

struct ms_supervisor {
    struct ms_supervisor_options options;
    struct ms_session session;
    struct ms_settings settings;
    char *collector;
    int epoll;
    struct ms_channel channel;
    struct ms_inbox inbox;
    bool inbox_open;
    struct registered *processes;
    size_t count, capacity;
    uint64_t next_serial;
    uint64_t offset_ns; /* REALTIME - MONOTONIC at the start: time in files never steps */
    struct ms_supervisor_state state;
    struct ms_channel_message message; /* scratch */
    struct ms_inbox_message received;  /* scratch */
};

static void forget(struct registered *process)
{
    if (process->memfd >= 0) {
        close(process->memfd);
    }
    if (process->connection >= 0) {
        close(process->connection);
    }
    free(process->hello);
}

static void destroy(struct ms_supervisor *sv)
{
    for (size_t i = 0; i < sv->count; i++) {
        forget(&sv->processes[i]);
    }
    free(sv->processes);
    ms_channel_close(&sv->channel);
    if (sv->inbox_open) {
        ms_inbox_close(&sv->inbox);
    }
    if (sv->epoll >= 0) {
        close(sv->epoll);
    }
    free(sv->collector);
    free(sv);
}

/* ---- messages to the collector ---- */

static void watch_channel(struct ms_supervisor *sv, int operation, int waiting)
{
    struct epoll_event event = {.events = EPOLLIN | (waiting > 0 ? (uint32_t)EPOLLOUT : 0u)};
    epoll_ctl(sv->epoll, operation, sv->channel.fd, &event);
}

static int send_settings(struct ms_supervisor *sv)
{
    size_t n = 0, room = sizeof(sv->message.data);
    char *out = sv->message.data;
    n += ms_session_format(&sv->session, out, room) + 1;
    n += n < room ? ms_options_format(&sv->settings, out + n, room - n) + 1 : 1;
    size_t output_b = strlen(sv->settings.output) + 1;
    if (n + output_b > room) {
        return -E2BIG;
    }
    memcpy(out + n, sv->settings.output, output_b);
    int fds[MS_CHANNEL_FDS] = {sv->options.output};
    for (unsigned i = 0; i < sv->options.listener_count; i++) {
        fds[1 + i] = sv->options.listeners[i];
    }
    uint64_t flags =
        (sv->options.output_is_new ? MS_CH_OUTPUT_IS_NEW : 0u) | (sv->options.print == NULL ? MS_CH_NO_CONSOLE : 0u);
    return ms_channel_send(&sv->channel, MS_CH_SETTINGS, sv->offset_ns, flags, out, n + output_b, fds,
                           1 + sv->options.listener_count);
}

static void send_process(struct ms_supervisor *sv, const struct registered *process)
{
    size_t name_b = strlen(process->name) + 1;
    memcpy(sv->message.data, process->hello, process->hello_b);
    memcpy(sv->message.data + process->hello_b, process->name, name_b);
    int fds[2] = {process->memfd, process->connection};
    ms_channel_send(&sv->channel, MS_CH_PROCESS, process->serial, 0, sv->message.data, process->hello_b + name_b, fds,
                    process->connection >= 0 ? 2 : 1);
}

/* Starts a collector and waits for its first message. */
static int start_collector(struct ms_supervisor *sv, uint32_t *clock_kind, struct ms_why *why)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        return -errno;
    }
    char role[] = "--collect";
    char *argv[] = {sv->collector, role, NULL};
    int rc = ms_spawn_apart(argv, pair[1]);
    close(pair[1]);
    ms_channel_init(&sv->channel, pair[0]);
    if (rc == 0) {
        rc = send_settings(sv);
    }
    uint64_t deadline_ns = ms_clock_raw_ns() + READY_MS * 1000000ull;
    while (rc == 0) {
        int flushed = ms_channel_flush(&sv->channel);
        struct pollfd wait = {pair[0], (short)(POLLIN | (flushed > 0 ? POLLOUT : 0)), 0};
        uint64_t now_ns = ms_clock_raw_ns();
        if (now_ns >= deadline_ns || poll(&wait, 1, (int)((deadline_ns - now_ns) / 1000000 + 1)) == 0) {
            rc = -ETIMEDOUT;
            break;
        }
        int got = ms_channel_receive(&sv->channel, &sv->message);
        if (got < 0) {
            rc = got;
        } else if (got > 0 && sv->message.head.kind == MS_CH_READY) {
            *clock_kind = (uint32_t)sv->message.head.value;
            break;
        } else if (got > 0 && sv->message.head.kind == MS_CH_FAILED) {
            size_t length = sv->message.data_b < MS_WHY_B - 1 ? sv->message.data_b : MS_WHY_B - 1;
            memcpy(why->error, sv->message.data, length);
            why->error[length] = '\0';
            rc = -EIO;
        }
    }
    if (rc != 0) {
        if (why->error[0] == '\0') {
            ms_refuse(why, "cannot start the collector %s: %s.", sv->collector, strerror(-rc));
        }
        ms_channel_close(&sv->channel);
        return rc;
    }
    watch_channel(sv, EPOLL_CTL_ADD, 0);
    return 0;
}

int ms_supervisor_start(const struct ms_supervisor_options *options, struct ms_supervisor **out, uint32_t *clock_kind,
                        struct ms_why *why)
{
    why->error[0] = '\0';
    struct ms_supervisor *sv = calloc(1, sizeof(*sv));
    if (sv == NULL) {
        return -ENOMEM;
    }
    sv->options = *options;
    sv->session = *options->session;
    sv->settings = *options->settings;
    sv->collector = strdup(options->collector);
    sv->offset_ns = ms_clock_ns(CLOCK_REALTIME) - ms_clock_ns(CLOCK_MONOTONIC);
    sv->epoll = epoll_create1(EPOLL_CLOEXEC);
    ms_channel_init(&sv->channel, -1);
    int rc = sv->collector == NULL || sv->epoll < 0 ? -ENOMEM : 0;
    if (rc == 0) {
        rc = ms_inbox_open(&sv->inbox, options->listeners, options->listener_count);
        sv->inbox_open = rc == 0;
    }
    if (rc == 0) {
        struct epoll_event event = {.events = EPOLLIN};
        rc = epoll_ctl(sv->epoll, EPOLL_CTL_ADD, sv->inbox.epoll, &event) != 0 ? -errno : 0;
    }
    if (rc == 0) {
        rc = start_collector(sv, clock_kind, why);
    }
    if (rc != 0) {
        if (why->error[0] == '\0') {
            ms_refuse(why, "cannot start the recorder: %s.", strerror(-rc));
        }
        destroy(sv);
        return rc;
    }
    *out = sv;
    return 0;
}

/* ---- incoming messages ---- */

static struct registered *find(struct ms_supervisor *sv, uint64_t serial)
{
    for (size_t i = sv->count; i-- > 0;) {
        if (sv->processes[i].serial == serial) {
            return &sv->processes[i];
        }
    }
    return NULL;
}

static void set_phase(struct ms_supervisor *sv, struct registered *process, enum registered_phase phase)
{
    if (process == NULL || phase <= process->phase) {
        return;
    }
    sv->state.living -= process->phase == LIVING;
    sv->state.unfinished -= process->phase == DEAD;
    sv->state.unfinished += phase == DEAD;
    process->phase = phase;
    if (phase == DONE) { /* the rest stays in order of registration */
        forget(process);
        size_t i = (size_t)(process - sv->processes);
        memmove(process, process + 1, (--sv->count - i) * sizeof(*process));
    }
}

/* Takes the message's descriptors. */
static void register_process(struct ms_supervisor *sv, struct ms_inbox_message *message)
{
    if (sv->count == sv->capacity) {
        size_t capacity = sv->capacity > 0 ? 2 * sv->capacity : 16;
        struct registered *grown = realloc(sv->processes, capacity * sizeof(*grown));
        if (grown != NULL) {
            sv->processes = grown;
            sv->capacity = capacity;
        }
    }
    char *hello = malloc(message->data_b);
    if (hello == NULL || sv->count == sv->capacity) {
        free(hello);
        close(message->memfd);
        close(message->connection);
        return;
    }
    memcpy(hello, message->data, message->data_b);
    struct registered *process = &sv->processes[sv->count++];
    *process = (struct registered){.memfd = message->memfd,
                                   .connection = message->connection,
                                   .serial = ++sv->next_serial,
                                   .hello = hello,
                                   .hello_b = message->data_b};
    sv->state.living++;
    sv->state.registered++;
    send_process(sv, process);
}

static void take_messages(struct ms_supervisor *sv)
{
    while (sv->inbox_open && ms_inbox_receive(&sv->inbox, &sv->received) > 0) {
        if (sv->received.kind == MS_MESSAGE_HELLO) {
            register_process(sv, &sv->received);
            continue;
        }
        ms_channel_send(&sv->channel, MS_CH_REQUEST, 0, 0, sv->received.data, sv->received.data_b,
                        &sv->received.connection, 1);
        close(sv->received.connection);
    }
}

static void print(struct ms_supervisor *sv, int stream, bool info, const char *text, size_t text_b)
{
    if (sv->options.print != NULL) {
        sv->options.print(stream, info, text, text_b);
    }
}

static void print_line(struct ms_supervisor *sv, const char *text)
{
    print(sv, 2, false, text, strlen(text));
}

static void restart(struct ms_supervisor *sv)
{
    struct ms_why why = {"", ""};
    uint32_t clock_kind;
    ms_channel_close(&sv->channel); /* this also removes it from epoll */
    if (sv->state.restarts == RESTARTS_MAX || start_collector(sv, &clock_kind, &why) != 0) {
        sv->state.lost = true;
        print_line(sv, "[msmemscope] Error: the collector died; recording has ended. "
                       "Run 'msmemscope recover' to complete the files.\n");
        ms_inbox_close(&sv->inbox);
        sv->inbox_open = false;
        return;
    }
    sv->state.restarts++;
    print_line(sv, "[msmemscope] Warn: the collector died and was restarted; nothing was lost.\n");
    for (size_t i = 0; i < sv->count; i++) {
        send_process(sv, &sv->processes[i]);
    }
}

static void take_message(struct ms_supervisor *sv, const struct ms_channel_message *m)
{
    switch (m->head.kind) {
    case MS_CH_NAMED: {
        struct registered *process = find(sv, m->head.serial);
        if (process != NULL && m->data_b < sizeof(process->name)) {
            memcpy(process->name, m->data, m->data_b);
            process->name[m->data_b] = '\0';
        }
        break;
    }
    case MS_CH_DEAD:
        set_phase(sv, find(sv, m->head.serial), DEAD);
        break;
    case MS_CH_DONE:
        set_phase(sv, find(sv, m->head.serial), DONE);
        break;
    case MS_CH_PROGRESS:
        sv->state.progress = m->head.value < 1000 ? (unsigned)m->head.value : 1000;
        break;
    case MS_CH_PRINT:
        print(sv, m->head.value == 2 ? 2 : 1, m->head.value == 3, m->data, m->data_b);
        break;
    default:
        break;
    }
}

void ms_supervisor_turn(struct ms_supervisor *sv)
{
    take_messages(sv);
    for (;;) {
        if (sv->state.lost) {
            return;
        }
        int got = ms_channel_receive(&sv->channel, &sv->message);
        if (got == 0) {
            break;
        }
        if (got < 0) {
            restart(sv);
            continue;
        }
        ms_channel_drop_fds(&sv->message);
        take_message(sv, &sv->message);
    }
    watch_channel(sv, EPOLL_CTL_MOD, ms_channel_flush(&sv->channel));
}

int ms_supervisor_fd(const struct ms_supervisor *sv)
{
    return sv->epoll;
}

struct ms_supervisor_state ms_supervisor_state(const struct ms_supervisor *sv)
{
    return sv->state;
}

bool ms_supervisor_living(const struct ms_supervisor *sv, pid_t pid)
{
    for (size_t i = 0; i < sv->count; i++) {
        struct ms_hello hello;
        memcpy(&hello, sv->processes[i].hello, sizeof(hello)); /* validated on receipt */
        if (hello.pid == (uint32_t)pid && sv->processes[i].phase == LIVING) {
            return true;
        }
    }
    return false;
}

void ms_supervisor_leave(struct ms_supervisor *sv)
{
    ms_channel_send(&sv->channel, MS_CH_LEAVE, 0, 0, NULL, 0, NULL, 0);
    ms_channel_flush(&sv->channel);
    /* With nothing left to record the collector exits at once and cleans up; waiting for that makes what the user finds
     * final. */
    uint64_t deadline_ns = ms_clock_raw_ns() + GOODBYE_MS * 1000000ull;
    while (sv->count == 0 && !sv->state.lost && ms_clock_raw_ns() < deadline_ns) {
        struct pollfd wait = {sv->channel.fd, POLLIN, 0};
        poll(&wait, 1, 100);
        int got = ms_channel_receive(&sv->channel, &sv->message);
        if (got < 0) {
            break;
        }
        if (got > 0) {
            ms_channel_drop_fds(&sv->message);
            take_message(sv, &sv->message);
        }
    }
    destroy(sv);
}
