/* SPDX-License-Identifier: Apache-2.0 */
/* Layer normalisation of a sum, with gradients: AddLayerNorm, DeepNorm; softmax with scale and mask; sums and extremes
 * of lists of tensors. */
#include "softnpu/aclnn/operators/map.h"
#include "softnpu/aclnn/operators/rows.h"

/* The sum alpha x + y (+ bias), normalised over the trailing dimensions that gamma has. */
struct summed {
    struct nn_view x, y, gamma, total; /* total: in the workspace */
    uint64_t rows, cols;
};

static aclnnStatus take_sum(struct nn_plan *p, uint32_t x, uint32_t y, uint32_t gamma, struct summed *s)
{
    NN_CHECK(nn_tensor(p, x, NN_FLOATS16_32, &s->x));
    NN_CHECK(nn_tensor(p, y, NN_FLOATS16_32, &s->y));
    NN_CHECK(nn_tensor(p, gamma, NN_FLOATS16_32, &s->gamma));
    NN_CHECK(nn_expect_shape(p, p->params[y].name, &s->y, s->x.rank, s->x.dims));
    bool fits = s->gamma.rank > 0 && s->gamma.rank <= s->x.rank && s->gamma.count > 0;
    for (uint64_t i = 0; fits && i < s->gamma.rank; i++) {
        fits = s->gamma.dims[i] == s->x.dims[s->x.rank - s->gamma.rank + i];
    }
    if (!fits) {
        return NN_INVALID(p, "gamma has the shape %s, trailing dimensions of %s are required",
                          nn_shape_text(s->gamma.rank, s->gamma.dims), nn_shape_text(s->x.rank, s->x.dims));
    }
    s->cols = s->gamma.count;
    s->rows = s->x.count / s->cols;
    return ACLNN_SUCCESS;
}

static aclnnStatus add(struct nn_plan *p, const struct nn_view *x, const struct nn_view *y, double alpha,
                       const struct nn_view *z)
{
    return nn_map(p, NN_MAP_KERNEL(Add), ACL_FLOAT, (const struct nn_map_input[]){{.view = x}, {.view = y}}, 2, &alpha,
                  1, z);
}

static aclnnStatus make_total(struct nn_plan *p, struct summed *s, double alpha)
{
    NN_CHECK(nn_workspace(p, ACL_FLOAT, s->x.rank, s->x.dims, &s->total));
    return add(p, &s->y, &s->x, alpha, &s->total);
}

static aclnnStatus expect_rows(struct nn_plan *p, const struct summed *s, const char *name, const struct nn_view *v)
{
    return !nn_is_there(v) || v->count == s->rows
               ? ACLNN_SUCCESS
               : NN_INVALID(p, "%s has the wrong shape %s", name, nn_shape_text(v->rank, v->dims));
}

/* y = norm(total) gamma + beta, with statistics */
static aclnnStatus normalize(struct nn_plan *p, const struct summed *s, const struct nn_view *beta, double eps,
                             const struct nn_view *y, const struct nn_view *mean, const struct nn_view *rstd)
{
    const struct nn_view *const outputs[] = {y, mean, rstd};
    struct nn_view gamma, dense_beta, dense[3], shaped[3];
    NN_CHECK(nn_expect_shape(p, "beta", beta, s->gamma.rank, s->gamma.dims));
    NN_CHECK(nn_expect_shape(p, "yOut", y, s->x.rank, s->x.dims));
    NN_CHECK(expect_rows(p, s, "meanOut", mean));
    NN_CHECK(expect_rows(p, s, "rstdOut", rstd));
    NN_CHECK(nn_dense_input(p, s->gamma.type, &s->gamma, &gamma));
    NN_CHECK(nn_dense_input(p, beta->type, beta, &dense_beta));
    for (int i = 0; i < 3; i++) {
        NN_CHECK(nn_dense_output(p, outputs[i]->type, outputs[i], &dense[i]));
        shaped[i] = i == 0 ? nn_as_matrix(&dense[i], s->rows, s->cols) : nn_as_column(&dense[i], s->rows, s->cols);
    }
    const struct nn_view total = nn_as_matrix(&s->total, s->rows, s->cols),
                         weight = nn_as_repeated(&gamma, s->rows, s->cols),
                         bias = nn_as_repeated(&dense_beta, s->rows, s->cols);
    NN_CHECK(nn_rows(p, "LayerNormV3",
                     &(struct nn_rows){.code = OP_ROW_NORM,
                                       .views = {&total, &weight, &bias, &shaped[0], &shaped[1], &shaped[2]},
                                       .axis = 1,
                                       .s = eps}));
    for (int i = 0; i < 3; i++) {
        NN_CHECK(nn_is_there(outputs[i]) ? nn_dense_output_done(p, &dense[i], outputs[i]) : ACLNN_SUCCESS);
    }
    return ACLNN_SUCCESS;
}

/* (x1, x2, gamma, beta, bias, epsilon, additionalOutput, y, mean, rstd, x) */
static aclnnStatus plan_add_layer_norm(struct nn_plan *p)
{
    struct summed s;
    struct nn_view beta, bias, y, mean, rstd, x;
    NN_CHECK(take_sum(p, 0, 1, 2, &s));
    NN_CHECK(nn_tensor(p, 3, NN_FLOATS16_32, &beta));
    NN_CHECK(nn_tensor_optional(p, 4, NN_FLOATS16_32, &bias));
    NN_CHECK(nn_tensor(p, 7, NN_FLOATS16_32, &y));
    NN_CHECK(nn_tensor_optional(p, 8, NN_FLOATS16_32, &mean));
    NN_CHECK(nn_tensor_optional(p, 9, NN_FLOATS16_32, &rstd));
    NN_CHECK(make_total(p, &s, 1));
    if (nn_is_there(&bias)) {
        struct nn_view wide;
        if (!nn_broadcast(&bias, s.x.rank, s.x.dims, &wide)) {
            return NN_INVALID(p, "bias of shape %s does not broadcast to %s", nn_shape_text(bias.rank, bias.dims),
                              nn_shape_text(s.x.rank, s.x.dims));
        }
        NN_CHECK(add(p, &s.total, &wide, 1, &s.total));
    }
    NN_CHECK(normalize(p, &s, &beta, nn_real(p, 5), &y, &mean, &rstd));
    if (nn_whole(p, 6) == 0) {
        return ACLNN_SUCCESS;
    }
    NN_CHECK(nn_tensor(p, 10, NN_FLOATS16_32, &x));
    NN_CHECK(nn_expect_shape(p, "xOut", &x, s.x.rank, s.x.dims));
    return nn_move(p, &s.total, &x);
}
NN_OPERATOR(AddLayerNorm, plan_add_layer_norm, .types = NN_FLOATS16_32)

/* (x, gx, beta, gamma, alpha, epsilon, mean, rstd, y) */
static aclnnStatus plan_deep_norm(struct nn_plan *p)
{
    struct summed s;
    struct nn_view beta, y, mean, rstd;
    NN_CHECK(take_sum(p, 0, 1, 3, &s));
    NN_CHECK(nn_tensor(p, 2, NN_FLOATS16_32, &beta));
    NN_CHECK(nn_tensor(p, 6, NN_FLOATS16_32, &mean));
    NN_CHECK(nn_tensor(p, 7, NN_FLOATS16_32, &rstd));
    NN_CHECK(nn_tensor(p, 8, NN_FLOATS16_32, &y));
    NN_CHECK(make_total(p, &s, nn_real(p, 4)));
    return normalize(p, &s, &beta, nn_real(p, 5), &y, &mean, &rstd);
}
NN_OPERATOR(DeepNorm, plan_deep_norm, .types = NN_FLOATS16_32)

/* dx of the sum in the workspace, and the gradients of gamma and beta */
static aclnnStatus gradients(struct nn_plan *p, const struct summed *s, const struct nn_view *dy,
                             const struct nn_view *mean, const struct nn_view *rstd, struct nn_view *dx,
                             const struct nn_view *dgamma, const struct nn_view *dbeta)
{
    const struct nn_view *const inputs[] = {dy, mean, rstd, &s->gamma}, *const outputs[] = {dgamma, dbeta};
    struct nn_view dense[4], out[2], flat[2];
    NN_CHECK(nn_expect_shape(p, "dy", dy, s->x.rank, s->x.dims));
    NN_CHECK(expect_rows(p, s, "mean", mean));
    NN_CHECK(expect_rows(p, s, "rstd", rstd));
    for (int i = 0; i < 4; i++) {
        NN_CHECK(nn_dense_input(p, inputs[i]->type, inputs[i], &dense[i]));
    }
    for (int i = 0; i < 2; i++) {
        NN_CHECK(nn_expect_shape(p, i == 0 ? "dgammaOut" : "dbetaOut", outputs[i], s->gamma.rank, s->gamma.dims));
        NN_CHECK(nn_dense_output(p, outputs[i]->type, outputs[i], &out[i]));
        flat[i] = out[i];
        flat[i].rank = 1;
        flat[i].dims[0] = s->cols;
        flat[i].steps[0] = 1;
    }
    NN_CHECK(nn_workspace(p, ACL_FLOAT, s->x.rank, s->x.dims, dx));
    const struct nn_view dys = nn_as_matrix(&dense[0], s->rows, s->cols),
                         xs = nn_as_matrix(&s->total, s->rows, s->cols),
                         means = nn_as_column(&dense[1], s->rows, s->cols),
                         rstds = nn_as_column(&dense[2], s->rows, s->cols),
                         weight = nn_as_repeated(&dense[3], s->rows, s->cols), dxs = nn_as_matrix(dx, s->rows, s->cols);
    NN_CHECK(nn_rows(
        p, "LayerNormXBackpropV3",
        &(struct nn_rows){.code = OP_ROW_NORM_GRAD, .views = {&dys, &xs, &means, &rstds, &weight, &dxs}, .axis = 1}));
    NN_CHECK(nn_norm_parameters(p, &dys, &xs, &means, &rstds, &flat[0], &flat[1]));
    NN_CHECK(nn_dense_output_done(p, &out[0], dgamma));
    return nn_dense_output_done(p, &out[1], dbeta);
}

/* (dy, x1, x2, rstd, mean, gamma, dsum, dx, dgamma, dbeta) */
static aclnnStatus plan_add_layer_norm_grad(struct nn_plan *p)
{
    struct summed s;
    struct nn_view dy, rstd, mean, dsum, out, dgamma, dbeta, dx;
    NN_CHECK(nn_tensor(p, 0, NN_FLOATS16_32, &dy));
    NN_CHECK(take_sum(p, 1, 2, 5, &s));
    NN_CHECK(nn_tensor(p, 3, NN_FLOATS16_32, &rstd));
    NN_CHECK(nn_tensor(p, 4, NN_FLOATS16_32, &mean));
    NN_CHECK(nn_tensor_optional(p, 6, NN_FLOATS16_32, &dsum));
    NN_CHECK(nn_tensor(p, 7, NN_FLOATS16_32, &out));
    NN_CHECK(nn_tensor(p, 8, NN_FLOATS16_32, &dgamma));
    NN_CHECK(nn_tensor(p, 9, NN_FLOATS16_32, &dbeta));
    NN_CHECK(nn_expect_shape(p, "dxOut", &out, s.x.rank, s.x.dims));
    NN_CHECK(make_total(p, &s, 1));
    NN_CHECK(gradients(p, &s, &dy, &mean, &rstd, &dx, &dgamma, &dbeta));
    if (!nn_is_there(&dsum)) {
        return nn_move(p, &dx, &out);
    }
    NN_CHECK(nn_expect_shape(p, "dsum", &dsum, s.x.rank, s.x.dims));
    return add(p, &dx, &dsum, 1, &out);
}
NN_OPERATOR(AddLayerNormGrad, plan_add_layer_norm_grad, .types = NN_FLOATS16_32)

/* (dy, x, gx, gamma, mean, rstd, alpha, dx, dgx, dbeta, dgamma) */
static aclnnStatus plan_deep_norm_grad(struct nn_plan *p)
{
    struct summed s;
    struct nn_view dy, mean, rstd, out, out_gx, dgamma, dbeta, dx;
    const double alpha = nn_real(p, 6);
    NN_CHECK(nn_tensor(p, 0, NN_FLOATS16_32, &dy));
    NN_CHECK(take_sum(p, 1, 2, 3, &s));
    NN_CHECK(nn_tensor(p, 4, NN_FLOATS16_32, &mean));
    NN_CHECK(nn_tensor(p, 5, NN_FLOATS16_32, &rstd));
    NN_CHECK(nn_tensor(p, 7, NN_FLOATS16_32, &out));
    NN_CHECK(nn_tensor(p, 8, NN_FLOATS16_32, &out_gx));
    NN_CHECK(nn_tensor(p, 9, NN_FLOATS16_32, &dbeta));
    NN_CHECK(nn_tensor(p, 10, NN_FLOATS16_32, &dgamma));
    NN_CHECK(nn_expect_shape(p, "dxOut", &out, s.x.rank, s.x.dims));
    NN_CHECK(nn_expect_shape(p, "dgxOut", &out_gx, s.x.rank, s.x.dims));
    NN_CHECK(make_total(p, &s, alpha));
    NN_CHECK(gradients(p, &s, &dy, &mean, &rstd, &dx, &dgamma, &dbeta));
    NN_CHECK(nn_move(p, &dx, &out_gx));
    return nn_map(p, NN_MAP_KERNEL(Mul), ACL_FLOAT,
                  (const struct nn_map_input[]){{.view = &dx}, {.constant = {alpha, (int64_t)alpha}}}, 2, NULL, 0,
                  &out);
}
NN_OPERATOR(DeepNormGrad, plan_deep_norm_grad, .types = NN_FLOATS16_32)

/* ---- softmax with scale and mask ---- */

/* Rows are the last dimension; where the mask is set, x counts as -10000. */
static aclnnStatus take_masked(struct nn_plan *p, uint32_t mask, uint32_t fixed, const struct nn_view *x,
                               struct nn_view *wide)
{
    struct nn_view given;
    NN_CHECK(nn_tensor(p, mask, NN_MASK, &given));
    if (nn_whole(p, fixed) != 0) {
        return NN_INVALID(p, "%s must be false", p->params[fixed].name);
    }
    if (x->rank == 0 || !nn_broadcast(&given, x->rank, x->dims, wide)) {
        return NN_INVALID(p, "mask of shape %s does not broadcast to %s", nn_shape_text(given.rank, given.dims),
                          nn_shape_text(x->rank, x->dims));
    }
    return ACLNN_SUCCESS;
}

/* (x, mask, scale, fixedTriuMask, y) */
static aclnnStatus plan_scaled_masked_softmax(struct nn_plan *p)
{
    struct nn_view x, mask, y, part;
    const double scale = nn_real(p, 2);
    NN_CHECK(nn_tensor(p, 0, NN_FLOATS16_32, &x));
    NN_CHECK(nn_tensor(p, 4, NN_FLOATS16_32, &y));
    NN_CHECK(take_masked(p, 1, 3, &x, &mask));
    NN_CHECK(nn_expect_shape(p, "y", &y, x.rank, x.dims));
    NN_CHECK(nn_workspace(p, ACL_FLOAT, x.rank, x.dims, &part));
    NN_CHECK(nn_map(p, NN_MAP_KERNEL(ScaledMask), ACL_FLOAT,
                    (const struct nn_map_input[]){{.view = &x}, {.view = &mask}}, 2, &scale, 1, &part));
    return nn_rows(p, "SoftmaxV2", &(struct nn_rows){.code = OP_ROW_SOFTMAX, .views = {&part, &y}, .axis = x.rank - 1});
}
NN_OPERATOR(ScaledMaskedSoftmax, plan_scaled_masked_softmax, .types = NN_FLOATS16_32)

/* (gradOutput, y, mask, scale, fixTriuMask, out) */
static aclnnStatus plan_scaled_masked_softmax_backward(struct nn_plan *p)
{
    struct nn_view dy, y, mask, out, part;
    const double scale = nn_real(p, 3);
    NN_CHECK(nn_tensor(p, 0, NN_FLOATS16_32, &dy));
    NN_CHECK(nn_tensor(p, 1, NN_FLOATS16_32, &y));
    NN_CHECK(nn_tensor(p, 5, NN_FLOATS16_32, &out));
    NN_CHECK(take_masked(p, 2, 4, &y, &mask));
    NN_CHECK(nn_expect_shape(p, "gradOutput", &dy, y.rank, y.dims));
    NN_CHECK(nn_expect_shape(p, "out", &out, y.rank, y.dims));
    NN_CHECK(nn_workspace(p, ACL_FLOAT, y.rank, y.dims, &part));
    NN_CHECK(nn_rows(p, "SoftmaxGrad",
                     &(struct nn_rows){.code = OP_ROW_SOFTMAX_GRAD, .views = {&dy, &y, &part}, .axis = y.rank - 1}));
    return nn_map(p, NN_MAP_KERNEL(ScaledMaskGrad), ACL_FLOAT,
                  (const struct nn_map_input[]){{.view = &part}, {.view = &mask}}, 2, &scale, 1, &out);
}
NN_OPERATOR(ScaledMaskedSoftmaxBackward, plan_scaled_masked_softmax_backward, .types = NN_FLOATS16_32)

/* ---- lists ---- */

/* (tensors, out): combines all tensors of a list, which broadcast; .code and .kernel: the function of two */
static aclnnStatus plan_list(struct nn_plan *p)
{
    static const double one = 1;
    struct nn_view out, wide;
    uint64_t count;
    NN_CHECK(nn_list(p, 0, &count));
    NN_CHECK(nn_tensor(p, 1, NN_ARITHMETIC, &out));
    if (count == 0) {
        return NN_INVALID(p, "tensors is empty");
    }
    for (uint64_t i = 0; i < count; i++) {
        struct nn_view x, total = out;
        NN_CHECK(nn_list_tensor(p, 0, i, NN_ARITHMETIC, &x));
        if (!nn_broadcast(&x, out.rank, out.dims, &wide)) {
            return NN_INVALID(p, "tensor %llu of shape %s does not broadcast to %s", (unsigned long long)i,
                              nn_shape_text(x.rank, x.dims), nn_shape_text(out.rank, out.dims));
        }
        NN_CHECK(i == 0 ? nn_move(p, &wide, &total)
                        : nn_map(p, p->op->kernel, p->op->code, out.type,
                                 (const struct nn_map_input[]){{.view = &total}, {.view = &wide}}, 2, &one, 1, &total));
    }
    return ACLNN_SUCCESS;
}
#define NN_LIST(name, function)                                                                                        \
    NN_OPERATOR(name, plan_list, .kernel = #function, .code = OP_MAP_##function, .types = NN_ARITHMETIC)
NN_LIST(MaxN, Maximum)
NN_LIST(MinN, Minimum)
NN_LIST(Sum, Add)
NN_LIST(SumV2, Add)
