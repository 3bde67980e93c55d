/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions of the element-wise kernels, name_f32 and name_f64. The float versions are written so that the
 * compiler vectorises the loops that call them. */
#ifndef SOFTNPU_ACLNN_MAP_MATH_H
#define SOFTNPU_ACLNN_MAP_MATH_H

#include "softnpu/kernels/fast_math.h"

#include <math.h>

#define OP_MATH_LIBM(name)                                                                                             \
    static inline float name##_f32(float x)                                                                            \
    {                                                                                                                  \
        return name##f(x);                                                                                             \
    }                                                                                                                  \
    static inline double name##_f64(double x)                                                                          \
    {                                                                                                                  \
        return name(x);                                                                                                \
    }
OP_MATH_LIBM(fabs)
OP_MATH_LIBM(sqrt)
OP_MATH_LIBM(tanh)
OP_MATH_LIBM(log)
#undef OP_MATH_LIBM

static inline float exp_f32(float x)
{
    return tk_exp(x);
}

static inline double exp_f64(double x)
{
    return exp(x);
}

#endif
