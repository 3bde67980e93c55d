/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that set, move and convert values. */
#include "softnpu/aclnn/op.h"

static aclnnStatus plan_cast(struct nn_plan *p)
{
    struct nn_view x, z;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    NN_CHECK(nn_tensor(p, 2, NN_MOVABLE, &z));
    const aclDataType dtype = (aclDataType)nn_whole(p, 1);
    if (dtype != z.type) {
        return NN_INVALID(p, "dtype is %s, out is %s", nn_type_name(dtype), nn_type_name(z.type));
    }
    NN_CHECK(nn_expect_shape(p, "out", &z, x.rank, x.dims));
    return nn_move(p, &x, &z);
}
NN_OPERATOR(Cast, plan_cast, .types = NN_MOVABLE)

static aclnnStatus plan_copy(struct nn_plan *p)
{
    struct nn_view x, z;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &z));
    NN_CHECK(nn_tensor(p, 1, NN_MOVABLE, &x));
    if (!nn_broadcast(&x, z.rank, z.dims, &x)) {
        return NN_INVALID(p, "src of shape %s does not broadcast to the shape %s of selfRef",
                          nn_shape_text(x.rank, x.dims), nn_shape_text(z.rank, z.dims));
    }
    return nn_move(p, &x, &z);
}
NN_OPERATOR(InplaceCopy, plan_copy, .types = NN_MOVABLE)

static aclnnStatus plan_fill_scalar(struct nn_plan *p)
{
    struct nn_view z;
    struct op_number number;
    aclDataType type;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &z));
    NN_CHECK(nn_scalar(p, 1, NN_MOVABLE, &number, &type));
    return nn_fill(p, "Fill", &z, &number, type);
}
NN_OPERATOR(InplaceFillScalar, plan_fill_scalar, .types = NN_MOVABLE)

static aclnnStatus plan_constant(struct nn_plan *p)
{
    struct nn_view z;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &z));
    const struct op_number value = {p->op->number, (int64_t)p->op->number};
    return nn_fill(p, p->op->kernel, &z, &value, ACL_INT64);
}
NN_OPERATOR(InplaceZero, plan_constant, .types = NN_MOVABLE, .kernel = "ZerosLike", .number = 0)
NN_OPERATOR(InplaceOne, plan_constant, .types = NN_MOVABLE, .kernel = "OnesLike", .number = 1)

/* (srcTensor, dstTensor): the device has no private formats; the elements stay in the order of the view. */
static aclnnStatus plan_format_cast(struct nn_plan *p)
{
    struct nn_view x, z;
    NN_CHECK(nn_tensor(p, 0, NN_MOVABLE, &x));
    NN_CHECK(nn_tensor(p, 1, NN_MOVABLE, &z));
    NN_CHECK(nn_expect_shape(p, "dstTensor", &z, x.rank, x.dims));
    if (x.type != z.type) {
        return NN_INVALID(p, "srcTensor has the type %s, dstTensor %s", nn_type_name(x.type), nn_type_name(z.type));
    }
    return nn_move(p, &x, &z);
}
NN_OPERATOR(NpuFormatCast, plan_format_cast, .types = NN_MOVABLE)
