/* SPDX-License-Identifier: Apache-2.0 */
/* A typical distributed CANN program: one process per device, root info passed through a file, other settings from the
 * environment: RANK_ID, RANK_SIZE, ROOT_INFO (file) or RANK_TABLE_FILE; STEPS; STOP_AT (step at which rank 1 kills
 * itself). It does not depend on softnpu. */
#include <acl/acl.h>
#include <hccl/hccl.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT 100000

static unsigned number(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? (unsigned)atoi(text) : otherwise;
}

static void fail(const char *what, int code)
{
    const char *why = aclGetRecentErrMsg();
    printf("%s: %d: %s\n", what, code, why != NULL ? why : "");
    exit(10);
}

#define ACL(call)                                                                                                      \
    do {                                                                                                               \
        aclError code_ = (call);                                                                                       \
        if (code_ != ACL_SUCCESS) {                                                                                    \
            fail(#call, code_);                                                                                        \
        }                                                                                                              \
    } while (0)

#define HCCL(call)                                                                                                     \
    do {                                                                                                               \
        HcclResult code_ = (call);                                                                                     \
        if (code_ != HCCL_SUCCESS) {                                                                                   \
            fail(#call, code_);                                                                                        \
        }                                                                                                              \
    } while (0)

static void pass_root_info(unsigned rank, HcclRootInfo *info)
{
    const char *path = getenv("ROOT_INFO");
    char making[512];
    FILE *f;
    if (rank == 0) {
        HCCL(HcclGetRootInfo(info));
        snprintf(making, sizeof(making), "%s.new", path);
        f = fopen(making, "wb");
        fwrite(info, sizeof(*info), 1, f);
        fclose(f);
        rename(making, path);
        return;
    }
    while ((f = fopen(path, "rb")) == NULL) {
        usleep(2000);
    }
    if (fread(info, sizeof(*info), 1, f) != 1) {
        fail("root info", 0);
    }
    fclose(f);
}

int main(void)
{
    unsigned rank = number("RANK_ID", 0), size = number("RANK_SIZE", 1), steps = number("STEPS", 10);
    HcclComm comm;
    aclrtStream stream;
    float *host, *device;
    alarm(100); /* a rank that hangs fails */
    ACL(aclInit(NULL));
    ACL(aclrtSetDevice((int)rank));
    ACL(aclrtCreateStream(&stream));
    if (getenv("RANK_TABLE_FILE") != NULL) {
        HCCL(HcclCommInitClusterInfo(getenv("RANK_TABLE_FILE"), rank, &comm));
    } else {
        HcclRootInfo info;
        pass_root_info(rank, &info);
        HCCL(HcclCommInitRootInfo(size, &info, rank, &comm));
    }
    ACL(aclrtMallocHost((void **)&host, COUNT * sizeof(float)));
    ACL(aclrtMalloc((void **)&device, COUNT * sizeof(float), ACL_MEM_MALLOC_HUGE_FIRST));
    printf("ready\n");
    fflush(stdout);
    if (getenv("WAIT") != NULL && getchar() == EOF) {
        return 11;
    }
    double sum = 0;
    for (unsigned step = 0; step < steps; step++) {
        if (rank == 1 && step == number("STOP_AT", ~0u)) {
            kill(getpid(), SIGKILL);
        }
        for (unsigned i = 0; i < COUNT; i++) {
            host[i] = 0.1f * (float)(i % 97) + (float)rank + (float)step;
        }
        ACL(aclrtMemcpyAsync(device, COUNT * sizeof(float), host, COUNT * sizeof(float), ACL_MEMCPY_HOST_TO_DEVICE,
                             stream));
        HCCL(HcclAllReduce(device, device, COUNT, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM, comm, stream));
        ACL(aclrtMemcpyAsync(host, COUNT * sizeof(float), device, COUNT * sizeof(float), ACL_MEMCPY_DEVICE_TO_HOST,
                             stream));
        ACL(aclrtSynchronizeStream(stream));
        for (unsigned i = 0; i < COUNT; i++) {
            sum += host[i] * (i % 7 + 1);
        }
    }
    printf("sum %.17g\n", sum);
    HCCL(HcclCommDestroy(comm));
    ACL(aclrtFree(device));
    ACL(aclrtFreeHost(host));
    ACL(aclrtDestroyStream(stream));
    ACL(aclrtResetDevice((int)rank));
    ACL(aclFinalize());
    return 0;
}
