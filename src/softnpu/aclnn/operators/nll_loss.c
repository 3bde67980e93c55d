/* SPDX-License-Identifier: Apache-2.0 */
/* Negative log-likelihood: the losses that pick one class for every sample. */
#include "softnpu/aclnn/operators/loss.h"

#include "softnpu/aclnn/operators/map.h"
#include "softnpu/aclnn/operators/reduce.h"

#include <string.h>

aclnnStatus nn_loss_reduction(struct nn_plan *p, uint32_t param, int64_t *reduction)
{
    *reduction = nn_whole(p, param);
    return *reduction >= NN_LOSS_NONE && *reduction <= NN_LOSS_SUM
               ? ACLNN_SUCCESS
               : NN_INVALID(p, "reduction is %lld; 0 (none), 1 (mean) and 2 (sum) are supported",
                            (long long)*reduction);
}

aclnnStatus nn_loss_one(struct nn_plan *p, const char *what, const struct nn_view *view)
{
    return view->count == 1 ? ACLNN_SUCCESS
                            : NN_INVALID(p, "%s has the shape %s, one element is required", what,
                                         nn_shape_text(view->rank, view->dims));
}

/* x without its dimension of classes, and its size and step. */
static aclnnStatus split_classes(struct nn_plan *p, const struct nn_likelihood *l, struct nn_view *samples,
                                 int64_t numbers[3])
{
    const struct nn_view *x = l->x;
    *samples = *x;
    samples->rank = x->rank - 1;
    numbers[0] = x->steps[l->axis];
    numbers[1] = (int64_t)x->dims[l->axis];
    numbers[2] = l->ignored;
    for (uint64_t i = l->axis; i < samples->rank; i++) {
        samples->dims[i] = x->dims[i + 1];
        samples->steps[i] = x->steps[i + 1];
    }
    samples->count = l->target->count;
    /* One sample without a dimension may have a target of shape [1]. */
    if (!(samples->rank == 0 && l->target->count == 1)) {
        NN_CHECK(nn_expect_shape(p, "target", l->target, samples->rank, samples->dims));
    }
    if (nn_is_there(l->weight)) {
        NN_CHECK(nn_expect_shape(p, "weight", l->weight, 1, (const uint64_t[]){x->dims[l->axis]}));
    }
    return ACLNN_SUCCESS;
}

static const bool every[NN_DIMS] = {true, true, true, true, true, true, true, true};

aclnnStatus nn_likelihood(struct nn_plan *p, const struct nn_likelihood *l, const struct nn_view *out,
                          const struct nn_view *total_weight)
{
    struct nn_view samples, losses, weights, sum, total, flat = *out, flat_weight = *total_weight;
    int64_t numbers[3];
    NN_CHECK(split_classes(p, l, &samples, numbers));
    NN_CHECK(nn_loss_one(p, "totalWeightOut", total_weight));
    flat_weight.rank = 0;
    const aclDataType wide = l->x->type == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT;
    NN_CHECK(nn_workspace(p, wide, samples.rank, samples.dims, &losses));
    NN_CHECK(nn_workspace(p, wide, samples.rank, samples.dims, &weights));
    if (l->reduction == NN_LOSS_NONE) {
        NN_CHECK(nn_expect_shape(p, "out", out, samples.rank, samples.dims));
        NN_CHECK(nn_fill(p, "ZerosLike", &flat_weight, &(struct op_number){0, 0}, ACL_FLOAT));
    } else {
        NN_CHECK(nn_loss_one(p, "out", out));
        flat.rank = 0;
    }
    if (samples.count > 0) {
        NN_CHECK(nn_call(p, "NLLLoss", (const struct nn_view *[]){&samples, l->target, l->weight, &losses, &weights}, 5,
                         numbers, 3, NULL, 0, 16 * samples.count));
    }
    if (l->reduction == NN_LOSS_NONE) {
        return nn_move(p, &losses, &flat);
    }
    NN_CHECK(nn_workspace(p, wide, 0, NULL, &sum));
    NN_CHECK(nn_workspace(p, wide, 0, NULL, &total));
    NN_CHECK(nn_reduce(p, "ReduceSum", &(struct nn_reduce){.code = OP_REDUCE_SUM, .x = &losses, .z = &sum}, every));
    NN_CHECK(nn_reduce(p, "ReduceSum", &(struct nn_reduce){.code = OP_REDUCE_SUM, .x = &weights, .z = &total}, every));
    NN_CHECK(nn_move(p, &total, &flat_weight));
    if (l->reduction == NN_LOSS_SUM) {
        return nn_move(p, &sum, &flat);
    }
    return nn_map(p, NN_MAP_KERNEL(RealDiv), wide, (const struct nn_map_input[]){{.view = &sum}, {.view = &total}}, 2,
                  NULL, 0, &flat);
}

aclnnStatus nn_likelihood_grad(struct nn_plan *p, const struct nn_likelihood *l, const struct nn_view *grad,
                               const struct nn_view *total_weight)
{
    static const struct nn_view none = {.address = {.from = NN_NOWHERE}};
    struct nn_view samples, dy = *grad;
    int64_t numbers[3];
    NN_CHECK(split_classes(p, l, &samples, numbers));
    if (l->reduction == NN_LOSS_NONE) {
        NN_CHECK(nn_expect_shape(p, "gradOutput", grad, l->target->rank, l->target->dims));
    } else {
        NN_CHECK(nn_loss_one(p, "gradOutput", grad));
        dy.rank = 0;
    }
    NN_CHECK(nn_fill(p, "ZerosLike", l->x, &(struct op_number){0, 0}, ACL_FLOAT));
    if (samples.count == 0) {
        return ACLNN_SUCCESS;
    }
    const struct nn_view *divisor = l->reduction == NN_LOSS_MEAN ? total_weight : &none;
    return nn_call(p, "NLLLossGrad", (const struct nn_view *[]){&samples, l->target, l->weight, &dy, divisor}, 5,
                   numbers, 3, NULL, 0, 16 * samples.count);
}

/* Checks rank and finds the dimension of classes; .flags: the rank that is required, 0 for one or two. */
static aclnnStatus class_axis(struct nn_plan *p, const struct nn_view *x, uint64_t *axis)
{
    const uint64_t rank = p->op->flags;
    if (rank != 0 ? x->rank != rank : x->rank != 1 && x->rank != 2) {
        return NN_INVALID(p, "self has the shape %s, %s dimensions are required", nn_shape_text(x->rank, x->dims),
                          rank != 0 ? "four" : "one or two");
    }
    *axis = x->rank == 1 ? 0 : 1;
    return ACLNN_SUCCESS;
}

#define TARGETS (NN_INDEX | NN_TYPE(ACL_UINT8))

/* (self, target, weight, reduction, ignoreIndex, out, totalWeight) */
static aclnnStatus plan_nll_loss(struct nn_plan *p)
{
    struct nn_view x, target, weight, out, total;
    struct nn_likelihood l = {.x = &x, .target = &target, .weight = &weight, .ignored = nn_whole(p, 4)};
    NN_CHECK(nn_tensor(p, 0, NN_REALS, &x));
    NN_CHECK(nn_tensor(p, 1, TARGETS, &target));
    NN_CHECK(nn_tensor_optional(p, 2, NN_REALS, &weight));
    NN_CHECK(nn_loss_reduction(p, 3, &l.reduction));
    NN_CHECK(nn_tensor(p, 5, NN_REALS, &out));
    NN_CHECK(nn_tensor(p, 6, NN_REALS, &total));
    NN_CHECK(class_axis(p, &x, &l.axis));
    return nn_likelihood(p, &l, &out, &total);
}
NN_OPERATOR(NLLLoss, plan_nll_loss, .types = NN_REALS)
NN_OPERATOR(NLLLoss2d, plan_nll_loss, .types = NN_REALS, .flags = 4)

/* (gradOutput, self, target, weight, reduction, ignoreIndex, totalWeight, out) */
static aclnnStatus plan_nll_loss_backward(struct nn_plan *p)
{
    struct nn_view grad, x, target, weight, total, out;
    struct nn_likelihood l = {.x = &out, .target = &target, .weight = &weight, .ignored = nn_whole(p, 5)};
    NN_CHECK(nn_tensor(p, 0, NN_REALS, &grad));
    NN_CHECK(nn_tensor(p, 1, NN_REALS, &x));
    NN_CHECK(nn_tensor(p, 2, TARGETS, &target));
    NN_CHECK(nn_tensor_optional(p, 3, NN_REALS, &weight));
    NN_CHECK(nn_loss_reduction(p, 4, &l.reduction));
    NN_CHECK(nn_tensor(p, 6, NN_REALS, &total));
    NN_CHECK(nn_tensor(p, 7, NN_REALS, &out));
    NN_CHECK(class_axis(p, &x, &l.axis));
    NN_CHECK(nn_expect_shape(p, "out", &out, x.rank, x.dims));
    NN_CHECK(nn_loss_one(p, "totalWeight", &total));
    return nn_likelihood_grad(p, &l, &grad, &total);
}
NN_OPERATOR(NLLLossBackward, plan_nll_loss_backward, .types = NN_REALS)
NN_OPERATOR(NLLLoss2dBackward, plan_nll_loss_backward, .types = NN_REALS, .flags = 4)
