/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that read elements at positions given by index tensors or masks. */
#include "softnpu/aclnn/operators/index.h"
#include "softnpu/aclnn/operators/layout.h"
#include "softnpu/aclnn/operators/map.h"

#include <string.h>

static aclnnStatus same_type(struct nn_plan *p, const struct nn_view *x, const struct nn_view *z)
{
    return x->type == z->type
               ? ACLNN_SUCCESS
               : NN_INVALID(p, "the input has the type %s, out %s", nn_type_name(x->type), nn_type_name(z->type));
}

/* ---- rows ---- */

static aclnnStatus gather_rows(struct nn_plan *p, const struct nn_view *x, uint64_t axis, const struct nn_view *index,
                               const struct nn_view *z)
{
    struct nn_index_call call = NN_INDEX_CALL;
    NN_CHECK(same_type(p, x, z));
    NN_CHECK(nn_index_rows(p, &call, x, axis, index));
    NN_CHECK(nn_expect_shape(p, "out", z, call.target.rank, call.target.dims));
    call.other = *z;
    return nn_gather(p, p->op->kernel, &call);
}

/* (self, dim, index, ..., out); the index of IndexSelect has one dimension or none. */
static aclnnStatus plan_gather_rows(struct nn_plan *p)
{
    struct nn_view x, index, z;
    uint64_t axis;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    NN_CHECK(nn_tensor(p, 2, NN_INDEX, &index));
    NN_CHECK(nn_tensor(p, p->count - 1, NN_MOVABLE, &z));
    NN_CHECK(nn_axis(p, nn_whole(p, 1), x.rank, &axis));
    if (p->count == 6 && nn_whole(p, 3) != 0) {
        return NN_INVALID(p, "batchDims is %lld, only 0 is supported", (long long)nn_whole(p, 3));
    }
    if (x.rank == 0 && index.count == 1) {
        nn_broadcast(&x, z.rank, z.dims, &x);
        return z.count == 1 ? nn_move(p, &x, &z) : NN_INVALID(p, "out has %llu elements", (unsigned long long)z.count);
    }
    if (x.rank == 0 || (p->op->code && index.rank > 1)) {
        return NN_INVALID(p, "self has %llu dimensions, index has %llu", (unsigned long long)x.rank,
                          (unsigned long long)index.rank);
    }
    if (index.rank == 0 && z.rank == x.rank) {
        index = nn_unsqueezed(&index, 0);
    }
    return gather_rows(p, &x, axis, &index, &z);
}
NN_OPERATOR(IndexSelect, plan_gather_rows, .kernel = "GatherV2", .types = NN_MOVABLE, .code = 1)
NN_OPERATOR(GatherV2, plan_gather_rows, .kernel = "GatherV2", .types = NN_MOVABLE)
NN_OPERATOR(GatherV3, plan_gather_rows, .kernel = "GatherV2", .types = NN_MOVABLE)

/* (weight, indices, out) */
static aclnnStatus plan_embedding(struct nn_plan *p)
{
    struct nn_view weight, index, z;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &weight));
    NN_CHECK(nn_tensor(p, 1, NN_INDEX, &index));
    NN_CHECK(nn_tensor(p, 2, NN_MOVABLE, &z));
    if (weight.rank != 2) {
        return NN_INVALID(p, "weight has %llu dimensions, 2 are required", (unsigned long long)weight.rank);
    }
    return gather_rows(p, &weight, 0, &index, &z);
}
NN_OPERATOR(Embedding, plan_embedding, .kernel = "GatherV2", .types = NN_MOVABLE)

/* ---- elements ---- */

/* (self, dim, index, out) */
static aclnnStatus plan_gather(struct nn_plan *p)
{
    struct nn_view x, index, z;
    uint64_t axis;
    struct nn_index_call call = NN_INDEX_CALL;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    NN_CHECK(nn_tensor(p, 2, NN_INDEX, &index));
    NN_CHECK(nn_tensor(p, 3, NN_MOVABLE, &z));
    NN_CHECK(same_type(p, &x, &z));
    NN_CHECK(nn_axis(p, nn_whole(p, 1), x.rank, &axis));
    NN_CHECK(nn_expect_shape(p, "out", &z, index.rank, index.dims));
    x = x.rank == 0 ? nn_unsqueezed(&x, 0) : x;
    index = index.rank == 0 ? nn_unsqueezed(&index, 0) : index;
    z = z.rank == 0 ? nn_unsqueezed(&z, 0) : z;
    NN_CHECK(nn_index_elements(p, &call, &x, axis, &index));
    call.other = z;
    return nn_gather(p, p->op->kernel, &call);
}
NN_OPERATOR(Gather, plan_gather, .kernel = "GatherElements", .types = NN_MOVABLE)

/* (self, index, out): of self as one dimension. */
static aclnnStatus plan_take(struct nn_plan *p)
{
    struct nn_view x, index, z, dense;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    NN_CHECK(nn_tensor(p, 1, NN_INDEX, &index));
    NN_CHECK(nn_tensor(p, 2, NN_MOVABLE, &z));
    NN_CHECK(nn_dense_input(p, x.type, &x, &dense));
    const struct nn_view flat = nn_flat(&dense);
    return gather_rows(p, &flat, 0, &index, &z);
}
NN_OPERATOR(Take, plan_take, .kernel = "GatherV2", .types = NN_MOVABLE)

/* (self, indices, negativeIndexSupport, out): the last dimension of indices has a position of self. */
static aclnnStatus plan_gather_nd(struct nn_plan *p)
{
    struct nn_view x, index, z;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    NN_CHECK(nn_tensor(p, 1, NN_INDEX, &index));
    NN_CHECK(nn_tensor(p, 3, NN_MOVABLE, &z));
    NN_CHECK(same_type(p, &x, &z));
    struct nn_index_call call = NN_INDEX_CALL;
    NN_CHECK(nn_index_points(p, &call, &x, &index));
    NN_CHECK(nn_expect_shape(p, "out", &z, call.target.rank, call.target.dims));
    call.other = z;
    return nn_gather(p, p->op->kernel, &call);
}
NN_OPERATOR(GatherNd, plan_gather_nd, .kernel = "GatherNd", .types = NN_MOVABLE)

/* (self, indices, out) */
static aclnnStatus plan_index(struct nn_plan *p)
{
    struct nn_view x, z;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    NN_CHECK(nn_tensor(p, 2, NN_MOVABLE, &z));
    NN_CHECK(same_type(p, &x, &z));
    if (z.count == 0) {
        return ACLNN_SUCCESS;
    }
    struct nn_index_call call = NN_INDEX_CALL;
    NN_CHECK(nn_index_list(p, &call, &x, 1));
    NN_CHECK(nn_expect_shape(p, "out", &z, call.target.rank, call.target.dims));
    call.other = z;
    return nn_gather(p, p->op->kernel, &call);
}
NN_OPERATOR(Index, plan_index, .kernel = "Index", .types = NN_MOVABLE)

/* ---- repeats from a tensor ---- */

/* The index of every element, as often as `repeats` has it, in a vector of `size` values. */
static aclnnStatus repeat_index(struct nn_plan *p, const struct nn_view *repeats, uint64_t count, uint64_t size,
                                struct nn_view *index)
{
    if (repeats->rank > 1 || (repeats->count != count && repeats->count != 1)) {
        return NN_INVALID(p, "repeats has the shape %s, %llu elements are required",
                          nn_shape_text(repeats->rank, repeats->dims), (unsigned long long)count);
    }
    NN_CHECK(nn_workspace(p, ACL_INT64, 1, &size, index));
    const struct op_repeat_args args = {
        .type = repeats->type,
        .step = repeats->rank == 0 || repeats->count == 1 ? 0 : repeats->steps[0],
        .count = count,
        .room = size,
    };
    return size == 0 ? ACLNN_SUCCESS
                     : nn_launch(p, "RepeatIndex", &args, sizeof args,
                                 (const struct nn_address *[]){&repeats->address, &index->address,
                                                               &(const struct nn_address){.from = NN_NOWHERE}},
                                 3, 1);
}

/* (self, repeats, dim, outputSize, out), or without dim: of all elements in order. */
static aclnnStatus plan_repeat_interleave(struct nn_plan *p)
{
    struct nn_view x, repeats, z, index;
    uint64_t axis = 0;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    NN_CHECK(nn_tensor(p, 1, NN_INDEX, &repeats));
    NN_CHECK(nn_tensor(p, p->count - 1, NN_MOVABLE, &z));
    if (p->count == 4) {
        struct nn_view dense;
        NN_CHECK(nn_dense_input(p, x.type, &x, &dense));
        x = nn_flat(&dense);
    } else {
        x = x.rank == 0 ? nn_unsqueezed(&x, 0) : x;
        NN_CHECK(nn_axis(p, nn_whole(p, 2), x.rank, &axis));
    }
    if (z.rank != x.rank) {
        return NN_INVALID(p, "out has %llu dimensions, %llu are required", (unsigned long long)z.rank,
                          (unsigned long long)x.rank);
    }
    NN_CHECK(repeat_index(p, &repeats, x.dims[axis], z.dims[axis], &index));
    return gather_rows(p, &x, axis, &index, &z);
}
NN_OPERATOR(RepeatInterleave, plan_repeat_interleave, .kernel = "GatherV2", .types = NN_MOVABLE)
NN_OPERATOR(RepeatInterleaveWithDim, plan_repeat_interleave, .kernel = "GatherV2", .types = NN_MOVABLE)

/* (repeats, outputSize, out) */
static aclnnStatus plan_repeat_positions(struct nn_plan *p)
{
    struct nn_view repeats, z, index;
    NN_CHECK(nn_tensor(p, 0, NN_INDEX, &repeats));
    NN_CHECK(nn_tensor(p, 2, NN_INDEX, &z));
    NN_CHECK(nn_expect_shape(p, "out", &z, 1, &z.count));
    NN_CHECK(repeat_index(p, &repeats, repeats.count, z.count, &index));
    return nn_move(p, &index, &z);
}
NN_OPERATOR(RepeatInterleaveTensor, plan_repeat_positions, .types = NN_INDEX)

/* ---- masks ---- */

static aclnnStatus set_shape(struct nn_plan *p, const struct nn_view *dims, uint64_t at, uint64_t size)
{
    const struct nn_view one = nn_part(dims, 0, at, 1, 1);
    return nn_fill(p, "Fill", &one, &(const struct op_number){(double)size, (int64_t)size}, ACL_INT64);
}

/* (self, out); code 1: one row of positions per dimension instead of one per element. */
static aclnnStatus plan_nonzero(struct nn_plan *p)
{
    struct nn_view x, z, dims;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    NN_CHECK(nn_tensor(p, 1, NN_TYPE(ACL_INT64), &z));
    NN_CHECK(nn_workspace(p, ACL_INT64, 1, (const uint64_t[]){2}, &dims));
    if (x.count == 1 && x.rank == 0) { /* no positions, but one row if the element is not zero */
        const struct nn_view rows = nn_part(&dims, 0, p->op->code, 1, 1);
        x = nn_unsqueezed(&x, 0);
        const struct nn_map_input pair[] = {{.view = &x}, {.constant = {0, 0}}};
        NN_CHECK(nn_map(p, NN_MAP_KERNEL(NotEqual), x.type, pair, 2, NULL, 0, &rows));
        NN_CHECK(set_shape(p, &dims, !p->op->code, 0));
        return nn_shape_from_device(p, &z, &dims);
    }
    if (x.count == 0 || z.count == 0) {
        NN_CHECK(set_shape(p, &dims, p->op->code, 0));
        NN_CHECK(set_shape(p, &dims, !p->op->code, x.rank));
        return nn_shape_from_device(p, &z, &dims);
    }
    if (!nn_is_dense(&z)) {
        return NN_INVALID(p, "out is not contiguous");
    }
    struct op_select_args args = {.rank = x.rank, .by_dimension = p->op->code, .room = z.count};
    memcpy(args.dims, x.dims, sizeof args.dims);
    nn_tile(&args.loop, (struct op_side *[]){&args.mask_side}, (const struct nn_view *[]){&x}, 1);
    NN_CHECK(nn_launch(p, "NonZero", &args, sizeof args,
                       (const struct nn_address *[]){&x.address, &x.address, &z.address, &dims.address}, 4, 1));
    return nn_shape_from_device(p, &z, &dims);
}
NN_OPERATOR(Nonzero, plan_nonzero, .types = NN_MOVABLE)
NN_OPERATOR(NonzeroV2, plan_nonzero, .types = NN_MOVABLE, .code = 1)

static aclnnStatus broadcast_both(struct nn_plan *p, struct nn_view *x, struct nn_view *mask)
{
    struct nn_view shape = {0};
    if (!nn_common_shape(x, mask, &shape.rank, shape.dims)) {
        return NN_INVALID(p, "self %s and mask %s do not broadcast", nn_shape_text(x->rank, x->dims),
                          nn_shape_text(mask->rank, mask->dims));
    }
    nn_broadcast(x, shape.rank, shape.dims, x);
    nn_broadcast(mask, shape.rank, shape.dims, mask);
    return ACLNN_SUCCESS;
}

/* (self, mask, out) */
static aclnnStatus plan_masked_select(struct nn_plan *p)
{
    struct nn_view x, mask, z, dims;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    NN_CHECK(nn_tensor(p, 1, NN_MASK, &mask));
    NN_CHECK(nn_tensor(p, 2, NN_MOVABLE, &z));
    NN_CHECK(same_type(p, &x, &z));
    NN_CHECK(broadcast_both(p, &x, &mask));
    NN_CHECK(nn_workspace(p, ACL_INT64, 1, (const uint64_t[]){1}, &dims));
    if (z.rank != 1 || !nn_is_dense(&z)) {
        return NN_INVALID(p, "out must be contiguous and have one dimension, its shape is %s",
                          nn_shape_text(z.rank, z.dims));
    }
    if (x.count == 0 || z.count == 0) {
        NN_CHECK(set_shape(p, &dims, 0, 0));
        return nn_shape_from_device(p, &z, &dims);
    }
    struct op_select_args args = {.room = z.count, .z_side.type = z.type};
    nn_tile(&args.loop, (struct op_side *[]){&args.mask_side, &args.x_side}, (const struct nn_view *[]){&mask, &x}, 2);
    NN_CHECK(nn_launch(p, p->op->kernel, &args, sizeof args,
                       (const struct nn_address *[]){&mask.address, &x.address, &z.address, &dims.address}, 4, 1));
    return nn_shape_from_device(p, &z, &dims);
}
NN_OPERATOR(MaskedSelect, plan_masked_select, .kernel = "MaskedSelectV3", .types = NN_MOVABLE)

/* (selfRef, mask, source) */
static aclnnStatus plan_masked_scatter(struct nn_plan *p)
{
    struct nn_view z, mask, source, dense;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &z));
    NN_CHECK(nn_tensor(p, 1, NN_MASK, &mask));
    NN_CHECK(nn_tensor(p, 2, NN_MOVABLE, &source));
    if (!nn_broadcast(&mask, z.rank, z.dims, &mask)) {
        return NN_INVALID(p, "mask %s does not broadcast to selfRef %s", nn_shape_text(mask.rank, mask.dims),
                          nn_shape_text(z.rank, z.dims));
    }
    if (z.count == 0 || source.count == 0) {
        return ACLNN_SUCCESS;
    }
    NN_CHECK(nn_dense_input(p, z.type, &source, &dense));
    struct op_select_args args = {.room = dense.count, .x_side.type = z.type};
    nn_tile(&args.loop, (struct op_side *[]){&args.mask_side, &args.z_side}, (const struct nn_view *[]){&mask, &z}, 2);
    return nn_launch(p, p->op->kernel, &args, sizeof args,
                     (const struct nn_address *[]){&mask.address, &dense.address, &z.address,
                                                   &(const struct nn_address){.from = NN_NOWHERE}},
                     4, 1);
}
NN_OPERATOR(InplaceMaskedScatter, plan_masked_scatter, .kernel = "MaskedScatter", .types = NN_MOVABLE)
