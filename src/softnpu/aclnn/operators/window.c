/* SPDX-License-Identifier: Apache-2.0 */
/* The gradient of sliding windows: one addition of a strided part for every position in the window. */
#include "softnpu/aclnn/operators/layout.h"
#include "softnpu/aclnn/operators/map.h"

static const struct op_number window_zero = {0, 0};

/* to += from */
static aclnnStatus add_to(struct nn_plan *p, const struct nn_view *to, const struct nn_view *from)
{
    const struct nn_map_input inputs[] = {{.view = to}, {.view = from}};
    const double one = 1;
    return nn_map(p, NN_MAP_KERNEL(Add), to->type, inputs, 2, &one, 1, to);
}

/* Where gradients are summed: the output itself, or a float tensor in the workspace for halves. */
static aclnnStatus start_sum(struct nn_plan *p, const struct nn_view *z, struct nn_view *sum)
{
    if (z->type == ACL_FLOAT16 || z->type == ACL_BF16) {
        NN_CHECK(nn_workspace(p, ACL_FLOAT, z->rank, z->dims, sum));
    } else {
        *sum = *z;
    }
    return nn_fill(p, "ZerosLike", sum, &window_zero, ACL_INT64);
}

static aclnnStatus finish_sum(struct nn_plan *p, const struct nn_view *sum, const struct nn_view *z)
{
    return sum->type != z->type ? nn_move(p, sum, z) : ACLNN_SUCCESS;
}

/* (gradOut, inputSizes, dim, size, step, gradIn): gradOut has windows instead of elements along dim, and the positions in
 * a window as its last dimension. */
static aclnnStatus plan_unfold_grad(struct nn_plan *p)
{
    struct nn_view grad, z, sum;
    uint64_t axis;
    const int64_t size = nn_whole(p, 3), step = nn_whole(p, 4);
    NN_CHECK(nn_tensor(p, 0, p->op->types, &grad));
    NN_CHECK(nn_tensor(p, 5, p->op->types, &z));
    NN_CHECK(nn_axis(p, nn_whole(p, 2), z.rank, &axis));
    bool fits = z.rank > 0 && grad.rank == z.rank + 1 && size >= 1 && step >= 1 && size <= (int64_t)z.dims[axis] &&
                grad.dims[z.rank] == (uint64_t)size;
    for (uint64_t i = 0; i < z.rank && fits; i++) {
        fits = grad.dims[i] == (i == axis ? (z.dims[i] - (uint64_t)size) / (uint64_t)step + 1 : z.dims[i]);
    }
    if (!fits) {
        return NN_INVALID(p, "gradOut %s does not fit to gradIn %s with windows of %lld, %lld apart",
                          nn_shape_text(grad.rank, grad.dims), nn_shape_text(z.rank, z.dims), (long long)size,
                          (long long)step);
    }
    NN_CHECK(start_sum(p, &z, &sum));
    for (int64_t k = 0; k < size; k++) {
        const struct nn_view from = nn_pick(&grad, z.rank, (uint64_t)k);
        const struct nn_view to = nn_part(&sum, axis, (uint64_t)k, step, grad.dims[axis]);
        NN_CHECK(add_to(p, &to, &from));
    }
    return finish_sum(p, &sum, &z);
}
NN_OPERATOR(UnfoldGrad, plan_unfold_grad, .types = NN_REALS)
