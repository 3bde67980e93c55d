/* SPDX-License-Identifier: Apache-2.0 */
/* Collectives between two processes, against a memcpy of the same number of bytes in one of them. */
#include "bench.h"

#include "acl/acl.h"
#include "hccl/hccl.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define RANKS   2
#define LARGE_B (64u << 20)
#define SMALL_B 1024u

#define OK(call)                                                                                                       \
    do {                                                                                                               \
        int result_ = (int)(call);                                                                                     \
        if (result_ != 0) {                                                                                            \
            const char *why_ = aclGetRecentErrMsg();                                                                   \
            fprintf(stderr, "%s: %d %s\n", #call, result_, why_ != NULL ? why_ : "");                                  \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

struct board {
    uint32_t ready;
    HcclRootInfo info;
};

struct rank {
    uint32_t rank;
    HcclComm comm;
    aclrtStream stream;
    void *send, *recv;
    uint64_t size_b;
};

static void all_reduce(void *arg)
{
    struct rank *r = arg;
    OK(HcclAllReduce(r->send, r->recv, r->size_b / 4, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, r->comm, r->stream));
    OK(aclrtSynchronizeStream(r->stream));
}

static void all_gather(void *arg)
{
    struct rank *r = arg;
    OK(HcclAllGather(r->send, r->recv, r->size_b / 4 / RANKS, HCCL_DATA_TYPE_FP32, r->comm, r->stream));
    OK(aclrtSynchronizeStream(r->stream));
}

static void broadcast(void *arg)
{
    struct rank *r = arg;
    OK(HcclBroadcast(r->recv, r->size_b / 4, HCCL_DATA_TYPE_FP32, 0, r->comm, r->stream));
    OK(aclrtSynchronizeStream(r->stream));
}

static void send_receive(void *arg)
{
    struct rank *r = arg;
    if (r->rank == 0) {
        OK(HcclSend(r->send, r->size_b / 4, HCCL_DATA_TYPE_FP32, 1, r->comm, r->stream));
    } else {
        OK(HcclRecv(r->recv, r->size_b / 4, HCCL_DATA_TYPE_FP32, 0, r->comm, r->stream));
    }
    OK(aclrtSynchronizeStream(r->stream));
}

static void copy(void *arg)
{
    struct rank *r = arg;
    memcpy(r->recv, r->send, r->size_b);
}

static void measure(struct rank *r)
{
    static const struct {
        const char *name, *goal;
        void (*fn)(void *);
    } large[] = {
        {"HcclAllReduce 64 MiB float32, 2 processes", "a few copies", all_reduce},
        {"HcclAllGather 2 x 32 MiB", NULL, all_gather},
        {"HcclBroadcast 64 MiB", NULL, broadcast},
        {"HcclSend/HcclRecv 64 MiB", NULL, send_receive},
    };
    r->size_b = LARGE_B;
    double copy_ns = r->rank == 0 ? bench_best_ns(copy, r, 10) : 0;
    for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
        double ns = bench_best_ns(large[i].fn, r, 10);
        if (r->rank == 0) {
            bench_figure(large[i].name, LARGE_B / ns, "GB/s", "time of memcpy", ns / copy_ns, large[i].goal);
        }
    }
    r->size_b = SMALL_B;
    enum { TIMES = 2000 };
    uint64_t start = ms_clock_raw_ns();
    for (int i = 0; i < TIMES; i++) {
        OK(HcclAllReduce(r->send, r->recv, SMALL_B / 4, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, r->comm, r->stream));
    }
    OK(aclrtSynchronizeStream(r->stream));
    double each_us = (double)(ms_clock_raw_ns() - start) / TIMES / 1e3;
    if (r->rank == 0) {
        bench_figure("HcclAllReduce 1 KiB, queued in a row", each_us, "us", NULL, 0, NULL);
    }
}

static void rank_main(uint32_t rank, struct board *board)
{
    struct rank r = {.rank = rank};
    OK(aclInit(NULL));
    OK(aclrtSetDevice((int32_t)rank));
    OK(aclrtCreateStream(&r.stream));
    if (rank == 0) {
        OK(HcclGetRootInfo(&board->info));
        __atomic_store_n(&board->ready, 1, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&board->ready, __ATOMIC_ACQUIRE) == 0) {
        sched_yield();
    }
    OK(HcclCommInitRootInfo(RANKS, &board->info, rank, &r.comm));
    OK(aclrtMalloc(&r.send, LARGE_B, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc(&r.recv, LARGE_B, ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMemset(r.send, LARGE_B, 0, LARGE_B));
    OK(aclrtMemset(r.recv, LARGE_B, 0, LARGE_B));
    measure(&r);
    OK(HcclCommDestroy(r.comm));
    OK(aclFinalize());
}

int main(void)
{
    struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int failed = board == MAP_FAILED;
    for (uint32_t rank = 0; rank < RANKS && !failed; rank++) {
        if (fork() == 0) {
            rank_main(rank, board);
            return 0;
        }
    }
    int status;
    while (wait(&status) > 0) {
        failed |= status;
    }
    return failed != 0;
}
