/* SPDX-License-Identifier: Apache-2.0 */
/* aclnnInplaceUniform and aclnnInplaceNormal: fill a tensor from Philox4x32-10, determined by seed and offset. */
#include "softnpu/aclnn/op.h"

#include "aclnnop/aclnn_normal.h"
#include "aclnnop/aclnn_uniform.h"

static aclnnStatus plan_random(const char *op, const char *kernel, const char *node, const aclTensor *self,
                               const struct op_random_args *values, bool valid, uint64_t *workspaceSize,
                               aclOpExecutor **executor)
{
    struct nn_plan p;
    struct nn_view z;
    struct op_random_args args = *values;
    NN_TRY(&p, nn_begin(&p, op, workspaceSize, executor));
    NN_TRY(&p, nn_view(&p, "selfRef", self, NN_ARITHMETIC, &z));
    if (!valid) {
        NN_TRY(&p, NN_INVALID(&p, "%g and %g are not valid parameters of the distribution", args.first, args.second));
    }
    if (z.count > 0) {
        nn_tile(&args.loop, (struct op_side *[]){&args.z_side}, (const struct nn_view *[]){&z}, 1);
        NN_TRY(&p, nn_launch(&p, kernel, node, &args, sizeof args, (const struct nn_address *[]){&z.address}, 1,
                             4 * z.count));
    }
    return nn_finish(&p, workspaceSize, executor);
}

aclnnStatus aclnnInplaceUniformGetWorkspaceSize(const aclTensor *selfRef, double from, double to, uint64_t seed,
                                                uint64_t offset, uint64_t *workspaceSize, aclOpExecutor **executor)
{
    return plan_random("aclnnInplaceUniform", "StatelessRandomUniformV2",
                       NN_NODE("aclnnInplaceUniform", "StatelessRandomUniformV2"), selfRef,
                       &(struct op_random_args){.seed = seed, .offset = offset, .first = from, .second = to},
                       from <= to, workspaceSize, executor);
}
NN_SECOND_PHASE(aclnnInplaceUniform)

aclnnStatus aclnnInplaceNormalGetWorkspaceSize(const aclTensor *selfRef, float mean, float std, int64_t seed,
                                               int64_t offset, uint64_t *workspaceSize, aclOpExecutor **executor)
{
    return plan_random(
        "aclnnInplaceNormal", "StatelessRandomNormalV2", NN_NODE("aclnnInplaceNormal", "StatelessRandomNormalV2"),
        selfRef,
        &(struct op_random_args){
            .seed = (uint64_t)seed, .offset = (uint64_t)offset, .first = (double)mean, .second = (double)std},
        std >= 0, workspaceSize, executor);
}
NN_SECOND_PHASE(aclnnInplaceNormal)
