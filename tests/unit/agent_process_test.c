/* SPDX-License-Identifier: Apache-2.0 */
/* The agent with processes and threads: fork in all its forms, exec, hundreds of threads, signals. */
#include "agent_fixture.h"

#include "acl/acl.h"
#include "ascend_hal.h"

#include <errno.h>
#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define OK(call) assert_int_equal((call), 0)

static struct process *self;

static int set_up(void **state)
{
    uint32_t devices = 0; /* one function that is not hooked: hooked ones alone would not link the libraries */
    OK(aclInit(NULL));
    OK(aclrtGetDeviceCount(&devices));
    OK(aclrtSetDevice(0));
    self = own_process();
    return 0;
}

static int start(void **state)
{
    skip_records(self);
    return 0;
}

/* Frees an address unknown to the driver on purpose: needs no device after fork. */
static void free_unknown(uintptr_t addr)
{
    halMemFree((void *)addr);
}

static void expect_free(struct process *process, uintptr_t addr)
{
    assert_true(((const struct ms_p_addr *)next_record(process, MS_R_HAL_FREE, NULL))->addr == addr);
    next_record(process, MS_R_HAL_FREE_FAILED, NULL);
}

static void end_of(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, __WALL), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Child and parent both continue; each has its own memory, without records of the other. */
static void fork_registers_again(void **state)
{
    free_unknown(0x1000);
    pid_t pid = fork();
    if (pid == 0) {
        free_unknown(0x2000);
        free_unknown(0x3000);
        _exit(0);
    }
    free_unknown(0x4000);
    end_of(pid);
    struct process *child = session_wait();
    assert_int_equal(child->hello.pid, pid);
    assert_int_equal(child->hello.ppid, getpid());
    expect_free(child, 0x2000);
    expect_free(child, 0x3000);
    no_more_records(child);
    expect_free(self, 0x1000);
    expect_free(self, 0x4000);
    no_more_records(self);
}

static void silent_child_does_not_register(void **state)
{
    pid_t pid = fork();
    if (pid == 0) {
        _exit(0);
    }
    end_of(pid);
    assert_null(session_poll());
}

static void raw_clone_registers_again(void **state)
{
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        free_unknown(0x5000);
        syscall(SYS_exit_group, 0);
    }
    end_of(pid);
    struct process *child = session_wait();
    assert_int_equal(child->hello.pid, pid);
    expect_free(child, 0x5000);
    no_more_records(self);
}

static void grandchild_registers_again(void **state)
{
    pid_t pid = fork();
    if (pid == 0) {
        free_unknown(0x6000);
        pid_t next = fork();
        if (next == 0) {
            free_unknown(0x7000);
            _exit(0);
        }
        free_unknown(0x6001);
        int status;
        _exit(waitpid(next, &status, 0) == next ? 0 : 1);
    }
    end_of(pid);
    struct process *child = session_wait(), *grandchild = session_wait();
    assert_int_equal(child->hello.pid, pid);
    assert_int_equal(grandchild->hello.ppid, pid);
    expect_free(child, 0x6000);
    expect_free(child, 0x6001);
    no_more_records(child);
    expect_free(grandchild, 0x7000);
    no_more_records(grandchild);
}

/* A child of vfork is its parent until it execs. Emulators that turn it into a fork make it a child. */
static int in_vfork_child(void *argument)
{
    *(bool *)argument = true;
    free_unknown(0x8000);
    _exit(0);
}

static void vfork_records_as_its_parent(void **state)
{
    static _Alignas(16) char stack[65536];
    bool shared = false;
    pid_t pid = clone(in_vfork_child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &shared);
    assert_true(pid > 0);
    end_of(pid);
    free_unknown(0x8001);
    struct process *child = session_poll();
    assert_true((child == NULL) == shared);
    expect_free(shared ? self : child, 0x8000);
    expect_free(self, 0x8001);
    no_more_records(self);
}

static void *one_thread(void *argument)
{
    uintptr_t base = (uintptr_t)argument;
    for (uintptr_t i = 0; i < 10; i++) {
        free_unknown(base + i);
    }
    return NULL;
}

static void hundreds_of_threads(void **state)
{
    enum { THREADS = 300, AT_ONCE = 50 };
    pthread_t threads[AT_ONCE];
    for (uintptr_t i = 0; i < THREADS; i += AT_ONCE) {
        for (uintptr_t k = 0; k < AT_ONCE; k++) {
            OK(pthread_create(&threads[k], NULL, one_thread, (void *)(0x100000 + (i + k) * 16)));
        }
        for (unsigned k = 0; k < AT_ONCE; k++) {
            OK(pthread_join(threads[k], NULL));
        }
    }
    static struct seen seen[100000];
    size_t count = records_of(self, seen, 100000);
    unsigned frees[THREADS] = {0};
    for (size_t i = 0; i < count; i++) {
        const struct ms_p_addr *p = (const void *)(seen[i].record + 1);
        if (seen[i].record->kind == MS_R_HAL_FREE && p->addr >= 0x100000 && p->addr < 0x100000 + THREADS * 16) {
            unsigned thread = (unsigned)(p->addr - 0x100000) / 16;
            assert_int_equal((p->addr - 0x100000) % 16, frees[thread]); /* in order */
            frees[thread]++;
        }
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(frees[i], 10);
    }
    assert_true(self->shm->streams_used <= AT_ONCE + 8); /* streams are reused */
}

/* A signal handler with an event interrupts a thread that is recording: no record is torn, and lost ones are
 * counted. */
static volatile sig_atomic_t from_handler;

static void handler(int signal)
{
    free_unknown(0x900000);
    from_handler++;
}

static void signals_while_recording(void **state)
{
    enum { OWN = 200000, ENOUGH = 200 };
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct itimerval often = {.it_interval = {.tv_usec = 50}, .it_value = {.tv_usec = 50}}, never = {0};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    unsigned own = 0;
    while (own < 20000 || (from_handler < ENOUGH && own < OWN)) {
        free_unknown(0xa00000);
        own++;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    free_unknown(0xa00001); /* carries the count of records lost before it */

    static struct seen seen[1000000];
    size_t count = records_of(self, seen, 1000000);
    uint64_t recorded = 0, lost = 0;
    for (size_t i = 0; i < count; i++) {
        const struct ms_p_addr *p = (const void *)(seen[i].record + 1);
        if (seen[i].record->kind == MS_R_HAL_FREE && (p->addr == 0xa00000 || p->addr == 0x900000)) {
            recorded++;
        } else if (seen[i].record->kind == MS_R_GAP) {
            const struct ms_p_gap *gap = (const void *)(seen[i].record + 1);
            assert_int_equal(gap->cause, MS_GAP_REENTERED);
            lost += gap->lost_free;
        }
    }
    assert_int_equal(recorded + lost, own + (unsigned)from_handler);
    assert_true(recorded >= own);
}

static void thread_that_ends_while_others_record(void **state)
{
    pthread_t a, b;
    skip_records(self);
    OK(pthread_create(&a, NULL, one_thread, (void *)0xb00000));
    OK(pthread_create(&b, NULL, one_thread, (void *)0xc00000));
    for (unsigned i = 0; i < 100; i++) {
        free_unknown(0xd00000);
    }
    OK(pthread_join(a, NULL));
    OK(pthread_join(b, NULL));
}

int main(int argc, char **argv)
{
    session_begin(argv, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(fork_registers_again, start),
        cmocka_unit_test_setup(silent_child_does_not_register, start),
        cmocka_unit_test_setup(raw_clone_registers_again, start),
        cmocka_unit_test_setup(grandchild_registers_again, start),
        cmocka_unit_test_setup(vfork_records_as_its_parent, start),
        cmocka_unit_test_setup(hundreds_of_threads, start),
        cmocka_unit_test_setup(thread_that_ends_while_others_record, start),
        cmocka_unit_test_setup(signals_while_recording, start),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
