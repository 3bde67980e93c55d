/* SPDX-License-Identifier: Apache-2.0 */
/* Data parallelism: every process has its own batch, gradients are summed over all of them. The sums run on a separate
 * stream during the backward pass; events order the two, and the pool is informed that the other stream uses the
 * gradients. */
#include "train.h"

#include <stdio.h>
#include <unistd.h>

static void check_hccl(HcclResult result, const char *what)
{
    if (result != HCCL_SUCCESS) {
        fail("%s failed with error %d: %s", what, (int)result, HcclGetErrorString(result));
    }
}

/* The first process creates the root information of the group; the parent passes it to the others. */
static void exchange_root_info(const struct trainer *trainer, HcclRootInfo *info)
{
    int fd = (int)trainer->options->root_fd;
    char *at = (char *)info;
    size_t left = sizeof(*info);
    if (trainer->rank == 0) {
        check_hccl(HcclGetRootInfo(info), "HcclGetRootInfo");
    }
    while (left > 0) {
        ssize_t n = trainer->rank == 0 ? write(fd, at, left) : read(fd, at, left);
        if (n <= 0) {
            fail("the root information did not arrive");
        }
        at += n;
        left -= (size_t)n;
    }
    close(fd);
}

void communicate_open(struct trainer *trainer)
{
    if (trainer->world == 1) {
        return;
    }
    HcclRootInfo info = {0};
    exchange_root_info(trainer, &info);
    check_hccl(HcclCommInitRootInfo(trainer->world, &info, trainer->rank, &trainer->comm), "HcclCommInitRootInfo");
    check_acl(aclrtCreateStream(&trainer->comm_stream), "aclrtCreateStream");
}

void communicate_close(struct trainer *trainer)
{
    if (trainer->world == 1) {
        return;
    }
    check_acl(aclrtSynchronizeStream(trainer->comm_stream), "aclrtSynchronizeStream");
    check_hccl(HcclCommDestroy(trainer->comm), "HcclCommDestroy");
    check_acl(aclrtDestroyStream(trainer->comm_stream), "aclrtDestroyStream");
}

/* Work queued on `later` from now on waits for all work queued on `earlier` so far. */
static void order_streams(aclrtStream earlier, aclrtStream later)
{
    aclrtEvent event;
    check_acl(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC), "aclrtCreateEventExWithFlag");
    check_acl(aclrtRecordEvent(event, earlier), "aclrtRecordEvent");
    check_acl(aclrtStreamWaitEvent(later, event), "aclrtStreamWaitEvent");
    check_acl(aclrtDestroyEvent(event), "aclrtDestroyEvent");
}

void communicate_sum(struct trainer *trainer, struct tensor *tensor)
{
    if (trainer->world == 1) {
        return;
    }
    order_streams(trainer->npu.stream, trainer->comm_stream);
    check_hccl(HcclAllReduce(tensor->data, tensor->data, tensor->count, HCCL_DATA_TYPE_FP32, HCCL_REDUCE_SUM,
                             trainer->comm, trainer->comm_stream),
               "HcclAllReduce");
    check_pool(npool_record_stream(trainer->npu.pool, tensor->data, trainer->comm_stream), "npool_record_stream");
}

void communicate_wait(struct trainer *trainer)
{
    if (trainer->world > 1) {
        order_streams(trainer->comm_stream, trainer->npu.stream);
    }
}
