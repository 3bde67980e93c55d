/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions: what they compute of each element, how they combine, and the arguments of their kernels.
 *
 * An expression computes one term from the element x, the operand m (one per result) and the number p, in the type T.
 * Terms combine by SUM, PROD, MAX or MIN; NaN wins. X(name, combination, expression), where F() names functions of
 * kernels/map_math.h; rows of the second list are for reals only. */
#ifndef SOFTNPU_ACLNN_REDUCE_ROWS_H
#define SOFTNPU_ACLNN_REDUCE_ROWS_H

#include <stdint.h>

#define OP_REDUCE_ALL(X)                                                                                               \
    X(SUM, SUM, x)                                                                                                     \
    X(PROD, PROD, x)                                                                                                   \
    X(MAX, MAX, x)                                                                                                     \
    X(MIN, MIN, x)                                                                                                     \
    X(ANY, MAX, x != 0)                                                                                                \
    X(EVERY, MIN, x != 0)                                                                                              \
    X(NONZERO_SUM, SUM, x != 0)                                                                                        \
    X(NAN_SUM, SUM, x != x ? 0 : x)                                                                                    \
    X(SQUARE_SUM, SUM, x *x)

#define OP_REDUCE_REAL(X)                                                                                              \
    X(ABS_SUM, SUM, F(fabs)(x))                                                                                        \
    X(ABS_MAX, MAX, F(fabs)(x))                                                                                        \
    X(ABS_MIN, MIN, F(fabs)(x))                                                                                        \
    X(POWER_SUM, SUM, F(power)(F(fabs)(x), p))                                                                         \
    X(SPREAD, SUM, (x - m) * (x - m))                                                                                  \
    X(EXP_SUM, SUM, F(exp)(x - m))

#define OP_REDUCE_ROWS(X) OP_REDUCE_ALL(X) OP_REDUCE_REAL(X)

enum op_reduce_code {
#define OP_REDUCE_CODE(name, combination, expression) OP_REDUCE_##name,
    OP_REDUCE_ROWS(OP_REDUCE_CODE) OP_REDUCE_CODES
};

/* What happens to the combined terms before they are stored; m is the operand, s a number. */
enum op_reduce_finish {
    OP_FINISH_NONE,
    OP_FINISH_SCALE,      /* * s */
    OP_FINISH_SCALE_SQRT, /* sqrt(* s) */
    OP_FINISH_POWER,      /* to the power s */
    OP_FINISH_LOG,        /* log(.) + m */
    OP_FINISH_RSQRT,      /* 1 / sqrt(* s + t) */
};

/* Names that profilers show; one engine behind all. */
#define OP_REDUCE_KERNELS(X)                                                                                           \
    X(ReduceSum)                                                                                                       \
    X(ReduceMean)                                                                                                      \
    X(ReduceProd)                                                                                                      \
    X(ReduceMax)                                                                                                       \
    X(ReduceMin)                                                                                                       \
    X(ReduceAny)                                                                                                       \
    X(ReduceAll)                                                                                                       \
    X(ReduceNansum)                                                                                                    \
    X(ReduceVar)                                                                                                       \
    X(ReduceStdV2Update)                                                                                               \
    X(ReduceLogSumExp)                                                                                                 \
    X(LpNormV2)                                                                                                        \
    X(ArgMaxV2)                                                                                                        \
    X(ArgMin)                                                                                                          \
    X(ArgMaxWithValue)                                                                                                 \
    X(ArgMinWithValue)                                                                                                 \
    X(BNTrainingReduce)                                                                                                \
    X(BNTrainingUpdateGrad)

#endif
