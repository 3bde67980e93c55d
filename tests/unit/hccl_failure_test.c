/* SPDX-License-Identifier: Apache-2.0 */
/* libhccl.so under failure: ranks that die, disagree, never join or are stopped; bad arguments; out of memory. */
#include "hccl_ranks.h"

/* ---- failures ---- */

static void one_dies(struct rank *r)
{
    OK(join_with(r, "info", NULL));
    void *buffer = device_memory(NULL, 1 << 20);
    struct ref_case c = {HCCL_KIND_ALL_REDUCE, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, 0, 5000, r->n, 5};
    one_case(r, &c);
    if (r->rank == 1) {
        kill(getpid(), SIGKILL);
    }
    uint64_t start_ns = ms_clock_raw_ns();
    HcclResult error = HCCL_SUCCESS;
    OK(HcclGetCommAsyncError(r->comm, &error));
    HcclResult queued =
        HcclAllReduce(buffer, buffer, 1 << 18, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, r->comm, r->stream);
    CHECK(queued == HCCL_SUCCESS || queued == HCCL_E_REMOTE); /* the death may already have been detected */
    if (queued == HCCL_SUCCESS) {
        CHECK(aclrtSynchronizeStream(r->stream) == ACL_ERROR_RT_SUSPECT_REMOTE_ERROR);
    }
    CHECK(ms_clock_raw_ns() - start_ns < 10000000000ull);
    OK(HcclGetCommAsyncError(r->comm, &error));
    CHECK(error == HCCL_E_REMOTE);
    const char *text = aclGetRecentErrMsg();
    CHECK(text != NULL && strstr(text, "communicator") != NULL);
    CHECK(HcclBarrier(r->comm, r->stream) == HCCL_E_REMOTE);
    OK(HcclCommDestroy(r->comm));
}

static void dead_rank(void **state)
{
    clear_folder();
    pid_t pids[3];
    for (uint32_t r = 0; r < 3; r++) {
        pids[r] = start("one_dies", r, 3);
    }
    assert_int_equal(finish(pids[1]), 1000 + SIGKILL);
    assert_int_equal(finish(pids[0]), 0);
    assert_int_equal(finish(pids[2]), 0);
}

static void disagree(struct rank *r)
{
    OK(join_with(r, "info", NULL));
    char fill[4096];
    memset(fill, 0x5a, sizeof(fill));
    void *send = device_memory(fill, sizeof(fill)), *recv = device_memory(fill, sizeof(fill));
    OK(HcclAllReduce(send, recv, 100 + r->rank, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, r->comm, r->stream));
    CHECK(aclrtSynchronizeStream(r->stream) == ACL_ERROR_RT_AICPU_EXCEPTION);
    CHECK(device_equals(recv, fill, sizeof(fill)));
    HcclResult error = HCCL_SUCCESS;
    OK(HcclGetCommAsyncError(r->comm, &error));
    CHECK(error == HCCL_E_PARA);
    CHECK(strstr(aclGetRecentErrMsg(), "count 10") != NULL);
    CHECK(HcclBarrier(r->comm, r->stream) == HCCL_E_PARA);

    /* All restart. */
    OK(HcclCommResume(r->comm));
    OK(HcclGetCommAsyncError(r->comm, &error));
    CHECK(error == HCCL_SUCCESS);
    struct ref_case c = {HCCL_KIND_ALL_REDUCE, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, 0, 5000, r->n, 5};
    one_case(r, &c);
    OK(HcclCommDestroy(r->comm));
}

static void absent(struct rank *r)
{
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    config.hcclExecTimeOut = 1;
    OK(join_with(r, "info", &config));
    char done = 1;
    if (r->rank == 0) {
        OK(HcclBarrier(r->comm, r->stream));
        CHECK(aclrtSynchronizeStream(r->stream) == ACL_ERROR_RT_TASK_TIMEOUT);
        leave("timed_out", &done, 1);
    } else {
        await("timed_out", &done, 1);
        HcclResult error = HCCL_SUCCESS;
        OK(HcclGetCommAsyncError(r->comm, &error));
        CHECK(error == HCCL_E_TIMEOUT);
    }
    OK(HcclCommDestroy(r->comm));
}

static void suspended(struct rank *r)
{
    OK(join_with(r, "info", NULL));
    char done = 1;
    if (r->rank == 0) { /* waits for the others, which do not arrive */
        OK(HcclBarrier(r->comm, r->stream));
        OK(HcclCommSuspend(r->comm));
        CHECK(aclrtSynchronizeStream(r->stream) == ACL_ERROR_RT_DEVICE_TASK_ABORT);
        leave("stopped", &done, 1);
    } else {
        await("stopped", &done, 1);
        OK(HcclCommSuspend(r->comm));
    }
    HcclResult error = HCCL_SUCCESS;
    OK(HcclGetCommAsyncError(r->comm, &error));
    CHECK(error == HCCL_E_SUSPENDING);
    CHECK(HcclBarrier(r->comm, r->stream) == HCCL_E_SUSPENDING);
    OK(HcclCommResume(r->comm));
    struct ref_case c = {HCCL_KIND_ALL_GATHER, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, 0, 5000, r->n, 5};
    one_case(r, &c);
    OK(HcclCommResume(r->comm)); /* nothing to resume */
    OK(HcclCommDestroy(r->comm));
}

/* The stream is destroyed with an operation in it: the others must be notified. */
static void aborted(struct rank *r)
{
    OK(join_with(r, "info", NULL));
    char done = 1;
    if (r->rank == 0) {
        OK(HcclBarrier(r->comm, r->stream));
        OK(HcclBarrier(r->comm, r->stream));
        OK(aclrtStreamAbort(r->stream));
        OK(aclrtDestroyStreamForce(r->stream));
        leave("aborted", &done, 1);
    } else {
        await("aborted", &done, 1);
        HcclResult error = HCCL_SUCCESS;
        OK(HcclGetCommAsyncError(r->comm, &error));
        CHECK(error == HCCL_E_REMOTE);
    }
    OK(HcclCommDestroy(r->comm));
}

/* A buffer that was freed before the stream reaches it: an error of the stream, not a crash. */
static void freed(struct rank *r)
{
    OK(join_with(r, "info", NULL));
    void *b = device_memory(NULL, 8 << 20);
    char done = 1;
    if (r->rank == 0) {
        OK(HcclBarrier(r->comm, r->stream)); /* blocks the stream until the other rank arrives */
        OK(HcclAllReduce(b, b, 2 << 20, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, r->comm, r->stream));
        OK(aclrtFree(b));
        leave("freed", &done, 1);
    } else {
        await("freed", &done, 1);
        OK(HcclBarrier(r->comm, r->stream));
        HcclResult queued = HcclAllReduce(b, b, 2 << 20, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, r->comm, r->stream);
        CHECK(queued == HCCL_SUCCESS || queued == HCCL_E_MEMORY);
    }
    CHECK(aclrtSynchronizeStream(r->stream) == ACL_ERROR_RT_DEVICE_MEM_ERROR || r->rank == 1);
    HcclResult error = HCCL_SUCCESS;
    OK(HcclGetCommAsyncError(r->comm, &error));
    CHECK(error == HCCL_E_MEMORY);
    OK(HcclCommDestroy(r->comm));
}

static void failures(void **state)
{
    play("freed", 2);
    play("disagree", 2);
    play("absent", 2);
    play("suspended", 3);
    play("aborted", 2);
}

/* ---- setting up ---- */

static void wrong_setup(struct rank *r)
{
    HcclRootInfo info, broken;
    OK(HcclGetRootInfo(&info));
    CHECK(HcclGetRootInfo(NULL) == HCCL_E_PTR);
    CHECK(HcclCommInitRootInfo(2, NULL, 0, &r->comm) == HCCL_E_PTR);
    CHECK(HcclCommInitRootInfo(2, &info, 0, NULL) == HCCL_E_PTR);
    CHECK(HcclCommInitRootInfo(0, &info, 0, &r->comm) == HCCL_E_PARA);
    CHECK(HcclCommInitRootInfo(2, &info, 2, &r->comm) == HCCL_E_PARA);
    CHECK(HcclCommInitRootInfo(1000000, &info, 2, &r->comm) == HCCL_E_PARA);
    memset(&broken, 0, sizeof(broken));
    CHECK(HcclCommInitRootInfo(1, &broken, 0, &r->comm) == HCCL_E_PARA);
    broken = info;
    broken.internal[40] ^= 1;
    CHECK(HcclCommInitRootInfo(1, &broken, 0, &r->comm) == HCCL_E_PARA);
    setenv("HCCL_CONNECT_TIMEOUT", "1", 1);
    CHECK(HcclCommInitRootInfo(2, &info, 0, &r->comm) == HCCL_E_TIMEOUT);
    CHECK(strstr(aclGetRecentErrMsg(), "1 of 2") != NULL);
    CHECK(HcclCommInitRootInfo(2, &info, 1, &r->comm) == HCCL_E_NOT_FOUND); /* it is over */

    HcclCommConfig config;
    OK(HcclGetRootInfo(&info));
    memset(&config, 0, sizeof(config));
    CHECK(HcclCommInitRootInfoConfig(1, &info, 0, &config, &r->comm) == HCCL_E_PARA);
    CHECK(HcclCommInitRootInfoConfig(1, &info, 0, NULL, &r->comm) == HCCL_E_PTR);
    HcclCommConfigInit(&config);
    config.hcclBufferSize = 0;
    CHECK(HcclCommInitRootInfoConfig(1, &info, 0, &config, &r->comm) == HCCL_E_PARA);
    HcclCommConfigInit(&config);
    memset(config.hcclCommName, 'x', sizeof(config.hcclCommName));
    CHECK(HcclCommInitRootInfoConfig(1, &info, 0, &config, &r->comm) == HCCL_E_PARA);
    HcclCommConfigInit(&config);
    config.hcclBufferSize = 1 << 20;
    CHECK(HcclCommInitRootInfoConfig(1, &info, 0, &config, &r->comm) == HCCL_E_OOM);
    HcclCommConfigInit(&config);
    size_t old = 32; /* a caller of the first version does not have the fields that follow */
    memcpy(config.reserved, &old, sizeof(old));
    memset(config.hcclCommName, 'x', sizeof(config.hcclCommName));
    OK(HcclCommInitRootInfoConfig(1, &info, 0, &config, &r->comm));
    OK(HcclCommDestroy(r->comm));
}

static void setup(void **state)
{
    play("wrong_setup", 1);
}

/* Two buffers per communicator, as the memory of the device shows. */
static void reserved_memory(struct rank *r)
{
    size_t free_before, free_with, free_after, total;
    HcclRootInfo info;
    HcclCommConfig config;
    HcclCommConfigInit(&config);
    config.hcclBufferSize = 64;
    OK(HcclGetRootInfo(&info));
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_before, &total));
    OK(HcclCommInitRootInfoConfig(1, &info, 0, &config, &r->comm));
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_with, &total));
    CHECK(free_before - free_with == 128u << 20);
    OK(HcclCommDestroy(r->comm));
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_after, &total));
    CHECK(free_after == free_before);
    unsetenv("HCCL_BUFFSIZE");
    OK(HcclGetRootInfo(&info));
    OK(HcclCommInitRootInfo(1, &info, 0, &r->comm));
    OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_with, &total));
    CHECK(free_before - free_with == 400u << 20);
    OK(aclrtResetDeviceForce((int32_t)r->rank)); /* frees them; destroying afterwards is allowed */
    OK(HcclCommDestroy(r->comm));
}

static void buffers(void **state)
{
    play("reserved_memory", 1);
}

/* ---- arguments ---- */

static void wrong_arguments(struct rank *r)
{
    OK(join_with(r, "info", NULL));
    void *b = device_memory(NULL, 4096);
    HcclComm c = r->comm;
    aclrtStream s = r->stream;
    const HcclDataType f = HCCL_DATA_TYPE_FP32;
    const HcclReduceOp sum = HCCL_REDUCE_SUM;
    static char host[64];
    int not_a_comm;
    CHECK(HcclAllReduce(b, b, 1, f, sum, NULL, s) == HCCL_E_PTR);
    CHECK(HcclAllReduce(b, b, 1, f, sum, &not_a_comm, s) == HCCL_E_PARA);
    CHECK(HcclAllReduce(b, b, 1, f, sum, (char *)c + 8, s) == HCCL_E_PARA);
    CHECK(HcclAllReduce(b, b, 1, f, sum, c, NULL) == HCCL_E_PTR);
    CHECK(HcclAllReduce(b, b, 1, f, sum, c, &not_a_comm) == HCCL_E_PARA);
    CHECK(HcclAllReduce(NULL, b, 1, f, sum, c, s) == HCCL_E_PTR);
    CHECK(HcclAllReduce(b, NULL, 1, f, sum, c, s) == HCCL_E_PTR);
    CHECK(HcclAllReduce(host, b, 1, f, sum, c, s) == HCCL_E_PARA);
    CHECK(HcclAllReduce(b, b, 1ull << 40, f, sum, c, s) == HCCL_E_PARA);
    CHECK(HcclAllReduce(b, b, UINT64_MAX, f, sum, c, s) == HCCL_E_PARA);
    CHECK(HcclAllReduce(b, b, 1, (HcclDataType)13, sum, c, s) == HCCL_E_NOT_SUPPORT);
    CHECK(HcclAllReduce(b, b, 1, HCCL_DATA_TYPE_RESERVED, sum, c, s) == HCCL_E_NOT_SUPPORT);
    CHECK(HcclAllReduce(b, b, 1, HCCL_DATA_TYPE_INT128, sum, c, s) == HCCL_E_NOT_SUPPORT);
    CHECK(HcclAllReduce(b, b, 1, f, (HcclReduceOp)4, c, s) == HCCL_E_NOT_SUPPORT);
    CHECK(HcclAllReduce(NULL, NULL, 0, f, sum, c, s) == HCCL_SUCCESS);
    CHECK(HcclBroadcast(b, 1, f, 1, c, s) == HCCL_E_PARA);
    CHECK(HcclReduce(b, b, 1, f, sum, 1, c, s) == HCCL_E_PARA);
    CHECK(HcclScatter(b, b, 1, f, 7, c, s) == HCCL_E_PARA);
    CHECK(HcclSend(b, 1, f, 1, c, s) == HCCL_E_PARA);
    CHECK(HcclRecv(b, 1, f, 9, c, s) == HCCL_E_PARA);
    CHECK(HcclAlltoAll(b, 1, f, b, 2, f, c, s) == HCCL_E_PARA);
    CHECK(HcclAlltoAll(b, 1, f, b, 1, HCCL_DATA_TYPE_INT32, c, s) == HCCL_E_PARA);
    uint64_t one = 1, zero = 0, huge = 1ull << 60;
    CHECK(HcclAlltoAllV(b, NULL, &zero, f, b, &one, &zero, f, c, s) == HCCL_E_PTR);
    CHECK(HcclAlltoAllV(b, &one, &huge, f, b, &one, &zero, f, c, s) == HCCL_E_PARA);
    CHECK(HcclAlltoAllV(b, &one, &zero, f, b, &one, &zero, f, c, s) == HCCL_SUCCESS);
    CHECK(HcclAlltoAllVC(b, NULL, f, b, f, c, s) == HCCL_E_PTR);
    CHECK(HcclAllGatherV(b, 2, b, &one, &zero, f, c, s) == HCCL_E_PARA);
    CHECK(HcclAllGatherV(b, 1, b, NULL, &zero, f, c, s) == HCCL_E_PTR);
    CHECK(HcclReduceScatterV(b, &one, &zero, b, 2, f, sum, c, s) == HCCL_E_PARA);
    HcclSendRecvItem item = {(HcclSendRecvType)5, b, 1, f, 0};
    CHECK(HcclBatchSendRecv(NULL, 1, c, s) == HCCL_E_PTR);
    CHECK(HcclBatchSendRecv(&item, 0, c, s) == HCCL_E_PARA);
    CHECK(HcclBatchSendRecv(&item, 1000000, c, s) == HCCL_E_PARA);
    CHECK(HcclBatchSendRecv(&item, 1, c, s) == HCCL_E_PARA);
    CHECK(HcclGetRankSize(c, NULL) == HCCL_E_PTR);
    CHECK(HcclGetRankId(c, NULL) == HCCL_E_PTR);
    CHECK(HcclGetCommName(c, NULL) == HCCL_E_PTR);
    CHECK(HcclGetCommAsyncError(c, NULL) == HCCL_E_PTR);
    CHECK(aclGetRecentErrMsg() != NULL);
    aclrtStream elsewhere;
    OK(aclrtSetDevice(1));
    OK(aclrtCreateStream(&elsewhere));
    CHECK(HcclAllReduce(b, b, 1, f, sum, c, elsewhere) == HCCL_E_PARA);
    OK(aclrtSetDevice(0));

    OK(aclrtSynchronizeStream(s));
    OK(HcclCommDestroy(c));
    CHECK(HcclCommDestroy(c) == HCCL_E_PARA);
    CHECK(HcclCommDestroy(NULL) == HCCL_E_PTR);
    CHECK(HcclBarrier(c, s) == HCCL_E_PARA);
    uint32_t n;
    CHECK(HcclGetRankSize(c, &n) == HCCL_E_PARA);
}

static void options(struct rank *r)
{
    HcclConfigValue v = {.value = 1};
    OK(HcclSetConfig(HCCL_DETERMINISTIC, v));
    v.value = 0;
    OK(HcclGetConfig(HCCL_DETERMINISTIC, &v));
    CHECK(v.value == 1);
    OK(join_with(r, "info", NULL));
    OK(HcclGetCommConfig(r->comm, HCCL_DETERMINISTIC, &v));
    CHECK(v.value == 1); /* taken over */
    v.value = 0;
    OK(HcclSetCommConfig(r->comm, HCCL_DETERMINISTIC, v));
    v.value = 7;
    OK(HcclGetCommConfig(r->comm, HCCL_DETERMINISTIC, &v));
    CHECK(v.value == 0);
    v.value = 99;
    CHECK(HcclSetConfig(HCCL_DETERMINISTIC, v) == HCCL_E_PARA);
    CHECK(HcclSetConfig((HcclConfig)77, v) == HCCL_E_PARA);
    CHECK(HcclGetConfig(HCCL_DETERMINISTIC, NULL) == HCCL_E_PTR);
    CHECK(HcclSetCommConfig(NULL, HCCL_DETERMINISTIC, v) == HCCL_E_PTR);
    CHECK(HcclGetCommConfigCapability() == 12);
    for (int code = 0; code <= HCCL_E_OOM; code++) {
        CHECK(strcmp(HcclGetErrorString((HcclResult)code), "unknown error") != 0);
    }
    CHECK(strcmp(HcclGetErrorString((HcclResult)1000), "unknown error") == 0);

    void *b = device_memory(NULL, 8192), *window = NULL;
    uint32_t peers[1] = {0}, wrong[1] = {5};
    bool no = false, yes = true;
    OK(HcclCommRegister(r->comm, b, 4096, &window, 0));
    OK(HcclCommExchangeMem(r->comm, window, peers, 1));
    CHECK(HcclCommExchangeMem(r->comm, window, wrong, 1) == HCCL_E_PARA);
    OK(HcclCommDeregister(r->comm, window));
    CHECK(HcclCommDeregister(r->comm, window) == HCCL_E_PARA);
    CHECK(HcclCommExchangeMem(r->comm, b, peers, 1) == HCCL_E_PARA);
    CHECK(HcclCommRegister(r->comm, &no, 1, &window, 0) == HCCL_E_PARA);
    OK(HcclCommSetMemoryRange(r->comm, b, 8192, 0, 0));
    CHECK(HcclCommSetMemoryRange(r->comm, (char *)b + 100, 8, 0, 0) == HCCL_E_PARA);
    OK(HcclCommActivateCommMemory(r->comm, b, 4096, 0, b, 0));
    CHECK(HcclCommActivateCommMemory(r->comm, (char *)b + 8000, 4096, 0, b, 0) == HCCL_E_PARA);
    CHECK(HcclCommUnsetMemoryRange(r->comm, b) == HCCL_E_PARA);
    OK(HcclCommDeactivateCommMemory(r->comm, b));
    CHECK(HcclCommDeactivateCommMemory(r->comm, b) == HCCL_E_NOT_FOUND);
    OK(HcclCommUnsetMemoryRange(r->comm, b));
    OK(HcclCommWorkingDevNicSet(r->comm, peers, &no, 1));
    CHECK(HcclCommWorkingDevNicSet(r->comm, peers, &yes, 1) == HCCL_E_NOT_SUPPORT);
    OK(HcclCommDestroy(r->comm));
}

static void arguments(void **state)
{
    play("wrong_arguments", 1);
    play("options", 1);
}

int main(int argc, char **argv)
{
    static const struct scenario scenarios[] = {
        SCENARIO(one_dies),        SCENARIO(disagree), SCENARIO(absent),      SCENARIO(suspended),
        SCENARIO(aborted),         SCENARIO(freed),    SCENARIO(wrong_setup), SCENARIO(reserved_memory),
        SCENARIO(wrong_arguments), SCENARIO(options),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dead_rank), cmocka_unit_test(failures),  cmocka_unit_test(setup),
        cmocka_unit_test(buffers),   cmocka_unit_test(arguments),
    };
    if (argc == 5) {
        return ranks_play_one(argv, scenarios, MS_COUNT_OF(scenarios));
    }
    ranks_begin();
    int result = cmocka_run_group_tests(tests, NULL, NULL);
    ranks_end();
    return result;
}
