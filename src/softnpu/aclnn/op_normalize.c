/* SPDX-License-Identifier: Apache-2.0 */
/* aclnnSoftmax and aclnnLayerNorm. */
#include "softnpu/aclnn/op.h"

#include "aclnnop/aclnn_layer_norm.h"
#include "aclnnop/aclnn_softmax.h"

aclnnStatus aclnnSoftmaxGetWorkspaceSize(const aclTensor *self, int64_t dim, aclTensor *out, uint64_t *workspaceSize,
                                         aclOpExecutor **executor)
{
    struct nn_plan p;
    struct nn_view x, z;
    NN_TRY(&p, nn_begin(&p, "aclnnSoftmax", workspaceSize, executor));
    NN_TRY(&p, nn_view(&p, "self", self, NN_REALS, &x));
    NN_TRY(&p, nn_view(&p, "out", out, NN_REALS, &z));
    if (!nn_same_shape(&x, &z)) {
        NN_TRY(&p, NN_INVALID(&p, "the shapes of %s differ", "self and out"));
    }
    const int64_t limit = x.rank > 0 ? (int64_t)x.rank : 1;
    if (dim < -limit || dim >= limit) {
        NN_TRY(&p, NN_INVALID(&p, "dim %lld is out of range for a tensor of %llu dimensions", (long long)dim,
                              (unsigned long long)x.rank));
    }
    if (z.count > 0) {
        const uint64_t axis = (uint64_t)(dim < 0 ? dim + limit : dim);
        struct op_softmax_args args = {.count = x.rank > 0 ? x.dims[axis] : 1,
                                       .x_step = x.rank > 0 ? x.steps[axis] : 0,
                                       .z_step = x.rank > 0 ? z.steps[axis] : 0};
        /* The loop runs over the other dimensions. */
        struct nn_view x_rest = x, z_rest = z;
        if (x.rank > 0) {
            x_rest.dims[axis] = z_rest.dims[axis] = 1;
        }
        nn_tile(&args.loop, (struct op_side *[]){&args.x_side, &args.z_side},
                (const struct nn_view *[]){&x_rest, &z_rest}, 2);
        NN_TRY(&p, nn_launch(&p, "SoftmaxV2", NN_NODE("aclnnSoftmax", "SoftmaxV2"), &args, sizeof args,
                             (const struct nn_address *[]){&x.address, &z.address}, 2, 4 * z.count));
    }
    return nn_finish(&p, workspaceSize, executor);
}
NN_SECOND_PHASE(aclnnSoftmax)

/* ---- layer norm ---- */

/* The trailing dimensions of the input must be normalizedShape. */
static aclnnStatus check_normalized(struct nn_plan *p, const aclIntArray *shape, const struct nn_view *x,
                                    uint64_t *normalized)
{
    if (shape == NULL) {
        return snpu_fail(ACLNN_ERR_PARAM_NULLPTR, "%s: normalizedShape is NULL", p->op);
    }
    const struct nn_array *array = snpu_nn_array(shape, NN_INTS);
    if (array == NULL) {
        return NN_INVALID(p, "normalizedShape: array %p does not exist", (const void *)shape);
    }
    if (array->count == 0 || array->count > x->rank) {
        return NN_INVALID(p, "normalizedShape has %llu dimensions, input has %llu", (unsigned long long)array->count,
                          (unsigned long long)x->rank);
    }
    for (uint64_t i = 0; i < array->count; i++) {
        if (((const int64_t *)array->data)[i] != (int64_t)x->dims[x->rank - array->count + i]) {
            return NN_INVALID(p, "normalizedShape differs from the trailing dimensions of %s", "input");
        }
    }
    *normalized = array->count;
    return ACLNN_SUCCESS;
}

/* weight and bias have the normalized shape, mean and rstd one element per row. */
static aclnnStatus check_part(struct nn_plan *p, const char *name, const struct nn_view *part,
                              const struct nn_view *like, uint64_t count)
{
    if (part->address.from != NN_NOWHERE && (like != NULL ? !nn_same_shape(part, like) : part->count != count)) {
        return NN_INVALID(p, "%s has the wrong shape", name);
    }
    return ACLNN_SUCCESS;
}

/* If the view is not dense: a dense part of the workspace, with a copy of the input, or for the output. */
static aclnnStatus make_dense(struct nn_plan *p, const struct nn_view *view, bool is_input, struct nn_view *dense)
{
    *dense = *view;
    if (view->address.from == NN_NOWHERE || nn_is_dense(view)) {
        return ACLNN_SUCCESS;
    }
    NN_CHECK(nn_workspace(p, view->type, view->rank, view->dims, dense));
    return is_input ? nn_move(p, NN_MOVE_NODES("aclnnLayerNorm"), view, dense) : ACLNN_SUCCESS;
}

aclnnStatus aclnnLayerNormGetWorkspaceSize(const aclTensor *input, const aclIntArray *normalizedShape,
                                           const aclTensor *weightOrNull, const aclTensor *biasOrNull, double eps,
                                           aclTensor *out, aclTensor *meanOutOrNull, aclTensor *rstdOutOrNull,
                                           uint64_t *workspaceSize, aclOpExecutor **executor)
{
    enum { X, WEIGHT, BIAS, Z, MEAN, RSTD, PARTS }; /* the pointers of the kernel, in order */
    struct nn_plan p;
    struct nn_view view[PARTS], dense[PARTS];
    uint64_t normalized = 0;
    NN_TRY(&p, nn_begin(&p, "aclnnLayerNorm", workspaceSize, executor));
    NN_TRY(&p, nn_view(&p, "input", input, NN_REALS, &view[X]));
    NN_TRY(&p, nn_view_optional(&p, "weight", weightOrNull, NN_REALS, &view[WEIGHT]));
    NN_TRY(&p, nn_view_optional(&p, "bias", biasOrNull, NN_REALS, &view[BIAS]));
    NN_TRY(&p, nn_view(&p, "out", out, NN_REALS, &view[Z]));
    NN_TRY(&p, nn_view_optional(&p, "meanOut", meanOutOrNull, NN_REALS, &view[MEAN]));
    NN_TRY(&p, nn_view_optional(&p, "rstdOut", rstdOutOrNull, NN_REALS, &view[RSTD]));
    NN_TRY(&p, check_normalized(&p, normalizedShape, &view[X], &normalized));

    struct nn_view row = {.rank = normalized, .count = 1};
    for (uint64_t i = 0; i < normalized; i++) {
        row.dims[i] = view[X].dims[view[X].rank - normalized + i];
        row.count *= row.dims[i];
    }
    const uint64_t rows = row.count > 0 ? view[X].count / row.count : 0;
    NN_TRY(&p, check_part(&p, "weight", &view[WEIGHT], &row, 0));
    NN_TRY(&p, check_part(&p, "bias", &view[BIAS], &row, 0));
    NN_TRY(&p, check_part(&p, "out", &view[Z], &view[X], 0));
    NN_TRY(&p, check_part(&p, "meanOut", &view[MEAN], NULL, rows));
    NN_TRY(&p, check_part(&p, "rstdOut", &view[RSTD], NULL, rows));
    if (view[Z].count == 0) {
        return nn_finish(&p, workspaceSize, executor);
    }

    const struct nn_address *addresses[PARTS];
    for (int i = 0; i < PARTS; i++) {
        NN_TRY(&p, make_dense(&p, &view[i], i < Z, &dense[i]));
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
        .eps = eps,
    };
    NN_TRY(&p, nn_launch(&p, "LayerNormV3", NN_NODE("aclnnLayerNorm", "LayerNormV3"), &args, sizeof args, addresses,
                         PARTS, 2 * view[X].count));
    for (int i = Z; i < PARTS; i++) {
        if (dense[i].address.from == NN_FROM_WORKSPACE) {
            NN_TRY(&p, nn_move(&p, NN_MOVE_NODES("aclnnLayerNorm"), &dense[i], &view[i]));
        }
    }
    return nn_finish(&p, workspaceSize, executor);
}
NN_SECOND_PHASE(aclnnLayerNorm)
