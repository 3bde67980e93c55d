/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax over one dimension. */
#include "softnpu/aclnn/op.h"

/* (self, dim, out) */
static aclnnStatus plan_softmax(struct nn_plan *p)
{
    struct nn_view x, z;
    uint64_t axis;
    NN_CHECK(nn_tensor(p, 0, NN_REALS, &x));
    NN_CHECK(nn_tensor(p, 2, NN_REALS, &z));
    NN_CHECK(nn_expect_shape(p, "out", &z, x.rank, x.dims));
    NN_CHECK(nn_axis(p, nn_whole(p, 1), x.rank, &axis));
    if (z.count == 0) {
        return ACLNN_SUCCESS;
    }
    struct op_softmax_args args = {.count = x.rank > 0 ? x.dims[axis] : 1,
                                   .x_step = x.rank > 0 ? x.steps[axis] : 0,
                                   .z_step = x.rank > 0 ? z.steps[axis] : 0};
    /* The loop runs over the other dimensions. */
    struct nn_view x_rest = x, z_rest = z;
    if (x.rank > 0) {
        x_rest.dims[axis] = z_rest.dims[axis] = 1;
    }
    nn_tile(&args.loop, (struct op_side *[]){&args.x_side, &args.z_side}, (const struct nn_view *[]){&x_rest, &z_rest},
            2);
    return nn_launch(p, p->op->kernel, &args, sizeof args, (const struct nn_address *[]){&x.address, &z.address}, 2,
                     4 * z.count);
}
NN_OPERATOR(Softmax, plan_softmax, .kernel = "SoftmaxV2", .types = NN_REALS)
