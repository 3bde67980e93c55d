/* SPDX-License-Identifier: Apache-2.0 */
/* Group normalisation, its gradient, and its forms with an activation: rows are groups, parameters belong to channels. */
#include "softnpu/aclnn/operators/map.h"
#include "softnpu/aclnn/operators/reduce.h"
#include "softnpu/aclnn/operators/rows.h"

/* x as [batch, groups, channels of a group, elements of a channel]. */
struct groups {
    uint64_t batch, groups, channels, elements;
};

static uint64_t rows_of(const struct groups *g)
{
    return g->batch * g->groups;
}

static uint64_t cols_of(const struct groups *g)
{
    return g->channels * g->elements;
}

/* The shape of x gives batch and channels; numbers of the call must agree with it. */
static aclnnStatus find_groups(struct nn_plan *p, const struct nn_view *x, int64_t groups, struct groups *g)
{
    if (x->rank < 2 || groups < 1 || x->dims[1] % (uint64_t)groups != 0) {
        return NN_INVALID(p, "%lld groups of the channels of a tensor of shape %s", (long long)groups,
                          nn_shape_text(x->rank, x->dims));
    }
    *g = (struct groups){x->dims[0], (uint64_t)groups, x->dims[1] / (uint64_t)groups, 1};
    for (uint64_t i = 2; i < x->rank; i++) {
        g->elements *= x->dims[i];
    }
    return ACLNN_SUCCESS;
}

static aclnnStatus check_sizes(struct nn_plan *p, const struct groups *g, uint32_t first)
{
    const uint64_t sizes[] = {g->batch, g->groups * g->channels, g->elements};
    for (uint32_t i = 0; i < 3; i++) {
        if (nn_whole(p, first + i) != (int64_t)sizes[i]) {
            return NN_INVALID(p, "%s is %lld, the tensor has %llu", p->params[first + i].name,
                              (long long)nn_whole(p, first + i), (unsigned long long)sizes[i]);
        }
    }
    return ACLNN_SUCCESS;
}

/* A dense tensor, a vector over channels, and one value per group, each in the shape of struct groups. */
static struct nn_view shaped(const struct nn_view *dense, const struct groups *g, const int64_t steps[4])
{
    struct nn_view view = *dense;
    const uint64_t dims[] = {g->batch, g->groups, g->channels, g->elements};
    view.rank = 4;
    for (int i = 0; i < 4; i++) {
        view.dims[i] = dims[i];
        view.steps[i] = steps[i];
    }
    view.count = rows_of(g) * cols_of(g);
    return view;
}

static struct nn_view all_of(const struct nn_view *dense, const struct groups *g)
{
    return shaped(dense, g,
                  (const int64_t[]){(int64_t)(g->groups * cols_of(g)), (int64_t)cols_of(g), (int64_t)g->elements, 1});
}

static struct nn_view by_channel(const struct nn_view *vector, const struct groups *g)
{
    return shaped(vector, g, (const int64_t[]){0, (int64_t)g->channels * vector->steps[0], vector->steps[0], 0});
}

static struct nn_view by_group(const struct nn_view *dense, const struct groups *g)
{
    return shaped(dense, g, (const int64_t[]){(int64_t)g->groups, 1, 0, 0});
}

static aclnnStatus take_parameter(struct nn_plan *p, const struct groups *g, uint32_t param, struct nn_view *v)
{
    NN_CHECK(nn_tensor_optional(p, param, NN_FLOATS16_32, v));
    return nn_is_there(v) ? nn_expect_shape(p, p->params[param].name, v, 1, (const uint64_t[]){g->groups * g->channels})
                          : ACLNN_SUCCESS;
}

/* One value per group, in any shape. */
static aclnnStatus take_per_group(struct nn_plan *p, const struct groups *g, uint32_t param, struct nn_view *v)
{
    NN_CHECK(nn_tensor(p, param, NN_FLOATS16_32, v));
    return v->count == rows_of(g)
               ? ACLNN_SUCCESS
               : NN_INVALID(p, "%s has the wrong shape %s", p->params[param].name, nn_shape_text(v->rank, v->dims));
}

static struct nn_map_input input_of(const struct nn_view *view, const struct nn_view *parameter, double missing)
{
    return nn_is_there(parameter) ? (struct nn_map_input){.view = view}
                                  : (struct nn_map_input){.constant = {missing, 0}};
}

/* out = activation(norm(x) gamma + beta); scale: of the activation, 0 for none */
static aclnnStatus group_norm(struct nn_plan *p, const struct groups *g, const struct nn_view *x,
                              const struct nn_view *gamma, const struct nn_view *beta, double eps, double scale,
                              const struct nn_view *out, const struct nn_view *mean, const struct nn_view *rstd)
{
    struct nn_view dense, normal, dense_out, dense_mean, dense_rstd;
    const uint64_t rows = rows_of(g), cols = cols_of(g);
    if (x->count == 0) {
        return ACLNN_SUCCESS;
    }
    NN_CHECK(nn_dense_input(p, x->type, x, &dense));
    NN_CHECK(nn_workspace(p, ACL_FLOAT, x->rank, x->dims, &normal));
    NN_CHECK(nn_dense_output(p, out->type, out, &dense_out));
    /* The statistics are stored last: ggml-cann passes two that overlap each other and the workspace. */
    NN_CHECK(nn_workspace(p, mean->type, mean->rank, mean->dims, &dense_mean));
    NN_CHECK(nn_workspace(p, rstd->type, rstd->rank, rstd->dims, &dense_rstd));
    const struct nn_view matrix = nn_as_matrix(&dense, rows, cols), z = nn_as_matrix(&normal, rows, cols),
                         means = nn_as_column(&dense_mean, rows, cols), rstds = nn_as_column(&dense_rstd, rows, cols);
    NN_CHECK(
        nn_rows(p, "GroupNormV2",
                &(struct nn_rows){
                    .code = OP_ROW_NORM, .views = {&matrix, NULL, NULL, &z, &means, &rstds}, .axis = 1, .s = eps}));
    const struct nn_view normals = all_of(&normal, g), outs = all_of(&dense_out, g), weights = by_channel(gamma, g),
                         biases = by_channel(beta, g);
    NN_CHECK(nn_map(
        p, NN_MAP_KERNEL(BNTrainingUpdate), ACL_FLOAT,
        (const struct nn_map_input[]){{.view = &normals}, input_of(&weights, gamma, 1), input_of(&biases, beta, 0)}, 3,
        NULL, 0, scale != 0 ? &normals : &outs));
    if (scale != 0) {
        NN_CHECK(nn_map(p, NN_MAP_KERNEL(Swish), ACL_FLOAT, (const struct nn_map_input[]){{.view = &normals}}, 1,
                        &scale, 1, &outs));
    }
    NN_CHECK(nn_dense_output_done(p, &dense_out, out));
    NN_CHECK(nn_move(p, &dense_mean, mean));
    return nn_move(p, &dense_rstd, rstd);
}

/* x, gamma, beta are parameters 0 to 2; eps, out, mean and rstd are at `eps` and behind `out`. */
static aclnnStatus plan_at(struct nn_plan *p, uint32_t groups_at, uint32_t eps_at, uint32_t out_at, double scale,
                           bool sizes)
{
    struct groups g;
    struct nn_view x, gamma, beta, out, mean, rstd;
    NN_CHECK(nn_tensor(p, 0, NN_FLOATS16_32, &x));
    NN_CHECK(find_groups(p, &x, nn_whole(p, groups_at), &g));
    if (sizes) {
        NN_CHECK(check_sizes(p, &g, 3));
    }
    NN_CHECK(take_parameter(p, &g, 1, &gamma));
    NN_CHECK(take_parameter(p, &g, 2, &beta));
    NN_CHECK(nn_tensor(p, out_at, NN_FLOATS16_32, &out));
    NN_CHECK(nn_expect_shape(p, "out", &out, x.rank, x.dims));
    NN_CHECK(take_per_group(p, &g, out_at + 1, &mean));
    NN_CHECK(take_per_group(p, &g, out_at + 2, &rstd));
    return group_norm(p, &g, &x, &gamma, &beta, nn_real(p, eps_at), scale, &out, &mean, &rstd);
}

/* (self, gamma, beta, n, c, hxw, group, eps, out, mean, rstd) */
static aclnnStatus plan_group_norm(struct nn_plan *p)
{
    return plan_at(p, 6, 7, 8, 0, true);
}
NN_OPERATOR(GroupNorm, plan_group_norm, .types = NN_FLOATS16_32)

/* (self, gamma, beta, group, eps, out, mean, rstd) */
static aclnnStatus plan_group_norm_silu(struct nn_plan *p)
{
    return plan_at(p, 3, 4, 5, 1, false);
}
NN_OPERATOR(GroupNormSilu, plan_group_norm_silu, .types = NN_FLOATS16_32)

/* (self, gamma, beta, group, eps, activateSilu, out, mean, rstd) */
static aclnnStatus plan_group_norm_silu_v2(struct nn_plan *p)
{
    return plan_at(p, 3, 4, 6, nn_whole(p, 5) != 0 ? 1 : 0, false);
}
NN_OPERATOR(GroupNormSiluV2, plan_group_norm_silu_v2, .types = NN_FLOATS16_32)

/* (x, gamma, beta, numGroups, dataFormat, eps, activateSwish, swishScale, y, mean, rstd) */
static aclnnStatus plan_group_norm_swish(struct nn_plan *p)
{
    return plan_at(p, 3, 5, 8, nn_whole(p, 6) != 0 ? nn_real(p, 7) : 0, false);
}
NN_OPERATOR(GroupNormSwish, plan_group_norm_swish, .types = NN_FLOATS16_32)

/* (gradOut, input, mean, rstd, gamma, N, C, HxW, group, outputMask, gradInput, gradGamma, gradBeta) */
static aclnnStatus plan_group_norm_backward(struct nn_plan *p)
{
    static const bool but_channels[NN_DIMS] = {true, false, false, true};
    struct groups g;
    struct nn_view dy, x, mean, rstd, gamma, out[3] = {{0}}, dense[4];
    const bool *mask;
    uint64_t mask_count;
    NN_CHECK(nn_tensor(p, 0, NN_FLOATS16_32, &dy));
    NN_CHECK(nn_tensor(p, 1, NN_FLOATS16_32, &x));
    NN_CHECK(nn_expect_shape(p, "gradOut", &dy, x.rank, x.dims));
    NN_CHECK(find_groups(p, &x, nn_whole(p, 8), &g));
    NN_CHECK(check_sizes(p, &g, 5));
    NN_CHECK(take_per_group(p, &g, 2, &mean));
    NN_CHECK(take_per_group(p, &g, 3, &rstd));
    NN_CHECK(take_parameter(p, &g, 4, &gamma));
    NN_CHECK(nn_bools(p, 9, &mask, &mask_count));
    if (mask_count != 3) {
        return NN_INVALID(p, "outputMask has %llu entries, 3 are required", (unsigned long long)mask_count);
    }
    for (uint32_t i = 0; i < 3; i++) {
        if (mask[i]) {
            NN_CHECK(nn_tensor(p, 10 + i, NN_FLOATS16_32, &out[i]));
            NN_CHECK(i == 0 ? nn_expect_shape(p, "gradInput", &out[i], x.rank, x.dims)
                            : nn_expect_shape(p, p->params[10 + i].name, &out[i], 1,
                                              (const uint64_t[]){g.groups * g.channels}));
        }
    }
    if (x.count == 0) {
        return ACLNN_SUCCESS;
    }
    const struct nn_view *const inputs[] = {&dy, &x, &mean, &rstd};
    for (int i = 0; i < 4; i++) {
        NN_CHECK(nn_dense_input(p, inputs[i]->type, inputs[i], &dense[i]));
    }
    const uint64_t rows = rows_of(&g), cols = cols_of(&g);
    struct nn_view part;
    NN_CHECK(nn_workspace(p, ACL_FLOAT, x.rank, x.dims, &part));
    const struct nn_view parts = all_of(&part, &g), dys = all_of(&dense[0], &g), xs = all_of(&dense[1], &g),
                         means = by_group(&dense[2], &g), rstds = by_group(&dense[3], &g);
    for (int i = 1; i < 3; i++) { /* sums over batch and elements, as [groups, channels] */
        if (mask[i]) {
            struct nn_view vector = out[i];
            vector.rank = 2;
            vector.dims[0] = g.groups;
            vector.dims[1] = g.channels;
            vector.steps[1] = out[i].steps[0];
            vector.steps[0] = out[i].steps[0] * (int64_t)g.channels;
            if (i == 1) {
                NN_CHECK(nn_map(
                    p, NN_MAP_KERNEL(GNProduct), ACL_FLOAT,
                    (const struct nn_map_input[]){{.view = &dys}, {.view = &xs}, {.view = &means}, {.view = &rstds}}, 4,
                    NULL, 0, &parts));
            }
            NN_CHECK(nn_reduce(p, "ReduceSum",
                               &(struct nn_reduce){.code = OP_REDUCE_SUM, .x = i == 1 ? &parts : &dys, .z = &vector},
                               but_channels));
        }
    }
    if (!mask[0]) {
        return ACLNN_SUCCESS;
    }
    struct nn_view dx;
    const struct nn_view weights = by_channel(&gamma, &g);
    NN_CHECK(nn_map(p, NN_MAP_KERNEL(Mul), ACL_FLOAT,
                    (const struct nn_map_input[]){{.view = &dys}, input_of(&weights, &gamma, 1)}, 2, NULL, 0, &parts));
    NN_CHECK(nn_dense_output(p, out[0].type, &out[0], &dx));
    const struct nn_view h = nn_as_matrix(&part, rows, cols), matrix = nn_as_matrix(&dense[1], rows, cols),
                         dx_rows = nn_as_matrix(&dx, rows, cols), column = nn_as_column(&dense[2], rows, cols),
                         other = nn_as_column(&dense[3], rows, cols);
    NN_CHECK(nn_rows(p, "GroupNormV2",
                     &(struct nn_rows){.code = OP_ROW_NORM_GRAD,
                                       .views = {&h, &matrix, &column, &other, NULL, &dx_rows},
                                       .axis = 1}));
    return nn_dense_output_done(p, &dx, &out[0]);
}
NN_OPERATOR(GroupNormBackward, plan_group_norm_backward, .types = NN_FLOATS16_32)
