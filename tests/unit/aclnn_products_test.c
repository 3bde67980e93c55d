/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products and what is built on them: calls that the first phase refuses, and sizes of weights. The results are
 * compared with PyTorch in tests/frameworks/oracle. */
#include "aclnn_fixture.h"

#include "aclnnop/aclnn_addmm.h"
#include "aclnnop/aclnn_addr.h"
#include "aclnnop/aclnn_convolution.h"
#include "aclnnop/aclnn_dot.h"
#include "aclnnop/aclnn_einsum.h"
#include "aclnnop/aclnn_flash_attention_score.h"
#include "aclnnop/aclnn_grouped_matmul.h"
#include "aclnnop/aclnn_inverse.h"
#include "aclnnop/aclnn_linalg_cross.h"
#include "aclnnop/aclnn_linalg_qr.h"
#include "aclnnop/aclnn_max_pool.h"
#include "aclnnop/aclnn_quant_matmul_v4.h"
#include "aclnnop/aclnn_quantize.h"
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

static void einsum_refuses(void **state)
{
    struct array a = array_make(ACL_FLOAT, DIMS(2, 3)), b = array_make(ACL_FLOAT, DIMS(3, 4)),
                 c = array_make(ACL_FLOAT, DIMS(2, 4));
    aclTensorList *pair = aclCreateTensorList((const aclTensor *const[]){a.tensor, b.tensor}, 2);
    RUN(aclnnEinsum, pair, "ij,jk->ik", c.tensor);
    static const char *const bad[] = {"",          "ij,jk",        "ij->ik",     "ij,jk,kl->il", "i,jk->ik",
                                      "ii,jk->ik", "ij,kj->ik",    "ij,jk->ix",  "i.,jk->ik",    "ij,jk->ki",
                                      "ij,jk-ik",  "ijjjjjjjjjjj", "ij,jk->ikik"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        REFUSED(BAD_PARAM, aclnnEinsum, pair, bad[i], c.tensor);
    }
    REFUSED(BAD_PARAM, aclnnEinsum, pair, NULL, c.tensor);
    aclIntArray *ends = aclCreateIntArray((const int64_t[]){1, 9}, 2);
    REFUSED(NULL_PARAM, aclnnGroupedMatmul, pair, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, pair);
    REFUSED(BAD_PARAM, aclnnGroupedMatmul, pair, pair, NULL, pair, NULL, NULL, NULL, NULL, 0, pair);
    REFUSED(BAD_PARAM, aclnnGroupedMatmul, pair, pair, NULL, NULL, NULL, NULL, NULL, ends, 0, pair);
    aclDestroyIntArray(ends);
    REFUSED(NULL_PARAM, aclnnEinsum, NULL, "ij,jk->ik", c.tensor);
    aclDestroyTensorList(pair); /* with its tensors */
    aclrtFree(a.memory);
    aclrtFree(b.memory);
    array_drop(&c);
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

static void convolutions_and_pooling_refuse(void **state)
{
    struct array x = array_make(ACL_FLOAT, DIMS(1, 4, 6, 6)), w = array_make(ACL_FLOAT, DIMS(8, 4, 3, 3)),
                 z = array_make(ACL_FLOAT, DIMS(1, 8, 4, 4)), b = array_make(ACL_FLOAT, DIMS(7)),
                 i = array_make(ACL_INT32, DIMS(1, 4, 6, 6)), m = array_make(ACL_FLOAT, DIMS(1, 4, 3, 3));
    aclIntArray *one = aclCreateIntArray((const int64_t[]){1, 1}, 2),
                *zero = aclCreateIntArray((const int64_t[]){0, 0}, 2),
                *two = aclCreateIntArray((const int64_t[]){2, 2}, 2),
                *odd = aclCreateIntArray((const int64_t[]){1, 1, 1}, 3),
                *huge = aclCreateIntArray((const int64_t[]){INT64_MAX, 1}, 2);
#define CONVOLVE(input, weight, bias, stride, groups, out)                                                             \
    input, weight, bias, stride, zero, one, false, zero, groups, out, 0
    RUN(aclnnConvolution, CONVOLVE(x.tensor, w.tensor, NULL, one, 1, z.tensor));
    REFUSED(NULL_PARAM, aclnnConvolution, CONVOLVE(NULL, w.tensor, NULL, one, 1, z.tensor));
    REFUSED(NULL_PARAM, aclnnConvolution, CONVOLVE(x.tensor, w.tensor, NULL, NULL, 1, z.tensor));
    REFUSED(BAD_PARAM, aclnnConvolution, CONVOLVE(i.tensor, w.tensor, NULL, one, 1, z.tensor));
    REFUSED(BAD_PARAM, aclnnConvolution, CONVOLVE(x.tensor, w.tensor, b.tensor, one, 1, z.tensor));
    REFUSED(BAD_PARAM, aclnnConvolution, CONVOLVE(x.tensor, w.tensor, NULL, two, 1, z.tensor));
    REFUSED(BAD_PARAM, aclnnConvolution, CONVOLVE(x.tensor, w.tensor, NULL, zero, 1, z.tensor));
    REFUSED(BAD_PARAM, aclnnConvolution, CONVOLVE(x.tensor, w.tensor, NULL, odd, 1, z.tensor));
    REFUSED(BAD_PARAM, aclnnConvolution, CONVOLVE(x.tensor, w.tensor, NULL, huge, 1, z.tensor));
    REFUSED(BAD_PARAM, aclnnConvolution, CONVOLVE(x.tensor, w.tensor, NULL, one, 0, z.tensor));
    REFUSED(BAD_PARAM, aclnnConvolution, CONVOLVE(x.tensor, w.tensor, NULL, one, 3, z.tensor));
    RUN(aclnnMaxPool, x.tensor, two, two, 0, zero, one, 0, m.tensor);
    REFUSED(BAD_PARAM, aclnnMaxPool, x.tensor, two, one, 0, zero, one, 0, m.tensor);
    REFUSED(BAD_PARAM, aclnnMaxPool, x.tensor, two, two, 0, two, one, 0, m.tensor); /* more padding than window */
    REFUSED(BAD_PARAM, aclnnMaxPool, i.tensor, two, two, 0, zero, one, 0, m.tensor);
    REFUSED(NULL_PARAM, aclnnMaxPool, x.tensor, NULL, two, 0, zero, one, 0, m.tensor);
    aclIntArray *arrays[] = {one, zero, two, odd, huge};
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays; k++) {
        aclDestroyIntArray(arrays[k]);
    }
    array_drop(&x);
    array_drop(&w);
    array_drop(&z);
    array_drop(&b);
    array_drop(&i);
    array_drop(&m);
}

static void attention_refuses(void **state)
{
    struct array q = array_make(ACL_FLOAT, DIMS(1, 4, 3, 8)), k = array_make(ACL_FLOAT, DIMS(1, 2, 5, 8)),
                 o = array_make(ACL_FLOAT, DIMS(1, 4, 3, 8)), m = array_make(ACL_FLOAT, DIMS(1, 4, 3, 8)),
                 mask = array_make(ACL_BOOL, DIMS(3, 4)), drop = array_make(ACL_UINT8, DIMS(3)),
                 whole = array_make(ACL_INT32, DIMS(1, 4, 3, 8));
#define ATTEND(query, key, drop_mask, mask_tensor, keep, heads, layout, mode, out)                                     \
    query, key, key, NULL, drop_mask, NULL, mask_tensor, NULL, 0.5, keep, 9, 9, heads, layout, 0, mode, m.tensor,      \
        m.tensor, NULL, out
    RUN(aclnnFlashAttentionScore, ATTEND(q.tensor, k.tensor, NULL, NULL, 1.0, 4, "BNSD", 0, o.tensor));
    REFUSED(NULL_PARAM, aclnnFlashAttentionScore, ATTEND(NULL, k.tensor, NULL, NULL, 1.0, 4, "BNSD", 0, o.tensor));
    REFUSED(BAD_PARAM, aclnnFlashAttentionScore,
            ATTEND(whole.tensor, k.tensor, NULL, NULL, 1.0, 4, "BNSD", 0, o.tensor));
    REFUSED(BAD_PARAM, aclnnFlashAttentionScore, ATTEND(q.tensor, k.tensor, NULL, NULL, 1.0, 3, "BNSD", 0, o.tensor));
    REFUSED(BAD_PARAM, aclnnFlashAttentionScore, ATTEND(q.tensor, k.tensor, NULL, NULL, 1.0, 4, "BSH", 0, o.tensor));
    REFUSED(BAD_PARAM, aclnnFlashAttentionScore, ATTEND(q.tensor, k.tensor, NULL, NULL, 1.0, 4, "XYZ", 0, o.tensor));
    REFUSED(BAD_PARAM, aclnnFlashAttentionScore, ATTEND(q.tensor, k.tensor, NULL, NULL, 1.0, 4, NULL, 0, o.tensor));
    REFUSED(BAD_PARAM, aclnnFlashAttentionScore, ATTEND(q.tensor, k.tensor, NULL, NULL, 1.0, 4, "BNSD", 9, o.tensor));
    REFUSED(BAD_PARAM, aclnnFlashAttentionScore, ATTEND(q.tensor, k.tensor, NULL, NULL, 1.0, 4, "BNSD", 0, k.tensor));
    REFUSED(BAD_PARAM, aclnnFlashAttentionScore,
            ATTEND(q.tensor, k.tensor, NULL, mask.tensor, 1.0, 4, "BNSD", 0, o.tensor));
    REFUSED(BAD_PARAM, aclnnFlashAttentionScore, ATTEND(q.tensor, k.tensor, NULL, NULL, 0.5, 4, "BNSD", 0, o.tensor));
    REFUSED(BAD_PARAM, aclnnFlashAttentionScore,
            ATTEND(q.tensor, k.tensor, drop.tensor, NULL, 0.5, 4, "BNSD", 0, o.tensor));
    array_drop(&q);
    array_drop(&k);
    array_drop(&o);
    array_drop(&m);
    array_drop(&mask);
    array_drop(&drop);
    array_drop(&whole);
}

static void linear_algebra_refuses(void **state)
{
    struct array a = array_make(ACL_FLOAT, DIMS(3, 3)), b = array_make(ACL_FLOAT, DIMS(2, 3)),
                 i = array_make(ACL_INT32, DIMS(3, 3));
    REFUSED(NULL_PARAM, aclnnInverse, NULL, a.tensor);
    REFUSED(BAD_PARAM, aclnnInverse, b.tensor, b.tensor);
    REFUSED(BAD_PARAM, aclnnInverse, a.tensor, b.tensor);
    REFUSED(BAD_PARAM, aclnnInverse, i.tensor, a.tensor);
    REFUSED(BAD_PARAM, aclnnLinalgQr, a.tensor, 3, a.tensor, a.tensor);
    REFUSED(BAD_PARAM, aclnnLinalgQr, a.tensor, 0, b.tensor, a.tensor);
    REFUSED(BAD_PARAM, aclnnLinalgCross, b.tensor, b.tensor, 0, b.tensor);
    REFUSED(BAD_PARAM, aclnnLinalgCross, b.tensor, b.tensor, 5, b.tensor);
    array_drop(&a);
    array_drop(&b);
    array_drop(&i);
}

static void quantisation_refuses(void **state)
{
    struct array x = array_make(ACL_FLOAT, DIMS(2, 3)), s = array_make(ACL_FLOAT, DIMS(3)),
                 t = array_make(ACL_FLOAT, DIMS(4)), y = array_make(ACL_INT8, DIMS(2, 3)),
                 w = array_make(ACL_INT8, DIMS(3, 4)), z = array_make(ACL_FLOAT16, DIMS(2, 4));
    REFUSED(NULL_PARAM, aclnnQuantize, x.tensor, NULL, NULL, ACL_INT8, 1, y.tensor);
    REFUSED(BAD_PARAM, aclnnQuantize, x.tensor, t.tensor, NULL, ACL_INT8, 1, y.tensor);
    REFUSED(BAD_PARAM, aclnnQuantize, x.tensor, s.tensor, NULL, ACL_INT8, 2, y.tensor);
    REFUSED(BAD_PARAM, aclnnQuantize, x.tensor, s.tensor, NULL, ACL_UINT8, 1, y.tensor);
    REFUSED(BAD_PARAM, aclnnQuantize, x.tensor, s.tensor, NULL, ACL_INT8, 1, w.tensor);
    REFUSED(NULL_PARAM, aclnnQuantMatmulV4, y.tensor, w.tensor, NULL, NULL, NULL, NULL, false, false, z.tensor);
    REFUSED(BAD_PARAM, aclnnQuantMatmulV4, x.tensor, w.tensor, t.tensor, NULL, NULL, NULL, false, false, z.tensor);
    REFUSED(BAD_PARAM, aclnnQuantMatmulV4, y.tensor, w.tensor, s.tensor, NULL, NULL, NULL, false, false, z.tensor);
    REFUSED(BAD_PARAM, aclnnQuantMatmulV4, y.tensor, w.tensor, t.tensor, NULL, NULL, NULL, true, false, z.tensor);
    array_drop(&x);
    array_drop(&s);
    array_drop(&t);
    array_drop(&y);
    array_drop(&w);
    array_drop(&z);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(einsum_refuses),
        cmocka_unit_test(products_refuse),
        cmocka_unit_test(convolutions_and_pooling_refuse),
        cmocka_unit_test(attention_refuses),
        cmocka_unit_test(linear_algebra_refuses),
        cmocka_unit_test(quantisation_refuses),
        cmocka_unit_test(weight_sizes_are_whole_cubes),
    };
    return cmocka_run_group_tests(tests, aclnn_open_device, aclnn_close_device);
}
