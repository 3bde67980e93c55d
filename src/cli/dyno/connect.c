/* SPDX-License-Identifier: Apache-2.0 */
/* Client side of the RPC, see connect.h. Calls block; each thread has its own connection. The sockets are non-blocking,
 * so that every wait ends at the deadline. Works with daemons that close the connection after an answer and with ours,
 * which does not. */
#include "cli/dyno/connect.h"

#include "base/clock.h"
#include "monitor/wire/frame.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/err.h>

#define READ_B 65536

struct dyno_connection {
    int fd;
    SSL *ssl;
    uint64_t deadline_ns;
    bool used; /* an answer has arrived */
};

static uint64_t now_ns(void)
{
    return ms_clock_ns(CLOCK_MONOTONIC);
}

static int wait_for(const struct dyno_connection *c, short events)
{
    struct pollfd poller = {.fd = c->fd, .events = events};
    for (;;) {
        uint64_t now = now_ns();
        int left_ms = now < c->deadline_ns ? (int)((c->deadline_ns - now) / 1000000) + 1 : 0;
        int n = left_ms > 0 ? poll(&poller, 1, left_ms) : 0;
        if (n > 0) {
            return 0;
        }
        if (n == 0) {
            return -ETIMEDOUT;
        }
        if (errno != EINTR) {
            return -errno;
        }
    }
}

/* Handles a TLS call that did not succeed: waits and returns 0 if it must be repeated, otherwise returns the error. */
static int tls_again(struct dyno_connection *c, int result, char *why)
{
    int kind = SSL_get_error(c->ssl, result);
    if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) {
        int rc = wait_for(c, kind == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT);
        if (rc != 0) {
            snprintf(why, MON_TLS_WHY_B, "%s", strerror(-rc));
        }
        return rc;
    }
    unsigned long code = ERR_peek_error();
    int rc = -EPROTO;
    /* An alert about our certificate, or end of stream instead of the first answer. */
    if (ERR_GET_LIB(code) == ERR_LIB_SSL && ERR_GET_REASON(code) >= SSL_AD_REASON_OFFSET && !c->used) {
        rc = -ECONNREFUSED;
    }
    if (kind == SSL_ERROR_ZERO_RETURN || (kind == SSL_ERROR_SYSCALL && code == 0) ||
        ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
        rc = -ECONNRESET;
        snprintf(why, MON_TLS_WHY_B, "the daemon closed the connection");
    } else {
        mon_tls_failure(c->ssl, code, why);
    }
    ERR_clear_error();
    return rc;
}

static int handshake(struct dyno_connection *c, const char *host, struct mon_tls *tls, char *why)
{
    c->ssl = mon_tls_connection(tls, host);
    if (c->ssl == NULL || SSL_set_fd(c->ssl, c->fd) != 1) {
        snprintf(why, MON_TLS_WHY_B, "out of memory");
        return -ENOMEM;
    }
    ERR_clear_error();
    for (int n; (n = SSL_connect(c->ssl)) != 1;) {
        int rc = tls_again(c, n, why);
        if (rc != 0) {
            return rc;
        }
    }
    return 0;
}

static int open_socket(struct dyno_connection *c, const struct addrinfo *address)
{
    int yes = 1, error = 0;
    socklen_t length = sizeof(error);
    c->fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (c->fd < 0) {
        return -errno;
    }
    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
    if (connect(c->fd, address->ai_addr, address->ai_addrlen) == 0) {
        return 0;
    }
    int rc = errno == EINPROGRESS ? wait_for(c, POLLOUT) : -errno;
    if (rc == 0 && getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 && error != 0) {
        rc = -error;
    }
    if (rc != 0) {
        close(c->fd);
        c->fd = -1;
    }
    return rc;
}

static int connect_any(struct dyno_connection *c, const struct addrinfo *addresses, unsigned timeout_ms)
{
    uint64_t last = now_ns() + (uint64_t)timeout_ms * 1000000;
    unsigned left = 0;
    int rc = -EADDRNOTAVAIL;
    for (const struct addrinfo *a = addresses; a != NULL; a = a->ai_next) {
        left++;
    }
    for (const struct addrinfo *a = addresses; a != NULL; a = a->ai_next, left--) {
        /* An address that does not respond must leave time for the others. */
        uint64_t now = now_ns();
        c->deadline_ns = last > now ? now + (last - now) / left : now;
        rc = open_socket(c, a);
        if (rc == 0) {
            break;
        }
    }
    c->deadline_ns = last;
    return rc;
}

int dyno_connect(const char *host, uint16_t port, struct mon_tls *tls, unsigned timeout_ms,
                 struct dyno_connection **out, char why[DYNO_CONNECT_WHY_B])
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV}, *addresses;
    char service[8], reason[MON_TLS_WHY_B] = "";
    snprintf(service, sizeof(service), "%u", port);
    int rc = getaddrinfo(host, service, &hints, &addresses);
    if (rc != 0) {
        snprintf(why, DYNO_CONNECT_WHY_B, "%.255s: %s", host, gai_strerror(rc));
        return -EHOSTUNREACH;
    }
    struct dyno_connection *c = calloc(1, sizeof(*c));
    rc = -ENOMEM;
    if (c != NULL) {
        c->fd = -1;
        rc = connect_any(c, addresses, timeout_ms);
        snprintf(reason, sizeof(reason), "%s", strerror(-rc));
    }
    freeaddrinfo(addresses);
    if (rc == 0 && tls != NULL) {
        rc = handshake(c, host, tls, reason);
    }
    if (rc != 0) {
        snprintf(why, DYNO_CONNECT_WHY_B, "%.255s port %u: %s", host, port, reason);
        dyno_disconnect(c);
        return rc;
    }
    *out = c;
    return 0;
}

static int send_all(struct dyno_connection *c, const char *data, size_t length_b, char *why)
{
    while (length_b > 0) {
        ssize_t n;
        if (c->ssl != NULL) {
            ERR_clear_error();
            n = SSL_write(c->ssl, data, (int)length_b);
        } else {
            n = send(c->fd, data, length_b, MSG_NOSIGNAL);
        }
        if (n <= 0) {
            int rc = c->ssl != NULL ? tls_again(c, (int)n, why) : errno == EAGAIN ? wait_for(c, POLLOUT) : -errno;
            if (rc != 0) {
                return rc;
            }
            continue;
        }
        data += n;
        length_b -= (size_t)n;
    }
    return 0;
}

/* Reads once. 0 or -errno; -ECONNRESET at end of stream. */
static int receive_some(struct dyno_connection *c, struct ms_buffer *in, char *why)
{
    if (!ms_buffer_reserve(in, READ_B)) {
        return -ENOMEM;
    }
    for (;;) {
        ssize_t n;
        if (c->ssl != NULL) {
            ERR_clear_error();
            n = SSL_read(c->ssl, in->s + in->used, READ_B);
        } else {
            n = recv(c->fd, in->s + in->used, READ_B, 0);
        }
        if (n > 0) {
            in->used += (size_t)n;
            return 0;
        }
        if (n == 0 && c->ssl == NULL) {
            return -ECONNRESET;
        }
        int rc = c->ssl != NULL ? tls_again(c, (int)n, why) : errno == EAGAIN ? wait_for(c, POLLIN) : -errno;
        if (rc != 0) {
            return rc;
        }
    }
}

static int receive_answer(struct dyno_connection *c, struct ms_buffer *answer, char *why)
{
    struct ms_buffer in = {0};
    size_t body_b = 0;
    enum mon_frame_verdict verdict;
    int rc = 0;
    while ((verdict = mon_frame_look(in.s, in.used, MON_FRAME_ANSWER_MAX_B, &body_b)) == MON_FRAME_MORE && rc == 0) {
        rc = receive_some(c, &in, why);
    }
    if (rc == 0 && verdict != MON_FRAME_READY) {
        snprintf(why, MON_TLS_WHY_B, "unexpected reply, not from dynolog: %s",
                 verdict == MON_FRAME_TLS ? "the server uses TLS; use --certs-dir" : mon_frame_reason(verdict));
        rc = -EPROTO;
    }
    if (rc == 0) {
        ms_buffer_add(answer, in.s + MON_FRAME_HEADER_B, body_b);
        c->used = true;
    } else if (rc == -ECONNRESET && in.used == 0) {
        snprintf(
            why, MON_TLS_WHY_B,
            "the daemon closed the connection without an answer; older daemons do this for unknown functions and for "
            "requests of more than 8191 bytes, and every daemon does if only one side uses TLS");
    } else if (why[0] == '\0') {
        snprintf(why, MON_TLS_WHY_B, "%s", rc == -ETIMEDOUT ? "timed out" : strerror(-rc));
    }
    ms_buffer_free(&in);
    return rc;
}

int dyno_call(struct dyno_connection *c, const char *request, size_t request_b, unsigned timeout_ms,
              struct ms_buffer *answer, char why[DYNO_CONNECT_WHY_B])
{
    struct ms_buffer out = {0};
    unsigned char header[MON_FRAME_HEADER_B];
    char reason[MON_TLS_WHY_B] = "";
    mon_frame_header(request_b, header);
    ms_buffer_add(&out, (const char *)header, sizeof(header));
    ms_buffer_add(&out, request, request_b);
    c->deadline_ns = now_ns() + (uint64_t)timeout_ms * 1000000;
    int rc = out.failed ? -ENOMEM : send_all(c, out.s, out.used, reason);
    /* A daemon that refuses may have sent the reason before it closed: prefer its answer to EPIPE. */
    if (rc == 0 || rc == -EPIPE || rc == -ECONNRESET) {
        rc = receive_answer(c, answer, reason);
    }
    ms_buffer_free(&out);
    if (rc != 0) {
        snprintf(why, DYNO_CONNECT_WHY_B, "%s", reason[0] != '\0' ? reason : strerror(-rc));
    }
    return rc;
}

void dyno_disconnect(struct dyno_connection *c)
{
    if (c == NULL) {
        return;
    }
    if (c->ssl != NULL) {
        if (c->used) {
            SSL_shutdown(c->ssl);
        }
        SSL_free(c->ssl);
        ERR_clear_error();
    }
    if (c->fd >= 0) {
        close(c->fd);
    }
    free(c);
}
