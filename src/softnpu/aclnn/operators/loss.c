/* SPDX-License-Identifier: Apache-2.0 */
/* Losses of one element each, with their reduction, and the gradients of these.
 *
 * Roles, one character per parameter: i input of the function, w weight (NULL: 1), r reduction, b number (t of a
 * gradient, s of a loss), l log-target (selects the second function), - not used, o output. */
#include "softnpu/aclnn/operators/loss.h"

#include "softnpu/aclnn/operators/map.h"
#include "softnpu/aclnn/operators/reduce.h"

#include <string.h>

struct loss {
    struct nn_view views[5], out, shape;
    struct nn_map_input inputs[5];
    uint32_t count;
    int64_t reduction;
    double number;
    bool log_target;
};

static aclnnStatus take(struct nn_plan *p, struct loss *l, uint32_t param)
{
    const char role = p->op->roles[param];
    struct nn_view *view = &l->views[l->count];
    switch (role) {
    case 'i':
    case 'w':
        NN_CHECK(role == 'i' ? nn_tensor(p, param, NN_REALS, view) : nn_tensor_optional(p, param, NN_REALS, view));
        l->inputs[l->count++] =
            nn_is_there(view) ? (struct nn_map_input){.view = view} : (struct nn_map_input){.constant = {1, 1}};
        return ACLNN_SUCCESS;
    case 'r':
        l->reduction = nn_whole(p, param);
        if (l->reduction < 0 || l->reduction > 3 || (l->reduction == 3 && strchr(p->op->roles, 'l') == NULL)) {
            return NN_INVALID(p, "reduction is %lld; 0 (none), 1 (mean) and 2 (sum) are supported",
                              (long long)l->reduction);
        }
        return ACLNN_SUCCESS;
    case 'b':
        l->number = nn_real(p, param);
        return l->number >= 0 ? ACLNN_SUCCESS : NN_INVALID(p, "%s is negative", p->params[param].name);
    case 'l':
        l->log_target = nn_whole(p, param) != 0;
        return ACLNN_SUCCESS;
    case 'o':
        return nn_tensor(p, param, NN_REALS, &l->out);
    default:
        return ACLNN_SUCCESS;
    }
}

static aclnnStatus take_all(struct nn_plan *p, struct loss *l)
{
    *l = (struct loss){.reduction = NN_LOSS_NONE};
    for (uint32_t i = 0; i < p->count; i++) {
        NN_CHECK(take(p, l, i));
    }
    for (uint32_t i = 0; i < l->count; i++) {
        if (l->inputs[i].view != NULL && !nn_common_shape(&l->shape, &l->views[i], &l->shape.rank, l->shape.dims)) {
            return NN_INVALID(p, "the shapes %s and %s do not broadcast", nn_shape_text(l->shape.rank, l->shape.dims),
                              nn_shape_text(l->views[i].rank, l->views[i].dims));
        }
    }
    l->shape.count = 1;
    for (uint64_t i = 0; i < l->shape.rank; i++) {
        l->shape.count *= l->shape.dims[i];
    }
    for (uint32_t i = 0; i < l->count; i++) {
        if (l->inputs[i].view != NULL) {
            nn_broadcast(&l->views[i], l->shape.rank, l->shape.dims, &l->views[i]);
        }
    }
    return ACLNN_SUCCESS;
}

static double share_of(const struct loss *l)
{
    const uint64_t first = l->shape.rank > 0 ? l->shape.dims[0] : 1;
    return l->reduction == NN_LOSS_MEAN ? 1 / (double)l->shape.count : l->reduction == 3 ? 1 / (double)first : 1;
}

static uint32_t code_of(const struct nn_plan *p, const struct loss *l)
{
    return l->log_target ? (uint32_t)p->op->number : p->op->code;
}

static aclDataType wide_of(const struct loss *l)
{
    return l->out.type == ACL_DOUBLE || l->views[0].type == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT;
}

static aclnnStatus plan_loss(struct nn_plan *p)
{
    static const bool every[NN_DIMS] = {true, true, true, true, true, true, true, true};
    struct loss l;
    struct nn_view losses, flat;
    NN_CHECK(take_all(p, &l));
    if (l.reduction == NN_LOSS_NONE) {
        NN_CHECK(nn_expect_shape(p, "out", &l.out, l.shape.rank, l.shape.dims));
        return nn_map(p, p->op->kernel, code_of(p, &l), wide_of(&l), l.inputs, l.count, &l.number, 1, &l.out);
    }
    NN_CHECK(nn_loss_one(p, "out", &l.out));
    NN_CHECK(nn_workspace(p, wide_of(&l), l.shape.rank, l.shape.dims, &losses));
    NN_CHECK(nn_map(p, p->op->kernel, code_of(p, &l), wide_of(&l), l.inputs, l.count, &l.number, 1, &losses));
    flat = l.out;
    flat.rank = 0;
    const bool scaled = l.reduction != NN_LOSS_SUM;
    return nn_reduce(p, scaled ? "ReduceMean" : "ReduceSum",
                     &(struct nn_reduce){.code = OP_REDUCE_SUM,
                                         .finish = scaled ? OP_FINISH_SCALE : OP_FINISH_NONE,
                                         .x = &losses,
                                         .z = &flat,
                                         .s = share_of(&l)},
                     every);
}

/* The function takes four inputs; of five, the fourth is a factor of the result. */
static aclnnStatus plan_loss_gradient(struct nn_plan *p)
{
    struct loss l;
    struct nn_view part;
    NN_CHECK(take_all(p, &l));
    NN_CHECK(nn_expect_shape(p, "out", &l.out, l.shape.rank, l.shape.dims));
    const double numbers[] = {share_of(&l), l.number};
    if (l.count <= OP_MAP_INPUTS) {
        return nn_map(p, p->op->kernel, code_of(p, &l), wide_of(&l), l.inputs, l.count, numbers, 2, &l.out);
    }
    const struct nn_map_input weight = l.inputs[3], inputs[] = {l.inputs[0], l.inputs[1], l.inputs[2], l.inputs[4]};
    if (weight.view == NULL) {
        return nn_map(p, p->op->kernel, code_of(p, &l), wide_of(&l), inputs, 4, numbers, 2, &l.out);
    }
    NN_CHECK(nn_workspace(p, wide_of(&l), l.shape.rank, l.shape.dims, &part));
    NN_CHECK(nn_map(p, p->op->kernel, code_of(p, &l), wide_of(&l), inputs, 4, numbers, 2, &part));
    return nn_map(p, NN_MAP_KERNEL(Mul), wide_of(&l), (const struct nn_map_input[]){{.view = &part}, weight}, 2, NULL,
                  0, &l.out);
}

/* NN_LOSS(operator, roles, function), NN_LOSS_GRAD the same */
#define NN_LOSS(name, role_text, function)                                                                             \
    NN_OPERATOR(name, plan_loss, .kernel = #function, .code = OP_MAP_##function, .roles = role_text, .types = NN_REALS)
#define NN_LOSS_GRAD(name, role_text, function)                                                                        \
    NN_OPERATOR(name, plan_loss_gradient, .kernel = #function, .code = OP_MAP_##function, .roles = role_text,          \
                .types = NN_REALS)
NN_LOSS(MseLoss, "iiro", MseLoss)
NN_LOSS(MseLossOut, "iiro", MseLoss)
NN_LOSS_GRAD(MseLossBackward, "iiiro", MseLossGrad)
NN_LOSS(L1Loss, "iiro", LpLoss)
NN_LOSS_GRAD(L1LossBackward, "iiiro", LpLossGrad)
NN_LOSS(SmoothL1Loss, "iirbo", SmoothL1LossV2)
NN_LOSS_GRAD(SmoothL1LossBackward, "iiirbo", SmoothL1LossGradV2)
NN_LOSS(BinaryCrossEntropy, "iiwro", BinaryCrossEntropy)
NN_LOSS_GRAD(BinaryCrossEntropyBackward, "iiiwro", BinaryCrossEntropyGrad)
NN_LOSS(BinaryCrossEntropyWithLogits, "iiwwro", SigmoidCrossEntropyWithLogitsV2)
NN_LOSS_GRAD(BinaryCrossEntropyWithLogitsBackward, "iiiwwro", SigmoidCrossEntropyWithLogitsGradV2)
NN_LOSS_GRAD(BinaryCrossEntropyWithLogitsTargetBackward, "ii-wwro", BCEWithLogitsTargetGrad)
NN_LOSS(SoftMarginLoss, "iiro", SoftMarginLoss)
NN_LOSS_GRAD(SoftMarginLossBackward, "iiiro", SoftMarginLossGrad)

#define NN_LOSS_LOG(name, role_text, plan, function, log_function)                                                     \
    NN_OPERATOR(name, plan, .kernel = #function, .code = OP_MAP_##function, .number = OP_MAP_##log_function,           \
                .roles = role_text, .types = NN_REALS)
NN_LOSS_LOG(KlDiv, "iirlo", plan_loss, KLDivV2, KLDivV2Log)
NN_LOSS_LOG(KlDivBackward, "iiirlo", plan_loss_gradient, KlDivLossGrad, KlDivLossGradLog)
NN_LOSS_LOG(KlDivTargetBackward, "iiirlo", plan_loss_gradient, KlDivTargetGrad, KlDivTargetGradLog)
