/* SPDX-License-Identifier: Apache-2.0 */
/* Batch normalisation: statistics of every channel (dimension 1), then element-wise launches with one number per
 * channel. Statistics and intermediate results are float, double for double. */
#include "softnpu/aclnn/operators/map.h"
#include "softnpu/aclnn/operators/reduce.h"

struct channels {
    struct nn_view x;
    uint64_t count; /* of channels */
    double samples; /* of a channel */
    aclDataType wide;
    bool reduced[NN_DIMS];
};

static aclnnStatus take_channels(struct nn_plan *p, uint32_t param, struct channels *c)
{
    NN_CHECK(nn_tensor(p, param, NN_REALS, &c->x));
    if (c->x.rank < 2) {
        return NN_INVALID(p, "%s has the shape %s, at least two dimensions are required", p->params[param].name,
                          nn_shape_text(c->x.rank, c->x.dims));
    }
    c->count = c->x.dims[1];
    const uint64_t samples = c->count > 0 ? c->x.count / c->count : 0;
    c->samples = (double)samples;
    c->wide = c->x.type == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT;
    for (uint64_t i = 0; i < NN_DIMS; i++) {
        c->reduced[i] = i != 1;
    }
    return ACLNN_SUCCESS;
}

/* A vector with one element per channel; may be missing or empty. */
static aclnnStatus take_vector(struct nn_plan *p, const struct channels *c, uint32_t param, bool needed,
                               struct nn_view *v)
{
    NN_CHECK(needed ? nn_tensor(p, param, NN_REALS, v) : nn_tensor_optional(p, param, NN_REALS, v));
    if (nn_is_there(v) && v->count == 0 && !needed) {
        *v = (struct nn_view){0};
    }
    return nn_is_there(v) ? nn_expect_shape(p, p->params[param].name, v, 1, &c->count) : ACLNN_SUCCESS;
}

static aclnnStatus vector_room(struct nn_plan *p, const struct channels *c, struct nn_view *v)
{
    return nn_workspace(p, c->wide, 1, &c->count, v);
}

/* The vector along dimension 1 of x. */
static struct nn_view spread_over(const struct channels *c, const struct nn_view *vector)
{
    struct nn_view view = c->x;
    view.type = vector->type;
    view.address = vector->address;
    for (uint64_t i = 0; i < view.rank; i++) {
        view.steps[i] = i == 1 ? vector->steps[0] : 0;
    }
    return view;
}

static struct nn_map_input input_of(const struct nn_view *view, double missing)
{
    return view != NULL && nn_is_there(view) ? (struct nn_map_input){.view = view}
                                             : (struct nn_map_input){.constant = {missing, (int64_t)missing}};
}

/* out = function(a, b, c, d) of views of one shape; NULL: 0, or for the last one given, 1. */
static aclnnStatus apply(struct nn_plan *p, const struct channels *c, const char *kernel, uint32_t code,
                         struct nn_map_input a, struct nn_map_input b, struct nn_map_input d, double s, double t,
                         const struct nn_view *out)
{
    return nn_map(p, kernel, code, c->wide, (const struct nn_map_input[]){a, b, d}, 3, (const double[]){s, t}, 2, out);
}

static aclnnStatus statistics(struct nn_plan *p, const struct channels *c, const struct nn_view *mean,
                              const struct nn_view *variance)
{
    NN_CHECK(nn_mean(p, &c->x, mean, c->reduced));
    return nn_reduce(p, "BNTrainingReduce",
                     &(struct nn_reduce){.code = OP_REDUCE_SPREAD,
                                         .finish = OP_FINISH_SCALE,
                                         .x = &c->x,
                                         .m = mean,
                                         .z = variance,
                                         .s = 1 / c->samples},
                     c->reduced);
}

/* running = running * (1 - momentum) + value * factor * momentum */
static aclnnStatus update(struct nn_plan *p, const struct channels *c, const struct nn_view *running,
                          const struct nn_view *value, double momentum, double factor)
{
    return nn_is_there(running) ? apply(p, c, NN_MAP_KERNEL(BNUpdate), input_of(running, 0), input_of(value, 0),
                                        input_of(NULL, 0), 1 - momentum, factor * momentum, running)
                                : ACLNN_SUCCESS;
}

/* out = (x - mean) * invstd * weight + bias */
static aclnnStatus normalize(struct nn_plan *p, const struct channels *c, const struct nn_view *mean,
                             const struct nn_view *invstd, const struct nn_view *weight, const struct nn_view *bias,
                             const struct nn_view *out)
{
    struct nn_view factor, shift;
    NN_CHECK(vector_room(p, c, &factor));
    NN_CHECK(vector_room(p, c, &shift));
    NN_CHECK(
        apply(p, c, NN_MAP_KERNEL(Mul), input_of(invstd, 1), input_of(weight, 1), input_of(NULL, 0), 0, 0, &factor));
    NN_CHECK(
        apply(p, c, NN_MAP_KERNEL(Addcmul), input_of(bias, 0), input_of(mean, 0), input_of(&factor, 0), -1, 0, &shift));
    const struct nn_view wide_factor = spread_over(c, &factor), wide_shift = spread_over(c, &shift);
    return apply(p, c, NN_MAP_KERNEL(BNTrainingUpdate), input_of(&c->x, 0), input_of(&wide_factor, 1),
                 input_of(&wide_shift, 0), 0, 0, out);
}

/* (input, weight, bias, runningMean, runningVar, training, momentum, eps, output, saveMean, saveInvstd) */
static aclnnStatus plan_batch_norm(struct nn_plan *p)
{
    struct channels c;
    struct nn_view weight, bias, running_mean, running_var, out, save_mean, save_invstd, mean, variance, invstd;
    const bool training = nn_whole(p, 5) != 0;
    const double momentum = nn_real(p, 6), eps = nn_real(p, 7);
    NN_CHECK(take_channels(p, 0, &c));
    NN_CHECK(take_vector(p, &c, 1, false, &weight));
    NN_CHECK(take_vector(p, &c, 2, false, &bias));
    NN_CHECK(take_vector(p, &c, 3, !training, &running_mean));
    NN_CHECK(take_vector(p, &c, 4, !training, &running_var));
    NN_CHECK(nn_tensor(p, 8, NN_REALS, &out));
    NN_CHECK(nn_expect_shape(p, "output", &out, c.x.rank, c.x.dims));
    NN_CHECK(take_vector(p, &c, 9, false, &save_mean));
    NN_CHECK(take_vector(p, &c, 10, false, &save_invstd));
    if (out.count == 0) {
        return ACLNN_SUCCESS;
    }
    NN_CHECK(vector_room(p, &c, &invstd));
    if (training) {
        NN_CHECK(vector_room(p, &c, &mean));
        NN_CHECK(vector_room(p, &c, &variance));
        NN_CHECK(statistics(p, &c, &mean, &variance));
    } else {
        mean = running_mean;
        variance = running_var;
    }
    NN_CHECK(apply(p, &c, NN_MAP_KERNEL(BNInvStd), input_of(&variance, 1), input_of(NULL, 0), input_of(NULL, 0), eps, 0,
                   &invstd));
    NN_CHECK(normalize(p, &c, &mean, &invstd, &weight, &bias, &out));
    if (!training) {
        return ACLNN_SUCCESS;
    }
    NN_CHECK(update(p, &c, &running_mean, &mean, momentum, 1));
    NN_CHECK(update(p, &c, &running_var, &variance, momentum, c.samples > 1 ? c.samples / (c.samples - 1) : 1));
    NN_CHECK(nn_is_there(&save_mean) ? nn_move(p, &mean, &save_mean) : ACLNN_SUCCESS);
    return nn_is_there(&save_invstd) ? nn_move(p, &invstd, &save_invstd) : ACLNN_SUCCESS;
}
NN_OPERATOR(BatchNorm, plan_batch_norm, .types = NN_REALS)

/* (input, eps, mean, invstd) */
static aclnnStatus plan_stats(struct nn_plan *p)
{
    struct channels c;
    struct nn_view mean, invstd, wide_mean;
    NN_CHECK(take_channels(p, 0, &c));
    NN_CHECK(take_vector(p, &c, 2, true, &mean));
    NN_CHECK(take_vector(p, &c, 3, true, &invstd));
    NN_CHECK(vector_room(p, &c, &wide_mean));
    NN_CHECK(nn_mean(p, &c.x, &wide_mean, c.reduced));
    NN_CHECK(nn_reduce(p, "BNTrainingReduce",
                       &(struct nn_reduce){.code = OP_REDUCE_SPREAD,
                                           .finish = OP_FINISH_RSQRT,
                                           .x = &c.x,
                                           .m = &wide_mean,
                                           .z = &invstd,
                                           .s = 1 / c.samples,
                                           .t = nn_real(p, 1)},
                       c.reduced));
    return nn_move(p, &wide_mean, &mean);
}
NN_OPERATOR(BatchNormStats, plan_stats, .types = NN_REALS)

/* (x, sum, squareSum) */
static aclnnStatus plan_batch_norm_reduce(struct nn_plan *p)
{
    struct channels c;
    struct nn_view sum, square_sum;
    NN_CHECK(take_channels(p, 0, &c));
    NN_CHECK(take_vector(p, &c, 1, true, &sum));
    NN_CHECK(take_vector(p, &c, 2, true, &square_sum));
    NN_CHECK(
        nn_reduce(p, "BNTrainingReduce", &(struct nn_reduce){.code = OP_REDUCE_SUM, .x = &c.x, .z = &sum}, c.reduced));
    return nn_reduce(p, "BNTrainingReduce",
                     &(struct nn_reduce){.code = OP_REDUCE_SQUARE_SUM, .x = &c.x, .z = &square_sum}, c.reduced);
}
NN_OPERATOR(BatchNormReduce, plan_batch_norm_reduce, .types = NN_REALS)

/* (input, weight, bias, mean, invstd, eps, output) */
static aclnnStatus plan_elemt(struct nn_plan *p)
{
    struct channels c;
    struct nn_view v[4], out;
    NN_CHECK(take_channels(p, 0, &c));
    for (uint32_t i = 0; i < 4; i++) {
        NN_CHECK(take_vector(p, &c, 1 + i, i >= 2, &v[i]));
    }
    NN_CHECK(nn_tensor(p, 6, NN_REALS, &out));
    NN_CHECK(nn_expect_shape(p, "output", &out, c.x.rank, c.x.dims));
    return normalize(p, &c, &v[2], &v[3], &v[0], &v[1], &out);
}
NN_OPERATOR(BatchNormElemt, plan_elemt, .types = NN_REALS)

/* ---- gradients ---- */

/* sum_dy and sum_dy_xmu = sums over a channel of dy and of dy (x - mean) */
static aclnnStatus gradient_sums(struct nn_plan *p, const struct channels *c, const struct nn_view *dy,
                                 const struct nn_view *mean, const struct nn_view *sum_dy,
                                 const struct nn_view *sum_dy_xmu)
{
    struct nn_view product;
    const struct nn_view wide_mean = spread_over(c, mean);
    NN_CHECK(nn_workspace(p, c->wide, c->x.rank, c->x.dims, &product));
    NN_CHECK(apply(p, c, NN_MAP_KERNEL(BNProduct), input_of(dy, 0), input_of(&c->x, 0), input_of(&wide_mean, 0), 0, 0,
                   &product));
    NN_CHECK(nn_reduce(p, "BNTrainingUpdateGrad", &(struct nn_reduce){.code = OP_REDUCE_SUM, .x = dy, .z = sum_dy},
                       c->reduced));
    return nn_reduce(p, "BNTrainingUpdateGrad",
                     &(struct nn_reduce){.code = OP_REDUCE_SUM, .x = &product, .z = sum_dy_xmu}, c->reduced);
}

/* dx = (dy - sum_dy / n - (x - mean) invstd^2 sum_dy_xmu / n) invstd weight; n = 1 / share, or a vector of counts */
static aclnnStatus gradient(struct nn_plan *p, const struct channels *c, const struct nn_view *dy,
                            const struct nn_view *mean, const struct nn_view *invstd, const struct nn_view *weight,
                            const struct nn_view *sum_dy, const struct nn_view *sum_dy_xmu, double share,
                            const struct nn_view *dx)
{
    struct nn_view factor, slope, shift, part;
    NN_CHECK(vector_room(p, c, &factor));
    NN_CHECK(vector_room(p, c, &slope));
    NN_CHECK(vector_room(p, c, &shift));
    NN_CHECK(nn_workspace(p, c->wide, c->x.rank, c->x.dims, &part));
    const struct nn_map_input none = input_of(NULL, 0);
    /* factor = invstd weight; slope = -factor invstd^2 sum_dy_xmu / n; shift = -factor sum_dy / n - slope mean */
    NN_CHECK(apply(p, c, NN_MAP_KERNEL(Mul), input_of(invstd, 1), input_of(weight, 1), none, 0, 0, &factor));
    NN_CHECK(apply(p, c, NN_MAP_KERNEL(BNSlope), input_of(&factor, 0), input_of(invstd, 0), input_of(sum_dy_xmu, 0),
                   -share, 0, &slope));
    NN_CHECK(apply(p, c, NN_MAP_KERNEL(BNProduct), input_of(&factor, 0), input_of(sum_dy, 0), none, 0, 0, &shift));
    NN_CHECK(nn_map(p, NN_MAP_KERNEL(BNShift), c->wide,
                    (const struct nn_map_input[]){input_of(&shift, 0), input_of(&slope, 0), input_of(mean, 0)}, 3,
                    (const double[]){-share}, 1, &shift));
    const struct nn_view wide_factor = spread_over(c, &factor), wide_slope = spread_over(c, &slope),
                         wide_shift = spread_over(c, &shift);
    NN_CHECK(apply(p, c, NN_MAP_KERNEL(BNTrainingUpdate), input_of(dy, 0), input_of(&wide_factor, 0),
                   input_of(&wide_shift, 0), 0, 0, &part));
    return apply(p, c, NN_MAP_KERNEL(Addcmul), input_of(&part, 0), input_of(&c->x, 0), input_of(&wide_slope, 0), 1, 0,
                 dx);
}

/* (gradOut, input, weight, runningMean, runningVar, saveMean, saveInvstd, training, eps, outputMask [, version],
 *  gradInput, gradWeight, gradBias) */
static aclnnStatus plan_batch_norm_backward(struct nn_plan *p)
{
    struct channels c;
    struct nn_view dy, weight, mean, second, invstd, out[3] = {{0}}, sum_dy, sum_dy_xmu;
    const bool training = nn_whole(p, 7) != 0, *mask;
    const uint32_t outputs = p->count - 3;
    uint64_t mask_count;
    NN_CHECK(nn_tensor(p, 0, NN_REALS, &dy));
    NN_CHECK(take_channels(p, 1, &c));
    NN_CHECK(nn_expect_shape(p, "gradOut", &dy, c.x.rank, c.x.dims));
    NN_CHECK(take_vector(p, &c, 2, false, &weight));
    NN_CHECK(take_vector(p, &c, training ? 5 : 3, true, &mean));
    NN_CHECK(take_vector(p, &c, training ? 6 : 4, true, &second));
    NN_CHECK(nn_bools(p, 9, &mask, &mask_count));
    if (mask_count != 3) {
        return NN_INVALID(p, "outputMask has %llu entries, 3 are required", (unsigned long long)mask_count);
    }
    for (uint32_t i = 0; i < 3; i++) {
        if (mask[i]) {
            NN_CHECK(nn_tensor(p, outputs + i, NN_REALS, &out[i]));
            NN_CHECK(i == 0 ? nn_expect_shape(p, "gradInput", &out[i], c.x.rank, c.x.dims)
                            : nn_expect_shape(p, p->params[outputs + i].name, &out[i], 1, &c.count));
        }
    }
    NN_CHECK(vector_room(p, &c, &invstd));
    NN_CHECK(vector_room(p, &c, &sum_dy));
    NN_CHECK(vector_room(p, &c, &sum_dy_xmu));
    const struct nn_map_input none = input_of(NULL, 0);
    if (training) {
        NN_CHECK(nn_move(p, &second, &invstd));
    } else {
        NN_CHECK(apply(p, &c, NN_MAP_KERNEL(BNInvStd), input_of(&second, 1), none, none, nn_real(p, 8), 0, &invstd));
    }
    NN_CHECK(gradient_sums(p, &c, &dy, &mean, &sum_dy, &sum_dy_xmu));
    if (mask[0] && out[0].count > 0) {
        NN_CHECK(
            gradient(p, &c, &dy, &mean, &invstd, &weight, &sum_dy, &sum_dy_xmu, training ? 1 / c.samples : 0, &out[0]));
    }
    if (mask[1]) {
        NN_CHECK(apply(p, &c, NN_MAP_KERNEL(Mul), input_of(&sum_dy_xmu, 0), input_of(&invstd, 0), none, 0, 0, &out[1]));
    }
    return mask[2] ? nn_move(p, &sum_dy, &out[2]) : ACLNN_SUCCESS;
}
NN_OPERATOR(BatchNormBackward, plan_batch_norm_backward, .types = NN_REALS)
NN_OPERATOR(FastBatchNormBackward, plan_batch_norm_backward, .types = NN_REALS)

/* (gradOut, input, mean, invstd, weight, inputG, weightG, biasG, sumDy, sumDyXmu, gradWeight, gradBias) */
static aclnnStatus plan_reduce_backward(struct nn_plan *p)
{
    struct channels c;
    struct nn_view dy, mean, invstd, out[4], sum_dy, sum_dy_xmu;
    NN_CHECK(nn_tensor(p, 0, NN_REALS, &dy));
    NN_CHECK(take_channels(p, 1, &c));
    NN_CHECK(nn_expect_shape(p, "gradOut", &dy, c.x.rank, c.x.dims));
    NN_CHECK(take_vector(p, &c, 2, true, &mean));
    NN_CHECK(take_vector(p, &c, 3, true, &invstd));
    for (uint32_t i = 0; i < 4; i++) {
        NN_CHECK(take_vector(p, &c, 8 + i, false, &out[i]));
    }
    NN_CHECK(vector_room(p, &c, &sum_dy));
    NN_CHECK(vector_room(p, &c, &sum_dy_xmu));
    NN_CHECK(gradient_sums(p, &c, &dy, &mean, &sum_dy, &sum_dy_xmu));
    const bool input = nn_whole(p, 5) != 0, weight = nn_whole(p, 6) != 0, bias = nn_whole(p, 7) != 0;
    NN_CHECK(input && nn_is_there(&out[0]) ? nn_move(p, &sum_dy, &out[0]) : ACLNN_SUCCESS);
    NN_CHECK(input && nn_is_there(&out[1]) ? nn_move(p, &sum_dy_xmu, &out[1]) : ACLNN_SUCCESS);
    if (weight && nn_is_there(&out[2])) {
        NN_CHECK(apply(p, &c, NN_MAP_KERNEL(Mul), input_of(&sum_dy_xmu, 0), input_of(&invstd, 0), input_of(NULL, 0), 0,
                       0, &out[2]));
    }
    return bias && nn_is_there(&out[3]) ? nn_move(p, &sum_dy, &out[3]) : ACLNN_SUCCESS;
}
NN_OPERATOR(BatchNormReduceBackward, plan_reduce_backward, .types = NN_REALS)

/* (gradOut, input, mean, invstd, weight, sumDy, sumDyXmu, counter, gradInput); the sums are divided by the sum of
 * counter, the numbers of samples of all devices */
static aclnnStatus plan_elemt_backward(struct nn_plan *p)
{
    static const bool every[NN_DIMS] = {true, true, true, true, true, true, true, true};
    struct channels c;
    struct nn_view dy, v[5], counter, out, total, mean_dy, mean_dy_xmu;
    NN_CHECK(nn_tensor(p, 0, NN_REALS, &dy));
    NN_CHECK(take_channels(p, 1, &c));
    NN_CHECK(nn_expect_shape(p, "gradOut", &dy, c.x.rank, c.x.dims));
    for (uint32_t i = 0; i < 5; i++) {
        NN_CHECK(take_vector(p, &c, 2 + i, i != 2, &v[i]));
    }
    NN_CHECK(nn_tensor(p, 7, NN_ARITHMETIC, &counter));
    NN_CHECK(nn_tensor(p, 8, NN_REALS, &out));
    NN_CHECK(nn_expect_shape(p, "gradInput", &out, c.x.rank, c.x.dims));
    NN_CHECK(nn_workspace(p, c.wide, 0, NULL, &total));
    NN_CHECK(nn_reduce(p, "ReduceSum", &(struct nn_reduce){.code = OP_REDUCE_SUM, .x = &counter, .z = &total}, every));
    NN_CHECK(vector_room(p, &c, &mean_dy));
    NN_CHECK(vector_room(p, &c, &mean_dy_xmu));
    struct nn_view totals;
    nn_broadcast(&total, 1, &c.count, &totals);
    const struct nn_map_input none = input_of(NULL, 0);
    NN_CHECK(apply(p, &c, NN_MAP_KERNEL(RealDiv), input_of(&v[3], 0), input_of(&totals, 1), none, 0, 0, &mean_dy));
    NN_CHECK(apply(p, &c, NN_MAP_KERNEL(RealDiv), input_of(&v[4], 0), input_of(&totals, 1), none, 0, 0, &mean_dy_xmu));
    return gradient(p, &c, &dy, &v[0], &v[1], &v[2], &mean_dy, &mean_dy_xmu, 1, &out);
}
NN_OPERATOR(BatchNormElemtBackward, plan_elemt_backward, .types = NN_REALS)
