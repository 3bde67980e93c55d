/* SPDX-License-Identifier: Apache-2.0 */
/* Type rules of the operators: names, promotion, allowed conversions, scalars. */
#include "softnpu/aclnn/op.h"

#include "softnpu/kernels/half.h"

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

aclnnStatus nn_scalar(struct nn_plan *plan, const char *name, const aclScalar *scalar, nn_types types,
                      struct op_number *number, aclDataType *type)
{
    if (scalar == NULL) {
        return snpu_fail(ACLNN_ERR_PARAM_NULLPTR, "%s: %s is NULL", plan->op, name);
    }
    const struct aclScalar *s = snpu_nn_scalar(scalar);
    if (s == NULL) {
        return NN_INVALID(plan, "%s: scalar %p does not exist", name, (const void *)scalar);
    }
    if (s->type < 0 || s->type >= 32 || (NN_TYPE(s->type) & types) == 0) {
        return NN_INVALID(plan, "%s: scalars of type %s are not supported", name, nn_type_name(s->type));
    }
    switch (s->type) {
    case ACL_FLOAT:
        number->real = (double)s->f32;
        break;
    case ACL_DOUBLE:
        number->real = s->f64;
        break;
    case ACL_FLOAT16:
        number->real = (double)tk_half_to_float(s->u16);
        break;
    case ACL_BF16:
        number->real = (double)tk_bf16_to_float(s->u16);
        break;
    case ACL_INT8:
        number->whole = s->i8;
        break;
    case ACL_INT16:
        number->whole = s->i16;
        break;
    case ACL_INT32:
        number->whole = s->i32;
        break;
    case ACL_INT64:
        number->whole = s->i64;
        break;
    case ACL_UINT8:
        number->whole = s->u8;
        break;
    case ACL_UINT16:
        number->whole = s->u16;
        break;
    case ACL_UINT32:
        number->whole = s->u32;
        break;
    case ACL_UINT64:
        number->whole = (int64_t)s->u64;
        break;
    default:
        number->whole = s->u8 != 0;
        break;
    }
    if (nn_is_real(s->type)) {
        /* For integer arithmetic: the value that a conversion would give, saturated. */
        const double v = number->real;
        number->whole = v != v ? 0 : v >= 0x1p63 ? INT64_MAX : v < -0x1p63 ? INT64_MIN : (int64_t)v;
    } else {
        number->real = s->type == ACL_UINT64 ? (double)s->u64 : (double)number->whole;
    }
    *type = s->type;
    return ACLNN_SUCCESS;
}
