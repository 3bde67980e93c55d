/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operators: each is a row that names a function of kernels/map_rows.h and the role of every parameter.
 *
 * Roles, one character per parameter of the signature:
 *   i  input tensor, broadcast; takes part in type promotion
 *   m  input tensor that does not take part in type promotion (masks, conditions)
 *   n  scalar that is an input: the operand is constant; takes part in promotion only by its category
 *   s  scalar that is a number of the function (s, t, u, v in order); may be NULL: 0, or the row's value
 *   l  scalar that is a lower bound, h  an upper bound; NULL: none; takes part in promotion like n
 *   L  tensor that is a lower bound, H  an upper bound; NULL: none; otherwise like i
 *   d  number by value (real, integer, bool), a number of the function
 *   o  output       r  input and output in one (in-place operators)       -  not used
 * Inputs are a, b, c, d of the function in the order of their appearance. */
#ifndef SOFTNPU_ACLNN_OPERATORS_MAP_H
#define SOFTNPU_ACLNN_OPERATORS_MAP_H

#include "softnpu/aclnn/op.h"

/* Flags of a row. */
enum {
    NN_MAP_BOOL = 1,  /* the result is bool; out may have any type */
    NN_MAP_ALPHA = 2, /* the first number multiplies: it must not be real if the operands are integers */
    NN_MAP_CAST = 4,  /* out may have any type */
    NN_MAP_ONE = 8,   /* the first number is 1 (Silu is Swish with it) */
};

aclnnStatus nn_plan_map(struct nn_plan *p);

/* NN_MAP(operator, roles, function, types of inputs, flags) */
#define NN_MAP(name, role_text, function, input_types, flag_bits)                                                      \
    NN_OPERATOR(name, nn_plan_map, .kernel = #function, .code = OP_MAP_##function, .roles = role_text,                 \
                .types = input_types, .flags = flag_bits)

/* The same with a value for scalars that are NULL. */
#define NN_MAP_OR(name, role_text, function, input_types, flag_bits, value)                                            \
    NN_OPERATOR(name, nn_plan_map, .kernel = #function, .code = OP_MAP_##function, .roles = role_text,                 \
                .types = input_types, .flags = flag_bits, .number = value)
/* An operator whose function depends on its arguments: its plan calls nn_plan_map_as. */
#define NN_MAP_BY(name, role_text, plan, input_types) NN_OPERATOR(name, plan, .roles = role_text, .types = input_types)
aclnnStatus nn_plan_map_as(struct nn_plan *p, const char *kernel, uint32_t code);

/* One element-wise launch for other plans. An input is a view, already of the output's shape by nn_broadcast, or a
 * constant if view is NULL. The computation runs in the kind of `type`. */
struct nn_map_input {
    const struct nn_view *view;
    struct op_number constant;
};
aclnnStatus nn_map(struct nn_plan *p, const char *kernel, uint32_t code, aclDataType type,
                   const struct nn_map_input *inputs, uint32_t input_count, const double *numbers,
                   uint32_t number_count, const struct nn_view *out);
/* How a function is computed for operands of this promoted type. */
enum op_map_kind nn_map_kind(aclDataType type, uint32_t code);
#define NN_MAP_KERNEL(function) #function, OP_MAP_##function

#endif
