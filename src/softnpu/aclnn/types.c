/* SPDX-License-Identifier: Apache-2.0 */
/* Type rules of the operators: names, promotion, allowed conversions. */
#include "softnpu/aclnn/op.h"

const char *nn_type_name(aclDataType type)
{
    switch (type) {
#define NAME(t)                                                                                                        \
    case ACL_##t:                                                                                                      \
        return #t;
        NAME(FLOAT)
        NAME(FLOAT16)
        NAME(BF16)
        NAME(DOUBLE)
        NAME(INT4)
        NAME(INT8)
        NAME(INT16)
        NAME(INT32)
        NAME(INT64)
        NAME(UINT8)
        NAME(UINT16)
        NAME(UINT32)
        NAME(UINT64)
        NAME(BOOL)
        NAME(STRING)
        NAME(COMPLEX32)
        NAME(COMPLEX64)
        NAME(COMPLEX128)
#undef NAME
    default:
        return "(unknown type)";
    }
}

bool nn_is_real(aclDataType type)
{
    return type >= 0 && type < 32 && (NN_TYPE(type) & NN_REALS) != 0;
}

/* Order within a category; UINT8 with a signed type is a special case. */
static int rank_of(aclDataType type)
{
    switch (type) {
    case ACL_BOOL:
        return 0;
    case ACL_UINT8:
        return 1;
    case ACL_INT8:
        return 2;
    case ACL_INT16:
        return 3;
    case ACL_INT32:
        return 4;
    case ACL_INT64:
        return 5;
    case ACL_FLOAT16:
        return 6;
    case ACL_BF16:
        return 7;
    case ACL_FLOAT:
        return 8;
    default:
        return 9; /* DOUBLE */
    }
}

aclDataType nn_promote(aclDataType a, aclDataType b)
{
    if (rank_of(a) > rank_of(b)) {
        aclDataType swap = a;
        a = b;
        b = swap;
    }
    if (a == ACL_UINT8 && b == ACL_INT8) {
        return ACL_INT16;
    }
    if (a == ACL_FLOAT16 && b == ACL_BF16) {
        return ACL_FLOAT;
    }
    return b;
}

bool nn_can_cast(aclDataType from, aclDataType to)
{
    if (nn_is_real(from)) {
        return nn_is_real(to);
    }
    return to != ACL_BOOL || from == ACL_BOOL;
}

/* bool < integer < real */
static int category_of(aclDataType type)
{
    return nn_is_real(type) ? 2 : type != ACL_BOOL;
}

aclDataType nn_promote_scalar(aclDataType tensor, aclDataType scalar)
{
    if (category_of(scalar) <= category_of(tensor)) {
        return tensor;
    }
    return nn_is_real(scalar) ? ACL_FLOAT : ACL_INT64;
}
