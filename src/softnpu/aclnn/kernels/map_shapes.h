/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of activation functions that several rows of map_rows.h use, for float and double. */
#ifndef SOFTNPU_ACLNN_MAP_SHAPES_H
#define SOFTNPU_ACLNN_MAP_SHAPES_H

#include "softnpu/aclnn/kernels/map_math.h"

#define OP_SHAPES(T, of)                                                                                               \
    static inline T clamp_##of(T x, T low, T high)                                                                     \
    {                                                                                                                  \
        x = x < low ? low : x;                                                                                         \
        return x > high ? high : x;                                                                                    \
    }                                                                                                                  \
    static inline T sigmoid_##of(T x)                                                                                  \
    {                                                                                                                  \
        return 1 / (1 + exp_##of(-x));                                                                                 \
    }                                                                                                                  \
    static inline T logit_##of(T x)                                                                                    \
    {                                                                                                                  \
        return log_##of(x / (1 - x));                                                                                  \
    }                                                                                                                  \
    /* log(1 + e^x) */                                                                                                 \
    static inline T softplus_##of(T x)                                                                                 \
    {                                                                                                                  \
        return (x < 0 ? 0 : x) + log1p_unit_##of(exp_##of(-fabs_##of(x)));                                             \
    }                                                                                                                  \
    /* The argument of tanh in the approximation of Gelu. */                                                           \
    static inline T gelu_inner_##of(T x)                                                                               \
    {                                                                                                                  \
        return (T)0.79788456080286536 * (x + (T)0.044715 * x * x * x);                                                 \
    }                                                                                                                  \
    static inline T gelu_slope_##of(T x)                                                                               \
    {                                                                                                                  \
        const T cdf = (T)0.5 * (1 + erf_##of(x * (T)0.70710678118654752));                                             \
        return cdf + x * (T)0.39894228040143268 * exp_##of((T)-0.5 * x * x);                                           \
    }                                                                                                                  \
    static inline T gelu_tanh_slope_##of(T x)                                                                          \
    {                                                                                                                  \
        const T t = tanh_##of(gelu_inner_##of(x));                                                                     \
        const T inner = (T)0.79788456080286536 * (1 + (T)0.134145 * x * x);                                            \
        return (T)0.5 * (1 + t) + (T)0.5 * x * (1 - t * t) * inner;                                                    \
    }                                                                                                                  \
    static inline T swish_slope_##of(T x, T beta)                                                                      \
    {                                                                                                                  \
        const T s = sigmoid_##of(beta * x);                                                                            \
        return s + beta * x * s * (1 - s);                                                                             \
    }                                                                                                                  \
    static inline T mish_slope_##of(T x)                                                                               \
    {                                                                                                                  \
        const T t = tanh_##of(softplus_##of(x));                                                                       \
        return t + x * sigmoid_##of(x) * (1 - t * t);                                                                  \
    }                                                                                                                  \
    static inline T floor_mod_##of(T x, T y)                                                                           \
    {                                                                                                                  \
        const T rest = fmod_##of(x, y);                                                                                \
        return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;                                                   \
    }                                                                                                                  \
    /* By the modes of the vendor's conversions: to even, down, up, half away from zero, to zero; 7: what is left. */  \
    static inline T round_off_##of(T x, T mode)                                                                        \
    {                                                                                                                  \
        const T away = trunc_##of(x + copysign_##of((T)0.5, x)), zero = trunc_##of(x);                                 \
        const T down = floor_##of(x), up = ceil_##of(x);                                                               \
        T z = rint_##of(x);                                                                                            \
        z = mode == 2 ? down : z;                                                                                      \
        z = mode == 3 ? up : z;                                                                                        \
        z = mode == 4 ? away : z;                                                                                      \
        z = mode == 5 ? zero : z;                                                                                      \
        return mode == 7 ? x - zero : z;                                                                               \
    }                                                                                                                  \
    /* The quotient of x less its remainder, which is closer to a whole number than x / y. */                          \
    static inline T floor_div_##of(T x, T y)                                                                           \
    {                                                                                                                  \
        const T rest = fmod_##of(x, y), quotient = (x - rest) / y;                                                     \
        const T down = rest != 0 && (rest < 0) != (y < 0) ? quotient - 1 : quotient;                                   \
        const T whole = floor_##of(down);                                                                              \
        const T result = down - whole > (T)0.5 ? whole + 1 : whole;                                                    \
        return y == 0 ? x / y : down == 0 ? copysign_##of(0, x / y) : result;                                          \
    }
OP_SHAPES(float, f32)
OP_SHAPES(double, f64)
#undef OP_SHAPES

#endif
