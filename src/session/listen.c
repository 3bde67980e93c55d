/* The listening side of a session: names, sockets. */
#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

int ms_session_new_socket(struct ms_session *session)
{
    unsigned char bits[16];
    if (getrandom(bits, sizeof(bits), 0) != (ssize_t)sizeof(bits)) {
        return -EIO;
    }
    for (size_t i = 0; i < sizeof(bits); i++) {
        snprintf(session->socket + 2 * i, 3, "%02x", bits[i]);
    }
    return 0;
}

static int bind_file(int fd, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char directory[sizeof(((struct ms_session *)0)->fallback)];
    const char *name = strrchr(path, '/');
    if (name == NULL ||
        snprintf(directory, sizeof(directory), "%.*s/", (int)(name - path), path) >= (int)sizeof(directory)) {
        return -EINVAL;
    }
    int dirfd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dirfd < 0) {
        return -errno;
    }
    int n = snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d%s", dirfd, name);
    int rc = n >= (int)sizeof(address.sun_path)                                    ? -ENAMETOOLONG
             : bind(fd, (struct sockaddr *)(void *)&address, sizeof(address)) != 0 ? -errno
             : chmod(path, 0600) != 0                                              ? -errno
                                                                                   : 0;
    close(dirfd);
    return rc;
}

int ms_session_listen(const struct ms_session *session, bool file)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -errno;
    }
    int rc;
    if (file) {
        rc = bind_file(fd, session->fallback);
    } else {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int n = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "msmemscope-%s", session->socket);
        socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
        rc = bind(fd, (struct sockaddr *)(void *)&address, size) == 0 ? 0 : -errno;
    }
    if (rc == 0 && listen(fd, SOMAXCONN) != 0) {
        rc = -errno;
    }
    if (rc != 0) {
        close(fd);
        return rc;
    }
    return fd;
}
