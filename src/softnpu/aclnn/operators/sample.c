/* SPDX-License-Identifier: Apache-2.0 */
/* Grid sampling, affine grids and bags of embeddings. */
#include "softnpu/aclnn/op.h"

/* ---- grid sampling ---- */

/* The numbers of the kernel from the shapes: input [N, C, spatial], grid [N, spatial, dims]. code: dimensions. */
static aclnnStatus grid_args(struct nn_plan *p, const struct nn_view *input, const struct nn_view *grid, uint32_t first,
                             struct op_grid_args *args)
{
    const uint64_t dims = p->op->code;
    const int64_t mode = nn_whole(p, first), padding = nn_whole(p, first + 1);
    if (input->rank != dims + 2 || grid->rank != dims + 2 || grid->dims[dims + 1] != dims ||
        grid->dims[0] != input->dims[0] || input->count == 0) {
        return NN_INVALID(p, "input has the shape %s, grid %s", nn_shape_text(input->rank, input->dims),
                          nn_shape_text(grid->rank, grid->dims));
    }
    if (mode < 0 || mode > (dims == 2 ? OP_GRID_CUBIC : OP_GRID_NEAREST) || padding < 0 || padding > OP_GRID_REFLECT) {
        return NN_INVALID(p, "interpolationMode is %lld, paddingMode is %lld", (long long)mode, (long long)padding);
    }
    *args = (struct op_grid_args){
        .batch = input->dims[0],
        .channels = input->dims[1],
        .in = {1, 1, 1},
        .out = {1, 1, 1},
        .dims = dims,
        .mode = (uint64_t)mode,
        .padding = (uint64_t)padding,
        .align = nn_whole(p, first + 2) != 0,
    };
    for (uint64_t i = 0; i < dims; i++) {
        args->in[3 - dims + i] = input->dims[2 + i];
        args->out[3 - dims + i] = grid->dims[1 + i];
    }
    return ACLNN_SUCCESS;
}

static aclnnStatus expect_values(struct nn_plan *p, const char *what, const struct nn_view *z,
                                 const struct nn_view *input, const struct nn_view *grid)
{
    uint64_t dims[NN_DIMS] = {input->dims[0], input->dims[1]};
    for (uint64_t i = 2; i < input->rank; i++) {
        dims[i] = grid->dims[i - 1];
    }
    return nn_expect_shape(p, what, z, input->rank, dims);
}

/* (input, grid, interpolationMode, paddingMode, alignCorners, out) */
static aclnnStatus plan_grid_sample(struct nn_plan *p)
{
    struct nn_view input, grid, z, dense[3];
    struct op_grid_args args;
    NN_CHECK(nn_tensor(p, 0, p->op->types, &input));
    NN_CHECK(nn_tensor(p, 1, p->op->types, &grid));
    NN_CHECK(nn_tensor(p, 5, p->op->types, &z));
    NN_CHECK(grid_args(p, &input, &grid, 2, &args));
    NN_CHECK(expect_values(p, "out", &z, &input, &grid));
    if (z.count == 0) {
        return ACLNN_SUCCESS;
    }
    NN_CHECK(nn_dense_input(p, ACL_FLOAT, &input, &dense[0]));
    NN_CHECK(nn_dense_input(p, ACL_FLOAT, &grid, &dense[1]));
    NN_CHECK(nn_dense_output(p, ACL_FLOAT, &z, &dense[2]));
    NN_CHECK(nn_launch(p, "GridSample", &args, sizeof args,
                       (const struct nn_address *[]){&dense[0].address, &dense[1].address,
                                                     &(const struct nn_address){.from = NN_NOWHERE}, &dense[2].address},
                       4, 8 * z.count));
    return nn_dense_output_done(p, &dense[2], &z);
}
NN_OPERATOR(GridSampler2D, plan_grid_sample, .types = NN_FLOATS16_32, .code = 2)
NN_OPERATOR(GridSampler3D, plan_grid_sample, .types = NN_FLOATS16_32, .code = 3)

/* (gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask, inputGrad, gridGrad) */
static aclnnStatus plan_grid_backward(struct nn_plan *p)
{
    static const char *const kernels[] = {"GridSampleInputGrad", "GridSampleGridGrad"};
    struct nn_view grad, input, grid, dense[3];
    struct op_grid_args args;
    const bool *wanted;
    uint64_t count;
    NN_CHECK(nn_tensor(p, 0, p->op->types, &grad));
    NN_CHECK(nn_tensor(p, 1, p->op->types, &input));
    NN_CHECK(nn_tensor(p, 2, p->op->types, &grid));
    NN_CHECK(nn_bools(p, 6, &wanted, &count));
    if (count != 2) {
        return NN_INVALID(p, "outputMask has %llu entries, 2 are required", (unsigned long long)count);
    }
    NN_CHECK(grid_args(p, &input, &grid, 3, &args));
    NN_CHECK(expect_values(p, "gradOutput", &grad, &input, &grid));
    NN_CHECK(nn_dense_input(p, ACL_FLOAT, &input, &dense[0]));
    NN_CHECK(nn_dense_input(p, ACL_FLOAT, &grid, &dense[1]));
    NN_CHECK(nn_dense_input(p, ACL_FLOAT, &grad, &dense[2]));
    for (uint32_t i = 0; i < 2; i++) {
        const struct nn_view *like = i == 0 ? &input : &grid;
        struct nn_view z, sum;
        if (!wanted[i]) {
            continue;
        }
        NN_CHECK(nn_tensor(p, 7 + i, p->op->types, &z));
        NN_CHECK(nn_expect_shape(p, p->params[7 + i].name, &z, like->rank, like->dims));
        NN_CHECK(nn_dense_output(p, ACL_FLOAT, &z, &sum));
        NN_CHECK(nn_launch(
            p, kernels[i], &args, sizeof args,
            (const struct nn_address *[]){&dense[0].address, &dense[1].address, &dense[2].address, &sum.address}, 4,
            8 * grad.count));
        NN_CHECK(nn_dense_output_done(p, &sum, &z));
    }
    return ACLNN_SUCCESS;
}
NN_OPERATOR(GridSampler2DBackward, plan_grid_backward, .types = NN_FLOATS16_32, .code = 2)
NN_OPERATOR(GridSampler3DBackward, plan_grid_backward, .types = NN_FLOATS16_32, .code = 3)

/* (theta, size, alignCorners, out) */
static aclnnStatus plan_affine_grid(struct nn_plan *p)
{
    struct nn_view theta, z, dense_theta, dense_z;
    const int64_t *size;
    uint64_t count;
    NN_CHECK(nn_tensor(p, 0, p->op->types, &theta));
    NN_CHECK(nn_ints(p, 1, &size, &count));
    NN_CHECK(nn_tensor(p, 3, p->op->types, &z));
    const uint64_t dims = count - 2;
    if ((count != 4 && count != 5) || theta.rank != 3 || theta.dims[1] != dims || theta.dims[2] != dims + 1 ||
        size[0] != (int64_t)theta.dims[0]) {
        return NN_INVALID(p, "size has %llu entries, theta the shape %s", (unsigned long long)count,
                          nn_shape_text(theta.rank, theta.dims));
    }
    struct op_affine_args args = {.batch = theta.dims[0], .out = {1, 1, 1}, .dims = dims, .align = nn_whole(p, 2) != 0};
    uint64_t shape[NN_DIMS] = {theta.dims[0]};
    for (uint64_t i = 0; i < dims; i++) {
        if (size[2 + i] < 1) {
            return NN_INVALID(p, "size has the entry %lld", (long long)size[2 + i]);
        }
        shape[1 + i] = args.out[3 - dims + i] = (uint64_t)size[2 + i];
    }
    shape[1 + dims] = dims;
    NN_CHECK(nn_expect_shape(p, "out", &z, dims + 2, shape));
    if (z.count == 0) {
        return ACLNN_SUCCESS;
    }
    NN_CHECK(nn_dense_input(p, ACL_FLOAT, &theta, &dense_theta));
    NN_CHECK(nn_dense_output(p, ACL_FLOAT, &z, &dense_z));
    NN_CHECK(nn_launch(p, "AffineGrid", &args, sizeof args,
                       (const struct nn_address *[]){&dense_theta.address, &dense_z.address}, 2, 4 * z.count));
    return nn_dense_output_done(p, &dense_z, &z);
}
NN_OPERATOR(AffineGrid, plan_affine_grid, .types = NN_FLOATS16_32)

/* ---- bags ---- */

/* (weight, indices, offsets, scaleGradByFreq, mode, sparse, perSampleWeights, includeLastOffset, paddingIdx, output,
 * offset2bag, bagSize, maxIndices) */
static aclnnStatus plan_embedding_bag(struct nn_plan *p)
{
    enum { WEIGHT, INDICES, OFFSETS, FACTORS, Z, BAG_OF, SIZES, LARGEST, PARTS };
    struct nn_view view[PARTS], dense[PARTS];
    const int64_t mode = nn_whole(p, 4);
    NN_CHECK(nn_tensor(p, 0, p->op->types, &view[WEIGHT]));
    NN_CHECK(nn_tensor(p, 1, NN_INDEX, &view[INDICES]));
    NN_CHECK(nn_tensor(p, 2, NN_INDEX, &view[OFFSETS]));
    NN_CHECK(nn_tensor_optional(p, 6, p->op->types, &view[FACTORS]));
    NN_CHECK(nn_tensor(p, 9, p->op->types, &view[Z]));
    NN_CHECK(nn_tensor(p, 10, NN_INDEX, &view[BAG_OF]));
    NN_CHECK(nn_tensor(p, 11, NN_INDEX, &view[SIZES]));
    NN_CHECK(nn_tensor(p, 12, NN_INDEX, &view[LARGEST]));
    const uint64_t given = view[OFFSETS].count, bags = given - (nn_whole(p, 7) && given > 0);
    if (view[WEIGHT].rank != 2 || view[INDICES].rank != 1 || view[OFFSETS].rank != 1 || mode < 0 || mode > 2 ||
        (nn_is_there(&view[FACTORS]) && view[FACTORS].count != view[INDICES].count)) {
        return NN_INVALID(p, "mode is %lld, weight has the shape %s, indices %s", (long long)mode,
                          nn_shape_text(view[WEIGHT].rank, view[WEIGHT].dims),
                          nn_shape_text(view[INDICES].rank, view[INDICES].dims));
    }
    NN_CHECK(nn_expect_shape(p, "output", &view[Z], 2, (const uint64_t[]){bags, view[WEIGHT].dims[1]}));
    const struct op_bag_args args = {
        .rows = view[WEIGHT].dims[0],
        .cols = view[WEIGHT].dims[1],
        .count = view[INDICES].count,
        .bags = bags,
        .mode = (uint64_t)mode,
        .padding = nn_whole(p, 8) >= 0 ? nn_whole(p, 8) : -1,
    };
    /* Outputs that the caller does not want are empty or have another shape. */
    const uint64_t counts[PARTS] = {[BAG_OF] = args.count, [SIZES] = bags, [LARGEST] = bags * args.cols};
    const struct nn_address *addresses[PARTS], nowhere = {.from = NN_NOWHERE};
    for (uint32_t i = 0; i < PARTS; i++) {
        const bool wanted =
            nn_is_there(&view[i]) && (i < BAG_OF || view[i].count == counts[i]) && (i != LARGEST || mode == 2);
        const aclDataType type = i == WEIGHT || i == FACTORS || i == Z ? ACL_FLOAT : ACL_INT64;
        addresses[i] = wanted ? &dense[i].address : &nowhere;
        if (wanted) {
            NN_CHECK(i < Z ? nn_dense_input(p, type, &view[i], &dense[i])
                           : nn_dense_output(p, type, &view[i], &dense[i]));
        } else if (i >= BAG_OF) {
            NN_CHECK(nn_fill(p, "Fill", &view[i], &(const struct op_number){0, 0}, ACL_INT64));
        }
    }
    if (view[Z].count > 0) {
        NN_CHECK(
            nn_launch(p, "EmbeddingBag", &args, sizeof args, addresses, PARTS, args.count * args.cols + view[Z].count));
    }
    for (uint32_t i = Z; i < PARTS; i++) {
        if (addresses[i] != &nowhere) {
            NN_CHECK(nn_dense_output_done(p, &dense[i], &view[i]));
        }
    }
    return ACLNN_SUCCESS;
}
NN_OPERATOR(EmbeddingBag, plan_embedding_bag, .types = NN_FLOATS16_32)

/* (selfRef, indices, maxNorm, normType) */
static aclnnStatus plan_embedding_renorm(struct nn_plan *p)
{
    struct nn_view z, index, weight, indices;
    NN_CHECK(nn_tensor(p, 0, p->op->types, &z));
    NN_CHECK(nn_tensor(p, 1, NN_INDEX, &index));
    const double order = nn_real(p, 3), most = nn_real(p, 2);
    if (z.rank != 2 || !(order > 0) || !(most >= 0)) {
        return NN_INVALID(p, "selfRef has the shape %s, maxNorm is %g, normType is %g", nn_shape_text(z.rank, z.dims),
                          most, order);
    }
    if (z.count == 0 || index.count == 0) {
        return ACLNN_SUCCESS;
    }
    NN_CHECK(nn_dense_input(p, ACL_FLOAT, &z, &weight));
    NN_CHECK(nn_dense_input(p, ACL_INT64, &index, &indices));
    const struct op_renorm_args args = {
        .rows = z.dims[0], .cols = z.dims[1], .count = index.count, .most = most, .order = order};
    NN_CHECK(nn_launch(p, "EmbeddingRenorm", &args, sizeof args,
                       (const struct nn_address *[]){&weight.address, &indices.address}, 2, 1));
    return nn_dense_output_done(p, &weight, &z);
}
NN_OPERATOR(EmbeddingRenorm, plan_embedding_renorm, .types = NN_FLOATS16_32)
