/* SPDX-License-Identifier: Apache-2.0 */
/* Layout, index, resizing and random operators: calls that the first phase refuses, indices out of range, and shapes
 * that depend on data. Values are compared with PyTorch in tests/frameworks/oracle. */
#include "aclnn_fixture.h"

#include "aclnnop/aclnn_arange.h"
#include "aclnnop/aclnn_cat.h"
#include "aclnnop/aclnn_constant_pad_nd.h"
#include "aclnnop/aclnn_dropout_do_mask.h"
#include "aclnnop/aclnn_dropout_gen_mask.h"
#include "aclnnop/aclnn_embedding.h"
#include "aclnnop/aclnn_gather.h"
#include "aclnnop/aclnn_index_put_impl.h"
#include "aclnnop/aclnn_index_select.h"
#include "aclnnop/aclnn_nonzero.h"
#include "aclnnop/aclnn_permute.h"
#include "aclnnop/aclnn_random.h"
#include "aclnnop/aclnn_reflection_pad2d.h"
#include "aclnnop/aclnn_repeat.h"
#include "aclnnop/aclnn_scatter.h"
#include "aclnnop/aclnn_slice.h"
#include "aclnnop/aclnn_upsample_bilinear_2d.h"

#include <stdlib.h>

#define INTS(...) aclCreateIntArray((const int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void layout_refuses(void **state)
{
    struct array x = array_make(ACL_FLOAT, DIMS(2, 3)), y = array_make(ACL_FLOAT, DIMS(2, 4)),
                 z = array_make(ACL_FLOAT, DIMS(2, 7));
    aclTensor *both[] = {x.tensor, y.tensor};
    aclTensorList *list = aclCreateTensorList((const aclTensor *const *)both, 2);
    aclScalar *one = scalar_real(1), *none = scalar_real(0);
    aclIntArray *swap = INTS(1, 0), *twice = INTS(0, 0), *negative = INTS(1, -1), *huge = INTS(INT64_MAX, 2),
                *odd = INTS(1, 1, 1);
    RUN(aclnnCat, list, 1, z.tensor);
    REFUSED(BAD_PARAM, aclnnCat, list, 0, z.tensor);
    REFUSED(BAD_PARAM, aclnnCat, list, 2, z.tensor);
    REFUSED(BAD_PARAM, aclnnCat, list, 1, x.tensor);
    REFUSED(NULL_PARAM, aclnnCat, NULL, 1, z.tensor);
    REFUSED(NULL_PARAM, aclnnCat, list, 1, NULL);
    REFUSED(BAD_PARAM, aclnnSlice, x.tensor, 1, 0, 2, 0, y.tensor);
    REFUSED(BAD_PARAM, aclnnSlice, x.tensor, 1, 0, 2, 1, y.tensor);
    REFUSED(BAD_PARAM, aclnnPermute, x.tensor, swap, y.tensor);
    REFUSED(BAD_PARAM, aclnnPermute, x.tensor, twice, x.tensor);
    REFUSED(NULL_PARAM, aclnnPermute, x.tensor, NULL, x.tensor);
    REFUSED(BAD_PARAM, aclnnRepeat, x.tensor, negative, x.tensor);
    REFUSED(BAD_PARAM, aclnnRepeat, x.tensor, huge, x.tensor);
    REFUSED(BAD_PARAM, aclnnConstantPadNd, x.tensor, odd, one, y.tensor);
    REFUSED(BAD_PARAM, aclnnConstantPadNd, x.tensor, huge, one, y.tensor);
    REFUSED(BAD_PARAM, aclnnArange, one, one, none, x.tensor);
    aclDestroyTensorList(list); /* and its members */
    x.tensor = y.tensor = NULL;
    aclDestroyScalar(one);
    aclDestroyScalar(none);
    aclIntArray *const arrays[] = {swap, twice, negative, huge, odd};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        aclDestroyIntArray(arrays[i]);
    }
    array_drop(&x);
    array_drop(&y);
    array_drop(&z);
}

static void index_refuses(void **state)
{
    struct array x = array_make(ACL_FLOAT, DIMS(4, 3)), y = array_make(ACL_FLOAT, DIMS(2, 3)),
                 index = array_make(ACL_INT64, DIMS(2)), wide = array_make(ACL_INT64, DIMS(2, 3)),
                 real = array_make(ACL_FLOAT, DIMS(2)), whole = array_make(ACL_INT32, DIMS(2, 3));
    REFUSED(NULL_PARAM, aclnnIndexSelect, NULL, 0, index.tensor, y.tensor);
    REFUSED(NULL_PARAM, aclnnIndexSelect, x.tensor, 0, NULL, y.tensor);
    REFUSED(BAD_PARAM, aclnnIndexSelect, x.tensor, 0, real.tensor, y.tensor);
    REFUSED(BAD_PARAM, aclnnIndexSelect, x.tensor, 0, wide.tensor, y.tensor);
    REFUSED(BAD_PARAM, aclnnIndexSelect, x.tensor, 2, index.tensor, y.tensor);
    REFUSED(BAD_PARAM, aclnnIndexSelect, x.tensor, 1, index.tensor, y.tensor);
    REFUSED(BAD_PARAM, aclnnIndexSelect, x.tensor, 0, index.tensor, whole.tensor); /* another type */
    REFUSED(BAD_PARAM, aclnnGather, x.tensor, 0, index.tensor, y.tensor);
    REFUSED(BAD_PARAM, aclnnGather, x.tensor, 0, wide.tensor, x.tensor);
    REFUSED(BAD_PARAM, aclnnScatter, x.tensor, 0, wide.tensor, real.tensor, 0, x.tensor);
    REFUSED(BAD_PARAM, aclnnScatter, x.tensor, 0, wide.tensor, y.tensor, 9, x.tensor);
    REFUSED(BAD_PARAM, aclnnScatter, x.tensor, 0, wide.tensor, y.tensor, 0, y.tensor);
    REFUSED(BAD_PARAM, aclnnEmbedding, real.tensor, index.tensor, y.tensor);
    array_drop(&x);
    array_drop(&y);
    array_drop(&index);
    array_drop(&wide);
    array_drop(&real);
    array_drop(&whole);
}

/* An index out of range reads 0 and changes nothing. */
static void indices_out_of_range_are_harmless(void **state)
{
    struct array x = array_make(ACL_FLOAT, DIMS(4, 3)), z = array_make(ACL_FLOAT, DIMS(2, 3)),
                 index = array_make(ACL_INT64, DIMS(2));
    array_write(&index, 0, 4);
    array_write(&index, 1, -1e15);
    RUN(aclnnIndexSelect, x.tensor, 0, index.tensor, z.tensor);
    for (int64_t i = 0; i < 6; i++) {
        assert_true(array_read(&z, i) == 0);
    }
    double before[12];
    for (int64_t i = 0; i < 12; i++) {
        before[i] = array_read(&x, i);
    }
    aclTensorList *list = aclCreateTensorList((const aclTensor *const[]){index.tensor}, 1);
    RUN(aclnnIndexPutImpl, x.tensor, list, z.tensor, false, true);
    RUN(aclnnIndexPutImpl, x.tensor, list, z.tensor, true, true);
    for (int64_t i = 0; i < 12; i++) {
        assert_true(array_read(&x, i) == before[i]);
    }
    aclDestroyTensorList(list);
    index.tensor = NULL;
    array_drop(&x);
    array_drop(&z);
    array_drop(&index);
}

static void nonzero_sets_the_shape(void **state)
{
    struct array x = array_make(ACL_FLOAT, DIMS(2, 3)), z = array_make(ACL_INT64, DIMS(6, 2));
    for (int64_t i = 0; i < 6; i++) {
        array_write(&x, i, i % 2);
    }
    RUN(aclnnNonzero, x.tensor, z.tensor);
    int64_t *dims = NULL;
    uint64_t rank = 0;
    assert_int_equal(aclGetViewShape(z.tensor, &dims, &rank), OK_STATUS);
    assert_true(rank == 2 && dims[0] == 3 && dims[1] == 2);
    free(dims);
    const double want[] = {0, 1, 1, 0, 1, 2};
    for (int64_t i = 0; i < 6; i++) {
        assert_true(array_read(&z, i) == want[i]);
    }
    REFUSED(BAD_PARAM, aclnnNonzero, x.tensor, x.tensor);
    array_drop(&x);
    array_drop(&z);
}

static void resizing_and_random_refuse(void **state)
{
    struct array x = array_make(ACL_FLOAT, DIMS(1, 1, 3, 3)), z = array_make(ACL_FLOAT, DIMS(1, 1, 6, 6)),
                 mask = array_make(ACL_UINT8, DIMS(8)), whole = array_make(ACL_INT32, DIMS(1, 1, 3, 3));
    aclIntArray *pads = INTS(3, 0, 0, 0), *size = INTS(6, 6), *other = INTS(6, 5), *vast = INTS(INT64_MAX, 8);
    REFUSED(BAD_PARAM, aclnnReflectionPad2d, x.tensor, pads, z.tensor); /* as much padding as elements */
    REFUSED(BAD_PARAM, aclnnReflectionPad2d, x.tensor, size, z.tensor);
    RUN(aclnnUpsampleBilinear2d, x.tensor, size, false, 2.0, 2.0, z.tensor);
    REFUSED(BAD_PARAM, aclnnUpsampleBilinear2d, x.tensor, other, false, 2.0, 2.0, z.tensor);
    REFUSED(BAD_PARAM, aclnnUpsampleBilinear2d, whole.tensor, size, false, 2.0, 2.0, z.tensor);
    REFUSED(NULL_PARAM, aclnnUpsampleBilinear2d, x.tensor, NULL, false, 2.0, 2.0, z.tensor);
    REFUSED(BAD_PARAM, aclnnDropoutGenMaskV2, size, 0.5, 1, 0, ACL_FLOAT, mask.tensor); /* 36 bits need 16 bytes */
    REFUSED(BAD_PARAM, aclnnDropoutGenMaskV2, vast, 0.5, 1, 0, ACL_FLOAT, mask.tensor);
    REFUSED(BAD_PARAM, aclnnDropoutDoMask, x.tensor, mask.tensor, 0.5, x.tensor);
    REFUSED(BAD_PARAM, aclnnDropoutDoMask, x.tensor, mask.tensor, 1.5, x.tensor);
    REFUSED(BAD_PARAM, aclnnInplaceRandom, x.tensor, 5, 5, 1, 0);
    REFUSED(NULL_PARAM, aclnnInplaceRandom, NULL, 0, 5, 1, 0);
    aclDestroyIntArray(pads);
    aclDestroyIntArray(size);
    aclDestroyIntArray(other);
    aclDestroyIntArray(vast);
    array_drop(&x);
    array_drop(&z);
    array_drop(&mask);
    array_drop(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout_refuses),
        cmocka_unit_test(index_refuses),
        cmocka_unit_test(indices_out_of_range_are_harmless),
        cmocka_unit_test(nonzero_sets_the_shape),
        cmocka_unit_test(resizing_and_random_refuse),
    };
    return cmocka_run_group_tests(tests, aclnn_open_device, aclnn_close_device);
}
