/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of the kernels that take lists of tensors: up to OP_FOREACH dense members in one launch; and of kernels that
 * update the state of training. Included by op_args.h. */
#ifndef SOFTNPU_ACLNN_FOREACH_ARGS_H
#define SOFTNPU_ACLNN_FOREACH_ARGS_H

enum { OP_FOREACH = 16, OP_FOREACH_POINTERS = OP_MAP_INPUTS + 2 };

/* Where the number goes that a kernel reads from device memory. */
enum op_foreach_slot { OP_FOREACH_NOWHERE = -1, OP_FOREACH_NUMBER = OP_MAP_INPUTS /* else the input of this index */ };

struct op_foreach_args {
    /* Of member i: inputs, output, number in device memory. */
    void *data[OP_FOREACH][OP_FOREACH_POINTERS];
    uint64_t count, code, kind, input_count;
    int64_t slot, number_type;
    uint64_t sizes[OP_FOREACH];
    int64_t types[OP_FOREACH][OP_MAP_INPUTS + 1];
    struct op_number constants[OP_FOREACH][OP_MAP_INPUTS];
    struct op_number numbers[OP_FOREACH];
};

enum { OP_UPDATE_OPERANDS = 5 };

/* ApplyAdamWV2: operands parameter, m, v, largest v (amsgrad) or NULL, gradient.
 * ApplyFusedEmaAdam: parameter, m, v, moving average of the parameter, gradient. */
struct op_update_args {
    void *data[OP_UPDATE_OPERANDS];
    const void *step;
    struct op_loop loop;
    struct op_side sides[OP_UPDATE_OPERANDS];
    int64_t step_type;
    double lr, beta1, beta2, decay, eps, ema;
    uint64_t maximize, mode, correct;
};

/* ForeachNonFiniteCheckAndUnscale: x = x * scale for every member; found = 1 if an element is infinite or NaN. Pointers of
 * a member: x, found, -, -, x, scale. UpdateScale and SilentCheck: operands as parameters of the operators. */
#define OP_KERNELS_TRAINING(X)                                                                                         \
    X(ForeachNonFiniteCheckAndUnscale, op_foreach_args)                                                                \
    X(ApplyAdamWV2, op_update_args)                                                                                    \
    X(ApplyFusedEmaAdam, op_update_args)                                                                               \
    X(UpdateScale, op_call)                                                                                            \
    X(SilentCheck, op_call)                                                                                            \
    X(SilentCheckV2, op_call)

/* X(kernel): names of the operators, one engine (kernels/foreach.c) behind all of them. */
#define OP_FOREACH_KERNELS(X)                                                                                          \
    X(ForeachAbs)                                                                                                      \
    X(ForeachAcos)                                                                                                     \
    X(ForeachAddList)                                                                                                  \
    X(ForeachAddScalar)                                                                                                \
    X(ForeachAddScalarList)                                                                                            \
    X(ForeachAddcdivList)                                                                                              \
    X(ForeachAddcdivScalar)                                                                                            \
    X(ForeachAddcdivScalarList)                                                                                        \
    X(ForeachAddcmulList)                                                                                              \
    X(ForeachAddcmulScalar)                                                                                            \
    X(ForeachAddcmulScalarList)                                                                                        \
    X(ForeachAsin)                                                                                                     \
    X(ForeachAtan)                                                                                                     \
    X(ForeachCopy)                                                                                                     \
    X(ForeachCos)                                                                                                      \
    X(ForeachCosh)                                                                                                     \
    X(ForeachDivList)                                                                                                  \
    X(ForeachDivScalar)                                                                                                \
    X(ForeachDivScalarList)                                                                                            \
    X(ForeachErf)                                                                                                      \
    X(ForeachErfc)                                                                                                     \
    X(ForeachExp)                                                                                                      \
    X(ForeachExpm1)                                                                                                    \
    X(ForeachLerpList)                                                                                                 \
    X(ForeachLerpScalar)                                                                                               \
    X(ForeachLog)                                                                                                      \
    X(ForeachLog10)                                                                                                    \
    X(ForeachLog1p)                                                                                                    \
    X(ForeachLog2)                                                                                                     \
    X(ForeachMaximumList)                                                                                              \
    X(ForeachMaximumScalar)                                                                                            \
    X(ForeachMaximumScalarList)                                                                                        \
    X(ForeachMinimumList)                                                                                              \
    X(ForeachMinimumScalar)                                                                                            \
    X(ForeachMinimumScalarList)                                                                                        \
    X(ForeachMulList)                                                                                                  \
    X(ForeachMulScalar)                                                                                                \
    X(ForeachMulScalarList)                                                                                            \
    X(ForeachNeg)                                                                                                      \
    X(ForeachPowList)                                                                                                  \
    X(ForeachPowScalar)                                                                                                \
    X(ForeachPowScalarAndTensor)                                                                                       \
    X(ForeachPowScalarList)                                                                                            \
    X(ForeachReciprocal)                                                                                               \
    X(ForeachRoundOffNumber)                                                                                           \
    X(ForeachSigmoid)                                                                                                  \
    X(ForeachSign)                                                                                                     \
    X(ForeachSin)                                                                                                      \
    X(ForeachSinh)                                                                                                     \
    X(ForeachSqrt)                                                                                                     \
    X(ForeachSubList)                                                                                                  \
    X(ForeachSubScalar)                                                                                                \
    X(ForeachSubScalarList)                                                                                            \
    X(ForeachTan)                                                                                                      \
    X(ForeachTanh)                                                                                                     \
    X(ForeachZeroInplace)

#endif
