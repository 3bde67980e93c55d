/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers, the scale of gradients in mixed precision, and the check for silent faults. */
#include "softnpu/aclnn/op.h"

#define FLOATS NN_FLOATS16_32

static aclnnStatus one_number(struct nn_plan *p, uint32_t param, nn_types types, struct nn_view *view)
{
    NN_CHECK(nn_tensor(p, param, types, view));
    return view->count == 1 ? ACLNN_SUCCESS
                            : NN_INVALID(p, "%s has the shape %s, one element is required", p->params[param].name,
                                         nn_shape_text(view->rank, view->dims));
}

/* Operands in the order of the kernel, their shapes equal; an operand that is not there stays empty. */
static aclnnStatus update(struct nn_plan *p, const struct nn_view *operands, const struct nn_view *step,
                          struct op_update_args *args)
{
    struct op_side *sides[OP_UPDATE_OPERANDS];
    const struct nn_view *views[OP_UPDATE_OPERANDS];
    const struct nn_address *addresses[OP_UPDATE_OPERANDS + 1];
    uint32_t count = 0;
    for (uint32_t i = 0; i < OP_UPDATE_OPERANDS; i++) {
        addresses[i] = &operands[i].address;
        if (!nn_is_there(&operands[i])) {
            continue;
        }
        if (!nn_same_shape(&operands[i], &operands[0])) {
            return NN_INVALID(p, "the shapes of the operands differ: %s and %s",
                              nn_shape_text(operands[0].rank, operands[0].dims),
                              nn_shape_text(operands[i].rank, operands[i].dims));
        }
        sides[count] = &args->sides[i];
        views[count++] = &operands[i];
    }
    addresses[OP_UPDATE_OPERANDS] = &step->address;
    args->step_type = step->type;
    if (operands[0].count == 0) {
        return ACLNN_SUCCESS;
    }
    nn_tile(&args->loop, sides, views, count);
    return nn_launch(p, p->op->kernel, args, sizeof *args, addresses, OP_UPDATE_OPERANDS + 1, operands[0].count * 4);
}

/* (var, m, v, max, grad, step, lr, beta1, beta2, weightDecay, eps, amsgrad, maximize) */
static aclnnStatus plan_adam_w(struct nn_plan *p)
{
    struct nn_view operands[OP_UPDATE_OPERANDS] = {{0}}, step;
    const bool amsgrad = nn_whole(p, 11) != 0;
    for (uint32_t i = 0; i < OP_UPDATE_OPERANDS; i++) {
        if (i != 3 || amsgrad) {
            NN_CHECK(nn_tensor(p, i, p->op->types, &operands[i]));
        }
    }
    NN_CHECK(one_number(p, 5, NN_INDEX | NN_TYPE(ACL_FLOAT), &step));
    struct op_update_args args = {
        .lr = nn_real(p, 6),
        .beta1 = nn_real(p, 7),
        .beta2 = nn_real(p, 8),
        .decay = nn_real(p, 9),
        .eps = nn_real(p, 10),
        .maximize = nn_whole(p, 12) != 0,
        .correct = 1,
    };
    return update(p, operands, &step, &args);
}
NN_OPERATOR(ApplyAdamWV2, plan_adam_w, .kernel = "ApplyAdamWV2", .types = FLOATS)

/* (grad, var, m, v, s, step, lr, emaDecay, beta1, beta2, eps, mode, biasCorrection, weightDecay) */
static aclnnStatus plan_ema_adam(struct nn_plan *p)
{
    struct nn_view operands[OP_UPDATE_OPERANDS] = {{0}}, step;
    for (uint32_t i = 0; i < OP_UPDATE_OPERANDS; i++) {
        NN_CHECK(nn_tensor(p, i, p->op->types, &operands[(i + OP_UPDATE_OPERANDS - 1) % OP_UPDATE_OPERANDS]));
    }
    NN_CHECK(one_number(p, 5, NN_INDEX, &step));
    struct op_update_args args = {
        .lr = nn_real(p, 6),
        .ema = nn_real(p, 7),
        .beta1 = nn_real(p, 8),
        .beta2 = nn_real(p, 9),
        .eps = nn_real(p, 10),
        .mode = nn_whole(p, 11) != 0,
        .correct = nn_whole(p, 12) != 0,
        .decay = nn_real(p, 13),
    };
    return update(p, operands, &step, &args);
}
NN_OPERATOR(ApplyFusedEmaAdam, plan_ema_adam, .kernel = "ApplyFusedEmaAdam", .types = FLOATS)

/* (currentScale, growthTracker, foundInf, growthFactor, backoffFactor, growthInterval, newScale, newTracker) */
static aclnnStatus plan_update_scale(struct nn_plan *p)
{
    struct nn_view scale, tracker, found, next, count;
    NN_CHECK(one_number(p, 0, NN_TYPE(ACL_FLOAT), &scale));
    NN_CHECK(one_number(p, 1, NN_TYPE(ACL_INT32), &tracker));
    NN_CHECK(one_number(p, 2, NN_TYPE(ACL_FLOAT), &found));
    NN_CHECK(one_number(p, 6, NN_TYPE(ACL_FLOAT), &next));
    NN_CHECK(one_number(p, 7, NN_TYPE(ACL_INT32), &count));
    const int64_t interval = nn_whole(p, 5);
    const double factors[] = {nn_real(p, 3), nn_real(p, 4)};
    return nn_call(p, p->op->kernel, (const struct nn_view *[]){&scale, &tracker, &found, &next, &count}, 5, &interval,
                   1, factors, 2, 1);
}
NN_OPERATOR(AmpUpdateScale, plan_update_scale, .kernel = "UpdateScale", .types = NN_TYPE(ACL_FLOAT))

/* (val, inputGrad, sfda, step, cMinSteps, cThreshL1, cCoeffL1, cThreshL2, cCoeffL2, npuAsdDetect, result) */
static aclnnStatus plan_silent_check(struct nn_plan *p)
{
    struct nn_view value, gradient, state, step, result;
    NN_CHECK(one_number(p, 0, FLOATS, &value));
    NN_CHECK(nn_tensor(p, 1, FLOATS, &gradient));
    NN_CHECK(nn_tensor(p, 2, NN_TYPE(ACL_FLOAT), &state));
    NN_CHECK(nn_expect_shape(p, "sfdaRef", &state, 1, (const uint64_t[]){3}));
    NN_CHECK(one_number(p, 3, NN_TYPE(ACL_INT64), &step));
    NN_CHECK(one_number(p, 10, NN_TYPE(ACL_INT32), &result));
    if (!nn_is_dense(&state)) {
        return NN_INVALID(p, "sfdaRef must be contiguous");
    }
    const int64_t least = nn_whole(p, 4);
    const double limits[] = {nn_real(p, 5), nn_real(p, 6), nn_real(p, 7), nn_real(p, 8)};
    return nn_call(p, p->op->kernel, (const struct nn_view *[]){&value, &state, &step, &result}, 4, &least, 1, limits,
                   4, 1);
}
NN_OPERATOR(SilentCheck, plan_silent_check, .kernel = "SilentCheck", .types = FLOATS)

/* (val, max, avg, inputGrad, step, dstSize, dstStride, dstOffset, cThreshL1, cThreshL2, beta1, npuAsdDetect, result) */
static aclnnStatus plan_silent_check_v2(struct nn_plan *p)
{
    struct nn_view value, largest, average, gradient, step, result;
    NN_CHECK(one_number(p, 0, FLOATS, &value));
    NN_CHECK(one_number(p, 1, FLOATS, &largest));
    NN_CHECK(one_number(p, 2, FLOATS, &average));
    NN_CHECK(nn_tensor(p, 3, FLOATS, &gradient));
    NN_CHECK(one_number(p, 4, NN_TYPE(ACL_INT64), &step));
    NN_CHECK(one_number(p, 12, NN_TYPE(ACL_INT32), &result));
    const double numbers[] = {nn_real(p, 8), nn_real(p, 9), nn_real(p, 10)};
    return nn_call(p, p->op->kernel, (const struct nn_view *[]){&value, &average, &step, &result}, 4, NULL, 0, numbers,
                   3, 1);
}
NN_OPERATOR(SilentCheckV2, plan_silent_check_v2, .kernel = "SilentCheckV2", .types = FLOATS)
