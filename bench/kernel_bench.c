/* SPDX-License-Identifier: Apache-2.0 */
/* Cost of launching a kernel: host time of one launch to an idle stream, launches per second through one stream for
 * each way of passing arguments, and how blocks spread over the cores. */
#include "bench.h"

#include "acl/acl.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define IDLE_ROUNDS 2000
#define LAUNCHES    300000
#define ARGS_B      64

static aclrtStream stream;
static aclrtFuncHandle nothing, spin;
static char args[ARGS_B];

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Median over launches that find the stream's thread asleep. */
static double idle_launch_ns(void)
{
    static uint64_t ns[IDLE_ROUNDS];
    for (int i = 0; i < IDLE_ROUNDS; i++) {
        usleep(50);
        uint64_t start = ms_clock_raw_ns();
        aclrtLaunchKernel(nothing, 1, args, ARGS_B, stream);
        ns[i] = ms_clock_raw_ns() - start;
    }
    aclrtSynchronizeStream(stream);
    qsort(ns, IDLE_ROUNDS, sizeof(ns[0]), by_value);
    return (double)ns[IDLE_ROUNDS / 2];
}

static void plain(void *unused)
{
    (void)unused;
    for (int i = 0; i < LAUNCHES; i++) {
        aclrtLaunchKernel(nothing, 1, args, ARGS_B, stream);
    }
    aclrtSynchronizeStream(stream);
}

static void with_placeholder(void *unused)
{
    (void)unused;
    aclrtPlaceHolderInfo hole = {0, 32};
    for (int i = 0; i < LAUNCHES; i++) {
        aclrtLaunchKernelWithHostArgs(nothing, 1, stream, NULL, args, ARGS_B, &hole, 1);
    }
    aclrtSynchronizeStream(stream);
}

static void with_list(void *unused)
{
    (void)unused;
    for (int i = 0; i < LAUNCHES; i++) {
        aclrtArgsHandle list;
        aclrtParamHandle param;
        aclrtKernelArgsInit(nothing, &list);
        aclrtKernelArgsAppend(list, args, 8, &param);
        aclrtKernelArgsAppend(list, args, 8, &param);
        aclrtKernelArgsFinalize(list);
        aclrtLaunchKernelWithConfig(nothing, 1, stream, NULL, list, NULL);
    }
    aclrtSynchronizeStream(stream);
}

static void spin_blocks(void *blocks)
{
    uint64_t rounds = 2000000;
    for (uint32_t i = 0; i < 64 / *(uint32_t *)blocks; i++) {
        aclrtLaunchKernel(spin, *(uint32_t *)blocks, &rounds, sizeof(rounds), stream);
    }
    aclrtSynchronizeStream(stream);
}

int main(void)
{
    const char *build = getenv("NPUSCOPE_BUILD");
    char path[1024];
    aclrtBinHandle bin = NULL;
    snprintf(path, sizeof(path), "%s/bench/bench_kernels.so", build != NULL ? build : "build");
    if (aclInit(NULL) != 0 || aclrtSetDevice(0) != 0 || aclrtCreateStream(&stream) != 0 ||
        aclrtBinaryLoadFromFile(path, NULL, &bin) != 0 || aclrtBinaryGetFunction(bin, "nothing", &nothing) != 0 ||
        aclrtBinaryGetFunction(bin, "spin", &spin) != 0) {
        const char *why = aclGetRecentErrMsg();
        fprintf(stderr, "kernel: %s\n", why != NULL ? why : "no device");
        return 1;
    }
    bench_figure("kernel launch to an idle stream, host time", idle_launch_ns() / 1000, "us", NULL, 0, "<= 2 us");
    double ns = bench_best_ns(plain, NULL, 3);
    bench_figure("kernel launches through one stream", LAUNCHES / ns * 1e6, "k/s", NULL, 0, ">= 300 k/s");
    double other = bench_best_ns(with_placeholder, NULL, 3);
    bench_figure("the same with a placeholder", LAUNCHES / other * 1e6, "k/s", "without", ns / other, NULL);
    other = bench_best_ns(with_list, NULL, 3);
    bench_figure("the same with a new argument list each", LAUNCHES / other * 1e6, "k/s", "without", ns / other, NULL);
    uint32_t one = 1, many = 32;
    ns = bench_best_ns(spin_blocks, &one, 3);
    other = bench_best_ns(spin_blocks, &many, 3);
    bench_figure("64 long blocks, 32 to a kernel", other / 1e6, "ms", "one to a kernel", ns / other,
                 "cores of the machine");
    aclrtBinaryUnLoad(bin);
    aclrtDestroyStream(stream);
    aclrtResetDevice(0);
    return aclFinalize() != 0;
}
