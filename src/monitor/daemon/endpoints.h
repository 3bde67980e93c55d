/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets of the IPC fabric: abstract ones, files in home directories, files in a shared directory. */
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
    bool data;   /* for data messages: nothing is answered here */
    uid_t owner; /* of the file */
    mode_t mode;
    gid_t group; /* of a file in a shared directory; (gid_t)-1: ours */
    struct sockaddr_un address;
    socklen_t address_b;
    int fd;
    ino_t inode; /* of the file that we made: another one is not ours to remove */
    struct event *event;
    event_callback_fn callback;
    int room_b;     /* of the send buffer */
    int sent;       /* KiB at most, since the buffer was looked at last */
    char text[120]; /* for the log */
};

/* Opens what the flags ask for; each readable endpoint calls the callback with itself as argument. A name that another
 * daemon uses is a failure; a home directory that cannot be written is a warning as long as anything opens. */
int mon_endpoints_open(struct mon_daemon *daemon, event_callback_fn callback, struct mon_endpoint **out);
void mon_endpoints_close(struct mon_endpoint *first);

/* Sends from this endpoint without waiting: 0 or -errno. */
int mon_endpoint_send(struct mon_endpoint *endpoint, const struct sockaddr_un *to, socklen_t to_b, const void *datagram,
                      size_t datagram_b);

/* What receivers have not read yet is charged to the sender: a socket that answered clients that do not read cannot
 * answer anybody after a while. Then its address goes to a fresh socket. Call when the queue has been read empty. */
bool mon_endpoint_clogged(struct mon_endpoint *endpoint);
int mon_endpoint_renew(struct mon_daemon *daemon, struct mon_endpoint *endpoint);

#endif
