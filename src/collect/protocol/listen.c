/* SPDX-License-Identifier: Apache-2.0 */
/* The listening side of a session: names, sockets. The part that a target needs to start its own collector (everything
 * but socket files) uses system calls only: no allocation, no cancellation point. */
#include "collect/protocol/address.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

int ms_session_new_socket(struct ms_session *session)
{
    static const char digits[] = "0123456789abcdef";
    unsigned char bits[16];
    if (syscall(SYS_getrandom, bits, sizeof(bits), 0) != (long)sizeof(bits)) {
        return -EIO;
    }
    for (size_t i = 0; i < sizeof(bits); i++) {
        session->socket[2 * i] = digits[bits[i] >> 4];
        session->socket[2 * i + 1] = digits[bits[i] & 15];
    }
    session->socket[2 * sizeof(bits)] = '\0';
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
    int fd = (int)syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -errno;
    }
    int rc;
    if (file) {
        rc = bind_file(fd, session->fallback);
    } else {
        struct sockaddr_un address;
        socklen_t size = ms_session_abstract_address(session, &address);
        rc = syscall(SYS_bind, fd, &address, size) == 0 ? 0 : -errno;
    }
    if (rc == 0 && syscall(SYS_listen, fd, SOMAXCONN) != 0) {
        rc = -errno;
    }
    if (rc != 0) {
        syscall(SYS_close, fd);
        return rc;
    }
    return fd;
}
