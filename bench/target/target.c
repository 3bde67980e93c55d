/* SPDX-License-Identifier: Apache-2.0 */
/* The recorded program of the benchmarks, on a driver and a runtime that do nothing.
 *
 *     target KIND THREADS TURNS FRAMES   threads that all work; prints the cost of a turn
 *     target first                       the first pair of a process and of 64 threads
 *     target killed COUNT                COUNT allocations, then SIGKILL
 *
 * Prints lines of `name value`: cpu (ns of processor time per turn), lap (the same for the fastest tenth of the turns;
 * the first sixteenth is never counted), wall (ns from the start of the first to the end of the last thread, per turn
 * of all threads), peak (KiB); first, thread (us). */
#include "work.h"

#include "ascend_hal.h"
#include "base/clock.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { THREADS_MAX = 64, LAPS = 10 };

static pthread_barrier_t barrier;
static int kind;
static unsigned turns, frames;

static unsigned turns_of_lap(unsigned lap)
{
    return turns / LAPS + (lap < turns % LAPS);
}

static void *worker(void *argument)
{
    double *laps = argument; /* LAPS of them */
    work_run(kind, turns / 16, frames);
    pthread_barrier_wait(&barrier);
    for (unsigned i = 0; i < LAPS; i++) {
        laps[i] = work_run(kind, turns_of_lap(i), frames);
    }
    pthread_barrier_wait(&barrier);
    return NULL;
}

static void work(unsigned threads)
{
    pthread_t thread[THREADS_MAX];
    static double laps[THREADS_MAX][LAPS];
    double cpu = 0, best = 0;
    pthread_barrier_init(&barrier, NULL, threads + 1);
    for (unsigned i = 0; i < threads; i++) {
        pthread_create(&thread[i], NULL, worker, laps[i]);
    }
    pthread_barrier_wait(&barrier);
    uint64_t start = ms_clock_raw_ns();
    pthread_barrier_wait(&barrier);
    double wall = (double)(ms_clock_raw_ns() - start);
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
    }
    for (unsigned k = 0; k < LAPS; k++) {
        double lap = 0;
        for (unsigned i = 0; i < threads; i++) {
            lap += laps[i][k];
        }
        cpu += lap;
        lap /= (double)turns_of_lap(k) * threads;
        best = k == 0 || lap < best ? lap : best;
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double count = (double)turns * threads;
    printf("cpu %.3f\nlap %.3f\nwall %.3f\npeak %ld\n", cpu / count, best, wall / count, usage.ru_maxrss);
}

static void *first_of_thread(void *result)
{
    *(double *)result = work_run(WORK_HAL, 1, 0);
    pthread_barrier_wait(&barrier); /* no thread reuses another one's stream */
    return NULL;
}

static int smaller(const void *a, const void *b)
{
    return *(const double *)a > *(const double *)b ? 1 : -1;
}

static void first(void)
{
    pthread_t thread[THREADS_MAX];
    double result[THREADS_MAX];
    double process_ns = work_run(WORK_HAL, 1, 0);
    pthread_barrier_init(&barrier, NULL, THREADS_MAX);
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        pthread_create(&thread[i], NULL, first_of_thread, &result[i]);
    }
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        pthread_join(thread[i], NULL);
    }
    qsort(result, THREADS_MAX, sizeof(result[0]), smaller);
    printf("first %.3f\nthread %.3f\n", process_ns / 1000, result[THREADS_MAX / 2] / 1000);
}

int main(int argc, char **argv)
{
    static const char *const kinds[WORK_KINDS] = {"hal", "pool", "places", "launch"};
    if (argc == 2 && strcmp(argv[1], "first") == 0) {
        first();
    } else if (argc == 3 && strcmp(argv[1], "killed") == 0) {
        for (long i = atol(argv[2]); i > 0; i--) {
            void *p;
            halMemAlloc(&p, 512, MEM_DEV | MEM_TYPE_HBM);
        }
        raise(SIGKILL);
    } else if (argc == 5) {
        while (kind < WORK_KINDS - 1 && strcmp(argv[1], kinds[kind]) != 0) {
            kind++;
        }
        turns = (unsigned)atoi(argv[3]);
        frames = (unsigned)atoi(argv[4]);
        work((unsigned)atoi(argv[2]));
    }
    return 0;
}
