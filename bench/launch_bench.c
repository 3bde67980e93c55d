/* SPDX-License-Identifier: Apache-2.0 */
/* Cost of a launch: host time of one launch to an idle stream, and launches per second through one stream. The task
 * is a host function that does nothing, so the figures are those of the queue and its worker. */
#include "bench.h"

#include "acl/acl.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define IDLE_ROUNDS  2000
#define STREAM_TASKS 1000000

static void nothing(void *data)
{
    (void)data;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Median over launches that find the worker asleep. */
static double idle_launch_ns(aclrtStream stream)
{
    static uint64_t ns[IDLE_ROUNDS];
    for (int i = 0; i < IDLE_ROUNDS; i++) {
        usleep(50); /* longer than the worker spins before it sleeps */
        uint64_t start = ms_clock_raw_ns();
        aclrtLaunchHostFunc(stream, nothing, NULL);
        ns[i] = ms_clock_raw_ns() - start;
    }
    aclrtSynchronizeStream(stream);
    qsort(ns, IDLE_ROUNDS, sizeof(ns[0]), by_value);
    return (double)ns[IDLE_ROUNDS / 2];
}

static void many(void *stream)
{
    for (int i = 0; i < STREAM_TASKS; i++) {
        aclrtLaunchHostFunc(stream, nothing, NULL);
    }
    aclrtSynchronizeStream(stream);
}

static void round_trips(void *stream)
{
    for (int i = 0; i < 10000; i++) {
        aclrtLaunchHostFunc(stream, nothing, NULL);
        aclrtSynchronizeStream(stream);
    }
}

/* For comparison: a function passed to a sleeping thread through a condition variable. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t there = PTHREAD_COND_INITIALIZER, back = PTHREAD_COND_INITIALIZER;
static int pending;

static void *answer(void *arg)
{
    pthread_mutex_lock(&lock);
    for (;;) {
        while (pending == 0) {
            pthread_cond_wait(&there, &lock);
        }
        pending = 0;
        pthread_cond_signal(&back);
    }
    return arg;
}

static void hand_round_trips(void *unused)
{
    (void)unused;
    for (int i = 0; i < 10000; i++) {
        pthread_mutex_lock(&lock);
        pending = 1;
        pthread_cond_signal(&there);
        while (pending != 0) {
            pthread_cond_wait(&back, &lock);
        }
        pthread_mutex_unlock(&lock);
    }
}

int main(void)
{
    aclrtStream stream;
    pthread_t thread;
    if (aclInit(NULL) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS || aclrtCreateStream(&stream) != ACL_SUCCESS ||
        pthread_create(&thread, NULL, answer, NULL) != 0) {
        return 1;
    }
    many(stream);
    bench_figure("launch to an idle stream, host time", idle_launch_ns(stream) / 1e3, "us", NULL, 0, "<= 2 us");
    double ns = bench_best_ns(many, stream, 3);
    bench_figure("launches through one stream", STREAM_TASKS * 1e6 / ns, "k/s", NULL, 0, ">= 300 k/s");
    double own = bench_best_ns(round_trips, stream, 3), hand = bench_best_ns(hand_round_trips, NULL, 3);
    bench_figure("launch and synchronise", own / 1e7, "us", "condition variables", own / hand, NULL);
    aclrtDestroyStream(stream);
    aclrtResetDevice(0);
    return 0;
}
