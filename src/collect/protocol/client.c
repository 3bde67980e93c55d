/* SPDX-License-Identifier: Apache-2.0 */
/* Requests from API calls: one connection each, and the caller waits for the reply. Runs in the target, for callers
 * that accept a delay; hooks use it only for --watch, which waits for the device anyway. */
#include "collect/protocol/session.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define SILENCE_MS 10000
#define FILE_MS    1000

static int send_request(int fd, enum ms_request_kind kind, uint64_t value, const char *text, size_t text_b)
{
    struct ms_request request = {
        .head = ms_message_head(MS_MESSAGE_REQUEST, sizeof(request) + text_b, 0),
        .kind = kind,
        .pid = (uint32_t)getpid(),
        .value = value,
        .text_b = (uint32_t)text_b,
    };
    struct iovec parts[2] = {{&request, sizeof(request)}, {(void *)(uintptr_t)text, text_b}};
    struct msghdr header = {.msg_iov = parts, .msg_iovlen = 2};
    return sendmsg(fd, &header, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Receives a packet and its descriptor; *file is -1 if it carries none. */
static ssize_t receive_packet(int fd, void *out, size_t out_b, int *file)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {out, out_b};
    struct msghdr header = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    ssize_t n = recvmsg(fd, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    const struct cmsghdr *head = n > 0 ? CMSG_FIRSTHDR(&header) : NULL;
    if (head != NULL && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
        head->cmsg_len == CMSG_LEN(sizeof(int))) {
        if (*file >= 0) {
            close(*file);
        }
        memcpy(file, CMSG_DATA(head), sizeof(int));
    }
    return n;
}

/* One packet, or -EPIPE at the end, -ETIMEDOUT after silence_ms without any. */
static ssize_t receive(int fd, void *out, size_t out_b, uint64_t silence_ms, int *file)
{
    uint64_t deadline_ns = ms_clock_raw_ns() + silence_ms * 1000000ull;
    for (;;) {
        uint64_t now_ns = ms_clock_raw_ns();
        struct pollfd wait = {fd, POLLIN, 0};
        int n = now_ns < deadline_ns ? poll(&wait, 1, (int)((deadline_ns - now_ns) / 1000000 + 1)) : 0;
        if (n == 0) {
            return -ETIMEDOUT;
        }
        ssize_t got = n > 0 ? receive_packet(fd, out, out_b, file) : -1;
        if (got > 0) {
            return got;
        }
        if (got == 0) {
            return -EPIPE;
        }
        if (errno != EINTR && errno != EAGAIN) {
            return errno == ECONNRESET ? -EPIPE : -errno;
        }
    }
}

static int request(const struct ms_session *session, enum ms_request_kind kind, uint64_t value, const char *text,
                   uint64_t silence_ms, char *reply_text, size_t reply_text_b, int *file)
{
    size_t text_b = text != NULL ? strlen(text) : 0;
    if (text_b > MS_REQUEST_TEXT_B) {
        return -E2BIG;
    }
    int fd = ms_session_connect(session);
    if (fd < 0) {
        return fd;
    }
    int rc = send_request(fd, kind, value, text, text_b);
    union {
        struct ms_reply reply;
        char bytes[sizeof(struct ms_reply) + MS_REQUEST_TEXT_B];
    } answer;
    bool answered = false;
    while (rc == 0) {
        ssize_t n = receive(fd, &answer, sizeof(answer), silence_ms, file);
        if (n < 0) {
            rc = (int)n;
        } else if (ms_message_check(&answer, (size_t)n) != MS_MESSAGE_REPLY) {
            rc = -EPROTO;
        } else if (answer.reply.status != EINPROGRESS) {
            answered = answer.reply.status <= 0;
            rc = answered ? answer.reply.status : -EPROTO;
            break;
        }
    }
    if (reply_text_b > 0 && reply_text != NULL) {
        size_t length = answered ? answer.reply.text_b : 0;
        length = length < reply_text_b ? length : reply_text_b - 1;
        memcpy(reply_text, answer.bytes + sizeof(struct ms_reply), length);
        reply_text[length] = '\0';
    }
    close(fd);
    return rc;
}

int ms_session_request(const struct ms_session *session, enum ms_request_kind kind, uint64_t value, const char *text,
                       char *reply_text, size_t reply_text_b)
{
    int file = -1;
    int rc = request(session, kind, value, text, SILENCE_MS, reply_text, reply_text_b, &file);
    if (file >= 0) {
        close(file); /* not requested */
    }
    return rc;
}

int ms_session_request_file(const struct ms_session *session, uint32_t device, const char *name)
{
    int file = -1;
    int rc = request(session, MS_REQUEST_WATCH, device, name, FILE_MS, NULL, 0, &file);
    if (rc == 0) {
        return file >= 0 ? file : -EPROTO;
    }
    if (file >= 0) {
        close(file);
    }
    return rc;
}
