/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of an operator call, checked: tensors become views, scalars become numbers, arrays become pointers.
 *
 * Invariants: every size is checked for overflow when a view is made, so later arithmetic on counts and byte extents of
 * views is safe. Failure policy: status codes with messages that name operator, parameter and reason. */
#include "softnpu/aclnn/op.h"

#include "softnpu/kernels/half.h"

static const char *name_of(const struct nn_plan *p, uint32_t param)
{
    return p->params[param].name;
}

bool nn_given(const struct nn_plan *p, uint32_t param)
{
    return p->args[param].object != NULL;
}

int64_t nn_whole(const struct nn_plan *p, uint32_t param)
{
    return p->args[param].whole;
}

double nn_real(const struct nn_plan *p, uint32_t param)
{
    return p->params[param].kind == NN_P_REAL ? p->args[param].real : (double)p->args[param].whole;
}

const char *nn_text(const struct nn_plan *p, uint32_t param)
{
    return p->args[param].object != NULL ? p->args[param].object : "";
}

static aclnnStatus null_param(const struct nn_plan *p, uint32_t param)
{
    return snpu_fail(ACLNN_ERR_PARAM_NULLPTR, "%s: %s is NULL", p->name, name_of(p, param));
}

/* ---- tensors ---- */

/* Number of elements of a view, and the distance from its first to its last element; false on overflow. */
static bool measure(const struct nn_view *view, uint64_t *count, uint64_t *reach)
{
    *count = 1;
    *reach = 0;
    bool empty = false;
    for (uint64_t i = 0; i < view->rank; i++) {
        empty |= view->dims[i] == 0;
    }
    for (uint64_t i = 0; i < view->rank && !empty; i++) {
        uint64_t part;
        if (__builtin_mul_overflow(*count, view->dims[i], count) ||
            __builtin_mul_overflow(view->dims[i] - 1, (uint64_t)view->steps[i], &part) ||
            __builtin_add_overflow(*reach, part, reach)) {
            return false;
        }
    }
    if (empty) {
        *count = 0;
    }
    return *count <= (uint64_t)INT64_MAX / 16 && *reach <= (uint64_t)INT64_MAX / 16;
}

/* Two INT4 share a byte. */
static uint64_t bytes_of(aclDataType type, uint64_t elements)
{
    return type == ACL_INT4 ? elements / 2 + elements % 2 : elements * aclDataTypeSize(type);
}

static aclnnStatus view_of(struct nn_plan *p, uint32_t param, const aclTensor *tensor, nn_types types,
                           struct nn_view *view)
{
    const char *name = name_of(p, param);
    const struct aclTensor *t = snpu_nn_tensor(tensor);
    if (t == NULL) {
        return NN_INVALID(p, "%s: tensor %p does not exist", name, (const void *)tensor);
    }
    if (t->type < 0 || t->type >= 32 || (NN_TYPE(t->type) & types) == 0) {
        return NN_INVALID(p, "%s: tensors of type %s are not supported", name, nn_type_name(t->type));
    }
    if (t->rank > NN_DIMS) {
        return NN_INVALID(p, "%s: %llu dimensions, at most %d are supported", name, (unsigned long long)t->rank,
                          NN_DIMS);
    }
    struct nn_view seen = {.type = t->type, .format = t->format, .rank = t->rank};
    for (uint64_t i = 0; i < t->rank; i++) {
        seen.dims[i] = (uint64_t)t->dims[i];
        seen.steps[i] = t->strides[i];
    }
    uint64_t reach;
    if (!measure(&seen, &seen.count, &reach) || (uint64_t)t->offset > (uint64_t)INT64_MAX / 16) {
        return NN_INVALID(p, "%s: shape, strides or offset are out of range", name);
    }
    if (t->type == ACL_INT4 && t->offset % 2 != 0) {
        return NN_INVALID(p, "%s: an offset of INT4 must be a multiple of 2", name);
    }
    const uint64_t first_b = bytes_of(t->type, (uint64_t)t->offset);
    const struct nn_tensor_ref ref = {
        .tensor = (aclTensor *)tensor,
        .serial = t->serial,
        .data = t->data,
        .first_b = first_b,
        .end_b = seen.count > 0 ? first_b + bytes_of(t->type, reach + 1) : first_b,
    };
    seen.address = (struct nn_address){.from = NN_FROM_TENSOR, .offset_b = first_b};
    if (!snpu_nn_executor_tensor(p->executor, &ref, &seen.address.tensor)) {
        return snpu_fail(ACLNN_ERR_INNER, "%s: out of memory", p->name);
    }
    *view = seen;
    return ACLNN_SUCCESS;
}

aclnnStatus nn_tensor_optional(struct nn_plan *p, uint32_t param, nn_types types, struct nn_view *view)
{
    *view = (struct nn_view){0};
    return nn_given(p, param) ? view_of(p, param, p->args[param].object, types, view) : ACLNN_SUCCESS;
}

aclnnStatus nn_tensor(struct nn_plan *p, uint32_t param, nn_types types, struct nn_view *view)
{
    return nn_given(p, param) ? view_of(p, param, p->args[param].object, types, view) : null_param(p, param);
}

bool nn_is_there(const struct nn_view *view)
{
    return view->address.from != NN_NOWHERE;
}

/* ---- scalars ---- */

static aclnnStatus number_of(const struct nn_plan *p, uint32_t param, const aclScalar *scalar, nn_types types,
                             struct op_number *number, aclDataType *type)
{
    const struct aclScalar *s = snpu_nn_scalar(scalar);
    if (s == NULL) {
        return NN_INVALID(p, "%s: scalar %p does not exist", name_of(p, param), (const void *)scalar);
    }
    if (s->type < 0 || s->type >= 32 || (NN_TYPE(s->type) & types) == 0) {
        return NN_INVALID(p, "%s: scalars of type %s are not supported", name_of(p, param), nn_type_name(s->type));
    }
    switch (s->type) {
#define REAL(acl_type, value)                                                                                          \
    case acl_type:                                                                                                     \
        number->real = (double)(value);                                                                                \
        number->whole = __builtin_isfinite(number->real) ? (int64_t)number->real : 0;                                  \
        break;
#define WHOLE(acl_type, value)                                                                                         \
    case acl_type:                                                                                                     \
        number->whole = (int64_t)(value);                                                                              \
        number->real = (double)(value);                                                                                \
        break;
        REAL(ACL_FLOAT, s->f32)
        REAL(ACL_DOUBLE, s->f64)
        REAL(ACL_FLOAT16, tk_half_to_float(s->u16))
        REAL(ACL_BF16, tk_bf16_to_float(s->u16))
        WHOLE(ACL_INT8, s->i8)
        WHOLE(ACL_INT16, s->i16)
        WHOLE(ACL_INT32, s->i32)
        WHOLE(ACL_INT64, s->i64)
        WHOLE(ACL_UINT8, s->u8)
        WHOLE(ACL_UINT16, s->u16)
        WHOLE(ACL_UINT32, s->u32)
        WHOLE(ACL_UINT64, s->u64)
        WHOLE(ACL_BOOL, s->u8 != 0)
#undef REAL
#undef WHOLE
    default:
        return NN_INVALID(p, "%s: scalars of type %s are not supported", name_of(p, param), nn_type_name(s->type));
    }
    *type = s->type;
    return ACLNN_SUCCESS;
}

aclnnStatus nn_scalar(struct nn_plan *p, uint32_t param, nn_types types, struct op_number *number, aclDataType *type)
{
    return nn_given(p, param) ? number_of(p, param, p->args[param].object, types, number, type) : null_param(p, param);
}

/* ---- arrays and lists ---- */

static aclnnStatus array_of(struct nn_plan *p, uint32_t param, enum nn_array_kind kind, const struct nn_array **array)
{
    if (!nn_given(p, param)) {
        return null_param(p, param);
    }
    *array = snpu_nn_array(p->args[param].object, kind);
    return *array != NULL ? ACLNN_SUCCESS
                          : NN_INVALID(p, "%s: array %p does not exist", name_of(p, param), p->args[param].object);
}

#define ARRAY_OF(function, ctype, kind)                                                                                \
    aclnnStatus function(struct nn_plan *p, uint32_t param, const ctype **values, uint64_t *count)                     \
    {                                                                                                                  \
        const struct nn_array *array;                                                                                  \
        NN_CHECK(array_of(p, param, kind, &array));                                                                    \
        *values = array->data;                                                                                         \
        *count = array->count;                                                                                         \
        return ACLNN_SUCCESS;                                                                                          \
    }
ARRAY_OF(nn_ints, int64_t, NN_INTS)
ARRAY_OF(nn_bools, bool, NN_BOOLS)
ARRAY_OF(nn_floats, float, NN_FLOATS)

static enum nn_array_kind list_kind(const struct nn_plan *p, uint32_t param)
{
    return p->params[param].kind == NN_P_SCALAR_LIST ? NN_SCALAR_LIST : NN_TENSOR_LIST;
}

aclnnStatus nn_list(struct nn_plan *p, uint32_t param, uint64_t *count)
{
    const struct nn_array *array;
    NN_CHECK(array_of(p, param, list_kind(p, param), &array));
    *count = array->count;
    return ACLNN_SUCCESS;
}

/* Member `at` of a list, not NULL. */
static aclnnStatus member_of(struct nn_plan *p, uint32_t param, uint64_t at, const void **member)
{
    const struct nn_array *array;
    NN_CHECK(array_of(p, param, list_kind(p, param), &array));
    if (at >= array->count) {
        return NN_INVALID(p, "%s has %llu entries, entry %llu is required", name_of(p, param),
                          (unsigned long long)array->count, (unsigned long long)at);
    }
    *member = ((const void *const *)array->data)[at];
    return *member != NULL ? ACLNN_SUCCESS
                           : snpu_fail(ACLNN_ERR_PARAM_NULLPTR, "%s: entry %llu of %s is NULL", p->name,
                                       (unsigned long long)at, name_of(p, param));
}

aclnnStatus nn_list_tensor(struct nn_plan *p, uint32_t param, uint64_t at, nn_types types, struct nn_view *view)
{
    const void *member;
    NN_CHECK(member_of(p, param, at, &member));
    return view_of(p, param, member, types, view);
}

aclnnStatus nn_list_scalar(struct nn_plan *p, uint32_t param, uint64_t at, nn_types types, struct op_number *number,
                           aclDataType *type)
{
    const void *member;
    NN_CHECK(member_of(p, param, at, &member));
    return number_of(p, param, member, types, number, type);
}

aclnnStatus nn_axis(struct nn_plan *p, int64_t dim, uint64_t rank, uint64_t *axis)
{
    const int64_t limit = rank > 0 ? (int64_t)rank : 1;
    if (dim < -limit || dim >= limit) {
        return NN_INVALID(p, "dim %lld is out of range for a tensor of %llu dimensions", (long long)dim,
                          (unsigned long long)rank);
    }
    *axis = (uint64_t)(dim < 0 ? dim + limit : dim);
    return ACLNN_SUCCESS;
}
