/* Two-phase operators on a device: results against references in double precision for types, strides and broadcasts;
 * what the first phase refuses; what executors survive. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "own_machine.h"

#include "acl/acl.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_batch_matmul.h"
#include "aclnnop/aclnn_cast.h"
#include "aclnnop/aclnn_copy.h"
#include "aclnnop/aclnn_fill_scalar.h"
#include "aclnnop/aclnn_layer_norm.h"
#include "aclnnop/aclnn_matmul.h"
#include "aclnnop/aclnn_mm.h"
#include "aclnnop/aclnn_mul.h"
#include "aclnnop/aclnn_normal.h"
#include "aclnnop/aclnn_reduce_sum.h"
#include "aclnnop/aclnn_softmax.h"
#include "aclnnop/aclnn_uniform.h"
#include "aclnnop/aclnn_zero.h"
#include "base/macros.h"
#include "softnpu/kernels/half.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK_STATUS = 0, NULL_PARAM = 161001, BAD_PARAM = 161002, INNER_NULL = 561103 };

static aclrtStream stream;

/* ---- tensors with a double for every element of their storage ---- */

enum { MAX_DIMS = 4, MAX_STORAGE = 4096 };

struct array {
    aclTensor *tensor;
    void *memory;
    aclDataType type;
    int rank;
    int64_t dims[MAX_DIMS], strides[MAX_DIMS], offset;
    int64_t storage; /* elements */
};

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

static void write_storage(struct array *a, int64_t index, double v)
{
    char bytes[16];
    store(bytes, a->type, v);
    assert_int_equal(aclrtMemcpy((char *)a->memory + (size_t)index * size_of(a->type), size_of(a->type), bytes,
                                 size_of(a->type), ACL_MEMCPY_HOST_TO_DEVICE),
                     0);
}

static double read_storage(const struct array *a, int64_t index)
{
    char bytes[16];
    assert_int_equal(aclrtMemcpy(bytes, size_of(a->type), (char *)a->memory + (size_t)index * size_of(a->type),
                                 size_of(a->type), ACL_MEMCPY_DEVICE_TO_HOST),
                     0);
    return load(bytes, a->type);
}

/* A view with given strides and offset into storage filled with noise. strides NULL: dense. */
static struct array make_view(aclDataType type, int rank, const int64_t *dims, const int64_t *strides, int64_t offset)
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
        write_storage(&a, i, noise_for(type));
    }
    a.tensor = aclCreateTensor(dims, (uint64_t)rank, type, strides, offset, ACL_FORMAT_ND, &a.storage, 1, a.memory);
    assert_non_null(a.tensor);
    return a;
}

#define DIMS(...)                                                                                                      \
    (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[])                                       \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

static struct array make(aclDataType type, int rank, const int64_t *dims)
{
    return make_view(type, rank, dims, NULL, 0);
}

static void drop(struct array *a)
{
    assert_int_equal(aclDestroyTensor(a->tensor), 0);
    assert_int_equal(aclrtFree(a->memory), 0);
}

static int64_t count_of(const struct array *a)
{
    int64_t count = 1;
    for (int i = 0; i < a->rank; i++) {
        count *= a->dims[i];
    }
    return count;
}

/* Element number `linear` in the order of `shape`, of an array that broadcasts to it. */
static int64_t place(const struct array *a, const struct array *shape, int64_t linear)
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

static double value(const struct array *a, const struct array *shape, int64_t linear)
{
    return read_storage(a, place(a, shape, linear));
}

#define assert_near(got, want, tolerance)                                                                              \
    do {                                                                                                               \
        double g_ = (got), w_ = (want);                                                                                \
        if (!(fabs(g_ - w_) <= (tolerance) * (1 + fabs(w_)))) {                                                        \
            fail_msg("%s:%d: got %.9g, want %.9g", __FILE__, __LINE__, g_, w_);                                        \
        }                                                                                                              \
    } while (0)

static double tolerance_of(aclDataType type)
{
    return type == ACL_FLOAT16 ? 2e-3 : type == ACL_BF16 ? 1e-2 : 1e-5;
}

/* ---- running an operator ---- */

typedef aclnnStatus (*second_phase)(void *, uint64_t, aclOpExecutor *, aclrtStream);

static uint64_t last_workspace;

static void run(second_phase phase, aclnnStatus first_status, uint64_t workspace_b, aclOpExecutor *executor)
{
    if (first_status != 0) {
        const char *message = aclGetRecentErrMsg();
        fail_msg("first phase: %d, %s", first_status, message != NULL ? message : "no message");
    }
    void *workspace = NULL;
    last_workspace = workspace_b;
    if (workspace_b > 0) {
        assert_int_equal(aclrtMalloc(&workspace, workspace_b, ACL_MEM_MALLOC_HUGE_FIRST), 0);
    }
    aclnnStatus status = phase(workspace, workspace_b, executor, stream);
    if (status != 0) {
        const char *message = aclGetRecentErrMsg();
        fail_msg("second phase: %d, %s", status, message != NULL ? message : "no message");
    }
    assert_int_equal(aclrtSynchronizeStream(stream), 0);
    if (workspace != NULL) {
        assert_int_equal(aclrtFree(workspace), 0);
    }
}

#define RUN(op, ...)                                                                                                   \
    do {                                                                                                               \
        uint64_t workspace_ = 12345;                                                                                   \
        aclOpExecutor *executor_ = NULL;                                                                               \
        aclnnStatus status_ = op##GetWorkspaceSize(__VA_ARGS__, &workspace_, &executor_);                              \
        run(op, status_, workspace_, executor_);                                                                       \
    } while (0)

/* The first phase refuses, says why, and leaves its outputs alone. */
#define REFUSED(status, op, ...)                                                                                       \
    do {                                                                                                               \
        uint64_t workspace_ = 12345;                                                                                   \
        aclOpExecutor *executor_ = NULL;                                                                               \
        aclGetRecentErrMsg();                                                                                          \
        assert_int_equal(op##GetWorkspaceSize(__VA_ARGS__, &workspace_, &executor_), status);                          \
        assert_true(workspace_ == 12345 && executor_ == NULL);                                                         \
        const char *message_ = aclGetRecentErrMsg();                                                                   \
        assert_non_null(message_);                                                                                     \
        assert_non_null(strstr(message_, #op));                                                                        \
    } while (0)

static aclScalar *real(double v)
{
    float f = (float)v;
    return aclCreateScalar(&f, ACL_FLOAT);
}

static aclScalar *whole(int64_t v)
{
    return aclCreateScalar(&v, ACL_INT64);
}

/* ---- objects ---- */

static void objects_know_their_own(void **state)
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

    /* Strides left out are those of a dense tensor. */
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

/* ---- add, mul ---- */

static void check_add(struct array x, struct array y, struct array z, double alpha, aclScalar *alpha_scalar)
{
    RUN(aclnnAdd, x.tensor, y.tensor, alpha_scalar, z.tensor);
    for (int64_t i = 0; i < count_of(&z); i++) {
        assert_near(value(&z, &z, i), value(&x, &z, i) + alpha * value(&y, &z, i), tolerance_of(z.type));
    }
    aclDestroyScalar(alpha_scalar);
    drop(&x);
    drop(&y);
    drop(&z);
}

static void add_broadcasts_and_follows_strides(void **state)
{
    check_add(make(ACL_FLOAT, DIMS(33, 70)), make(ACL_FLOAT, DIMS(33, 70)), make(ACL_FLOAT, DIMS(33, 70)), 1.5,
              real(1.5));
    check_add(make(ACL_FLOAT, DIMS(3, 4, 5)), make(ACL_FLOAT, DIMS(4, 1)), make(ACL_FLOAT, DIMS(3, 4, 5)), 1, real(1));
    check_add(make(ACL_FLOAT, DIMS(1)), make(ACL_FLOAT, DIMS(2, 3)), make(ACL_FLOAT, DIMS(2, 3)), -2, real(-2));
    check_add(make(ACL_FLOAT, 0, (const int64_t[]){0}), make(ACL_FLOAT, 0, (const int64_t[]){0}),
              make(ACL_FLOAT, 0, (const int64_t[]){0}), 1, real(1));
    /* Transposed, every second element, from an offset, into a gap-filled output. */
    check_add(make_view(ACL_FLOAT, DIMS(7, 9), (const int64_t[]){1, 7}, 0),
              make_view(ACL_FLOAT, DIMS(7, 9), (const int64_t[]){20, 2}, 5),
              make_view(ACL_FLOAT, DIMS(7, 9), (const int64_t[]){11, 1}, 3), 1, real(1));
}

static void add_keeps_gaps_untouched(void **state)
{
    struct array x = make(ACL_FLOAT, DIMS(3, 4)), z = make_view(ACL_FLOAT, DIMS(3, 4), (const int64_t[]){6, 1}, 1);
    double before = read_storage(&z, 0), gap = read_storage(&z, 5);
    aclScalar *one = real(1);
    RUN(aclnnAdd, x.tensor, x.tensor, one, z.tensor);
    assert_true(read_storage(&z, 0) == before && read_storage(&z, 5) == gap);
    assert_near(read_storage(&z, 1), 2 * read_storage(&x, 0), 1e-6);
    aclDestroyScalar(one);
    drop(&x);
    drop(&z);
}

static void add_promotes_types(void **state)
{
    static const aclDataType triples[][3] = {
        {ACL_FLOAT16, ACL_FLOAT16, ACL_FLOAT16}, {ACL_BF16, ACL_BF16, ACL_BF16},   {ACL_FLOAT16, ACL_BF16, ACL_FLOAT},
        {ACL_INT32, ACL_INT32, ACL_INT32},       {ACL_INT64, ACL_INT8, ACL_INT64}, {ACL_UINT8, ACL_INT8, ACL_INT16},
        {ACL_INT32, ACL_FLOAT16, ACL_FLOAT16},   {ACL_BOOL, ACL_INT16, ACL_INT16}, {ACL_DOUBLE, ACL_FLOAT, ACL_DOUBLE},
        {ACL_INT32, ACL_INT32, ACL_FLOAT},       {ACL_INT8, ACL_INT8, ACL_INT64},
    };
    for (size_t i = 0; i < MS_COUNT_OF(triples); i++) {
        check_add(make(triples[i][0], DIMS(5, 7)), make(triples[i][1], DIMS(5, 7)), make(triples[i][2], DIMS(5, 7)), 2,
                  whole(2));
    }
    /* true + true is true. */
    struct array x = make(ACL_BOOL, DIMS(2)), z = make(ACL_BOOL, DIMS(2));
    write_storage(&x, 0, 1);
    write_storage(&x, 1, 0);
    aclScalar *one = whole(1);
    RUN(aclnnAdd, x.tensor, x.tensor, one, z.tensor);
    assert_true(read_storage(&z, 0) == 1 && read_storage(&z, 1) == 0);
    aclDestroyScalar(one);
    drop(&x);
    drop(&z);
}

static void add_refuses(void **state)
{
    struct array x = make(ACL_FLOAT, DIMS(2, 3)), bad = make(ACL_FLOAT, DIMS(2, 4)), i32 = make(ACL_INT32, DIMS(2, 3));
    aclScalar *one = real(1);
    REFUSED(NULL_PARAM, aclnnAdd, NULL, x.tensor, one, x.tensor);
    REFUSED(NULL_PARAM, aclnnAdd, x.tensor, NULL, one, x.tensor);
    REFUSED(NULL_PARAM, aclnnAdd, x.tensor, x.tensor, NULL, x.tensor);
    REFUSED(NULL_PARAM, aclnnAdd, x.tensor, x.tensor, one, NULL);
    REFUSED(BAD_PARAM, aclnnAdd, (aclTensor *)&x, x.tensor, one, x.tensor);
    REFUSED(BAD_PARAM, aclnnAdd, x.tensor, x.tensor, (aclScalar *)x.tensor, x.tensor);
    REFUSED(BAD_PARAM, aclnnAdd, x.tensor, bad.tensor, one, x.tensor);
    REFUSED(BAD_PARAM, aclnnAdd, x.tensor, x.tensor, one, bad.tensor);
    REFUSED(BAD_PARAM, aclnnAdd, x.tensor, x.tensor, one, i32.tensor);     /* real into integer */
    REFUSED(BAD_PARAM, aclnnAdd, i32.tensor, i32.tensor, one, i32.tensor); /* real alpha for integers */
    uint64_t workspace;
    aclOpExecutor *executor;
    assert_int_equal(aclnnAddGetWorkspaceSize(x.tensor, x.tensor, one, x.tensor, NULL, &executor), NULL_PARAM);
    assert_int_equal(aclnnAddGetWorkspaceSize(x.tensor, x.tensor, one, x.tensor, &workspace, NULL), NULL_PARAM);

    const int64_t nine[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    aclTensor *deep = aclCreateTensor(nine, 9, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, nine, 9, x.memory);
    REFUSED(BAD_PARAM, aclnnAdd, deep, x.tensor, one, x.tensor);
    aclDestroyTensor(deep);
    const int64_t huge[3] = {INT64_MAX / 2, INT64_MAX / 2, 8};
    aclTensor *vast = aclCreateTensor(huge, 3, ACL_FLOAT, NULL, 0, ACL_FORMAT_ND, huge, 3, x.memory);
    REFUSED(BAD_PARAM, aclnnAdd, vast, x.tensor, one, x.tensor);
    aclDestroyTensor(vast);
    aclTensor *complex = aclCreateTensor(nine, 1, ACL_COMPLEX64, NULL, 0, ACL_FORMAT_ND, nine, 1, x.memory);
    REFUSED(BAD_PARAM, aclnnAdd, complex, complex, one, complex);
    aclDestroyTensor(complex);
    aclDestroyScalar(one);
    drop(&x);
    drop(&bad);
    drop(&i32);
}

static void mul_and_in_place_forms(void **state)
{
    static const aclDataType types[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_INT32, ACL_INT64, ACL_BOOL, ACL_UINT8};
    for (size_t t = 0; t < MS_COUNT_OF(types); t++) {
        struct array x = make(types[t], DIMS(6, 5)), y = make_view(types[t], DIMS(5), (const int64_t[]){3}, 1),
                     z = make(types[t], DIMS(6, 5));
        RUN(aclnnMul, x.tensor, y.tensor, z.tensor);
        for (int64_t i = 0; i < 30; i++) {
            assert_near(value(&z, &z, i), value(&x, &z, i) * value(&y, &z, i), tolerance_of(types[t]));
        }
        RUN(aclnnInplaceMul, x.tensor, y.tensor);
        for (int64_t i = 0; i < 30; i++) {
            assert_true(value(&x, &x, i) == value(&z, &z, i));
        }
        aclScalar *one = whole(1);
        RUN(aclnnInplaceAdd, x.tensor, z.tensor, one);
        for (int64_t i = 0; i < 30 && types[t] != ACL_BOOL; i++) {
            assert_near(value(&x, &x, i), 2 * value(&z, &z, i), 1e-6);
        }
        aclDestroyScalar(one);
        drop(&x);
        drop(&y);
        drop(&z);
    }
    struct array small = make(ACL_FLOAT, DIMS(1)), large = make(ACL_FLOAT, DIMS(4));
    REFUSED(BAD_PARAM, aclnnInplaceMul, small.tensor, large.tensor); /* the result does not fit into selfRef */
    drop(&small);
    drop(&large);
}

/* ---- moves ---- */

static void cast_copy_fill_zero(void **state)
{
    static const aclDataType types[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE, ACL_INT8, ACL_INT32, ACL_INT64};
    for (size_t from = 0; from < MS_COUNT_OF(types); from++) {
        for (size_t to = 0; to < MS_COUNT_OF(types); to++) {
            struct array x = make_view(types[from], DIMS(4, 6), (const int64_t[]){1, 4}, 2),
                         z = make(types[to], DIMS(4, 6));
            for (int64_t i = 0; i < 24; i++) {
                write_storage(&x, place(&x, &x, i), (double)(i - 12)); /* exact in every type */
            }
            RUN(aclnnCast, x.tensor, types[to], z.tensor);
            for (int64_t i = 0; i < 24; i++) {
                assert_true(value(&z, &z, i) == (double)(i - 12));
            }
            drop(&x);
            drop(&z);
        }
    }
    struct array x = make(ACL_FLOAT, DIMS(3, 1)),
                 z = make_view(ACL_FLOAT16, DIMS(2, 3, 4), (const int64_t[]){20, 5, 1}, 0);
    REFUSED(BAD_PARAM, aclnnCast, x.tensor, ACL_FLOAT, z.tensor);
    REFUSED(BAD_PARAM, aclnnCast, x.tensor, ACL_FLOAT16, z.tensor);
    RUN(aclnnInplaceCopy, z.tensor, x.tensor);
    for (int64_t i = 0; i < 24; i++) {
        assert_near(value(&z, &z, i), value(&x, &z, i), 2e-3);
    }
    REFUSED(BAD_PARAM, aclnnInplaceCopy, x.tensor, z.tensor);
    double gap = read_storage(&z, 4);
    aclScalar *v = real(2.5);
    RUN(aclnnInplaceFillScalar, z.tensor, v);
    for (int64_t i = 0; i < 24; i++) {
        assert_true(value(&z, &z, i) == 2.5);
    }
    RUN(aclnnInplaceZero, z.tensor);
    for (int64_t i = 0; i < 24; i++) {
        assert_true(value(&z, &z, i) == 0);
    }
    assert_true(read_storage(&z, 4) == gap);
    REFUSED(NULL_PARAM, aclnnInplaceFillScalar, z.tensor, NULL);
    REFUSED(NULL_PARAM, aclnnInplaceZero, NULL);
    aclDestroyScalar(v);
    drop(&x);
    drop(&z);
}

/* ---- sums and products ---- */

static void check_sum(struct array x, struct array z, bool keep, int count, const int64_t *dims)
{
    aclIntArray *list = aclCreateIntArray(dims, (uint64_t)count);
    RUN(aclnnReduceSum, x.tensor, list, keep, z.type, z.tensor);
    double want[MAX_STORAGE] = {0};
    for (int64_t i = 0; i < count_of(&x); i++) {
        int64_t index[MAX_DIMS], rest = i, to = 0;
        for (int d = x.rank; d-- > 0;) {
            index[d] = rest % x.dims[d];
            rest /= x.dims[d];
        }
        for (int d = 0; d < x.rank; d++) {
            bool summed = count == 0;
            for (int k = 0; k < count; k++) {
                summed |= (dims[k] + x.rank) % x.rank == d;
            }
            to = summed ? to : to * x.dims[d] + index[d];
        }
        want[to] += value(&x, &x, i);
    }
    for (int64_t i = 0; i < count_of(&z); i++) {
        assert_near(value(&z, &z, i), want[i], tolerance_of(z.type) * 10);
    }
    aclDestroyIntArray(list);
    drop(&x);
    drop(&z);
}

static void sums(void **state)
{
    check_sum(make(ACL_FLOAT, DIMS(3, 4, 5)), make(ACL_FLOAT, DIMS(3, 5)), false, DIMS(1));
    check_sum(make(ACL_FLOAT, DIMS(3, 4, 5)), make(ACL_FLOAT, DIMS(1, 4, 1)), true, DIMS(-1, 0));
    check_sum(make(ACL_FLOAT, DIMS(40, 50)), make(ACL_FLOAT, 0, (const int64_t[]){0}), false, 0, NULL);
    check_sum(make_view(ACL_FLOAT16, DIMS(6, 7), (const int64_t[]){1, 9}, 3),
              make_view(ACL_FLOAT, DIMS(7), (const int64_t[]){2}, 1), false, DIMS(0));
    check_sum(make(ACL_INT32, DIMS(6, 7)), make(ACL_INT64, DIMS(6)), false, DIMS(1));
    check_sum(make(ACL_BF16, DIMS(6, 7)), make(ACL_BF16, DIMS(6, 1)), true, DIMS(1));
    check_sum(make(ACL_BOOL, DIMS(6, 7)), make(ACL_INT64, DIMS(7)), false, DIMS(0));
    /* An empty sum is zero. */
    check_sum(make(ACL_FLOAT, DIMS(0, 3)), make(ACL_FLOAT, DIMS(3)), false, DIMS(0));

    struct array x = make(ACL_FLOAT, DIMS(2, 3)), z = make(ACL_FLOAT, DIMS(2));
    aclIntArray *outside = aclCreateIntArray((const int64_t[]){2}, 1),
                *twice = aclCreateIntArray((const int64_t[]){1, -1}, 2),
                *last = aclCreateIntArray((const int64_t[]){1}, 1);
    REFUSED(BAD_PARAM, aclnnReduceSum, x.tensor, outside, false, ACL_FLOAT, z.tensor);
    REFUSED(BAD_PARAM, aclnnReduceSum, x.tensor, twice, false, ACL_FLOAT, z.tensor);
    REFUSED(BAD_PARAM, aclnnReduceSum, x.tensor, last, true, ACL_FLOAT, z.tensor);
    REFUSED(BAD_PARAM, aclnnReduceSum, x.tensor, last, false, ACL_FLOAT16, z.tensor);
    REFUSED(NULL_PARAM, aclnnReduceSum, x.tensor, NULL, false, ACL_FLOAT, z.tensor);
    aclDestroyIntArray(outside);
    aclDestroyIntArray(twice);
    aclDestroyIntArray(last);
    drop(&x);
    drop(&z);
}

/* Element (batch, i, j) of an operand of a product; vectors are rows on the left and columns on the right. */
static double matrix_value(const struct array *a, const struct array *batch_shape, int64_t batch, int64_t i, int64_t j,
                           bool left)
{
    int64_t at = a->offset;
    if (a->rank == 1) {
        return read_storage(a, at + (left ? j : i) * a->strides[0]);
    }
    struct array lead = *a;
    lead.rank -= 2;
    at = place(&lead, batch_shape, batch);
    return read_storage(a, at + i * a->strides[a->rank - 2] + j * a->strides[a->rank - 1]);
}

static void check_product(struct array x, struct array y, struct array z, int64_t m, int64_t n, int64_t k)
{
    RUN(aclnnMatmul, x.tensor, y.tensor, z.tensor, 0);
    assert_true(z.type == ACL_FLOAT ? last_workspace == 0 : last_workspace >= (uint64_t)(count_of(&z) * 4));
    struct array batches = z;
    batches.rank = z.rank - (x.rank > 1) - (y.rank > 1);
    for (int64_t b = 0; b < count_of(&batches); b++) {
        for (int64_t i = 0; i < m; i++) {
            for (int64_t j = 0; j < n; j++) {
                double sum = 0;
                for (int64_t l = 0; l < k; l++) {
                    sum += matrix_value(&x, &batches, b, i, l, true) * matrix_value(&y, &batches, b, l, j, false);
                }
                assert_near(value(&z, &z, (b * m + i) * n + j), sum, tolerance_of(z.type) * 2);
            }
        }
    }
    drop(&x);
    drop(&y);
    drop(&z);
}

static void products(void **state)
{
    check_product(make(ACL_FLOAT, DIMS(7, 9)), make(ACL_FLOAT, DIMS(9, 11)), make(ACL_FLOAT, DIMS(7, 11)), 7, 11, 9);
    /* Transposed views on both sides, a strided output. */
    check_product(make_view(ACL_FLOAT, DIMS(7, 9), (const int64_t[]){1, 7}, 2),
                  make_view(ACL_FLOAT, DIMS(9, 11), (const int64_t[]){1, 10}, 1),
                  make_view(ACL_FLOAT, DIMS(7, 11), (const int64_t[]){1, 8}, 0), 7, 11, 9);
    /* Batches that broadcast. */
    check_product(make(ACL_FLOAT, DIMS(2, 1, 3, 4)), make(ACL_FLOAT, DIMS(3, 4, 5)), make(ACL_FLOAT, DIMS(2, 3, 3, 5)),
                  3, 5, 4);
    check_product(make(ACL_FLOAT, DIMS(6, 3, 4)), make(ACL_FLOAT, DIMS(4, 5)), make(ACL_FLOAT, DIMS(6, 3, 5)), 3, 5, 4);
    /* Vectors. */
    check_product(make(ACL_FLOAT, DIMS(9)), make(ACL_FLOAT, DIMS(9, 4)), make(ACL_FLOAT, DIMS(4)), 1, 4, 9);
    check_product(make(ACL_FLOAT, DIMS(4, 9)), make(ACL_FLOAT, DIMS(9)), make(ACL_FLOAT, DIMS(4)), 4, 1, 9);
    check_product(make(ACL_FLOAT, DIMS(9)), make_view(ACL_FLOAT, DIMS(9), (const int64_t[]){2}, 0),
                  make(ACL_FLOAT, 0, (const int64_t[]){0}), 1, 1, 9);
    /* Half types, through a float32 workspace. */
    check_product(make(ACL_FLOAT16, DIMS(7, 9)), make(ACL_FLOAT16, DIMS(9, 5)), make(ACL_FLOAT16, DIMS(7, 5)), 7, 5, 9);
    check_product(make(ACL_BF16, DIMS(2, 7, 9)), make_view(ACL_BF16, DIMS(2, 9, 5), (const int64_t[]){45, 1, 9}, 0),
                  make_view(ACL_BF16, DIMS(2, 7, 5), (const int64_t[]){50, 6, 1}, 1), 7, 5, 9);
    check_product(make(ACL_FLOAT16, DIMS(3, 4)), make(ACL_FLOAT, DIMS(4, 5)), make(ACL_FLOAT, DIMS(3, 5)), 3, 5, 4);
    /* An empty sum is zero. */
    check_product(make(ACL_FLOAT, DIMS(3, 0)), make(ACL_FLOAT, DIMS(0, 2)), make(ACL_FLOAT, DIMS(3, 2)), 3, 2, 0);

    struct array a = make(ACL_FLOAT, DIMS(3, 4)), b = make(ACL_FLOAT, DIMS(4, 5)), c = make(ACL_FLOAT, DIMS(3, 5)),
                 h = make(ACL_BF16, DIMS(4, 5)), i = make(ACL_INT32, DIMS(4, 5));
    RUN(aclnnMm, a.tensor, b.tensor, c.tensor, 1);
    REFUSED(BAD_PARAM, aclnnMatmul, a.tensor, a.tensor, c.tensor, 0);
    REFUSED(BAD_PARAM, aclnnMatmul, a.tensor, b.tensor, b.tensor, 0);
    REFUSED(BAD_PARAM, aclnnMatmul, a.tensor, b.tensor, c.tensor, -1);
    REFUSED(BAD_PARAM, aclnnMatmul, a.tensor, h.tensor, c.tensor, 0);
    REFUSED(BAD_PARAM, aclnnMatmul, a.tensor, i.tensor, c.tensor, 0);
    REFUSED(NULL_PARAM, aclnnMatmul, a.tensor, NULL, c.tensor, 0);
    REFUSED(BAD_PARAM, aclnnBatchMatMul, a.tensor, b.tensor, c.tensor, 0);
    drop(&a);
    drop(&b);
    drop(&c);
    drop(&h);
    drop(&i);
}

/* ---- softmax, layer norm ---- */

static void check_softmax(struct array x, struct array z, int dim)
{
    RUN(aclnnSoftmax, x.tensor, dim, z.tensor);
    int axis = dim < 0 ? dim + x.rank : dim;
    int64_t inner = 1;
    for (int d = axis + 1; d < x.rank; d++) {
        inner *= x.dims[d];
    }
    for (int64_t i = 0; i < count_of(&x); i++) {
        int64_t base = i - i / inner % x.dims[axis] * inner;
        double sum = 0;
        for (int64_t j = 0; j < x.dims[axis]; j++) {
            sum += exp(value(&x, &x, base + j * inner));
        }
        assert_near(value(&z, &z, i), exp(value(&x, &x, i)) / sum, tolerance_of(z.type));
    }
    drop(&x);
    drop(&z);
}

static void softmaxes(void **state)
{
    check_softmax(make(ACL_FLOAT, DIMS(5, 13)), make(ACL_FLOAT, DIMS(5, 13)), -1);
    check_softmax(make(ACL_FLOAT, DIMS(3, 5, 4)), make(ACL_FLOAT, DIMS(3, 5, 4)), 1);
    check_softmax(make_view(ACL_FLOAT16, DIMS(5, 13), (const int64_t[]){1, 6}, 1),
                  make_view(ACL_FLOAT16, DIMS(5, 13), (const int64_t[]){30, 2}, 0), 1);
    check_softmax(make(ACL_BF16, DIMS(4, 6)), make(ACL_FLOAT, DIMS(4, 6)), 0);
    struct array x = make(ACL_FLOAT, DIMS(2, 3)), y = make(ACL_FLOAT, DIMS(3, 2)), i = make(ACL_INT32, DIMS(2, 3));
    REFUSED(BAD_PARAM, aclnnSoftmax, x.tensor, 2, x.tensor);
    REFUSED(BAD_PARAM, aclnnSoftmax, x.tensor, -3, x.tensor);
    REFUSED(BAD_PARAM, aclnnSoftmax, x.tensor, 0, y.tensor);
    REFUSED(BAD_PARAM, aclnnSoftmax, i.tensor, 0, i.tensor);
    drop(&x);
    drop(&y);
    drop(&i);
}

static void check_norm(struct array x, struct array z, bool affine, uint64_t normalized, aclDataType parameters,
                       bool needs_workspace)
{
    int64_t cols = 1;
    for (int d = x.rank - (int)normalized; d < x.rank; d++) {
        cols *= x.dims[d];
    }
    int64_t rows = count_of(&x) / cols;
    const int64_t *shape = x.dims + x.rank - normalized;
    struct array weight = make(parameters, (int)normalized, shape), bias = make(parameters, (int)normalized, shape);
    struct array mean = make(ACL_FLOAT, DIMS(rows)), rstd = make(ACL_FLOAT, DIMS(rows));
    aclIntArray *list = aclCreateIntArray(shape, normalized);
    RUN(aclnnLayerNorm, x.tensor, list, affine ? weight.tensor : NULL, affine ? bias.tensor : NULL, 1e-5, z.tensor,
        affine ? mean.tensor : NULL, affine ? rstd.tensor : NULL);
    assert_int_equal(last_workspace > 0, needs_workspace);
    for (int64_t r = 0; r < rows; r++) {
        double m = 0, v = 0;
        for (int64_t c = 0; c < cols; c++) {
            m += value(&x, &x, r * cols + c) / (double)cols;
        }
        for (int64_t c = 0; c < cols; c++) {
            double d = value(&x, &x, r * cols + c) - m;
            v += d * d / (double)cols;
        }
        for (int64_t c = 0; c < cols; c++) {
            double n = (value(&x, &x, r * cols + c) - m) / sqrt(v + 1e-5);
            double want = affine ? n * read_storage(&weight, c) + read_storage(&bias, c) : n;
            assert_near(value(&z, &z, r * cols + c), want, tolerance_of(z.type) * 2);
        }
        if (affine) {
            assert_near(read_storage(&mean, r), m, 1e-5);
            assert_near(read_storage(&rstd, r), 1 / sqrt(v + 1e-5), 1e-4);
        }
    }
    aclDestroyIntArray(list);
    drop(&weight);
    drop(&bias);
    drop(&mean);
    drop(&rstd);
    drop(&x);
    drop(&z);
}

static void layer_norms(void **state)
{
    check_norm(make(ACL_FLOAT, DIMS(5, 40)), make(ACL_FLOAT, DIMS(5, 40)), true, 1, ACL_FLOAT, false);
    check_norm(make(ACL_FLOAT, DIMS(5, 40)), make(ACL_FLOAT, DIMS(5, 40)), false, 1, ACL_FLOAT, false);
    check_norm(make(ACL_FLOAT16, DIMS(2, 3, 4, 5)), make(ACL_FLOAT16, DIMS(2, 3, 4, 5)), true, 2, ACL_FLOAT16, false);
    check_norm(make(ACL_BF16, DIMS(3, 30)), make(ACL_BF16, DIMS(3, 30)), true, 1, ACL_FLOAT, false);
    check_norm(make_view(ACL_FLOAT, DIMS(5, 20), (const int64_t[]){1, 7}, 2),
               make_view(ACL_FLOAT, DIMS(5, 20), (const int64_t[]){30, 1}, 0), true, 1, ACL_FLOAT, true);
    struct array x = make(ACL_FLOAT, DIMS(2, 3)), w = make(ACL_FLOAT, DIMS(2));
    aclIntArray *three = aclCreateIntArray((const int64_t[]){3}, 1), *two = aclCreateIntArray((const int64_t[]){2}, 1),
                *none = aclCreateIntArray(NULL, 0);
    REFUSED(BAD_PARAM, aclnnLayerNorm, x.tensor, two, NULL, NULL, 1e-5, x.tensor, NULL, NULL);
    REFUSED(BAD_PARAM, aclnnLayerNorm, x.tensor, none, NULL, NULL, 1e-5, x.tensor, NULL, NULL);
    REFUSED(BAD_PARAM, aclnnLayerNorm, x.tensor, three, w.tensor, NULL, 1e-5, x.tensor, NULL, NULL);
    REFUSED(BAD_PARAM, aclnnLayerNorm, x.tensor, three, NULL, NULL, 1e-5, w.tensor, NULL, NULL);
    REFUSED(BAD_PARAM, aclnnLayerNorm, x.tensor, three, NULL, NULL, 1e-5, x.tensor, x.tensor, NULL);
    REFUSED(NULL_PARAM, aclnnLayerNorm, x.tensor, NULL, NULL, NULL, 1e-5, x.tensor, NULL, NULL);
    aclDestroyIntArray(three);
    aclDestroyIntArray(two);
    aclDestroyIntArray(none);
    drop(&x);
    drop(&w);
}

/* ---- random ---- */

static void random_tensors(void **state)
{
    struct array x = make(ACL_FLOAT, DIMS(40, 50)), y = make_view(ACL_FLOAT, DIMS(40, 50), (const int64_t[]){1, 41}, 3),
                 h = make(ACL_FLOAT16, DIMS(40, 50));
    double sum = 0, squares = 0;
    RUN(aclnnInplaceUniform, x.tensor, -1.0, 3.0, 7, 0);
    RUN(aclnnInplaceUniform, y.tensor, -1.0, 3.0, 7, 0);
    for (int64_t i = 0; i < 2000; i++) {
        double v = value(&x, &x, i);
        assert_true(v >= -1 && v < 3);
        assert_true(v == value(&y, &y, i)); /* strides do not matter */
        sum += v;
    }
    assert_true(fabs(sum / 2000 - 1) < 0.15);
    RUN(aclnnInplaceNormal, x.tensor, 2.0f, 0.5f, 7, 0);
    RUN(aclnnInplaceNormal, h.tensor, 2.0f, 0.5f, 7, 0);
    sum = 0;
    for (int64_t i = 0; i < 2000; i++) {
        double v = value(&x, &x, i);
        assert_near(value(&h, &h, i), v, 2e-3);
        sum += v;
        squares += (v - 2) * (v - 2);
    }
    assert_true(fabs(sum / 2000 - 2) < 0.06);
    assert_true(fabs(squares / 2000 - 0.25) < 0.04);
    /* An offset of one moves the sequence by four elements. */
    RUN(aclnnInplaceNormal, y.tensor, 2.0f, 0.5f, 7, 1);
    assert_true(value(&y, &y, 0) == value(&x, &x, 4));
    REFUSED(BAD_PARAM, aclnnInplaceUniform, x.tensor, 2.0, 1.0, 7, 0);
    REFUSED(BAD_PARAM, aclnnInplaceNormal, x.tensor, 2.0f, -1.0f, 7, 0);
    REFUSED(NULL_PARAM, aclnnInplaceNormal, NULL, 2.0f, 1.0f, 7, 0);
    drop(&x);
    drop(&y);
    drop(&h);
}

/* ---- executors ---- */

static void executor_is_used_up(void **state)
{
    struct array x = make(ACL_FLOAT, DIMS(4)), z = make(ACL_FLOAT, DIMS(4));
    uint64_t workspace;
    aclOpExecutor *executor;
    assert_int_equal(aclnnMulGetWorkspaceSize(x.tensor, x.tensor, z.tensor, &workspace, &executor), 0);
    assert_int_equal(aclnnMul(NULL, 0, executor, stream), 0);
    assert_int_equal(aclnnMul(NULL, 0, executor, stream), BAD_PARAM);
    assert_int_equal(aclSetAclOpExecutorRepeatable(executor) == 0, 0);
    assert_int_equal(aclDestroyAclOpExecutor(executor) == 0, 0);
    assert_int_equal(aclnnMul(NULL, 0, NULL, stream), NULL_PARAM);
    assert_int_equal(aclnnMul(NULL, 0, (aclOpExecutor *)&x, stream), BAD_PARAM);
    assert_int_equal(aclSetAclOpExecutorRepeatable(NULL), INNER_NULL);
    assert_int_equal(aclDestroyAclOpExecutor(NULL), INNER_NULL);
    assert_int_equal(aclrtSynchronizeStream(stream), 0);
    drop(&x);
    drop(&z);
}

static void executor_repeats_with_new_addresses(void **state)
{
    struct array x = make(ACL_FLOAT, DIMS(4)), other = make(ACL_FLOAT, DIMS(4)), z = make(ACL_FLOAT, DIMS(4));
    uint64_t workspace;
    aclOpExecutor *executor;
    assert_int_equal(aclnnMulGetWorkspaceSize(x.tensor, x.tensor, z.tensor, &workspace, &executor), 0);
    assert_int_equal(aclSetAclOpExecutorRepeatable(executor), 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(aclnnMul(NULL, 0, executor, stream), 0);
    }
    assert_int_equal(aclSetTensorAddr(executor, 0, x.tensor, other.memory), 0);
    assert_int_equal(aclnnMul(NULL, 0, executor, stream), 0);
    assert_int_equal(aclrtSynchronizeStream(stream), 0);
    assert_near(read_storage(&z, 0), read_storage(&other, 0) * read_storage(&other, 0), 1e-6);
    assert_int_equal(aclSetInputTensorAddr(executor, 0, other.tensor, x.memory), BAD_PARAM); /* no argument of it */
    assert_int_equal(aclSetOutputTensorAddr(executor, 0, NULL, x.memory), INNER_NULL);
    assert_int_equal(aclDestroyAclOpExecutor(executor), 0);
    assert_int_equal(aclnnMul(NULL, 0, executor, stream), BAD_PARAM);
    drop(&x);
    drop(&other);
    drop(&z);
}

static void executor_outlives_its_tensors(void **state)
{
    struct array x = make(ACL_FLOAT, DIMS(4)), z = make(ACL_FLOAT, DIMS(4));
    uint64_t workspace;
    aclOpExecutor *executor;
    assert_int_equal(aclnnMulGetWorkspaceSize(x.tensor, x.tensor, z.tensor, &workspace, &executor), 0);
    aclDestroyTensor(x.tensor);
    aclDestroyTensor(z.tensor);
    assert_int_equal(aclnnMul(NULL, 0, executor, stream), 0);
    assert_int_equal(aclrtSynchronizeStream(stream), 0);
    assert_near(read_storage(&z, 1), read_storage(&x, 1) * read_storage(&x, 1), 1e-6);
    aclrtFree(x.memory);
    aclrtFree(z.memory);
}

static void second_phase_refuses_bad_memory(void **state)
{
    struct array x = make(ACL_FLOAT16, DIMS(4, 4)), z = make(ACL_FLOAT16, DIMS(4, 4));
    uint64_t workspace;
    aclOpExecutor *executor;
    /* Too small a workspace, none at all. */
    assert_int_equal(aclnnMatmulGetWorkspaceSize(x.tensor, x.tensor, z.tensor, 0, &workspace, &executor), 0);
    assert_true(workspace >= 64);
    assert_int_equal(aclnnMatmul(x.memory, workspace - 1, executor, stream), BAD_PARAM);
    assert_int_equal(aclnnMatmulGetWorkspaceSize(x.tensor, x.tensor, z.tensor, 0, &workspace, &executor), 0);
    assert_int_equal(aclnnMatmul(NULL, workspace, executor, stream), NULL_PARAM);
    /* A tensor without memory. */
    aclSetRawTensorAddr(x.tensor, NULL);
    assert_int_equal(aclnnMulGetWorkspaceSize(x.tensor, x.tensor, z.tensor, &workspace, &executor), 0);
    assert_int_equal(aclnnMul(NULL, 0, executor, stream), NULL_PARAM);
    /* Memory that was freed. */
    aclSetRawTensorAddr(x.tensor, x.memory);
    assert_int_equal(aclnnMulGetWorkspaceSize(x.tensor, x.tensor, z.tensor, &workspace, &executor), 0);
    void *freed = x.memory;
    assert_int_equal(aclrtFree(freed), 0);
    assert_int_equal(aclnnMul(NULL, 0, executor, stream), BAD_PARAM);
    assert_int_equal(aclDestroyTensor(x.tensor), 0);
    drop(&z);
    /* A stream that is none. */
    struct array y = make(ACL_FLOAT, DIMS(4));
    assert_int_equal(aclnnMulGetWorkspaceSize(y.tensor, y.tensor, y.tensor, &workspace, &executor), 0);
    assert_int_equal(aclnnMul(NULL, 0, executor, &y), 361001);
    drop(&y);
}

static void empty_tensors_need_no_launch(void **state)
{
    struct array x = make(ACL_FLOAT, DIMS(0, 3));
    aclScalar *one = real(1);
    aclSetRawTensorAddr(x.tensor, NULL);
    RUN(aclnnAdd, x.tensor, x.tensor, one, x.tensor);
    RUN(aclnnInplaceZero, x.tensor);
    RUN(aclnnSoftmax, x.tensor, 1, x.tensor);
    RUN(aclnnInplaceNormal, x.tensor, 0.0f, 1.0f, 1, 0);
    aclDestroyScalar(one);
    drop(&x);
}

/* Several threads, each with its own stream, tensors and executors. Memory is written and read by the main thread. */
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

static void threads_do_not_meet(void **state)
{
    struct lane lanes[4];
    for (size_t i = 0; i < MS_COUNT_OF(lanes); i++) {
        lanes[i] = (struct lane){.x = make(ACL_FLOAT, DIMS(8)), .z = make(ACL_FLOAT, DIMS(8))};
        assert_int_equal(pthread_create(&lanes[i].thread, NULL, multiply_often, &lanes[i]), 0);
    }
    for (size_t i = 0; i < MS_COUNT_OF(lanes); i++) {
        assert_int_equal(pthread_join(lanes[i].thread, NULL), 0);
        assert_false(lanes[i].failed);
        for (int64_t j = 0; j < 8; j++) {
            assert_near(read_storage(&lanes[i].z, j), pow(read_storage(&lanes[i].x, j), 2), 1e-6);
        }
        drop(&lanes[i].x);
        drop(&lanes[i].z);
    }
}

/* The operator binary goes with aclnnFinalize or aclFinalize and comes back when it is needed. */
static void operators_run_again_after_the_end(void **state)
{
    struct array x = make(ACL_FLOAT, DIMS(4)), z = make(ACL_FLOAT, DIMS(4));
    RUN(aclnnMul, x.tensor, x.tensor, z.tensor);
    assert_int_equal(aclnnFinalize(), 0);
    RUN(aclnnMul, x.tensor, z.tensor, z.tensor);
    assert_int_equal(aclFinalize(), 0);
    assert_int_equal(aclInit(NULL), 0);
    RUN(aclnnMul, x.tensor, z.tensor, z.tensor);
    assert_near(read_storage(&z, 2), pow(read_storage(&x, 2), 4), 1e-6);
    drop(&x);
    drop(&z);
}

static int open_device(void **state)
{
    own_machine_use("2");
    return aclInit(NULL) != 0 || aclrtSetDevice(0) != 0 || aclrtCreateStream(&stream) != 0 || aclnnInit(NULL) != 0;
}

static int close_device(void **state)
{
    return aclnnFinalize() != 0 || aclrtDestroyStream(stream) != 0 || aclrtResetDevice(0) != 0 || aclFinalize() != 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_know_their_own),
        cmocka_unit_test(lists_own_their_members),
        cmocka_unit_test(add_broadcasts_and_follows_strides),
        cmocka_unit_test(add_keeps_gaps_untouched),
        cmocka_unit_test(add_promotes_types),
        cmocka_unit_test(add_refuses),
        cmocka_unit_test(mul_and_in_place_forms),
        cmocka_unit_test(cast_copy_fill_zero),
        cmocka_unit_test(sums),
        cmocka_unit_test(products),
        cmocka_unit_test(softmaxes),
        cmocka_unit_test(layer_norms),
        cmocka_unit_test(random_tensors),
        cmocka_unit_test(executor_is_used_up),
        cmocka_unit_test(executor_repeats_with_new_addresses),
        cmocka_unit_test(executor_outlives_its_tensors),
        cmocka_unit_test(second_phase_refuses_bad_memory),
        cmocka_unit_test(empty_tensors_need_no_launch),
        cmocka_unit_test(threads_do_not_meet),
        cmocka_unit_test(operators_run_again_after_the_end),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
