/* SPDX-License-Identifier: Apache-2.0 */
/* See own_collector.h.
 *
 * We bind and listen ourselves and hand the socket over, so registering does not wait: a connection stays in the queue
 * until the collector accepts it. The program is started as vfork would, twice: our child creates a session and forks a
 * child, which becomes the small supervisor (and starts the collector); the intermediate process exits at once. This
 * process never sees a child: no SIGCHLD (exit signal 0), nothing for waitpid(-1), no atfork handlers.
 *
 * Both children run in our memory, on their own stacks, while this thread is suspended: they only make system calls. */
#include "agent/glibc_floor.h"
#include "agent/own_collector.h"

#include "base/macros.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK_B         (32u * 1024)
#define ENVIRONMENT_MAX 1024
#define LISTENER_FD     3
#define FILES_MAX       65536 /* where close_range is not available */

extern char **environ;

static char folder[4096]; /* of this library, with the slash; empty: unknown */
static char program[4096];
static char session_text[MS_SESSION_MAX_B];
static char *environment[ENVIRONMENT_MAX + 1];
static char stacks[2][STACK_B] __attribute__((aligned(16)));
static volatile int start_error; /* set by a child; it shares our memory */

/* ---- finding it ---- */

static int look(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    uintptr_t here = (uintptr_t)&ms_own_collector_find;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && here >= begin && here - begin < info->dlpi_phdr[i].p_memsz) {
            const char *slash = strrchr(info->dlpi_name, '/');
            size_t folder_b = slash != NULL ? (size_t)(slash - info->dlpi_name) + 1 : 0;
            if (info->dlpi_name[0] == '/' && folder_b < sizeof(folder)) {
                memcpy(folder, info->dlpi_name, folder_b);
            }
            return 1;
        }
    }
    return 0;
}

void ms_own_collector_find(void)
{
    dl_iterate_phdr(look, NULL);
    if (!ms_own_path("../libexec/msmemscope-collector", program, sizeof(program))) {
        program[0] = '\0';
    }
}

bool ms_own_path(const char *from_here, char *out, size_t out_b)
{
    size_t folder_b = strlen(folder), rest_b = strlen(from_here) + 1;
    if (folder_b == 0 || folder_b + rest_b > out_b) {
        return false;
    }
    memcpy(out, folder, folder_b);
    memcpy(out + folder_b, from_here, rest_b);
    return true;
}

/* ---- starting it ---- */

/* The user's libraries and interpreters must not affect it. */
static void clean_environment(void)
{
    static const char *const left_out[] = {"LD_", "PYTHON", MS_SESSION_ENV "="};
    size_t n = 0;
    for (char **entry = environ; entry != NULL && *entry != NULL && n < ENVIRONMENT_MAX; entry++) {
        bool keep = true;
        for (size_t i = 0; i < MS_COUNT_OF(left_out); i++) {
            keep = keep && strncmp(*entry, left_out[i], strlen(left_out[i])) != 0;
        }
        if (keep) {
            environment[n++] = *entry;
        }
    }
    environment[n] = NULL;
}

static void close_from(unsigned first)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0u, 0u) == 0) {
        return;
    }
#endif
    for (unsigned fd = first; fd < FILES_MAX; fd++) {
        syscall(SYS_close, fd);
    }
}

static int become_supervisor(void *argument)
{
    int listener = *(int *)argument;
    uint64_t no_signals = 0;
    char role[] = "--supervise";
    char *arguments[] = {program, role, session_text, NULL};
    int null = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR);
    int high = (int)syscall(SYS_fcntl, listener, F_DUPFD, 16), null_high = (int)syscall(SYS_fcntl, null, F_DUPFD, 16);
    bool good = high >= 0 && null_high >= 0;
    for (int fd = 0; fd < LISTENER_FD && good; fd++) {
        good = syscall(SYS_dup3, null_high, fd, 0) == fd;
    }
    if (good && syscall(SYS_dup3, high, LISTENER_FD, 0) == LISTENER_FD) {
        close_from(LISTENER_FD + 1);
        syscall(SYS_rt_sigprocmask, SIG_SETMASK, &no_signals, NULL, sizeof(no_signals));
        syscall(SYS_execve, program, arguments, environment);
    }
    start_error = errno;
    syscall(SYS_exit, 127);
    return 127;
}

static int in_between(void *argument)
{
    syscall(SYS_setpgid, 0, 0);
    if (clone(become_supervisor, stacks[1] + STACK_B, CLONE_VM | CLONE_VFORK, argument) < 0) {
        start_error = errno;
    }
    syscall(SYS_exit, 0);
    return 0;
}

int ms_own_collector_start(struct ms_session *session)
{
    if (program[0] == '\0') {
        return -ENOENT;
    }
    session->fallback[0] = '\0';
    int rc = ms_session_new_socket(session);
    int listener = rc == 0 ? ms_session_listen(session, false) : rc;
    if (listener < 0) {
        return listener;
    }
    if (ms_session_format(session, session_text, sizeof(session_text)) >= sizeof(session_text)) {
        rc = -E2BIG;
    } else {
        clean_environment();
        start_error = 0;
        int child = clone(in_between, stacks[0] + STACK_B, CLONE_VM | CLONE_VFORK, &listener);
        rc = child < 0 ? -errno : 0;
        while (child > 0 && syscall(SYS_wait4, child, NULL, __WALL, NULL) < 0 && errno == EINTR) {
        }
        rc = rc == 0 ? -start_error : rc;
    }
    syscall(SYS_close, listener);
    return rc;
}
