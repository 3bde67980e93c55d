/* SPDX-License-Identifier: Apache-2.0 */
/* aclnnAdd, aclnnMul and their in-place forms. */
#include "softnpu/aclnn/op.h"

#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_mul.h"
#include "softnpu/kernels/convert.h"

#include <string.h>

struct binary {
    const char *op;     /* "aclnnAdd" */
    const char *kernel; /* "Add" */
    const char *node;
    const aclTensor *self;
    const aclTensor *other;
    const aclTensor *out;   /* equal to self in in-place forms */
    const aclScalar *alpha; /* Add only */
    bool has_alpha;
};

static aclnnStatus plan_binary(const struct binary *call, uint64_t *workspaceSize, aclOpExecutor **executor)
{
    struct nn_plan p;
    struct nn_view x, y, z;
    struct op_binary_args args = {.alpha = {1, 1}};
    aclDataType alpha_type = ACL_BOOL;
    NN_TRY(&p, nn_begin(&p, call->op, workspaceSize, executor));
    NN_TRY(&p, nn_view(&p, "self", call->self, NN_ARITHMETIC, &x));
    NN_TRY(&p, nn_view(&p, "other", call->other, NN_ARITHMETIC, &y));
    if (call->has_alpha) {
        NN_TRY(&p, nn_scalar(&p, "alpha", call->alpha, NN_ARITHMETIC, &args.alpha, &alpha_type));
    }
    NN_TRY(&p, nn_view(&p, call->out == call->self ? "selfRef" : "out", call->out, NN_ARITHMETIC, &z));

    const aclDataType result = nn_promote(x.type, y.type);
    if (!nn_can_cast(result, z.type)) {
        NN_TRY(&p, NN_INVALID(&p, "a result of type %s cannot be stored as %s", nn_type_name(result),
                              nn_type_name(z.type)));
    }
    if (nn_is_real(alpha_type) && !nn_is_real(result)) {
        NN_TRY(&p, NN_INVALID(&p, "alpha of type %s cannot be used with operands of type %s", nn_type_name(alpha_type),
                              nn_type_name(result)));
    }
    uint64_t rank, dims[NN_DIMS];
    if (!nn_common_shape(&x, &y, &rank, dims)) {
        NN_TRY(&p, NN_INVALID(&p, "the shapes of %s do not broadcast", "self and other"));
    }
    struct nn_view shape = {.rank = rank};
    memcpy(shape.dims, dims, rank * sizeof *dims);
    if (!nn_same_shape(&shape, &z)) {
        NN_TRY(&p, NN_INVALID(&p, "%s does not have the shape of the result", "out"));
    }
    if (z.count > 0) {
        struct nn_view xb, yb;
        nn_broadcast(&x, rank, dims, &xb);
        nn_broadcast(&y, rank, dims, &yb);
        args.kind = nn_is_real(result) ? TK_KIND_REAL : TK_KIND_SIGNED;
        nn_tile(&args.loop, (struct op_side *[]){&args.x_side, &args.y_side, &args.z_side},
                (const struct nn_view *[]){&xb, &yb, &z}, 3);
        NN_TRY(&p, nn_launch(&p, call->kernel, call->node, &args, sizeof args,
                             (const struct nn_address *[]){&x.address, &y.address, &z.address}, 3, z.count));
    }
    return nn_finish(&p, workspaceSize, executor);
}

aclnnStatus aclnnAddGetWorkspaceSize(const aclTensor *self, const aclTensor *other, const aclScalar *alpha,
                                     aclTensor *out, uint64_t *workspaceSize, aclOpExecutor **executor)
{
    return plan_binary(&(struct binary){.op = "aclnnAdd",
                                        .kernel = "Add",
                                        .node = NN_NODE("aclnnAdd", "Add"),
                                        .self = self,
                                        .other = other,
                                        .alpha = alpha,
                                        .has_alpha = true,
                                        .out = out},
                       workspaceSize, executor);
}
NN_SECOND_PHASE(aclnnAdd)

aclnnStatus aclnnInplaceAddGetWorkspaceSize(const aclTensor *selfRef, const aclTensor *other, const aclScalar *alpha,
                                            uint64_t *workspaceSize, aclOpExecutor **executor)
{
    return plan_binary(&(struct binary){.op = "aclnnInplaceAdd",
                                        .kernel = "Add",
                                        .node = NN_NODE("aclnnInplaceAdd", "Add"),
                                        .self = selfRef,
                                        .other = other,
                                        .alpha = alpha,
                                        .has_alpha = true,
                                        .out = selfRef},
                       workspaceSize, executor);
}
NN_SECOND_PHASE(aclnnInplaceAdd)

aclnnStatus aclnnMulGetWorkspaceSize(const aclTensor *self, const aclTensor *other, aclTensor *out,
                                     uint64_t *workspaceSize, aclOpExecutor **executor)
{
    return plan_binary(&(struct binary){.op = "aclnnMul",
                                        .kernel = "Mul",
                                        .node = NN_NODE("aclnnMul", "Mul"),
                                        .self = self,
                                        .other = other,
                                        .out = out},
                       workspaceSize, executor);
}
NN_SECOND_PHASE(aclnnMul)

aclnnStatus aclnnInplaceMulGetWorkspaceSize(aclTensor *selfRef, const aclTensor *other, uint64_t *workspaceSize,
                                            aclOpExecutor **executor)
{
    return plan_binary(&(struct binary){.op = "aclnnInplaceMul",
                                        .kernel = "Mul",
                                        .node = NN_NODE("aclnnInplaceMul", "Mul"),
                                        .self = selfRef,
                                        .other = other,
                                        .out = selfRef},
                       workspaceSize, executor);
}
NN_SECOND_PHASE(aclnnInplaceMul)
