/* SPDX-License-Identifier: Apache-2.0 */
/* One connection of the RPC server: receives bytes, passes complete requests to the functions, sends answers.
 *
 * Nothing blocks or grows without bound: a request has at most MON_FRAME_REQUEST_MAX_B bytes, partial requests of all
 * connections at most BUFFERED_MAX_B; a peer that does not read its answers is not read from; every phase of a
 * connection has a timeout. A connection may handle TURN requests before the others get their turn. A request that
 * arrives complete is handled in the scratch buffer: an idle connection has no buffers.
 *
 * Answers to invalid input are sent before the connection is closed, and the close is delayed so that the peer can read
 * them: closing a socket with unread input would reset the connection and discard the answer. */
#include "monitor/daemon/rpc_internal.h"

#include "base/clock.h"
#include "monitor/daemon/functions.h"
#include "monitor/store/series.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/err.h>

#define TURN            16u          /* requests, or reads, per turn */
#define READ_B          16384u       /* read at once while a request is incomplete */
#define BUFFERED_MAX_B  (32u << 20)  /* partial requests of all connections */
#define OUT_MAX_B       (256u << 10) /* unsent answers for a peer at which we stop reading from it */
#define DISCARDED_MAX_B (16u << 20)  /* input discarded after an invalid frame before the connection is closed */

static const struct {
    unsigned limit_ms;
    const char *timeout_reason; /* reason for the metric on timeout; NULL: a timeout is normal */
} phases[MON_RPC_PHASES] = {
    [MON_RPC_LINGERING] = {1000, NULL},
    [MON_RPC_IDLE] = {3000, NULL},
    [MON_RPC_OPENING] = {30000, "slow handshake"},
    [MON_RPC_RECEIVING] = {3000, "slow request"},
    [MON_RPC_KEPT] = {60000, NULL},
    [MON_RPC_SENDING] = {10000, "answers not read"},
};

static void enter(struct mon_rpc_connection *c, enum mon_rpc_phase phase)
{
    TAILQ_REMOVE(&c->rpc->queues[c->phase], c, link);
    TAILQ_INSERT_TAIL(&c->rpc->queues[phase], c, link);
    c->phase = phase;
    c->since_ns = ms_clock_ns(CLOCK_MONOTONIC);
}

static void count_buffered(struct mon_rpc_connection *c)
{
    c->rpc->buffered_b += c->in.room - c->counted_b;
    c->counted_b = c->in.room;
}

static void free_buffer(struct ms_buffer *buffer)
{
    ms_buffer_free(buffer);
    memset(buffer, 0, sizeof(*buffer));
}

/* Removes the connection from its queue, so the first entry of a queue is never a closed one. clang's analyzer cannot
 * see that through the macros of sys/queue.h; hence the NOLINT where loops repeatedly close the first entry. */
static void close_connection(struct mon_rpc_connection *c)
{
    struct mon_rpc *rpc = c->rpc;
    event_del(&c->readable);
    event_del(&c->writable);
    free_buffer(&c->in);
    count_buffered(c);
    ms_buffer_free(&c->out);
    SSL_free(c->ssl);
    close(c->fd);
    TAILQ_REMOVE(&rpc->queues[c->phase], c, link);
    rpc->connections--;
    mon_metric_record(MON_METRIC_RPC_CONNECTIONS, MON_NO_LABELS, (double)rpc->connections);
    free(c);
}

static void refused(const struct mon_rpc_connection *c, const char *word, const char *why)
{
    mon_metric_record(MON_METRIC_RPC_REFUSED, MON_LABELS(.reason = word), 1);
    MON_LOG_LIMITED(MON_LEVEL_WARNING, "RPC from %s refused: %s", c->peer, why);
}

/* ---- bytes ---- */

enum { IO_AGAIN = -1, IO_END = 0, IO_BROKEN = -2 };

/* Classifies a failed TLS operation: retry, end of stream, or an error that is logged. */
static ssize_t tls_result(struct mon_rpc_connection *c, int n)
{
    char why[MON_TLS_WHY_B];
    switch (SSL_get_error(c->ssl, n)) {
    case SSL_ERROR_WANT_WRITE:
        event_add(&c->writable, NULL);
        return IO_AGAIN;
    case SSL_ERROR_WANT_READ:
        return IO_AGAIN;
    case SSL_ERROR_ZERO_RETURN:
        return IO_END;
    default:
        break;
    }
    if (!SSL_is_init_finished(c->ssl)) {
        mon_tls_failure(c->ssl, ERR_peek_error(), why);
        refused(c, "tls", why);
    }
    ERR_clear_error();
    return IO_BROKEN;
}

static ssize_t receive(struct mon_rpc_connection *c, void *data, size_t room_b)
{
    if (c->ssl != NULL) {
        ERR_clear_error();
        int n = SSL_read(c->ssl, data, (int)room_b);
        return n > 0 ? n : tls_result(c, n);
    }
    ssize_t n = recv(c->fd, data, room_b, 0);
    return n >= 0 ? n : errno == EAGAIN || errno == EINTR ? IO_AGAIN : IO_BROKEN;
}

static ssize_t transmit(struct mon_rpc_connection *c, const void *data, size_t length_b)
{
    if (c->ssl != NULL) {
        ERR_clear_error();
        int n = SSL_write(c->ssl, data, (int)length_b);
        return n > 0 ? n : tls_result(c, n);
    }
    ssize_t n = send(c->fd, data, length_b, MSG_NOSIGNAL);
    return n >= 0 ? n : errno == EAGAIN || errno == EINTR ? IO_AGAIN : IO_BROKEN;
}

/* Sends queued answers. False: close the connection. */
static bool flush(struct mon_rpc_connection *c)
{
    while (c->sent_b < c->out.used) {
        ssize_t n = transmit(c, c->out.s + c->sent_b, c->out.used - c->sent_b);
        if (n == IO_AGAIN) {
            event_add(&c->writable, NULL);
            return true;
        }
        if (n <= 0) {
            return false;
        }
        c->sent_b += (size_t)n;
    }
    free_buffer(&c->out);
    c->sent_b = 0;
    if (c->phase == MON_RPC_LINGERING && !c->closing) {
        shutdown(c->fd, SHUT_WR);
    }
    return !c->closing;
}

/* ---- requests ---- */

static void put_answer(struct mon_rpc_connection *c, const struct ms_buffer *answer)
{
    unsigned char header[MON_FRAME_HEADER_B];
    mon_frame_header(answer->used, header);
    ms_buffer_add(&c->out, (const char *)header, sizeof(header));
    ms_buffer_add(&c->out, answer->s, answer->used);
    c->closing |= answer->failed || c->out.failed; /* no answer is better than a partial one */
}

static void answer(struct mon_rpc_connection *c, const char *body, size_t body_b)
{
    struct mon_rpc_call call = {.registry = c->rpc->daemon->registry, .peer = c->peer};
    struct ms_buffer text = {0};
    mon_rpc_answer(&call, body, body_b, &text);
    put_answer(c, &text);
    ms_buffer_free(&text);
    if (call.refused != NULL) {
        refused(c, call.refused, call.refused);
    } else {
        mon_metric_record(MON_METRIC_RPC_REQUESTS, MON_LABELS(.function = call.function), 1);
    }
    enter(c, call.keep ? MON_RPC_KEPT : MON_RPC_IDLE);
}

/* After an invalid length the rest of the input is meaningless: answer with the reason, then discard input until the
 * peer closes. */
static void refuse_frame(struct mon_rpc_connection *c, enum mon_frame_verdict verdict)
{
    static const char *const words[] = {[MON_FRAME_EMPTY] = "empty",
                                        [MON_FRAME_TOO_LONG] = "too long",
                                        [MON_FRAME_TLS] = "tls on a plain-text port",
                                        [MON_FRAME_HTTP] = "http"};
    struct ms_buffer text = {0};
    char why[256];
    snprintf(why, sizeof(why), "%s (1 to %u bytes)", mon_frame_reason(verdict), MON_FRAME_REQUEST_MAX_B);
    refused(c, words[verdict], why);
    mon_rpc_error(why, &text);
    put_answer(c, &text);
    ms_buffer_free(&text);
    enter(c, MON_RPC_LINGERING);
}

/* Answers up to *turns requests at the start of data; returns the number of bytes they used. */
static size_t take_requests(struct mon_rpc_connection *c, const char *data, size_t have_b, unsigned *turns)
{
    size_t used = 0;
    while (*turns > 0 && c->out.used - c->sent_b < OUT_MAX_B) {
        size_t body_b;
        enum mon_frame_verdict verdict = mon_frame_look(data + used, have_b - used, MON_FRAME_REQUEST_MAX_B, &body_b);
        if (verdict == MON_FRAME_MORE) {
            break;
        }
        if (verdict != MON_FRAME_READY) {
            refuse_frame(c, verdict);
            return have_b;
        }
        answer(c, data + used + MON_FRAME_HEADER_B, body_b);
        used += MON_FRAME_HEADER_B + body_b;
        (*turns)--;
    }
    return used;
}

/* Keeps input that is not handled yet; rest may point into c->in. */
static void keep_rest(struct mon_rpc_connection *c, const char *rest, size_t rest_b)
{
    if (rest_b == 0) {
        free_buffer(&c->in);
    } else if (c->in.used > 0) {
        memmove(c->in.s, rest, rest_b);
        c->in.used = rest_b;
    } else {
        ms_buffer_add(&c->in, rest, rest_b);
    }
    if (rest_b > 0 && (c->phase == MON_RPC_IDLE || c->phase == MON_RPC_KEPT)) {
        enter(c, MON_RPC_RECEIVING);
    }
    count_buffered(c);
}

/* Requests that arrived together with earlier ones and are now handled. */
static void take_waiting(struct mon_rpc_connection *c, unsigned *turns)
{
    if (c->in.used > 0) {
        size_t used = take_requests(c, c->in.s, c->in.used, turns);
        if (used > 0) {
            keep_rest(c, c->in.s + used, c->in.used - used);
        }
    }
}

/* Reads once and handles the requests that are now complete. Returns the result of receive(), or 1 if there may be
 * more. */
static ssize_t take_more(struct mon_rpc_connection *c, unsigned *turns)
{
    bool partial = c->in.used > 0;
    char *data = c->rpc->scratch;
    size_t room = sizeof(c->rpc->scratch);
    if (partial) {
        if (!ms_buffer_reserve(&c->in, READ_B)) {
            return IO_BROKEN;
        }
        data = c->in.s + c->in.used;
        room = READ_B;
        count_buffered(c);
    }
    ssize_t n = receive(c, data, room);
    if (c->phase == MON_RPC_OPENING && SSL_is_init_finished(c->ssl)) {
        enter(c, MON_RPC_RECEIVING);
    }
    if (n <= 0) {
        return n;
    }
    if (c->phase == MON_RPC_LINGERING) {
        c->discarded_b += (size_t)n;
        if (c->discarded_b > DISCARDED_MAX_B) {
            return IO_BROKEN; /* the peer does not read the answer */
        }
    } else {
        const char *start = partial ? c->in.s : data;
        size_t have = partial ? c->in.used + (size_t)n : (size_t)n;
        c->in.used = partial ? have : 0;
        size_t used = take_requests(c, start, have, turns);
        keep_rest(c, start + used, have - used);
        if (c->in.failed) {
            return IO_BROKEN;
        }
    }
    /* A plain socket that returned less than requested is empty; the loop reports when it is readable again. */
    return c->ssl == NULL && (size_t)n < room ? IO_AGAIN : 1;
}

/* The alert with the reason has been sent; further input must not reset the connection before the peer reads it. */
static void refuse_handshake(struct mon_rpc_connection *c)
{
    SSL_free(c->ssl);
    c->ssl = NULL;
    shutdown(c->fd, SHUT_WR);
    enter(c, MON_RPC_LINGERING);
}

/* Handles one turn of a connection. False: close it. */
static bool serve(struct mon_rpc_connection *c)
{
    unsigned turns = TURN;
    ssize_t got = 1;
    take_waiting(c, &turns);
    for (unsigned reads = 0; got > 0 && turns > 0 && reads < TURN && c->out.used - c->sent_b < OUT_MAX_B; reads++) {
        got = take_more(c, &turns);
    }
    if (got == IO_BROKEN && c->ssl != NULL && !SSL_is_init_finished(c->ssl)) {
        refuse_handshake(c);
        return true;
    }
    if (got == IO_BROKEN) {
        return false;
    }
    if (got == IO_END) {
        if (c->in.used > 0) {
            refused(c, "incomplete request", mon_frame_reason(MON_FRAME_MORE));
        }
        c->closing = true;
        event_del(&c->readable);
    }
    if (!flush(c)) {
        return false;
    }
    if (c->out.used - c->sent_b >= OUT_MAX_B) {
        event_del(&c->readable); /* until the peer has read */
        enter(c, MON_RPC_SENDING);
    } else if (got > 0 || (turns == 0 && c->in.used > 0)) {
        event_active(&c->readable, EV_READ, 0); /* more input: continue after the other connections */
    }
    return true;
}

static void on_readable(evutil_socket_t fd, short what, void *context)
{
    struct mon_rpc_connection *c = context;
    struct mon_rpc *rpc = c->rpc;
    (void)fd;
    (void)what;
    if (!serve(c)) {
        close_connection(c);
    }
    while (rpc->buffered_b > BUFFERED_MAX_B && !TAILQ_EMPTY(&rpc->queues[MON_RPC_RECEIVING])) {
        struct mon_rpc_connection *oldest = TAILQ_FIRST(&rpc->queues[MON_RPC_RECEIVING]);
        // NOLINTNEXTLINE(clang-analyzer-unix.Malloc)
        refused(oldest, "partial-request buffer full", "too many incomplete requests; closing the oldest connection");
        close_connection(oldest);
    }
}

static void on_writable(evutil_socket_t fd, short what, void *context)
{
    struct mon_rpc_connection *c = context;
    (void)fd;
    (void)what;
    if (!flush(c)) {
        close_connection(c);
        return;
    }
    if (c->phase == MON_RPC_SENDING && c->out.used == 0) {
        enter(c, MON_RPC_IDLE);
        event_add(&c->readable, NULL);
    }
    if (c->phase != MON_RPC_SENDING && !c->closing) {
        event_active(&c->readable, EV_READ, 0); /* buffered requests, or a handshake that wrote first */
    }
}

/* ---- accepting and closing ---- */

static void name_peer(const struct sockaddr *address, char out[64])
{
    char text[INET6_ADDRSTRLEN] = "?";
    unsigned port = 0;
    if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;
        inet_ntop(AF_INET6, &six->sin6_addr, text, sizeof(text));
        port = ntohs(six->sin6_port);
    } else if (address->sa_family == AF_INET) {
        const struct sockaddr_in *four = (const struct sockaddr_in *)address;
        inet_ntop(AF_INET, &four->sin_addr, text, sizeof(text));
        port = ntohs(four->sin_port);
    }
    snprintf(out, 64, address->sa_family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, port);
}

void mon__rpc_accept(struct mon_rpc *rpc, int fd, const struct sockaddr *address)
{
    struct mon_rpc_connection *c = calloc(1, sizeof(*c));
    if (c == NULL) {
        close(fd);
        return;
    }
    c->rpc = rpc;
    c->fd = fd;
    name_peer(address, c->peer);
    c->phase = MON_RPC_RECEIVING;
    if (rpc->tls != NULL) {
        c->phase = MON_RPC_OPENING;
        c->ssl = mon_tls_connection(rpc->tls, NULL);
        if (c->ssl == NULL || SSL_set_fd(c->ssl, fd) != 1) {
            SSL_free(c->ssl);
            close(fd);
            free(c);
            return;
        }
        SSL_set_mode(c->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        SSL_set_accept_state(c->ssl);
    }
    c->since_ns = ms_clock_ns(CLOCK_MONOTONIC);
    TAILQ_INSERT_TAIL(&rpc->queues[c->phase], c, link);
    event_assign(&c->readable, rpc->daemon->base, fd, EV_READ | EV_PERSIST, on_readable, c);
    event_assign(&c->writable, rpc->daemon->base, fd, EV_WRITE, on_writable, c);
    event_add(&c->readable, NULL);
    rpc->connections++;
    mon_metric_record(MON_METRIC_RPC_ACCEPTED, MON_NO_LABELS, 1);
    mon_metric_record(MON_METRIC_RPC_CONNECTIONS, MON_NO_LABELS, (double)rpc->connections);
}

bool mon__rpc_make_room(struct mon_rpc *rpc)
{
    for (size_t i = 0; i < MON_RPC_PHASES; i++) {
        struct mon_rpc_connection *oldest = TAILQ_FIRST(&rpc->queues[i]);
        if (oldest != NULL) {
            refused(oldest, "too many connections", "too many connections; closing the oldest idle one");
            close_connection(oldest);
            return true;
        }
    }
    return false;
}

void mon__rpc_sweep(struct mon_rpc *rpc)
{
    uint64_t now = ms_clock_ns(CLOCK_MONOTONIC);
    for (size_t i = 0; i < MON_RPC_PHASES; i++) {
        struct mon_rpc_connection *oldest;
        while ((oldest = TAILQ_FIRST(&rpc->queues[i])) != NULL &&
               // NOLINTNEXTLINE(clang-analyzer-unix.Malloc)
               now - oldest->since_ns > (uint64_t)phases[i].limit_ms * 1000000u) {
            if (phases[i].timeout_reason != NULL) {
                refused(oldest, phases[i].timeout_reason, phases[i].timeout_reason);
            }
            close_connection(oldest);
        }
    }
}

void mon__rpc_close_all(struct mon_rpc *rpc)
{
    for (size_t i = 0; i < MON_RPC_PHASES; i++) {
        while (!TAILQ_EMPTY(&rpc->queues[i])) {
            // NOLINTNEXTLINE(clang-analyzer-unix.Malloc)
            close_connection(TAILQ_FIRST(&rpc->queues[i]));
        }
    }
}
