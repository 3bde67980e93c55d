/* Requests of an API call: one connection each, an answer is waited for. Runs in the target, on behalf of a caller who
 * knows that it may take time; never from a hook. */
#include "session/session.h"

#include "base/clock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define SILENCE_MS 10000

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

/* One packet, or -EPIPE at the end, -ETIMEDOUT after SILENCE_MS without any. */
static ssize_t receive(int fd, void *out, size_t out_b)
{
    uint64_t deadline_ns = ms_clock_raw_ns() + SILENCE_MS * 1000000ull;
    for (;;) {
        uint64_t now_ns = ms_clock_raw_ns();
        struct pollfd wait = {fd, POLLIN, 0};
        int n = now_ns < deadline_ns ? poll(&wait, 1, (int)((deadline_ns - now_ns) / 1000000 + 1)) : 0;
        if (n == 0) {
            return -ETIMEDOUT;
        }
        ssize_t got = n > 0 ? recv(fd, out, out_b, MSG_DONTWAIT) : -1;
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

int ms_session_request(const struct ms_session *session, enum ms_request_kind kind, uint64_t value, const char *text,
                       char *reply_text, size_t reply_text_b)
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
    while (rc == 0) {
        ssize_t n = receive(fd, &answer, sizeof(answer));
        if (n < 0) {
            rc = (int)n;
        } else if (ms_message_check(&answer, (size_t)n) != MS_MESSAGE_REPLY) {
            rc = -EPROTO;
        } else if (answer.reply.status != EINPROGRESS) {
            rc = answer.reply.status > 0 ? -EPROTO : answer.reply.status;
            break;
        }
    }
    if (reply_text_b > 0 && reply_text != NULL) {
        bool answered = rc == answer.reply.status && answer.reply.head.kind == MS_MESSAGE_REPLY;
        size_t length = answered ? answer.reply.text_b : 0;
        length = length < reply_text_b ? length : reply_text_b - 1;
        memcpy(reply_text, answer.bytes + sizeof(struct ms_reply), length);
        reply_text[length] = '\0';
    }
    close(fd);
    return rc;
}
