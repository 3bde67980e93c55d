/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and its relatives along one dimension, and the launches of other operators that work on rows. */
#include "softnpu/aclnn/operators/rows.h"

#include "softnpu/aclnn/operators/reduce.h"

aclnnStatus nn_rows(struct nn_plan *p, const char *kernel, const struct nn_rows *rows)
{
    static const struct nn_address nowhere = {.from = NN_NOWHERE};
    const struct nn_view *first = rows->views[0];
    struct op_rows_args args = {
        .code = rows->code, .count = first->rank > 0 ? first->dims[rows->axis] : 1, .s = rows->s, .t = rows->t};
    struct nn_view rest[OP_ROW_OPERANDS];
    const struct nn_view *views[OP_ROW_OPERANDS];
    const struct nn_address *addresses[OP_ROW_OPERANDS];
    struct op_side *sides[OP_ROW_OPERANDS];
    uint32_t count = 0;
    for (int i = 0; i < OP_ROW_OPERANDS; i++) {
        const struct nn_view *view = rows->views[i];
        addresses[i] = &nowhere;
        if (view == NULL || !nn_is_there(view)) {
            continue;
        }
        addresses[i] = &view->address;
        args.step[i] = view->rank > 0 ? view->steps[rows->axis] : 0;
        args.wide |= view->type == ACL_DOUBLE;
        rest[count] = *view;
        if (view->rank > 0) {
            rest[count].dims[rows->axis] = 1;
        }
        views[count] = &rest[count];
        sides[count++] = &args.side[i];
    }
    if (first->count == 0) {
        return ACLNN_SUCCESS;
    }
    nn_tile(&args.loop, sides, views, count);
    return nn_launch(p, kernel, &args, sizeof args, addresses, OP_ROW_OPERANDS, 4 * first->count);
}

struct nn_view nn_as_matrix(const struct nn_view *dense, uint64_t rows, uint64_t cols)
{
    struct nn_view view = *dense;
    view.rank = 2;
    view.dims[0] = rows;
    view.dims[1] = cols;
    view.steps[0] = (int64_t)cols;
    view.steps[1] = 1;
    return view;
}

struct nn_view nn_as_column(const struct nn_view *dense, uint64_t rows, uint64_t cols)
{
    struct nn_view view = nn_as_matrix(dense, rows, cols);
    view.steps[0] = 1;
    view.steps[1] = 0;
    return view;
}

struct nn_view nn_as_repeated(const struct nn_view *dense, uint64_t rows, uint64_t cols)
{
    struct nn_view view = nn_as_matrix(dense, rows, cols);
    view.steps[0] = 0;
    return view;
}

aclnnStatus nn_norm_parameters(struct nn_plan *p, const struct nn_view *dy, const struct nn_view *x,
                               const struct nn_view *mean, const struct nn_view *rstd, const struct nn_view *weight_out,
                               const struct nn_view *bias_out)
{
    static const bool first[NN_DIMS] = {true};
    static const struct nn_view none = {.address = {.from = NN_NOWHERE}};
    const uint64_t rows = x->dims[0], cols = x->dims[1];
    const uint64_t pieces = rows < 64 ? 1 : rows < 16 * 64 ? rows / 64 : 16;
    struct nn_view parts[2];
    if (weight_out != NULL && nn_is_there(weight_out)) {
        NN_CHECK(nn_workspace(p, ACL_FLOAT, 2, (const uint64_t[]){pieces, cols}, &parts[0]));
        NN_CHECK(nn_workspace(p, ACL_FLOAT, 2, (const uint64_t[]){pieces, cols}, &parts[1]));
        NN_CHECK(nn_call(p, "LayerNormBetaGammaBackpropV2",
                         (const struct nn_view *[]){dy, x, mean != NULL ? mean : &none, rstd, &parts[0], &parts[1]}, 6,
                         (const int64_t[]){(int64_t)rows, (int64_t)cols, (int64_t)pieces}, 3, NULL, 0, 2 * x->count));
        NN_CHECK(nn_reduce(p, "ReduceSum", &(struct nn_reduce){.code = OP_REDUCE_SUM, .x = &parts[0], .z = weight_out},
                           first));
    }
    if (bias_out == NULL || !nn_is_there(bias_out)) {
        return ACLNN_SUCCESS;
    }
    const bool summed = weight_out != NULL && nn_is_there(weight_out);
    return nn_reduce(p, "ReduceSum",
                     &(struct nn_reduce){.code = OP_REDUCE_SUM, .x = summed ? &parts[1] : dy, .z = bias_out}, first);
}

/* (self, dim, out), or (gradOutput, output, dim, out) */
static aclnnStatus plan_softmax(struct nn_plan *p)
{
    const uint32_t inputs = p->count - 2;
    struct nn_view views[3];
    struct nn_rows rows = {.code = p->op->code};
    for (uint32_t i = 0; i < inputs; i++) {
        NN_CHECK(nn_tensor(p, i, NN_REALS, &views[i]));
        NN_CHECK(nn_expect_shape(p, p->params[i].name, &views[i], views[0].rank, views[0].dims));
        rows.views[i] = &views[i];
    }
    NN_CHECK(nn_tensor(p, inputs + 1, NN_REALS, &views[inputs]));
    NN_CHECK(nn_expect_shape(p, "out", &views[inputs], views[0].rank, views[0].dims));
    NN_CHECK(nn_axis(p, nn_whole(p, inputs), views[0].rank, &rows.axis));
    rows.views[inputs] = &views[inputs];
    return nn_rows(p, p->op->kernel, &rows);
}
#define NN_SOFTMAX(name, kernel_name, function)                                                                        \
    NN_OPERATOR(name, plan_softmax, .kernel = #kernel_name, .code = OP_ROW_##function, .types = NN_REALS)
NN_SOFTMAX(Softmax, SoftmaxV2, SOFTMAX)
NN_SOFTMAX(SoftmaxBackward, SoftmaxGrad, SOFTMAX_GRAD)
NN_SOFTMAX(LogSoftmax, LogSoftmaxV2, LOG_SOFTMAX)
NN_SOFTMAX(LogSoftmaxBackward, LogSoftmaxGrad, LOG_SOFTMAX_GRAD)

/* (features, labels, loss, backprop): rows along the last dimension */
static aclnnStatus plan_softmax_cross_entropy(struct nn_plan *p)
{
    struct nn_view x, labels, loss, dx;
    NN_CHECK(nn_tensor(p, 0, NN_REALS, &x));
    NN_CHECK(nn_tensor(p, 1, NN_REALS, &labels));
    NN_CHECK(nn_tensor(p, 2, NN_REALS, &loss));
    NN_CHECK(nn_tensor(p, 3, NN_REALS, &dx));
    if (x.rank != 2) {
        return NN_INVALID(p, "features has the shape %s, two dimensions are required", nn_shape_text(x.rank, x.dims));
    }
    NN_CHECK(nn_expect_shape(p, "labels", &labels, x.rank, x.dims));
    NN_CHECK(nn_expect_shape(p, "loss", &loss, 1, x.dims));
    NN_CHECK(nn_expect_shape(p, "backprop", &dx, x.rank, x.dims));
    loss.rank = 2;
    loss.dims[1] = x.dims[1];
    loss.steps[1] = 0;
    return nn_rows(p, "SoftmaxCrossEntropyWithLogits",
                   &(struct nn_rows){.code = OP_ROW_CROSS_ENTROPY, .views = {&x, &labels, &loss, &dx}, .axis = 1});
}
NN_OPERATOR(SoftmaxCrossEntropyWithLogits, plan_softmax_cross_entropy, .types = NN_REALS)
