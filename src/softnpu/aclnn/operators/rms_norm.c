/* SPDX-License-Identifier: Apache-2.0 */
/* Root-mean-square normalisation over the trailing dimensions that gamma has, with its gradient and with a sum before
 * it; layer normalisation of a sum. */
#include "softnpu/aclnn/operators/map.h"
#include "softnpu/aclnn/operators/rows.h"

/* gamma has the trailing dimensions of x; rstd has one element per row. */
static aclnnStatus check_rows(struct nn_plan *p, const struct nn_view *x, const struct nn_view *gamma,
                              const struct nn_view *rstd)
{
    bool fits = gamma->rank > 0 && gamma->rank <= x->rank;
    for (uint64_t i = 0; fits && i < gamma->rank; i++) {
        fits = gamma->dims[i] == x->dims[x->rank - gamma->rank + i];
    }
    if (!fits) {
        return NN_INVALID(p, "gamma has the shape %s, trailing dimensions of %s are required",
                          nn_shape_text(gamma->rank, gamma->dims), nn_shape_text(x->rank, x->dims));
    }
    if (rstd != NULL && nn_is_there(rstd) && gamma->count > 0 && rstd->count != x->count / gamma->count) {
        return NN_INVALID(p, "rstd has the wrong shape %s", nn_shape_text(rstd->rank, rstd->dims));
    }
    return ACLNN_SUCCESS;
}

/* y = x / rms(x) * (gamma + more) */
static aclnnStatus rms_norm(struct nn_plan *p, const struct nn_view *x, const struct nn_view *gamma, double eps,
                            double more, const struct nn_view *y, const struct nn_view *rstd)
{
    enum { X, GAMMA, Y, RSTD, PARTS };
    const struct nn_view *const views[PARTS] = {x, gamma, y, rstd};
    struct nn_view dense[PARTS], shaped[PARTS];
    struct nn_rows call = {.code = OP_ROW_RMS, .axis = 1, .s = eps, .t = more};
    if (x->count == 0) {
        return ACLNN_SUCCESS;
    }
    const uint64_t cols = gamma->count, rows = x->count / cols;
    for (int i = 0; i < PARTS; i++) {
        NN_CHECK(i < Y ? nn_dense_input(p, views[i]->type, views[i], &dense[i])
                       : nn_dense_output(p, views[i]->type, views[i], &dense[i]));
        shaped[i] = i == X || i == Y ? nn_as_matrix(&dense[i], rows, cols)
                    : i == GAMMA     ? nn_as_repeated(&dense[i], rows, cols)
                                     : nn_as_column(&dense[i], rows, cols);
        call.views[i] = &shaped[i];
    }
    NN_CHECK(nn_rows(p, "RmsNorm", &call));
    NN_CHECK(nn_dense_output_done(p, &dense[Y], y));
    return nn_dense_output_done(p, &dense[RSTD], rstd);
}

/* (x, gamma, epsilon, y, rstd); .number is added to gamma */
static aclnnStatus plan_rms_norm(struct nn_plan *p)
{
    struct nn_view x, gamma, y, rstd;
    NN_CHECK(nn_tensor(p, 0, NN_FLOATS16_32, &x));
    NN_CHECK(nn_tensor(p, 1, NN_FLOATS16_32, &gamma));
    NN_CHECK(nn_tensor(p, 3, NN_FLOATS16_32, &y));
    NN_CHECK(nn_tensor_optional(p, 4, NN_FLOATS16_32, &rstd));
    NN_CHECK(check_rows(p, &x, &gamma, &rstd));
    NN_CHECK(nn_expect_shape(p, "yOut", &y, x.rank, x.dims));
    return rms_norm(p, &x, &gamma, nn_real(p, 2), p->op->number, &y, &rstd);
}
NN_OPERATOR(RmsNorm, plan_rms_norm, .types = NN_FLOATS16_32)
NN_OPERATOR(GemmaRmsNorm, plan_rms_norm, .types = NN_FLOATS16_32, .number = 1)

/* (x1, x2, gamma, epsilon, y, rstd, x): x = x1 + x2 */
static aclnnStatus plan_add_rms_norm(struct nn_plan *p)
{
    static const double one = 1;
    struct nn_view x1, x2, gamma, y, rstd, x;
    NN_CHECK(nn_tensor(p, 0, NN_FLOATS16_32, &x1));
    NN_CHECK(nn_tensor(p, 1, NN_FLOATS16_32, &x2));
    NN_CHECK(nn_tensor(p, 2, NN_FLOATS16_32, &gamma));
    NN_CHECK(nn_tensor(p, 4, NN_FLOATS16_32, &y));
    NN_CHECK(nn_tensor_optional(p, 5, NN_FLOATS16_32, &rstd));
    NN_CHECK(nn_tensor(p, 6, NN_FLOATS16_32, &x));
    NN_CHECK(check_rows(p, &x1, &gamma, &rstd));
    NN_CHECK(nn_expect_shape(p, "x2", &x2, x1.rank, x1.dims));
    NN_CHECK(nn_expect_shape(p, "yOut", &y, x1.rank, x1.dims));
    NN_CHECK(nn_expect_shape(p, "xOut", &x, x1.rank, x1.dims));
    NN_CHECK(nn_map(p, NN_MAP_KERNEL(Add), x.type, (const struct nn_map_input[]){{.view = &x1}, {.view = &x2}}, 2, &one,
                    1, &x));
    return rms_norm(p, &x, &gamma, nn_real(p, 3), 0, &y, &rstd);
}
NN_OPERATOR(AddRmsNorm, plan_add_rms_norm, .types = NN_FLOATS16_32)

/* (dy, x, rstd, gamma, dx, dgamma) */
static aclnnStatus plan_rms_norm_grad(struct nn_plan *p)
{
    enum { DY, X, RSTD, GAMMA, DX, DGAMMA, PARTS };
    struct nn_view views[PARTS], dense[PARTS], shaped[PARTS];
    for (uint32_t i = 0; i < PARTS; i++) {
        NN_CHECK(nn_tensor(p, i, NN_FLOATS16_32, &views[i]));
    }
    NN_CHECK(check_rows(p, &views[X], &views[GAMMA], &views[RSTD]));
    NN_CHECK(nn_expect_shape(p, "dy", &views[DY], views[X].rank, views[X].dims));
    NN_CHECK(nn_expect_shape(p, "dxOut", &views[DX], views[X].rank, views[X].dims));
    NN_CHECK(nn_expect_shape(p, "dgammaOut", &views[DGAMMA], views[GAMMA].rank, views[GAMMA].dims));
    const uint64_t cols = views[GAMMA].count, rows = cols > 0 ? views[X].count / cols : 0;
    for (int i = 0; i < PARTS; i++) {
        NN_CHECK(i < DX ? nn_dense_input(p, views[i].type, &views[i], &dense[i])
                        : nn_dense_output(p, views[i].type, &views[i], &dense[i]));
        shaped[i] = i == DY || i == X || i == DX ? nn_as_matrix(&dense[i], rows, cols)
                    : i == RSTD                  ? nn_as_column(&dense[i], rows, cols)
                                                 : nn_as_repeated(&dense[i], rows, cols);
    }
    NN_CHECK(nn_rows(p, "RmsNormGrad",
                     &(struct nn_rows){.code = OP_ROW_RMS_GRAD,
                                       .views = {&shaped[DY], &shaped[X], &shaped[RSTD], &shaped[GAMMA], &shaped[DX]},
                                       .axis = 1}));
    struct nn_view flat = dense[DGAMMA];
    flat.rank = 1;
    flat.dims[0] = cols;
    flat.steps[0] = 1;
    NN_CHECK(nn_norm_parameters(p, &shaped[DY], &shaped[X], NULL, &shaped[RSTD], &flat, NULL));
    NN_CHECK(nn_dense_output_done(p, &dense[DX], &views[DX]));
    return nn_dense_output_done(p, &dense[DGAMMA], &views[DGAMMA]);
}
NN_OPERATOR(RmsNormGrad, plan_rms_norm_grad, .types = NN_FLOATS16_32)
