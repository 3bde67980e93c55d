/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on lists of tensors: the functions of kernels/map_rows.h for every member.
 *
 * Roles, one character per parameter:
 *   I  list of inputs            O  list of outputs          R  inputs and outputs in one
 *   n  scalar, an operand of every member     N  list of scalars, one per member
 *   t  tensor with one number, an operand     s  scalar, the number of the function
 *   a  tensor with the number of the function, one for all members or one for each
 * Dense members go to the device OP_FOREACH at a time; each of the others is a launch of its own. */
#include "softnpu/aclnn/operators/map.h"

#include <string.h>

struct foreach {
    uint64_t count;
    uint32_t inputs;
    aclDataType scalar_type;
    int64_t slot;
    struct nn_view number; /* in device memory */
    bool has_number;
    struct op_foreach_args args;
    struct nn_address addresses[OP_FOREACH][OP_FOREACH_POINTERS];
    uint64_t work;
};

static aclnnStatus flush(struct nn_plan *p, struct foreach *f)
{
    const struct nn_address *addresses[OP_FOREACH * OP_FOREACH_POINTERS];
    if (f->args.count == 0) {
        return ACLNN_SUCCESS;
    }
    for (uint32_t i = 0; i < OP_FOREACH * OP_FOREACH_POINTERS; i++) {
        addresses[i] = &f->addresses[i / OP_FOREACH_POINTERS][i % OP_FOREACH_POINTERS];
    }
    NN_CHECK(
        nn_launch(p, p->op->kernel, &f->args, sizeof f->args, addresses, OP_FOREACH * OP_FOREACH_POINTERS, f->work));
    memset(&f->args, 0, sizeof f->args);
    memset(f->addresses, 0, sizeof f->addresses);
    f->work = 0;
    return ACLNN_SUCCESS;
}

/* Member `at` of the call: views and constants of its inputs, the number, the output. */
struct member {
    struct nn_view views[OP_MAP_INPUTS], out;
    struct nn_map_input inputs[OP_MAP_INPUTS];
    struct op_number number;
    uint32_t input_count;
    aclDataType type, scalar_type;
    bool has_type;
};

static aclnnStatus take(struct nn_plan *p, struct foreach *f, struct member *m, uint32_t param, uint64_t at)
{
    aclDataType type = ACL_BOOL;
    const char role = p->op->roles[param];
    switch (role) {
    case 'I':
    case 'R': {
        struct nn_view *view = &m->views[m->input_count];
        NN_CHECK(nn_list_tensor(p, param, at, p->op->types, view));
        m->inputs[m->input_count++].view = view;
        m->type = m->has_type ? nn_promote(m->type, view->type) : view->type;
        m->has_type = true;
        if (role == 'R') {
            m->out = *view;
        }
        return ACLNN_SUCCESS;
    }
    case 'O':
        return nn_list_tensor(p, param, at, p->op->types, &m->out);
    case 'n':
        NN_CHECK(nn_scalar(p, param, NN_MOVABLE, &m->inputs[m->input_count++].constant, &type));
        m->scalar_type = nn_promote_scalar(m->scalar_type, type);
        return ACLNN_SUCCESS;
    case 'N':
        NN_CHECK(nn_list_scalar(p, param, at, NN_MOVABLE, &m->inputs[m->input_count++].constant, &type));
        m->scalar_type = nn_promote_scalar(m->scalar_type, type);
        return ACLNN_SUCCESS;
    case 's':
        return nn_scalar(p, param, NN_MOVABLE, &m->number, &type);
    case 't':
        f->slot = m->input_count++;
        return ACLNN_SUCCESS;
    default:
        f->slot = OP_FOREACH_NUMBER;
        return ACLNN_SUCCESS;
    }
}

/* The device number of a member; a tensor of several numbers has one for each. */
static struct nn_address number_address(const struct foreach *f, uint64_t at)
{
    struct nn_address address = f->number.address;
    if (f->number.count > 1) {
        address.offset_b += at * (uint64_t)f->number.steps[0] * aclDataTypeSize(f->number.type);
    }
    return address;
}

static aclnnStatus add(struct nn_plan *p, struct foreach *f, const struct member *m, uint64_t at)
{
    const aclDataType type = nn_promote_scalar(m->type, m->scalar_type);
    const uint32_t kind = nn_map_kind(type, p->op->code);
    bool dense = nn_is_dense(&m->out);
    for (uint32_t i = 0; i < m->input_count; i++) {
        dense &= m->inputs[i].view == NULL || nn_is_dense(m->inputs[i].view);
    }
    if (m->out.count == 0) {
        return ACLNN_SUCCESS;
    }
    struct nn_map_input inputs[OP_MAP_INPUTS];
    struct nn_view views[OP_MAP_INPUTS], out = m->out;
    memcpy(inputs, m->inputs, sizeof inputs);
    for (uint32_t i = 0; !dense && i < m->input_count; i++) {
        if (inputs[i].view != NULL) {
            NN_CHECK(nn_dense_input(p, inputs[i].view->type, inputs[i].view, &views[i]));
            inputs[i].view = &views[i];
        }
    }
    if (!dense) {
        NN_CHECK(nn_dense_output(p, m->out.type, &m->out, &out));
    }
    if (f->args.count > 0 && f->args.kind != kind) {
        NN_CHECK(flush(p, f));
    }
    const uint64_t slot = f->args.count++;
    f->args.code = p->op->code;
    f->args.kind = kind;
    f->args.input_count = m->input_count;
    f->args.slot = f->has_number ? f->slot : OP_FOREACH_NOWHERE;
    f->args.number_type = f->number.type;
    f->args.sizes[slot] = out.count;
    f->args.numbers[slot] = p->op->flags & NN_MAP_ONE ? (struct op_number){1, 1} : m->number;
    for (uint32_t i = 0; i < OP_MAP_INPUTS; i++) {
        f->args.constants[slot][i] = inputs[i].constant;
        if (inputs[i].view != NULL) {
            f->args.types[slot][i] = inputs[i].view->type;
            f->addresses[slot][i] = inputs[i].view->address;
        }
    }
    f->args.types[slot][OP_MAP_INPUTS] = out.type;
    f->addresses[slot][OP_MAP_INPUTS] = out.address;
    if (f->has_number) {
        f->addresses[slot][OP_MAP_INPUTS + 1] = number_address(f, at);
    }
    f->work += out.count;
    if (f->args.count == OP_FOREACH || !dense) {
        NN_CHECK(flush(p, f));
    }
    return dense ? ACLNN_SUCCESS : nn_dense_output_done(p, &out, &m->out);
}

static aclnnStatus check(struct nn_plan *p, const struct member *m, uint64_t at)
{
    for (uint32_t i = 0; i < m->input_count; i++) {
        if (m->inputs[i].view != NULL && !nn_same_shape(m->inputs[i].view, &m->out)) {
            return NN_INVALID(p, "entry %llu: the shapes %s and %s differ", (unsigned long long)at,
                              nn_shape_text(m->inputs[i].view->rank, m->inputs[i].view->dims),
                              nn_shape_text(m->out.rank, m->out.dims));
        }
    }
    if (!(p->op->flags & NN_MAP_CAST) && !nn_can_cast(m->type, m->out.type)) {
        return NN_INVALID(p, "entry %llu: a result of type %s cannot be stored as %s", (unsigned long long)at,
                          nn_type_name(m->type), nn_type_name(m->out.type));
    }
    return ACLNN_SUCCESS;
}

static aclnnStatus plan_foreach(struct nn_plan *p)
{
    struct foreach f = {.slot = OP_FOREACH_NOWHERE};
    bool first = true;
    for (uint32_t i = 0; i < p->count; i++) {
        const char role = p->op->roles[i];
        uint64_t count;
        if (strchr("IORN", role) != NULL) {
            NN_CHECK(nn_list(p, i, &count));
            if (!first && count != f.count) {
                return NN_INVALID(p, "%s has %llu entries, %llu are required", p->params[i].name,
                                  (unsigned long long)count, (unsigned long long)f.count);
            }
            f.count = count;
            first = false;
        } else if (role == 't' || role == 'a') {
            NN_CHECK(nn_tensor(p, i, NN_ARITHMETIC, &f.number));
            f.has_number = true;
        }
    }
    if (f.has_number && f.number.count != 1 && (f.number.rank != 1 || f.number.count < f.count)) {
        return NN_INVALID(p, "a tensor of shape %s cannot give %llu numbers",
                          nn_shape_text(f.number.rank, f.number.dims), (unsigned long long)f.count);
    }
    for (uint64_t at = 0; at < f.count; at++) {
        struct member m = {.type = ACL_BOOL, .scalar_type = ACL_BOOL};
        for (uint32_t i = 0; i < p->count; i++) {
            NN_CHECK(take(p, &f, &m, i, at));
        }
        NN_CHECK(check(p, &m, at));
        NN_CHECK(add(p, &f, &m, at));
    }
    return flush(p, &f);
}

/* NN_FOREACH(operator, kernel, roles, function, flags) */
#define NN_FOREACH(name, kernel_name, role_text, function, flag_bits)                                                  \
    NN_OPERATOR(name, plan_foreach, .kernel = #kernel_name, .code = OP_MAP_##function, .roles = role_text,             \
                .types = NN_ARITHMETIC, .flags = flag_bits)

NN_FOREACH(ForeachAbs, ForeachAbs, "IO", Abs, 0)
NN_FOREACH(ForeachAcos, ForeachAcos, "IO", Acos, 0)
NN_FOREACH(ForeachAsin, ForeachAsin, "IO", Asin, 0)
NN_FOREACH(ForeachAtan, ForeachAtan, "IO", Atan, 0)
NN_FOREACH(ForeachCos, ForeachCos, "IO", Cos, 0)
NN_FOREACH(ForeachCosh, ForeachCosh, "IO", Cosh, 0)
NN_FOREACH(ForeachErf, ForeachErf, "IO", Erf, 0)
NN_FOREACH(ForeachErfc, ForeachErfc, "IO", Erfc, 0)
NN_FOREACH(ForeachExp, ForeachExp, "IO", Exp, 0)
NN_FOREACH(ForeachExpm1, ForeachExpm1, "IO", Expm1, 0)
NN_FOREACH(ForeachLog, ForeachLog, "IO", Log, 0)
NN_FOREACH(ForeachLog10, ForeachLog10, "IO", Log10, 0)
NN_FOREACH(ForeachLog1p, ForeachLog1p, "IO", Log1p, 0)
NN_FOREACH(ForeachLog2, ForeachLog2, "IO", Log2, 0)
NN_FOREACH(ForeachNeg, ForeachNeg, "IO", Neg, 0)
NN_FOREACH(ForeachReciprocal, ForeachReciprocal, "IO", Reciprocal, 0)
NN_FOREACH(ForeachSigmoid, ForeachSigmoid, "IO", Sigmoid, 0)
NN_FOREACH(ForeachSign, ForeachSign, "IO", Sign, 0)
NN_FOREACH(ForeachSin, ForeachSin, "IO", Sin, 0)
NN_FOREACH(ForeachSinh, ForeachSinh, "IO", Sinh, 0)
NN_FOREACH(ForeachSqrt, ForeachSqrt, "IO", Sqrt, 0)
NN_FOREACH(ForeachTan, ForeachTan, "IO", Tan, 0)
NN_FOREACH(ForeachTanh, ForeachTanh, "IO", Tanh, 0)
NN_FOREACH(ForeachCopy, ForeachCopy, "IO", Identity, NN_MAP_CAST)
NN_FOREACH(ForeachZeroInplace, ForeachZeroInplace, "R", ZerosOf, 0)
NN_FOREACH(ForeachAddList, ForeachAddList, "IIaO", Add, 0)
NN_FOREACH(ForeachAddListV2, ForeachAddList, "IIsO", Add, 0)
NN_FOREACH(ForeachSubList, ForeachSubList, "IIaO", Sub, 0)
NN_FOREACH(ForeachSubListV2, ForeachSubList, "IIsO", Sub, 0)
NN_FOREACH(ForeachMulList, ForeachMulList, "IIO", Mul, 0)
NN_FOREACH(ForeachDivList, ForeachDivList, "IIO", RealDiv, 0)
NN_FOREACH(ForeachMaximumList, ForeachMaximumList, "IIO", Maximum, 0)
NN_FOREACH(ForeachMinimumList, ForeachMinimumList, "IIO", Minimum, 0)
NN_FOREACH(ForeachPowList, ForeachPowList, "IIO", Pow, 0)
NN_FOREACH(ForeachAddScalar, ForeachAddScalar, "ItO", Add, NN_MAP_ONE)
NN_FOREACH(ForeachAddScalarV2, ForeachAddScalar, "InO", Add, NN_MAP_ONE)
NN_FOREACH(ForeachAddScalarList, ForeachAddScalarList, "INO", Add, NN_MAP_ONE)
NN_FOREACH(ForeachSubScalar, ForeachSubScalar, "ItO", Sub, NN_MAP_ONE)
NN_FOREACH(ForeachSubScalarV2, ForeachSubScalar, "InO", Sub, NN_MAP_ONE)
NN_FOREACH(ForeachSubScalarList, ForeachSubScalarList, "INO", Sub, NN_MAP_ONE)
NN_FOREACH(ForeachMulScalar, ForeachMulScalar, "ItO", Mul, 0)
NN_FOREACH(ForeachMulScalarV2, ForeachMulScalar, "InO", Mul, 0)
NN_FOREACH(ForeachMulScalarList, ForeachMulScalarList, "INO", Mul, 0)
NN_FOREACH(ForeachDivScalar, ForeachDivScalar, "ItO", RealDiv, 0)
NN_FOREACH(ForeachDivScalarV2, ForeachDivScalar, "InO", RealDiv, 0)
NN_FOREACH(ForeachDivScalarList, ForeachDivScalarList, "INO", RealDiv, 0)
NN_FOREACH(ForeachMaximumScalar, ForeachMaximumScalar, "ItO", Maximum, 0)
NN_FOREACH(ForeachMaximumScalarV2, ForeachMaximumScalar, "InO", Maximum, 0)
NN_FOREACH(ForeachMaximumScalarList, ForeachMaximumScalarList, "INO", Maximum, 0)
NN_FOREACH(ForeachMinimumScalar, ForeachMinimumScalar, "ItO", Minimum, 0)
NN_FOREACH(ForeachMinimumScalarV2, ForeachMinimumScalar, "InO", Minimum, 0)
NN_FOREACH(ForeachMinimumScalarList, ForeachMinimumScalarList, "INO", Minimum, 0)
NN_FOREACH(ForeachPowScalar, ForeachPowScalar, "ItO", Pow, 0)
NN_FOREACH(ForeachPowScalarV2, ForeachPowScalar, "InO", Pow, 0)
NN_FOREACH(ForeachPowScalarList, ForeachPowScalarList, "INO", Pow, 0)
NN_FOREACH(ForeachPowScalarAndTensor, ForeachPowScalarAndTensor, "nIO", Pow, 0)
NN_FOREACH(ForeachAddcdivScalar, ForeachAddcdivScalar, "IIIaO", Addcdiv, 0)
NN_FOREACH(ForeachAddcdivScalarV2, ForeachAddcdivScalar, "IIIsO", Addcdiv, 0)
NN_FOREACH(ForeachAddcdivScalarList, ForeachAddcdivScalarList, "IIIaO", Addcdiv, 0)
NN_FOREACH(ForeachAddcdivList, ForeachAddcdivList, "IIIaO", Addcdiv, 0)
NN_FOREACH(ForeachAddcmulScalar, ForeachAddcmulScalar, "IIIaO", Addcmul, 0)
NN_FOREACH(ForeachAddcmulScalarV2, ForeachAddcmulScalar, "IIIsO", Addcmul, 0)
NN_FOREACH(ForeachAddcmulScalarList, ForeachAddcmulScalarList, "IIIaO", Addcmul, 0)
NN_FOREACH(ForeachAddcmulList, ForeachAddcmulList, "IIIaO", Addcmul, 0)
NN_FOREACH(ForeachLerpList, ForeachLerpList, "IIIO", Lerp, 0)
NN_FOREACH(ForeachLerpScalar, ForeachLerpScalar, "IInO", Lerp, 0)
NN_FOREACH(ForeachRoundOffNumber, ForeachRoundOffNumber, "IaO", RoundOff, 0)
NN_FOREACH(ForeachRoundOffNumberV2, ForeachRoundOffNumber, "IsO", RoundOff, 0)

/* (scaledGrads, foundInf, inScale) */
static aclnnStatus plan_unscale(struct nn_plan *p)
{
    struct foreach f = {.slot = OP_FOREACH_NOWHERE};
    struct nn_view found, scale;
    NN_CHECK(nn_list(p, 0, &f.count));
    NN_CHECK(nn_tensor(p, 1, NN_TYPE(ACL_FLOAT), &found));
    NN_CHECK(nn_tensor(p, 2, NN_TYPE(ACL_FLOAT), &scale));
    if (found.count != 1 || scale.count != 1) {
        return NN_INVALID(p, "foundInf and inScale must have one element each");
    }
    for (uint64_t at = 0; at < f.count; at++) {
        struct nn_view x, dense;
        NN_CHECK(nn_list_tensor(p, 0, at, p->op->types, &x));
        if (x.count == 0) {
            continue;
        }
        NN_CHECK(nn_dense_input(p, x.type, &x, &dense));
        const uint64_t slot = f.args.count++;
        f.args.number_type = ACL_FLOAT;
        f.args.sizes[slot] = dense.count;
        f.args.types[slot][0] = dense.type;
        f.addresses[slot][0] = dense.address;
        f.addresses[slot][1] = found.address;
        f.addresses[slot][OP_MAP_INPUTS + 1] = scale.address;
        f.work += dense.count;
        const bool copied = dense.address.from == NN_FROM_WORKSPACE;
        if (f.args.count == OP_FOREACH || copied) {
            NN_CHECK(flush(p, &f));
        }
        if (copied) {
            NN_CHECK(nn_move(p, &dense, &x));
        }
    }
    return flush(p, &f);
}
NN_OPERATOR(ForeachNonFiniteCheckAndUnscale, plan_unscale, .kernel = "ForeachNonFiniteCheckAndUnscale",
            .types = NN_FLOATS16_32)
