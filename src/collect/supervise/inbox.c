/* SPDX-License-Identifier: Apache-2.0 */
/* See inbox.h. */
#include "collect/supervise/inbox.h"

#include "base/clock.h"
#include "collect/protocol/session.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define SILENCE_NS 10000000000ull

int ms_inbox_open(struct ms_inbox *inbox, const int *listeners, unsigned count)
{
    memset(inbox, 0, sizeof(*inbox));
    inbox->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (inbox->epoll < 0) {
        return -errno;
    }
    inbox->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (unsigned i = 0; i < count && i < MS_INBOX_LISTENERS; i++) {
        struct epoll_event event = {.events = EPOLLIN};
        if (epoll_ctl(inbox->epoll, EPOLL_CTL_ADD, listeners[i], &event) != 0) {
            int rc = -errno;
            ms_inbox_close(inbox);
            return rc;
        }
        inbox->listeners[inbox->listener_count++] = listeners[i];
    }
    return 0;
}

void ms_inbox_close(struct ms_inbox *inbox)
{
    for (unsigned i = 0; i < inbox->waiting_count; i++) {
        close(inbox->waiting[i].fd);
    }
    close(inbox->epoll);
    close(inbox->spare);
    inbox->waiting_count = 0;
}

/* 1: a valid message from an authorized sender; 0: nothing yet; -1: drop the connection. */
static int read_message(int fd, struct ms_inbox_message *out)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(4 * sizeof(int))];
    } control;
    struct iovec part = {out->data, sizeof(out->data)};
    struct msghdr header = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    ssize_t n;
    do {
        n = recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN) {
        return 0;
    }
    int fds[4], count = 0;
    for (struct cmsghdr *c = n >= 0 ? CMSG_FIRSTHDR(&header) : NULL; c != NULL; c = CMSG_NXTHDR(&header, c)) {
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
            count = (int)((c->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            memcpy(fds, CMSG_DATA(c), (size_t)count * sizeof(int));
        }
    }
    out->data_b = n > 0 ? (size_t)n : 0;
    out->kind = ms_message_check(out->data, out->data_b);
    out->connection = fd;
    out->memfd = -1;
    uid_t self = geteuid();
    bool good = (out->kind == MS_MESSAGE_HELLO && count == 1) || (out->kind == MS_MESSAGE_REQUEST && count == 0);
    good = good && (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
    good = good && ms_session_peer(fd, &out->uid, &out->pid) == 0 && (out->uid == self || self == 0);
    if (!good) {
        for (int i = 0; i < count; i++) {
            close(fds[i]);
        }
        return -1;
    }
    out->memfd = count == 1 ? fds[0] : -1;
    return 1;
}

static void forget_waiting(struct ms_inbox *inbox, unsigned i, bool drop)
{
    epoll_ctl(inbox->epoll, EPOLL_CTL_DEL, inbox->waiting[i].fd, NULL);
    if (drop) {
        close(inbox->waiting[i].fd);
        inbox->refused++;
    }
    memmove(&inbox->waiting[i], &inbox->waiting[i + 1], (--inbox->waiting_count - i) * sizeof(inbox->waiting[0]));
}

static void keep_waiting(struct ms_inbox *inbox, int fd, uint64_t now_ns)
{
    struct epoll_event event = {.events = EPOLLIN};
    if (epoll_ctl(inbox->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        close(fd);
        inbox->refused++;
        return;
    }
    inbox->waiting[inbox->waiting_count].fd = fd;
    inbox->waiting[inbox->waiting_count++].since_ns = now_ns;
}

/* Out of descriptors: closes the spare one to accept and drop a connection, which would otherwise stay in the queue and
 * keep us busy. */
static bool drop_next(struct ms_inbox *inbox, int listener)
{
    close(inbox->spare);
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0) {
        close(fd);
        inbox->refused++;
    }
    inbox->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return fd >= 0;
}

static void accept_all(struct ms_inbox *inbox, int listener, uint64_t now_ns)
{
    while (inbox->waiting_count < MS_INBOX_WAITING) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            keep_waiting(inbox, fd, now_ns);
        } else if (errno != EINTR && errno != ECONNABORTED &&
                   !((errno == EMFILE || errno == ENFILE) && drop_next(inbox, listener))) {
            break;
        }
    }
}

/* When the table is full, the oldest silent connection is dropped. */
static bool too_many(const struct ms_inbox *inbox, unsigned i)
{
    return i == 0 && inbox->waiting_count == MS_INBOX_WAITING;
}

/* Connections are read in the order of arrival, after all have been accepted: a client's earlier message is received
 * before one that it sent on a later connection. */
int ms_inbox_receive(struct ms_inbox *inbox, struct ms_inbox_message *out)
{
    uint64_t now_ns = ms_clock_raw_ns();
    for (unsigned i = 0; i < inbox->listener_count; i++) {
        accept_all(inbox, inbox->listeners[i], now_ns);
    }
    for (unsigned i = 0; i < inbox->waiting_count;) {
        int rc = read_message(inbox->waiting[i].fd, out);
        bool silent = rc == 0 && (now_ns - inbox->waiting[i].since_ns > SILENCE_NS || too_many(inbox, i));
        if (rc == 0 && !silent) {
            i++;
            continue;
        }
        forget_waiting(inbox, i, rc <= 0);
        if (rc > 0) {
            return 1;
        }
    }
    return 0;
}
