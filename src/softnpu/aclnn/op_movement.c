/* SPDX-License-Identifier: Apache-2.0 */
/* aclnnCast, aclnnInplaceCopy, aclnnInplaceFillScalar, aclnnInplaceZero: set, move and convert values. */
#include "softnpu/aclnn/op.h"

#include "aclnnop/aclnn_cast.h"
#include "aclnnop/aclnn_copy.h"
#include "aclnnop/aclnn_fill_scalar.h"
#include "aclnnop/aclnn_zero.h"
#include "softnpu/kernels/convert.h"

aclnnStatus aclnnCastGetWorkspaceSize(const aclTensor *self, const aclDataType dtype, aclTensor *out,
                                      uint64_t *workspaceSize, aclOpExecutor **executor)
{
    struct nn_plan p;
    struct nn_view x, z;
    NN_TRY(&p, nn_begin(&p, "aclnnCast", workspaceSize, executor));
    NN_TRY(&p, nn_view(&p, "self", self, NN_MOVABLE, &x));
    NN_TRY(&p, nn_view(&p, "out", out, NN_MOVABLE, &z));
    if (dtype != z.type) {
        NN_TRY(&p, NN_INVALID(&p, "dtype is %s, out is %s", nn_type_name(dtype), nn_type_name(z.type)));
    }
    if (!nn_same_shape(&x, &z)) {
        NN_TRY(&p, NN_INVALID(&p, "the shapes of %s differ", "self and out"));
    }
    NN_TRY(&p, nn_move(&p, NN_MOVE_NODES("aclnnCast"), &x, &z));
    return nn_finish(&p, workspaceSize, executor);
}
NN_SECOND_PHASE(aclnnCast)

aclnnStatus aclnnInplaceCopyGetWorkspaceSize(aclTensor *selfRef, const aclTensor *src, uint64_t *workspaceSize,
                                             aclOpExecutor **executor)
{
    struct nn_plan p;
    struct nn_view x, z;
    NN_TRY(&p, nn_begin(&p, "aclnnInplaceCopy", workspaceSize, executor));
    NN_TRY(&p, nn_view(&p, "selfRef", selfRef, NN_MOVABLE, &z));
    NN_TRY(&p, nn_view(&p, "src", src, NN_MOVABLE, &x));
    if (!nn_broadcast(&x, z.rank, z.dims, &x)) {
        NN_TRY(&p, NN_INVALID(&p, "the shape of %s does not broadcast to that of selfRef", "src"));
    }
    NN_TRY(&p, nn_move(&p, NN_MOVE_NODES("aclnnInplaceCopy"), &x, &z));
    return nn_finish(&p, workspaceSize, executor);
}
NN_SECOND_PHASE(aclnnInplaceCopy)

static aclnnStatus plan_fill(struct nn_plan *p, const char *kernel, const char *node, const struct nn_view *z,
                             const struct op_number *value, aclDataType value_type)
{
    struct op_fill_args args = {.value = *value, .kind = nn_is_real(value_type) ? TK_KIND_REAL : TK_KIND_SIGNED};
    if (z->count == 0) {
        return ACLNN_SUCCESS;
    }
    nn_tile(&args.loop, (struct op_side *[]){&args.z_side}, &z, 1);
    return nn_launch(p, kernel, node, &args, sizeof args, (const struct nn_address *[]){&z->address}, 1, z->count);
}

aclnnStatus aclnnInplaceFillScalarGetWorkspaceSize(aclTensor *selfRef, const aclScalar *value, uint64_t *workspaceSize,
                                                   aclOpExecutor **executor)
{
    struct nn_plan p;
    struct nn_view z;
    struct op_number number;
    aclDataType type;
    NN_TRY(&p, nn_begin(&p, "aclnnInplaceFillScalar", workspaceSize, executor));
    NN_TRY(&p, nn_view(&p, "selfRef", selfRef, NN_MOVABLE, &z));
    NN_TRY(&p, nn_scalar(&p, "value", value, NN_MOVABLE, &number, &type));
    NN_TRY(&p, plan_fill(&p, "Fill", NN_NODE("aclnnInplaceFillScalar", "Fill"), &z, &number, type));
    return nn_finish(&p, workspaceSize, executor);
}
NN_SECOND_PHASE(aclnnInplaceFillScalar)

aclnnStatus aclnnInplaceZeroGetWorkspaceSize(aclTensor *selfRef, uint64_t *workspaceSize, aclOpExecutor **executor)
{
    struct nn_plan p;
    struct nn_view z;
    NN_TRY(&p, nn_begin(&p, "aclnnInplaceZero", workspaceSize, executor));
    NN_TRY(&p, nn_view(&p, "selfRef", selfRef, NN_MOVABLE, &z));
    NN_TRY(&p, plan_fill(&p, "ZerosLike", NN_NODE("aclnnInplaceZero", "ZerosLike"), &z, &(struct op_number){0, 0},
                         ACL_INT64));
    return nn_finish(&p, workspaceSize, executor);
}
NN_SECOND_PHASE(aclnnInplaceZero)
