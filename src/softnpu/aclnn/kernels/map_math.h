/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions of the element-wise kernels, name_f32 and name_f64.
 *
 * The float versions are written so that the compiler vectorises the loops that call them: no branches, no tables, no
 * calls; tests/unit/map_math_test.c checks their errors in units in the last place. Where single precision does not
 * suffice they compute in double (map_wide.h). The double versions are those of the C library. NaN gives NaN. */
#ifndef SOFTNPU_ACLNN_MAP_MATH_H
#define SOFTNPU_ACLNN_MAP_MATH_H

#include "softnpu/aclnn/kernels/map_quant.h"
#include "softnpu/aclnn/kernels/map_special.h"
#include "softnpu/aclnn/kernels/map_wide.h"
#include "softnpu/kernels/fast_math.h"

/* ---- functions that both types take from the C library ---- */

#define OP_MATH_BOTH(name)                                                                                             \
    static inline float name##_f32(float x)                                                                            \
    {                                                                                                                  \
        return name##f(x);                                                                                             \
    }                                                                                                                  \
    static inline double name##_f64(double x)                                                                          \
    {                                                                                                                  \
        return name(x);                                                                                                \
    }
OP_MATH_BOTH(fabs)
OP_MATH_BOTH(sqrt)
OP_MATH_BOTH(floor)
OP_MATH_BOTH(ceil)
OP_MATH_BOTH(trunc)
OP_MATH_BOTH(rint)
#undef OP_MATH_BOTH

#define OP_MATH_DOUBLE(name)                                                                                           \
    static inline double name##_f64(double x)                                                                          \
    {                                                                                                                  \
        return name(x);                                                                                                \
    }
OP_MATH_DOUBLE(exp)
OP_MATH_DOUBLE(exp2)
OP_MATH_DOUBLE(expm1)
OP_MATH_DOUBLE(log)
OP_MATH_DOUBLE(log1p)
OP_MATH_DOUBLE(log2)
OP_MATH_DOUBLE(log10)
OP_MATH_DOUBLE(sin)
OP_MATH_DOUBLE(cos)
OP_MATH_DOUBLE(tan)
OP_MATH_DOUBLE(asin)
OP_MATH_DOUBLE(acos)
OP_MATH_DOUBLE(atan)
OP_MATH_DOUBLE(sinh)
OP_MATH_DOUBLE(cosh)
OP_MATH_DOUBLE(tanh)
OP_MATH_DOUBLE(asinh)
OP_MATH_DOUBLE(acosh)
OP_MATH_DOUBLE(atanh)
OP_MATH_DOUBLE(erf)
OP_MATH_DOUBLE(erfc)
#undef OP_MATH_DOUBLE

#define OP_MATH_SPECIAL(name)                                                                                          \
    static inline float name##_f32(float x)                                                                            \
    {                                                                                                                  \
        return (float)special_##name((double)x);                                                                       \
    }                                                                                                                  \
    static inline double name##_f64(double x)                                                                          \
    {                                                                                                                  \
        return special_##name(x);                                                                                      \
    }
OP_MATH_SPECIAL(erfinv)
OP_MATH_SPECIAL(lgamma)
OP_MATH_SPECIAL(digamma)
#undef OP_MATH_SPECIAL

static inline double pow_f64(double x, double y)
{
    return pow(x, y);
}

static inline double atan2_f64(double y, double x)
{
    return atan2(y, x);
}

static inline double fmod_f64(double x, double y)
{
    return fmod(x, y);
}

static inline float fmod_f32(float x, float y)
{
    return fmodf(x, y);
}

static inline float copysign_f32(float x, float y)
{
    return tk_from_bits((tk_bits(x) & 0x7fffffffu) | (tk_bits(y) & 0x80000000u));
}

static inline double copysign_f64(double x, double y)
{
    return copysign(x, y);
}

/* ---- exponentials ---- */

static inline float exp_f32(float x)
{
    return tk_exp(x);
}

static inline float exp2_f32(float x)
{
    return (float)wide_exp((double)x * 0.69314718055994531);
}

/* e^x - 1 = 2^n * tail + (2^n - 1), in halves because 2^n may exceed the largest float. */
static inline float expm1_f32(float x)
{
    x = x < -20.0f ? -20.0f : x;
    x = x > 89.5f ? 89.5f : x;
    const float shifted = x * 1.44269504088896341f + TK_ROUNDER, n = shifted - TK_ROUNDER;
    float r = x - n * 0.693359375f;
    r = r + n * 2.12194440e-4f;
    float p = 1.985787794e-04f; /* (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2 */
    p = p * r + 1.393383703e-03f;
    p = p * r + 8.333361024e-03f;
    p = p * r + 4.166646337e-02f;
    p = p * r + 1.666666653e-01f;
    p = p * r + 5.000000014e-01f;
    p = p * (r * r) + r;
    const float half_scale = tk_from_bits(((tk_bits(shifted) - tk_bits(TK_ROUNDER)) + 126u) << 23);
    return 2.0f * (half_scale * p + (half_scale - 0.5f));
}

static inline float tanh_f32(float x)
{
    float a = fabsf(x);
    a = a > 10.0f ? 10.0f : a;
    const float t = expm1_f32(2.0f * a);
    return copysign_f32(t / (t + 2.0f), x);
}

static inline float sinh_f32(float x)
{
    const double t = wide_expm1(fabs((double)x));
    return (float)copysign(0.5 * (t + t / (t + 1)), (double)x);
}

static inline float cosh_f32(float x)
{
    const double e = wide_exp(fabs((double)x));
    return (float)(0.5 * (e + 1 / e));
}

/* ---- logarithms ---- */

/* x = 2^e * (1 + m) with |m| < 0.42; returns log(1 + m) and e. For positive finite numbers, subnormals included. */
static inline float log_parts_f32(float x, float *e_out)
{
    const uint32_t tiny = x < 0x1p-126f ? 0xffffffffu : 0;
    x = tiny ? x * 0x1p23f : x;
    const uint32_t bits = tk_bits(x);
    const int32_t exponent = (int32_t)(bits >> 23) - 126 - (int32_t)(tiny & 23);
    float m = tk_from_bits((bits & 0x007fffffu) | 0x3f000000u); /* 0.5 <= m < 1 */
    const uint32_t small = m < 0.707106781186547524f ? 0xffffffffu : 0;
    *e_out = (float)(exponent - (int32_t)(small & 1));
    m = m - 1.0f + tk_from_bits(tk_bits(m) & small);
    const float z = m * m;
    float p = 7.0376836292e-2f;
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    return m + (p * m * z - 0.5f * z);
}

/* The logarithms of 0, infinity, negative numbers and NaN. */
static inline float log_ends_f32(float x, float y)
{
    y = x == 0.0f ? -INFINITY : y;
    y = x == INFINITY ? x : y;
    return (x < 0.0f) | (x != x) ? NAN : y;
}

static inline float log_f32(float x)
{
    float e;
    const float m = log_parts_f32(x, &e);
    return log_ends_f32(x, (m - e * 2.12194440e-4f) + e * 0.693359375f);
}

static inline float log2_f32(float x)
{
    float e;
    const double m = (double)log_parts_f32(x, &e);
    return log_ends_f32(x, (float)(m * 1.4426950408889634 + (double)e));
}

static inline float log10_f32(float x)
{
    float e;
    const double m = (double)log_parts_f32(x, &e);
    return log_ends_f32(x, (float)(m * 0.43429448190325182 + (double)e * 0.30102999566398120));
}

static inline float log1p_f32(float x)
{
    const float u = 1.0f + x, fix = (x - (u - 1.0f)) / u;
    return log_f32(u) + ((u > 0.0f) & (u < INFINITY) ? fix : 0.0f);
}

/* log(1 + t) for 0 <= t <= 1, twice the series of atanh. */
static inline float log1p_unit_f32(float t)
{
    const float s = t / (2.0f + t), z = s * s;
    float p = 2.0f / 17;
    p = p * z + 2.0f / 15;
    p = p * z + 2.0f / 13;
    p = p * z + 2.0f / 11;
    p = p * z + 2.0f / 9;
    p = p * z + 2.0f / 7;
    p = p * z + 2.0f / 5;
    p = p * z + 2.0f / 3;
    return p * z * s + 2.0f * s;
}

static inline double log1p_unit_f64(double t)
{
    return log1p(t);
}

static inline float asinh_f32(float x)
{
    const double a = fabs((double)x), y = wide_log1p(a + a * a / (1 + sqrt(a * a + 1)));
    return (float)copysign(a == (double)INFINITY ? a : y, (double)x);
}

static inline float acosh_f32(float x)
{
    const double t = (double)x - 1, y = wide_log1p(t + sqrt(2 * t + t * t));
    return t < 0 ? NAN : (float)y;
}

static inline float atanh_f32(float x)
{
    const double a = fabs((double)x), y = 0.5 * wide_log1p(2 * a / (1 - a));
    return a > 1 ? NAN : (float)copysign(a == 1 ? (double)INFINITY : y, (double)x);
}

/* ---- powers ---- */

static inline float pow_f32(float x, float y)
{
    const double ax = fabs((double)x), ay = fabs((double)y), infinity = (double)INFINITY;
    /* Infinite operands: the exponential does not reach so far. */
    const double base = (ax == 0) | (ax == infinity) ? 1 : ax, power = ay == infinity ? 1 : (double)y;
    const double magnitude = wide_exp(power * wide_log_positive(base));
    const double whole = rint(power), half = 0.5 * whole;
    const double rising = y > 0.0f ? infinity : 0.0, falling = y > 0.0f ? 0.0 : infinity;
    /* An odd power keeps the sign; below 2^24 a float may be odd. */
    const int is_odd = (whole == power) & (ay < 0x1p24) & (rint(half) != half);
    const double sign = is_odd ? copysign(1.0, (double)x) : 1.0;
    double z = magnitude;
    z = (x < 0.0f) & (whole != power) ? (double)NAN : z;
    z = ay == infinity ? (ax > 1 ? rising : falling) : z;
    z = (ay == infinity) & (ax == 1) ? 1.0 : z;
    z = ax == 0 ? falling : z;
    z = ax == infinity ? rising : z;
    z = (x != x) | (y != y) ? (double)NAN : z * sign;
    return (float)((y == 0.0f) | (x == 1.0f) ? 1.0 : z);
}

/* ---- trigonometric functions ---- */

/* x = quadrant * pi / 2 + r with |r| <= pi / 4. Exact enough for |x| < 2^50 with fused multiplication, else for
 * |x| < 2^25. */
static inline float reduce_f32(float x, uint32_t *quadrant)
{
    /* Larger numbers have neighbours more than a turn apart; infinity gives NaN. */
    const double wide = (fabsf(x) > 0x1p50f) & (fabsf(x) < INFINITY) ? 0.0 : (double)x;
    const double shifted = wide * 0.63661977236758134 + OP_WIDE_ROUNDER, n = shifted - OP_WIDE_ROUNDER;
#ifdef __FMA__
    const double r = __builtin_fma(n, -6.1232339957367660e-17, __builtin_fma(n, -1.5707963267948966, wide));
#else
    const double r = (wide - n * 0x1.921fb544p0) - n * 0x1.0b4611a626331p-34;
#endif
    *quadrant = (uint32_t)wide_bits(shifted);
    return (float)r;
}

static inline float sin_unit_f32(float r)
{
    const float z = r * r;
    float p = -1.958729851e-04f; /* (sin(r) / r - 1) / r^2 for |r| <= pi / 4 */
    p = p * z + 8.332744703e-03f;
    p = p * z - 1.666666464e-01f;
    return p * z * r + r;
}

static inline float cos_unit_f32(float r)
{
    const float z = r * r;
    float p = 2.454754616e-05f; /* (cos(r) - 1 + r^2 / 2) / r^4 for |r| <= pi / 4 */
    p = p * z - 1.388830068e-03f;
    p = p * z + 4.166666464e-02f;
    return p * z * z - 0.5f * z + 1.0f;
}

static inline float sin_f32(float x)
{
    uint32_t quadrant;
    const float r = reduce_f32(x, &quadrant), s = sin_unit_f32(r), c = cos_unit_f32(r);
    const uint32_t swap = 0u - (quadrant & 1);
    return tk_from_bits(((tk_bits(c) & swap) | (tk_bits(s) & ~swap)) ^ ((quadrant & 2) << 30));
}

static inline float cos_f32(float x)
{
    uint32_t quadrant;
    const float r = reduce_f32(x, &quadrant), s = sin_unit_f32(r), c = cos_unit_f32(r);
    const uint32_t swap = 0u - (quadrant & 1);
    return tk_from_bits(((tk_bits(s) & swap) | (tk_bits(c) & ~swap)) ^ (((quadrant + 1) & 2) << 30));
}

static inline float tan_f32(float x)
{
    uint32_t quadrant;
    const float r = reduce_f32(x, &quadrant), s = sin_unit_f32(r), c = cos_unit_f32(r);
    return quadrant & 1 ? -c / s : s / c;
}

static inline float atan_f32(float x)
{
    return (float)wide_atan((double)x);
}

static inline float atan2_f32(float y, float x)
{
    return (float)wide_atan2((double)y, (double)x);
}

static inline float asin_f32(float x)
{
    const double a = (double)x;
    return (float)wide_atan(a / sqrt((1 - a) * (1 + a)));
}

static inline float acos_f32(float x)
{
    const double a = (double)x;
    return (float)(2 * wide_atan(sqrt((1 - a) / (1 + a))));
}

/* ---- error functions ---- */

/* 1 - erfc: the logarithm of erfc is a polynomial without constant term, so small results keep their digits. */
static inline float erf_f32(float x)
{
    float a = fabsf(x);
    a = a > 4.0f ? 4.0f : a;
    float q = 9.256445800e-06f; /* log(erfc(a)) / a for a <= 4 */
    q = q * a - 1.176427929e-04f;
    q = q * a + 6.328419394e-04f;
    q = q * a - 1.667036093e-03f;
    q = q * a + 1.604039802e-04f;
    q = q * a + 1.915306007e-02f;
    q = q * a - 1.027778296e-01f;
    q = q * a - 6.366193820e-01f;
    q = q * a - 1.128379172e+00f;
    return copysign_f32(expm1_f32(q * a), x);
}

static inline float erfc_f32(float x)
{
    const double y = wide_erfc_positive(fabs((double)x));
    return (float)(x < 0.0f ? 2 - y : y);
}

#endif
