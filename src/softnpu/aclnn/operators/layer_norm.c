/* SPDX-License-Identifier: Apache-2.0 */
/* Layer normalization. */
#include "softnpu/aclnn/op.h"

/* The trailing dimensions of the input must be normalizedShape. */
static aclnnStatus check_normalized(struct nn_plan *p, const struct nn_view *x, struct nn_view *row)
{
    const int64_t *shape;
    uint64_t count;
    NN_CHECK(nn_ints(p, 1, &shape, &count));
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

/* (input, normalizedShape, weight, bias, eps, out, mean, rstd) */
static aclnnStatus plan_layer_norm(struct nn_plan *p)
{
    enum { X, WEIGHT, BIAS, Z, MEAN, RSTD, PARTS }; /* the pointers of the kernel, in order */
    struct nn_view view[PARTS], dense[PARTS], row;
    NN_CHECK(nn_tensor(p, 0, NN_REALS, &view[X]));
    NN_CHECK(nn_tensor_optional(p, 2, NN_REALS, &view[WEIGHT]));
    NN_CHECK(nn_tensor_optional(p, 3, NN_REALS, &view[BIAS]));
    NN_CHECK(nn_tensor(p, 5, NN_REALS, &view[Z]));
    NN_CHECK(nn_tensor_optional(p, 6, NN_REALS, &view[MEAN]));
    NN_CHECK(nn_tensor_optional(p, 7, NN_REALS, &view[RSTD]));
    NN_CHECK(check_normalized(p, &view[X], &row));
    const uint64_t rows = row.count > 0 ? view[X].count / row.count : 0;
    NN_CHECK(check_part(p, "weight", &view[WEIGHT], &row, 0));
    NN_CHECK(check_part(p, "bias", &view[BIAS], &row, 0));
    NN_CHECK(check_part(p, "out", &view[Z], &view[X], 0));
    NN_CHECK(check_part(p, "meanOut", &view[MEAN], NULL, rows));
    NN_CHECK(check_part(p, "rstdOut", &view[RSTD], NULL, rows));
    if (view[Z].count == 0) {
        return ACLNN_SUCCESS;
    }
    const struct nn_address *addresses[PARTS];
    for (int i = 0; i < PARTS; i++) {
        NN_CHECK(i < Z ? nn_dense_input(p, view[i].type, &view[i], &dense[i])
                       : nn_dense_output(p, view[i].type, &view[i], &dense[i]));
        addresses[i] = &dense[i].address;
    }
    struct op_layer_norm_args args = {
        .rows = rows,
        .cols = row.count,
        .x_type = view[X].type,
        .weight_type = view[WEIGHT].type,
        .bias_type = view[BIAS].type,
        .z_type = view[Z].type,
        .mean_type = view[MEAN].type,
        .rstd_type = view[RSTD].type,
        .eps = nn_real(p, 4),
    };
    NN_CHECK(nn_launch(p, p->op->kernel, &args, sizeof args, addresses, PARTS, 2 * view[X].count));
    for (int i = Z; i < PARTS; i++) {
        NN_CHECK(nn_dense_output_done(p, &dense[i], &view[i]));
    }
    return ACLNN_SUCCESS;
}
NN_OPERATOR(LayerNorm, plan_layer_norm, .kernel = "LayerNormV3", .types = NN_REALS)
