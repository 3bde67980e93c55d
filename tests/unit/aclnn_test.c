/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of two-phase operators: tensors, lists, scalars, and the life cycle of executors. */
#include "aclnn_fixture.h"

#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_matmul.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_normal.h"
#include "aclnnop/aclnn_softmax.h"
#include "aclnnop/aclnn_zero.h"
#include "base/macros.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- objects ---- */

static void foreign_objects_are_refused(void **state)
{
    const int64_t dims[] = {2, 4}, strides[] = {1, 2}, storage[] = {8};
    char memory[64];
    aclTensor *t = aclCreateTensor(dims, 2, ACL_FLOAT16, strides, 3, ACL_FORMAT_NCHW, storage, 1, memory);
    assert_non_null(t);
    int64_t *numbers = NULL, offset = 0;
    uint64_t count = 0;
    aclDataType type;
    aclFormat format;
    void *address;
    assert_int_equal(aclGetViewShape(t, &numbers, &count), 0);
    assert_true(count == 2 && numbers[0] == 2 && numbers[1] == 4);
    free(numbers);
    assert_int_equal(aclGetViewStrides(t, &numbers, &count), 0);
    assert_true(count == 2 && numbers[0] == 1 && numbers[1] == 2);
    free(numbers);
    assert_int_equal(aclGetStorageShape(t, &numbers, &count), 0);
    assert_true(count == 1 && numbers[0] == 8);
    free(numbers);
    assert_int_equal(aclGetViewOffset(t, &offset), 0);
    assert_int_equal(offset, 3);
    assert_int_equal(aclGetDataType(t, &type), 0);
    assert_int_equal(type, ACL_FLOAT16);
    assert_int_equal(aclGetFormat(t, &format), 0);
    assert_int_equal(format, ACL_FORMAT_NCHW);
    assert_int_equal(aclSetRawTensorAddr(t, memory + 8), 0);
    assert_int_equal(aclGetRawTensorAddr(t, &address), 0);
    assert_ptr_equal(address, memory + 8);

    assert_int_equal(aclGetViewShape(NULL, &numbers, &count), NULL_PARAM);
    assert_int_equal(aclGetViewShape(t, NULL, &count), NULL_PARAM);
    assert_int_equal(aclGetViewShape((aclTensor *)memory, &numbers, &count), BAD_PARAM);
    assert_int_equal(aclDestroyTensor(t), 0);
    assert_int_equal(aclDestroyTensor(t), BAD_PARAM);
    assert_int_equal(aclGetDataType(t, &type), BAD_PARAM);
    assert_int_equal(aclDestroyTensor(NULL), 0);

    /* Omitted strides are those of a dense tensor. */
    t = aclCreateTensor((const int64_t[]){2, 3, 4}, 3, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, dims, 2, NULL);
    assert_int_equal(aclGetViewStrides(t, &numbers, &count), 0);
    assert_true(numbers[0] == 12 && numbers[1] == 4 && numbers[2] == 1);
    free(numbers);
    aclDestroyTensor(t);

    assert_null(aclCreateTensor(NULL, 2, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, dims, 2, memory));
    assert_null(aclCreateTensor(dims, 2, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, NULL, 2, memory));
    assert_null(aclCreateTensor((const int64_t[]){-1}, 1, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, dims, 2, memory));
    assert_null(aclCreateTensor(dims, 2, ACL_FLOAT, NULL, -1, ACL_FORMAT_ND, dims, 2, memory));
    assert_null(aclCreateTensor(dims, 1000, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, dims, 2, memory));
    assert_null(aclCreateScalar(NULL, ACL_FLOAT));
    assert_null(aclCreateScalar(memory, ACL_DT_UNDEFINED));
}

static void lists_own_their_members(void **state)
{
    const int64_t dims[] = {2};
    const aclTensor *members[] = {
        aclCreateTensor(dims, 1, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, dims, 1, NULL),
        aclCreateTensor(dims, 1, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, dims, 1, NULL),
    };
    aclTensorList *list = aclCreateTensorList(members, 2);
    uint64_t count = 0;
    assert_int_equal(aclGetTensorListSize(list, &count), 0);
    assert_int_equal(count, 2);
    assert_int_equal(aclDestroyTensorList(list), 0);
    assert_int_equal(aclDestroyTensor(members[0]), BAD_PARAM);
    assert_int_equal(aclDestroyTensorList(list), BAD_PARAM);

    aclIntArray *ints = aclCreateIntArray((const int64_t[]){1, 2, 3}, 3);
    assert_int_equal(aclGetIntArraySize(ints, &count), 0);
    assert_int_equal(count, 3);
    assert_int_equal(aclGetFloatArraySize((const aclFloatArray *)ints, &count), BAD_PARAM);
    assert_int_equal(aclDestroyFloatArray((const aclFloatArray *)ints), BAD_PARAM);
    assert_int_equal(aclDestroyIntArray(ints), 0);
    assert_int_equal(aclDestroyIntArray(ints), BAD_PARAM);
    assert_null(aclCreateIntArray(NULL, 1));
    assert_null(aclCreateIntArray(dims, UINT64_MAX / 2));
    ints = aclCreateIntArray(NULL, 0);
    assert_non_null(ints);
    assert_int_equal(aclDestroyIntArray(ints), 0);
}

/* ---- executors ---- */

static void executor_can_be_used_once(void **state)
{
    struct array x = array_make(ACL_FLOAT, DIMS(4)), z = array_make(ACL_FLOAT, DIMS(4));
    uint64_t workspace;
    aclOpExecutor *executor;
    assert_int_equal(aclnnMulGetWorkspaceSize(x.tensor, x.tensor, z.tensor, &workspace, &executor), 0);
    assert_int_equal(aclnnMul(NULL, 0, executor, aclnn_stream), 0);
    assert_int_equal(aclnnMul(NULL, 0, executor, aclnn_stream), BAD_PARAM);
    assert_int_equal(aclSetAclOpExecutorRepeatable(executor) == 0, 0);
    assert_int_equal(aclDestroyAclOpExecutor(executor) == 0, 0);
    assert_int_equal(aclnnMul(NULL, 0, NULL, aclnn_stream), NULL_PARAM);
    assert_int_equal(aclnnMul(NULL, 0, (aclOpExecutor *)&x, aclnn_stream), BAD_PARAM);
    assert_int_equal(aclSetAclOpExecutorRepeatable(NULL), INNER_NULL);
    assert_int_equal(aclDestroyAclOpExecutor(NULL), INNER_NULL);
    assert_int_equal(aclrtSynchronizeStream(aclnn_stream), 0);
    array_drop(&x);
    array_drop(&z);
}

static void executor_repeats_with_new_addresses(void **state)
{
    struct array x = array_make(ACL_FLOAT, DIMS(4)), other = array_make(ACL_FLOAT, DIMS(4)),
                 z = array_make(ACL_FLOAT, DIMS(4));
    uint64_t workspace;
    aclOpExecutor *executor;
    assert_int_equal(aclnnMulGetWorkspaceSize(x.tensor, x.tensor, z.tensor, &workspace, &executor), 0);
    assert_int_equal(aclSetAclOpExecutorRepeatable(executor), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(aclnnMul(NULL, 0, executor, aclnn_stream), 0);
    }
    assert_int_equal(aclSetTensorAddr(executor, 0, x.tensor, other.memory), 0);
    assert_int_equal(aclnnMul(NULL, 0, executor, aclnn_stream), 0);
    assert_int_equal(aclrtSynchronizeStream(aclnn_stream), 0);
    assert_near(array_read(&z, 0), array_read(&other, 0) * array_read(&other, 0), 1e-6);
    assert_int_equal(aclSetInputTensorAddr(executor, 0, other.tensor, x.memory), BAD_PARAM); /* not an argument of it */
    assert_int_equal(aclSetOutputTensorAddr(executor, 0, NULL, x.memory), INNER_NULL);
    assert_int_equal(aclDestroyAclOpExecutor(executor), 0);
    assert_int_equal(aclnnMul(NULL, 0, executor, aclnn_stream), BAD_PARAM);
    array_drop(&x);
    array_drop(&other);
    array_drop(&z);
}

static void executor_outlives_its_tensors(void **state)
{
    struct array x = array_make(ACL_FLOAT, DIMS(4)), z = array_make(ACL_FLOAT, DIMS(4));
    uint64_t workspace;
    aclOpExecutor *executor;
    assert_int_equal(aclnnMulGetWorkspaceSize(x.tensor, x.tensor, z.tensor, &workspace, &executor), 0);
    aclDestroyTensor(x.tensor);
    aclDestroyTensor(z.tensor);
    assert_int_equal(aclnnMul(NULL, 0, executor, aclnn_stream), 0);
    assert_int_equal(aclrtSynchronizeStream(aclnn_stream), 0);
    assert_near(array_read(&z, 1), array_read(&x, 1) * array_read(&x, 1), 1e-6);
    aclrtFree(x.memory);
    aclrtFree(z.memory);
}

static void second_phase_refuses_bad_memory(void **state)
{
    struct array x = array_make(ACL_FLOAT16, DIMS(4, 4)), z = array_make(ACL_FLOAT16, DIMS(4, 4));
    uint64_t workspace;
    aclOpExecutor *executor;
    /* Too small a workspace, none at all. */
    assert_int_equal(aclnnMatmulGetWorkspaceSize(x.tensor, x.tensor, z.tensor, 0, &workspace, &executor), 0);
    assert_true(workspace >= 64);
    assert_int_equal(aclnnMatmul(x.memory, workspace - 1, executor, aclnn_stream), BAD_PARAM);
    assert_int_equal(aclnnMatmulGetWorkspaceSize(x.tensor, x.tensor, z.tensor, 0, &workspace, &executor), 0);
    assert_int_equal(aclnnMatmul(NULL, workspace, executor, aclnn_stream), NULL_PARAM);
    /* A tensor without memory. */
    aclSetRawTensorAddr(x.tensor, NULL);
    assert_int_equal(aclnnMulGetWorkspaceSize(x.tensor, x.tensor, z.tensor, &workspace, &executor), 0);
    assert_int_equal(aclnnMul(NULL, 0, executor, aclnn_stream), NULL_PARAM);
    /* Memory that was freed. */
    aclSetRawTensorAddr(x.tensor, x.memory);
    assert_int_equal(aclnnMulGetWorkspaceSize(x.tensor, x.tensor, z.tensor, &workspace, &executor), 0);
    void *freed = x.memory;
    assert_int_equal(aclrtFree(freed), 0);
    assert_int_equal(aclnnMul(NULL, 0, executor, aclnn_stream), BAD_PARAM);
    assert_int_equal(aclDestroyTensor(x.tensor), 0);
    array_drop(&z);
    /* An invalid stream. */
    struct array y = array_make(ACL_FLOAT, DIMS(4));
    assert_int_equal(aclnnMulGetWorkspaceSize(y.tensor, y.tensor, y.tensor, &workspace, &executor), 0);
    assert_int_equal(aclnnMul(NULL, 0, executor, &y), 361001);
    array_drop(&y);
}

static void empty_tensors_need_no_launch(void **state)
{
    struct array x = array_make(ACL_FLOAT, DIMS(0, 3));
    aclScalar *one = scalar_real(1);
    aclSetRawTensorAddr(x.tensor, NULL);
    RUN(aclnnAdd, x.tensor, x.tensor, one, x.tensor);
    RUN(aclnnInplaceZero, x.tensor);
    RUN(aclnnSoftmax, x.tensor, 1, x.tensor);
    RUN(aclnnInplaceNormal, x.tensor, 0.0f, 1.0f, 1, 0);
    aclDestroyScalar(one);
    array_drop(&x);
}

/* Several threads, each with its own stream, tensors and executors. The main thread writes and reads the memory. */
struct lane {
    struct array x, z;
    pthread_t thread;
    bool failed;
};

static void *multiply_often(void *argument)
{
    struct lane *lane = argument;
    aclrtStream own;
    lane->failed = aclrtSetDevice(0) != 0 || aclrtCreateStream(&own) != 0;
    for (int i = 0; i < 50 && !lane->failed; i++) {
        const int64_t dims[] = {8};
        uint64_t workspace;
        aclOpExecutor *executor;
        aclTensor *x = aclCreateTensor(dims, 1, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, dims, 1, lane->x.memory);
        aclTensor *z = aclCreateTensor(dims, 1, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, dims, 1, lane->z.memory);
        lane->failed = aclnnMulGetWorkspaceSize(x, x, z, &workspace, &executor) != 0 ||
                       aclnnMul(NULL, workspace, executor, own) != 0 || aclDestroyTensor(x) != 0 ||
                       aclDestroyTensor(z) != 0;
    }
    lane->failed |= aclrtSynchronizeStream(own) != 0 || aclrtDestroyStream(own) != 0 || aclrtResetDevice(0) != 0;
    return NULL;
}

static void threads_do_not_interfere(void **state)
{
    struct lane lanes[4];
    for (size_t i = 0; i < MS_COUNT_OF(lanes); i++) {
        lanes[i] = (struct lane){.x = array_make(ACL_FLOAT, DIMS(8)), .z = array_make(ACL_FLOAT, DIMS(8))};
        assert_int_equal(pthread_create(&lanes[i].thread, NULL, multiply_often, &lanes[i]), 0);
    }
    for (size_t i = 0; i < MS_COUNT_OF(lanes); i++) {
        assert_int_equal(pthread_join(lanes[i].thread, NULL), 0);
        assert_false(lanes[i].failed);
        for (int64_t j = 0; j < 8; j++) {
            assert_near(array_read(&lanes[i].z, j), pow(array_read(&lanes[i].x, j), 2), 1e-6);
        }
        array_drop(&lanes[i].x);
        array_drop(&lanes[i].z);
    }
}

/* aclnnFinalize and aclFinalize unload the operator binary; it is loaded again when needed. */
static void operators_run_again_after_finalize(void **state)
{
    struct array x = array_make(ACL_FLOAT, DIMS(4)), z = array_make(ACL_FLOAT, DIMS(4));
    RUN(aclnnMul, x.tensor, x.tensor, z.tensor);
    assert_int_equal(aclnnFinalize(), 0);
    RUN(aclnnMul, x.tensor, z.tensor, z.tensor);
    assert_int_equal(aclFinalize(), 0);
    assert_int_equal(aclInit(NULL), 0);
    RUN(aclnnMul, x.tensor, z.tensor, z.tensor);
    assert_near(array_read(&z, 2), pow(array_read(&x, 2), 4), 1e-6);
    array_drop(&x);
    array_drop(&z);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(foreign_objects_are_refused),        cmocka_unit_test(lists_own_their_members),
        cmocka_unit_test(executor_can_be_used_once),          cmocka_unit_test(executor_repeats_with_new_addresses),
        cmocka_unit_test(executor_outlives_its_tensors),      cmocka_unit_test(second_phase_refuses_bad_memory),
        cmocka_unit_test(empty_tensors_need_no_launch),       cmocka_unit_test(threads_do_not_interfere),
        cmocka_unit_test(operators_run_again_after_finalize),
    };
    return cmocka_run_group_tests(tests, aclnn_open_device, aclnn_close_device);
}
