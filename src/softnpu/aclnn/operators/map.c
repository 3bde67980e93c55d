/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of element-wise operators: roles to operands, type promotion, broadcasting, one launch. */
#include "softnpu/aclnn/operators/map.h"

#include "softnpu/kernels/half.h"

#include <math.h>
#include <string.h>

/* Functions without an integer form: integers are computed, and by default returned, as float. */
static const bool real_only[OP_MAP_CODES] = {
#define NOT_REAL_2(name, expression)  false,
#define REAL_2(name, expression)      true,
#define NOT_REAL_3(name, real, whole) false,
    OP_MAP_ROWS(NOT_REAL_2, REAL_2, NOT_REAL_3)};

enum op_map_kind nn_map_kind(aclDataType type, uint32_t code)
{
    if (!nn_is_real(type)) {
        return real_only[code] ? OP_MAP_F32 : OP_MAP_I64;
    }
    return type == ACL_DOUBLE ? OP_MAP_F64 : OP_MAP_F32;
}

static aclnnStatus launch(struct nn_plan *p, const char *kernel, const struct nn_map_input *inputs,
                          struct op_map_args *args, const struct nn_view *out)
{
    static const struct nn_address nowhere = {.from = NN_NOWHERE};
    const struct nn_view *views[OP_MAP_INPUTS + 1];
    struct op_side *sides[OP_MAP_INPUTS + 1];
    const struct nn_address *addresses[OP_MAP_INPUTS + 1];
    uint32_t count = 0;
    if (out->count == 0) {
        return ACLNN_SUCCESS;
    }
    for (uint32_t i = 0; i < OP_MAP_INPUTS; i++) {
        addresses[i] = inputs[i].view != NULL ? &inputs[i].view->address : &nowhere;
        args->constants[i] = inputs[i].constant;
        if (inputs[i].view != NULL) {
            views[count] = inputs[i].view;
            sides[count++] = &args->in_side[i];
        }
    }
    addresses[OP_MAP_INPUTS] = &out->address;
    views[count] = out;
    sides[count++] = &args->z_side;
    nn_tile(&args->loop, sides, views, count);
    return nn_launch(p, kernel, args, sizeof *args, addresses, OP_MAP_INPUTS + 1, out->count);
}

aclnnStatus nn_map(struct nn_plan *p, const char *kernel, uint32_t code, aclDataType type,
                   const struct nn_map_input *inputs, uint32_t input_count, const double *numbers,
                   uint32_t number_count, const struct nn_view *out)
{
    struct nn_map_input all[OP_MAP_INPUTS] = {{0}};
    struct op_map_args args = {.code = code, .kind = nn_map_kind(type, code), .input_count = input_count};
    memcpy(all, inputs, input_count * sizeof *inputs);
    for (uint32_t i = 0; i < number_count; i++) {
        args.numbers[i] = (struct op_number){numbers[i], isfinite(numbers[i]) ? (int64_t)numbers[i] : 0};
    }
    return launch(p, kernel, all, &args, out);
}

/* ---- operators by role ---- */

struct map_call {
    struct nn_view views[OP_MAP_INPUTS], out;
    struct nn_map_input inputs[OP_MAP_INPUTS];
    uint32_t input_count, number_count;
    struct op_map_args args;
    bool has_type, alpha_is_real, has_out;
    aclDataType type;        /* promoted */
    aclDataType scalar_type; /* of the highest category among scalars; BOOL if there are none */
};

static aclnnStatus take_tensor(struct nn_plan *p, struct map_call *call, uint32_t param, char role)
{
    struct nn_view *view = &call->views[call->input_count];
    NN_CHECK(nn_tensor(p, param, role == 'm' ? NN_MOVABLE : p->op->types, view));
    call->inputs[call->input_count++].view = view;
    if (role != 'm') {
        call->type = call->has_type ? nn_promote(call->type, view->type) : view->type;
        call->has_type = true;
    }
    if (role == 'r') {
        call->out = *view;
        call->has_out = true;
    }
    return ACLNN_SUCCESS;
}

static aclnnStatus take_scalar(struct nn_plan *p, struct map_call *call, uint32_t param, char role)
{
    const bool is_input = role == 'n';
    struct op_number *number =
        is_input ? &call->inputs[call->input_count++].constant : &call->args.numbers[call->number_count++];
    aclDataType type = ACL_BOOL;
    if (!nn_given(p, param) && !is_input && !(p->op->flags & NN_MAP_ALPHA)) {
        *number = role == 'l'   ? (struct op_number){-INFINITY, INT64_MIN}
                  : role == 'h' ? (struct op_number){INFINITY, INT64_MAX}
                                : (struct op_number){p->op->number, (int64_t)p->op->number};
        return ACLNN_SUCCESS;
    }
    NN_CHECK(nn_scalar(p, param, NN_MOVABLE, number, &type));
    if (role != 's') {
        call->scalar_type = nn_promote_scalar(call->scalar_type, type);
    }
    call->alpha_is_real |= role == 's' && nn_is_real(type);
    return ACLNN_SUCCESS;
}

/* A bound is a tensor, or without one the constant that bounds nothing. */
static aclnnStatus take_bound(struct nn_plan *p, struct map_call *call, uint32_t param, char role)
{
    if (nn_given(p, param)) {
        return take_tensor(p, call, param, 'i');
    }
    call->inputs[call->input_count++].constant =
        role == 'L' ? (struct op_number){-INFINITY, INT64_MIN} : (struct op_number){INFINITY, INT64_MAX};
    return ACLNN_SUCCESS;
}

static aclnnStatus take(struct nn_plan *p, struct map_call *call, uint32_t param)
{
    const char role = p->op->roles[param];
    switch (role) {
    case 'L':
    case 'H':
        return take_bound(p, call, param, role);
    case 'i':
    case 'm':
    case 'r':
        return take_tensor(p, call, param, role);
    case 'n':
    case 's':
    case 'l':
    case 'h':
        return take_scalar(p, call, param, role);
    case 'd': {
        const double real = nn_real(p, param);
        call->args.numbers[call->number_count++] =
            (struct op_number){real, p->params[param].kind == NN_P_WHOLE ? nn_whole(p, param) : (int64_t)real};
        return ACLNN_SUCCESS;
    }
    case 'o':
        call->has_out = true;
        return nn_tensor(p, param, p->op->out_types != 0 ? p->op->out_types : NN_MOVABLE, &call->out);
    default:
        return ACLNN_SUCCESS;
    }
}

/* A comparison sees the scalar in the type of the tensor: 0.1 equals the float16 that is nearest to it. */
static void round_constants(struct map_call *call)
{
    for (uint32_t i = 0; i < call->input_count; i++) {
        double *real = &call->inputs[i].constant.real;
        *real = call->type == ACL_FLOAT16 ? (double)tk_half_to_float(tk_float_to_half((float)*real))
                : call->type == ACL_BF16  ? (double)tk_bf16_to_float(tk_float_to_bf16((float)*real))
                                          : *real;
    }
}

static aclnnStatus check_types(struct nn_plan *p, struct map_call *call)
{
    call->type = nn_promote_scalar(call->type, call->scalar_type);
    if ((p->op->flags & NN_MAP_ALPHA) && call->alpha_is_real && !nn_is_real(call->type)) {
        return NN_INVALID(p, "a real alpha cannot be used with operands of type %s", nn_type_name(call->type));
    }
    const aclDataType result = real_only[p->op->code] && !nn_is_real(call->type) ? ACL_FLOAT : call->type;
    if (!(p->op->flags & (NN_MAP_BOOL | NN_MAP_CAST)) && !nn_can_cast(result, call->out.type)) {
        return NN_INVALID(p, "a result of type %s cannot be stored as %s", nn_type_name(result),
                          nn_type_name(call->out.type));
    }
    if (p->op->flags & NN_MAP_BOOL) {
        round_constants(call);
    }
    call->args.code = p->op->code;
    call->args.kind = nn_map_kind(call->type, p->op->code);
    return ACLNN_SUCCESS;
}

static aclnnStatus check_shapes(struct nn_plan *p, struct map_call *call)
{
    struct nn_view shape = {0};
    for (uint32_t i = 0; i < call->input_count; i++) {
        if (call->inputs[i].view != NULL && !nn_common_shape(&shape, call->inputs[i].view, &shape.rank, shape.dims)) {
            return NN_INVALID(p, "the shapes %s and %s do not broadcast", nn_shape_text(shape.rank, shape.dims),
                              nn_shape_text(call->inputs[i].view->rank, call->inputs[i].view->dims));
        }
    }
    NN_CHECK(nn_expect_shape(p, "out", &call->out, shape.rank, shape.dims));
    for (uint32_t i = 0; i < call->input_count; i++) {
        if (call->inputs[i].view != NULL) {
            nn_broadcast(&call->views[i], shape.rank, shape.dims, &call->views[i]);
        }
    }
    return ACLNN_SUCCESS;
}

aclnnStatus nn_plan_map(struct nn_plan *p)
{
    struct map_call call = {.type = ACL_BOOL, .scalar_type = ACL_BOOL};
    if (p->op->flags & NN_MAP_ONE) {
        call.args.numbers[call.number_count++] = (struct op_number){1, 1};
    }
    for (uint32_t i = 0; i < p->count; i++) {
        NN_CHECK(take(p, &call, i));
    }
    NN_CHECK(check_types(p, &call));
    NN_CHECK(check_shapes(p, &call));
    call.args.input_count = call.input_count;
    return launch(p, p->op->kernel, call.inputs, &call.args, &call.out);
}

aclnnStatus nn_plan_map_as(struct nn_plan *p, const char *kernel, uint32_t code)
{
    const struct nn_operator *op = p->op;
    struct nn_operator chosen = *op;
    chosen.kernel = kernel;
    chosen.code = code;
    p->op = &chosen;
    const aclnnStatus status = nn_plan_map(p);
    p->op = op;
    return status;
}
