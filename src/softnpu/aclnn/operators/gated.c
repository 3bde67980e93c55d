/* SPDX-License-Identifier: Apache-2.0 */
/* Gated units: the halves of a tensor along a dimension, one of them the gate of the other; and their gradients. */
#include "softnpu/aclnn/operators/map.h"

#include <string.h>

/* The halves of x along a dimension. */
static aclnnStatus halve(struct nn_plan *p, const struct nn_view *x, int64_t dim, struct nn_view *halves)
{
    uint64_t axis;
    NN_CHECK(nn_axis(p, dim, x->rank, &axis));
    if (x->rank == 0 || x->dims[axis] % 2 != 0) {
        return NN_INVALID(p, "dimension %lld of a tensor of shape %s cannot be halved", (long long)dim,
                          nn_shape_text(x->rank, x->dims));
    }
    halves[0] = *x;
    halves[0].dims[axis] /= 2;
    halves[0].count /= 2;
    halves[1] = halves[0];
    halves[1].address.offset_b += halves[0].dims[axis] * (uint64_t)x->steps[axis] * aclDataTypeSize(x->type);
    return ACLNN_SUCCESS;
}

static aclnnStatus function_of(struct nn_plan *p, const char *kernel, uint32_t code, const struct nn_view *const *views,
                               uint32_t count, const struct nn_view *out)
{
    struct nn_map_input inputs[OP_MAP_INPUTS] = {{0}};
    for (uint32_t i = 0; i < count; i++) {
        inputs[i].view = views[i];
    }
    return nn_map(p, kernel, code, views[0]->type, inputs, count, NULL, 0, out);
}
#define VIEWS(...)                                                                                                     \
    (const struct nn_view *const[])                                                                                    \
    {                                                                                                                  \
        __VA_ARGS__                                                                                                    \
    }

/* (x, dim, out): function `code` of both halves. */
static aclnnStatus plan_gated(struct nn_plan *p)
{
    struct nn_view x, z, halves[2];
    NN_CHECK(nn_tensor(p, 0, p->op->types, &x));
    NN_CHECK(nn_tensor(p, 2, p->op->types, &z));
    NN_CHECK(halve(p, &x, nn_whole(p, 1), halves));
    NN_CHECK(nn_expect_shape(p, "out", &z, halves[0].rank, halves[0].dims));
    return function_of(p, p->op->kernel, p->op->code, VIEWS(&halves[0], &halves[1]), 2, &z);
}
NN_OPERATOR(Glu, plan_gated, .kernel = "GLU", .code = OP_MAP_GLU, .types = NN_REALS)
NN_OPERATOR(SwiGlu, plan_gated, .kernel = "SwiGlu", .code = OP_MAP_SwiGlu, .types = NN_REALS)

/* (gradient, x, dim, out) */
static aclnnStatus plan_gated_grad(struct nn_plan *p)
{
    struct nn_view g, x, z, in[2], out[2];
    const bool swish = p->op->code == OP_MAP_SwiGluGrad;
    NN_CHECK(nn_tensor(p, 0, p->op->types, &g));
    NN_CHECK(nn_tensor(p, 1, p->op->types, &x));
    NN_CHECK(nn_tensor(p, 3, p->op->types, &z));
    NN_CHECK(nn_expect_shape(p, "out", &z, x.rank, x.dims));
    NN_CHECK(halve(p, &x, nn_whole(p, 2), in));
    NN_CHECK(halve(p, &z, nn_whole(p, 2), out));
    NN_CHECK(nn_expect_shape(p, "the gradient", &g, in[0].rank, in[0].dims));
    NN_CHECK(function_of(p, p->op->kernel, p->op->code, VIEWS(&g, &in[0], &in[1]), 3, &out[0]));
    return swish ? function_of(p, NN_MAP_KERNEL(SwiGluGradGate), VIEWS(&g, &in[0], &in[1]), 3, &out[1])
                 : function_of(p, NN_MAP_KERNEL(GLUGradGate), VIEWS(&g, &in[0], &in[1]), 3, &out[1]);
}
NN_OPERATOR(GluBackward, plan_gated_grad, .kernel = "GLUGrad", .code = OP_MAP_GLUGrad, .types = NN_REALS)
NN_OPERATOR(SwiGluGrad, plan_gated_grad, .kernel = "SwiGluGrad", .code = OP_MAP_SwiGluGrad, .types = NN_REALS)

/* ---- with Gelu: which half is the gate is a parameter, and the gate's function is a second output ---- */

static aclnnStatus approximation(struct nn_plan *p, uint32_t param, bool *by_tanh)
{
    const int64_t value = nn_whole(p, param);
    *by_tanh = value == 1;
    return value == 0 || value == 1 ? ACLNN_SUCCESS
                                    : NN_INVALID(p, "approximate is %lld, 0 and 1 are possible", (long long)value);
}

/* (x, dim, approximate[, activateLeft], out, outGelu) */
static aclnnStatus plan_ge_glu(struct nn_plan *p)
{
    struct nn_view x, z, gelu, halves[2];
    bool by_tanh;
    const uint32_t last = p->count - 1;
    const bool left = p->count == 6 && nn_whole(p, 3) != 0;
    NN_CHECK(nn_tensor(p, 0, p->op->types, &x));
    NN_CHECK(nn_tensor(p, last - 1, p->op->types, &z));
    NN_CHECK(nn_tensor(p, last, p->op->types, &gelu));
    NN_CHECK(approximation(p, 2, &by_tanh));
    NN_CHECK(halve(p, &x, nn_whole(p, 1), halves));
    NN_CHECK(nn_expect_shape(p, "out", &z, halves[0].rank, halves[0].dims));
    NN_CHECK(nn_expect_shape(p, "outGelu", &gelu, halves[0].rank, halves[0].dims));
    const struct nn_view *gate = &halves[left ? 0 : 1], *value = &halves[left ? 1 : 0];
    if (by_tanh) {
        NN_CHECK(function_of(p, NN_MAP_KERNEL(GeGluV2Tanh), VIEWS(gate, value), 2, &z));
        return function_of(p, NN_MAP_KERNEL(GeluTanh), VIEWS(gate), 1, &gelu);
    }
    NN_CHECK(function_of(p, NN_MAP_KERNEL(GeGluV2), VIEWS(gate, value), 2, &z));
    return function_of(p, NN_MAP_KERNEL(Gelu), VIEWS(gate), 1, &gelu);
}
NN_OPERATOR(GeGlu, plan_ge_glu, .types = NN_REALS)
NN_OPERATOR(GeGluV3, plan_ge_glu, .types = NN_REALS)

/* (gradient, x, gelu, dim, approximate[, activateLeft], gradInput) */
static aclnnStatus plan_ge_glu_grad(struct nn_plan *p)
{
    struct nn_view g, x, gelu, z, in[2], out[2];
    bool by_tanh;
    const bool left = p->count == 7 && nn_whole(p, 5) != 0;
    NN_CHECK(nn_tensor(p, 0, p->op->types, &g));
    NN_CHECK(nn_tensor(p, 1, p->op->types, &x));
    NN_CHECK(nn_tensor(p, 2, p->op->types, &gelu));
    NN_CHECK(nn_tensor(p, p->count - 1, p->op->types, &z));
    NN_CHECK(approximation(p, 4, &by_tanh));
    NN_CHECK(nn_expect_shape(p, "gradInput", &z, x.rank, x.dims));
    NN_CHECK(halve(p, &x, nn_whole(p, 3), in));
    NN_CHECK(halve(p, &z, nn_whole(p, 3), out));
    NN_CHECK(nn_expect_shape(p, "gradOutput", &g, in[0].rank, in[0].dims));
    NN_CHECK(nn_expect_shape(p, "gelu", &gelu, in[0].rank, in[0].dims));
    const int gate = left ? 0 : 1, value = 1 - gate;
    NN_CHECK(function_of(p, NN_MAP_KERNEL(Mul), VIEWS(&g, &gelu), 2, &out[value]));
    return by_tanh ? function_of(p, NN_MAP_KERNEL(GeGluGradV2Tanh), VIEWS(&g, &in[gate], &in[value]), 3, &out[gate])
                   : function_of(p, NN_MAP_KERNEL(GeGluGradV2), VIEWS(&g, &in[gate], &in[value]), 3, &out[gate]);
}
NN_OPERATOR(GeGluBackward, plan_ge_glu_grad, .types = NN_REALS)
NN_OPERATOR(GeGluV3Backward, plan_ge_glu_grad, .types = NN_REALS)

/* (input, approximate, out): Gelu of the first half times the second, along the last dimension. */
static aclnnStatus plan_gelu_mul(struct nn_plan *p)
{
    struct nn_view x, z, halves[2];
    const char *approximate = nn_text(p, 1);
    const bool none = approximate[0] == '\0' || strcmp(approximate, "none") == 0;
    if (!none && strcmp(approximate, "tanh") != 0) {
        return NN_INVALID(p, "approximate is '%s', 'none' and 'tanh' are possible", approximate);
    }
    NN_CHECK(nn_tensor(p, 0, p->op->types, &x));
    NN_CHECK(nn_tensor(p, 2, p->op->types, &z));
    NN_CHECK(halve(p, &x, -1, halves));
    NN_CHECK(nn_expect_shape(p, "out", &z, halves[0].rank, halves[0].dims));
    return none ? function_of(p, NN_MAP_KERNEL(GeGluV2), VIEWS(&halves[0], &halves[1]), 2, &z)
                : function_of(p, NN_MAP_KERNEL(GeGluV2Tanh), VIEWS(&halves[0], &halves[1]), 2, &z);
}
NN_OPERATOR(GeluMul, plan_gelu_mul, .types = NN_REALS)
