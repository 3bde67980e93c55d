/* SPDX-License-Identifier: Apache-2.0 */
/* The collector's main thread: the event loop, the channel to the supervisor, and incoming messages. Everything slow is
 * done by other threads. */
#include "collect/collect_main.h"
#include "collect/collector.h"
#include "memscope/options/options.h"

#include "base/clock.h"
#include "base/macros.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#define PRINT_MAX_B 16384

/* ---- printing, and helpers used by all files ---- */

static void print(struct ms_collector *c, int stream, const char *text, size_t text_b)
{
    while (ms_collector_has_console(c) && text_b > 0) {
        size_t part = text_b < PRINT_MAX_B ? text_b : PRINT_MAX_B;
        ms_channel_send(&c->channel, MS_CH_PRINT, 0, (uint64_t)stream, text, part, NULL, 0);
        text += part;
        text_b -= part;
    }
}

void ms_collector_print(struct ms_collector *c, int stream, const char *format, ...)
{
    char text[2 * MS_PATH_MAX_B];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    print(c, stream, text, n < (int)sizeof(text) ? (size_t)n : sizeof(text) - 1);
}

void ms_collector_warn(struct ms_recorded *process, enum ms_log_level level, const char *format, ...)
{
    char text[2 * MS_PATH_MAX_B];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (ms_collector_has_console(process->collector)) {
        ms_collector_print(process->collector, 2, "[msmemscope] %s: %s\n", level == MS_LOG_WARN ? "Warn" : "Error",
                           text);
    } else {
        ms_log_write(&process->log, level, "collector", 0, text);
    }
}

void ms_collector_report_phase(struct ms_collector *c, const struct ms_recorded *process, enum ms_channel_kind kind)
{
    if (c->supervised) {
        ms_channel_send(&c->channel, kind, process->serial, 0, NULL, 0, NULL, 0);
    }
}

void ms_collector_poll_fd(struct ms_collector *c, int fd, uint32_t events, void *what)
{
    struct epoll_event event = {.events = events, .data.ptr = what};
    if (epoll_ctl(c->epoll, EPOLL_CTL_ADD, fd, &event) != 0 && errno == EEXIST) {
        epoll_ctl(c->epoll, EPOLL_CTL_MOD, fd, &event);
    }
}

void ms_collector_close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
}

void ms_collector_print_queued(struct ms_collector *c)
{
    for (struct ms_console_text *entry = ms_console_queue_take(&c->console_queue); entry != NULL;) {
        struct ms_console_text *next = entry->next;
        print(c, entry->stream, entry->text, entry->text_b);
        free(entry);
        entry = next;
    }
}

/* ---- messages ---- */

static void listen_ourselves(struct ms_collector *c)
{
    if (!c->supervised) {
        return;
    }
    c->supervised = false;
    __atomic_store_n(&c->console, 0, __ATOMIC_RELEASE);
    /* Stays open until we exit: a supervisor that leaves may wait for that. */
    epoll_ctl(c->epoll, EPOLL_CTL_DEL, c->channel.fd, NULL);
    if (ms_inbox_open(&c->inbox, c->listeners, c->listener_count) == 0) {
        ms_collector_poll_fd(c, c->inbox.epoll, EPOLLIN, &c->inbox);
    }
}

static void take_messages(struct ms_collector *c)
{
    static struct ms_inbox_message message;
    while (!c->supervised && ms_inbox_receive(&c->inbox, &message) > 0) {
        if (message.kind == MS_MESSAGE_HELLO) {
            ms_collector_add(c, ++c->next_serial, message.data, "", message.memfd, message.connection);
        } else {
            ms_request_take(c, &message.request, message.data + sizeof(message.request), message.connection);
        }
    }
}

static void take_channel_message(struct ms_collector *c, struct ms_channel_message *m)
{
    if (m->head.kind == MS_CH_PROCESS && m->fd_count >= 1) {
        struct ms_hello hello;
        size_t hello_b = 0;
        if (m->data_b >= sizeof(hello)) {
            memcpy(&hello, m->data, sizeof(hello));
            hello_b = hello.head.length_b;
        }
        if (hello_b < m->data_b && ms_message_check(m->data, hello_b) == MS_MESSAGE_HELLO &&
            m->data[m->data_b - 1] == '\0') {
            c->next_serial = m->head.serial > c->next_serial ? m->head.serial : c->next_serial;
            ms_collector_add(c, m->head.serial, m->data, m->data + hello_b, m->fds[0],
                             m->fd_count > 1 ? m->fds[1] : -1);
            m->fds[0] = -1;
            m->fds[1] = -1;
        }
    } else if (m->head.kind == MS_CH_REQUEST && m->fd_count == 1 &&
               ms_message_check(m->data, m->data_b) == MS_MESSAGE_REQUEST) {
        struct ms_request request;
        memcpy(&request, m->data, sizeof(request));
        ms_request_take(c, &request, m->data + sizeof(request), m->fds[0]);
        m->fds[0] = -1;
    } else if (m->head.kind == MS_CH_LEAVE) {
        listen_ourselves(c);
    }
    ms_channel_drop_fds(m);
}

static void take_channel(struct ms_collector *c)
{
    static struct ms_channel_message message;
    while (c->supervised) {
        int got = ms_channel_receive(&c->channel, &message);
        if (got > 0) {
            take_channel_message(c, &message);
        } else if (got == 0) {
            break;
        } else {
            listen_ourselves(c); /* the supervisor died; keep recording */
        }
    }
}

/* Before every sleep: messages that could not be sent immediately are sent once the socket is writable. */
static void flush_channel(struct ms_collector *c)
{
    if (c->supervised) {
        bool waiting = ms_channel_flush(&c->channel) > 0;
        struct epoll_event event = {.events = EPOLLIN | (waiting ? (uint32_t)EPOLLOUT : 0u), .data.ptr = &c->channel};
        epoll_ctl(c->epoll, EPOLL_CTL_MOD, c->channel.fd, &event);
    }
}

/* ---- start and end ---- */

static void read_line(const char *path, char *out, size_t out_b)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, out, out_b - 1) : 0;
    out[n > 0 ? n : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    ms_collector_close_fd(&fd);
}

/* Waits for the first message. */
static int take_settings(struct ms_collector *c, char *why, size_t why_b)
{
    static struct ms_channel_message m;
    int got;
    struct epoll_event event;
    while ((got = ms_channel_receive(&c->channel, &m)) == 0) {
        epoll_wait(c->epoll, &event, 1, -1);
    }
    if (got < 0 || m.head.kind != MS_CH_SETTINGS || m.fd_count < 1 || m.fd_count > 1 + MS_INBOX_LISTENERS) {
        snprintf(why, why_b, "the collector received no settings.");
        return -EPROTO;
    }
    size_t offset = 0;
    const char *session = ms_channel_text(&m, &offset), *options = ms_channel_text(&m, &offset);
    const char *output = ms_channel_text(&m, &offset);
    struct ms_why reason = {"", ""};
    ms_settings_init(&c->settings);
    if (session == NULL || options == NULL || output == NULL || strlen(output) > MS_PATH_MAX_B ||
        ms_session_parse(session, &c->session) != 0 || ms_options_apply_text(&c->settings, options, &reason) != 0) {
        snprintf(why, why_b, "the collector cannot parse its settings. %s", reason.error);
        return -EPROTO;
    }
    snprintf(c->settings.output, sizeof(c->settings.output), "%s", output);
    c->offset_ns = (int64_t)m.head.serial;
    c->output_is_new = (m.head.value & MS_CH_OUTPUT_IS_NEW) != 0;
    c->console = (m.head.value & MS_CH_NO_CONSOLE) == 0;
    c->output = m.fds[0];
    for (unsigned i = 1; i < m.fd_count; i++) {
        c->listeners[c->listener_count++] = m.fds[i];
    }
    return 0;
}

static void clean_up(struct ms_collector *c)
{
    if (c->session.fallback[0] != '\0') {
        unlinkat(c->output, strrchr(c->session.fallback, '/') + 1, 0);
    }
    if (c->output_is_new) {
        rmdir(c->settings.output); /* fails if it is not empty */
    }
}

int ms_collect_main(void)
{
    static struct ms_collector c;
    char why[MS_WHY_B + 64] = "";
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
    fcntl(MS_CHANNEL_FD, F_SETFD, FD_CLOEXEC);
    ms_channel_init(&c.channel, MS_CHANNEL_FD);
    c.supervised = true;
    c.epoll = epoll_create1(EPOLL_CLOEXEC);
    ms_collector_poll_fd(&c, MS_CHANNEL_FD, EPOLLIN, &c.channel);
    int rc = take_settings(&c, why, sizeof(why));
    if (rc == 0) {
        read_line("/proc/sys/kernel/random/boot_id", c.boot_id, sizeof(c.boot_id));
        gethostname(c.host, sizeof(c.host) - 1);
        rc = ms_console_queue_open(&c.console_queue);
    }
    if (rc == 0 && (c.modules = ms_modules_new()) == NULL) {
        rc = -ENOMEM;
    }
    rc = rc == 0 ? ms_sweeper_start(&c.sweeper, &c.console_queue) : rc;
    rc = rc == 0 ? ms_export_threads_start(&c.export_threads, &c.console_queue) : rc;
    if (rc != 0) {
        char text[2 * MS_WHY_B];
        int n = why[0] != '\0' ? snprintf(text, sizeof(text), "[msmemscope] Error: %s", why)
                               : snprintf(text, sizeof(text), "[msmemscope] Error: cannot start the collector: %s.",
                                          strerror(-rc));
        ms_channel_send(&c.channel, MS_CH_FAILED, 0, 0, text, (size_t)n, NULL, 0);
        return 1;
    }
    ms_collector_poll_fd(&c, c.console_queue.wake, EPOLLIN, &c.console_queue);
    ms_channel_send(&c.channel, MS_CH_READY, 0, ms_clock_choose(), NULL, 0, NULL, 0);

    while (c.supervised || c.processes != NULL) {
        struct epoll_event events[64];
        flush_channel(&c);
        epoll_wait(c.epoll, events, MS_COUNT_OF(events), ms_collector_timeout_ms(&c));
        take_channel(&c);
        take_messages(&c);
        ms_collector_turn(&c);
    }
    ms_sweeper_stop(&c.sweeper);
    ms_export_threads_stop(&c.export_threads);
    ms_modules_free(c.modules);
    clean_up(&c);
    return 0;
}
