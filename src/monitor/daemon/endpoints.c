/* SPDX-License-Identifier: Apache-2.0 */
/* Opens, replaces and closes the sockets of the fabric.
 *
 * A stale socket file of a killed daemon is removed if it has the right owner and no process listens on it; any other
 * file at the path is left alone. Files are created with their final mode (umask) and, in another user's home
 * directory, with that user's identity, so that no other user can use or replace them at any time. Used only by the
 * event loop thread (bind changes umask and effective user temporarily). */
#include "monitor/daemon/endpoints.h"

#include <errno.h>
#include <grp.h>
#include <linux/sockios.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEND_BUFFER_B = 4 << 20 };

static int open_socket(void)
{
    const int on = 1, size = SEND_BUFFER_B;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -errno;
    }
    if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0) {
        int error = errno;
        close(fd);
        return -error;
    }
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) != 0) {
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)); /* as much as the system allows */
    }
    return fd;
}

/* Whether a process listens on this address. */
static bool is_listening(const struct mon_endpoint *endpoint)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool alive = fd >= 0 && connect(fd, (const struct sockaddr *)&endpoint->address, endpoint->address_b) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return alive;
}

/* Removes a stale socket file; 0 or -errno. */
static int remove_stale(const struct mon_endpoint *endpoint)
{
    const char *path = endpoint->address.sun_path;
    struct stat st;
    if (lstat(path, &st) != 0) {
        return errno == ENOENT ? 0 : -errno;
    }
    if (!S_ISSOCK(st.st_mode) || st.st_uid != endpoint->owner) {
        MON_LOG_ERROR("cannot create socket %s: %s; remove it manually", path,
                      S_ISSOCK(st.st_mode) ? "the existing file belongs to another user"
                                           : "the existing file is not a socket");
        return -EEXIST;
    }
    if (is_listening(endpoint)) {
        return -EADDRINUSE;
    }
    return unlink(path) != 0 ? -errno : 0;
}

/* Binds the descriptor; for files, also removes a stale file and sets mode, owner and group. */
static int bind_socket(struct mon_endpoint *endpoint, int fd)
{
    const struct sockaddr *address = (const struct sockaddr *)&endpoint->address;
    if (endpoint->form == MON_ENDPOINT_ABSTRACT) {
        return bind(fd, address, endpoint->address_b) != 0 ? -errno : 0;
    }
    bool other = endpoint->owner != geteuid();
    if (other && seteuid(endpoint->owner) != 0) {
        return -errno;
    }
    mode_t before = umask(0777 & ~endpoint->mode);
    int result = remove_stale(endpoint);
    if (result == 0 && bind(fd, address, endpoint->address_b) != 0) {
        result = -errno;
    }
    umask(before);
    struct stat st;
    endpoint->inode = result == 0 && lstat(endpoint->address.sun_path, &st) == 0 ? st.st_ino : 0;
    if (result == 0 && endpoint->group != (gid_t)-1 &&
        lchown(endpoint->address.sun_path, (uid_t)-1, endpoint->group) != 0) {
        result = -errno;
    }
    if (other && seteuid(getuid()) != 0) {
        MON_LOG_ERROR("cannot switch back to user %d: %s", (int)getuid(), strerror(errno));
        abort(); /* must not continue as another user */
    }
    return result;
}

static int listen_on(struct mon_daemon *daemon, struct mon_endpoint *endpoint)
{
    int fd = open_socket();
    if (fd < 0) {
        return fd;
    }
    int result = bind_socket(endpoint, fd);
    struct event *event = NULL;
    if (result == 0) {
        event = event_new(daemon->base, fd, EV_READ | EV_PERSIST, endpoint->callback, endpoint);
        result = event == NULL || event_add(event, NULL) != 0 ? -ENOMEM : 0;
    }
    if (result != 0) {
        if (event != NULL) {
            event_free(event);
        }
        close(fd);
        return result;
    }
    socklen_t length = sizeof(endpoint->room_b);
    getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &endpoint->room_b, &length);
    endpoint->sent = 0;
    endpoint->fd = fd;
    endpoint->event = event;
    return 0;
}

static void stop_listening(struct mon_endpoint *endpoint)
{
    if (endpoint->event != NULL) {
        event_free(endpoint->event);
        endpoint->event = NULL;
    }
    if (endpoint->fd >= 0) {
        close(endpoint->fd);
        endpoint->fd = -1;
    }
}

bool mon_endpoint_clogged(struct mon_endpoint *endpoint)
{
    int queued = 0;
    /* A small datagram is charged less than 1 KiB: below this, the ioctl is not worth it. */
    if (endpoint->sent < endpoint->room_b / 4 / 1024) {
        return false;
    }
    endpoint->sent = 0;
    return endpoint->fd >= 0 && ioctl(endpoint->fd, SIOCOUTQ, &queued) == 0 && queued > endpoint->room_b / 2;
}

int mon_endpoint_renew(struct mon_daemon *daemon, struct mon_endpoint *endpoint)
{
    stop_listening(endpoint); /* releases an abstract name, so it must come first */
    int result = listen_on(daemon, endpoint);
    if (result == 0) {
        MON_LOG_LIMITED(MON_LEVEL_WARNING, "%s: clients do not read their replies; replaced the socket",
                        endpoint->text);
    } else {
        MON_LOG_ERROR("cannot reopen %s: %s", endpoint->text, strerror(-result));
    }
    return result;
}

int mon_endpoint_send(struct mon_endpoint *endpoint, const struct sockaddr_un *to, socklen_t to_b, const void *datagram,
                      size_t datagram_b)
{
    ssize_t sent =
        sendto(endpoint->fd, datagram, datagram_b, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)to, to_b);
    int result = sent < 0 ? -errno : 0;
    /* A send that failed may mean a full buffer: check at once. */
    endpoint->sent += 1 + (int)(datagram_b / 1024) + (result == -EAGAIN ? endpoint->room_b / 1024 : 0);
    return result;
}

/* ---- endpoints according to the flags ---- */

struct opening {
    struct mon_daemon *daemon;
    event_callback_fn callback;
    struct mon_endpoint *first;
};

/* 0 or -errno; -ENOENT and -EACCES only concern this kind of endpoint. */
static int add(struct opening *opening, const struct mon_endpoint *template)
{
    struct mon_endpoint *endpoint = malloc(sizeof(*endpoint));
    if (endpoint == NULL) {
        return -ENOMEM;
    }
    *endpoint = *template;
    endpoint->callback = opening->callback;
    endpoint->fd = -1;
    mon_fabric_address_text(&endpoint->address, endpoint->address_b, endpoint->text, sizeof(endpoint->text));
    int result = listen_on(opening->daemon, endpoint);
    if (result != 0) {
        free(endpoint);
        return result;
    }
    endpoint->next = opening->first;
    opening->first = endpoint;
    MON_LOG_INFO("listening on %s for %s", endpoint->text, endpoint->data ? "data" : "requests");
    return 0;
}

static int open_abstract(struct opening *opening, const char *name)
{
    int result = 0;
    for (int data = 0; data <= 1 && result == 0; data++) {
        char full[128];
        snprintf(full, sizeof(full), "%s%s", name, data != 0 ? "_data" : "");
        struct mon_endpoint template = {.form = MON_ENDPOINT_ABSTRACT, .data = data != 0};
        template.address_b = mon_fabric_abstract(&template.address, full);
        result = template.address_b == 0 ? -ENAMETOOLONG : add(opening, &template);
        if (result == -EADDRINUSE) {
            MON_LOG_ERROR("another daemon uses the address @%s@; stop it or choose another --ipc_name", full);
        } else if (result != 0) {
            MON_LOG_ERROR("@%s@: %s (--ipc_name)", full, strerror(-result));
        }
    }
    return result;
}

static int open_files(struct opening *opening, const char *directory, const struct mon_endpoint *like,
                      const char *suffix, const char *flag)
{
    int result = 0;
    for (int data = 0; data <= 1 && result == 0; data++) {
        char name[32];
        struct mon_endpoint template = *like;
        snprintf(name, sizeof(name), "dynolog%s%s", data != 0 ? "_data" : "", suffix);
        template.data = data != 0;
        template.address_b = mon_fabric_path(&template.address, directory, name);
        result = template.address_b == 0 ? -ENAMETOOLONG : add(opening, &template);
        if (result == -EADDRINUSE) {
            MON_LOG_ERROR("another daemon listens on %s/%s; stop it first (or use --no%s)", directory, name, flag);
        } else if (result != 0) {
            MON_LOG_WARNING("%s/%s: %s (--%s)", directory, name, strerror(-result), flag);
        }
    }
    return result;
}

static int open_home(struct opening *opening, const char *directory, uid_t owner, const char *flag)
{
    struct mon_endpoint like = {.form = MON_ENDPOINT_HOME, .owner = owner, .mode = 0600, .group = (gid_t)-1};
    int result = open_files(opening, directory, &like, ".sock", flag);
    /* Fatal only if another daemon is running. */
    return result == -EADDRINUSE ? result : 0;
}

static int open_own_home(struct opening *opening, const struct mon_flags *flags)
{
    const char *directory = flags->ipc_home_dir;
    if (directory[0] == '\0') {
        const struct passwd *user = getpwuid(getuid());
        if (user == NULL || user->pw_dir == NULL || user->pw_dir[0] != '/') {
            MON_LOG_WARNING("user %d has no home directory: no sockets for NPU clients (--ipc_home_dir)",
                            (int)getuid());
            return 0;
        }
        directory = user->pw_dir;
    }
    return open_home(opening, directory, geteuid(), "ipc_home");
}

static int open_users(struct opening *opening, const char *users)
{
    char *list = strdup(users), *rest = list;
    int result = list == NULL ? -ENOMEM : 0;
    for (char *name; result == 0 && (name = strsep(&rest, ",")) != NULL;) {
        const struct passwd *user = *name != '\0' ? getpwnam(name) : NULL;
        if (*name == '\0') {
            continue;
        }
        if (user == NULL) {
            MON_LOG_ERROR("unknown user '%s' (--ipc_users)", name);
            result = -EINVAL;
        } else if (geteuid() != 0 && user->pw_uid != geteuid()) {
            MON_LOG_ERROR("only root can open sockets in the home directory of '%s' (--ipc_users)", name);
            result = -EPERM;
        } else {
            result = open_home(opening, user->pw_dir, user->pw_uid, "ipc_users");
        }
    }
    free(list);
    return result;
}

static int open_directory(struct opening *opening, const struct mon_flags *flags, const char *directory)
{
    struct mon_endpoint like = {.form = MON_ENDPOINT_DIRECTORY, .owner = geteuid(), .mode = 0666, .group = (gid_t)-1};
    if (flags->ipc_socket_group[0] != '\0') {
        const struct group *group = getgrnam(flags->ipc_socket_group);
        if (group == NULL) {
            MON_LOG_ERROR("unknown group '%s' (--ipc_socket_group)", flags->ipc_socket_group);
            return -EINVAL;
        }
        like.group = group->gr_gid;
        like.mode = 0660;
    }
    return open_files(opening, directory, &like, "", "ipc_socket_dir");
}

int mon_endpoints_open(struct mon_daemon *daemon, event_callback_fn callback, struct mon_endpoint **out)
{
    const struct mon_flags *flags = &daemon->flags;
    struct opening opening = {daemon, callback, NULL};
    const char *directory = flags->ipc_socket_dir[0] != '\0' ? flags->ipc_socket_dir : getenv("KINETO_IPC_SOCKET_DIR");
    int result = 0;
    if (flags->ipc_name[0] != '\0') {
        result = open_abstract(&opening, flags->ipc_name);
    }
    if (result == 0 && flags->ipc_home) {
        result = open_own_home(&opening, flags);
    }
    if (result == 0 && flags->ipc_users[0] != '\0') {
        result = open_users(&opening, flags->ipc_users);
    }
    if (result == 0 && directory != NULL && directory[0] != '\0') {
        result = open_directory(&opening, flags, directory);
    }
    if (result == 0 && opening.first == NULL) {
        MON_LOG_ERROR("no endpoint could be opened (see --ipc_name, --ipc_home, --ipc_socket_dir)");
        result = -EADDRNOTAVAIL;
    }
    if (result != 0) {
        mon_endpoints_close(opening.first);
        return result;
    }
    *out = opening.first;
    return 0;
}

void mon_endpoints_close(struct mon_endpoint *first)
{
    for (struct mon_endpoint *next; first != NULL; first = next) {
        struct stat st;
        next = first->next;
        stop_listening(first);
        if (first->form != MON_ENDPOINT_ABSTRACT && lstat(first->address.sun_path, &st) == 0 &&
            st.st_ino == first->inode) {
            unlink(first->address.sun_path);
        }
        free(first);
    }
}
