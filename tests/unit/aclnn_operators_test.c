/* SPDX-License-Identifier: Apache-2.0 */
/* Two-phase operators on a device: results against references in double precision for types, strides and broadcasts;
 * calls that the first phase refuses. */
#include "aclnn_fixture.h"

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

#include <stdlib.h>

/* ---- add, mul ---- */

static void check_add(struct array x, struct array y, struct array z, double alpha, aclScalar *alpha_scalar)
{
    RUN(aclnnAdd, x.tensor, y.tensor, alpha_scalar, z.tensor);
    for (int64_t i = 0; i < array_count(&z); i++) {
        assert_near(array_value(&z, &z, i), array_value(&x, &z, i) + alpha * array_value(&y, &z, i),
                    array_tolerance(z.type));
    }
    aclDestroyScalar(alpha_scalar);
    array_drop(&x);
    array_drop(&y);
    array_drop(&z);
}

static void add_broadcasts_and_follows_strides(void **state)
{
    check_add(array_make(ACL_FLOAT, DIMS(33, 70)), array_make(ACL_FLOAT, DIMS(33, 70)),
              array_make(ACL_FLOAT, DIMS(33, 70)), 1.5, scalar_real(1.5));
    check_add(array_make(ACL_FLOAT, DIMS(3, 4, 5)), array_make(ACL_FLOAT, DIMS(4, 1)),
              array_make(ACL_FLOAT, DIMS(3, 4, 5)), 1, scalar_real(1));
    check_add(array_make(ACL_FLOAT, DIMS(1)), array_make(ACL_FLOAT, DIMS(2, 3)), array_make(ACL_FLOAT, DIMS(2, 3)), -2,
              scalar_real(-2));
    check_add(array_make(ACL_FLOAT, 0, (const int64_t[]){0}), array_make(ACL_FLOAT, 0, (const int64_t[]){0}),
              array_make(ACL_FLOAT, 0, (const int64_t[]){0}), 1, scalar_real(1));
    /* Transposed, every second element, from an offset, into a gap-filled output. */
    check_add(array_view(ACL_FLOAT, DIMS(7, 9), (const int64_t[]){1, 7}, 0),
              array_view(ACL_FLOAT, DIMS(7, 9), (const int64_t[]){20, 2}, 5),
              array_view(ACL_FLOAT, DIMS(7, 9), (const int64_t[]){11, 1}, 3), 1, scalar_real(1));
}

static void add_keeps_gaps_untouched(void **state)
{
    struct array x = array_make(ACL_FLOAT, DIMS(3, 4)),
                 z = array_view(ACL_FLOAT, DIMS(3, 4), (const int64_t[]){6, 1}, 1);
    double before = array_read(&z, 0), gap = array_read(&z, 5);
    aclScalar *one = scalar_real(1);
    RUN(aclnnAdd, x.tensor, x.tensor, one, z.tensor);
    assert_true(array_read(&z, 0) == before && array_read(&z, 5) == gap);
    assert_near(array_read(&z, 1), 2 * array_read(&x, 0), 1e-6);
    aclDestroyScalar(one);
    array_drop(&x);
    array_drop(&z);
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
        check_add(array_make(triples[i][0], DIMS(5, 7)), array_make(triples[i][1], DIMS(5, 7)),
                  array_make(triples[i][2], DIMS(5, 7)), 2, scalar_whole(2));
    }
    /* true + true is true. */
    struct array x = array_make(ACL_BOOL, DIMS(2)), z = array_make(ACL_BOOL, DIMS(2));
    array_write(&x, 0, 1);
    array_write(&x, 1, 0);
    aclScalar *one = scalar_whole(1);
    RUN(aclnnAdd, x.tensor, x.tensor, one, z.tensor);
    assert_true(array_read(&z, 0) == 1 && array_read(&z, 1) == 0);
    aclDestroyScalar(one);
    array_drop(&x);
    array_drop(&z);
}

static void add_refuses(void **state)
{
    struct array x = array_make(ACL_FLOAT, DIMS(2, 3)), bad = array_make(ACL_FLOAT, DIMS(2, 4)),
                 i32 = array_make(ACL_INT32, DIMS(2, 3));
    aclScalar *one = scalar_real(1);
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
    array_drop(&x);
    array_drop(&bad);
    array_drop(&i32);
}

static void mul_and_in_place_forms(void **state)
{
    static const aclDataType types[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_INT32, ACL_INT64, ACL_BOOL, ACL_UINT8};
    for (size_t t = 0; t < MS_COUNT_OF(types); t++) {
        struct array x = array_make(types[t], DIMS(6, 5)), y = array_view(types[t], DIMS(5), (const int64_t[]){3}, 1),
                     z = array_make(types[t], DIMS(6, 5));
        RUN(aclnnMul, x.tensor, y.tensor, z.tensor);
        for (int64_t i = 0; i < 30; i++) {
            assert_near(array_value(&z, &z, i), array_value(&x, &z, i) * array_value(&y, &z, i),
                        array_tolerance(types[t]));
        }
        RUN(aclnnInplaceMul, x.tensor, y.tensor);
        for (int64_t i = 0; i < 30; i++) {
            assert_true(array_value(&x, &x, i) == array_value(&z, &z, i));
        }
        aclScalar *one = scalar_whole(1);
        RUN(aclnnInplaceAdd, x.tensor, z.tensor, one);
        for (int64_t i = 0; i < 30 && types[t] != ACL_BOOL; i++) {
            assert_near(array_value(&x, &x, i), 2 * array_value(&z, &z, i), 1e-6);
        }
        aclDestroyScalar(one);
        array_drop(&x);
        array_drop(&y);
        array_drop(&z);
    }
    struct array small = array_make(ACL_FLOAT, DIMS(1)), large = array_make(ACL_FLOAT, DIMS(4));
    REFUSED(BAD_PARAM, aclnnInplaceMul, small.tensor, large.tensor); /* the result is larger than selfRef */
    array_drop(&small);
    array_drop(&large);
}

/* ---- moves ---- */

static void cast_copy_fill_zero(void **state)
{
    static const aclDataType types[] = {ACL_FLOAT, ACL_FLOAT16, ACL_BF16, ACL_DOUBLE, ACL_INT8, ACL_INT32, ACL_INT64};
    for (size_t from = 0; from < MS_COUNT_OF(types); from++) {
        for (size_t to = 0; to < MS_COUNT_OF(types); to++) {
            struct array x = array_view(types[from], DIMS(4, 6), (const int64_t[]){1, 4}, 2),
                         z = array_make(types[to], DIMS(4, 6));
            for (int64_t i = 0; i < 24; i++) {
                array_write(&x, array_place(&x, &x, i), (double)(i - 12)); /* exact in every type */
            }
            RUN(aclnnCast, x.tensor, types[to], z.tensor);
            for (int64_t i = 0; i < 24; i++) {
                assert_true(array_value(&z, &z, i) == (double)(i - 12));
            }
            array_drop(&x);
            array_drop(&z);
        }
    }
    struct array x = array_make(ACL_FLOAT, DIMS(3, 1)),
                 z = array_view(ACL_FLOAT16, DIMS(2, 3, 4), (const int64_t[]){20, 5, 1}, 0);
    REFUSED(BAD_PARAM, aclnnCast, x.tensor, ACL_FLOAT, z.tensor);
    REFUSED(BAD_PARAM, aclnnCast, x.tensor, ACL_FLOAT16, z.tensor);
    RUN(aclnnInplaceCopy, z.tensor, x.tensor);
    for (int64_t i = 0; i < 24; i++) {
        assert_near(array_value(&z, &z, i), array_value(&x, &z, i), 2e-3);
    }
    REFUSED(BAD_PARAM, aclnnInplaceCopy, x.tensor, z.tensor);
    double gap = array_read(&z, 4);
    aclScalar *v = scalar_real(2.5);
    RUN(aclnnInplaceFillScalar, z.tensor, v);
    for (int64_t i = 0; i < 24; i++) {
        assert_true(array_value(&z, &z, i) == 2.5);
    }
    RUN(aclnnInplaceZero, z.tensor);
    for (int64_t i = 0; i < 24; i++) {
        assert_true(array_value(&z, &z, i) == 0);
    }
    assert_true(array_read(&z, 4) == gap);
    REFUSED(NULL_PARAM, aclnnInplaceFillScalar, z.tensor, NULL);
    REFUSED(NULL_PARAM, aclnnInplaceZero, NULL);
    aclDestroyScalar(v);
    array_drop(&x);
    array_drop(&z);
}

/* ---- sums and products ---- */

static void check_sum(struct array x, struct array z, bool keep, int count, const int64_t *dims)
{
    aclIntArray *list = aclCreateIntArray(dims, (uint64_t)count);
    RUN(aclnnReduceSum, x.tensor, list, keep, z.type, z.tensor);
    double want[MAX_STORAGE] = {0};
    for (int64_t i = 0; i < array_count(&x); i++) {
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
        want[to] += array_value(&x, &x, i);
    }
    for (int64_t i = 0; i < array_count(&z); i++) {
        assert_near(array_value(&z, &z, i), want[i], array_tolerance(z.type) * 10);
    }
    aclDestroyIntArray(list);
    array_drop(&x);
    array_drop(&z);
}

static void sums(void **state)
{
    check_sum(array_make(ACL_FLOAT, DIMS(3, 4, 5)), array_make(ACL_FLOAT, DIMS(3, 5)), false, DIMS(1));
    check_sum(array_make(ACL_FLOAT, DIMS(3, 4, 5)), array_make(ACL_FLOAT, DIMS(1, 4, 1)), true, DIMS(-1, 0));
    check_sum(array_make(ACL_FLOAT, DIMS(40, 50)), array_make(ACL_FLOAT, 0, (const int64_t[]){0}), false, 0, NULL);
    /* One element is accepted as a scalar. */
    check_sum(array_make(ACL_FLOAT, DIMS(40, 50)), array_make(ACL_FLOAT, DIMS(1)), false, 0, NULL);
    check_sum(array_view(ACL_FLOAT16, DIMS(6, 7), (const int64_t[]){1, 9}, 3),
              array_view(ACL_FLOAT, DIMS(7), (const int64_t[]){2}, 1), false, DIMS(0));
    check_sum(array_make(ACL_INT32, DIMS(6, 7)), array_make(ACL_INT64, DIMS(6)), false, DIMS(1));
    check_sum(array_make(ACL_BF16, DIMS(6, 7)), array_make(ACL_BF16, DIMS(6, 1)), true, DIMS(1));
    check_sum(array_make(ACL_BOOL, DIMS(6, 7)), array_make(ACL_INT64, DIMS(7)), false, DIMS(0));
    /* An empty sum is zero. */
    check_sum(array_make(ACL_FLOAT, DIMS(0, 3)), array_make(ACL_FLOAT, DIMS(3)), false, DIMS(0));

    struct array x = array_make(ACL_FLOAT, DIMS(2, 3)), z = array_make(ACL_FLOAT, DIMS(2));
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
    array_drop(&x);
    array_drop(&z);
}

/* Element (batch, i, j) of an operand of a product; vectors are rows on the left and columns on the right. */
static double matrix_value(const struct array *a, const struct array *batch_shape, int64_t batch, int64_t i, int64_t j,
                           bool left)
{
    int64_t at = a->offset;
    if (a->rank == 1) {
        return array_read(a, at + (left ? j : i) * a->strides[0]);
    }
    struct array lead = *a;
    lead.rank -= 2;
    at = array_place(&lead, batch_shape, batch);
    return array_read(a, at + i * a->strides[a->rank - 2] + j * a->strides[a->rank - 1]);
}

static void check_product(struct array x, struct array y, struct array z, int64_t m, int64_t n, int64_t k)
{
    RUN(aclnnMatmul, x.tensor, y.tensor, z.tensor, 0);
    assert_true(z.type == ACL_FLOAT ? aclnn_last_workspace == 0
                                    : aclnn_last_workspace >= (uint64_t)(array_count(&z) * 4));
    struct array batches = z;
    batches.rank = z.rank - (x.rank > 1) - (y.rank > 1);
    for (int64_t b = 0; b < array_count(&batches); b++) {
        for (int64_t i = 0; i < m; i++) {
            for (int64_t j = 0; j < n; j++) {
                double sum = 0;
                for (int64_t l = 0; l < k; l++) {
                    sum += matrix_value(&x, &batches, b, i, l, true) * matrix_value(&y, &batches, b, l, j, false);
                }
                assert_near(array_value(&z, &z, (b * m + i) * n + j), sum, array_tolerance(z.type) * 2);
            }
        }
    }
    array_drop(&x);
    array_drop(&y);
    array_drop(&z);
}

static void products(void **state)
{
    check_product(array_make(ACL_FLOAT, DIMS(7, 9)), array_make(ACL_FLOAT, DIMS(9, 11)),
                  array_make(ACL_FLOAT, DIMS(7, 11)), 7, 11, 9);
    /* Transposed views on both sides, a strided output. */
    check_product(array_view(ACL_FLOAT, DIMS(7, 9), (const int64_t[]){1, 7}, 2),
                  array_view(ACL_FLOAT, DIMS(9, 11), (const int64_t[]){1, 10}, 1),
                  array_view(ACL_FLOAT, DIMS(7, 11), (const int64_t[]){1, 8}, 0), 7, 11, 9);
    /* Batches that broadcast. */
    check_product(array_make(ACL_FLOAT, DIMS(2, 1, 3, 4)), array_make(ACL_FLOAT, DIMS(3, 4, 5)),
                  array_make(ACL_FLOAT, DIMS(2, 3, 3, 5)), 3, 5, 4);
    check_product(array_make(ACL_FLOAT, DIMS(6, 3, 4)), array_make(ACL_FLOAT, DIMS(4, 5)),
                  array_make(ACL_FLOAT, DIMS(6, 3, 5)), 3, 5, 4);
    /* Vectors. */
    check_product(array_make(ACL_FLOAT, DIMS(9)), array_make(ACL_FLOAT, DIMS(9, 4)), array_make(ACL_FLOAT, DIMS(4)), 1,
                  4, 9);
    check_product(array_make(ACL_FLOAT, DIMS(4, 9)), array_make(ACL_FLOAT, DIMS(9)), array_make(ACL_FLOAT, DIMS(4)), 4,
                  1, 9);
    check_product(array_make(ACL_FLOAT, DIMS(9)), array_view(ACL_FLOAT, DIMS(9), (const int64_t[]){2}, 0),
                  array_make(ACL_FLOAT, 0, (const int64_t[]){0}), 1, 1, 9);
    /* Half types, through a float32 workspace. */
    check_product(array_make(ACL_FLOAT16, DIMS(7, 9)), array_make(ACL_FLOAT16, DIMS(9, 5)),
                  array_make(ACL_FLOAT16, DIMS(7, 5)), 7, 5, 9);
    check_product(array_make(ACL_BF16, DIMS(2, 7, 9)),
                  array_view(ACL_BF16, DIMS(2, 9, 5), (const int64_t[]){45, 1, 9}, 0),
                  array_view(ACL_BF16, DIMS(2, 7, 5), (const int64_t[]){50, 6, 1}, 1), 7, 5, 9);
    check_product(array_make(ACL_FLOAT16, DIMS(3, 4)), array_make(ACL_FLOAT, DIMS(4, 5)),
                  array_make(ACL_FLOAT, DIMS(3, 5)), 3, 5, 4);
    /* An empty sum is zero. */
    check_product(array_make(ACL_FLOAT, DIMS(3, 0)), array_make(ACL_FLOAT, DIMS(0, 2)),
                  array_make(ACL_FLOAT, DIMS(3, 2)), 3, 2, 0);

    struct array a = array_make(ACL_FLOAT, DIMS(3, 4)), b = array_make(ACL_FLOAT, DIMS(4, 5)),
                 c = array_make(ACL_FLOAT, DIMS(3, 5)), h = array_make(ACL_BF16, DIMS(4, 5)),
                 i = array_make(ACL_INT32, DIMS(4, 5));
    RUN(aclnnMm, a.tensor, b.tensor, c.tensor, 1);
    REFUSED(BAD_PARAM, aclnnMatmul, a.tensor, a.tensor, c.tensor, 0);
    REFUSED(BAD_PARAM, aclnnMatmul, a.tensor, b.tensor, b.tensor, 0);
    REFUSED(BAD_PARAM, aclnnMatmul, a.tensor, b.tensor, c.tensor, -1);
    RUN(aclnnMatmul, a.tensor, h.tensor, c.tensor, 0); /* mixed types are promoted */
    REFUSED(BAD_PARAM, aclnnMatmul, a.tensor, i.tensor, c.tensor, 0);
    REFUSED(NULL_PARAM, aclnnMatmul, a.tensor, NULL, c.tensor, 0);
    REFUSED(BAD_PARAM, aclnnBatchMatMul, a.tensor, b.tensor, c.tensor, 0);
    array_drop(&a);
    array_drop(&b);
    array_drop(&c);
    array_drop(&h);
    array_drop(&i);
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
    for (int64_t i = 0; i < array_count(&x); i++) {
        int64_t base = i - i / inner % x.dims[axis] * inner;
        double sum = 0;
        for (int64_t j = 0; j < x.dims[axis]; j++) {
            sum += exp(array_value(&x, &x, base + j * inner));
        }
        assert_near(array_value(&z, &z, i), exp(array_value(&x, &x, i)) / sum, array_tolerance(z.type));
    }
    array_drop(&x);
    array_drop(&z);
}

static void softmaxes(void **state)
{
    check_softmax(array_make(ACL_FLOAT, DIMS(5, 13)), array_make(ACL_FLOAT, DIMS(5, 13)), -1);
    check_softmax(array_make(ACL_FLOAT, DIMS(3, 5, 4)), array_make(ACL_FLOAT, DIMS(3, 5, 4)), 1);
    check_softmax(array_view(ACL_FLOAT16, DIMS(5, 13), (const int64_t[]){1, 6}, 1),
                  array_view(ACL_FLOAT16, DIMS(5, 13), (const int64_t[]){30, 2}, 0), 1);
    check_softmax(array_make(ACL_BF16, DIMS(4, 6)), array_make(ACL_FLOAT, DIMS(4, 6)), 0);
    struct array x = array_make(ACL_FLOAT, DIMS(2, 3)), y = array_make(ACL_FLOAT, DIMS(3, 2)),
                 i = array_make(ACL_INT32, DIMS(2, 3));
    REFUSED(BAD_PARAM, aclnnSoftmax, x.tensor, 2, x.tensor);
    REFUSED(BAD_PARAM, aclnnSoftmax, x.tensor, -3, x.tensor);
    REFUSED(BAD_PARAM, aclnnSoftmax, x.tensor, 0, y.tensor);
    REFUSED(BAD_PARAM, aclnnSoftmax, i.tensor, 0, i.tensor);
    array_drop(&x);
    array_drop(&y);
    array_drop(&i);
}

static void check_norm(struct array x, struct array z, bool affine, uint64_t normalized, aclDataType parameters,
                       bool needs_workspace)
{
    int64_t cols = 1;
    for (int d = x.rank - (int)normalized; d < x.rank; d++) {
        cols *= x.dims[d];
    }
    int64_t rows = array_count(&x) / cols;
    const int64_t *shape = x.dims + x.rank - normalized;
    struct array weight = array_make(parameters, (int)normalized, shape),
                 bias = array_make(parameters, (int)normalized, shape);
    struct array mean = array_make(ACL_FLOAT, DIMS(rows)), rstd = array_make(ACL_FLOAT, DIMS(rows));
    aclIntArray *list = aclCreateIntArray(shape, normalized);
    RUN(aclnnLayerNorm, x.tensor, list, affine ? weight.tensor : NULL, affine ? bias.tensor : NULL, 1e-5, z.tensor,
        affine ? mean.tensor : NULL, affine ? rstd.tensor : NULL);
    assert_int_equal(aclnn_last_workspace > 0, needs_workspace);
    for (int64_t r = 0; r < rows; r++) {
        double m = 0, v = 0;
        for (int64_t c = 0; c < cols; c++) {
            m += array_value(&x, &x, r * cols + c) / (double)cols;
        }
        for (int64_t c = 0; c < cols; c++) {
            double d = array_value(&x, &x, r * cols + c) - m;
            v += d * d / (double)cols;
        }
        for (int64_t c = 0; c < cols; c++) {
            double n = (array_value(&x, &x, r * cols + c) - m) / sqrt(v + 1e-5);
            double want = affine ? n * array_read(&weight, c) + array_read(&bias, c) : n;
            assert_near(array_value(&z, &z, r * cols + c), want, array_tolerance(z.type) * 2);
        }
        if (affine) {
            assert_near(array_read(&mean, r), m, 1e-5);
            assert_near(array_read(&rstd, r), 1 / sqrt(v + 1e-5), 1e-4);
        }
    }
    aclDestroyIntArray(list);
    array_drop(&weight);
    array_drop(&bias);
    array_drop(&mean);
    array_drop(&rstd);
    array_drop(&x);
    array_drop(&z);
}

static void layer_norms(void **state)
{
    check_norm(array_make(ACL_FLOAT, DIMS(5, 40)), array_make(ACL_FLOAT, DIMS(5, 40)), true, 1, ACL_FLOAT, false);
    check_norm(array_make(ACL_FLOAT, DIMS(5, 40)), array_make(ACL_FLOAT, DIMS(5, 40)), false, 1, ACL_FLOAT, false);
    check_norm(array_make(ACL_FLOAT16, DIMS(2, 3, 4, 5)), array_make(ACL_FLOAT16, DIMS(2, 3, 4, 5)), true, 2,
               ACL_FLOAT16, false);
    check_norm(array_make(ACL_BF16, DIMS(3, 30)), array_make(ACL_BF16, DIMS(3, 30)), true, 1, ACL_FLOAT, false);
    check_norm(array_view(ACL_FLOAT, DIMS(5, 20), (const int64_t[]){1, 7}, 2),
               array_view(ACL_FLOAT, DIMS(5, 20), (const int64_t[]){30, 1}, 0), true, 1, ACL_FLOAT, true);
    struct array x = array_make(ACL_FLOAT, DIMS(2, 3)), w = array_make(ACL_FLOAT, DIMS(2));
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
    array_drop(&x);
    array_drop(&w);
}

/* ---- random ---- */

static void random_tensors(void **state)
{
    struct array x = array_make(ACL_FLOAT, DIMS(40, 50)),
                 y = array_view(ACL_FLOAT, DIMS(40, 50), (const int64_t[]){1, 41}, 3),
                 h = array_make(ACL_FLOAT16, DIMS(40, 50));
    double sum = 0, squares = 0;
    RUN(aclnnInplaceUniform, x.tensor, -1.0, 3.0, 7, 0);
    RUN(aclnnInplaceUniform, y.tensor, -1.0, 3.0, 7, 0);
    for (int64_t i = 0; i < 2000; i++) {
        double v = array_value(&x, &x, i);
        assert_true(v >= -1 && v < 3);
        assert_true(v == array_value(&y, &y, i)); /* independent of strides */
        sum += v;
    }
    assert_true(fabs(sum / 2000 - 1) < 0.15);
    RUN(aclnnInplaceNormal, x.tensor, 2.0f, 0.5f, 7, 0);
    RUN(aclnnInplaceNormal, h.tensor, 2.0f, 0.5f, 7, 0);
    sum = 0;
    for (int64_t i = 0; i < 2000; i++) {
        double v = array_value(&x, &x, i);
        assert_near(array_value(&h, &h, i), v, 2e-3);
        sum += v;
        squares += (v - 2) * (v - 2);
    }
    assert_true(fabs(sum / 2000 - 2) < 0.06);
    assert_true(fabs(squares / 2000 - 0.25) < 0.04);
    /* Another offset gives other values, not the same sequence from another position on. */
    RUN(aclnnInplaceNormal, y.tensor, 2.0f, 0.5f, 7, 1);
    for (int64_t i = 0; i < 2000; i++) {
        assert_true(array_value(&y, &y, 0) != array_value(&x, &x, i) ||
                    array_value(&y, &y, 1) != array_value(&x, &x, (i + 1) % 2000));
    }
    REFUSED(BAD_PARAM, aclnnInplaceUniform, x.tensor, 2.0, 1.0, 7, 0);
    REFUSED(BAD_PARAM, aclnnInplaceNormal, x.tensor, 2.0f, -1.0f, 7, 0);
    REFUSED(NULL_PARAM, aclnnInplaceNormal, NULL, 2.0f, 1.0f, 7, 0);
    array_drop(&x);
    array_drop(&y);
    array_drop(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
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
    };
    return cmocka_run_group_tests(tests, aclnn_open_device, aclnn_close_device);
}
