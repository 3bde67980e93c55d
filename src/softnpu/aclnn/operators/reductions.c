/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over dimensions: sums, means, extremes, norms, deviations.
 *
 * Roles, one character per parameter: x input, d array of dimensions, D the same or
 * NULL for all, a one dimension, k keepdim, t dtype, e do nothing
 * if the array is empty, p scalar with the order of a norm, c correction, u unbiased, z output, s second output, i
 * indices. */
#include "softnpu/aclnn/operators/reduce.h"

#include <math.h>
#include <string.h>

struct reduction {
    struct nn_view x, z, second, index;
    bool reduced[NN_DIMS], keep, nothing, flat;
    int64_t correction;
    double order;
};

static aclnnStatus take(struct nn_plan *p, struct reduction *r, uint32_t param)
{
    const nn_types out_types = p->op->out_types != 0 ? p->op->out_types : NN_MOVABLE;
    struct op_number number = {2, 2};
    aclDataType type;
    switch (p->op->roles[param]) {
    case 'x':
        for (uint64_t i = 0; i < NN_DIMS; i++) {
            r->reduced[i] = true;
        }
        return nn_tensor(p, param, p->op->types, &r->x);
    case 'D':
        if (!nn_given(p, param)) {
            return ACLNN_SUCCESS;
        }
        /* fall through */
    case 'd': {
        const int64_t *dims;
        uint64_t count = 0;
        NN_CHECK(nn_ints(p, param, &dims, &count));
        r->nothing = count == 0;
        return nn_reduced_dims(p, param, r->x.rank, r->reduced);
    }
    case 'a': {
        uint64_t axis;
        NN_CHECK(nn_axis(p, nn_whole(p, param), r->x.rank, &axis));
        memset(r->reduced, 0, sizeof r->reduced);
        r->reduced[axis] = true;
        return ACLNN_SUCCESS;
    }
    case 'e':
        r->nothing = r->nothing && nn_whole(p, param) != 0;
        return ACLNN_SUCCESS;
    case 'k':
        r->keep = nn_whole(p, param) != 0;
        return ACLNN_SUCCESS;
    case 'c':
    case 'u':
        r->correction = nn_whole(p, param);
        return ACLNN_SUCCESS;
    case 'p':
        if (nn_given(p, param)) {
            NN_CHECK(nn_scalar(p, param, NN_MOVABLE, &number, &type));
        }
        r->order = number.real;
        return ACLNN_SUCCESS;
    case 'z':
        return nn_tensor(p, param, out_types, &r->z);
    case 's':
        return nn_tensor(p, param, out_types, &r->second);
    case 'i':
        return nn_tensor(p, param, NN_INDEX, &r->index);
    default:
        return ACLNN_SUCCESS;
    }
}

/* Reads all parameters, checks the shapes of the outputs and the type of the result. */
static aclnnStatus take_all(struct nn_plan *p, struct reduction *r)
{
    *r = (struct reduction){.order = 2, .correction = 1};
    for (uint32_t i = 0; i < p->count; i++) {
        NN_CHECK(take(p, r, i));
    }
    if (strchr(p->op->roles, 'e') == NULL) {
        r->nothing = false;
    }
    for (uint32_t i = 0; i < p->count; i++) {
        if (p->op->roles[i] == 't' && (aclDataType)nn_whole(p, i) != r->z.type) {
            return NN_INVALID(p, "dtype is %s, out is %s", nn_type_name((aclDataType)nn_whole(p, i)),
                              nn_type_name(r->z.type));
        }
    }
    if (r->nothing) {
        return nn_expect_shape(p, "out", &r->z, r->x.rank, r->x.dims);
    }
    struct nn_view *const outputs[] = {&r->z, &r->second, &r->index};
    for (int i = 0; i < 3; i++) {
        if (nn_is_there(outputs[i])) {
            NN_CHECK(nn_reduced_out(p, &r->x, r->reduced, r->keep, outputs[i]));
        }
    }
    return ACLNN_SUCCESS;
}

static uint64_t terms_of(const struct reduction *r)
{
    uint64_t count = 1;
    for (uint64_t i = 0; i < r->x.rank; i++) {
        count *= r->reduced[i] ? r->x.dims[i] : 1;
    }
    return count;
}

/* One function of kernels/reduce_rows.h, finished as the row says: .code, .flags, .kernel. */
static aclnnStatus plan_reduction(struct nn_plan *p)
{
    struct reduction r;
    NN_CHECK(take_all(p, &r));
    if (r.nothing) {
        return nn_move(p, &r.x, &r.z);
    }
    const bool real = p->op->flags == OP_FINISH_SCALE;
    if (real && !nn_is_real(r.z.type)) {
        return NN_INVALID(p, "a mean cannot be stored as %s", nn_type_name(r.z.type));
    }
    const struct nn_reduce reduce = {.code = p->op->code,
                                     .finish = p->op->flags,
                                     .x = &r.x,
                                     .z = nn_is_there(&r.z) ? &r.z : NULL,
                                     .index = nn_is_there(&r.index) ? &r.index : NULL,
                                     .s = 1 / (double)terms_of(&r)};
    return nn_reduce(p, p->op->kernel, &reduce, r.reduced);
}

/* NN_REDUCE(operator, roles, kernel, function, finish, input types, output types) */
#define NN_REDUCE(name, role_text, kernel_name, function, finish_code, in, out)                                        \
    NN_OPERATOR(name, plan_reduction, .kernel = #kernel_name, .roles = role_text, .code = OP_REDUCE_##function,        \
                .flags = OP_FINISH_##finish_code, .types = in, .out_types = out)
#define TRUTH (NN_TYPE(ACL_BOOL) | NN_TYPE(ACL_UINT8))
NN_REDUCE(ReduceSum, "xdktz", ReduceSum, SUM, NONE, NN_ARITHMETIC, NN_ARITHMETIC)
NN_REDUCE(ReduceNansum, "xdktz", ReduceNansum, NAN_SUM, NONE, NN_ARITHMETIC, NN_ARITHMETIC)
NN_REDUCE(Mean, "xdktz", ReduceMean, SUM, SCALE, NN_ARITHMETIC, NN_ARITHMETIC)
NN_REDUCE(MeanV2, "xdkez", ReduceMean, SUM, SCALE, NN_REALS, NN_REALS)
NN_REDUCE(Prod, "xtz", ReduceProd, PROD, NONE, NN_ARITHMETIC, NN_ARITHMETIC)
NN_REDUCE(ProdDim, "xaktz", ReduceProd, PROD, NONE, NN_ARITHMETIC, NN_ARITHMETIC)
NN_REDUCE(Max, "xz", ReduceMax, MAX, NONE, NN_ARITHMETIC, NN_ARITHMETIC)
NN_REDUCE(MaxV2, "xdkez", ReduceMax, MAX, NONE, NN_ARITHMETIC, NN_ARITHMETIC)
NN_REDUCE(Min, "xz", ReduceMin, MIN, NONE, NN_ARITHMETIC, NN_ARITHMETIC)
NN_REDUCE(Amax, "xdkz", ReduceMax, MAX, NONE, NN_ARITHMETIC, NN_ARITHMETIC)
NN_REDUCE(Amin, "xdkz", ReduceMin, MIN, NONE, NN_ARITHMETIC, NN_ARITHMETIC)
NN_REDUCE(MaxDim, "xakzi", ArgMaxWithValue, MAX, NONE, NN_ARITHMETIC, NN_ARITHMETIC)
NN_REDUCE(MinDim, "xakzi", ArgMinWithValue, MIN, NONE, NN_ARITHMETIC, NN_ARITHMETIC)
NN_REDUCE(ArgMax, "xaki", ArgMaxV2, MAX, NONE, NN_ARITHMETIC, NN_INDEX)
NN_REDUCE(ArgMin, "xaki", ArgMin, MIN, NONE, NN_ARITHMETIC, NN_INDEX)
NN_REDUCE(Any, "xdkz", ReduceAny, ANY, NONE, NN_ARITHMETIC, TRUTH)
NN_REDUCE(All, "xdkz", ReduceAll, EVERY, NONE, NN_ARITHMETIC, TRUTH)

/* ---- extremes in pairs ---- */

static aclnnStatus plan_aminmax(struct nn_plan *p)
{
    struct reduction r;
    NN_CHECK(take_all(p, &r));
    NN_CHECK(nn_reduce(p, "ReduceMin", &(struct nn_reduce){.code = OP_REDUCE_MIN, .x = &r.x, .z = &r.z}, r.reduced));
    return nn_reduce(p, "ReduceMax", &(struct nn_reduce){.code = OP_REDUCE_MAX, .x = &r.x, .z = &r.second}, r.reduced);
}
#define NN_AMINMAX(name, role_text)                                                                                    \
    NN_OPERATOR(name, plan_aminmax, .roles = role_text, .types = NN_ARITHMETIC, .out_types = NN_ARITHMETIC)
NN_AMINMAX(Aminmax, "xdkzs")
NN_AMINMAX(AminmaxAll, "xzs")
NN_AMINMAX(AminmaxDim, "xakzs")

/* ---- norms ---- */

aclnnStatus nn_norm(struct nn_plan *p, double order, const struct nn_view *x, const struct nn_view *z,
                    const bool *reduced)
{
    struct nn_reduce r = {.code = OP_REDUCE_POWER_SUM, .x = x, .z = z, .p = order};
    if (order == 0) {
        r.code = OP_REDUCE_NONZERO_SUM;
    } else if (order == 1) {
        r.code = OP_REDUCE_ABS_SUM;
    } else if (isinf(order)) {
        r.code = order > 0 ? OP_REDUCE_ABS_MAX : OP_REDUCE_ABS_MIN;
    } else {
        r.code = order == 2 ? OP_REDUCE_SQUARE_SUM : OP_REDUCE_POWER_SUM;
        r.finish = OP_FINISH_POWER;
        r.s = 1 / order;
    }
    struct nn_view kept, inner;
    nn_split(x, reduced, &kept, &inner);
    if (isinf(order) && order > 0 && inner.count == 0) {
        return nn_fill(p, "Fill", z, &(struct op_number){0, 0}, ACL_FLOAT);
    }
    return nn_reduce(p, "LpNormV2", &r, reduced);
}

static aclnnStatus plan_norm(struct nn_plan *p)
{
    struct reduction r;
    NN_CHECK(take_all(p, &r));
    return nn_norm(p, r.order, &r.x, &r.z, r.reduced);
}
#define NN_NORM(name, role_text)                                                                                       \
    NN_OPERATOR(name, plan_norm, .roles = role_text, .types = NN_REALS, .out_types = NN_REALS)
NN_NORM(Norm, "xpDkz")
NN_NORM(LinalgVectorNorm, "xpDktz")

/* (x, scalar, out): the norm of every tensor of a list */
static aclnnStatus plan_foreach_norm(struct nn_plan *p)
{
    static const bool all[NN_DIMS] = {true, true, true, true, true, true, true, true};
    struct op_number order;
    aclDataType type;
    uint64_t count, outputs;
    NN_CHECK(nn_list(p, 0, &count));
    NN_CHECK(nn_scalar(p, 1, NN_MOVABLE, &order, &type));
    NN_CHECK(nn_list(p, 2, &outputs));
    if (count != outputs) {
        return NN_INVALID(p, "x has %llu tensors, out has %llu", (unsigned long long)count,
                          (unsigned long long)outputs);
    }
    for (uint64_t i = 0; i < count; i++) {
        struct nn_view x, z;
        NN_CHECK(nn_list_tensor(p, 0, i, NN_REALS, &x));
        NN_CHECK(nn_list_tensor(p, 2, i, NN_REALS, &z));
        if (z.count != 1) {
            return NN_INVALID(p, "tensor %llu of out has the shape %s, one element is required", (unsigned long long)i,
                              nn_shape_text(z.rank, z.dims));
        }
        z.rank = 0;
        NN_CHECK(nn_norm(p, order.real, &x, &z, all));
    }
    return ACLNN_SUCCESS;
}
NN_OPERATOR(ForeachNorm, plan_foreach_norm, .types = NN_REALS)

/* ---- variance, deviation, logarithm of sums ---- */

/* The dimensions of z that remain after a reduction, as a part of the workspace. */
static aclnnStatus like_output(struct nn_plan *p, const struct nn_view *z, struct nn_view *room)
{
    return nn_workspace(p, z->type == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT, z->rank, z->dims, room);
}

aclnnStatus nn_mean(struct nn_plan *p, const struct nn_view *x, const struct nn_view *z, const bool *reduced)
{
    struct nn_view kept, inner;
    nn_split(x, reduced, &kept, &inner);
    return nn_reduce(
        p, "ReduceMean",
        &(struct nn_reduce){
            .code = OP_REDUCE_SUM, .finish = OP_FINISH_SCALE, .x = x, .z = z, .s = 1 / (double)inner.count},
        reduced);
}

static aclnnStatus plan_deviation(struct nn_plan *p)
{
    struct reduction r;
    struct nn_view mean;
    NN_CHECK(take_all(p, &r));
    NN_CHECK(like_output(p, &r.z, &mean));
    const double terms = (double)terms_of(&r), freedom = terms - (double)r.correction;
    NN_CHECK(nn_mean(p, &r.x, &mean, r.reduced));
    NN_CHECK(nn_reduce(p, p->op->kernel,
                       &(struct nn_reduce){.code = OP_REDUCE_SPREAD,
                                           .finish = p->op->flags,
                                           .x = &r.x,
                                           .m = &mean,
                                           .z = &r.z,
                                           .s = 1 / (freedom > 0 ? freedom : 0)},
                       r.reduced));
    return nn_is_there(&r.second) ? nn_move(p, &mean, &r.second) : ACLNN_SUCCESS;
}
#define NN_DEVIATION(name, role_text, kernel_name, finish_code)                                                        \
    NN_OPERATOR(name, plan_deviation, .roles = role_text, .kernel = #kernel_name, .flags = OP_FINISH_##finish_code,    \
                .types = NN_REALS, .out_types = NN_REALS)
NN_DEVIATION(Var, "xDukz", ReduceVar, SCALE)
NN_DEVIATION(VarCorrection, "xDckz", ReduceVar, SCALE)
NN_DEVIATION(VarMean, "xDckzs", ReduceVar, SCALE)
NN_DEVIATION(Std, "xDckz", ReduceStdV2Update, SCALE_SQRT)
NN_DEVIATION(StdMeanCorrection, "xDckzs", ReduceStdV2Update, SCALE_SQRT)

static aclnnStatus plan_log_sum_exp(struct nn_plan *p)
{
    struct reduction r;
    struct nn_view top, kept, inner;
    NN_CHECK(take_all(p, &r));
    NN_CHECK(like_output(p, &r.z, &top));
    nn_split(&r.x, r.reduced, &kept, &inner);
    if (inner.count > 0) {
        NN_CHECK(
            nn_reduce(p, "ReduceMax", &(struct nn_reduce){.code = OP_REDUCE_MAX, .x = &r.x, .z = &top}, r.reduced));
    }
    return nn_reduce(
        p, "ReduceLogSumExp",
        &(struct nn_reduce){.code = OP_REDUCE_EXP_SUM, .finish = OP_FINISH_LOG, .x = &r.x, .m = &top, .z = &r.z},
        r.reduced);
}
NN_OPERATOR(LogSumExp, plan_log_sum_exp, .roles = "xdkz", .types = NN_ARITHMETIC, .out_types = NN_REALS)

/* log of the sum */
static aclnnStatus plan_reduce_log_sum(struct nn_plan *p)
{
    struct reduction r;
    NN_CHECK(take_all(p, &r));
    if (r.nothing) {
        return nn_move(p, &r.x, &r.z);
    }
    return nn_reduce(p, "ReduceSum",
                     &(struct nn_reduce){.code = OP_REDUCE_SUM, .finish = OP_FINISH_LOG, .x = &r.x, .z = &r.z},
                     r.reduced);
}
NN_OPERATOR(ReduceLogSum, plan_reduce_log_sum, .roles = "xdkez", .types = NN_REALS, .out_types = NN_REALS)
