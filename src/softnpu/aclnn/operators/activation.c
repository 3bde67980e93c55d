/* SPDX-License-Identifier: Apache-2.0 */
/* Activation functions and their gradients. */
#include "softnpu/aclnn/operators/map.h"

/* NN_MAP(operator, roles, function, types, flags) */
NN_MAP(Relu, "io", Relu, NN_ARITHMETIC, 0)
NN_MAP(InplaceRelu, "r", Relu, NN_ARITHMETIC, 0)
NN_MAP(Sigmoid, "io", Sigmoid, NN_ARITHMETIC, 0)
NN_MAP(Tanh, "io", Tanh, NN_ARITHMETIC, 0)
NN_MAP(ThresholdBackward, "iiso", ThresholdGradV2D, NN_ARITHMETIC, 0)
