/* The sockets of the IPC fabric: abstract ones, files in home directories, files in a shared directory. */
#ifndef MS_DAEMON_ENDPOINTS_H
#define MS_DAEMON_ENDPOINTS_H

#include "monitor/daemon/daemon.h"

#include <sys/un.h>

enum ms_endpoint_form {
    MS_ENDPOINT_ABSTRACT,  /* libkineto, NPU clients up to 8.2 */
    MS_ENDPOINT_HOME,      /* NPU clients from 8.3.0 on */
    MS_ENDPOINT_DIRECTORY, /* libkineto with KINETO_IPC_SOCKET_DIR */
};

struct ms_endpoint {
    struct ms_endpoint *next;
    enum ms_endpoint_form form;
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
int ms_endpoints_open(struct ms_daemon *daemon, event_callback_fn callback, struct ms_endpoint **out);
void ms_endpoints_close(struct ms_endpoint *first);

/* Sends from this endpoint without waiting: 0 or -errno. */
int ms_endpoint_send(struct ms_endpoint *endpoint, const struct sockaddr_un *to, socklen_t to_b, const void *datagram,
                      size_t datagram_b);

/* What receivers have not read yet is charged to the sender: a socket that answered clients that do not read cannot
 * answer anybody after a while. Then its address goes to a fresh socket. Call when the queue has been read empty. */
bool ms_endpoint_clogged(struct ms_endpoint *endpoint);
int ms_endpoint_renew(struct ms_daemon *daemon, struct ms_endpoint *endpoint);

#endif
