/* SPDX-License-Identifier: Apache-2.0 */
/* Comparisons, selections, logic and bits, element by element. */
#include "softnpu/aclnn/operators/map.h"

/* NN_MAP(operator, roles, function, types, flags), NN_MAP_OR(..., value of scalars that are NULL) */
/* comparisons */
NN_MAP(EqTensor, "iio", Equal, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(EqScalar, "ino", Equal, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(InplaceEqTensor, "ri", Equal, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(InplaceEqScalar, "rn", Equal, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(NeTensor, "iio", NotEqual, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(NeScalar, "ino", NotEqual, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(InplaceNeTensor, "ri", NotEqual, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(InplaceNeScalar, "rn", NotEqual, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(GtTensor, "iio", Greater, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(GtScalar, "ino", Greater, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(InplaceGtTensor, "ri", Greater, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(InplaceGtScalar, "rn", Greater, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(GeTensor, "iio", GreaterEqual, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(GeScalar, "ino", GreaterEqual, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(InplaceGeTensor, "ri", GreaterEqual, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(InplaceGeScalar, "rn", GreaterEqual, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(LtTensor, "iio", Less, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(LtScalar, "ino", Less, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(InplaceLtTensor, "ri", Less, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(InplaceLtScalar, "rn", Less, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(LeTensor, "iio", LessEqual, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(LeScalar, "ino", LessEqual, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(InplaceLeTensor, "ri", LessEqual, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(InplaceLeScalar, "rn", LessEqual, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(IsClose, "iidddo", IsClose, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(ApproximateEqual, "iido", ApproximateEqual, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(IsFinite, "io", IsFinite, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(IsInf, "io", IsInf, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(IsPosInf, "io", IsPosInf, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(IsNegInf, "io", IsNegInf, NN_ARITHMETIC, NN_MAP_BOOL)

/* selection */
NN_MAP(Maximum, "iio", Maximum, NN_ARITHMETIC, 0)
NN_MAP(Minimum, "iio", Minimum, NN_ARITHMETIC, 0)
NN_MAP(Clamp, "ilho", ClipByValueV2, NN_ARITHMETIC, 0)
NN_MAP(Hardtanh, "ilho", ClipByValueV2, NN_ARITHMETIC, 0)
NN_MAP(InplaceHardtanh, "rlh", ClipByValueV2, NN_ARITHMETIC, 0)
NN_MAP(ClampTensor, "iLHo", ClipByValue, NN_ARITHMETIC, 0)
NN_MAP(ClampMin, "ino", Maximum, NN_ARITHMETIC, 0)
NN_MAP(ClampMinTensor, "iio", Maximum, NN_ARITHMETIC, 0)
NN_MAP(InplaceClampMinTensor, "ri", Maximum, NN_ARITHMETIC, 0)
NN_MAP(ClampMax, "ino", Minimum, NN_ARITHMETIC, 0)
NN_MAP(ClampMaxTensor, "iio", Minimum, NN_ARITHMETIC, 0)
NN_MAP(InplaceClampMaxTensor, "ri", Minimum, NN_ARITHMETIC, 0)
NN_MAP(InplaceClampMax, "rn", Minimum, NN_ARITHMETIC, 0)
NN_MAP(SWhere, "miio", SelectV2, NN_ARITHMETIC, 0)
NN_MAP(InplaceMaskedFillScalar, "rmn", MaskedFill, NN_ARITHMETIC, NN_MAP_CAST)
NN_MAP(InplaceMaskedFillTensor, "rmi", MaskedFill, NN_ARITHMETIC, NN_MAP_CAST)
NN_MAP(NanToNum, "idddo", NanToNum, NN_ARITHMETIC, 0)
NN_MAP(InplaceNanToNum, "rddd", NanToNum, NN_ARITHMETIC, 0)

/* logic */
NN_MAP(LogicalAnd, "iio", LogicalAnd, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(InplaceLogicalAnd, "ri", LogicalAnd, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(LogicalOr, "iio", LogicalOr, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(InplaceLogicalOr, "ri", LogicalOr, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(LogicalXor, "iio", LogicalXor, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(LogicalNot, "io", LogicalNot, NN_ARITHMETIC, NN_MAP_BOOL)
NN_MAP(InplaceLogicalNot, "r", LogicalNot, NN_ARITHMETIC, NN_MAP_BOOL)

/* bits */
NN_MAP(BitwiseAndTensor, "iio", BitwiseAnd, NN_INTEGERS | NN_TYPE(ACL_BOOL), 0)
NN_MAP(BitwiseAndScalar, "ino", BitwiseAnd, NN_INTEGERS | NN_TYPE(ACL_BOOL), 0)
NN_MAP(InplaceBitwiseAndTensor, "ri", BitwiseAnd, NN_INTEGERS | NN_TYPE(ACL_BOOL), 0)
NN_MAP(InplaceBitwiseAndScalar, "rn", BitwiseAnd, NN_INTEGERS | NN_TYPE(ACL_BOOL), 0)
NN_MAP(BitwiseOrTensor, "iio", BitwiseOr, NN_INTEGERS | NN_TYPE(ACL_BOOL), 0)
NN_MAP(BitwiseOrScalar, "ino", BitwiseOr, NN_INTEGERS | NN_TYPE(ACL_BOOL), 0)
NN_MAP(InplaceBitwiseOrTensor, "ri", BitwiseOr, NN_INTEGERS | NN_TYPE(ACL_BOOL), 0)
NN_MAP(InplaceBitwiseOrScalar, "rn", BitwiseOr, NN_INTEGERS | NN_TYPE(ACL_BOOL), 0)
NN_MAP(BitwiseXorTensor, "iio", BitwiseXor, NN_INTEGERS | NN_TYPE(ACL_BOOL), 0)
NN_MAP(BitwiseXorScalar, "ino", BitwiseXor, NN_INTEGERS | NN_TYPE(ACL_BOOL), 0)
NN_MAP(InplaceBitwiseXorTensor, "ri", BitwiseXor, NN_INTEGERS | NN_TYPE(ACL_BOOL), 0)
NN_MAP(InplaceBitwiseXorScalar, "rn", BitwiseXor, NN_INTEGERS | NN_TYPE(ACL_BOOL), 0)
NN_MAP(BitwiseAndTensorOut, "iio", BitwiseAnd, NN_INTEGERS | NN_TYPE(ACL_BOOL), 0)
NN_MAP(InplaceBitwiseAndTensorOut, "ri", BitwiseAnd, NN_INTEGERS | NN_TYPE(ACL_BOOL), 0)
NN_MAP(LeftShift, "iio", LeftShift, NN_INTEGERS, 0)
NN_MAP(LeftShifts, "ino", LeftShift, NN_INTEGERS, 0)
NN_MAP(RightShift, "iio", RightShift, NN_INTEGERS, 0)

/* Not of a bool is logical, of an integer bit by bit. */
static aclnnStatus plan_bitwise_not(struct nn_plan *p)
{
    struct nn_view x;
    NN_CHECK(nn_tensor(p, 0, p->op->types, &x));
    return x.type == ACL_BOOL ? nn_plan_map_as(p, NN_MAP_KERNEL(LogicalNot)) : nn_plan_map_as(p, NN_MAP_KERNEL(Invert));
}
NN_MAP_BY(BitwiseNot, "io", plan_bitwise_not, NN_INTEGERS | NN_TYPE(ACL_BOOL))

/* (element, testElement, assumeUnique, invert, out) */
static aclnnStatus plan_is_in(struct nn_plan *p)
{
    return nn_whole(p, 3) ? nn_plan_map_as(p, NN_MAP_KERNEL(NotEqual)) : nn_plan_map_as(p, NN_MAP_KERNEL(Equal));
}
NN_OPERATOR(IsInTensorScalar, plan_is_in, .roles = "in--o", .types = NN_ARITHMETIC, .flags = NN_MAP_BOOL)
