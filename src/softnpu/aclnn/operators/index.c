/* SPDX-License-Identifier: Apache-2.0 */
/* The plan side of the index engine. */
#include "softnpu/aclnn/operators/index.h"

#include "softnpu/aclnn/operators/layout.h"

#include <string.h>

/* The dimensions of a view for which `chosen` is set, or all others. */
static struct nn_view some_dims(const struct nn_view *view, const bool *chosen, bool wanted)
{
    struct nn_view part = *view;
    part.rank = 0;
    for (uint64_t i = 0; i < view->rank; i++) {
        if (chosen[i] == wanted) {
            part.dims[part.rank] = view->dims[i];
            part.steps[part.rank++] = view->steps[i];
        }
    }
    return part;
}

static void tile_part(const struct nn_index_call *call, struct op_index_args *args, const bool *serial, bool wanted)
{
    struct nn_view views[OP_INDICES + 2];
    const struct nn_view *all[OP_INDICES + 2];
    struct op_side unused = {0}, *sides[OP_INDICES + 2];
    uint32_t count = 0;
    views[count] = some_dims(&call->target, serial, wanted);
    sides[count++] = wanted ? &unused : &args->target_side;
    for (uint32_t k = 0; k < call->count; k++) {
        views[count] = some_dims(&call->index[k], serial, wanted);
        sides[count++] = wanted ? &args->index_serial[k] : &args->index_side[k];
    }
    if (nn_is_there(&call->other)) {
        views[count] = some_dims(&call->other, serial, wanted);
        sides[count++] = wanted ? &args->other_serial : &args->other_side;
    }
    for (uint32_t i = 0; i < count; i++) {
        all[i] = &views[i];
    }
    nn_tile(wanted ? &args->serial : &args->loop, sides, all, count);
}

static aclnnStatus launch(struct nn_plan *p, const char *kernel, const struct nn_index_call *call, const bool *serial)
{
    static const struct nn_address nowhere = {.from = NN_NOWHERE};
    const struct nn_address *addresses[OP_INDICES + 2];
    struct op_index_args args = {
        .count = call->count,
        .mode = call->mode,
        .constant = call->constant,
        .alpha = call->alpha,
        .skip = call->skip,
    };
    uint64_t positions = 1;
    for (uint64_t i = 0; i < call->target.rank; i++) {
        positions *= call->target.dims[i];
    }
    if (positions == 0) {
        return ACLNN_SUCCESS;
    }
    memcpy(args.limit, call->limit, sizeof args.limit);
    memcpy(args.stride, call->stride, sizeof args.stride);
    tile_part(call, &args, serial, false);
    tile_part(call, &args, serial, true);
    addresses[0] = &call->target.address;
    addresses[1] = nn_is_there(&call->other) ? &call->other.address : &nowhere;
    for (uint32_t k = 0; k < OP_INDICES; k++) {
        addresses[2 + k] = k < call->count ? &call->index[k].address : &nowhere;
    }
    return nn_launch(p, kernel, &args, sizeof args, addresses, OP_INDICES + 2, positions);
}

aclnnStatus nn_gather(struct nn_plan *p, const char *kernel, const struct nn_index_call *call)
{
    const bool none[NN_DIMS] = {false};
    return launch(p, kernel, call, none);
}

aclnnStatus nn_scatter(struct nn_plan *p, const char *kernel, const struct nn_index_call *call)
{
    bool serial[NN_DIMS];
    for (uint64_t i = 0; i < call->target.rank; i++) {
        serial[i] = call->target.steps[i] == 0;
    }
    return launch(p, kernel, call, serial);
}

aclnnStatus nn_index_rows(struct nn_plan *p, struct nn_index_call *call, const struct nn_view *target, uint64_t axis,
                          const struct nn_view *index)
{
    const uint64_t rank = target->rank - 1 + index->rank;
    if (rank > NN_DIMS) {
        return NN_INVALID(p, "the result would have %llu dimensions, at most %d are supported",
                          (unsigned long long)rank, NN_DIMS);
    }
    struct nn_view rows = *target, at = *index;
    rows.rank = at.rank = rank;
    rows.count = 1;
    for (uint64_t i = 0; i < rank; i++) {
        const bool inside = i >= axis && i < axis + index->rank;
        const uint64_t from = i < axis ? i : i - index->rank + 1;
        rows.dims[i] = at.dims[i] = inside ? index->dims[i - axis] : target->dims[from];
        rows.steps[i] = inside ? 0 : target->steps[from];
        at.steps[i] = inside ? index->steps[i - axis] : 0;
        rows.count *= rows.dims[i];
    }
    at.count = rows.count;
    call->target = rows;
    call->index[call->count] = at;
    call->limit[call->count] = (int64_t)target->dims[axis];
    call->stride[call->count++] = target->steps[axis];
    return ACLNN_SUCCESS;
}

aclnnStatus nn_index_elements(struct nn_plan *p, struct nn_index_call *call, const struct nn_view *target,
                              uint64_t axis, const struct nn_view *index)
{
    if (index->rank != target->rank) {
        return NN_INVALID(p, "index has %llu dimensions, self has %llu", (unsigned long long)index->rank,
                          (unsigned long long)target->rank);
    }
    call->target = *target;
    call->target.count = index->count;
    for (uint64_t i = 0; i < target->rank; i++) {
        if (i != axis && index->dims[i] > target->dims[i] && index->count > 0) {
            return NN_INVALID(p, "index %s is larger than self %s", nn_shape_text(index->rank, index->dims),
                              nn_shape_text(target->rank, target->dims));
        }
        call->target.dims[i] = index->dims[i];
    }
    call->target.steps[axis] = 0;
    call->index[call->count] = *index;
    call->limit[call->count] = (int64_t)target->dims[axis];
    call->stride[call->count++] = target->steps[axis];
    return ACLNN_SUCCESS;
}

aclnnStatus nn_index_points(struct nn_plan *p, struct nn_index_call *call, const struct nn_view *target,
                            const struct nn_view *index)
{
    const uint64_t points = index->rank > 0 ? index->rank - 1 : 0, width = index->rank > 0 ? index->dims[points] : 0;
    if (index->rank == 0 || width == 0 || width > target->rank || points + target->rank - width > NN_DIMS) {
        return NN_INVALID(p, "indices have the shape %s, the data %s", nn_shape_text(index->rank, index->dims),
                          nn_shape_text(target->rank, target->dims));
    }
    struct nn_view *rows = &call->target;
    *rows = *target;
    rows->rank = points + target->rank - width;
    for (uint64_t i = 0; i < rows->rank; i++) {
        rows->dims[i] = i < points ? index->dims[i] : target->dims[i - points + width];
        rows->steps[i] = i < points ? 0 : target->steps[i - points + width];
    }
    for (uint64_t k = 0; k < width; k++) {
        struct nn_view at = nn_pick(index, points, k);
        for (uint64_t i = points; i < rows->rank; i++) {
            at.dims[i] = rows->dims[i];
            at.steps[i] = 0;
        }
        at.rank = rows->rank;
        call->index[call->count] = at;
        call->limit[call->count] = (int64_t)target->dims[k];
        call->stride[call->count++] = target->steps[k];
    }
    return ACLNN_SUCCESS;
}

/* The members of the list, and which dimensions they index. */
static aclnnStatus take_indices(struct nn_plan *p, uint32_t param, const struct nn_view *target, struct nn_view *index,
                                bool *indexed, struct nn_view *shape)
{
    uint64_t count;
    NN_CHECK(nn_list(p, param, &count));
    if (count > target->rank) {
        return NN_INVALID(p, "%llu indices for %llu dimensions", (unsigned long long)count,
                          (unsigned long long)target->rank);
    }
    for (uint64_t i = 0; i < count; i++) {
        NN_CHECK(nn_list_tensor(p, param, i, NN_MOVABLE, &index[i]));
        indexed[i] = index[i].count > 0;
        if (indexed[i] && index[i].type != ACL_INT64 && index[i].type != ACL_INT32) {
            return NN_INVALID(p, "index %llu has the type %s; INT32 and INT64 are supported", (unsigned long long)i,
                              nn_type_name(index[i].type));
        }
        if (indexed[i] && !nn_common_shape(shape, &index[i], &shape->rank, shape->dims)) {
            return NN_INVALID(p, "the shapes of the indices do not broadcast");
        }
    }
    return ACLNN_SUCCESS;
}

aclnnStatus nn_index_list(struct nn_plan *p, struct nn_index_call *call, const struct nn_view *target, uint32_t param)
{
    struct nn_view index[NN_DIMS], shape = {0};
    bool indexed[NN_DIMS] = {false};
    NN_CHECK(take_indices(p, param, target, index, indexed, &shape));
    /* The broadcast dimensions are where the first index is, or first if the indexed dimensions are not adjacent. */
    uint64_t first = target->rank, last = 0, chosen = 0;
    for (uint64_t i = 0; i < target->rank; i++) {
        if (indexed[i]) {
            first = first < i ? first : i;
            last = i;
            chosen++;
        }
    }
    const uint64_t before = chosen == 0 || last - first + 1 != chosen ? 0 : first;
    struct nn_view *rows = &call->target;
    *rows = *target;
    if (shape.rank + target->rank - chosen > NN_DIMS) {
        return NN_INVALID(p, "the result would have more than %d dimensions", NN_DIMS);
    }
    for (uint64_t i = 0; i < before + shape.rank; i++) {
        rows->dims[i] = i < before ? target->dims[i] : shape.dims[i - before];
        rows->steps[i] = i < before ? target->steps[i] : 0;
    }
    rows->rank = before + shape.rank;
    for (uint64_t i = before; i < target->rank; i++) {
        if (!indexed[i]) {
            rows->dims[rows->rank] = target->dims[i];
            rows->steps[rows->rank++] = target->steps[i];
        }
    }
    for (uint64_t k = 0; k < target->rank; k++) {
        if (!indexed[k]) {
            continue;
        }
        struct nn_view wide, at = *rows;
        nn_broadcast(&index[k], shape.rank, shape.dims, &wide);
        at.type = wide.type;
        at.address = wide.address;
        for (uint64_t i = 0; i < rows->rank; i++) {
            at.steps[i] = i >= before && i < before + shape.rank ? wide.steps[i - before] : 0;
        }
        call->index[call->count] = at;
        call->limit[call->count] = (int64_t)target->dims[k];
        call->stride[call->count++] = target->steps[k];
    }
    return ACLNN_SUCCESS;
}

aclnnStatus nn_as_type(struct nn_plan *p, aclDataType type, const struct nn_view *view, struct nn_view *converted)
{
    if (view->type == type || !nn_is_there(view)) {
        *converted = *view;
        return ACLNN_SUCCESS;
    }
    return nn_dense_input(p, type, view, converted);
}

aclnnStatus nn_accumulator(struct nn_plan *p, enum op_index_mode mode, const struct nn_view *target,
                           struct nn_view *accumulator)
{
    const bool half = target->type == ACL_FLOAT16 || target->type == ACL_BF16;
    return nn_as_type(p, half && mode != OP_INDEX_SET ? ACL_FLOAT : target->type, target, accumulator);
}

aclnnStatus nn_accumulator_done(struct nn_plan *p, const struct nn_view *accumulator, const struct nn_view *target)
{
    return accumulator->type != target->type ? nn_move(p, accumulator, target) : ACLNN_SUCCESS;
}
