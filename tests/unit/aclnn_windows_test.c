/* SPDX-License-Identifier: Apache-2.0 */
/* Rotary embedding, quantized weights, windows as columns, triangular systems: calls that the first phase refuses. The
 * results are compared with PyTorch in tests/frameworks/oracle. */
#include "aclnn_fixture.h"

#include "aclnnop/aclnn_apply_rotary_pos_emb_v2.h"
#include "aclnnop/aclnn_im2col.h"
#include "aclnnop/aclnn_im2col_backward.h"
#include "aclnnop/aclnn_rotary_position_embedding.h"
#include "aclnnop/aclnn_triangular_solve.h"
#include "aclnnop/aclnn_weight_quant_batch_matmul_v2.h"

static void rotary_refuses(void **state)
{
    struct array x = array_make(ACL_FLOAT, DIMS(1, 2, 1, 6)), angle = array_make(ACL_FLOAT, DIMS(1, 2, 1, 6)),
                 other = array_make(ACL_FLOAT, DIMS(1, 3, 1, 6)), odd = array_make(ACL_FLOAT, DIMS(1, 2, 1, 5)),
                 whole = array_make(ACL_INT32, DIMS(1, 2, 1, 6));
    char mode[] = "third";
    REFUSED(NULL_PARAM, aclnnRotaryPositionEmbedding, x.tensor, NULL, angle.tensor, 0, x.tensor);
    REFUSED(BAD_PARAM, aclnnRotaryPositionEmbedding, x.tensor, angle.tensor, angle.tensor, 4, x.tensor);
    REFUSED(BAD_PARAM, aclnnRotaryPositionEmbedding, x.tensor, angle.tensor, angle.tensor, 2, x.tensor); /* 6 / 4 */
    REFUSED(BAD_PARAM, aclnnRotaryPositionEmbedding, x.tensor, other.tensor, angle.tensor, 0, x.tensor);
    REFUSED(BAD_PARAM, aclnnRotaryPositionEmbedding, x.tensor, angle.tensor, angle.tensor, 0, other.tensor);
    REFUSED(BAD_PARAM, aclnnRotaryPositionEmbedding, odd.tensor, odd.tensor, odd.tensor, 0, odd.tensor);
    REFUSED(BAD_PARAM, aclnnRotaryPositionEmbedding, whole.tensor, angle.tensor, angle.tensor, 0, x.tensor);
    REFUSED(BAD_PARAM, aclnnApplyRotaryPosEmbV2, x.tensor, x.tensor, angle.tensor, angle.tensor, 1, mode);
    array_drop(&x);
    array_drop(&angle);
    array_drop(&other);
    array_drop(&odd);
    array_drop(&whole);
}

static void quantized_weights_refuse(void **state)
{
    struct array x = array_make(ACL_FLOAT16, DIMS(2, 64)), w = array_make(ACL_INT8, DIMS(64, 3)),
                 scale = array_make(ACL_FLOAT16, DIMS(2, 3)), y = array_make(ACL_FLOAT16, DIMS(2, 3)),
                 wide = array_make(ACL_FLOAT16, DIMS(2, 4));
#define QUANTIZED(status, weight, scale, quant, group, out)                                                            \
    REFUSED(status, aclnnWeightQuantBatchMatmulV2, x.tensor, weight, scale, NULL, quant, NULL, NULL, group, out)
    QUANTIZED(NULL_PARAM, NULL, scale.tensor, NULL, 32, y.tensor);
    QUANTIZED(NULL_PARAM, w.tensor, NULL, NULL, 32, y.tensor);
    QUANTIZED(BAD_PARAM, x.tensor, scale.tensor, NULL, 32, y.tensor);         /* type of weight */
    QUANTIZED(BAD_PARAM, w.tensor, scale.tensor, NULL, 16, y.tensor);         /* four groups, two scales */
    QUANTIZED(BAD_PARAM, w.tensor, scale.tensor, NULL, 0, y.tensor);          /* no group */
    QUANTIZED(BAD_PARAM, w.tensor, wide.tensor, NULL, 32, y.tensor);          /* columns of scale */
    QUANTIZED(BAD_PARAM, w.tensor, scale.tensor, NULL, 32, wide.tensor);      /* shape of y */
    QUANTIZED(BAD_PARAM, w.tensor, scale.tensor, scale.tensor, 32, y.tensor); /* quantized result */
    array_drop(&x);
    array_drop(&w);
    array_drop(&scale);
    array_drop(&y);
    array_drop(&wide);
}

static void windows_refuse(void **state)
{
    struct array x = array_make(ACL_FLOAT, DIMS(1, 1, 4, 4)), z = array_make(ACL_FLOAT, DIMS(1, 4, 9)),
                 half = array_make(ACL_FLOAT16, DIMS(1, 4, 9)), flat = array_make(ACL_FLOAT, DIMS(4));
    const int64_t ones[] = {1, 1}, zeros[] = {0, 0}, twos[] = {2, 2}, huge[] = {INT32_MAX, INT32_MAX};
    aclIntArray *one = aclCreateIntArray(ones, 2), *zero = aclCreateIntArray(zeros, 2),
                *two = aclCreateIntArray(twos, 2), *big = aclCreateIntArray(huge, 2),
                *none = aclCreateIntArray(ones, 0);
    REFUSED(NULL_PARAM, aclnnIm2col, x.tensor, NULL, one, zero, one, z.tensor);
    REFUSED(BAD_PARAM, aclnnIm2col, x.tensor, two, one, one, one, z.tensor);   /* 25 outputs */
    REFUSED(BAD_PARAM, aclnnIm2col, x.tensor, two, one, zero, zero, z.tensor); /* stride 0 */
    REFUSED(BAD_PARAM, aclnnIm2col, x.tensor, none, one, zero, one, z.tensor); /* no kernel */
    REFUSED(BAD_PARAM, aclnnIm2col, x.tensor, big, one, zero, one, z.tensor);  /* window larger than the image */
    REFUSED(BAD_PARAM, aclnnIm2col, x.tensor, two, one, zero, one, half.tensor);
    REFUSED(BAD_PARAM, aclnnIm2col, flat.tensor, two, one, zero, one, z.tensor);
    REFUSED(BAD_PARAM, aclnnIm2col, x.tensor, one, one, big, one, z.tensor);
    REFUSED(BAD_PARAM, aclnnIm2colBackward, z.tensor, two, two, one, zero, one, x.tensor); /* inputSize */
    aclDestroyIntArray(one);
    aclDestroyIntArray(zero);
    aclDestroyIntArray(two);
    aclDestroyIntArray(big);
    aclDestroyIntArray(none);
    array_drop(&x);
    array_drop(&z);
    array_drop(&half);
    array_drop(&flat);
}

static void triangular_systems_refuse(void **state)
{
    struct array a = array_make(ACL_FLOAT, DIMS(3, 3)), b = array_make(ACL_FLOAT, DIMS(3, 2)),
                 wide = array_make(ACL_FLOAT, DIMS(3, 4)), whole = array_make(ACL_INT32, DIMS(3, 3));
    REFUSED(NULL_PARAM, aclnnTriangularSolve, b.tensor, NULL, true, false, false, b.tensor, a.tensor);
    REFUSED(BAD_PARAM, aclnnTriangularSolve, b.tensor, wide.tensor, true, false, false, b.tensor, a.tensor);
    REFUSED(BAD_PARAM, aclnnTriangularSolve, b.tensor, a.tensor, true, false, false, a.tensor, a.tensor);
    REFUSED(BAD_PARAM, aclnnTriangularSolve, b.tensor, a.tensor, true, false, false, b.tensor, b.tensor);
    REFUSED(BAD_PARAM, aclnnTriangularSolve, b.tensor, whole.tensor, true, false, false, b.tensor, a.tensor);
    array_drop(&a);
    array_drop(&b);
    array_drop(&wide);
    array_drop(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rotary_refuses),
        cmocka_unit_test(quantized_weights_refuse),
        cmocka_unit_test(windows_refuse),
        cmocka_unit_test(triangular_systems_refuse),
    };
    return cmocka_run_group_tests(tests, aclnn_open_device, aclnn_close_device);
}
