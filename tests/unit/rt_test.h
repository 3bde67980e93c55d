/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the runtime tests: a machine of their own, and ways to block a stream. */
#ifndef RT_TEST_H
#define RT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "acl/acl.h"
#include "softnpu/runtime/error.h"
#include "softnpu/runtime/task.h"

#include <pthread.h>
#include <semaphore.h>
#include "own_machine.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define OK(call)          assert_int_equal((call), ACL_SUCCESS)
#define FAILS(call, code) assert_int_equal((call), (code))

static inline void own_machine(void)
{
    own_machine_use("2", NULL);
}

/* Group fixtures: the main thread uses device 0. */
static inline int on_device(void **state)
{
    (void)state;
    return aclrtSetDevice(0) == ACL_SUCCESS ? 0 : -1;
}

static inline int off_device(void **state)
{
    (void)state;
    return aclrtResetDeviceForce(0) == ACL_SUCCESS ? 0 : -1;
}

static inline double now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

/* Waits until a condition holds; fails the test after ten seconds. */
#define EVENTUALLY(condition)                                                                                          \
    do {                                                                                                               \
        double limit_ = now_ms() + 10000;                                                                              \
        while (!(condition)) {                                                                                         \
            assert_true(now_ms() < limit_);                                                                            \
            usleep(200);                                                                                               \
        }                                                                                                              \
    } while (0)

/* A gate in a stream that blocks it until opened. It may be on a test's stack: the stream does not access it after
 * gate_open has returned. */
struct gate {
    sem_t entered, open;
    uint32_t passed; /* the stream's last write */
};

static inline void gate_task(void *data)
{
    struct gate *gate = data;
    sem_post(&gate->entered);
    while (sem_wait(&gate->open) != 0) {
    }
    __atomic_store_n(&gate->passed, 1, __ATOMIC_RELEASE);
}

static inline void gate_close(struct gate *gate, aclrtStream stream)
{
    sem_init(&gate->entered, 0, 0);
    sem_init(&gate->open, 0, 0);
    gate->passed = 0;
    OK(aclrtLaunchHostFunc(stream, gate_task, gate));
}

static inline void gate_wait_entered(struct gate *gate)
{
    while (sem_wait(&gate->entered) != 0) {
    }
}

static inline void gate_open(struct gate *gate)
{
    sem_post(&gate->open);
    EVENTUALLY(__atomic_load_n(&gate->passed, __ATOMIC_ACQUIRE) != 0);
}

/* A thread announces that it is about to wait; others then check whether it sleeps. */
static inline void thread_announce(pid_t *tid)
{
    __atomic_store_n(tid, gettid(), __ATOMIC_SEQ_CST);
}

static inline bool thread_sleeps(pid_t *announced)
{
    char path[64], line[256] = "";
    pid_t tid = __atomic_load_n(announced, __ATOMIC_SEQ_CST);
    if (tid == 0) {
        return false;
    }
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        if (fgets(line, sizeof(line), file) == NULL) {
            line[0] = '\0';
        }
        fclose(file);
    }
    const char *state = strrchr(line, ')');
    return state != NULL && state[1] == ' ' && state[2] == 'S';
}

static inline void count_up(void *data)
{
    __atomic_fetch_add((int *)data, 1, __ATOMIC_SEQ_CST);
}

static inline int count_of(int *counter)
{
    return __atomic_load_n(counter, __ATOMIC_SEQ_CST);
}

#endif
