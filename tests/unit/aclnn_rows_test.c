/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, normalisations, losses and sorting: calls that the first phase refuses, and outputs whose shape depends on
 * data. Their values are compared with PyTorch by tests/frameworks/oracle. */
#include "aclnn_fixture.h"

#include "aclnnop/aclnn_amax.h"
#include "aclnnop/aclnn_batch_norm.h"
#include "aclnnop/aclnn_cumsum.h"
#include "aclnnop/aclnn_layer_norm_backward.h"
#include "aclnnop/aclnn_max_dim.h"
#include "aclnnop/aclnn_mean.h"
#include "aclnnop/aclnn_mse_loss.h"
#include "aclnnop/aclnn_nll_loss.h"
#include "aclnnop/aclnn_rms_norm.h"
#include "aclnnop/aclnn_topk.h"
#include "aclnnop/aclnn_unique2.h"

#include <stdlib.h>

static aclIntArray *ints(int count, int64_t first, int64_t second)
{
    return aclCreateIntArray((const int64_t[]){first, second}, (uint64_t)count);
}

static void reductions_refuse(void **state)
{
    struct array x = array_make(ACL_FLOAT, DIMS(3, 4)), row = array_make(ACL_FLOAT, DIMS(4)),
                 whole = array_make(ACL_INT32, DIMS(4)), index = array_make(ACL_INT64, DIMS(4)),
                 empty = array_make(ACL_FLOAT, DIMS(0, 4));
    aclIntArray *first = ints(1, 0, 0), *outside = ints(1, 2, 0), *twice = ints(2, 0, -2);
    REFUSED(NULL_PARAM, aclnnMean, NULL, first, false, ACL_FLOAT, row.tensor);
    REFUSED(NULL_PARAM, aclnnMean, x.tensor, NULL, false, ACL_FLOAT, row.tensor);
    REFUSED(BAD_PARAM, aclnnMean, x.tensor, outside, false, ACL_FLOAT, row.tensor);
    REFUSED(BAD_PARAM, aclnnMean, x.tensor, twice, false, ACL_FLOAT, row.tensor);
    REFUSED(BAD_PARAM, aclnnMean, x.tensor, first, true, ACL_FLOAT, row.tensor);
    REFUSED(BAD_PARAM, aclnnMean, x.tensor, first, false, ACL_FLOAT16, row.tensor);
    REFUSED(BAD_PARAM, aclnnMean, x.tensor, first, false, ACL_INT32, whole.tensor);
    REFUSED(BAD_PARAM, aclnnAmax, empty.tensor, first, false, row.tensor);
    REFUSED(BAD_PARAM, aclnnMaxDim, x.tensor, 0, false, row.tensor, row.tensor);
    REFUSED(BAD_PARAM, aclnnMaxDim, x.tensor, 5, false, row.tensor, index.tensor);
    aclDestroyIntArray(first);
    aclDestroyIntArray(outside);
    aclDestroyIntArray(twice);
    array_drop(&x);
    array_drop(&row);
    array_drop(&whole);
    array_drop(&index);
    array_drop(&empty);
}

static void norms_refuse(void **state)
{
    struct array x = array_make(ACL_FLOAT, DIMS(3, 4)), z = array_make(ACL_FLOAT, DIMS(3, 4)),
                 gamma = array_make(ACL_FLOAT, DIMS(4)), stats = array_make(ACL_FLOAT, DIMS(3, 1)),
                 whole = array_make(ACL_INT32, DIMS(3, 4)), vector = array_make(ACL_FLOAT, DIMS(3));
    aclIntArray *shape = ints(1, 4, 0), *wrong = ints(1, 3, 0);
    aclBoolArray *mask = aclCreateBoolArray((const bool[]){true, true, true}, 3),
                 *short_mask = aclCreateBoolArray((const bool[]){true, true}, 2);
    REFUSED(BAD_PARAM, aclnnRmsNorm, x.tensor, vector.tensor, 1e-6, z.tensor, stats.tensor);
    REFUSED(BAD_PARAM, aclnnRmsNorm, whole.tensor, gamma.tensor, 1e-6, z.tensor, stats.tensor);
    REFUSED(BAD_PARAM, aclnnRmsNorm, x.tensor, gamma.tensor, 1e-6, z.tensor, gamma.tensor);
    REFUSED(BAD_PARAM, aclnnLayerNormBackward, x.tensor, x.tensor, wrong, stats.tensor, stats.tensor, gamma.tensor,
            gamma.tensor, mask, z.tensor, gamma.tensor, gamma.tensor);
    REFUSED(BAD_PARAM, aclnnLayerNormBackward, x.tensor, x.tensor, shape, stats.tensor, stats.tensor, gamma.tensor,
            gamma.tensor, short_mask, z.tensor, gamma.tensor, gamma.tensor);
    REFUSED(NULL_PARAM, aclnnLayerNormBackward, x.tensor, x.tensor, shape, stats.tensor, stats.tensor, gamma.tensor,
            gamma.tensor, mask, NULL, gamma.tensor, gamma.tensor);
    REFUSED(BAD_PARAM, aclnnBatchNorm, vector.tensor, NULL, NULL, NULL, NULL, true, 0.1, 1e-5, vector.tensor, NULL,
            NULL);
    REFUSED(NULL_PARAM, aclnnBatchNorm, x.tensor, NULL, NULL, NULL, NULL, false, 0.1, 1e-5, z.tensor, NULL, NULL);
    aclDestroyIntArray(shape);
    aclDestroyIntArray(wrong);
    aclDestroyBoolArray(mask);
    aclDestroyBoolArray(short_mask);
    array_drop(&x);
    array_drop(&z);
    array_drop(&gamma);
    array_drop(&stats);
    array_drop(&whole);
    array_drop(&vector);
}

static void losses_and_orders_refuse(void **state)
{
    struct array x = array_make(ACL_FLOAT, DIMS(3, 4)), other = array_make(ACL_FLOAT, DIMS(5)),
                 one = array_make(ACL_FLOAT, 0, (const int64_t[]){0}), z = array_make(ACL_FLOAT, DIMS(3, 4)),
                 target = array_make(ACL_INT64, DIMS(2)), index = array_make(ACL_INT64, DIMS(3, 4)),
                 small = array_make(ACL_FLOAT, DIMS(2));
    REFUSED(BAD_PARAM, aclnnMseLoss, x.tensor, other.tensor, 1, one.tensor);
    REFUSED(BAD_PARAM, aclnnMseLoss, x.tensor, x.tensor, 7, one.tensor);
    REFUSED(BAD_PARAM, aclnnMseLoss, x.tensor, x.tensor, 1, z.tensor);
    REFUSED(BAD_PARAM, aclnnNLLLoss, x.tensor, target.tensor, NULL, 1, -100, one.tensor, one.tensor);
    REFUSED(BAD_PARAM, aclnnTopk, x.tensor, 5, 1, true, true, z.tensor, index.tensor);
    REFUSED(BAD_PARAM, aclnnTopk, x.tensor, -1, 1, true, true, z.tensor, index.tensor);
    REFUSED(BAD_PARAM, aclnnCumsum, x.tensor, 1, ACL_FLOAT16, z.tensor);
    REFUSED(BAD_PARAM, aclnnUnique2, x.tensor, true, false, false, small.tensor, NULL, NULL);
    REFUSED(NULL_PARAM, aclnnUnique2, x.tensor, true, true, false, other.tensor, NULL, NULL);
    array_drop(&x);
    array_drop(&other);
    array_drop(&one);
    array_drop(&z);
    array_drop(&target);
    array_drop(&index);
    array_drop(&small);
}

static void expect_shape(const struct array *a, int64_t size)
{
    int64_t *dims = NULL;
    uint64_t rank = 0;
    assert_int_equal(aclGetViewShape(a->tensor, &dims, &rank), OK_STATUS);
    assert_int_equal(rank, 1);
    assert_int_equal(dims[0], size);
    free(dims);
}

/* The second phase returns when the shapes are known. */
static void unique_sets_shapes(void **state)
{
    static const double given[] = {3, 1, 3, 3, 2, 1}, values[] = {1, 2, 3}, inverse[] = {2, 0, 2, 2, 1, 0},
                        counts[] = {2, 1, 3};
    struct array x = array_make(ACL_INT32, DIMS(6)), v = array_make(ACL_INT32, DIMS(6)),
                 i = array_make(ACL_INT64, DIMS(6)), c = array_make(ACL_INT64, DIMS(6));
    for (int64_t k = 0; k < 6; k++) {
        array_write(&x, k, given[k]);
    }
    RUN(aclnnUnique2, x.tensor, true, true, true, v.tensor, i.tensor, c.tensor);
    expect_shape(&v, 3);
    expect_shape(&c, 3);
    expect_shape(&i, 6);
    for (int64_t k = 0; k < 6; k++) {
        assert_near(array_read(&i, k), inverse[k], 0);
        if (k < 3) {
            assert_near(array_read(&v, k), values[k], 0);
            assert_near(array_read(&c, k), counts[k], 0);
        }
    }
    array_drop(&x);
    array_drop(&v);
    array_drop(&i);
    array_drop(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reductions_refuse),
        cmocka_unit_test(norms_refuse),
        cmocka_unit_test(losses_and_orders_refuse),
        cmocka_unit_test(unique_sets_shapes),
    };
    return cmocka_run_group_tests(tests, aclnn_open_device, aclnn_close_device);
}
