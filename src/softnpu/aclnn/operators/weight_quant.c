/* SPDX-License-Identifier: Apache-2.0 */
/* Products with a weight of 8-bit or 4-bit integers: y = x * ((weight + offset) * scale) + bias. The weight is converted
 * to float in the workspace first. Scale and offset belong to the whole weight, to its columns, or to groups of rows. */
#include "softnpu/aclnn/operators/product.h"

enum { X, WEIGHT, SCALE, OFFSET, QUANT_SCALE, QUANT_OFFSET, BIAS, GROUP };
#define WEIGHTS (NN_TYPE(ACL_INT8) | NN_TYPE(ACL_INT4) | NN_TYPE(ACL_INT32))

/* An INT32 holds eight elements of the dimension that is dense in memory. */
static aclnnStatus unpack_view(struct nn_plan *p, struct nn_view *weight)
{
    const int inner = weight->steps[0] < weight->steps[1] ? 0 : 1;
    if (weight->type == ACL_INT32) {
        if (weight->steps[inner] != 1) {
            return NN_INVALID(p, "weight: INT32 with eight elements each must be dense in one dimension");
        }
        weight->type = ACL_INT4;
        weight->dims[inner] *= 8;
        weight->steps[1 - inner] *= 8;
        weight->count *= 8;
    }
    return ACLNN_SUCCESS;
}

/* Makes [groups, n] of a scale or offset with one element, [n], [1, n] or [groups, n]. */
static aclnnStatus group_view(struct nn_plan *p, uint32_t param, const struct nn_view *weight, struct nn_view *view,
                              uint64_t *group)
{
    const uint64_t rows = weight->dims[0], asked = (uint64_t)nn_whole(p, GROUP);
    const uint64_t groups = view->rank == 2 ? view->dims[0] : 1;
    uint64_t shape[] = {groups, weight->dims[1]};
    if (view->count == 1) {
        view->rank = 0;
        shape[0] = 1;
    }
    *group = groups == 1 || view->count == 1 ? (rows > 0 ? rows : 1) : asked;
    if (view->rank > 2 || *group == 0 || shape[0] != (rows > 0 ? (rows - 1) / *group + 1 : shape[0]) ||
        !nn_broadcast(view, 2, shape, view)) {
        return NN_INVALID(p, "%s %s does not fit weight %s with antiquantGroupSize %llu", p->params[param].name,
                          nn_shape_text(view->rank, view->dims), nn_shape_text(2, weight->dims),
                          (unsigned long long)asked);
    }
    return ACLNN_SUCCESS;
}

static aclnnStatus read_arguments(struct nn_plan *p, struct nn_view *x, struct nn_view *weight, struct nn_view *y)
{
    NN_CHECK(nn_tensor(p, X, p->op->types, x));
    NN_CHECK(nn_tensor(p, WEIGHT, WEIGHTS, weight));
    NN_CHECK(nn_tensor(p, p->count - 1, p->op->types, y));
    if (nn_given(p, QUANT_SCALE) || nn_given(p, QUANT_OFFSET)) {
        return NN_INVALID(p, "%s: softnpu does not quantize the result",
                          p->params[nn_given(p, QUANT_SCALE) ? QUANT_SCALE : QUANT_OFFSET].name);
    }
    if (x->rank != 2 || weight->rank != 2 || nn_whole(p, GROUP) < 0) {
        return NN_INVALID(p, "x and weight must have 2 dimensions and antiquantGroupSize must not be negative");
    }
    return unpack_view(p, weight);
}

/* (x, weight, antiquantScale, antiquantOffset, quantScale, quantOffset, bias, antiquantGroupSize, ..., y) */
static aclnnStatus plan_weight_quant(struct nn_plan *p)
{
    struct nn_view x, weight, scale, offset, bias, y, plain;
    uint64_t group = 1, offset_group;
    NN_CHECK(read_arguments(p, &x, &weight, &y));
    NN_CHECK(nn_tensor(p, SCALE, p->op->types, &scale));
    NN_CHECK(nn_tensor_optional(p, OFFSET, p->op->types | NN_TYPE(ACL_INT32), &offset));
    NN_CHECK(nn_tensor_optional(p, BIAS, p->op->types, &bias));
    NN_CHECK(group_view(p, SCALE, &weight, &scale, &group));
    if (nn_is_there(&offset)) {
        NN_CHECK(group_view(p, OFFSET, &weight, &offset, &offset_group));
        if (offset_group != group) {
            return NN_INVALID(p, "antiquantScale and antiquantOffset have different groups");
        }
    }
    /* The result has the order of the weight, so that both are traversed along dense lines. */
    const bool turned = weight.steps[0] < weight.steps[1];
    NN_CHECK(
        nn_workspace(p, ACL_FLOAT, 2, turned ? (uint64_t[]){weight.dims[1], weight.dims[0]} : weight.dims, &plain));
    if (turned) {
        plain.dims[0] = weight.dims[0];
        plain.dims[1] = weight.dims[1];
        plain.steps[0] = 1;
        plain.steps[1] = (int64_t)weight.dims[0];
    }
    if (plain.count > 0) {
        NN_CHECK(nn_call(p, p->op->kernel, (const struct nn_view *[]){&weight, &scale, &offset, &plain},
                         OP_DEQUANT_OPERANDS, (int64_t[]){(int64_t)group}, 1, NULL, 0, 2 * plain.count));
    }
    const struct nn_product_terms terms = {.add = nn_is_there(&bias) ? &bias : NULL, .alpha = {1, 1}, .beta = {1, 1}};
    return nn_product_add(p, &x, &plain, &terms, &y);
}
NN_OPERATOR(WeightQuantBatchMatmulV2, plan_weight_quant, .kernel = "WeightQuantBatchMatmulV2", .types = NN_FLOATS16_32)
NN_OPERATOR(WeightQuantBatchMatmulV3, plan_weight_quant, .kernel = "WeightQuantBatchMatmulV2", .types = NN_FLOATS16_32)
NN_OPERATOR(WeightQuantBatchMatmulNz, plan_weight_quant, .kernel = "WeightQuantBatchMatmulV2", .types = NN_FLOATS16_32)
