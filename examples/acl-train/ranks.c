/* SPDX-License-Identifier: Apache-2.0 */
/* One process per device. The parent starts this program again for every rank, passes the root information of the group
 * from the first to the others, and waits. It does not use a device itself. If one rank fails, the others are killed,
 * because they would wait for it forever. */
#include "train.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS_MAX = 64 };

struct rank {
    volatile pid_t pid; /* 0: not started, or ended */
    int fd;             /* our end of the pipe */
};

static struct rank ranks[RANKS_MAX];
static volatile sig_atomic_t stop_signal;

static void end_all(int number)
{
    for (size_t i = 0; i < RANKS_MAX; i++) {
        pid_t pid = ranks[i].pid;
        if (pid > 0) {
            kill(pid, number);
        }
    }
}

/* The ranks end with the parent. */
static void on_signal(int number)
{
    int saved = errno;
    stop_signal = number;
    end_all(number);
    errno = saved;
}

static void start_rank(struct rank *rank, int64_t number, char **argv, pid_t parent)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        fail("pipe: %s", strerror(errno));
    }
    int theirs = number == 0 ? ends[1] : ends[0]; /* the first rank writes, the others read */
    rank->fd = number == 0 ? ends[0] : ends[1];
    size_t count = 0;
    while (argv[count] != NULL) {
        count++;
    }
    char rank_text[32], fd_text[32];
    char **args = calloc(count + 3, sizeof(*args));
    if (args == NULL) {
        fail("no host memory for the arguments of a rank");
    }
    memcpy(args, argv, count * sizeof(*args));
    snprintf(rank_text, sizeof(rank_text), "--rank=%lld", (long long)number);
    snprintf(fd_text, sizeof(fd_text), "--root-fd=%d", theirs);
    args[count] = rank_text;
    args[count + 1] = fd_text;
    fflush(stdout);
    rank->pid = fork();
    if (rank->pid < 0) {
        fail("fork: %s", strerror(errno));
    }
    if (rank->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent || fcntl(theirs, F_SETFD, 0) != 0) {
            _exit(1);
        }
        char self[PATH_MAX]; /* argv[0], so that process lists show the name */
        ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
        self[n > 0 ? n : 0] = '\0';
        execv(self, args);
        fprintf(stderr, "%s: cannot start rank %lld: %s\n", program_name, (long long)number, strerror(errno));
        _exit(127);
    }
    close(theirs);
    free(args);
}

/* Copies from the first rank's pipe into all others. False if the first rank ended before. */
static bool pass_root_info(int64_t count)
{
    char info[sizeof(HcclRootInfo)];
    size_t have = 0;
    while (have < sizeof(info)) {
        ssize_t n = read(ranks[0].fd, info + have, sizeof(info) - have);
        if (n < 0 && errno == EINTR && stop_signal == 0) {
            continue;
        }
        if (n <= 0) {
            return false;
        }
        have += (size_t)n;
    }
    for (int64_t i = 1; i < count; i++) {
        if (write(ranks[i].fd, info, sizeof(info)) != (ssize_t)sizeof(info)) {
            return false;
        }
    }
    return true;
}

/* Waits for all; the first failure kills the others. Returns the exit status. */
static int wait_for_all(int64_t count)
{
    int status = 0;
    for (int64_t left = count; left > 0;) {
        int how;
        pid_t pid = waitpid(-1, &how, 0);
        if (pid < 0 && errno == EINTR) {
            continue;
        }
        if (pid < 0) {
            fail("waitpid: %s", strerror(errno));
        }
        int64_t i = 0;
        while (i < count && ranks[i].pid != pid) {
            i++;
        }
        if (i == count) {
            continue;
        }
        ranks[i].pid = 0;
        left--;
        if (how != 0 && status == 0) {
            status = 1;
            if (WIFSIGNALED(how) && stop_signal == 0) {
                fprintf(stderr, "%s: rank %lld was killed by signal %d\n", program_name, (long long)i, WTERMSIG(how));
            }
            end_all(SIGTERM);
        }
    }
    return status;
}

int run_ranks(const struct train_options *options, char **argv)
{
    int64_t count = options->devices;
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    for (int64_t i = 0; i < count; i++) {
        start_rank(&ranks[i], i, argv, getpid());
    }
    (void)pass_root_info(count); /* it fails if a rank has ended, which is detected below */
    for (int64_t i = 0; i < count; i++) {
        close(ranks[i].fd);
    }
    int status = wait_for_all(count);
    return stop_signal != 0 ? 128 + stop_signal : status;
}
