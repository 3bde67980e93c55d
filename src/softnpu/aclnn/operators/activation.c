/* SPDX-License-Identifier: Apache-2.0 */
/* Activation functions and their gradients. */
#include "softnpu/aclnn/operators/map.h"

#include <string.h>

/* NN_MAP(operator, roles, function, types, flags), NN_MAP_OR(..., value of scalars that are NULL) */
/* rectifiers */
NN_MAP(Relu, "io", Relu, NN_ARITHMETIC, 0)
NN_MAP(InplaceRelu, "r", Relu, NN_ARITHMETIC, 0)
NN_MAP(AddRelu, "iiso", AddRelu, NN_REALS | NN_INDEX, NN_MAP_ALPHA)
NN_MAP(InplaceAddRelu, "ris", AddRelu, NN_REALS | NN_INDEX, NN_MAP_ALPHA)
NN_MAP(Threshold, "isso", ThresholdV2, NN_ARITHMETIC, 0)
NN_MAP(InplaceThreshold, "rss", ThresholdV2, NN_ARITHMETIC, 0)
NN_MAP(ThresholdV2, "isso", ThresholdV2, NN_ARITHMETIC, 0)
NN_MAP(ThresholdBackward, "iiso", ThresholdGradV2D, NN_ARITHMETIC, 0)
NN_MAP(ReluGradV4, "iiso", ThresholdGradV2D, NN_ARITHMETIC, 0)
NN_MAP(LeakyRelu, "iso", LeakyRelu, NN_REALS, 0)
NN_MAP(InplaceLeakyRelu, "rs", LeakyRelu, NN_REALS, 0)
NN_MAP(LeakyReluBackward, "iis-o", LeakyReluGrad, NN_REALS, 0)
NN_MAP(Elu, "issso", Elu, NN_REALS, 0)
NN_MAP(InplaceElu, "rsss", Elu, NN_REALS, 0)
NN_MAP(EluV2, "issso", Elu, NN_REALS, 0)
NN_MAP(EluBackward, "isssdio", EluGradV2, NN_REALS, 0)
NN_MAP(Selu, "io", Selu, NN_REALS, 0)
NN_MAP(InplaceSelu, "r", Selu, NN_REALS, 0)
NN_MAP(SeluBackward, "iio", SeluGrad, NN_REALS, 0)
NN_MAP(Celu, "iso", CeluV2, NN_REALS, 0)
NN_MAP(InplaceCelu, "rs", CeluV2, NN_REALS, 0)

/* smooth */
NN_MAP(Sigmoid, "io", Sigmoid, NN_ARITHMETIC, 0)
NN_MAP(InplaceSigmoid, "r", Sigmoid, NN_ARITHMETIC, 0)
NN_MAP(SigmoidBackward, "iio", SigmoidGrad, NN_REALS, 0)
NN_MAP(TanhBackward, "iio", TanhGrad, NN_REALS, 0)
NN_MAP(Gelu, "io", Gelu, NN_REALS, 0)
NN_MAP(GeluBackward, "iio", GeluGrad, NN_REALS, 0)
NN_MAP(FastGelu, "io", FastGelu, NN_REALS, 0)
NN_MAP(FastGeluV2, "io", FastGelu, NN_REALS, 0)
NN_MAP(FastGeluBackward, "iio", FastGeluGrad, NN_REALS, 0)
NN_MAP(Silu, "io", Swish, NN_REALS, NN_MAP_ONE)
NN_MAP(SiluBackward, "iio", SwishGrad, NN_REALS, NN_MAP_ONE)
NN_MAP_OR(Swish, "iso", Swish, NN_REALS, 0, 1)
NN_MAP_OR(SwishBackward, "iiso", SwishGrad, NN_REALS, 0, 1)
NN_MAP(Mish, "io", Mish, NN_REALS, 0)
NN_MAP(InplaceMish, "r", Mish, NN_REALS, 0)
NN_MAP(MishBackward, "iio", MishGrad, NN_REALS, 0)
NN_MAP(Softplus, "isso", SoftplusV2, NN_REALS, 0)
NN_MAP(SoftplusBackward, "iisso", SoftplusV2Grad, NN_REALS, 0)
NN_MAP(LogSigmoid, "io", LogSigmoid, NN_REALS, 0)
NN_MAP(LogSigmoidBackward, "ii-o", LogSigmoidGrad, NN_REALS, 0)
NN_MAP(Softsign, "io", Softsign, NN_REALS, 0)
NN_MAP(SoftsignBackward, "iio", SoftsignGrad, NN_REALS, 0)

/* piecewise linear */
NN_MAP(HardtanhBackward, "iisso", HardtanhGrad, NN_REALS, 0)
NN_MAP(Hardswish, "io", HardSwish, NN_REALS, 0)
NN_MAP(InplaceHardswish, "r", HardSwish, NN_REALS, 0)
NN_MAP(HardswishBackward, "iio", HardSwishGrad, NN_REALS, 0)
NN_MAP(HardswishBackwardV2, "iio", HardSwishGrad, NN_REALS, 0)
NN_MAP(Hardsigmoid, "io", HardSigmoid, NN_REALS, 0)
NN_MAP(InplaceHardsigmoid, "r", HardSigmoid, NN_REALS, 0)
NN_MAP(HardsigmoidV2, "io", HardSigmoid, NN_REALS, 0)
NN_MAP(InplaceHardsigmoidV2, "r", HardSigmoid, NN_REALS, 0)
NN_MAP(HardsigmoidBackward, "iio", HardSigmoidGrad, NN_REALS, 0)
NN_MAP(Hardshrink, "iso", HardShrink, NN_REALS, 0)
NN_MAP(HardshrinkBackward, "iiso", ShrinkGrad, NN_REALS, 0)
NN_MAP(Softshrink, "iso", SoftShrink, NN_REALS, 0)
NN_MAP(SoftshrinkBackward, "iiso", ShrinkGrad, NN_REALS, 0)
NN_MAP(Shrink, "isso", Shrink, NN_REALS, 0)

/* 0: with the error function, 1: with tanh. */
static aclnnStatus plan_gelu_v2(struct nn_plan *p)
{
    const int64_t approximate = nn_whole(p, 1);
    if (approximate != 0 && approximate != 1) {
        return NN_INVALID(p, "approximate is %lld, 0 and 1 are possible", (long long)approximate);
    }
    return approximate == 0 ? nn_plan_map_as(p, NN_MAP_KERNEL(Gelu)) : nn_plan_map_as(p, NN_MAP_KERNEL(GeluTanh));
}
NN_MAP_BY(GeluV2, "i-o", plan_gelu_v2, NN_REALS)

static aclnnStatus plan_gelu_backward_v2(struct nn_plan *p)
{
    const char *approximate = nn_text(p, 2);
    if (strcmp(approximate, "none") != 0 && strcmp(approximate, "tanh") != 0) {
        return NN_INVALID(p, "approximate is '%s', 'none' and 'tanh' are possible", approximate);
    }
    return approximate[0] == 'n' ? nn_plan_map_as(p, NN_MAP_KERNEL(GeluGrad))
                                 : nn_plan_map_as(p, NN_MAP_KERNEL(GeluTanhGrad));
}
NN_MAP_BY(GeluBackwardV2, "ii-o", plan_gelu_backward_v2, NN_REALS)

/* (self, out, buffer): the buffer of e^-|x| is an intermediate result that may be empty. */
static aclnnStatus plan_log_sigmoid_forward(struct nn_plan *p)
{
    struct nn_view x, z;
    NN_CHECK(nn_tensor(p, 0, p->op->types, &x));
    NN_CHECK(nn_tensor(p, 1, p->op->types, &z));
    NN_CHECK(nn_expect_shape(p, "out", &z, x.rank, x.dims));
    return nn_map(p, NN_MAP_KERNEL(LogSigmoid), x.type, &(struct nn_map_input){.view = &x}, 1, NULL, 0, &z);
}
NN_OPERATOR(LogSigmoidForward, plan_log_sigmoid_forward, .types = NN_REALS)

/* The weight of Prelu: one number, or one per index of dimension 1, which may have dimensions of 1 around it. */
static aclnnStatus prelu_weight(struct nn_plan *p, const struct nn_view *x, struct nn_view *weight)
{
    const uint64_t axis = x->rank > 1 ? 1 : 0, channels = x->rank > 1 ? x->dims[1] : 1;
    struct nn_view spread = *weight;
    uint64_t own = 0;
    while (own + 1 < weight->rank && weight->dims[own] == 1) {
        own++;
    }
    if (weight->count != 1 && (weight->dims[own] != channels || weight->count != channels)) {
        return NN_INVALID(p, "weight has the shape %s, one number or [%llu] is required",
                          nn_shape_text(weight->rank, weight->dims), (unsigned long long)channels);
    }
    spread.rank = x->rank;
    spread.count = x->count;
    for (uint64_t i = 0; i < x->rank; i++) {
        spread.dims[i] = x->dims[i];
        spread.steps[i] = i == axis && weight->count != 1 ? weight->steps[own] : 0;
    }
    *weight = spread;
    return ACLNN_SUCCESS;
}

static aclnnStatus plan_prelu(struct nn_plan *p)
{
    struct nn_view x, weight, z;
    NN_CHECK(nn_tensor(p, 0, p->op->types, &x));
    NN_CHECK(nn_tensor(p, 1, p->op->types, &weight));
    NN_CHECK(nn_tensor(p, 2, p->op->types, &z));
    NN_CHECK(nn_expect_shape(p, "out", &z, x.rank, x.dims));
    NN_CHECK(prelu_weight(p, &x, &weight));
    const struct nn_map_input inputs[] = {{.view = &x}, {.view = &weight}};
    return nn_map(p, NN_MAP_KERNEL(PRelu), nn_promote(x.type, weight.type), inputs, 2, NULL, 0, &z);
}
NN_OPERATOR(Prelu, plan_prelu, .types = NN_REALS)
