/* SPDX-License-Identifier: Apache-2.0 */
/* halMemAlloc + halMemFree of sizes that are in the cache: one thread, and up to eight that share the device. With more
 * threads than processors the figure is wall time per pair over all of them, which for a perfect allocator is the
 * time of one thread divided by the number of processors. */
#include "ascend_hal.h"
#include "bench.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { PAIRS = 200000, REPEATS = 5, MAX_THREADS = 8 };

struct work {
    unsigned threads;
    unsigned long long size, flag;
    pthread_barrier_t start;
    unsigned pairs_each;
};

static void *pairs(void *argument)
{
    struct work *w = argument;
    pthread_barrier_wait(&w->start);
    for (unsigned i = 0; i < w->pairs_each; i++) {
        void *p;
        if (halMemAlloc(&p, w->size, w->flag) != DRV_ERROR_NONE || halMemFree(p) != DRV_ERROR_NONE) {
            abort();
        }
    }
    return NULL;
}

static void run(void *argument)
{
    struct work *w = argument;
    pthread_t t[MAX_THREADS];
    for (unsigned i = 0; i < w->threads; i++) {
        pthread_create(&t[i], NULL, pairs, w);
    }
    for (unsigned i = 0; i < w->threads; i++) {
        pthread_join(t[i], NULL);
    }
}

static double pair_ns(unsigned threads, unsigned long long size, unsigned long long flag)
{
    struct work w = {.threads = threads, .size = size, .flag = flag, .pairs_each = PAIRS / threads};
    pthread_barrier_init(&w.start, NULL, threads);
    double ns = bench_best_ns(run, &w, REPEATS) / (w.pairs_each * threads);
    pthread_barrier_destroy(&w.start);
    return ns;
}

int main(void)
{
    char name[64];
    snprintf(name, sizeof(name), "bench-%d", (int)getpid());
    setenv("SOFTNPU_MACHINE", name, 1);
    static const unsigned long long app = (unsigned long long)33 << MEM_MODULE_ID_BIT;
    double one = 0;
    for (unsigned threads = 1; threads <= MAX_THREADS; threads *= 2) {
        char figure[64];
        double ns = pair_ns(threads, 65536, MEM_DEV | MEM_TYPE_HBM | app);
        one = threads == 1 ? ns : one;
        snprintf(figure, sizeof(figure), "halMemAlloc+halMemFree 64 KiB, %u thread%s", threads, threads > 1 ? "s" : "");
        bench_figure(figure, ns, "ns per pair", threads > 1 ? "one thread" : "1.5 us", ns / (threads > 1 ? one : 1500),
                     threads > 1 ? "<= 3" : "<= 1");
    }
    double huge = pair_ns(1, 4 << 20, MEM_DEV | MEM_TYPE_HBM | MEM_PAGE_HUGE | app);
    bench_figure("halMemAlloc+halMemFree 4 MiB huge", huge, "ns per pair", "64 KiB", huge / one, "<= 1.5");
    char path[128];
    snprintf(path, sizeof(path), "/dev/shm/softnpu-%u-%s", (unsigned)geteuid(), name);
    unlink(path);
    return 0;
}
