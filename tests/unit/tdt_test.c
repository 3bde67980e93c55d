/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor channels and queues within one process; tests/e2e/test_tdt.py has the queues between processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "acl/acl.h"
#include "acl/acl_tdt.h"
#include "acl/acl_tdt_queue.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "own_machine.h"

static int start_device(void **state)
{
    (void)state;
    return aclInit(NULL) != 0 || aclrtSetDevice(0) != 0;
}

static int stop_device(void **state)
{
    (void)state;
    return aclrtResetDevice(0) != 0 || aclFinalize() != 0;
}

static void assert_message(const char *text)
{
    const char *message = aclGetRecentErrMsg();
    assert_non_null(message);
    assert_non_null(strstr(message, text));
}

/* ---- channels ---- */
static acltdtDataset *dataset_of(float *values, int64_t count)
{
    acltdtDataset *dataset = acltdtCreateDataset();
    acltdtDataItem *item =
        acltdtCreateDataItem(ACL_TENSOR_DATA_TENSOR, &count, 1, ACL_FLOAT, values, (size_t)count * sizeof(*values));
    assert_non_null(item);
    assert_int_equal(acltdtAddDataItem(dataset, item), 0);
    return dataset;
}

static void drop(acltdtDataset *dataset)
{
    for (size_t i = 0; i < acltdtGetDatasetSize(dataset); i++) {
        assert_int_equal(acltdtDestroyDataItem(acltdtGetDataItem(dataset, i)), 0);
    }
    assert_int_equal(acltdtDestroyDataset(dataset), 0);
}

static void a_channel_carries_tensors(void **state)
{
    (void)state;
    float values[] = {1, 2, 3};
    size_t size = 9;
    int64_t dims[4] = {0};
    acltdtChannelHandle *in = acltdtCreateChannelWithCapacity(0, "feed", 2), *out = acltdtCreateChannel(0, "feed");
    acltdtDataset *sent = dataset_of(values, 3), *got = acltdtCreateDataset();
    assert_non_null(in);
    assert_int_equal(acltdtReceiveTensor(out, got, 0), ACL_ERROR_RT_QUEUE_EMPTY);
    assert_message("channel 'feed' is empty");
    assert_int_equal(acltdtSendTensor(in, sent, -1), 0);
    values[0] = 7; /* the channel has a copy */
    assert_int_equal(acltdtSendTensor(in, sent, 0), 0);
    assert_int_equal(acltdtSendTensor(in, sent, 0), ACL_ERROR_RT_QUEUE_FULL);
    assert_int_equal(acltdtQueryChannelSize(out, &size), 0);
    assert_int_equal(size, 2);
    assert_int_equal(acltdtReceiveTensor(out, got, -1), 0);
    assert_string_equal(acltdtGetDatasetName(got), "feed");
    assert_int_equal(acltdtGetDatasetSize(got), 1);
    acltdtDataItem *item = acltdtGetDataItem(got, 0);
    assert_int_equal(acltdtGetTensorTypeFromItem(item), ACL_TENSOR_DATA_TENSOR);
    assert_int_equal(acltdtGetDataTypeFromItem(item), ACL_FLOAT);
    assert_int_equal(acltdtGetDataSizeFromItem(item), sizeof(values));
    assert_int_equal(acltdtGetDimNumFromItem(item), 1);
    assert_int_equal(acltdtGetDimsFromItem(item, dims, 4), 0);
    assert_int_equal(dims[0], 3);
    assert_true(((float *)acltdtGetDataAddrFromItem(item))[0] == 1);
    assert_int_equal(acltdtReceiveTensor(out, got, -1), ACL_ERROR_INVALID_PARAM); /* not empty */
    assert_int_equal(acltdtDestroyDataset(got), 0);                               /* with its items */
    assert_int_equal(acltdtGetDataSizeFromItem(item), 0);
    assert_int_equal(acltdtCleanChannel(out), 0);
    assert_int_equal(acltdtQueryChannelSize(in, &size), 0);
    assert_int_equal(size, 0);
    drop(sent);
    assert_int_equal(acltdtDestroyChannel(in), 0);
    assert_int_equal(acltdtDestroyChannel(out), 0);
}

static void *receive_forever(void *handle)
{
    acltdtDataset *got = acltdtCreateDataset();
    aclError rc = acltdtReceiveTensor(handle, got, -1);
    acltdtDestroyDataset(got);
    return (void *)(intptr_t)rc;
}

static void stopping_a_channel_ends_its_receivers(void **state)
{
    (void)state;
    pthread_t thread;
    void *result;
    acltdtChannelHandle *handle = acltdtCreateChannel(0, "stop");
    assert_int_equal(pthread_create(&thread, NULL, receive_forever, handle), 0);
    assert_int_equal(acltdtStopChannel(handle), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_int_equal((intptr_t)result, ACL_ERROR_FAILURE);
    assert_int_equal(acltdtDestroyChannel(handle), 0);
}

static void bad_channel_arguments(void **state)
{
    (void)state;
    char name[200];
    float value = 1;
    int64_t dims[1];
    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    assert_null(acltdtCreateChannel(0, NULL));
    assert_null(acltdtCreateChannel(0, name));
    assert_null(acltdtCreateChannel(77, "a"));
    assert_null(acltdtCreateChannelWithCapacity(0, "a", 1));
    assert_null(acltdtCreateDataItem((acltdtTensorType)9, NULL, 0, ACL_FLOAT, NULL, 0));
    assert_null(acltdtCreateDataItem(ACL_TENSOR_DATA_TENSOR, NULL, 3, ACL_FLOAT, NULL, 0));
    assert_null(acltdtCreateDataItem(ACL_TENSOR_DATA_TENSOR, NULL, 0, ACL_FLOAT, NULL, 4));
    acltdtChannelHandle *handle = acltdtCreateChannel(0, "bad");
    acltdtDataset *empty = acltdtCreateDataset(), *full = dataset_of(&value, 1);
    assert_int_equal(acltdtSendTensor(handle, empty, 0), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(acltdtSendTensor(handle, full, -2), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(acltdtSendTensor(NULL, full, 0), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(acltdtReceiveTensor(handle, NULL, 0), ACL_ERROR_INVALID_PARAM);
    assert_null(acltdtGetDataItem(full, 1));
    assert_int_equal(acltdtGetDimsFromItem(acltdtGetDataItem(full, 0), dims, 0), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(acltdtDestroyDataItem(acltdtGetDataItem(full, 0)), 0);
    assert_int_equal(acltdtSendTensor(handle, full, 0), ACL_ERROR_INVALID_PARAM);
    assert_message("destroyed");
    assert_int_equal(acltdtDestroyDataset(full), 0);
    assert_int_equal(acltdtDestroyDataset(full), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(acltdtDestroyDataset(empty), 0);
    assert_int_equal(acltdtDestroyChannel(handle), 0);
    assert_int_equal(acltdtStopChannel(handle), ACL_ERROR_INVALID_PARAM);
}

/* ---- queues ---- */
static uint32_t new_queue(uint32_t depth)
{
    acltdtQueueAttr *attr = acltdtCreateQueueAttr();
    const char *name = "numbers", *back = NULL;
    uint32_t qid = 99, read = 0;
    size_t size = 0;
    assert_int_equal(acltdtSetQueueAttr(attr, ACL_TDT_QUEUE_NAME_PTR, sizeof(name), &name), 0);
    assert_int_equal(acltdtSetQueueAttr(attr, ACL_TDT_QUEUE_DEPTH_UINT32, sizeof(depth), &depth), 0);
    assert_int_equal(acltdtGetQueueAttr(attr, ACL_TDT_QUEUE_NAME_PTR, sizeof(back), &size, &back), 0);
    assert_string_equal(back, name);
    assert_int_equal(acltdtGetQueueAttr(attr, ACL_TDT_QUEUE_DEPTH_UINT32, sizeof(read), &size, &read), 0);
    assert_int_equal(read, depth);
    assert_int_equal(acltdtCreateQueue(attr, &qid), 0);
    assert_int_equal(acltdtDestroyQueueAttr(attr), 0);
    return qid;
}

static void queues_carry_buffers(void **state)
{
    (void)state;
    uint32_t qid = new_queue(2), number = 0;
    acltdtBuf head, tail, got;
    void *data;
    size_t size, length;
    char user[4] = "abc", seen[4] = "";
    assert_int_equal(acltdtAllocBuf(16, ACL_TDT_NORMAL_MEM, &head), 0);
    assert_int_equal(acltdtAllocBuf(8, ACL_TDT_NORMAL_MEM, &tail), 0);
    assert_int_equal(acltdtGetBufData(head, &data, &size), 0);
    memcpy(data, "first", 6);
    assert_int_equal(acltdtSetBufDataLen(head, 6), 0);
    assert_int_equal(acltdtSetBufUserData(head, user, sizeof(user), 8), 0);
    assert_int_equal(acltdtGetBufData(tail, &data, &size), 0);
    memcpy(data, "second", 7);
    assert_int_equal(acltdtAppendBufChain(head, tail), 0);
    assert_int_equal(acltdtEnqueue(qid, head, 0), 0);
    assert_int_equal(acltdtFreeBuf(head), ACL_ERROR_INVALID_PARAM); /* it belongs to the queue */
    assert_int_equal(acltdtDequeue(qid, &got, -1), 0);
    assert_int_equal(acltdtGetBufChainNum(got, &number), 0);
    assert_int_equal(number, 2);
    assert_int_equal(acltdtGetBufData(got, &data, &size), 0);
    assert_int_equal(acltdtGetBufDataLen(got, &length), 0);
    assert_true(size == 16 && length == 6 && strcmp(data, "first") == 0);
    assert_int_equal(acltdtGetBufUserData(got, seen, sizeof(seen), 8), 0);
    assert_string_equal(seen, "abc");
    assert_int_equal(acltdtGetBufFromChain(got, 1, &tail), 0);
    assert_int_equal(acltdtGetBufData(tail, &data, &size), 0);
    assert_string_equal(data, "second");
    assert_int_equal(acltdtFreeBuf(got), 0);
    assert_int_equal(acltdtDequeue(qid, &got, 0), ACL_ERROR_RT_QUEUE_EMPTY);
    assert_int_equal(acltdtDestroyQueue(qid), 0);
    assert_int_equal(acltdtDequeue(qid, &got, 0), ACL_ERROR_INVALID_QUEUE_ID);
}

static void queues_carry_data_in_order(void **state)
{
    (void)state;
    uint32_t qid = new_queue(3);
    size_t size = 0;
    uint64_t value = 0;
    char user[8] = "";
    for (uint64_t i = 0; i < 3; i++) {
        assert_int_equal(acltdtEnqueueData(qid, &i, sizeof(i), "tag", 4, 0, 0), 0);
    }
    assert_int_equal(acltdtEnqueueData(qid, &value, sizeof(value), NULL, 0, 0, 0), ACL_ERROR_RT_QUEUE_FULL);
    assert_int_equal(acltdtDequeueData(qid, &value, 4, &size, NULL, 0, 0), ACL_ERROR_RT_PARAM_INVALID);
    for (uint64_t i = 0; i < 3; i++) { /* the entry that was too long is still there */
        assert_int_equal(acltdtDequeueData(qid, &value, sizeof(value), &size, user, 4, 0), 0);
        assert_true(value == i && size == sizeof(value));
        assert_string_equal(user, "tag");
    }
    assert_int_equal(acltdtEnqueueData(qid, NULL, 8, NULL, 0, 0, 0), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(acltdtEnqueueData(qid, &value, 8, user, 97, 0, 0), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(acltdtEnqueueData(qid, &value, 8, NULL, 0, -7, 0), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(acltdtEnqueueData(500, &value, 8, NULL, 0, 0, 0), ACL_ERROR_INVALID_QUEUE_ID);
    assert_int_equal(acltdtGrantQueue(qid, 0, 7, 0), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(acltdtGrantQueue(qid, 1, 8, 0), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(acltdtDestroyQueue(qid), 0);
}

static void bad_attributes(void **state)
{
    (void)state;
    acltdtQueueAttr *attr = acltdtCreateQueueAttr();
    const char *none = NULL;
    uint32_t depth = 1, qid;
    assert_int_equal(acltdtSetQueueAttr(attr, ACL_TDT_QUEUE_DEPTH_UINT32, 4, &depth), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(acltdtSetQueueAttr(attr, ACL_TDT_QUEUE_DEPTH_UINT32, 2, &depth), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(acltdtSetQueueAttr(attr, ACL_TDT_QUEUE_NAME_PTR, sizeof(none), &none), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(acltdtSetQueueAttr(attr, (acltdtQueueAttrType)7, 4, &depth), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(acltdtCreateQueue(attr, NULL), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(acltdtDestroyQueueAttr(attr), 0);
    assert_int_equal(acltdtCreateQueue(attr, &qid), ACL_ERROR_INVALID_PARAM);
}

static int32_t status_of(acltdtQueueRouteList *list)
{
    acltdtQueueRoute *route = acltdtCreateQueueRoute(0, 0);
    int32_t status = -1;
    size_t size = 0;
    assert_int_equal(acltdtGetQueueRoute(list, 0, route), 0);
    assert_int_equal(acltdtGetQueueRouteParam(route, ACL_TDT_QUEUE_ROUTE_STATUS_INT32, 4, &size, &status), 0);
    assert_int_equal(acltdtDestroyQueueRoute(route), 0);
    return status;
}

static void routes_forward_entries(void **state)
{
    (void)state;
    uint32_t from = new_queue(2), to = new_queue(2), mode = ACL_TDT_QUEUE_ROUTE_QUERY_SRC, value = 5;
    size_t size = 0;
    acltdtQueueRoute *route = acltdtCreateQueueRoute(from, to), *itself = acltdtCreateQueueRoute(from, from);
    acltdtQueueRouteList *list = acltdtCreateQueueRouteList(), *found = acltdtCreateQueueRouteList();
    acltdtQueueRouteQueryInfo *query = acltdtCreateQueueRouteQueryInfo();
    assert_int_equal(acltdtAddQueueRoute(found, itself), 0);
    assert_int_equal(acltdtBindQueueRoutes(found), ACL_ERROR_INVALID_QUEUE_ID);
    assert_int_equal(acltdtAddQueueRoute(list, route), 0);
    assert_int_equal(acltdtGetQueueRouteNum(list), 1);
    assert_int_equal(acltdtUnbindQueueRoutes(list), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(acltdtBindQueueRoutes(list), 0);
    assert_int_equal(acltdtBindQueueRoutes(list), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(status_of(list), ACL_TDT_QUEUE_ROUTE_BIND);
    assert_int_equal(acltdtQueryQueueRoutes(query, found), ACL_ERROR_INVALID_PARAM);
    assert_int_equal(acltdtSetQueueRouteQueryInfo(query, ACL_TDT_QUEUE_ROUTE_QUERY_MODE_ENUM, 4, &mode), 0);
    assert_int_equal(acltdtSetQueueRouteQueryInfo(query, ACL_TDT_QUEUE_ROUTE_QUERY_SRC_ID_UINT32, 4, &from), 0);
    assert_int_equal(acltdtQueryQueueRoutes(query, found), 0);
    assert_int_equal(acltdtGetQueueRouteNum(found), 1);
    for (uint32_t i = 0; i < 5; i++) { /* more than both queues hold at once */
        assert_int_equal(acltdtEnqueueData(from, &i, sizeof(i), NULL, 0, -1, 0), 0);
        if (i >= 3) {
            assert_int_equal(acltdtDequeueData(to, &value, sizeof(value), &size, NULL, 0, -1), 0);
            assert_int_equal(value, i - 3);
        }
    }
    for (uint32_t i = 2; i < 5; i++) {
        assert_int_equal(acltdtDequeueData(to, &value, sizeof(value), &size, NULL, 0, -1), 0);
        assert_int_equal(value, i);
    }
    assert_int_equal(acltdtUnbindQueueRoutes(list), 0);
    assert_int_equal(status_of(list), ACL_TDT_QUEUE_ROUTE_UNBIND);
    assert_int_equal(acltdtDestroyQueueRouteQueryInfo(query), 0);
    assert_int_equal(acltdtDestroyQueueRouteList(list), 0);
    assert_int_equal(acltdtDestroyQueueRouteList(found), 0);
    assert_int_equal(acltdtDestroyQueueRoute(route), 0);
    assert_int_equal(acltdtDestroyQueueRoute(itself), 0);
    assert_int_equal(acltdtDestroyQueue(from), 0);
    assert_int_equal(acltdtDestroyQueue(to), 0);
}

int main(void)
{
    own_machine_use("1", NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_channel_carries_tensors, start_device, stop_device),
        cmocka_unit_test_setup_teardown(stopping_a_channel_ends_its_receivers, start_device, stop_device),
        cmocka_unit_test_setup_teardown(bad_channel_arguments, start_device, stop_device),
        cmocka_unit_test_setup_teardown(queues_carry_buffers, start_device, stop_device),
        cmocka_unit_test_setup_teardown(queues_carry_data_in_order, start_device, stop_device),
        cmocka_unit_test_setup_teardown(bad_attributes, start_device, stop_device),
        cmocka_unit_test_setup_teardown(routes_forward_entries, start_device, stop_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
