/* SPDX-License-Identifier: Apache-2.0 */
/* Connects a target to its collector and registers it. Raw system calls, because glibc's wrappers are cancellation
 * points and the agent may be called from anywhere in the program; no allocation; the caller blocks signals. Every
 * failure is an error code: the process then goes unrecorded, it is never recorded wrongly.
 *
 * One registration at a time (the agent's attach lock), hence the static buffer: a thread's stack may be small. */
#include "base/macros.h"
#include "collect/protocol/address.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define CONNECT_TRIES 50 /* of 1 ms, while the listener's queue is full */

static void close_raw(int fd)
{
    syscall(SYS_close, fd);
}

int ms_session_peer(int fd, uint32_t *uid, uint32_t *pid)
{
    struct ucred credentials;
    socklen_t size = sizeof(credentials);
    if (syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) {
        return -errno;
    }
    *uid = credentials.uid;
    *pid = credentials.pid > 0 ? (uint32_t)credentials.pid : 0;
    return 0;
}

/* A path of any length is opened through a descriptor of its directory, which *dirfd then holds (else -1). */
static int file_address(const char *path, struct sockaddr_un *address, int *dirfd)
{
    size_t length = strlen(path);
    *dirfd = -1;
    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    if (length < sizeof(address->sun_path)) {
        memcpy(address->sun_path, path, length);
        return 0;
    }
    const char *name = strrchr(path, '/');
    char directory[sizeof(((struct ms_session *)0)->fallback)];
    if (name == NULL || length >= sizeof(directory) || strlen(name) > 64) {
        return -ENAMETOOLONG;
    }
    memcpy(directory, path, (size_t)(name - path));
    directory[name - path] = '\0';
    int fd = (int)syscall(SYS_openat, AT_FDCWD, directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    /* "/proc/self/fd/N" + name, without printf */
    char digits[12];
    size_t n = 0;
    for (unsigned rest = (unsigned)fd; n == 0 || rest != 0; rest /= 10) {
        digits[n++] = (char)('0' + rest % 10);
    }
    char *out = address->sun_path;
    memcpy(out, "/proc/self/fd/", 14);
    out += 14;
    while (n > 0) {
        *out++ = digits[--n];
    }
    memcpy(out, name, strlen(name));
    *dirfd = fd;
    return 0;
}

static int connect_to(const struct sockaddr_un *address, socklen_t size)
{
    int fd = (int)syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -errno;
    }
    int rc = -EAGAIN;
    for (int i = 0; i < CONNECT_TRIES && (rc == -EAGAIN || rc == -EINTR); i++) {
        if (i > 0) {
            struct timespec pause = {0, 1000000};
            syscall(SYS_nanosleep, &pause, NULL);
        }
        rc = syscall(SYS_connect, fd, address, size) == 0 ? 0 : -errno;
    }
    uint32_t uid = UINT32_MAX, pid;
    if (rc == 0) {
        rc = ms_session_peer(fd, &uid, &pid);
    }
    if (rc == 0 && uid != 0 && uid != (uint32_t)syscall(SYS_geteuid)) {
        rc = -EPERM;
    }
    if (rc != 0) {
        close_raw(fd);
        return rc;
    }
    return fd;
}

int ms_session_connect(const struct ms_session *session)
{
    struct sockaddr_un address;
    socklen_t size = ms_session_abstract_address(session, &address);
    int fd = connect_to(&address, size);
    if (fd != -ECONNREFUSED || session->fallback[0] == '\0') {
        return fd;
    }
    int dirfd;
    int rc = file_address(session->fallback, &address, &dirfd);
    if (rc != 0) {
        return rc;
    }
    fd = connect_to(&address, sizeof(address));
    if (dirfd >= 0) {
        close_raw(dirfd);
    }
    return fd;
}

/* ---- identity of this process ---- */

static size_t read_file(const char *path, char *out, size_t out_b)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    long n = syscall(SYS_read, fd, out, out_b);
    close_raw(fd);
    return n > 0 ? (size_t)n : 0;
}

/* Where the kernel put the arguments; the memory stays valid for the life of the process. */
static struct {
    const char *begin;
    size_t length_b;
} arguments MS_EARLY;

void ms_session_own_arguments(int argc, char **argv)
{
    const char *next = (const char *)(argv + argc); /* the strings follow the array contiguously */
    for (int i = 0; i < argc; i++) {
        if (argv[i] == NULL || (i == 0 ? argv[i] < next : argv[i] != next)) {
            return;
        }
        next = argv[i] + strlen(argv[i]) + 1;
    }
    if (argc > 0) {
        arguments.begin = argv[0];
        arguments.length_b = (size_t)(next - argv[0]);
    }
}

static size_t own_arguments(char *out, size_t out_b)
{
    if (arguments.begin == NULL) {
        return read_file("/proc/self/cmdline", out, out_b);
    }
    size_t length_b = arguments.length_b < out_b ? arguments.length_b : out_b;
    memcpy(out, arguments.begin, length_b);
    return length_b;
}

/* "pid:[4026531836]" */
uint64_t ms_session_own_pid_namespace(void)
{
    char link[64];
    long n = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/pid", link, sizeof(link) - 1);
    uint64_t inode = 0;
    for (long i = 5; i < n && link[i] >= '0' && link[i] <= '9'; i++) {
        inode = inode * 10 + (uint64_t)(link[i] - '0');
    }
    return inode;
}

/* Reading /proc takes longer than connecting. If we see the listener under the pid by which it knows itself, we are in
 * the same namespace: from a child namespace it would be invisible. */
static uint64_t pid_namespace_by_peer(const struct ms_session *session, int fd)
{
    uint32_t uid, pid = 0;
    if (session->pid_namespace != 0 && session->listener != 0 && ms_session_peer(fd, &uid, &pid) == 0 &&
        pid == session->listener) {
        return session->pid_namespace;
    }
    return ms_session_own_pid_namespace();
}

/* Field 22 of /proc/self/stat; the command in field 2 may contain anything, hence the search from the last
 * parenthesis. */
static uint64_t own_start_time(void)
{
    char stat[1024];
    size_t n = read_file("/proc/self/stat", stat, sizeof(stat));
    size_t i = n;
    while (i > 0 && stat[i - 1] != ')') {
        i--;
    }
    for (int field = 2; i < n && field < 22; i++) {
        field += stat[i] == ' ';
    }
    uint64_t value = 0;
    for (; i < n && stat[i] >= '0' && stat[i] <= '9'; i++) {
        value = value * 10 + (uint64_t)(stat[i] - '0');
    }
    return value;
}

/* Must the connection stay open for the collector to see our end? It sees us by pid unless it is in a sibling pid
 * namespace, and by the connection's pidfd where the kernel provides one. */
static bool must_keep_socket(const struct ms_session *session, uint64_t pid_namespace, int fd)
{
    if (session->pid_namespace == 0 || pid_namespace == session->pid_namespace) {
        return false;
    }
    int pidfd;
    socklen_t size = sizeof(pidfd);
    if (syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0) {
        close_raw(pidfd);
        return false;
    }
    return errno == ENOPROTOOPT;
}

static int send_with_fd(int socket, const void *message, size_t size_b, int fd)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    memset(&control, 0, sizeof(control));
    struct iovec part = {(void *)(uintptr_t)message, size_b};
    struct msghdr header = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control.bytes)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&header);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(c), &fd, sizeof(int));
    long n = syscall(SYS_sendmsg, socket, &header, MSG_NOSIGNAL);
    return n == (long)size_b ? 0 : n < 0 ? -errno : -EIO;
}

int ms_session_register(const struct ms_session *session, int memfd, size_t shm_b, uint32_t clock_kind)
{
    static union {
        struct ms_hello hello;
        char bytes[sizeof(struct ms_hello) + MS_EXE_MAX_B + MS_COMMAND_MAX_B];
    } message;
    struct ms_hello *hello = &message.hello;

    int fd = ms_session_connect(session);
    if (fd < 0) {
        return fd;
    }
    char *text = message.bytes + sizeof(*hello);
    long exe_b = syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", text, MS_EXE_MAX_B);
    exe_b = exe_b < 0 ? 0 : exe_b;
    size_t command_b = own_arguments(text + exe_b, MS_COMMAND_MAX_B);
    uint64_t pid_namespace = pid_namespace_by_peer(session, fd);
    bool keep = must_keep_socket(session, pid_namespace, fd);
    size_t length_b = sizeof(*hello) + (size_t)exe_b + command_b;
    *hello = (struct ms_hello){
        .head = ms_message_head(MS_MESSAGE_HELLO, length_b, keep ? MS_HELLO_KEEPS_SOCKET : 0),
        .pid = (uint32_t)syscall(SYS_getpid),
        .ppid = (uint32_t)syscall(SYS_getppid),
        .tid = (uint32_t)syscall(SYS_gettid),
        .uid = (uint32_t)syscall(SYS_geteuid),
        .pid_namespace = pid_namespace,
        .start_time = own_start_time(),
        .shm_b = shm_b,
        .clock_kind = clock_kind,
        .exe_b = (uint16_t)exe_b,
        .command_b = (uint16_t)command_b,
    };
    int rc = send_with_fd(fd, hello, length_b, memfd);
    if (rc != 0 || !keep) {
        close_raw(fd);
    }
    return rc;
}
