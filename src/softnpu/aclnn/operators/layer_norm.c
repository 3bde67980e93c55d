/* SPDX-License-Identifier: Apache-2.0 */
/* Layer normalization and its gradient. */
#include "softnpu/aclnn/operators/rows.h"

/* The trailing dimensions of the input must be normalizedShape (parameter `param`); their view, as the last of x. */
static aclnnStatus check_normalized(struct nn_plan *p, uint32_t param, const struct nn_view *x, struct nn_view *row)
{
    const int64_t *shape;
    uint64_t count;
    NN_CHECK(nn_ints(p, param, &shape, &count));
    if (count == 0 || count > x->rank) {
        return NN_INVALID(p, "normalizedShape has %llu dimensions, input has %llu", (unsigned long long)count,
                          (unsigned long long)x->rank);
    }
    *row = (struct nn_view){.rank = count, .count = 1};
    for (uint64_t i = 0; i < count; i++) {
        row->dims[i] = x->dims[x->rank - count + i];
        row->count *= row->dims[i];
        if (shape[i] != (int64_t)row->dims[i]) {
            return NN_INVALID(p, "normalizedShape differs from the trailing dimensions of input, %s",
                              nn_shape_text(x->rank, x->dims));
        }
    }
    return ACLNN_SUCCESS;
}

/* weight and bias have the normalized shape, mean and rstd one element per row. */
static aclnnStatus check_part(struct nn_plan *p, const char *name, const struct nn_view *part,
                              const struct nn_view *like, uint64_t count)
{
    if (nn_is_there(part) && (like != NULL ? !nn_same_shape(part, like) : part->count != count)) {
        return NN_INVALID(p, "%s has the wrong shape %s", name, nn_shape_text(part->rank, part->dims));
    }
    return ACLNN_SUCCESS;
}

/* (input, normalizedShape, weight, bias, eps, out, mean, rstd [, implMode]) */
static aclnnStatus plan_layer_norm(struct nn_plan *p)
{
    enum { X, WEIGHT, BIAS, Z, MEAN, RSTD, PARTS }; /* the operands of the kernel, in order */
    static const uint32_t params[PARTS] = {0, 2, 3, 5, 6, 7};
    struct nn_view view[PARTS], dense[PARTS], row;
    for (int i = 0; i < PARTS; i++) {
        NN_CHECK(i == X || i == Z ? nn_tensor(p, params[i], NN_REALS, &view[i])
                                  : nn_tensor_optional(p, params[i], NN_REALS, &view[i]));
    }
    NN_CHECK(check_normalized(p, 1, &view[X], &row));
    const uint64_t rows = row.count > 0 ? view[X].count / row.count : 0;
    NN_CHECK(check_part(p, "weight", &view[WEIGHT], &row, 0));
    NN_CHECK(check_part(p, "bias", &view[BIAS], &row, 0));
    NN_CHECK(check_part(p, "out", &view[Z], &view[X], 0));
    NN_CHECK(check_part(p, "meanOut", &view[MEAN], NULL, rows));
    NN_CHECK(check_part(p, "rstdOut", &view[RSTD], NULL, rows));
    if (view[Z].count == 0) {
        return ACLNN_SUCCESS;
    }
    struct nn_rows call = {.code = OP_ROW_NORM, .axis = 1, .s = nn_real(p, 4)};
    for (int i = 0; i < PARTS; i++) {
        NN_CHECK(i < Z ? nn_dense_input(p, view[i].type, &view[i], &dense[i])
                       : nn_dense_output(p, view[i].type, &view[i], &dense[i]));
        call.views[i] = &dense[i];
    }
    struct nn_view shaped[PARTS];
    for (int i = 0; i < PARTS; i++) {
        shaped[i] = i == X || i == Z ? nn_as_matrix(&dense[i], rows, row.count)
                    : i < Z          ? nn_as_repeated(&dense[i], rows, row.count)
                                     : nn_as_column(&dense[i], rows, row.count);
        call.views[i] = &shaped[i];
    }
    NN_CHECK(nn_rows(p, p->op->kernel, &call));
    for (int i = Z; i < PARTS; i++) {
        NN_CHECK(nn_dense_output_done(p, &dense[i], &view[i]));
    }
    return ACLNN_SUCCESS;
}
#define NN_LAYER_NORM(name) NN_OPERATOR(name, plan_layer_norm, .kernel = "LayerNormV3", .types = NN_REALS)
NN_LAYER_NORM(LayerNorm)
NN_LAYER_NORM(FastLayerNorm)
NN_LAYER_NORM(LayerNormWithImplMode)

/* (gradOut, input, normalizedShape, mean, rstd, weight, bias, outputMask, gradInput, gradWeight, gradBias) */
static aclnnStatus plan_layer_norm_backward(struct nn_plan *p)
{
    enum { DY, X, MEAN, RSTD, WEIGHT, INPUTS };
    static const uint32_t params[INPUTS] = {0, 1, 3, 4, 5};
    struct nn_view in[INPUTS], dense[INPUTS], shaped[INPUTS], out[3] = {{0}}, row;
    const bool *mask;
    uint64_t mask_count;
    for (int i = 0; i < INPUTS; i++) {
        NN_CHECK(i == WEIGHT ? nn_tensor_optional(p, params[i], NN_FLOATS16_32, &in[i])
                             : nn_tensor(p, params[i], NN_FLOATS16_32, &in[i]));
    }
    NN_CHECK(check_normalized(p, 2, &in[X], &row));
    const uint64_t rows = row.count > 0 ? in[X].count / row.count : 0;
    NN_CHECK(check_part(p, "gradOut", &in[DY], &in[X], 0));
    NN_CHECK(check_part(p, "weight", &in[WEIGHT], &row, 0));
    NN_CHECK(check_part(p, "mean", &in[MEAN], NULL, rows));
    NN_CHECK(check_part(p, "rstd", &in[RSTD], NULL, rows));
    NN_CHECK(nn_bools(p, 7, &mask, &mask_count));
    if (mask_count != 3) {
        return NN_INVALID(p, "outputMask has %llu entries, 3 are required", (unsigned long long)mask_count);
    }
    for (uint32_t i = 0; i < 3; i++) {
        if (mask[i]) {
            NN_CHECK(nn_tensor(p, 8 + i, NN_FLOATS16_32, &out[i]));
            NN_CHECK(check_part(p, p->params[8 + i].name, &out[i], i == 0 ? &in[X] : &row, 0));
        }
    }
    for (int i = 0; i < INPUTS; i++) {
        NN_CHECK(nn_dense_input(p, in[i].type, &in[i], &dense[i]));
        shaped[i] = i <= X       ? nn_as_matrix(&dense[i], rows, row.count)
                    : i < WEIGHT ? nn_as_column(&dense[i], rows, row.count)
                                 : nn_as_repeated(&dense[i], rows, row.count);
    }
    if (nn_is_there(&out[0]) && out[0].count > 0) {
        struct nn_view dx;
        NN_CHECK(nn_dense_output(p, out[0].type, &out[0], &dx));
        const struct nn_view dx_rows = nn_as_matrix(&dx, rows, row.count);
        NN_CHECK(nn_rows(p, "LayerNormXBackpropV3",
                         &(struct nn_rows){.code = OP_ROW_NORM_GRAD,
                                           .views = {&shaped[DY], &shaped[X], &shaped[MEAN], &shaped[RSTD],
                                                     &shaped[WEIGHT], &dx_rows},
                                           .axis = 1}));
        NN_CHECK(nn_dense_output_done(p, &dx, &out[0]));
    }
    struct nn_view parameters[3], flat[3];
    for (int i = 1; i < 3; i++) {
        NN_CHECK(nn_dense_output(p, out[i].type, &out[i], &parameters[i]));
        flat[i] = parameters[i];
        flat[i].rank = 1;
        flat[i].dims[0] = row.count;
        flat[i].steps[0] = 1;
    }
    NN_CHECK(nn_norm_parameters(p, &shaped[DY], &shaped[X], &shaped[MEAN], &shaped[RSTD], &flat[1], &flat[2]));
    for (int i = 1; i < 3; i++) {
        NN_CHECK(nn_dense_output_done(p, &parameters[i], &out[i]));
    }
    return ACLNN_SUCCESS;
}
NN_OPERATOR(LayerNormBackward, plan_layer_norm_backward, .types = NN_FLOATS16_32)
