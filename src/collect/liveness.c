/* SPDX-License-Identifier: Apache-2.0 */
/* Is a process alive? Checked by the pidfd of its connection (Linux 6.5), by a pidfd opened from its pid (5.3), by pid
 * and start time (older kernels), or, for processes not visible here, by the end of its connection. Before a pidfd is
 * trusted, the start time is compared: the pid may have been reused. */
#include "collect/recorded.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#define SILENCE_NS 1000000000ull

/* Tests force the fallbacks for older kernels. */
static bool without(const char *what)
{
    const char *list = getenv("MSMEMSCOPE_TEST_WITHOUT");
    return list != NULL && strstr(list, what) != NULL;
}

static uint64_t start_time_of(uint32_t pid)
{
    char path[64], stat[1024];
    snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return 0;
    }
    ssize_t n = read(fd, stat, sizeof(stat) - 1);
    close(fd);
    stat[n > 0 ? n : 0] = '\0';
    char *p = strrchr(stat, ')'); /* field 2 may contain anything */
    for (int field = 2; p != NULL && field < 22; field++) {
        p = strchr(p + 1, ' ');
    }
    return p != NULL ? strtoull(p + 1, NULL, 10) : 0;
}

static bool same_process(const struct ms_recorded *process)
{
    uint64_t expected = process->identity.start_time, found = start_time_of(process->pid_here);
    return found != 0 && (expected == 0 || found == expected);
}

static bool pidfd_dead(int pidfd)
{
    struct pollfd wait = {pidfd, POLLIN, 0};
    return poll(&wait, 1, 0) == 1;
}

bool ms_liveness_begin(struct ms_recorded *process, uint64_t hello_start_time)
{
    process->identity.start_time = hello_start_time;
    process->pidfd = -1;
    socklen_t size = sizeof(process->pidfd);
    if (process->connection >= 0 && !without("peerpidfd")) {
        if (getsockopt(process->connection, SOL_SOCKET, SO_PEERPIDFD, &process->pidfd, &size) == 0) {
            return !pidfd_dead(process->pidfd);
        }
        if (errno != ENOPROTOOPT) {
            return false;
        }
    }
    process->pidfd = -1;
    if (process->pid_here == 0) {
        return process->keeps_socket;
    }
    int fd = without("pidfd") ? -1 : (int)syscall(SYS_pidfd_open, process->pid_here, 0);
    if (fd >= 0) {
        process->pidfd = fd;
        return !pidfd_dead(fd) && same_process(process);
    }
    return same_process(process);
}

bool ms_liveness_dead(struct ms_recorded *process, uint64_t progress)
{
    if (process->pidfd >= 0) {
        return pidfd_dead(process->pidfd);
    }
    if (process->pid_here != 0) {
        return !same_process(process) || (kill((pid_t)process->pid_here, 0) != 0 && errno == ESRCH);
    }
    /* The connection has ended, and nothing was published for a second. */
    char byte;
    if (process->eof_ns == 0) {
        ssize_t n = process->connection >= 0 ? recv(process->connection, &byte, 1, MSG_DONTWAIT) : 0;
        if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR))) {
            return false;
        }
    }
    uint64_t now_ns = ms_clock_raw_ns();
    if (process->eof_ns == 0 || progress != process->eof_progress) {
        process->eof_ns = now_ns;
        process->eof_progress = progress;
    }
    return now_ns - process->eof_ns > SILENCE_NS;
}
