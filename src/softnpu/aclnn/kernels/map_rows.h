/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise functions, one line each, under the names that profilers show for the vendor's kernels.
 *
 * An expression computes one element from the inputs a, b, c, d and the numbers s, t, u, v, in the type T: float, double
 * or int64_t (wrapping). Functions with F() exist for float and double (kernels/map_math.h, kernels/map_shapes.h); K() is a
 * constant of the type.
 *   ALL(name, expression)             the same in every type
 *   REAL(name, expression)            float and double only; integers are converted to float by the operator
 *   BOTH(name, real, integer)         different expressions for reals and integers
 * New functions go where they belong by meaning; an operator refers to them as OP_MAP_<name>. */
#ifndef SOFTNPU_ACLNN_MAP_ROWS_H
#define SOFTNPU_ACLNN_MAP_ROWS_H

#include "softnpu/aclnn/kernels/map_rows_loss.h"

#define OP_MAP_ROWS(ALL, REAL, BOTH)                                                                                   \
    /* arithmetic */                                                                                                   \
    ALL(Add, a + s * b)                                                                                                \
    ALL(Sub, a - s * b)                                                                                                \
    ALL(Rsub, b - s * a)                                                                                               \
    ALL(Mul, a *b)                                                                                                     \
    REAL(RealDiv, a / b)                                                                                               \
    BOTH(TruncateDiv, F(trunc)(a / b), special_quotient(a, b))                                                         \
    BOTH(FloorDiv, F(floor_div)(a, b), special_floor_quotient(a, b))                                                   \
    BOTH(Mod, F(fmod)(a, b), special_rest(a, b))                                                                       \
    BOTH(FloorMod, F(floor_mod)(a, b), special_floor_rest(a, b))                                                       \
    BOTH(Gcd, a, special_gcd(a, b))                                                                                    \
    ALL(Neg, -a)                                                                                                       \
    BOTH(Abs, F(fabs)(a), a < 0 ? -a : a)                                                                              \
    REAL(Reciprocal, 1 / a)                                                                                            \
    ALL(Square, a *a)                                                                                                  \
    ALL(Addcmul, a + s * b * c)                                                                                        \
    ALL(Cross, a *b - c * d)                                                                                           \
    REAL(LogSigned, a < 0 ? NAN : b)                                                                                   \
    /* quantisation: s and t are the limits, u the rounding mode */                                                    \
    REAL(AscendQuantV2, F(limit)(F(round_by)(a * b + c, u), s, t))                                                     \
    REAL(Quantize, F(limit)(F(rint)(a / b) + c, s, t))                                                                 \
    REAL(DynamicQuantV2, F(limit)(F(rint)(a / b + c), s, t))                                                           \
    REAL(DynamicQuantOffset, s - a / b)                                                                                \
    REAL(AscendAntiQuantV2, (a + b) * c)                                                                               \
    REAL(AscendDequant, (a + b) * c * d)                                                                               \
    REAL(FakeQuant, (F(limit)(F(rint)(a * (1 / b)) + c, s, t) - c) * b)                                                \
    REAL(FakeQuantMask, F(rint)(a * (1 / b)) + c >= s && F(rint)(a * (1 / b)) + c <= t)                                \
    REAL(Addcdiv, a + s * (b / c))                                                                                     \
    REAL(Lerp, F(fabs)(c) < K(0.5) ? a + c * (b - a) : b - (b - a) * (1 - c))                                          \
    ALL(MulNoNan, b == 0 ? 0 : a * b)                                                                                  \
    ALL(MaskedScale, a *b *s)                                                                                          \
    ALL(AddMatMatElements, s *a *b + t * c)                                                                            \
    ALL(Identity, a)                                                                                                   \
    ALL(ZerosOf, 0)                                                                                                    \
    /* rounding and signs */                                                                                           \
    BOTH(Ceil, F(ceil)(a), a)                                                                                          \
    BOTH(Floor, F(floor)(a), a)                                                                                        \
    BOTH(Trunc, F(trunc)(a), a)                                                                                        \
    BOTH(Round, F(rint)(a), a)                                                                                         \
    BOTH(RoundDecimals, t > 0 ? F(rint)(a * s) / s : F(rint)(a / s) * s, a)                                            \
    BOTH(RoundOff, F(round_off)(a, s), s == 7 ? 0 : a)                                                                 \
    BOTH(Frac, a - F(trunc)(a), 0)                                                                                     \
    ALL(Sign, (a > 0) - (a < 0))                                                                                       \
    BOTH(Signbit, F(copysign)(1, a) < 0, a < 0)                                                                        \
    ALL(Heaviside, a == 0 ? b : a > 0)                                                                                 \
    /* powers and logarithms */                                                                                        \
    REAL(Sqrt, F(sqrt)(a))                                                                                             \
    REAL(Rsqrt, 1 / F(sqrt)(a))                                                                                        \
    REAL(SqrtGrad, K(0.5) * b / a)                                                                                     \
    BOTH(Pow, F(pow)(a, b), special_power(a, b))                                                                       \
    REAL(Exp, F(exp)(a))                                                                                               \
    REAL(Exp2, F(exp2)(a))                                                                                             \
    REAL(Expm1, F(expm1)(a))                                                                                           \
    REAL(Log, F(log)(a))                                                                                               \
    REAL(Log2, F(log2)(a))                                                                                             \
    REAL(Log10, F(log10)(a))                                                                                           \
    REAL(Log1p, F(log1p)(a))                                                                                           \
    REAL(LogAddExp, a == b ? a + F(log)(2) : (a > b ? a : b) + F(log1p_unit)(F(exp)(-F(fabs)(a - b))))                 \
    REAL(LogAddExp2,                                                                                                   \
         a == b ? a + 1 : (a > b ? a : b) + F(log1p_unit)(F(exp2)(-F(fabs)(a - b))) * K(1.4426950408889634))           \
    REAL(Xlogy, b != b ? b : a == 0 ? 0 : a * F(log)(b))                                                               \
    REAL(Xlog1py, b != b ? b : a == 0 ? 0 : a * F(log1p)(b))                                                           \
    /* trigonometric and hyperbolic functions */                                                                       \
    REAL(Sin, F(sin)(a))                                                                                               \
    REAL(Cos, F(cos)(a))                                                                                               \
    REAL(Tan, F(tan)(a))                                                                                               \
    REAL(Asin, F(asin)(a))                                                                                             \
    REAL(Acos, F(acos)(a))                                                                                             \
    REAL(Atan, F(atan)(a))                                                                                             \
    REAL(Atan2, F(atan2)(a, b))                                                                                        \
    REAL(Sinh, F(sinh)(a))                                                                                             \
    REAL(Cosh, F(cosh)(a))                                                                                             \
    REAL(Tanh, F(tanh)(a))                                                                                             \
    REAL(Asinh, F(asinh)(a))                                                                                           \
    REAL(Acosh, F(acosh)(a))                                                                                           \
    REAL(Atanh, F(atanh)(a))                                                                                           \
    REAL(Sinc, a == 0 ? 1 : F(sin)(K(3.1415926535897931) * a) / (K(3.1415926535897931) * a))                           \
    REAL(AcosGrad, -a / F(sqrt)(1 - b * b))                                                                            \
    REAL(AsinhGrad, b / F(cosh)(a))                                                                                    \
    REAL(AtanGrad, b / (1 + a * a))                                                                                    \
    /* special functions */                                                                                            \
    REAL(Erf, F(erf)(a))                                                                                               \
    REAL(Erfc, F(erfc)(a))                                                                                             \
    REAL(Erfinv, F(erfinv)(a))                                                                                         \
    REAL(Ndtri, K(1.4142135623730951) * F(erfinv)(2 * a - 1))                                                          \
    REAL(Lgamma, F(lgamma)(a))                                                                                         \
    REAL(Digamma, F(digamma)(a))                                                                                       \
    REAL(Logit, F(logit)(s < 0 ? a : a < s ? s : a > 1 - s ? 1 - s : a))                                               \
    REAL(LogitGrad, s < 0                ? (a < 0 || a > 1 ? K(NAN) : b / (a * (1 - a)))                               \
                    : a < s || a > 1 - s ? 0                                                                           \
                                         : b / (a * (1 - a)))                                                          \
    /* comparisons */                                                                                                  \
    ALL(Equal, a == b)                                                                                                 \
    ALL(NotEqual, a != b)                                                                                              \
    ALL(Greater, a > b)                                                                                                \
    ALL(GreaterEqual, a >= b)                                                                                          \
    ALL(Less, a < b)                                                                                                   \
    ALL(LessEqual, a <= b)                                                                                             \
    REAL(ApproximateEqual, F(fabs)(a - b) < s)                                                                         \
    REAL(IsClose,                                                                                                      \
         (a == b) | ((u != 0) & (a != a) & (b != b)) |                                                                 \
             ((F(fabs)(a - b) <= t + F(fabs)(s * b)) & (F(fabs)(a - b) < K(INFINITY)) & ((s != 0) | (t != 0))))        \
    BOTH(IsFinite, F(fabs)(a) < K(INFINITY), 1)                                                                        \
    BOTH(IsInf, F(fabs)(a) == K(INFINITY), 0)                                                                          \
    BOTH(IsPosInf, a == K(INFINITY), 0)                                                                                \
    BOTH(IsNegInf, a == -K(INFINITY), 0)                                                                               \
    /* logic and bits */                                                                                               \
    ALL(LogicalAnd, (a != 0) & (b != 0))                                                                               \
    ALL(LogicalOr, (a != 0) | (b != 0))                                                                                \
    ALL(LogicalXor, (a != 0) ^ (b != 0))                                                                               \
    ALL(LogicalNot, a == 0)                                                                                            \
    BOTH(BitwiseAnd, a, a &b)                                                                                          \
    BOTH(BitwiseOr, a, a | b)                                                                                          \
    BOTH(BitwiseXor, a, a ^ b)                                                                                         \
    BOTH(Invert, a, ~a)                                                                                                \
    BOTH(LeftShift, a, b<0 || b> 63 ? 0 : a << (b & 63))                                                               \
    BOTH(RightShift, a, a >> (b < 0 || b > 63 ? 63 : b))                                                               \
    /* selection: NaN wins */                                                                                          \
    ALL(Maximum, a > b || a != a ? a : b)                                                                              \
    ALL(Minimum, a < b || a != a ? a : b)                                                                              \
    ALL(ClipByValueV2, a != a ? a : a < s ? s : (a > t ? t : a))                                                       \
    ALL(ClipByValue, a != a || b != b || c != c ? a + b + c : (a > b ? a : b) < c ? (a > b ? a : b) : c)               \
    ALL(SelectV2, a != 0 ? b : c)                                                                                      \
    ALL(MaskedFill, b != 0 ? c : a)                                                                                    \
    BOTH(NanToNum, a != a ? s : a == K(INFINITY) ? t : a == -K(INFINITY) ? u : a, a)                                   \
    /* activations */                                                                                                  \
    ALL(Relu, a > 0 || a != a ? a : 0)                                                                                 \
    ALL(AddRelu, a + s * b > 0 || a + s * b != a + s * b ? a + s * b : 0)                                              \
    REAL(Sigmoid, F(sigmoid)(a))                                                                                       \
    REAL(SigmoidGrad, a *b *(1 - b))                                                                                   \
    REAL(TanhGrad, a *(1 - b * b))                                                                                     \
    ALL(ThresholdV2, a <= s ? t : a)                                                                                   \
    ALL(ThresholdGradV2D, b > s || b != b ? a : 0)                                                                     \
    REAL(LeakyRelu, a > 0 ? a : a * s)                                                                                 \
    REAL(LeakyReluGrad, b > 0 ? a : a * s)                                                                             \
    REAL(PRelu, a > 0 ? a : a * b)                                                                                     \
    REAL(PReluGrad, b > 0 ? a : a * c)                                                                                 \
    REAL(PReluGradUpdate, b > 0 ? 0 : a * b)                                                                           \
    REAL(Elu, a > 0 ? t * a : t * s * F(expm1)(a * u))                                                                 \
    REAL(EluGradV2, b > 0 ? a * t : a * u * (v != 0 ? b + s * t : s * t * F(exp)(b * u)))                              \
    REAL(Selu, a > 0 ? K(1.0507009873554805) * a : K(1.7580993408473766) * F(expm1)(a))                                \
    REAL(SeluGrad, b > 0 ? K(1.0507009873554805) * a : a * (b + K(1.7580993408473766)))                                \
    REAL(CeluV2, a > 0 ? a : s * F(expm1)(a / s))                                                                      \
    REAL(Gelu, K(0.5) * a * (1 + F(erf)(a * K(0.70710678118654752))))                                                  \
    REAL(GeluTanh, K(0.5) * a * (1 + F(tanh)(F(gelu_inner)(a))))                                                       \
    REAL(GeluGrad, a *F(gelu_slope)(b))                                                                                \
    REAL(GeluTanhGrad, a *F(gelu_tanh_slope)(b))                                                                       \
    REAL(FastGelu, a *F(sigmoid)(K(1.702) * a))                                                                        \
    REAL(FastGeluGrad, a *F(swish_slope)(b, K(1.702)))                                                                 \
    REAL(Swish, a *F(sigmoid)(s * a))                                                                                  \
    REAL(SwishGrad, a *F(swish_slope)(b, s))                                                                           \
    REAL(Mish, a *F(tanh)(F(softplus)(a)))                                                                             \
    REAL(MishGrad, a *F(mish_slope)(b))                                                                                \
    REAL(SoftplusV2, a *s > t ? a : F(softplus)(a * s) / s)                                                            \
    REAL(SoftplusV2Grad, b *s > t ? a : a * F(sigmoid)(b * s))                                                         \
    REAL(HardtanhGrad, b <= s || b >= t ? 0 : a)                                                                       \
    REAL(HardSwish, a *F(clamp)(a + 3, 0, 6) / 6)                                                                      \
    REAL(HardSwishGrad, b < -3 ? 0 : b <= 3 ? a * (b / 3 + K(0.5)) : a)                                                \
    REAL(HardSigmoid, F(clamp)(a + 3, 0, 6) / 6)                                                                       \
    REAL(HardSigmoidGrad, b > -3 && b < 3 ? a / 6 : 0)                                                                 \
    REAL(HardShrink, a >= -s && a <= s ? 0 : a)                                                                        \
    REAL(SoftShrink, a > s ? a - s : a < -s ? a + s : a * 0)                                                           \
    REAL(ShrinkGrad, b >= -s && b <= s ? 0 : a)                                                                        \
    REAL(Shrink, a<-s ? a + t : a> s ? a - t : 0)                                                                      \
    REAL(LogSigmoid, (a > 0 ? 0 : a) - F(log1p_unit)(F(exp)(-F(fabs)(a))))                                             \
    REAL(LogSigmoidGrad, a *F(sigmoid)(-b))                                                                            \
    REAL(Softsign, a / (1 + F(fabs)(a)))                                                                               \
    REAL(SoftsignGrad, a / ((1 + F(fabs)(b)) * (1 + F(fabs)(b))))                                                      \
    /* gated units: two halves of a tensor, and the gradients of both (gradient, first, second) */                     \
    REAL(GLU, a *F(sigmoid)(b))                                                                                        \
    REAL(GLUGrad, a *F(sigmoid)(c))                                                                                    \
    REAL(GLUGradGate, a *b *F(sigmoid)(c) * (1 - F(sigmoid)(c)))                                                       \
    REAL(SwiGlu, a *F(sigmoid)(a) * b)                                                                                 \
    REAL(SwiGluGrad, a *c *F(swish_slope)(b, 1))                                                                       \
    REAL(SwiGluGradGate, a *b *F(sigmoid)(b))                                                                          \
    REAL(GeGluV2, K(0.5) * a * (1 + F(erf)(a * K(0.70710678118654752))) * b)                                           \
    REAL(GeGluV2Tanh, K(0.5) * a * (1 + F(tanh)(F(gelu_inner)(a))) * b)                                                \
    REAL(GeGluGradV2, a *c *F(gelu_slope)(b))                                                                          \
    REAL(GeGluGradV2Tanh, a *c *F(gelu_tanh_slope)(b))                                                                 \
    /* normalisations and losses */                                                                                    \
    OP_MAP_ROWS_LOSS(ALL, REAL, BOTH)

enum op_map_code {
#define OP_MAP_CODE_2(name, expression)    OP_MAP_##name,
#define OP_MAP_CODE_3(name, real, integer) OP_MAP_##name,
    OP_MAP_ROWS(OP_MAP_CODE_2, OP_MAP_CODE_2, OP_MAP_CODE_3) OP_MAP_CODES
};

#endif
