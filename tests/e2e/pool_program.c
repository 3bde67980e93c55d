/* SPDX-License-Identifier: Apache-2.0 */
/* Uses the caching pool in ways that waste reserved memory, and prints how much.
 * usage: pool_program split|blocked|clean */
#include "acl/acl.h"
#include "mstx/ms_tools_ext.h"
#include "npupool/npupool.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAIRS = 10, STEPS = 4, TIMES = 3 };
#define MIB ((size_t)1 << 20)

static npool_caching *pool;

static void check(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "%s failed: %s\n", what, npool_last_error());
        exit(1);
    }
}

static void *take(size_t size_b, aclrtStream stream)
{
    void *memory = NULL;
    check(npool_malloc(pool, &memory, size_b, stream) == 0, "npool_malloc");
    return memory;
}

static void give(void *memory)
{
    check(npool_free(pool, memory) == 0, "npool_free");
}

static uint64_t reserved(void)
{
    struct npool_stats stats;
    check(npool_get_stats(pool, 0, &stats) == 0, "npool_get_stats");
    return stats.reserved_bytes.current;
}

/* Busy for 2 ms. */
static void work(void)
{
    struct timespec from, now;
    clock_gettime(CLOCK_MONOTONIC, &from);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - from.tv_sec) * 1000000000L + now.tv_nsec - from.tv_nsec < 2000000);
}

/* Each segment of 20 MiB keeps a remainder of 1.5 MiB between and after its blocks, too small for any request. */
static void split(void)
{
    for (int i = 0; i < PAIRS; i++) {
        take(9 * MIB, NULL);
        take(19 * MIB / 2, NULL);
    }
    size_t given_b = npool_round_size(pool, 9 * MIB) + npool_round_size(pool, 19 * MIB / 2);
    printf("planted: kind=split wasted=%zu\n", PAIRS * (20 * MIB - given_b));
}

/* Memory freed by one stream cannot be used by another. */
__attribute__((noinline)) static void *of_another_stream(aclrtStream stream)
{
    return take(8 * MIB, stream);
}

static void blocked(void)
{
    aclrtStream stream = NULL;
    check(aclrtCreateStream(&stream) == 0, "aclrtCreateStream");
    give(take(8 * MIB, NULL));
    uint64_t before = reserved();
    of_another_stream(stream); /* never freed */
    printf("planted: kind=blocked reserved=%llu\n", (unsigned long long)(reserved() - before));
}

int main(int argc, char **argv)
{
    struct npool_config config;
    check(aclInit(NULL) == 0 && aclrtSetDevice(0) == 0, "aclInit");
    npool_config_default(&config);
    pool = npool_caching_create(&config);
    check(pool != NULL, "npool_caching_create");
    if (argc > 1 && strcmp(argv[1], "split") == 0) {
        split();
    } else if (argc > 1 && strcmp(argv[1], "blocked") == 0) {
        blocked();
    }
    for (int step = 0; step < STEPS; step++) {
        mstxRangeId range = mstxRangeStartA("step start", NULL);
        for (int i = 0; i < TIMES; i++) {
            void *memory = take(9 * MIB, NULL);
            work();
            give(memory);
        }
        mstxRangeEnd(range);
    }
    npool_caching_destroy(pool);
    return aclrtResetDevice(0) != 0 || aclFinalize() != 0;
}
