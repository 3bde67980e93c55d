/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that change elements at positions given by index tensors. */
#include "softnpu/aclnn/operators/index.h"
#include "softnpu/aclnn/operators/layout.h"
#include "softnpu/aclnn/operators/map.h"

#include <math.h>

enum { REDUCE_MEAN = OP_INDEX_MODES }; /* a mode of ScatterReduce beside those of the engine */

/* The tensor that is changed: selfRef itself (z is parameter 0), or out after self was copied to it. */
static aclnnStatus take_target(struct nn_plan *p, uint32_t out, struct nn_view *z)
{
    struct nn_view x;
    NN_CHECK(nn_tensor(p, 0, p->op->types, &x));
    NN_CHECK(nn_tensor(p, out, p->op->types, z));
    NN_CHECK(nn_expect_shape(p, "out", z, x.rank, x.dims));
    if (x.type != z->type) {
        return NN_INVALID(p, "self has the type %s, out %s", nn_type_name(x.type), nn_type_name(z->type));
    }
    return out != 0 ? nn_move(p, &x, z) : ACLNN_SUCCESS;
}

/* ---- elements: Scatter and its siblings ---- */

/* The part of src that the index covers. */
static aclnnStatus cover(struct nn_plan *p, const struct nn_view *index, struct nn_view *src)
{
    bool fits = src->rank == index->rank;
    for (uint64_t i = 0; i < index->rank && fits; i++) {
        fits = index->dims[i] <= src->dims[i] || index->count == 0;
    }
    if (!fits) {
        return NN_INVALID(p, "index %s is larger than src %s", nn_shape_text(index->rank, index->dims),
                          nn_shape_text(src->rank, src->dims));
    }
    for (uint64_t i = 0; i < index->rank; i++) {
        src->dims[i] = index->dims[i];
    }
    src->count = index->count;
    return ACLNN_SUCCESS;
}

static struct op_number identity_of(enum op_index_mode mode, aclDataType type)
{
    const double most = type == ACL_BOOL ? 1 : INFINITY, least = type == ACL_BOOL ? 0 : -INFINITY;
    const double value = mode == OP_INDEX_MUL ? 1 : mode == OP_INDEX_MAX ? least : mode == OP_INDEX_MIN ? most : 0;
    return (struct op_number){value, isfinite(value) ? (int64_t)value : 0};
}

/* z / max(counts, 1) */
static aclnnStatus divide(struct nn_plan *p, const struct nn_view *z, const struct nn_view *counts)
{
    const struct nn_map_input least[] = {{.view = counts}, {.constant = {1, 1}}};
    NN_CHECK(nn_map(p, NN_MAP_KERNEL(Maximum), ACL_FLOAT, least, 2, NULL, 0, counts));
    const struct nn_map_input parts[] = {{.view = z}, {.view = counts}};
    return nn_map(p, NN_MAP_KERNEL(RealDiv), z->type, parts, 2, NULL, 0, z);
}

/* src is NULL: the constant of the call. */
static aclnnStatus scatter_elements(struct nn_plan *p, const struct nn_view *target, uint64_t axis,
                                    struct nn_view index, const struct nn_view *src, const struct op_number *constant,
                                    int64_t mode, bool include_self)
{
    struct nn_index_call call = NN_INDEX_CALL;
    struct nn_view z, counts;
    const bool mean = mode == REDUCE_MEAN;
    if (mode < 0 || mode > REDUCE_MEAN) {
        return NN_INVALID(p, "reduce is %lld, 0 to %d are possible", (long long)mode, REDUCE_MEAN);
    }
    call.mode = mean ? OP_INDEX_ADD : (enum op_index_mode)mode;
    NN_CHECK(nn_accumulator(p, call.mode, target, &z));
    const struct nn_view whole = z.rank == 0 ? nn_unsqueezed(&z, 0) : z;
    index = index.rank == 0 ? nn_unsqueezed(&index, 0) : index;
    NN_CHECK(nn_index_elements(p, &call, &whole, axis, &index));
    if (mean) {
        NN_CHECK(nn_workspace(p, ACL_FLOAT, whole.rank, whole.dims, &counts));
        const struct op_number first = {include_self, include_self};
        NN_CHECK(nn_fill(p, "Fill", &counts, &first, ACL_INT64));
        struct nn_index_call count = NN_INDEX_CALL;
        count.mode = OP_INDEX_ADD;
        count.constant = (struct op_number){1, 1};
        NN_CHECK(nn_index_elements(p, &count, &counts, axis, &index));
        NN_CHECK(nn_scatter(p, p->op->kernel, &count));
    }
    if (!include_self && call.mode != OP_INDEX_SET) {
        struct nn_index_call clear = call;
        clear.mode = OP_INDEX_SET;
        clear.constant = identity_of(call.mode, z.type);
        NN_CHECK(nn_scatter(p, p->op->kernel, &clear));
    }
    if (src != NULL) {
        struct nn_view values;
        NN_CHECK(nn_as_type(p, z.type, src, &values));
        call.other = values.rank == 0 ? nn_unsqueezed(&values, 0) : values;
        NN_CHECK(cover(p, &index, &call.other));
    } else {
        call.constant = *constant;
    }
    NN_CHECK(nn_scatter(p, p->op->kernel, &call));
    if (mean) {
        NN_CHECK(divide(p, &whole, &counts));
    }
    return nn_accumulator_done(p, &z, target);
}

/* Which parameters an operator has beside self, dim and index. */
enum { HAS_OUT = 1, HAS_VALUE = 2, HAS_REDUCE = 4, HAS_INCLUDE = 8 };

/* (self, dim, index, src or value, reduce, includeSelf, out) */
static aclnnStatus plan_scatter(struct nn_plan *p)
{
    const uint32_t flags = p->op->flags;
    struct nn_view z, index, src;
    struct op_number value = {0, 0};
    aclDataType type;
    uint64_t axis;
    NN_CHECK(nn_tensor(p, 2, NN_INDEX, &index));
    if (flags & HAS_VALUE) {
        NN_CHECK(nn_scalar(p, 3, NN_MOVABLE, &value, &type));
    } else {
        NN_CHECK(nn_tensor(p, 3, NN_MOVABLE, &src));
    }
    NN_CHECK(take_target(p, flags & HAS_OUT ? p->count - 1 : 0, &z));
    NN_CHECK(nn_axis(p, nn_whole(p, 1), z.rank, &axis));
    const int64_t mode = flags & HAS_REDUCE ? nn_whole(p, 4) : OP_INDEX_ADD;
    if (mode == REDUCE_MEAN && !(flags & HAS_INCLUDE)) {
        return NN_INVALID(p, "reduce is %lld", (long long)mode);
    }
    return index.count == 0 ? ACLNN_SUCCESS
                            : scatter_elements(p, &z, axis, index, flags & HAS_VALUE ? NULL : &src, &value, mode,
                                               flags & HAS_INCLUDE ? nn_whole(p, 5) : true);
}
#define NN_SCATTER(name, flag_bits)                                                                                    \
    NN_OPERATOR(name, plan_scatter, .kernel = "ScatterElementsV2", .types = NN_MOVABLE, .flags = flag_bits)
NN_SCATTER(Scatter, HAS_REDUCE | HAS_OUT)
NN_SCATTER(ScatterValue, HAS_VALUE | HAS_REDUCE | HAS_OUT)
NN_SCATTER(ScatterAdd, HAS_OUT)
NN_SCATTER(ScatterReduce, HAS_REDUCE | HAS_INCLUDE | HAS_OUT)
NN_SCATTER(InplaceScatter, HAS_REDUCE)
NN_SCATTER(InplaceScatterValue, HAS_VALUE | HAS_REDUCE)
NN_SCATTER(InplaceScatterReduce, HAS_REDUCE | HAS_INCLUDE)

/* ---- rows: IndexAdd and its siblings ---- */

static aclnnStatus scatter_rows(struct nn_plan *p, const struct nn_view *target, int64_t dim, struct nn_view index,
                                const struct nn_view *src, const struct op_number *number, enum op_index_mode mode)
{
    struct nn_index_call call = NN_INDEX_CALL;
    struct nn_view z;
    uint64_t axis;
    NN_CHECK(nn_axis(p, dim, target->rank, &axis));
    NN_CHECK(nn_accumulator(p, mode, target, &z));
    const struct nn_view whole = z.rank == 0 ? nn_unsqueezed(&z, 0) : z;
    if (index.rank > 1) {
        return NN_INVALID(p, "index has %llu dimensions, one is possible", (unsigned long long)index.rank);
    }
    index = index.rank == 0 ? nn_unsqueezed(&index, 0) : index;
    NN_CHECK(nn_index_rows(p, &call, &whole, axis, &index));
    call.mode = mode;
    if (src != NULL) {
        struct nn_view values;
        NN_CHECK(nn_as_type(p, z.type, src, &values));
        values = values.rank == 0 ? nn_unsqueezed(&values, 0) : values;
        NN_CHECK(nn_expect_shape(p, "source", &values, call.target.rank, call.target.dims));
        call.other = values;
        call.alpha = number != NULL ? *number : call.alpha;
    } else {
        call.constant = *number;
    }
    NN_CHECK(nn_scatter(p, p->op->kernel, &call));
    return nn_accumulator_done(p, &z, target);
}

/* (self, dim, index, source, alpha, ..., out) */
static aclnnStatus plan_index_add(struct nn_plan *p)
{
    struct nn_view z, index, src;
    struct op_number alpha;
    aclDataType type;
    NN_CHECK(nn_tensor(p, 2, NN_INDEX, &index));
    NN_CHECK(nn_tensor(p, 3, p->op->types, &src));
    NN_CHECK(nn_scalar(p, 4, NN_MOVABLE, &alpha, &type));
    NN_CHECK(take_target(p, p->count - 1, &z));
    return scatter_rows(p, &z, nn_whole(p, 1), index, &src, &alpha, OP_INDEX_ADD);
}
NN_OPERATOR(IndexAdd, plan_index_add, .kernel = "InplaceIndexAdd", .types = NN_ARITHMETIC)
NN_OPERATOR(IndexAddV2, plan_index_add, .kernel = "InplaceIndexAdd", .types = NN_ARITHMETIC)

/* (selfRef, dim, index, source), with out for IndexCopy */
static aclnnStatus plan_index_copy(struct nn_plan *p)
{
    struct nn_view z, index, src;
    NN_CHECK(nn_tensor(p, 2, NN_INDEX, &index));
    NN_CHECK(nn_tensor(p, 3, NN_MOVABLE, &src));
    NN_CHECK(take_target(p, p->count == 5 ? 4 : 0, &z));
    return scatter_rows(p, &z, nn_whole(p, 1), index, &src, NULL, OP_INDEX_SET);
}
NN_OPERATOR(IndexCopy, plan_index_copy, .kernel = "ScatterUpdate", .types = NN_MOVABLE)
NN_OPERATOR(InplaceIndexCopy, plan_index_copy, .kernel = "ScatterUpdate", .types = NN_MOVABLE)

/* (self, dim, index, value, out), without out in place */
static aclnnStatus plan_index_fill(struct nn_plan *p)
{
    struct nn_view z, index;
    struct op_number value;
    aclDataType type;
    NN_CHECK(nn_tensor(p, 2, NN_INDEX, &index));
    NN_CHECK(nn_scalar(p, 3, NN_MOVABLE, &value, &type));
    NN_CHECK(take_target(p, p->count == 5 ? 4 : 0, &z));
    return scatter_rows(p, &z, nn_whole(p, 1), index, NULL, &value, OP_INDEX_SET);
}
NN_OPERATOR(IndexFill, plan_index_fill, .kernel = "IndexFill", .types = NN_MOVABLE)
NN_OPERATOR(InplaceIndexFill, plan_index_fill, .kernel = "IndexFill", .types = NN_MOVABLE)

/* The same with indices that the host knows. */
static aclnnStatus plan_index_fill_known(struct nn_plan *p)
{
    struct nn_view z;
    struct op_number value;
    aclDataType type;
    const int64_t *index;
    uint64_t count, axis;
    NN_CHECK(nn_ints(p, 2, &index, &count));
    NN_CHECK(nn_scalar(p, 3, NN_MOVABLE, &value, &type));
    NN_CHECK(take_target(p, p->count == 5 ? 4 : 0, &z));
    NN_CHECK(nn_axis(p, nn_whole(p, 1), z.rank, &axis));
    z = z.rank == 0 ? nn_unsqueezed(&z, 0) : z;
    const int64_t size = (int64_t)z.dims[axis];
    for (uint64_t i = 0; i < count; i++) {
        if (index[i] < -size || index[i] >= size) {
            return NN_INVALID(p, "index %lld is out of range for %lld elements", (long long)index[i], (long long)size);
        }
        const struct nn_view one = nn_part(&z, axis, (uint64_t)(index[i] + (index[i] < 0 ? size : 0)), 1, 1);
        NN_CHECK(nn_fill(p, "Fill", &one, &value, type));
    }
    return ACLNN_SUCCESS;
}
NN_OPERATOR(IndexFillTensor, plan_index_fill_known, .types = NN_MOVABLE)
NN_OPERATOR(InplaceIndexFillTensor, plan_index_fill_known, .types = NN_MOVABLE)

/* (grad, indices, numWeights, paddingIdx, scaleGradByFreq, out) */
static aclnnStatus plan_embedding_backward(struct nn_plan *p)
{
    struct nn_view grad, index, out, z, values, counts;
    NN_CHECK(nn_tensor(p, 0, p->op->types, &grad));
    NN_CHECK(nn_tensor(p, 1, NN_INDEX, &index));
    NN_CHECK(nn_tensor(p, 5, p->op->types, &out));
    if (out.rank != 2 || out.dims[0] != (uint64_t)nn_whole(p, 2) || grad.rank == 0) {
        return NN_INVALID(p, "out has the shape %s for %lld weights", nn_shape_text(out.rank, out.dims),
                          (long long)nn_whole(p, 2));
    }
    const struct op_number zero = {0, 0};
    const aclDataType type = out.type == ACL_DOUBLE ? ACL_DOUBLE : ACL_FLOAT;
    if (out.type == type) {
        z = out;
    } else {
        NN_CHECK(nn_workspace(p, type, out.rank, out.dims, &z));
    }
    NN_CHECK(nn_fill(p, "ZerosLike", &z, &zero, ACL_INT64));
    struct nn_index_call call = NN_INDEX_CALL;
    NN_CHECK(nn_index_rows(p, &call, &z, 0, &index));
    NN_CHECK(nn_as_type(p, type, &grad, &values));
    NN_CHECK(nn_expect_shape(p, "grad", &values, call.target.rank, call.target.dims));
    call.other = values;
    call.mode = OP_INDEX_ADD;
    call.skip = nn_whole(p, 3) >= 0 ? nn_whole(p, 3) : call.skip;
    NN_CHECK(nn_scatter(p, p->op->kernel, &call));
    if (nn_whole(p, 4)) {
        struct nn_index_call count = NN_INDEX_CALL;
        NN_CHECK(nn_workspace(p, ACL_FLOAT, 1, out.dims, &counts));
        NN_CHECK(nn_fill(p, "ZerosLike", &counts, &zero, ACL_INT64));
        NN_CHECK(nn_index_rows(p, &count, &counts, 0, &index));
        count.mode = OP_INDEX_ADD;
        count.constant = (struct op_number){1, 1};
        NN_CHECK(nn_scatter(p, p->op->kernel, &count));
        counts = nn_unsqueezed(&counts, 1);
        const struct nn_map_input least[] = {{.view = &counts}, {.constant = {1, 1}}};
        NN_CHECK(nn_map(p, NN_MAP_KERNEL(Maximum), ACL_FLOAT, least, 2, NULL, 0, &counts));
        nn_broadcast(&counts, z.rank, z.dims, &counts);
        const struct nn_map_input parts[] = {{.view = &z}, {.view = &counts}};
        NN_CHECK(nn_map(p, NN_MAP_KERNEL(RealDiv), type, parts, 2, NULL, 0, &z));
    }
    return nn_accumulator_done(p, &z, &out);
}
NN_OPERATOR(EmbeddingDenseBackward, plan_embedding_backward, .kernel = "EmbeddingDenseGrad", .types = NN_REALS)

/* ---- points ---- */

static aclnnStatus scatter_points(struct nn_plan *p, const struct nn_view *z, const struct nn_view *index,
                                  const struct nn_view *updates)
{
    struct nn_index_call call = NN_INDEX_CALL;
    struct nn_view values;
    NN_CHECK(nn_index_points(p, &call, z, index));
    NN_CHECK(nn_as_type(p, z->type, updates, &values));
    NN_CHECK(nn_expect_shape(p, "updates", &values, call.target.rank, call.target.dims));
    call.other = values;
    return nn_scatter(p, p->op->kernel, &call);
}

/* (data, indices, updates, out), without out in place */
static aclnnStatus plan_scatter_nd(struct nn_plan *p)
{
    struct nn_view z, index, updates;
    NN_CHECK(nn_tensor(p, 1, NN_INDEX, &index));
    NN_CHECK(nn_tensor(p, 2, NN_MOVABLE, &updates));
    NN_CHECK(take_target(p, p->count == 4 ? 3 : 0, &z));
    return scatter_points(p, &z, &index, &updates);
}
NN_OPERATOR(ScatterNd, plan_scatter_nd, .kernel = "ScatterNdUpdate", .types = NN_MOVABLE)
NN_OPERATOR(ScatterNdUpdate, plan_scatter_nd, .kernel = "ScatterNdUpdate", .types = NN_MOVABLE)

/* Whether every index of the list is empty. An empty index next to others means a dimension without index; if there is
 * nothing else, it comes from a mask that selects nothing. */
static aclnnStatus selects_nothing(struct nn_plan *p, uint32_t param, bool *nothing)
{
    uint64_t count, elements = 0;
    NN_CHECK(nn_list(p, param, &count));
    for (uint64_t i = 0; i < count; i++) {
        struct nn_view index;
        NN_CHECK(nn_list_tensor(p, param, i, NN_MOVABLE, &index));
        elements += index.count;
    }
    *nothing = count > 0 && elements == 0;
    return ACLNN_SUCCESS;
}

/* (selfRef, indices, values, accumulate, unsafe) */
static aclnnStatus plan_index_put(struct nn_plan *p)
{
    bool nothing;
    struct nn_view target, z, src, values;
    struct nn_index_call call = NN_INDEX_CALL;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &target));
    NN_CHECK(nn_tensor(p, 2, NN_MOVABLE, &src));
    NN_CHECK(selects_nothing(p, 1, &nothing));
    if (target.count == 0 || src.count == 0 || nothing) {
        return ACLNN_SUCCESS;
    }
    call.mode = nn_whole(p, 3) ? OP_INDEX_ADD : OP_INDEX_SET;
    NN_CHECK(nn_accumulator(p, call.mode, &target, &z));
    NN_CHECK(nn_index_list(p, &call, &z, 1));
    NN_CHECK(nn_as_type(p, z.type, &src, &values));
    if (!nn_broadcast(&values, call.target.rank, call.target.dims, &call.other)) {
        return NN_INVALID(p, "values %s do not broadcast to the selected elements, %s",
                          nn_shape_text(src.rank, src.dims), nn_shape_text(call.target.rank, call.target.dims));
    }
    NN_CHECK(nn_scatter(p, p->op->kernel, &call));
    return nn_accumulator_done(p, &z, &target);
}
NN_OPERATOR(IndexPutImpl, plan_index_put, .kernel = "IndexPutV2", .types = NN_MOVABLE)

/* (selfRef, index, source, accumulate): of selfRef as one dimension. */
static aclnnStatus plan_put(struct nn_plan *p)
{
    struct nn_view target, index, src, z, values, flat_index, dense;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &target));
    NN_CHECK(nn_tensor(p, 1, NN_INDEX, &index));
    NN_CHECK(nn_tensor(p, 2, NN_MOVABLE, &src));
    if (index.count != src.count) {
        return NN_INVALID(p, "index has %llu elements, source %llu", (unsigned long long)index.count,
                          (unsigned long long)src.count);
    }
    struct nn_index_call call = NN_INDEX_CALL;
    call.mode = nn_whole(p, 3) ? OP_INDEX_ADD : OP_INDEX_SET;
    const bool half = target.type == ACL_FLOAT16 || target.type == ACL_BF16;
    NN_CHECK(nn_dense_input(p, half && call.mode == OP_INDEX_ADD ? ACL_FLOAT : target.type, &target, &z));
    NN_CHECK(nn_dense_input(p, z.type, &src, &dense));
    NN_CHECK(nn_dense_input(p, index.type, &index, &flat_index));
    const struct nn_view flat = nn_flat(&z);
    flat_index = nn_flat(&flat_index);
    values = nn_flat(&dense);
    NN_CHECK(nn_index_rows(p, &call, &flat, 0, &flat_index));
    call.other = values;
    NN_CHECK(nn_scatter(p, p->op->kernel, &call));
    return nn_dense_output_done(p, &z, &target);
}
NN_OPERATOR(InplacePut, plan_put, .kernel = "ScatterNdUpdate", .types = NN_MOVABLE)

/* (data, indices, updates, axis): updates[b] goes to data[b] from indices[b] on along axis; with two columns, to data at
 * the batch of the first column. */
static aclnnStatus plan_scatter_update(struct nn_plan *p)
{
    struct nn_view z, index, updates, values;
    uint64_t axis;
    struct nn_index_call call = NN_INDEX_CALL;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &z));
    NN_CHECK(nn_tensor(p, 1, NN_INDEX, &index));
    NN_CHECK(nn_tensor(p, 2, NN_MOVABLE, &updates));
    NN_CHECK(nn_axis(p, nn_whole(p, 3), z.rank, &axis));
    const bool pairs = index.rank == 2;
    bool fits = z.rank == updates.rank && z.rank >= 2 && axis > 0 &&
                (index.rank == 1 || (pairs && index.dims[1] == 2)) && index.dims[0] == updates.dims[0];
    for (uint64_t i = 0; i < z.rank && fits; i++) {
        fits = updates.dims[i] == z.dims[i] || (updates.dims[i] < z.dims[i] && (i == axis || i == 0));
    }
    if (!fits) {
        return NN_INVALID(p, "indices %s and updates %s do not fit to data %s", nn_shape_text(index.rank, index.dims),
                          nn_shape_text(updates.rank, updates.dims), nn_shape_text(z.rank, z.dims));
    }
    NN_CHECK(nn_as_type(p, z.type, &updates, &values));
    call.target = values;
    call.target.type = z.type;
    call.target.address = z.address;
    for (uint64_t i = 0; i < z.rank; i++) {
        call.target.steps[i] = pairs && i == 0 ? 0 : z.steps[i];
    }
    call.other = values;
    for (uint64_t column = 0; column < (pairs ? 2 : 1); column++) {
        struct nn_view at = pairs ? nn_pick(&index, 1, column) : index;
        const bool batch = pairs && column == 0;
        const int64_t step = at.steps[0];
        struct nn_view *position = &call.index[call.count];
        *position = values;
        position->type = at.type;
        position->address = at.address;
        for (uint64_t i = 0; i < z.rank; i++) {
            position->steps[i] = i == 0 ? step : 0;
        }
        call.limit[call.count] = batch ? (int64_t)z.dims[0] : (int64_t)(z.dims[axis] - updates.dims[axis] + 1);
        call.stride[call.count++] = z.steps[batch ? 0 : axis];
    }
    return nn_scatter(p, p->op->kernel, &call);
}
NN_OPERATOR(InplaceScatterUpdate, plan_scatter_update, .kernel = "ScatterUpdate", .types = NN_MOVABLE)
