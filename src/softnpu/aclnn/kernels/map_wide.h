/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions in double precision with a relative error below 1e-10: what a result of single precision needs.
 * The compiler vectorises the loops that call them: no branches, no tables, no calls.
 *
 * Arguments come from float, so their magnitude is below 2^128; NaN gives NaN. Polynomials without a comment are
 * Taylor series; the others were fitted for the interval in the comment. */
#ifndef SOFTNPU_ACLNN_MAP_WIDE_H
#define SOFTNPU_ACLNN_MAP_WIDE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t wide_bits(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline double wide_from_bits(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* Adding 1.5 * 2^52 leaves the nearest integer in the low bits of the sum; works for |x| < 2^51. */
#define OP_WIDE_ROUNDER 0x1.8p52

/* e^x - 1 = scale * tail + (scale - 1) with scale = 2^n. |x| <= 700. */
static inline double wide_exp_parts(double x, double *tail)
{
    const double shifted = x * 1.4426950408889634 + OP_WIDE_ROUNDER, n = shifted - OP_WIDE_ROUNDER;
    const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
    double p = 1.0 / 3628800;
    p = p * r + 1.0 / 362880;
    p = p * r + 1.0 / 40320;
    p = p * r + 1.0 / 5040;
    p = p * r + 1.0 / 720;
    p = p * r + 1.0 / 120;
    p = p * r + 1.0 / 24;
    p = p * r + 1.0 / 6;
    p = p * r + 0.5;
    *tail = p * r * r + r;
    return wide_from_bits((wide_bits(shifted) << 52) + 0x3ff0000000000000u);
}

static inline double wide_clamp(double x, double limit)
{
    x = x < -limit ? -limit : x;
    return x > limit ? limit : x;
}

static inline double wide_exp(double x)
{
    double tail;
    const double scale = wide_exp_parts(wide_clamp(x, 700), &tail);
    return scale * tail + scale;
}

static inline double wide_expm1(double x)
{
    double tail;
    const double scale = wide_exp_parts(wide_clamp(x, 700), &tail);
    return scale * tail + (scale - 1);
}

/* For x > 0, normal and finite. */
static inline double wide_log_positive(double x)
{
    const uint64_t bits = wide_bits(x);
    double m = wide_from_bits((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u); /* 1 <= m < 2 */
    /* The exponent as a double: its bits in the low part of 2^52. */
    double e = wide_from_bits((bits >> 52) | 0x4330000000000000u) - (0x1p52 + 1023);
    const int large = m > 1.4142135623730951;
    m = large ? m * 0.5 : m;
    e = large ? e + 1 : e;
    const double s = (m - 1) / (m + 1), z = s * s; /* |s| <= 0.172 */
    double p = 2.0 / 15;
    p = p * z + 2.0 / 13;
    p = p * z + 2.0 / 11;
    p = p * z + 2.0 / 9;
    p = p * z + 2.0 / 7;
    p = p * z + 2.0 / 5;
    p = p * z + 2.0 / 3;
    p = p * z * s + 2 * s;
    return e * 0.69314718055994531 + p;
}

/* log(0) = -inf, NaN for negative numbers. x must not be a subnormal double. */
static inline double wide_log(double x)
{
    double y = wide_log_positive(x);
    y = x == 0 ? -(double)INFINITY : y;
    y = x == (double)INFINITY ? x : y;
    return (x < 0) | (x != x) ? (double)NAN : y;
}

static inline double wide_log1p(double x)
{
    const double u = 1 + x, lost = x - (u - 1);
    const double fix = lost / u;
    return wide_log(u) + ((u > 0) & (u < (double)INFINITY) ? fix : 0);
}

/* atan of 0 <= x <= 1, fitted in x^2. */
static inline double wide_atan_unit(double x)
{
    const double z = x * x;
    double p = -2.7544440246302841e-04;
    p = p * z + 2.2205884816024067e-03;
    p = p * z - 8.4090648020454933e-03;
    p = p * z + 2.0219126693013623e-02;
    p = p * z - 3.5574049552436822e-02;
    p = p * z + 5.0680584262725592e-02;
    p = p * z - 6.3774453310683848e-02;
    p = p * z + 7.6181740611052540e-02;
    p = p * z - 9.0777085702385588e-02;
    p = p * z + 1.1109563925435859e-01;
    p = p * z - 1.4285604438571264e-01;
    p = p * z + 1.9999995897719272e-01;
    p = p * z - 3.3333333272644955e-01;
    p = p * z + 9.9999999999850464e-01;
    return p * x;
}

static inline double wide_atan(double x)
{
    const double a = fabs(x), inverse = 1 / a;
    const double y = wide_atan_unit(a > 1 ? inverse : a);
    return copysign(a > 1 ? 1.5707963267948966 - y : y, x);
}

static inline double wide_atan2(double y, double x)
{
    const double ay = fabs(y), ax = fabs(x);
    const double small = ay < ax ? ay : ax, large = ay < ax ? ax : ay;
    double ratio = small / large;
    ratio = large == 0 ? 0 : ratio;
    ratio = small == (double)INFINITY ? 1 : ratio;
    double a = wide_atan_unit(ratio);
    a = ay > ax ? 1.5707963267948966 - a : a;
    a = copysign(1.0, x) < 0 ? 3.1415926535897931 - a : a;
    return (x != x) | (y != y) ? (double)NAN : copysign(a, y);
}

/* erfc of x >= 0, fitted for x <= 11 in t = 1 / (1 + x / 2). */
static inline double wide_erfc_positive(double x)
{
    x = x > 11 ? 11 : x;
    const double t = 1 / (1 + 0.5 * x);
    double p = -1.6799296866620891e-02;
    p = p * t + 1.2912057700811119e-01;
    p = p * t - 4.1468894502255360e-01;
    p = p * t + 6.6951969652320176e-01;
    p = p * t - 4.0429181176322387e-01;
    p = p * t - 4.2635033162981062e-01;
    p = p * t + 1.0369407665114925e+00;
    p = p * t - 8.6511844653084158e-01;
    p = p * t + 4.2385154630177146e-01;
    p = p * t - 2.4101300451836521e-01;
    p = p * t + 4.6576990734609705e-02;
    p = p * t + 7.3640239082471456e-02;
    p = p * t + 1.7771194830208970e-01;
    p = p * t + 2.4670354610549919e-01;
    p = p * t + 2.8210191046186617e-01;
    p = p * t + 2.8209461529876223e-01;
    return p * t * wide_exp(-x * x);
}

#endif
