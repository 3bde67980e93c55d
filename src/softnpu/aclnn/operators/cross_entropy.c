/* SPDX-License-Identifier: Apache-2.0 */
/* Cross entropy of logits and class indices: log-softmax, then the negative log-likelihood. Smoothing of labels and the
 * z-loss are not supported. */
#include "softnpu/aclnn/operators/loss.h"
#include "softnpu/aclnn/operators/rows.h"

#include <string.h>

static aclnnStatus take_reduction(struct nn_plan *p, uint32_t param, int64_t *reduction)
{
    const char *text = nn_text(p, param);
    *reduction = strcmp(text, "none") == 0 ? NN_LOSS_NONE : strcmp(text, "sum") == 0 ? NN_LOSS_SUM : NN_LOSS_MEAN;
    return *text == 0 || *reduction != NN_LOSS_MEAN || strcmp(text, "mean") == 0
               ? ACLNN_SUCCESS
               : NN_INVALID(p, "reduction is \"%s\"; mean, sum and none are supported", text);
}

static aclnnStatus check_plain(struct nn_plan *p, uint32_t smoothing)
{
    return nn_real(p, smoothing) == 0
               ? ACLNN_SUCCESS
               : NN_INVALID(p, "labelSmoothing is %g, softnpu supports 0 only", nn_real(p, smoothing));
}

/* (input, target, weight, reduction, ignoreIndex, labelSmoothing, lseSquareScaleForZloss, returnZloss, loss, logProb,
 *  zloss, lseForZloss) */
static aclnnStatus plan_cross_entropy(struct nn_plan *p)
{
    struct nn_view x, target, weight, loss, log_prob, total;
    struct nn_likelihood l = {
        .x = &log_prob, .target = &target, .weight = &weight, .axis = 1, .ignored = nn_whole(p, 4)};
    NN_CHECK(nn_tensor(p, 0, NN_FLOATS16_32, &x));
    NN_CHECK(nn_tensor(p, 1, NN_INDEX, &target));
    NN_CHECK(nn_tensor_optional(p, 2, NN_FLOATS16_32, &weight));
    NN_CHECK(take_reduction(p, 3, &l.reduction));
    NN_CHECK(check_plain(p, 5));
    if (nn_whole(p, 7) != 0) {
        return NN_INVALID(p, "returnZloss must be false");
    }
    NN_CHECK(nn_tensor(p, 8, NN_FLOATS16_32, &loss));
    NN_CHECK(nn_tensor(p, 9, NN_FLOATS16_32, &log_prob));
    if (x.rank != 2) {
        return NN_INVALID(p, "input has the shape %s, two dimensions are required", nn_shape_text(x.rank, x.dims));
    }
    NN_CHECK(nn_expect_shape(p, "logProbOut", &log_prob, x.rank, x.dims));
    NN_CHECK(
        nn_rows(p, "LogSoftmaxV2", &(struct nn_rows){.code = OP_ROW_LOG_SOFTMAX, .views = {&x, &log_prob}, .axis = 1}));
    NN_CHECK(nn_workspace(p, ACL_FLOAT, 0, NULL, &total));
    return nn_likelihood(p, &l, &loss, &total);
}
NN_OPERATOR(CrossEntropyLoss, plan_cross_entropy, .types = NN_FLOATS16_32)

/* (gradLoss, logProb, target, weight, gradZloss, lseForZloss, reduction, ignoreIndex, labelSmoothing,
 *  lseSquareScaleForZloss, out) */
static aclnnStatus plan_cross_entropy_grad(struct nn_plan *p)
{
    struct nn_view grad, log_prob, target, weight, out, picked, total, unused;
    struct nn_likelihood l = {
        .x = &log_prob, .target = &target, .weight = &weight, .axis = 1, .ignored = nn_whole(p, 7)};
    NN_CHECK(nn_tensor(p, 0, NN_FLOATS16_32, &grad));
    NN_CHECK(nn_tensor(p, 1, NN_FLOATS16_32, &log_prob));
    NN_CHECK(nn_tensor(p, 2, NN_INDEX, &target));
    NN_CHECK(nn_tensor_optional(p, 3, NN_FLOATS16_32, &weight));
    NN_CHECK(take_reduction(p, 6, &l.reduction));
    NN_CHECK(check_plain(p, 8));
    NN_CHECK(nn_tensor(p, 10, NN_FLOATS16_32, &out));
    if (log_prob.rank != 2 || nn_given(p, 4)) {
        return NN_INVALID(p, "logProb has the shape %s; two dimensions and no gradient of the z-loss are required",
                          nn_shape_text(log_prob.rank, log_prob.dims));
    }
    NN_CHECK(nn_expect_shape(p, "out", &out, log_prob.rank, log_prob.dims));
    NN_CHECK(nn_workspace(p, ACL_FLOAT, 0, NULL, &total));
    if (l.reduction == NN_LOSS_MEAN) { /* the weight of all samples */
        NN_CHECK(nn_workspace(p, ACL_FLOAT, 0, NULL, &unused));
        NN_CHECK(nn_likelihood(p, &l, &unused, &total));
    }
    NN_CHECK(nn_workspace(p, ACL_FLOAT, 2, log_prob.dims, &picked));
    l.x = &picked;
    NN_CHECK(nn_likelihood_grad(p, &l, &grad, &total));
    return nn_rows(p, "LogSoftmaxGrad",
                   &(struct nn_rows){.code = OP_ROW_LOG_SOFTMAX_GRAD, .views = {&picked, &log_prob, &out}, .axis = 1});
}
NN_OPERATOR(CrossEntropyLossGrad, plan_cross_entropy_grad, .types = NN_FLOATS16_32)
