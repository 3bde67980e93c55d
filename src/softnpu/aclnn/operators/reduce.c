/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over dimensions. */
#include "softnpu/aclnn/operators/reduce.h"

#include "softnpu/kernels/convert.h"

#include <string.h>

aclnnStatus nn_reduced_dims(struct nn_plan *p, uint32_t param, uint64_t rank, bool *reduced)
{
    const int64_t *dims;
    uint64_t count;
    NN_CHECK(nn_ints(p, param, &dims, &count));
    for (uint64_t i = 0; i < NN_DIMS; i++) {
        reduced[i] = count == 0 && i < rank;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t axis;
        NN_CHECK(nn_axis(p, dims[i], rank, &axis));
        if (reduced[axis]) {
            return NN_INVALID(p, "%s: dimension %lld appears twice", p->params[param].name, (long long)dims[i]);
        }
        reduced[axis] = true;
    }
    return ACLNN_SUCCESS;
}

void nn_split(const struct nn_view *x, const bool *reduced, struct nn_view *kept, struct nn_view *inner)
{
    *kept = *inner = (struct nn_view){.type = x->type, .count = 1};
    for (uint64_t i = 0; i < x->rank; i++) {
        struct nn_view *part = reduced[i] ? inner : kept;
        part->dims[part->rank] = x->dims[i];
        part->steps[part->rank++] = x->steps[i];
        part->count *= x->dims[i];
    }
}

aclnnStatus nn_reduced_out(struct nn_plan *p, const struct nn_view *x, const bool *reduced, bool keep,
                           struct nn_view *out)
{
    struct nn_view shape = {0}, squeezed = *out;
    squeezed.rank = 0;
    for (uint64_t i = 0; i < x->rank; i++) {
        if (!reduced[i]) {
            squeezed.dims[squeezed.rank] = x->dims[i];
            squeezed.steps[squeezed.rank++] = out->steps[shape.rank];
        }
        if (!reduced[i] || keep) {
            shape.dims[shape.rank++] = reduced[i] ? 1 : x->dims[i];
        }
    }
    NN_CHECK(nn_expect_shape(p, "out", out, shape.rank, shape.dims));
    *out = squeezed;
    return ACLNN_SUCCESS;
}

/* (self, dims, keepDims, dtype, out) */
static aclnnStatus plan_reduce_sum(struct nn_plan *p)
{
    struct nn_view x, z, kept, inner;
    bool reduced[NN_DIMS];
    NN_CHECK(nn_tensor(p, 0, NN_ARITHMETIC, &x));
    NN_CHECK(nn_tensor(p, 4, NN_ARITHMETIC, &z));
    NN_CHECK(nn_reduced_dims(p, 1, x.rank, reduced));
    const aclDataType dtype = (aclDataType)nn_whole(p, 3);
    if (dtype != z.type) {
        return NN_INVALID(p, "dtype is %s, out is %s", nn_type_name(dtype), nn_type_name(z.type));
    }
    NN_CHECK(nn_reduced_out(p, &x, reduced, nn_whole(p, 2), &z));
    nn_split(&x, reduced, &kept, &inner);
    if (z.count == 0) {
        return ACLNN_SUCCESS;
    }
    struct op_reduce_args args = {.kind = nn_is_real(x.type) || nn_is_real(z.type) ? TK_KIND_REAL : TK_KIND_SIGNED};
    nn_tile(&args.loop, (struct op_side *[]){&args.x_side, &args.z_side}, (const struct nn_view *[]){&kept, &z}, 2);
    nn_tile(&args.inner, (struct op_side *[]){&args.x_inner}, (const struct nn_view *[]){&inner}, 1);
    return nn_launch(p, p->op->kernel, &args, sizeof args, (const struct nn_address *[]){&x.address, &z.address}, 2,
                     x.count);
}
NN_OPERATOR(ReduceSum, plan_reduce_sum, .kernel = "ReduceSum", .types = NN_ARITHMETIC)
