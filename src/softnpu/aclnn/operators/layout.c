/* SPDX-License-Identifier: Apache-2.0 */
/* Layout operators: copies between parts of tensors. No value is computed. */
#include "softnpu/aclnn/operators/layout.h"

#include <string.h>

/* ---- joining ---- */

/* (tensors, dim, out) */
static aclnnStatus plan_cat(struct nn_plan *p)
{
    uint64_t count, axis, at = 0;
    struct nn_view z;
    NN_CHECK(nn_list(p, 0, &count));
    NN_CHECK(nn_tensor(p, 2, NN_MOVABLE, &z));
    if (count == 0 || z.rank == 0) {
        return NN_INVALID(p, count == 0 ? "tensors is empty" : "out has no dimensions");
    }
    NN_CHECK(nn_axis(p, nn_whole(p, 1), z.rank, &axis));
    for (uint64_t i = 0; i < count; i++) {
        struct nn_view x;
        NN_CHECK(nn_list_tensor(p, 0, i, NN_MOVABLE, &x));
        if (x.rank == 1 && x.count == 0) {
            continue; /* an empty vector fits everywhere */
        }
        struct nn_view shape = z;
        if (x.rank == z.rank) {
            shape.dims[axis] = x.dims[axis];
        }
        NN_CHECK(nn_expect_shape(p, "a member of tensors", &x, z.rank, shape.dims));
        if (x.dims[axis] > z.dims[axis] - at) {
            return NN_INVALID(p, "out %s is too small for the tensors", nn_shape_text(z.rank, z.dims));
        }
        const struct nn_view part = nn_part(&z, axis, at, 1, x.dims[axis]);
        NN_CHECK(nn_move_as(p, p->op->kernel, &x, &part));
        at += x.dims[axis];
    }
    return at == z.dims[axis] ? ACLNN_SUCCESS
                              : NN_INVALID(p, "out %s is larger than the tensors", nn_shape_text(z.rank, z.dims));
}
NN_OPERATOR(Cat, plan_cat, .kernel = "ConcatD", .types = NN_MOVABLE)

static aclnnStatus plan_stack(struct nn_plan *p)
{
    uint64_t count, axis;
    struct nn_view z;
    NN_CHECK(nn_list(p, 0, &count));
    NN_CHECK(nn_tensor(p, 2, NN_MOVABLE, &z));
    NN_CHECK(nn_axis(p, nn_whole(p, 1), z.rank, &axis));
    if (z.rank == 0 || z.dims[axis] != count) {
        return NN_INVALID(p, "out %s does not have %llu elements along dim", nn_shape_text(z.rank, z.dims),
                          (unsigned long long)count);
    }
    for (uint64_t i = 0; i < count; i++) {
        const struct nn_view part = nn_pick(&z, axis, i);
        struct nn_view x;
        NN_CHECK(nn_list_tensor(p, 0, i, NN_MOVABLE, &x));
        NN_CHECK(nn_expect_shape(p, "a member of tensors", &x, part.rank, part.dims));
        NN_CHECK(nn_move_as(p, p->op->kernel, &x, &part));
    }
    return ACLNN_SUCCESS;
}
NN_OPERATOR(Stack, plan_stack, .kernel = "Pack", .types = NN_MOVABLE)

/* `chunks` parts of z, `size` elements of x's dimension each, as dimensions before.., chunks, size, behind.. */
static aclnnStatus move_chunks(struct nn_plan *p, const struct nn_view *x, const struct nn_view *z, uint64_t axis,
                               uint64_t first, uint64_t chunks, uint64_t size, uint64_t at)
{
    if (chunks == 0 || size == 0 || x->count == 0) {
        return ACLNN_SUCCESS;
    }
    struct nn_view from = nn_unsqueezed(x, axis), to = from;
    const struct nn_view part = nn_part(z, axis, first, 1, chunks), flat = nn_part(&part, axis + 1, at, 1, 1);
    from.address = nn_part(x, axis, first * size, 1, size).address;
    from.dims[axis] = to.dims[axis] = chunks;
    from.dims[axis + 1] = to.dims[axis + 1] = size;
    from.steps[axis] = x->steps[axis] * (int64_t)size;
    to.type = z->type;
    to.address = flat.address;
    int64_t step = z->steps[z->rank - 1];
    for (uint64_t i = to.rank; i-- > axis + 1;) {
        to.steps[i] = step;
        step *= (int64_t)to.dims[i];
    }
    memcpy(to.steps, z->steps, (axis + 1) * sizeof *to.steps);
    from.count = to.count = x->count / x->dims[axis] * chunks * size;
    return nn_move_as(p, p->op->kernel, &from, &to);
}

/* (tensors, dim, numChunks, out): each tensor in numChunks parts along dim, padded with 0, joined part by part. */
static aclnnStatus plan_chunk_cat(struct nn_plan *p)
{
    uint64_t count, axis, at = 0;
    struct nn_view z;
    const int64_t chunks = nn_whole(p, 2);
    const struct op_number zero = {0, 0};
    NN_CHECK(nn_list(p, 0, &count));
    NN_CHECK(nn_tensor(p, 3, NN_MOVABLE, &z));
    if (z.rank < 2 || chunks < 1) {
        return NN_INVALID(p, "numChunks is %lld, out has %llu dimensions", (long long)chunks,
                          (unsigned long long)z.rank);
    }
    NN_CHECK(nn_axis(p, nn_whole(p, 1), z.rank, &axis));
    if (axis + 2 != z.rank || z.dims[axis] != (uint64_t)chunks) {
        return NN_INVALID(p, "out %s must have numChunks and the flattened rest as its last dimensions",
                          nn_shape_text(z.rank, z.dims));
    }
    NN_CHECK(nn_fill(p, "Fill", &z, &zero, ACL_INT64));
    for (uint64_t i = 0; i < count; i++) {
        struct nn_view x;
        NN_CHECK(nn_list_tensor(p, 0, i, NN_MOVABLE, &x));
        if (x.rank <= axis || x.rank >= NN_DIMS || memcmp(x.dims, z.dims, axis * sizeof *x.dims) != 0) {
            return NN_INVALID(p, "tensor %llu has the wrong shape %s", (unsigned long long)i,
                              nn_shape_text(x.rank, x.dims));
        }
        const uint64_t size = (x.dims[axis] + (uint64_t)chunks - 1) / (uint64_t)chunks;
        uint64_t behind = 1;
        for (uint64_t d = axis + 1; d < x.rank; d++) {
            behind *= x.dims[d];
        }
        if (size * behind > z.dims[axis + 1] - at) {
            return NN_INVALID(p, "out %s is too small for the tensors", nn_shape_text(z.rank, z.dims));
        }
        const uint64_t full = size > 0 ? x.dims[axis] / size : 0;
        NN_CHECK(move_chunks(p, &x, &z, axis, 0, full, size, at));
        if (size > 0 && x.dims[axis] % size != 0) {
            const struct nn_view rest = nn_part(&x, axis, full * size, 1, x.dims[axis] % size);
            const struct nn_view last = nn_part(&z, axis, full, 1, 1);
            NN_CHECK(move_chunks(p, &rest, &last, axis, 0, 1, x.dims[axis] % size, at));
        }
        at += size * behind;
    }
    return at == z.dims[axis + 1] ? ACLNN_SUCCESS : NN_INVALID(p, "out is larger than the tensors");
}
NN_OPERATOR(ChunkCat, plan_chunk_cat, .kernel = "ConcatD", .types = NN_MOVABLE)

/* ---- splitting ---- */

static aclnnStatus split(struct nn_plan *p, const struct nn_view *x, uint64_t axis, uint64_t list, const int64_t *sizes,
                         uint64_t each)
{
    uint64_t count, at = 0;
    NN_CHECK(nn_list(p, (uint32_t)list, &count));
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t rest = x->dims[axis] - at;
        const uint64_t size = sizes != NULL ? (uint64_t)sizes[i] : each < rest ? each : rest;
        if (size > rest) {
            return NN_INVALID(p, "the parts exceed the %llu elements of self", (unsigned long long)x->dims[axis]);
        }
        const struct nn_view part = nn_part(x, axis, at, 1, size);
        struct nn_view z;
        NN_CHECK(nn_list_tensor(p, (uint32_t)list, i, NN_MOVABLE, &z));
        NN_CHECK(nn_expect_shape(p, "a member of out", &z, part.rank, part.dims));
        NN_CHECK(nn_move_as(p, p->op->kernel, &part, &z));
        at += size;
    }
    return at == x->dims[axis] ? ACLNN_SUCCESS : NN_INVALID(p, "the parts do not cover self");
}

/* (self, splitSections, dim, out): parts of splitSections elements, the last one may be shorter. */
static aclnnStatus plan_split_tensor(struct nn_plan *p)
{
    struct nn_view x;
    uint64_t axis;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    NN_CHECK(nn_axis(p, nn_whole(p, 2), x.rank, &axis));
    if (x.rank == 0) {
        return NN_INVALID(p, "self has no dimensions");
    }
    return split(p, &x, axis, 3, NULL, (uint64_t)nn_whole(p, 1));
}
NN_OPERATOR(SplitTensor, plan_split_tensor, .kernel = "SplitV", .types = NN_MOVABLE)

static aclnnStatus plan_split_with_size(struct nn_plan *p)
{
    struct nn_view x;
    uint64_t axis, count, parts;
    const int64_t *sizes;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    NN_CHECK(nn_ints(p, 1, &sizes, &count));
    NN_CHECK(nn_axis(p, nn_whole(p, 2), x.rank, &axis));
    NN_CHECK(nn_list(p, 3, &parts));
    if (x.rank == 0 || count != parts) {
        return NN_INVALID(p, "splitSize has %llu sizes, out has %llu tensors", (unsigned long long)count,
                          (unsigned long long)parts);
    }
    return split(p, &x, axis, 3, sizes, 0);
}
NN_OPERATOR(SplitWithSize, plan_split_with_size, .kernel = "SplitV", .types = NN_MOVABLE)

/* Narrows a dimension by start, end and step, as Python does. */
static aclnnStatus take_slice(struct nn_plan *p, struct nn_view *x, int64_t dim, int64_t start, int64_t end,
                              int64_t step)
{
    uint64_t axis;
    NN_CHECK(nn_axis(p, dim, x->rank, &axis));
    if (x->rank == 0 || step <= 0) {
        return NN_INVALID(p, "step is %lld, self has %llu dimensions", (long long)step, (unsigned long long)x->rank);
    }
    const int64_t size = (int64_t)x->dims[axis];
    start = start < 0 ? (start + size < 0 ? 0 : start + size) : start > size ? size : start;
    end = end < 0 ? (end + size < start ? start : end + size) : end > size ? size : end;
    const uint64_t length = end > start ? ((uint64_t)(end - start) + (uint64_t)step - 1) / (uint64_t)step : 0;
    *x = nn_part(x, axis, (uint64_t)start, length > 1 ? step : 1, length);
    return ACLNN_SUCCESS;
}

static aclnnStatus finish_copy(struct nn_plan *p, const struct nn_view *x, uint32_t out)
{
    struct nn_view z;
    NN_CHECK(nn_tensor(p, out, NN_MOVABLE, &z));
    NN_CHECK(nn_expect_shape(p, "out", &z, x->rank, x->dims));
    return nn_move_as(p, p->op->kernel, x, &z);
}

static aclnnStatus plan_slice(struct nn_plan *p)
{
    struct nn_view x;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    NN_CHECK(take_slice(p, &x, nn_whole(p, 1), nn_whole(p, 2), nn_whole(p, 3), nn_whole(p, 4)));
    return finish_copy(p, &x, 5);
}
NN_OPERATOR(Slice, plan_slice, .kernel = "StridedSlice", .types = NN_MOVABLE)

/* (self, starts, ends, axes, steps, out) */
static aclnnStatus plan_slice_v2(struct nn_plan *p)
{
    struct nn_view x;
    const int64_t *of[4];
    uint64_t counts[4];
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    for (uint32_t i = 0; i < 4; i++) {
        NN_CHECK(nn_ints(p, 1 + i, &of[i], &counts[i]));
        if (counts[i] != counts[0]) {
            return NN_INVALID(p, "starts, ends, axes and steps differ in length");
        }
    }
    for (uint64_t i = 0; i < counts[0]; i++) {
        NN_CHECK(take_slice(p, &x, of[2][i], of[0][i], of[1][i], of[3][i]));
    }
    return finish_copy(p, &x, 5);
}
NN_OPERATOR(SliceV2, plan_slice_v2, .kernel = "StridedSlice", .types = NN_MOVABLE)

/* ---- order of dimensions and elements ---- */

static aclnnStatus plan_permute(struct nn_plan *p)
{
    struct nn_view x, turned;
    const int64_t *dims;
    uint64_t count, seen = 0;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    NN_CHECK(nn_ints(p, 1, &dims, &count));
    if (count != x.rank) {
        return NN_INVALID(p, "dims has %llu entries, self has %llu dimensions", (unsigned long long)count,
                          (unsigned long long)x.rank);
    }
    turned = x;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t axis;
        NN_CHECK(nn_axis(p, dims[i], x.rank, &axis));
        if (seen >> axis & 1) {
            return NN_INVALID(p, "dimension %lld appears twice in dims", (long long)dims[i]);
        }
        seen |= (uint64_t)1 << axis;
        turned.dims[i] = x.dims[axis];
        turned.steps[i] = x.steps[axis];
    }
    return finish_copy(p, &turned, 2);
}
NN_OPERATOR(Permute, plan_permute, .kernel = "Transpose", .types = NN_MOVABLE)

static aclnnStatus plan_flip(struct nn_plan *p)
{
    struct nn_view x;
    const int64_t *dims;
    uint64_t count;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    NN_CHECK(nn_ints(p, 1, &dims, &count));
    for (uint64_t i = 0; i < count; i++) {
        uint64_t axis;
        NN_CHECK(nn_axis(p, dims[i], x.rank, &axis));
        if (x.rank > 0 && x.dims[axis] > 0) {
            x = nn_part(&x, axis, x.dims[axis] - 1, -1, x.dims[axis]);
        }
    }
    return finish_copy(p, &x, 2);
}
NN_OPERATOR(Flip, plan_flip, .kernel = "ReverseV2", .types = NN_MOVABLE)

/* Copies with the dimensions from `axis` on shifted: two parts for each that moves. */
static aclnnStatus roll(struct nn_plan *p, const struct nn_view *x, const struct nn_view *z, const uint64_t *shifts,
                        uint64_t axis)
{
    while (axis < x->rank && shifts[axis] == 0) {
        axis++;
    }
    if (axis == x->rank) {
        return nn_move_as(p, p->op->kernel, x, z);
    }
    const uint64_t size = x->dims[axis], shift = shifts[axis];
    const struct nn_view low = nn_part(x, axis, 0, 1, size - shift), low_to = nn_part(z, axis, shift, 1, size - shift);
    const struct nn_view high = nn_part(x, axis, size - shift, 1, shift), high_to = nn_part(z, axis, 0, 1, shift);
    NN_CHECK(roll(p, &low, &low_to, shifts, axis + 1));
    return roll(p, &high, &high_to, shifts, axis + 1);
}

/* (x, shifts, dims, out); without dims the tensor is shifted as if it had one dimension. */
static aclnnStatus plan_roll(struct nn_plan *p)
{
    struct nn_view x, z;
    const int64_t *shifts, *dims;
    uint64_t count, dim_count, by[NN_DIMS] = {0};
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    NN_CHECK(nn_ints(p, 1, &shifts, &count));
    NN_CHECK(nn_ints(p, 2, &dims, &dim_count));
    NN_CHECK(nn_tensor(p, 3, NN_MOVABLE, &z));
    NN_CHECK(nn_expect_shape(p, "out", &z, x.rank, x.dims));
    if (count != dim_count && !(dim_count == 0 && count == 1)) {
        return NN_INVALID(p, "shifts has %llu entries, dims has %llu", (unsigned long long)count,
                          (unsigned long long)dim_count);
    }
    if (x.count == 0) {
        return ACLNN_SUCCESS;
    }
    if (dim_count == 0) {
        struct nn_view dense_x, dense_z;
        NN_CHECK(nn_dense_input(p, x.type, &x, &dense_x));
        NN_CHECK(nn_dense_output(p, x.type, &z, &dense_z));
        const struct nn_view flat_x = nn_flat(&dense_x), flat_z = nn_flat(&dense_z);
        const int64_t size = (int64_t)x.count;
        by[0] = (uint64_t)((shifts[0] % size + size) % size);
        NN_CHECK(roll(p, &flat_x, &flat_z, by, 0));
        return nn_dense_output_done(p, &dense_z, &z);
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t axis;
        NN_CHECK(nn_axis(p, dims[i], x.rank, &axis));
        const int64_t size = x.rank > 0 ? (int64_t)x.dims[axis] : 1;
        by[axis] = (by[axis] + (uint64_t)((shifts[i] % size + size) % size)) % (uint64_t)size;
    }
    return roll(p, &x, &z, by, 0);
}
NN_OPERATOR(Roll, plan_roll, .kernel = "Roll", .types = NN_MOVABLE)

/* (self, groups, out): [N, groups, C / groups, ...] with the two middle dimensions exchanged. */
static aclnnStatus plan_channel_shuffle(struct nn_plan *p)
{
    struct nn_view x, z;
    const int64_t groups = nn_whole(p, 1);
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    NN_CHECK(nn_tensor(p, 2, NN_MOVABLE, &z));
    NN_CHECK(nn_expect_shape(p, "out", &z, x.rank, x.dims));
    if (x.rank < 3 || x.rank >= NN_DIMS || groups < 1 || x.dims[1] % (uint64_t)groups != 0) {
        return NN_INVALID(p, "%lld groups do not divide the channels of self, %s", (long long)groups,
                          nn_shape_text(x.rank, x.dims));
    }
    const uint64_t each = x.dims[1] / (uint64_t)groups;
    struct nn_view from = nn_unsqueezed(&x, 1), to = nn_unsqueezed(&z, 1);
    from.dims[1] = to.dims[1] = (uint64_t)groups;
    from.dims[2] = to.dims[2] = each;
    from.steps[1] = x.steps[1] * (int64_t)each;
    to.steps[1] = z.steps[1];
    to.steps[2] = z.steps[1] * groups;
    return nn_move_as(p, p->op->kernel, &from, &to);
}
NN_OPERATOR(ChannelShuffle, plan_channel_shuffle, .kernel = "ShuffleChannel", .types = NN_MOVABLE)

/* ---- repeating ---- */

static aclnnStatus plan_expand(struct nn_plan *p)
{
    struct nn_view x, z;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    NN_CHECK(nn_tensor(p, 2, NN_MOVABLE, &z));
    const int64_t *size;
    uint64_t count;
    NN_CHECK(nn_ints(p, 1, &size, &count));
    bool fits = count == z.rank;
    for (uint64_t i = 0; i < count && fits; i++) {
        fits = size[i] == -1 || size[i] == (int64_t)z.dims[i];
    }
    if (!fits || !nn_broadcast(&x, z.rank, z.dims, &x)) {
        return NN_INVALID(p, "self %s cannot be expanded to out %s with this size", nn_shape_text(x.rank, x.dims),
                          nn_shape_text(z.rank, z.dims));
    }
    return nn_move_as(p, p->op->kernel, &x, &z);
}
NN_OPERATOR(Expand, plan_expand, .kernel = "BroadcastTo", .types = NN_MOVABLE)

/* Copies with the dimensions from `axis` on repeated. As long as the rank allows it, a repeated dimension becomes two:
 * one that does not advance in x, and the dimension itself. */
static aclnnStatus repeat(struct nn_plan *p, const struct nn_view *x, const struct nn_view *z, const uint64_t *times,
                          uint64_t axis, uint64_t rank)
{
    while (axis < x->rank && times[axis - (x->rank - rank)] == 1) {
        axis++;
    }
    if (axis >= x->rank) {
        return nn_move_as(p, p->op->kernel, x, z);
    }
    const uint64_t n = times[axis - (x->rank - rank)], size = x->dims[axis];
    if (x->rank < NN_DIMS) {
        struct nn_view from = nn_unsqueezed(x, axis), to = nn_unsqueezed(z, axis);
        from.dims[axis] = to.dims[axis] = n;
        to.dims[axis + 1] = size;
        to.steps[axis] = to.steps[axis + 1] * (int64_t)size;
        from.count *= n;
        return repeat(p, &from, &to, times, axis + 2, rank);
    }
    for (uint64_t i = 0; i < n; i++) {
        const struct nn_view part = nn_part(z, axis, i * size, 1, size);
        NN_CHECK(repeat(p, x, &part, times, axis + 1, rank));
    }
    return ACLNN_SUCCESS;
}

static aclnnStatus plan_repeat(struct nn_plan *p)
{
    struct nn_view x, z, shape;
    const int64_t *repeats;
    uint64_t count, times[NN_DIMS];
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    NN_CHECK(nn_ints(p, 1, &repeats, &count));
    NN_CHECK(nn_tensor(p, 2, NN_MOVABLE, &z));
    if (count < x.rank || count > NN_DIMS) {
        return NN_INVALID(p, "repeats has %llu entries, self has %llu dimensions", (unsigned long long)count,
                          (unsigned long long)x.rank);
    }
    while (x.rank < count) {
        x = nn_unsqueezed(&x, 0);
    }
    shape = x;
    for (uint64_t i = 0; i < count; i++) {
        times[i] = (uint64_t)repeats[i];
        if (repeats[i] < 0 || __builtin_mul_overflow(x.dims[i], times[i], &shape.dims[i])) {
            return NN_INVALID(p, "entry %lld of repeats is out of range", (long long)repeats[i]);
        }
    }
    NN_CHECK(nn_expect_shape(p, "out", &z, shape.rank, shape.dims));
    return z.count == 0 ? ACLNN_SUCCESS : repeat(p, &x, &z, times, 0, count);
}
NN_OPERATOR(Repeat, plan_repeat, .kernel = "Tile", .types = NN_MOVABLE)

/* Every element along a dimension `n` times. */
static aclnnStatus interleave(struct nn_plan *p, const struct nn_view *x, uint64_t axis, int64_t n,
                              const struct nn_view *z)
{
    struct nn_view shape = *x;
    if (n < 0 || x->rank >= NN_DIMS || __builtin_mul_overflow(shape.dims[axis], (uint64_t)n, &shape.dims[axis])) {
        return NN_INVALID(p, "%lld repeats of a tensor of shape %s", (long long)n, nn_shape_text(x->rank, x->dims));
    }
    NN_CHECK(nn_expect_shape(p, "out", z, shape.rank, shape.dims));
    struct nn_view from = nn_unsqueezed(x, axis + 1), to = nn_unsqueezed(z, axis + 1);
    from.dims[axis + 1] = to.dims[axis + 1] = (uint64_t)n;
    to.dims[axis] = x->dims[axis];
    to.steps[axis + 1] = z->steps[axis];
    to.steps[axis] = z->steps[axis] * n;
    return nn_move_as(p, p->op->kernel, &from, &to);
}

/* (self, repeats, dim, outputSize, out) */
static aclnnStatus plan_interleave_dim(struct nn_plan *p)
{
    struct nn_view x, z;
    uint64_t axis;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    NN_CHECK(nn_tensor(p, 4, NN_MOVABLE, &z));
    if (x.rank == 0) {
        x = nn_unsqueezed(&x, 0);
    }
    NN_CHECK(nn_axis(p, nn_whole(p, 2), x.rank, &axis));
    return interleave(p, &x, axis, nn_whole(p, 1), &z);
}
NN_OPERATOR(RepeatInterleaveIntWithDim, plan_interleave_dim, .kernel = "RepeatInterleave", .types = NN_MOVABLE)

/* (self, repeats, outputSize, out): of all elements in order. */
static aclnnStatus plan_interleave_all(struct nn_plan *p)
{
    struct nn_view x, z, dense;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    NN_CHECK(nn_tensor(p, 3, NN_MOVABLE, &z));
    NN_CHECK(nn_dense_input(p, x.type, &x, &dense));
    const struct nn_view flat = nn_flat(&dense);
    return interleave(p, &flat, 0, nn_whole(p, 1), &z);
}
NN_OPERATOR(RepeatInterleaveInt, plan_interleave_all, .kernel = "RepeatInterleave", .types = NN_MOVABLE)

/* ---- filling and padding ---- */

/* (self, pad, value, out): pairs (before, after) from the last dimension on; negative ones remove elements. */
static aclnnStatus plan_constant_pad(struct nn_plan *p)
{
    struct nn_view x, z, inside;
    const int64_t *pad;
    uint64_t count;
    struct op_number value;
    aclDataType type;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    NN_CHECK(nn_ints(p, 1, &pad, &count));
    NN_CHECK(nn_scalar(p, 2, NN_MOVABLE, &value, &type));
    NN_CHECK(nn_tensor(p, 3, NN_MOVABLE, &z));
    if (count % 2 != 0 || count > 2 * x.rank || z.rank != x.rank) {
        return NN_INVALID(p, "pad has %llu entries, self %llu dimensions, out %llu", (unsigned long long)count,
                          (unsigned long long)x.rank, (unsigned long long)z.rank);
    }
    inside = z;
    bool padded = false;
    for (uint64_t i = 0; i < x.rank; i++) {
        const uint64_t axis = x.rank - 1 - i;
        const int64_t before = 2 * i < count ? pad[2 * i] : 0, after = 2 * i < count ? pad[2 * i + 1] : 0;
        int64_t size;
        if (__builtin_add_overflow((int64_t)x.dims[axis], before, &size) ||
            __builtin_add_overflow(size, after, &size) || size != (int64_t)z.dims[axis]) {
            return NN_INVALID(p, "out has %llu elements in dimension %llu, self %llu with padding %lld and %lld",
                              (unsigned long long)z.dims[axis], (unsigned long long)axis,
                              (unsigned long long)x.dims[axis], (long long)before, (long long)after);
        }
        const uint64_t skip = before < 0 ? (uint64_t)-before : 0, start = before > 0 ? (uint64_t)before : 0;
        const int64_t kept = (int64_t)x.dims[axis] + (before < 0 ? before : 0) + (after < 0 ? after : 0);
        x = nn_part(&x, axis, skip, 1, kept > 0 ? (uint64_t)kept : 0);
        inside = nn_part(&inside, axis, start, 1, x.dims[axis]);
        padded |= before > 0 || after > 0;
    }
    if (padded) {
        NN_CHECK(nn_fill(p, "Fill", &z, &value, type));
    }
    return nn_move_as(p, p->op->kernel, &x, &inside);
}
NN_OPERATOR(ConstantPadNd, plan_constant_pad, .kernel = "PadV3", .types = NN_MOVABLE)

static aclnnStatus plan_fill_tensor(struct nn_plan *p)
{
    struct nn_view z, value;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &z));
    NN_CHECK(nn_tensor(p, 1, NN_MOVABLE, &value));
    if (value.count != 1) {
        return NN_INVALID(p, "value has the shape %s, one element is required", nn_shape_text(value.rank, value.dims));
    }
    value.rank = 0;
    nn_broadcast(&value, z.rank, z.dims, &value);
    return nn_move_as(p, p->op->kernel, &value, &z);
}
NN_OPERATOR(InplaceFillTensor, plan_fill_tensor, .kernel = "BroadcastTo", .types = NN_MOVABLE)

/* ---- diagonals ---- */

static const struct op_number number_0 = {0, 0}, number_1 = {1, 1};

static aclnnStatus diagonal_to_matrix(struct nn_plan *p, const struct nn_view *x, int64_t offset, uint32_t out)
{
    struct nn_view z;
    const uint64_t size = x->count + (uint64_t)(offset < 0 ? -offset : offset);
    NN_CHECK(nn_tensor(p, out, NN_MOVABLE, &z));
    NN_CHECK(nn_expect_shape(p, "out", &z, 2, (const uint64_t[]){size, size}));
    const struct nn_view diagonal = nn_diagonal(&z, offset);
    NN_CHECK(nn_fill(p, "Fill", &z, &number_0, ACL_INT64));
    return nn_move_as(p, p->op->kernel, x, &diagonal);
}

static bool is_huge(int64_t offset)
{
    return offset > INT64_MAX / 64 || offset < -(INT64_MAX / 64);
}

static aclnnStatus plan_diag(struct nn_plan *p)
{
    struct nn_view x;
    const int64_t offset = nn_whole(p, 1);
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    if ((x.rank != 1 && x.rank != 2) || is_huge(offset)) {
        return NN_INVALID(p, "self has %llu dimensions, diagonal is %lld", (unsigned long long)x.rank,
                          (long long)offset);
    }
    if (x.rank == 1) {
        return diagonal_to_matrix(p, &x, offset, 2);
    }
    x = nn_diagonal(&x, offset);
    return finish_copy(p, &x, 2);
}
NN_OPERATOR(Diag, plan_diag, .kernel = "DiagV2", .types = NN_MOVABLE)

static aclnnStatus plan_diag_flat(struct nn_plan *p)
{
    struct nn_view x, dense;
    const int64_t offset = nn_whole(p, 1);
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    if (is_huge(offset)) {
        return NN_INVALID(p, "diagonal is %lld", (long long)offset);
    }
    NN_CHECK(nn_dense_input(p, x.type, &x, &dense));
    const struct nn_view flat = nn_flat(&dense);
    return diagonal_to_matrix(p, &flat, offset, 2);
}
NN_OPERATOR(DiagFlat, plan_diag_flat, .kernel = "DiagV2", .types = NN_MOVABLE)

/* (n, m, out) */
static aclnnStatus plan_eye(struct nn_plan *p)
{
    struct nn_view z;
    const int64_t n = nn_whole(p, 0), m = nn_whole(p, 1);
    NN_CHECK(nn_tensor(p, 2, NN_MOVABLE, &z));
    if (n < 0 || m < 0) {
        return NN_INVALID(p, "n is %lld, m is %lld", (long long)n, (long long)m);
    }
    NN_CHECK(nn_expect_shape(p, "out", &z, 2, (const uint64_t[]){(uint64_t)n, (uint64_t)m}));
    const struct nn_view diagonal = nn_diagonal(&z, 0);
    NN_CHECK(nn_fill(p, "Fill", &z, &number_0, ACL_INT64));
    return nn_fill(p, "Fill", &diagonal, &number_1, ACL_INT64);
}
NN_OPERATOR(Eye, plan_eye, .kernel = "Fill", .types = NN_MOVABLE)

/* (selfRef, fillValue, wrap): of a tensor whose dimensions are equal, or of a matrix; wrapped, the diagonal of a tall
 * matrix begins again one row after it has ended. */
static aclnnStatus plan_fill_diagonal(struct nn_plan *p)
{
    struct nn_view z;
    struct op_number value;
    aclDataType type;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &z));
    NN_CHECK(nn_scalar(p, 1, NN_MOVABLE, &value, &type));
    if (z.rank < 2) {
        return NN_INVALID(p, "selfRef has %llu dimensions", (unsigned long long)z.rank);
    }
    struct nn_view line = nn_diagonal(&z, 0);
    for (uint64_t i = 0; z.rank > 2 && i < z.rank; i++) {
        if (z.dims[i] != z.dims[0]) {
            return NN_INVALID(p, "the dimensions of selfRef, %s, are not equal", nn_shape_text(z.rank, z.dims));
        }
        line.steps[0] = (i == 0 ? 0 : line.steps[0]) + z.steps[i];
    }
    line.rank = 1;
    line.dims[0] = z.dims[0] < z.dims[1] ? z.dims[0] : z.dims[1];
    line.count = line.dims[0];
    NN_CHECK(nn_fill(p, "Fill", &line, &value, type));
    if (z.rank > 2 || !nn_whole(p, 2) || z.count == 0) {
        return ACLNN_SUCCESS;
    }
    /* Rows (width + 1) * k + i, columns i: whole diagonals, then the last one, which may be shorter. */
    const uint64_t width = z.dims[1], period = width + 1, whole = (z.dims[0] + 1) / period;
    struct nn_view all = line;
    all.rank = 2;
    all.dims[0] = whole;
    all.dims[1] = width;
    all.steps[0] = z.steps[0] * (int64_t)period;
    all.steps[1] = line.steps[0];
    all.count = whole * width;
    NN_CHECK(nn_fill(p, "Fill", &all, &value, type));
    if (whole * period < z.dims[0]) {
        const struct nn_view rest = nn_part(&z, 0, whole * period, 1, z.dims[0] - whole * period);
        const struct nn_view last = nn_diagonal(&rest, 0);
        return nn_fill(p, "Fill", &last, &value, type);
    }
    return ACLNN_SUCCESS;
}
NN_OPERATOR(InplaceFillDiagonal, plan_fill_diagonal, .kernel = "Fill", .types = NN_MOVABLE)
