/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the RPC server: connections (rpc_connection.c) and listening sockets (rpc.c). */
#ifndef MON_DAEMON_RPC_INTERNAL_H
#define MON_DAEMON_RPC_INTERNAL_H

#include "base/buffer.h"
#include "monitor/daemon/rpc.h"
#include "monitor/wire/frame.h"
#include "monitor/wire/tls.h"

#include <sys/queue.h>
#include <sys/socket.h>

#include <event2/event_struct.h>

/* The phase of a connection; rpc_connection.c has a table of their timeouts. When the number of connections reaches its
 * limit, the oldest connection of the first non-empty phase is closed. */
enum mon_rpc_phase {
    MON_RPC_LINGERING, /* refused: the peer may read the reason before we close */
    MON_RPC_IDLE,      /* between requests */
    MON_RPC_OPENING,   /* TLS handshake: a user may be typing a passphrase */
    MON_RPC_RECEIVING, /* from accept or the first byte of a request to its last byte */
    MON_RPC_KEPT,      /* between requests, and the peer asked to keep the connection */
    MON_RPC_SENDING,   /* the peer does not read its answers */
    MON_RPC_PHASES
};

struct mon_rpc_connection {
    TAILQ_ENTRY(mon_rpc_connection) link; /* in the queue of its phase, oldest first */
    struct mon_rpc *rpc;
    enum mon_rpc_phase phase;
    uint64_t since_ns;
    int fd;
    SSL *ssl; /* NULL: plain text */
    struct event readable, writable;
    struct ms_buffer in;  /* only a partial request */
    struct ms_buffer out; /* only what the socket did not accept */
    size_t sent_b;        /* bytes of out already sent */
    size_t counted_b;     /* this connection's share of rpc->buffered_b */
    size_t discarded_b;   /* input discarded since the connection was refused */
    bool closing;         /* close when out is empty: the peer has closed its side */
    char peer[64];
};

TAILQ_HEAD(mon_rpc_queue, mon_rpc_connection);

#define MON_RPC_SCRATCH_B (MON_FRAME_REQUEST_MAX_B + MON_FRAME_HEADER_B)

struct mon_rpc {
    struct mon_daemon *daemon;
    struct mon_tls *tls; /* NULL: plain text */
    struct event *sweep, *resume;
    struct evconnlistener *listeners[8];
    size_t listener_count;
    struct mon_rpc_queue queues[MON_RPC_PHASES];
    size_t connections, connections_max;
    size_t buffered_b; /* partial requests of all connections */
    char scratch[MON_RPC_SCRATCH_B];
};

/* Takes ownership of the descriptor; closes it on failure. */
void mon__rpc_accept(struct mon_rpc *rpc, int fd, const struct sockaddr *address);
bool mon__rpc_make_room(struct mon_rpc *rpc); /* closes the least important connection; false: there is none */
void mon__rpc_sweep(struct mon_rpc *rpc);     /* closes timed-out connections */
void mon__rpc_close_all(struct mon_rpc *rpc);

#endif
