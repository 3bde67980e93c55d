/* SPDX-License-Identifier: Apache-2.0 */
/* Two ranks in two processes, every collective. "root": they connect by root info, otherwise by the rank table
 * argv[1]. */
#include "hccl/hccl.h"

#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

#define RANKS 2u
#define COUNT 64u

#define DONE(call)                                                                                                     \
    do {                                                                                                               \
        HcclResult result_ = (call);                                                                                   \
        if (result_ != HCCL_SUCCESS) {                                                                                 \
            fail_at(__FILE__, __LINE__, "%s: %d, %s", #call, (int)result_, HcclGetErrorString(result_));               \
        }                                                                                                              \
    } while (0)

static HcclComm comm;
static aclrtStream stream;
static uint32_t rank;
static float *in, *out, host[COUNT * RANKS];

/* The input of a rank: element i is rank * 1000 + i. */
static void fill(void)
{
    for (uint32_t i = 0; i < COUNT * RANKS; i++) {
        host[i] = (float)(rank * 1000 + i);
    }
    OK(aclrtMemcpy(in, sizeof(host), host, sizeof(host), ACL_MEMCPY_HOST_TO_DEVICE));
    OK(aclrtMemset(out, sizeof(host), 0, sizeof(host)));
}

static float *result(void)
{
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtMemcpy(host, sizeof(host), out, sizeof(host), ACL_MEMCPY_DEVICE_TO_HOST));
    return host;
}

static void all_to_all_of_them(void)
{
    fill();
    DONE(HcclAllReduce(in, out, COUNT, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
    EXPECT(result()[5] == 1010);
    fill();
    DONE(HcclAllReduce(in, out, COUNT, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MAX, comm, stream));
    EXPECT(result()[5] == 1005);
    fill();
    DONE(HcclAllGather(in, out, COUNT, HCCL_DATA_TYPE_FP32, comm, stream));
    EXPECT(result()[5] == 5 && host[COUNT + 5] == 1005);
    fill();
    DONE(HcclReduceScatter(in, out, COUNT, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
    EXPECT(result()[5] == (float)(1000 + 2 * (rank * COUNT + 5)));
    fill();
    DONE(HcclAlltoAll(in, COUNT, HCCL_DATA_TYPE_FP32, out, COUNT, HCCL_DATA_TYPE_FP32, comm, stream));
    EXPECT(result()[5] == (float)(rank * COUNT + 5) && host[COUNT + 5] == (float)(1000 + rank * COUNT + 5));
    fill();
    uint64_t counts[RANKS] = {COUNT, COUNT}, places[RANKS] = {0, COUNT};
    DONE(
        HcclAlltoAllV(in, counts, places, HCCL_DATA_TYPE_FP32, out, counts, places, HCCL_DATA_TYPE_FP32, comm, stream));
    EXPECT(result()[COUNT + 5] == (float)(1000 + rank * COUNT + 5));
}

static void with_a_root(void)
{
    fill();
    DONE(HcclBroadcast(in, COUNT, HCCL_DATA_TYPE_FP32, 1, comm, stream));
    OK(aclrtSynchronizeStream(stream));
    OK(aclrtMemcpy(host, sizeof(host), in, sizeof(host), ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT(host[5] == 1005);
    fill();
    DONE(HcclReduce(in, out, COUNT, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_MIN, 0, comm, stream));
    EXPECT(rank != 0 || result()[5] == 5);
    OK(aclrtSynchronizeStream(stream));
    fill();
    DONE(HcclScatter(rank == 1 ? in : NULL, out, COUNT, HCCL_DATA_TYPE_FP32, 1, comm, stream));
    EXPECT(result()[5] == (float)(1000 + rank * COUNT + 5));
}

static void between_two(void)
{
    fill();
    if (rank == 0) {
        DONE(HcclSend(in, COUNT, HCCL_DATA_TYPE_FP32, 1, comm, stream));
        OK(aclrtSynchronizeStream(stream));
    } else {
        DONE(HcclRecv(out, COUNT, HCCL_DATA_TYPE_FP32, 0, comm, stream));
        EXPECT(result()[5] == 5);
    }
    fill();
    HcclSendRecvItem items[2] = {{HCCL_SEND, in, COUNT, HCCL_DATA_TYPE_FP32, 1 - rank},
                                 {HCCL_RECV, out, COUNT, HCCL_DATA_TYPE_FP32, 1 - rank}};
    DONE(HcclBatchSendRecv(items, 2, comm, stream));
    EXPECT(result()[5] == (float)((1 - rank) * 1000 + 5));
    DONE(HcclBarrier(comm, stream));
    OK(aclrtSynchronizeStream(stream));
    EXPECT(HcclSend(in, COUNT, HCCL_DATA_TYPE_FP32, 7, comm, stream) == HCCL_E_PARA);
    EXPECT(HcclAllReduce(NULL, out, COUNT, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream) == HCCL_E_PTR);
}

int main(int argc, char **argv)
{
    int fd[2];
    EXPECT(argc == 2 && pipe(fd) == 0);
    pid_t other = fork();
    EXPECT(other >= 0);
    rank = other == 0 ? 1 : 0;
    OK(aclInit(NULL));
    OK(aclrtSetDevice((int32_t)rank));
    OK(aclrtCreateStream(&stream));
    OK(aclrtMalloc((void **)&in, sizeof(host), ACL_MEM_MALLOC_HUGE_FIRST));
    OK(aclrtMalloc((void **)&out, sizeof(host), ACL_MEM_MALLOC_HUGE_FIRST));
    if (strcmp(argv[1], "root") == 0) {
        HcclRootInfo info;
        if (rank == 0) {
            DONE(HcclGetRootInfo(&info));
            EXPECT(write(fd[1], &info, sizeof(info)) == sizeof(info));
        } else {
            EXPECT(read(fd[0], &info, sizeof(info)) == sizeof(info));
        }
        HcclCommConfig config;
        HcclCommConfigInit(&config);
        config.hcclBufferSize = 4;
        strcpy(config.hcclCommName, "two_ranks");
        DONE(HcclCommInitRootInfoConfig(RANKS, &info, rank, &config, &comm));
        char name[COMM_NAME_MAX_LENGTH];
        DONE(HcclGetCommName(comm, name));
        EXPECT(strcmp(name, "two_ranks") == 0);
    } else {
        DONE(HcclCommInitClusterInfo(argv[1], rank, &comm));
    }
    uint32_t id = 9, size = 9;
    DONE(HcclGetRankId(comm, &id));
    DONE(HcclGetRankSize(comm, &size));
    EXPECT(id == rank && size == RANKS);
    all_to_all_of_them();
    with_a_root();
    between_two();
    HcclResult error = HCCL_E_INTERNAL;
    DONE(HcclGetCommAsyncError(comm, &error));
    EXPECT(error == HCCL_SUCCESS);
    DONE(HcclCommDestroy(comm));
    OK(aclrtFree(in));
    OK(aclrtFree(out));
    OK(aclrtDestroyStream(stream));
    OK(aclrtResetDevice((int32_t)rank));
    OK(aclFinalize());
    if (rank == 1) {
        return 0;
    }
    int status;
    EXPECT(waitpid(other, &status, 0) == other && status == 0);
    puts("ranks: all good");
    return 0;
}
