/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets of the IPC fabric: abstract, files in home directories, files in a shared directory. */
#ifndef MON_DAEMON_ENDPOINTS_H
#define MON_DAEMON_ENDPOINTS_H

#include "monitor/daemon/daemon.h"

#include <sys/un.h>

enum mon_endpoint_form {
    MON_ENDPOINT_ABSTRACT,  /* libkineto, NPU clients up to 8.2 */
    MON_ENDPOINT_HOME,      /* NPU clients from 8.3.0 on */
    MON_ENDPOINT_DIRECTORY, /* libkineto with KINETO_IPC_SOCKET_DIR */
};

struct mon_endpoint {
    struct mon_endpoint *next;
    enum mon_endpoint_form form;
    bool data;   /* for data messages, which are not answered */
    uid_t owner; /* of the file */
    mode_t mode;
    gid_t group; /* of a file in a shared directory; (gid_t)-1: the daemon's group */
    struct sockaddr_un address;
    socklen_t address_b;
    int fd;
    ino_t inode; /* of the file we created; another file must not be removed */
    struct event *event;
    event_callback_fn callback;
    int room_b;     /* size of the send buffer */
    int sent;       /* upper bound in KiB since the buffer was last checked */
    char text[120]; /* for the log */
};

/* Opens the endpoints selected by the flags; a readable endpoint calls the callback with itself as argument. An address
 * in use by another daemon is an error; a home directory that is not writable is only a warning if another endpoint
 * opens. */
int mon_endpoints_open(struct mon_daemon *daemon, event_callback_fn callback, struct mon_endpoint **out);
void mon_endpoints_close(struct mon_endpoint *first);

/* Sends from this endpoint without blocking: 0 or -errno. */
int mon_endpoint_send(struct mon_endpoint *endpoint, const struct sockaddr_un *to, socklen_t to_b, const void *datagram,
                      size_t datagram_b);

/* Datagrams that receivers have not read count against the sender's buffer: after replying to clients that do not read,
 * a socket can no longer reply to any client. Its address is then moved to a new socket. Call this when the queue is
 * drained. */
bool mon_endpoint_clogged(struct mon_endpoint *endpoint);
int mon_endpoint_renew(struct mon_daemon *daemon, struct mon_endpoint *endpoint);

#endif
