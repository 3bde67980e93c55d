/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling. A row names the roles of the parameters, one character each:
 *   x  the input, or what the gradient refers to      y  the gradient of the output (backward), windows
 *   z  output of the operator                         i  indices     M  the same in the memory of a mask
 *   k  kernel size   s  stride   p  padding   e  padding of both ends   d  dilation   O  size of the output (adaptive)
 *   c  ceil mode     n  count the padding     v  divisor                -  not used
 * Windows with no stride take the kernel size. Values are computed in float32. */
#include "softnpu/aclnn/op.h"

#include <string.h>

enum { POOL_ADAPTIVE = 1, POOL_UNBOUND = 2 /* out may have any size */ };
#define POOL(spatial, mode) ((spatial) << 4 | (mode))

struct pool {
    uint64_t spatial;
    struct nn_view in, grad, out, index; /* in or grad, out as the operator has them */
    struct op_pool_args args;
    bool ceil_mode, has_stride;
    int64_t pad_end[OP_SPATIAL];
};

static bool is_backward(const struct nn_plan *p)
{
    const uint32_t mode = p->op->code & 15;
    return mode == OP_POOL_MAX_GRAD || mode == OP_POOL_AVG_GRAD;
}

/* Fills one member of every axis from an array with one entry, or one per axis (and end, for paddings). */
static aclnnStatus read_axes(struct nn_plan *p, struct pool *pool, uint32_t param, char role)
{
    const int64_t *values;
    uint64_t count;
    NN_CHECK(nn_ints(p, param, &values, &count));
    const bool ends = role == 'e' && count == 2 * pool->spatial;
    if (count == 0 && role == 's') {
        return ACLNN_SUCCESS;
    }
    if (count != 1 && count != pool->spatial && !ends) {
        return NN_INVALID(p, "%s has %llu entries, 1 or %llu are required", p->params[param].name,
                          (unsigned long long)count, (unsigned long long)pool->spatial);
    }
    for (uint64_t i = 0; i < pool->spatial; i++) {
        const uint64_t at = OP_SPATIAL - pool->spatial + i;
        struct op_pool_axis *axis = &pool->args.axis[at];
        const int64_t value = values[count == 1 ? 0 : ends ? 2 * i : i];
        if (value < (role == 'p' || role == 'e' ? 0 : 1) || value > INT32_MAX) {
            return NN_INVALID(p, "%s: the entry %lld is out of range", p->params[param].name, (long long)value);
        }
        switch (role) {
        case 'k':
            axis->kernel = value;
            break;
        case 's':
            axis->stride = value;
            pool->has_stride = true;
            break;
        case 'd':
            axis->dilation = value;
            break;
        default:
            axis->pad = value;
            pool->pad_end[at] = ends ? values[2 * i + 1] : value;
            break;
        }
    }
    return ACLNN_SUCCESS;
}

/* Indices inside of a mask: its bytes, as whole numbers. Windows of one element need none. */
static aclnnStatus read_mask(struct nn_plan *p, uint32_t param, struct nn_view *index)
{
    struct nn_view mask;
    NN_CHECK(nn_tensor(p, param, NN_TYPE(ACL_INT8) | NN_TYPE(ACL_UINT8) | NN_INDEX, &mask));
    *index = mask;
    if (aclDataTypeSize(mask.type) == 1) {
        if (!nn_is_dense(&mask)) {
            return NN_INVALID(p, "%s must be contiguous", p->params[param].name);
        }
        index->type = ACL_INT32;
        index->rank = 1;
        index->count = index->dims[0] = mask.count / sizeof(int32_t);
        index->steps[0] = 1;
    }
    return ACLNN_SUCCESS;
}

static aclnnStatus read_params(struct nn_plan *p, struct pool *pool)
{
    for (uint32_t i = 0; p->op->roles[i] != '\0'; i++) {
        switch (p->op->roles[i]) {
        case 'x':
            NN_CHECK(nn_tensor(p, i, p->op->types, &pool->in));
            break;
        case 'y':
            NN_CHECK(nn_tensor(p, i, p->op->types, &pool->grad));
            break;
        case 'z':
            NN_CHECK(nn_tensor(p, i, p->op->types, &pool->out));
            break;
        case 'i':
            NN_CHECK(nn_tensor(p, i, NN_INDEX, &pool->index));
            break;
        case 'M':
            NN_CHECK(read_mask(p, i, &pool->index));
            break;
        case 'c':
            pool->ceil_mode = nn_whole(p, i) != 0;
            break;
        case 'n':
            pool->args.count_pad = nn_whole(p, i) != 0;
            break;
        case 'v':
            pool->args.divisor = nn_whole(p, i);
            break;
        case 'k':
        case 's':
        case 'p':
        case 'e':
        case 'd':
            NN_CHECK(read_axes(p, pool, i, p->op->roles[i]));
            break;
        default:
            break;
        }
    }
    return ACLNN_SUCCESS;
}

/* Sizes of both sides, and whether they fit. */
static aclnnStatus check_axes(struct nn_plan *p, struct pool *pool, const struct nn_view *wide,
                              const struct nn_view *small)
{
    const uint64_t lead = wide->rank - pool->spatial;
    if (wide->rank < pool->spatial + 1 || wide->rank > pool->spatial + 2 || small->rank != wide->rank ||
        memcmp(small->dims, wide->dims, lead * sizeof *wide->dims) != 0) {
        return NN_INVALID(p, "the tensors %s and %s must have %llu or %llu dimensions and the same planes",
                          nn_shape_text(wide->rank, wide->dims), nn_shape_text(small->rank, small->dims),
                          (unsigned long long)pool->spatial + 1, (unsigned long long)pool->spatial + 2);
    }
    pool->args.planes = 1;
    for (uint64_t i = 0; i < lead; i++) {
        pool->args.planes *= wide->dims[i];
    }
    for (uint64_t i = 0; i < pool->spatial; i++) {
        struct op_pool_axis *axis = &pool->args.axis[OP_SPATIAL - pool->spatial + i];
        const int64_t pad_end = pool->pad_end[OP_SPATIAL - pool->spatial + i];
        axis->size = wide->dims[lead + i];
        axis->points = small->dims[lead + i];
        axis->stride = pool->has_stride ? axis->stride : axis->kernel;
        if ((p->op->flags & (POOL_ADAPTIVE | POOL_UNBOUND)) != 0) {
            continue;
        }
        if (axis->pad * 2 > axis->kernel * axis->dilation || axis->size > INT32_MAX) {
            return NN_INVALID(p, "the padding %lld exceeds half of the window of %lld, or the size %llu is too large",
                              (long long)axis->pad, (long long)axis->kernel, (unsigned long long)axis->size);
        }
        const int64_t room = (int64_t)axis->size + axis->pad + pad_end - axis->dilation * (axis->kernel - 1) - 1;
        int64_t points = room < 0 ? 0 : room / axis->stride + 1;
        if (pool->ceil_mode && room % axis->stride != 0 && room >= 0 &&
            points * axis->stride < (int64_t)axis->size + axis->pad) {
            points++; /* the last window begins inside */
        }
        if (points != (int64_t)axis->points || points == 0) {
            return NN_INVALID(p, "the windows of %s give %lld elements in dimension %llu, the tensor %s has %llu",
                              nn_shape_text(wide->rank, wide->dims), (long long)points, (unsigned long long)(lead + i),
                              nn_shape_text(small->rank, small->dims), (unsigned long long)axis->points);
        }
    }
    return ACLNN_SUCCESS;
}

/* Whether each window has one element, whose index follows from its position. */
static bool is_single(const struct pool *pool)
{
    bool single = true;
    for (int i = 0; i < OP_SPATIAL; i++) {
        single = single && pool->args.axis[i].kernel == 1;
    }
    return single;
}

static aclnnStatus plan_pool(struct nn_plan *p)
{
    struct pool pool = {.spatial = p->op->code >> 4};
    pool.args.mode = p->op->code & 15;
    pool.args.adaptive = (p->op->flags & POOL_ADAPTIVE) != 0;
    for (int i = 0; i < OP_SPATIAL; i++) {
        pool.args.axis[i] = (struct op_pool_axis){1, 1, 1, 1, 0, 1};
    }
    NN_CHECK(read_params(p, &pool));
    const bool back = is_backward(p), writes_wide = back || pool.args.mode == OP_POOL_PUT;
    const struct nn_view *small = back || pool.args.mode == OP_POOL_PUT ? &pool.grad : &pool.out;
    const struct nn_view *wide = writes_wide ? &pool.out : &pool.in;
    if (nn_is_there(&pool.in) && back) {
        NN_CHECK(nn_expect_shape(p, "the gradient", &pool.out, pool.in.rank, pool.in.dims));
    }
    NN_CHECK(check_axes(p, &pool, wide, small));
    struct nn_view read, written, index = pool.index;
    const bool reads_index = writes_wide || pool.args.mode == OP_POOL_TAKE;
    if (nn_is_there(&index)) {
        const bool in_mask = strchr(p->op->roles, 'M') != NULL && index.rank == 1;
        const bool single = in_mask && is_single(&pool);
        if (in_mask && !single && index.count >= small->count) {
            index.rank = small->rank;
            memcpy(index.dims, small->dims, sizeof index.dims);
            index.count = small->count;
            for (uint64_t i = small->rank, step = 1; i-- > 0; step *= small->dims[i]) {
                index.steps[i] = (int64_t)step;
            }
        } else if (single) {
            /* Averages over one element spread like maxima. */
            index = (struct nn_view){0};
            pool.args.mode = back ? OP_POOL_AVG_GRAD : OP_POOL_MAX;
        }
    }
    if (nn_is_there(&index)) {
        NN_CHECK(nn_expect_shape(p, "indices", &index, small->rank, small->dims));
    }
    if (wide->count == 0 || small->count == 0) {
        return writes_wide && wide->count > 0 ? nn_fill(p, "ZerosLike", wide, &(struct op_number){0, 0}, ACL_FLOAT)
                                              : ACLNN_SUCCESS;
    }
    NN_CHECK(nn_dense_input(p, ACL_FLOAT, writes_wide ? small : wide, &read));
    NN_CHECK(nn_dense_output(p, ACL_FLOAT, writes_wide ? wide : small, &written));
    struct nn_view dense = index;
    if (nn_is_there(&index)) {
        NN_CHECK(reads_index ? nn_dense_input(p, index.type, &index, &dense)
                             : nn_dense_output(p, index.type, &index, &dense));
    }
    pool.args.index_type = dense.type;
    NN_CHECK(nn_launch(p, p->op->kernel, &pool.args, sizeof pool.args,
                       (const struct nn_address *[]){writes_wide ? &written.address : &read.address,
                                                     writes_wide ? &read.address : &written.address, &dense.address},
                       3, wide->count + 4 * small->count));
    if (nn_is_there(&index) && !reads_index) {
        NN_CHECK(nn_dense_output_done(p, &dense, &index));
    }
    return nn_dense_output_done(p, &written, writes_wide ? wide : small);
}

#define NN_POOL(name, role_text, spatial, pool_mode, kernel_name, flag_bits)                                           \
    NN_OPERATOR(name, plan_pool, .roles = role_text, .kernel = kernel_name, .types = NN_FLOATS16_32,                   \
                .code = POOL(spatial, OP_POOL_##pool_mode), .flags = flag_bits)

NN_POOL(MaxPool, "xks-edcz", 2, MAX, "MaxPoolV3", 0)
NN_POOL(MaxPool2dWithIndices, "xkspdczi", 2, MAX, "MaxPool3DWithArgmaxV2", 0)
NN_POOL(MaxPool2dWithIndicesBackward, "yxikspdcz", 2, MAX_GRAD, "MaxPool3DGradWithArgmax", 0)
NN_POOL(MaxPool2dWithMask, "xkspdczM", 2, MAX, "MaxPool3DWithArgmaxV2", 0)
NN_POOL(MaxPool2dWithMaskBackward, "yxMkspdcz", 2, MAX_GRAD, "MaxPool3DGradWithArgmax", 0)
NN_POOL(MaxPool3dWithArgmax, "xkspdczi", 3, MAX, "MaxPool3DWithArgmaxV2", 0)
NN_POOL(MaxPool3dWithArgmaxBackward, "yxikspdcz", 3, MAX_GRAD, "MaxPool3DGradWithArgmax", 0)
NN_POOL(AvgPool2d, "xkspcnv-z", 2, AVG, "AvgPoolV2", 0)
NN_POOL(AvgPool2dBackward, "yxkspcnv-z", 2, AVG_GRAD, "AvgPoolV2Grad", 0)
NN_POOL(AvgPool3d, "xkspcnvz", 3, AVG, "AvgPool3D", 0)
NN_POOL(AvgPool3dBackward, "yxkspcnvz", 3, AVG_GRAD, "AvgPool3DGrad", 0)
NN_POOL(AdaptiveAvgPool2d, "x-z", 2, AVG, "AdaptiveAvgPool3d", POOL_ADAPTIVE)
NN_POOL(AdaptiveAvgPool2dBackward, "yxz", 2, AVG_GRAD, "AdaptiveAvgPool3dGrad", POOL_ADAPTIVE)
NN_POOL(AdaptiveAvgPool3d, "x-z", 3, AVG, "AdaptiveAvgPool3d", POOL_ADAPTIVE)
NN_POOL(AdaptiveAvgPool3dBackward, "yxz", 3, AVG_GRAD, "AdaptiveAvgPool3dGrad", POOL_ADAPTIVE)
NN_POOL(AdaptiveMaxPool2d, "x-zi", 2, MAX, "AdaptiveMaxPool3d", POOL_ADAPTIVE)
NN_POOL(AdaptiveMaxPool2dBackward, "yxiz", 2, MAX_GRAD, "AdaptiveMaxPool3dGrad", POOL_ADAPTIVE)
NN_POOL(AdaptiveMaxPool3d, "x-zi", 3, MAX, "AdaptiveMaxPool3d", POOL_ADAPTIVE)
NN_POOL(AdaptiveMaxPool3dBackward, "yxiz", 3, MAX_GRAD, "AdaptiveMaxPool3dGrad", POOL_ADAPTIVE)
NN_POOL(MaxUnpool2d, "yi-z", 2, PUT, "MaxUnpool", POOL_UNBOUND)
NN_POOL(MaxUnpool3d, "yi---z", 3, PUT, "MaxUnpool", POOL_UNBOUND)
NN_POOL(MaxUnpool2dBackward, "x-i-z", 2, TAKE, "MaxUnpoolGrad", POOL_UNBOUND)
NN_POOL(MaxUnpool3dBackward, "x-i---z", 3, TAKE, "MaxUnpoolGrad", POOL_UNBOUND)
