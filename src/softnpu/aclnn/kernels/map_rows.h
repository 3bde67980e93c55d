/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions, one line each, under the names that profilers show for the vendor's kernels.
 *
 * An expression computes one element from the inputs a, b, c, d and the numbers s, t, u, v, in the type T: float, double
 * or int64_t (wrapping). Functions with F() exist for float and double (kernels/map_math.h).
 *   ALL(name, expression)             the same in every type
 *   REAL(name, expression)            float and double only; integers are converted to float by the operator
 *   BOTH(name, real, integer)         different expressions for reals and integers
 * New functions go where they belong by meaning; an operator refers to them as OP_MAP_<name>. */
#ifndef SOFTNPU_ACLNN_MAP_ROWS_H
#define SOFTNPU_ACLNN_MAP_ROWS_H

#define OP_MAP_ROWS(ALL, REAL, BOTH)                                                                                   \
    /* arithmetic */                                                                                                   \
    ALL(Add, a + s * b)                                                                                                \
    ALL(Sub, a - s * b)                                                                                                \
    ALL(Mul, a *b)                                                                                                     \
    REAL(RealDiv, a / b)                                                                                               \
    ALL(Neg, -a)                                                                                                       \
    BOTH(Abs, F(fabs)(a), a < 0 ? -a : a)                                                                              \
    REAL(Reciprocal, 1 / a)                                                                                            \
    ALL(Square, a *a)                                                                                                  \
    ALL(Addcmul, a + s * b * c)                                                                                        \
    REAL(Addcdiv, a + s * (b / c))                                                                                     \
    /* powers and logarithms */                                                                                        \
    REAL(Sqrt, F(sqrt)(a))                                                                                             \
    REAL(Rsqrt, 1 / F(sqrt)(a))                                                                                        \
    REAL(Exp, F(exp)(a))                                                                                               \
    REAL(Log, F(log)(a))                                                                                               \
    /* comparisons */                                                                                                  \
    ALL(Equal, a == b)                                                                                                 \
    ALL(NotEqual, a != b)                                                                                              \
    ALL(Greater, a > b)                                                                                                \
    ALL(GreaterEqual, a >= b)                                                                                          \
    ALL(Less, a < b)                                                                                                   \
    ALL(LessEqual, a <= b)                                                                                             \
    /* selection: NaN wins */                                                                                          \
    ALL(Maximum, a > b || a != a ? a : b)                                                                              \
    ALL(Minimum, a < b || a != a ? a : b)                                                                              \
    ALL(ClipByValueV2, a != a ? a : a < s ? s : (a > t ? t : a))                                                       \
    ALL(SelectV2, a != 0 ? b : c)                                                                                      \
    ALL(MaskedFill, b != 0 ? c : a)                                                                                    \
    /* activations */                                                                                                  \
    ALL(Relu, a > 0 || a != a ? a : 0)                                                                                 \
    REAL(Sigmoid, 1 / (1 + F(exp)(-a)))                                                                                \
    REAL(Tanh, F(tanh)(a))                                                                                             \
    ALL(ThresholdGradV2D, b > s || b != b ? a : 0)

enum op_map_code {
#define OP_MAP_CODE_2(name, expression)    OP_MAP_##name,
#define OP_MAP_CODE_3(name, real, integer) OP_MAP_##name,
    OP_MAP_ROWS(OP_MAP_CODE_2, OP_MAP_CODE_2, OP_MAP_CODE_3) OP_MAP_CODES
};

#endif
