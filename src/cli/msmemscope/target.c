/* SPDX-License-Identifier: Apache-2.0 */
/* The program as a child of the launcher: in the same process group, session and terminal, with the signals and limits
 * that the launcher was started with. The launcher forwards signals, and exits as the program does.
 *
 * Signals of the terminal (si_code SI_KERNEL) reach the program directly and are not forwarded; those sent to the
 * launcher's pid are. SIGSTOP, SIGTSTP and similar signals stop the launcher too. */
#include "cli/msmemscope/cli.h"

#include "base/macros.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static const int passed_on[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH, SIGINT, SIGQUIT};

static sigset_t original_mask;
static struct sigaction original_pipe;
static struct rlimit original_files;
static int signals = -1;
static bool interrupted;

void target_signals_block(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < MS_COUNT_OF(passed_on); i++) {
        sigaddset(&set, passed_on[i]);
    }
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, &original_mask);
    signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_IGN}, &original_pipe);
    /* With SIGCHLD ignored, as inherited from some parents, the program's status would be lost. */
    signal(SIGCHLD, SIG_DFL);
    /* Each registered process needs two descriptors. */
    if (getrlimit(RLIMIT_NOFILE, &original_files) == 0) {
        struct rlimit raised = {original_files.rlim_max, original_files.rlim_max};
        setrlimit(RLIMIT_NOFILE, &raised);
    }
}

int target_signal_fd(void)
{
    return signals;
}

int target_start(const char *path, char **argv, void (*in_child)(void *), void *argument, pid_t *pid)
{
    int failure[2];
    if (pipe2(failure, O_CLOEXEC) != 0) {
        return -1;
    }
    *pid = fork();
    if (*pid == 0) {
        in_child(argument);
        if (original_files.rlim_max != 0) {
            setrlimit(RLIMIT_NOFILE, &original_files);
        }
        sigaction(SIGPIPE, &original_pipe, NULL);
        sigprocmask(SIG_SETMASK, &original_mask, NULL);
        execvp(path, argv); /* the path has a slash: no search, but scripts without #! run as in a shell */
        int error = errno;
        ssize_t n = write(failure[1], &error, sizeof(error));
        (void)n;
        _exit(127);
    }
    int error = *pid < 0 ? errno : 0;
    close(failure[1]);
    ssize_t n;
    do {
        n = *pid > 0 ? read(failure[0], &error, sizeof(error)) : 0;
    } while (n < 0 && errno == EINTR);
    close(failure[0]);
    if (error != 0) {
        if (*pid > 0) {
            waitpid(*pid, NULL, 0);
        }
        errno = error;
        return -1;
    }
    return 0;
}

/* Collects the target's status; as process 1 also that of adopted children. */
static bool reap(pid_t pid, int *status)
{
    bool ended = false;
    pid_t who = getpid() == 1 ? -1 : pid;
    for (;;) {
        int s;
        pid_t got = waitpid(who, &s, WNOHANG);
        if (got <= 0) {
            return ended;
        }
        if (got == pid) {
            *status = s;
            ended = true;
            if (who == pid) {
                return true;
            }
        }
    }
}

bool target_turn(pid_t pid, int *status)
{
    struct signalfd_siginfo info;
    bool ended = false;
    while (read(signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        int number = (int)info.ssi_signo;
        if (number == SIGCHLD) {
            ended = reap(pid, status) || ended;
        } else if (pid > 0 && !ended) {
            if (info.ssi_code != SI_KERNEL && (pid_t)info.ssi_pid != pid) {
                kill(pid, number);
            }
        } else {
            interrupted = interrupted || number == SIGINT || number == SIGTERM || number == SIGQUIT || number == SIGHUP;
        }
    }
    return ended;
}

bool target_interrupted(void)
{
    return interrupted;
}

void target_end_like(int status)
{
    fflush(NULL);
    if (WIFEXITED(status)) {
        _exit(WEXITSTATUS(status));
    }
    int number = WTERMSIG(status);
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    signal(number, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
    _exit(128 + number); /* process 1, or a signal that does not terminate */
}
