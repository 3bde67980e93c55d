/* SPDX-License-Identifier: Apache-2.0 */
/* Processes and threads that start and end in ways that no fork or thread-exit handler sees.
 *
 *     families WHAT [N]
 *
 * Sizes show which process allocated: see block(). */
#define _GNU_SOURCE
#include <ascend_hal.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ON_DEVICE_0 (1u << 10) /* space "device", device 0 */

/* From the driver: a forked child may use it, whereas the runtime refuses. */
static void *block(unsigned size)
{
    void *p = NULL;
    if (halMemAlloc(&p, size * 32768ull, ON_DEVICE_0) != 0) {
        _exit(90);
    }
    return p;
}

static int ended(pid_t pid)
{
    int status = -1;
    waitpid(pid, &status, __WALL);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

/* Parent and child allocate in turn after the fork; each frees what it had before. */
static int forked(pid_t (*split)(void))
{
    void *old = block(1);
    fflush(NULL);
    pid_t pid = split();
    if (pid == 0) {
        halMemFree(old); /* inherited from the parent */
        for (int i = 0; i < 100; i++) {
            halMemFree(block(2));
        }
        block(4);
        _exit(5);
    }
    for (int i = 0; i < 100; i++) {
        halMemFree(block(3));
    }
    int status = ended(pid);
    halMemFree(old);
    return status == 5 ? 0 : status;
}

static pid_t by_fork(void)
{
    return fork();
}

static pid_t by_clone(void) /* no handler of libc runs */
{
    return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

/* A child that shares the parent's memory until it execs. */
static int vforked(char **argv)
{
    halMemFree(block(1));
    pid_t pid = vfork();
    if (pid == 0) {
        execl("/proc/self/exe", argv[0], "plain", "2", (char *)NULL);
        _exit(98);
    }
    int status = ended(pid);
    halMemFree(block(3));
    return status;
}

static int plain(unsigned size)
{
    halMemFree(block(size));
    return 0;
}

/* Threads that end right after an event, by return, pthread_exit, cancellation, or with the process. */
static void *short_thread(void *argument)
{
    uintptr_t i = (uintptr_t)argument;
    void *p = block(1 + (unsigned)(i % 4));
    halMemFree(p);
    if (i % 3 == 1) {
        pthread_exit(NULL);
    }
    if (i % 3 == 2) {
        pthread_cancel(pthread_self());
        pthread_testcancel();
    }
    return NULL;
}

static int threads(unsigned n)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 65536);
    for (uintptr_t i = 0; i < n;) {
        pthread_t wave[64];
        unsigned k = 0;
        for (; k < 64 && i < n; k++, i++) {
            if (pthread_create(&wave[k], &attr, short_thread, (void *)i) != 0) {
                _exit(92);
            }
        }
        while (k > 0) {
            pthread_join(wave[--k], NULL);
        }
    }
    return 0;
}

static pthread_barrier_t all_there;

static void *long_thread(void *argument)
{
    void *p = block(1);
    pthread_barrier_wait(&all_there);
    halMemFree(p);
    return argument;
}

/* All of them alive at the same time. */
static int crowd(unsigned n)
{
    pthread_t *handles = calloc(n, sizeof(*handles));
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 65536);
    pthread_barrier_init(&all_there, NULL, n);
    for (unsigned i = 0; i < n; i++) {
        if (pthread_create(&handles[i], &attr, long_thread, NULL) != 0) {
            _exit(92);
        }
    }
    for (unsigned i = 0; i < n; i++) {
        pthread_join(handles[i], NULL);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    unsigned n = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    return strcmp(what, "fork") == 0      ? forked(by_fork)
           : strcmp(what, "clone") == 0   ? forked(by_clone)
           : strcmp(what, "vfork") == 0   ? vforked(argv)
           : strcmp(what, "threads") == 0 ? threads(n)
           : strcmp(what, "crowd") == 0   ? crowd(n)
                                          : plain(n);
}
