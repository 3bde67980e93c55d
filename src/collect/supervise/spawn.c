/* SPDX-License-Identifier: Apache-2.0 */
/* Why detached: a collector that holds the user's pipe makes $(msmemscope prog) hang; one that holds a listening socket
 * makes the job's restart fail; ^C must not end it while the program still handles the interrupt; libraries from the
 * user's LD_LIBRARY_PATH must not be loaded. */
#include "collect/supervise/spawn.h"

#include "base/macros.h"
#include "collect/supervise/channel.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* Variables of the user's environment that the collector keeps. The last two are for querying the driver about
 * memory. */
static const char *const kept[] = {"TZ=",     "LANG=",   "LC_", "HOME=", "PATH=", "TMPDIR=", "MSMEMSCOPE_TEST_",
                                   "ASCEND_", "SOFTNPU_"};

static char **clean_environment(void)
{
    size_t n = 0, count = 0;
    while (environ[count] != NULL) {
        count++;
    }
    char **out = calloc(count + 1, sizeof(*out));
    for (size_t i = 0; out != NULL && i < count; i++) {
        for (size_t k = 0; k < MS_COUNT_OF(kept); k++) {
            if (strncmp(environ[i], kept[k], strlen(kept[k])) == 0) {
                out[n++] = environ[i];
                break;
            }
        }
    }
    return out;
}

static void close_from(int first)
{
#ifdef SYS_close_range
    if (syscall(SYS_close_range, (unsigned)first, ~0u, 0u) == 0) {
        return;
    }
#endif
    struct rlimit limit;
    int max = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < 65536 ? (int)limit.rlim_cur : 65536;
    DIR *dir = opendir("/proc/self/fd");
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        int fd = atoi(entry->d_name);
        if (fd >= first && fd != dirfd(dir)) {
            close(fd);
        }
    }
    if (dir != NULL) {
        closedir(dir);
        return;
    }
    for (int fd = first; fd < max; fd++) {
        close(fd);
    }
}

static void set_signals(void)
{
    for (int i = 1; i < NSIG; i++) {
        signal(i, SIG_DFL);
    }
    static const int ignored[] = {SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGPIPE, SIGXFSZ};
    for (size_t i = 0; i < MS_COUNT_OF(ignored); i++) {
        signal(ignored[i], SIG_IGN);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Only these descriptors remain: 0 to 2 on /dev/null, the channel, and the pipe that reports a failed exec. */
static int arrange_files(int channel_fd, int failure_fd)
{
    enum { FAILURE_FD = MS_CHANNEL_FD + 1 };
    int channel = fcntl(channel_fd, F_DUPFD, 16);
    int failure = fcntl(failure_fd, F_DUPFD, 16);
    int null = open("/dev/null", O_RDWR);
    null = null < 0 ? null : fcntl(null, F_DUPFD, 16);
    if (channel < 0 || failure < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
        dup2(channel, MS_CHANNEL_FD) < 0 || dup3(failure, FAILURE_FD, O_CLOEXEC) < 0) {
        return -errno;
    }
    close_from(FAILURE_FD + 1);
    return FAILURE_FD;
}

static void become(char *const argv[], char **environment, int channel_fd, int failure_fd)
{
    int fd = arrange_files(channel_fd, failure_fd);
    int error = fd < 0 ? -fd : 0;
    if (fd >= 0) {
        set_signals();
        if (chdir("/") == 0) {
            execve(argv[0], argv, environment);
        }
        error = errno;
    }
    ssize_t n = write(fd >= 0 ? fd : failure_fd, &error, sizeof(error));
    (void)n;
    _exit(127);
}

int ms_spawn_apart(char *const argv[], int channel_fd)
{
    int pipe_fds[2];
    char **environment = clean_environment();
    if (environment == NULL) {
        return -ENOMEM;
    }
    if (pipe2(pipe_fds, O_CLOEXEC) != 0) {
        free(environment);
        return -errno;
    }
    pid_t first = fork();
    if (first == 0) {
        setpgid(0, 0);
        pid_t second = fork();
        if (second == 0) {
            become(argv, environment, channel_fd, pipe_fds[1]);
        }
        if (second < 0) {
            int error = errno;
            ssize_t n = write(pipe_fds[1], &error, sizeof(error));
            (void)n;
        }
        _exit(0);
    }
    int error = first < 0 ? errno : 0;
    close(pipe_fds[1]);
    if (first > 0) {
        while (waitpid(first, NULL, 0) < 0 && errno == EINTR) {
        }
        ssize_t n;
        do {
            n = read(pipe_fds[0], &error, sizeof(error));
        } while (n < 0 && errno == EINTR);
        error = n == (ssize_t)sizeof(error) ? error : 0;
    }
    close(pipe_fds[0]);
    free(environment);
    return -error;
}
