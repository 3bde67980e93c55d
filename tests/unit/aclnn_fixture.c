/* SPDX-License-Identifier: Apache-2.0 */
#include "aclnn_fixture.h"

#include "base/macros.h"
#include "own_machine.h"
#include "softnpu/kernels/half.h"

#include <stdlib.h>

/* ---- tensors with a double for every element of their storage ---- */

static size_t size_of(aclDataType type)
{
    return aclDataTypeSize(type);
}

static void store(void *to, aclDataType type, double v)
{
    switch ((int)type) {
    case ACL_FLOAT:
        *(float *)to = (float)v;
        break;
    case ACL_DOUBLE:
        *(double *)to = v;
        break;
    case ACL_FLOAT16:
        *(uint16_t *)to = tk_float_to_half((float)v);
        break;
    case ACL_BF16:
        *(uint16_t *)to = tk_float_to_bf16((float)v);
        break;
    case ACL_INT64:
        *(int64_t *)to = (int64_t)v;
        break;
    case ACL_INT32:
        *(int32_t *)to = (int32_t)v;
        break;
    case ACL_INT16:
        *(int16_t *)to = (int16_t)v;
        break;
    case ACL_INT8:
        *(int8_t *)to = (int8_t)v;
        break;
    case ACL_UINT8:
        *(uint8_t *)to = (uint8_t)v;
        break;
    case ACL_BOOL:
        *(uint8_t *)to = v != 0;
        break;
    default:
        fail_msg("type %d", (int)type);
    }
}

static double load(const void *from, aclDataType type)
{
    switch ((int)type) {
    case ACL_FLOAT:
        return *(const float *)from;
    case ACL_DOUBLE:
        return *(const double *)from;
    case ACL_FLOAT16:
        return tk_half_to_float(*(const uint16_t *)from);
    case ACL_BF16:
        return tk_bf16_to_float(*(const uint16_t *)from);
    case ACL_INT64:
        return (double)*(const int64_t *)from;
    case ACL_INT32:
        return *(const int32_t *)from;
    case ACL_INT16:
        return *(const int16_t *)from;
    case ACL_INT8:
        return *(const int8_t *)from;
    case ACL_UINT8:
    case ACL_BOOL:
        return *(const uint8_t *)from;
    default:
        fail_msg("type %d", (int)type);
        return 0;
    }
}

static double noise(void)
{
    static uint32_t state = 2463534242u;
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return (double)(state >> 8) * 0x1p-23 - 1;
}

/* Whole numbers for integer types, reals for the others. */
static double noise_for(aclDataType type)
{
    switch ((int)type) {
    case ACL_BOOL:
        return noise() > 0;
    case ACL_UINT8:
        return floor((noise() + 1) * 5);
    case ACL_INT8:
    case ACL_INT16:
    case ACL_INT32:
    case ACL_INT64:
        return floor(noise() * 6);
    default:
        return noise();
    }
}

void array_write(struct array *a, int64_t index, double v)
{
    char bytes[16];
    store(bytes, a->type, v);
    assert_int_equal(aclrtMemcpy((char *)a->memory + (size_t)index * size_of(a->type), size_of(a->type), bytes,
                                 size_of(a->type), ACL_MEMCPY_HOST_TO_DEVICE),
                     0);
}

double array_read(const struct array *a, int64_t index)
{
    char bytes[16];
    assert_int_equal(aclrtMemcpy(bytes, size_of(a->type), (char *)a->memory + (size_t)index * size_of(a->type),
                                 size_of(a->type), ACL_MEMCPY_DEVICE_TO_HOST),
                     0);
    return load(bytes, a->type);
}

struct array array_view(aclDataType type, int rank, const int64_t *dims, const int64_t *strides, int64_t offset)
{
    struct array a = {.type = type, .rank = rank, .offset = offset, .storage = offset + 1};
    int64_t dense = 1;
    bool empty = false;
    for (int i = rank; i-- > 0;) {
        a.dims[i] = dims[i];
        a.strides[i] = strides != NULL ? strides[i] : dense;
        dense *= dims[i];
        empty |= dims[i] == 0;
        a.storage += (dims[i] - 1) * a.strides[i];
    }
    a.storage = empty ? 1 : a.storage;
    assert_true(a.storage > 0 && a.storage <= MAX_STORAGE);
    assert_int_equal(aclrtMalloc(&a.memory, (size_t)a.storage * size_of(type), ACL_MEM_MALLOC_HUGE_FIRST), 0);
    for (int64_t i = 0; i < a.storage; i++) {
        array_write(&a, i, noise_for(type));
    }
    a.tensor = aclCreateTensor(dims, (uint64_t)rank, type, strides, offset, ACL_FORMAT_ND, &a.storage, 1, a.memory);
    assert_non_null(a.tensor);
    return a;
}

struct array array_make(aclDataType type, int rank, const int64_t *dims)
{
    return array_view(type, rank, dims, NULL, 0);
}

void array_drop(struct array *a)
{
    assert_int_equal(aclDestroyTensor(a->tensor), 0);
    assert_int_equal(aclrtFree(a->memory), 0);
}

int64_t array_count(const struct array *a)
{
    int64_t count = 1;
    for (int i = 0; i < a->rank; i++) {
        count *= a->dims[i];
    }
    return count;
}

int64_t array_place(const struct array *a, const struct array *shape, int64_t linear)
{
    int64_t at = a->offset;
    for (int i = shape->rank; i-- > 0;) {
        int64_t index = linear % shape->dims[i];
        linear /= shape->dims[i];
        int own = i - (shape->rank - a->rank);
        if (own >= 0 && a->dims[own] != 1) {
            at += index * a->strides[own];
        }
    }
    return at;
}

double array_value(const struct array *a, const struct array *shape, int64_t linear)
{
    return array_read(a, array_place(a, shape, linear));
}

double array_tolerance(aclDataType type)
{
    return type == ACL_FLOAT16 ? 2e-3 : type == ACL_BF16 ? 1e-2 : 1e-5;
}

/* ---- running an operator ---- */

aclrtStream aclnn_stream;
uint64_t aclnn_last_workspace;

void aclnn_run(second_phase phase, aclnnStatus first_status, uint64_t workspace_b, aclOpExecutor *executor)
{
    if (first_status != 0) {
        const char *message = aclGetRecentErrMsg();
        fail_msg("first phase: %d, %s", first_status, message != NULL ? message : "no message");
    }
    void *workspace = NULL;
    aclnn_last_workspace = workspace_b;
    if (workspace_b > 0) {
        assert_int_equal(aclrtMalloc(&workspace, workspace_b, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    }
    aclnnStatus status = phase(workspace, workspace_b, executor, aclnn_stream);
    if (status != 0) {
        const char *message = aclGetRecentErrMsg();
        fail_msg("second phase: %d, %s", status, message != NULL ? message : "no message");
    }
    assert_int_equal(aclrtSynchronizeStream(aclnn_stream), 0);
    if (workspace != NULL) {
        assert_int_equal(aclrtFree(workspace), 0);
    }
}

aclScalar *scalar_real(double v)
{
    float f = (float)v;
    return aclCreateScalar(&f, ACL_FLOAT);
}

aclScalar *scalar_whole(int64_t v)
{
    return aclCreateScalar(&v, ACL_INT64);
}

/* ---- the device ---- */

int aclnn_open_device(void **state)
{
    own_machine_use("2", NULL);
    return aclInit(NULL) != 0 || aclrtSetDevice(0) != 0 || aclrtCreateStream(&aclnn_stream) != 0 ||
           aclnnInit(NULL) != 0;
}

int aclnn_close_device(void **state)
{
    return aclnnFinalize() != 0 || aclrtDestroyStream(aclnn_stream) != 0 || aclrtResetDevice(0) != 0 ||
           aclFinalize() != 0;
}
