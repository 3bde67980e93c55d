/* SPDX-License-Identifier: Apache-2.0 */
/* Random values from Philox4x32-10, determined by seed and offset. */
#include "softnpu/aclnn/op.h"

/* (selfRef, first, second, seed, offset) */
static aclnnStatus plan_random(struct nn_plan *p, bool is_valid)
{
    struct nn_view z;
    struct op_random_args args = {
        .first = nn_real(p, 1),
        .second = nn_real(p, 2),
        .seed = (uint64_t)nn_whole(p, 3),
        .offset = (uint64_t)nn_whole(p, 4),
    };
    NN_CHECK(nn_tensor(p, 0, p->op->types, &z));
    if (!is_valid) {
        return NN_INVALID(p, "%g and %g are not valid parameters of the distribution", args.first, args.second);
    }
    if (z.count == 0) {
        return ACLNN_SUCCESS;
    }
    nn_tile(&args.loop, (struct op_side *[]){&args.z_side}, (const struct nn_view *[]){&z}, 1);
    return nn_launch(p, p->op->kernel, &args, sizeof args, (const struct nn_address *[]){&z.address}, 1, 4 * z.count);
}

static aclnnStatus plan_uniform(struct nn_plan *p)
{
    return plan_random(p, nn_real(p, 1) <= nn_real(p, 2));
}
NN_OPERATOR(InplaceUniform, plan_uniform, .kernel = "StatelessRandomUniformV2", .types = NN_ARITHMETIC)

static aclnnStatus plan_normal(struct nn_plan *p)
{
    return plan_random(p, nn_real(p, 2) >= 0);
}
NN_OPERATOR(InplaceNormal, plan_normal, .kernel = "StatelessRandomNormalV2", .types = NN_ARITHMETIC)
