/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products and what is built on them: calls that the first phase refuses, and sizes of weights. The results are
 * compared with PyTorch in tests/frameworks/oracle. */
#include "aclnn_fixture.h"

#include "aclnnop/aclnn_addmm.h"
#include "aclnnop/aclnn_addr.h"
#include "aclnnop/aclnn_dot.h"
#include "aclnnop/aclnn_trans_matmul_weight.h"

static void products_refuse(void **state)
{
    struct array a = array_make(ACL_FLOAT, DIMS(2, 3)), b = array_make(ACL_FLOAT, DIMS(3, 4)),
                 c = array_make(ACL_FLOAT, DIMS(2, 4)), v = array_make(ACL_FLOAT, DIMS(3)),
                 i = array_make(ACL_INT32, DIMS(2, 3));
    aclScalar *one = scalar_real(1);
    REFUSED(NULL_PARAM, aclnnAddmm, NULL, a.tensor, b.tensor, one, one, c.tensor, 0);
    REFUSED(NULL_PARAM, aclnnAddmm, c.tensor, a.tensor, b.tensor, NULL, one, c.tensor, 0);
    REFUSED(BAD_PARAM, aclnnAddmm, c.tensor, a.tensor, a.tensor, one, one, c.tensor, 0); /* inner dimensions */
    REFUSED(BAD_PARAM, aclnnAddmm, v.tensor, a.tensor, b.tensor, one, one, c.tensor, 0); /* addend */
    REFUSED(BAD_PARAM, aclnnAddmm, c.tensor, a.tensor, b.tensor, one, one, a.tensor, 0); /* out */
    REFUSED(BAD_PARAM, aclnnAddmm, c.tensor, v.tensor, b.tensor, one, one, c.tensor, 0); /* dimensions */
    REFUSED(BAD_PARAM, aclnnAddmm, c.tensor, i.tensor, b.tensor, one, one, c.tensor, 0); /* type */
    REFUSED(BAD_PARAM, aclnnAddmm, c.tensor, a.tensor, b.tensor, one, one, c.tensor, 9); /* cubeMathType */
    REFUSED(BAD_PARAM, aclnnDot, a.tensor, v.tensor, v.tensor);
    REFUSED(BAD_PARAM, aclnnAddr, c.tensor, v.tensor, v.tensor, NULL, NULL, c.tensor);
    aclDestroyScalar(one);
    array_drop(&a);
    array_drop(&b);
    array_drop(&c);
    array_drop(&v);
    array_drop(&i);
}

static void weight_sizes_are_whole_cubes(void **state)
{
    uint64_t count = 0;
    aclIntArray *shape = aclCreateIntArray((const int64_t[]){510, 510}, 2);
    assert_int_equal(aclnnCalculateMatmulWeightSize(shape, &count), OK_STATUS);
    assert_int_equal(count, 512 * 512);
    assert_int_equal(aclnnCalculateMatmulWeightSizeV2(shape, ACL_FLOAT16, &count), OK_STATUS);
    assert_int_equal(count, 512 * 512);
    assert_int_equal(aclnnCalculateMatmulWeightSizeV2(shape, ACL_BOOL, &count), BAD_PARAM);
    assert_int_equal(aclnnCalculateMatmulWeightSizeV2(shape, ACL_FLOAT16, NULL), NULL_PARAM);
    assert_int_equal(aclnnCalculateMatmulWeightSizeV2(NULL, ACL_FLOAT16, &count), NULL_PARAM);
    aclIntArray *huge = aclCreateIntArray((const int64_t[]){INT64_MAX, 3}, 2),
                *flat = aclCreateIntArray((const int64_t[]){3}, 1);
    assert_int_equal(aclnnCalculateMatmulWeightSizeV2(huge, ACL_INT8, &count), BAD_PARAM);
    assert_int_equal(aclnnCalculateMatmulWeightSizeV2(flat, ACL_INT8, &count), BAD_PARAM);
    aclDestroyIntArray(shape);
    aclDestroyIntArray(huge);
    aclDestroyIntArray(flat);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_refuse),
        cmocka_unit_test(weight_sizes_are_whole_cubes),
    };
    return cmocka_run_group_tests(tests, aclnn_open_device, aclnn_close_device);
}
