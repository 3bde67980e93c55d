/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of products in the device's own layout. softnpu keeps weights as they are: the layout is the identity, and a
 * weight needs the size of its elements, in multiples of the vendor's cube (16 rows, 32 bytes). */
#include "softnpu/aclnn/op.h"

MS_EXPORT aclnnStatus aclnnCalculateMatmulWeightSize(const aclIntArray *tensorShape, uint64_t *weightTensorSize);
MS_EXPORT aclnnStatus aclnnCalculateMatmulWeightSizeV2(const aclIntArray *tensorShape, aclDataType dataType,
                                                       uint64_t *weightTensorSize);

enum { CUBE_ROWS = 16, CUBE_B = 32 }; /* a cube has 32 columns of bytes, otherwise 16 columns */

/* Elements of a weight. The last two dimensions are rounded up to cubes. */
static aclnnStatus count_weight(const char *name, const aclIntArray *shape, uint64_t element_b, uint64_t *count)
{
    const struct nn_array *array = snpu_nn_array(shape, NN_INTS);
    if (shape == NULL || count == NULL) {
        return snpu_fail(ACLNN_ERR_PARAM_NULLPTR, "%s: %s is NULL", name,
                         shape == NULL ? "tensorShape" : "weightTensorSize");
    }
    if (array == NULL || array->count < 2 || array->count > 6) {
        return snpu_fail(ACLNN_ERR_PARAM_INVALID, "%s: tensorShape %s", name,
                         array == NULL ? "does not exist" : "must have 2 to 6 dimensions");
    }
    const int64_t *dims = array->data;
    uint64_t total = 1;
    for (uint64_t i = 0; i < array->count; i++) {
        const uint64_t unit = i + 2 == array->count   ? CUBE_ROWS
                              : i + 1 == array->count ? (element_b == 1 ? CUBE_B : CUBE_ROWS)
                                                      : 1;
        if (dims[i] < 0 || dims[i] > INT64_MAX / 64 ||
            __builtin_mul_overflow(total, MS_ROUND_UP((uint64_t)dims[i], unit), &total) || total > INT64_MAX / 16) {
            return snpu_fail(ACLNN_ERR_PARAM_INVALID, "%s: dimension %llu of tensorShape is out of range", name,
                             (unsigned long long)i);
        }
    }
    *count = total;
    return ACLNN_SUCCESS;
}

aclnnStatus aclnnCalculateMatmulWeightSize(const aclIntArray *tensorShape, uint64_t *weightTensorSize)
{
    return count_weight("aclnnCalculateMatmulWeightSize", tensorShape, 2, weightTensorSize);
}

aclnnStatus aclnnCalculateMatmulWeightSizeV2(const aclIntArray *tensorShape, aclDataType dataType,
                                             uint64_t *weightTensorSize)
{
    const char *name = "aclnnCalculateMatmulWeightSizeV2";
    if (dataType != ACL_FLOAT16 && dataType != ACL_BF16 && dataType != ACL_INT8 && dataType != ACL_FLOAT) {
        return snpu_fail(ACLNN_ERR_PARAM_INVALID, "%s: dataType %s is not supported", name, nn_type_name(dataType));
    }
    return count_weight(name, tensorShape, aclDataTypeSize(dataType), weightTensorSize);
}

static aclnnStatus plan_keep(struct nn_plan *p)
{
    struct nn_view weight;
    NN_CHECK(nn_tensor(p, 0, NN_FLOATS16_32 | NN_TYPE(ACL_INT8), &weight));
    if (weight.rank < 2 || weight.rank > 6) {
        return NN_INVALID(p, "mmWeightRef has %llu dimensions, 2 to 6 are supported", (unsigned long long)weight.rank);
    }
    return ACLNN_SUCCESS;
}
NN_OPERATOR(TransMatmulWeight, plan_keep, .types = NN_FLOATS16_32 | NN_TYPE(ACL_INT8))
